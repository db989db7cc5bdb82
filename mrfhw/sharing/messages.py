"""What a program and a shared board say to each other, over a socket that the user alone can reach.

A connection is a chain's seat. Each message is a tuple, its first word what it is; they are pickled, as between processes of one
program, so the socket's folder is the user's own.

::

    machine                                         -> found (config)
    hello       config, owner, weight, tenant       -> seat (tenant's number, clusters)
    prepare     problem, run, visit, fresh, state   -> ready
    advance     pauses                              -> progress / observe / at, any number, then done (sweeps, finished)
    last, state (counted), result                   -> found (value)

Whatever cannot be done is answered by error (what was raised).
"""

from __future__ import annotations

import contextlib
import os
import socket
import stat
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import parse_qsl, urlsplit

from mrfhw.field.given import finite
from mrfhw.host.links import LinkError
from mrfhw.system.errors import ProblemError

__all__ = ["SCHEME", "Address", "gone", "private"]

SCHEME = "shared"
MOST_BYTES = 100  # of a socket's path; systems take 104 to 108


class Address:
    """Of a shared board, shared:///PATH?owner=NAME&weight=W. Raises ProblemError for another.

    path: of its socket. owner, weight: for whom it works, and that one's share beside others'.
    """

    def __init__(self, address: str):
        parts = urlsplit(address)
        options = dict(parse_qsl(parts.query, keep_blank_values=True))
        self.path, self.owner = Path(parts.path), options.pop("owner", "")
        try:
            self.weight = finite("weight", float(options.pop("weight", "1")), 0, "give such as 1")
        except ValueError as error:
            if isinstance(error, ProblemError):
                raise
            raise ProblemError(f"weight in {address} is no number: give such as 1") from None
        if parts.scheme != SCHEME or parts.netloc or not self.path.is_absolute() or options:
            more = f"{next(iter(options))} is no option of it" if options else "it has an absolute path"
            raise ProblemError(f"backend is {address}; the address of a shared board is {SCHEME}:///PATH?owner=NAME&weight=W, and "
                               f"{more}: give what mrfhw share has said")
        if len(os.fsencode(self.path)) > MOST_BYTES:
            raise ProblemError(f"{self.path} has {len(os.fsencode(self.path))} bytes; a socket's path has {MOST_BYTES} at most: "
                               "give a shorter one")


@contextlib.contextmanager
def private(path: Path) -> Iterator[None]:
    """Within, files are made for the user alone. Raises ProblemError where there is something that is no socket, or where somebody
    listens already."""
    if path.exists() and not stat.S_ISSOCK(path.stat().st_mode):
        raise ProblemError(f"{path} is there and is no socket: give another place")
    if path.exists():
        with socket.socket(socket.AF_UNIX) as one:
            try:
                one.connect(os.fspath(path))
            except ConnectionRefusedError:
                path.unlink()  # of one that has ended
            except OSError as error:
                raise ProblemError(f"{path} is there and cannot be looked at ({error.strerror}): give another place") from None
            else:
                raise ProblemError(f"{path} is that of a board which is shared now: give another place")
    before = os.umask(0o177)
    try:
        yield
    finally:
        os.umask(before)


def gone(path: Path) -> LinkError:
    """Nobody shares a board there."""
    return LinkError(f"no board is shared at {path}", "see that mrfhw share runs, and give the address that it has said")
