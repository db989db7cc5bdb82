"""Where this user may keep files: a container may run programs as a user without a home, or with one that cannot be written.

What is kept is a convenience. Where its usual place cannot be written it is kept in a folder of this user alone below the system's
folder for temporary files.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import tempfile
from pathlib import Path

__all__ = ["give_places", "is_writable", "own_directory"]


def own_directory() -> Path:
    """This user's folder for what has no other place; made where it is missing. Raises OSError where it cannot be had.

    Nobody else may write it, since what is kept may be code.
    """
    above = Path(tempfile.gettempdir())
    if above == Path.cwd() and not os.environ.get("TMPDIR"):  # what remains where no folder for temporary files can be written
        raise PermissionError(errno.EACCES, "no folder for temporary files can be written", str(above))
    path = above / f"mrfhw-{os.getuid()}"
    with contextlib.suppress(FileExistsError):
        path.mkdir(0o700)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise PermissionError(errno.EACCES, "it is not a folder of this user alone", str(path))
    return path


def is_writable(directory: Path) -> bool:
    """Whether files can be written in a folder, or it can be made; it is not left there."""
    missing = [path for path in (directory, *directory.parents) if not path.exists()]
    try:
        directory.mkdir(parents=True, exist_ok=True)
        return os.access(directory, os.W_OK | os.X_OK)
    except OSError:
        return False
    finally:
        for path in missing:
            with contextlib.suppress(OSError):
                path.rmdir()


def give_places() -> None:
    """Have the libraries of this process and the programs that it starts keep what they keep where it can be written.

    Each looks at the environment by itself, and without a place fails, warns, or compiles everything anew.
    """
    with contextlib.suppress(OSError):
        try:
            home = Path.home()
        except RuntimeError:  # no HOME, and no entry for this user in the list of users
            home = own_directory()
            os.environ["HOME"] = str(home)
        if not is_writable(Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache") / "mrfhw"):
            os.environ["XDG_CACHE_HOME"] = str(own_directory())
        settings = Path(os.environ.get("XDG_CONFIG_HOME") or home / ".config") / "matplotlib"
        if not is_writable(Path(os.environ.get("MPLCONFIGDIR") or settings)):
            os.environ["MPLCONFIGDIR"] = str(own_directory() / "matplotlib")
