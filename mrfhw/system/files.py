"""Files and directories of output that are complete or not there at all, and the directory of what is kept."""

from __future__ import annotations

import contextlib
import errno
import fcntl
import glob
import os
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from mrfhw.system.errors import ProblemError
from mrfhw.system.places import own_directory

__all__ = ["cache_directory", "check_replaceable", "check_writable", "output_path", "remove_part", "replaced", "said",
           "staged", "write_files"]

_DRAWN = 8  # characters that tempfile draws for a name
# What is wrong with the path itself; a full or broken disk is not.
_OF_PATHS = (errno.EACCES, errno.EISDIR, errno.ELOOP, errno.ENAMETOOLONG, errno.ENOENT, errno.ENOTDIR, errno.EPERM, errno.EROFS)


def cache_directory() -> Path:
    """What is kept from run to run: $MRFHW_CACHE, or mrfhw under the user's cache directory, or where that cannot be written
    `own_directory`. Raises OSError where there is none."""
    if chosen := os.environ.get("MRFHW_CACHE"):
        Path(chosen).mkdir(parents=True, exist_ok=True)
        return Path(chosen).resolve()
    with contextlib.suppress(OSError, RuntimeError):  # RuntimeError: no home
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "mrfhw"
        base.mkdir(parents=True, exist_ok=True)
        if os.access(base, os.W_OK | os.X_OK):
            return base.resolve()
    return own_directory()


def said(error: OSError) -> str:
    """The line for a file or folder that cannot be written."""
    where = f"{error.filename}: " if error.filename else ""
    return f"{where}{error.strerror or error}: check the path, its permissions and the space on the disk"


@contextlib.contextmanager
def output_path(name: str, given: Any, what: str) -> Iterator[Path]:
    """The path that a caller names as `name` for what is written in the block: `what`, such as "a folder".

    Raises ProblemError for what is no path, and where the block raises OSError because of the path.
    """
    if not isinstance(given, str | os.PathLike) or not isinstance(os.fspath(given), str):
        raise ProblemError(f"{name} is {given!r:.40}; it is the path of {what}: give one")
    text = os.fspath(given)
    if not text:
        raise ProblemError(f"{name} is empty: give {what}")
    if "\0" in text:
        raise ProblemError(f"{name} is {text!r:.40}; the name of {what} holds no character 0: leave it out")
    try:
        yield Path(given)
    except OSError as error:
        if error.errno not in _OF_PATHS:
            raise
        raise ProblemError(said(error)) from None


@contextlib.contextmanager
def staged(directory: Path) -> Iterator[Path]:
    """A scratch directory beside `directory` whose files move into it when the block ends without error.

    On an error nothing is left and `directory` is neither made nor changed. Files of other names in it stay. What a process left
    that was killed in such a block is removed. Parents are made as needed. Raises OSError where the place cannot be written.
    """
    check_writable(directory)
    for place in (directory, directory.parent):
        for left in place.glob(f".{glob.escape(directory.name)}-{'?' * _DRAWN}") if place.is_dir() else ():
            _remove_if_left(left)
    made = [parent for parent in directory.parents if not parent.exists()]
    scratch: Path | None = None
    try:
        directory.parent.mkdir(parents=True, exist_ok=True)
        # Within an existing directory, so that only that one need be writable; a rename stays on its disk.
        beside = directory if directory.exists() else directory.parent
        try:
            scratch = Path(tempfile.mkdtemp(prefix=f".{directory.name}-", dir=beside))
        except OSError as error:  # which names a directory that nobody has asked for
            raise OSError(error.errno, error.strerror, str(directory)) from None
        with _held(scratch):
            yield scratch
            _publish(scratch, directory)
    except BaseException:
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)
        for parent in made:
            with contextlib.suppress(OSError):
                parent.rmdir()
        raise
    finally:
        if scratch is not None:
            shutil.rmtree(scratch, ignore_errors=True)


def write_files(directory: Path, files: Mapping[str, str | bytes]) -> None:
    """Texts and bytes into a directory that is there, such as a scratch one of `staged`."""
    for name, data in files.items():
        (directory / name).write_bytes(data if isinstance(data, bytes) else data.encode())


@contextlib.contextmanager
def _held(path: Path) -> Iterator[None]:
    """Hold a file or directory, so that others see that it is in use; the system lets it go with the process."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        with contextlib.suppress(OSError):  # a disk without locks
            fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


def _remove_if_left(path: Path) -> None:
    """Remove a file or directory that no process holds."""
    with contextlib.suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink()
        finally:
            os.close(descriptor)


def _part(path: Path) -> Path:
    return path.with_name(f".{path.name}.part")


def remove_part(path: Path) -> None:
    """Remove what a process left that was killed while it wrote `path`, `replaced`."""
    _remove_if_left(_part(path))


@contextlib.contextmanager
def replaced(path: Path) -> Iterator[IO[bytes]]:
    """A file that takes the place of `path` when the block ends without error, and is on the disk then.

    On an error nothing is left and what was at `path` stays. Raises OSError where the place cannot be written.
    """
    check_replaceable(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    # One name, so that what a killed process leaves is taken by the next write.
    name = _part(path)
    try:
        with name.open("wb") as file, _held(name):
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise
    # The new name itself is on the disk once its directory is.
    directory = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(directory)
    finally:
        os.close(directory)


def check_replaceable(path: Path) -> None:
    """Raise OSError where a file cannot be written at `path`; writes nothing."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    check_writable(path.parent)


def check_writable(directory: Path) -> None:
    """Raise OSError where `directory` cannot be written or made; writes nothing."""
    if directory.is_symlink() and not directory.exists():
        raise FileNotFoundError(errno.ENOENT, "it is a link to nothing", str(directory))
    place = directory
    while not place.exists() and place != place.parent:
        place = place.parent
    if not place.is_dir():
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), str(place))
    if not os.access(place, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), str(place))


def _publish(scratch: Path, directory: Path) -> None:
    """Make the files of `scratch` those of `directory`."""
    if not directory.exists():
        scratch.chmod(0o777 & ~_umask())
        scratch.rename(directory)
        return
    moves = [(path, directory / path.name) for path in sorted(scratch.iterdir())]
    for _, target in moves:
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
    for path, target in moves:
        os.replace(path, target)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
