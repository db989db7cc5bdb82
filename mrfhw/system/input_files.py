"""Files that a user gives: plain ones of a stated size, opened or read whole; anything else is a line."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from mrfhw.system.errors import ProblemError

__all__ = ["BYTES_MAX", "open_plain", "read_plain"]

BYTES_MAX = 1 << 27  # of a picture or another file of data: as many as one of the most pixels needs (mrfhw.pictures.files)
_KINDS = ((stat.S_ISFIFO, "a pipe"), (stat.S_ISCHR, "a device"), (stat.S_ISBLK, "a device"), (stat.S_ISSOCK, "a socket"))


@contextlib.contextmanager
def open_plain(path: str | Path, way_out: str, most: int = BYTES_MAX, error: type[ValueError] = ProblemError) -> Iterator[BinaryIO]:
    """A plain file of at most `most` bytes, open to be read, as a context manager.

    Pipes, devices and sockets are refused unopened: they may never end. way_out: the end of the message. Raises `error`, also for
    an OSError of what is done with the file.
    """
    try:
        with _opened(path, way_out, most, error) as file:
            yield file
    except OSError as failed:
        raise error(f"{path} cannot be read ({failed.strerror or failed}): {way_out}") from None


def _opened(path: str | Path, way_out: str, most: int, error: type[ValueError]) -> BinaryIO:
    try:
        _check_kind(path, os.stat(path), most, way_out, error)
        # Not blocking: what was a plain file a moment ago may be a pipe by now.
        file = open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb")  # noqa: SIM115
    except ValueError as failed:
        if isinstance(failed, error):
            raise
        raise error(f"{str(path)!r} is no name of a file ({failed}): {way_out}") from None
    try:
        _check_kind(path, os.fstat(file.fileno()), most, way_out, error)
    except BaseException:
        file.close()
        raise
    return file


def read_plain(path: str | Path, way_out: str, most: int = BYTES_MAX, error: type[ValueError] = ProblemError) -> bytes:
    """The bytes of a plain file of at most `most`, as `open_plain` opens it. Raises `error`."""
    with open_plain(path, way_out, most, error) as file:
        data = file.read(most + 1)
    if len(data) > most:  # of files whose size is not known before, such as those below /proc
        raise error(f"{path} has more than {most} bytes, the limit: {way_out}")
    return data


def _check_kind(path: str | Path, found: os.stat_result, most: int, way_out: str, error: type[ValueError]) -> None:
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    kind = next((name for test, name in _KINDS if test(found.st_mode)), None)
    if kind is not None:
        raise error(f"{path} is {kind}; only plain files are read: {way_out}")
    if found.st_size > most:
        raise error(f"{path} has {found.st_size} bytes; the limit is {most}: {way_out}")
