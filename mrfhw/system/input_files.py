"""Files that a user gives: plain ones of a stated size, read whole; anything else is a line."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path

from mrfhw.system.errors import ProblemError

__all__ = ["BYTES_MAX", "read_plain"]

BYTES_MAX = 1 << 29  # of a picture or another file of data: more than any picture of Pillow's limit of pixels needs
_KINDS = ((stat.S_ISFIFO, "a pipe"), (stat.S_ISCHR, "a device"), (stat.S_ISBLK, "a device"), (stat.S_ISSOCK, "a socket"))


def read_plain(path: str | Path, way_out: str, most: int = BYTES_MAX, error: type[ValueError] = ProblemError) -> bytes:
    """The bytes of a plain file of at most `most`.

    Pipes, devices and sockets are refused unopened: they may never end. way_out: the end of the message. Raises `error`.
    """
    try:
        # Not blocking: what was a plain file a moment ago may be a pipe by now.
        _check_kind(path, os.stat(path), most, way_out, error)
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            _check_kind(path, os.fstat(file.fileno()), most, way_out, error)
            data = file.read(most + 1)
    except OSError as failed:
        raise error(f"{path} cannot be read ({failed.strerror}): {way_out}") from None
    except ValueError as failed:
        if isinstance(failed, error):
            raise
        raise error(f"{str(path)!r} is no name of a file ({failed}): {way_out}") from None
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
