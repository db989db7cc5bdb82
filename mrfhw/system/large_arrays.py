"""Arrays of a result that may be larger than memory: above `LARGE` bytes they lie in a file and not in memory.

The system writes such a file's pages to the disk and takes them out of memory as it needs room. The file has no name, so that
nothing is left of it, however the process ends.
"""

from __future__ import annotations

import contextlib
import os
import tempfile

import numpy as np
from numpy.typing import DTypeLike

__all__ = ["LARGE", "as_type", "copied", "zeros"]

LARGE = 1 << 26  # bytes
_ON_DISK = "/var/tmp"  # where there is one; the folder that is usual elsewhere may itself be in memory


def zeros(shape: tuple[int, ...], dtype: DTypeLike) -> np.ndarray:
    """Zeros of that shape and type, in a file where they are large and the disk has room, else in memory.

    The file is in the folder that the environment's TMPDIR names, or else in /var/tmp.
    """
    size = int(np.prod(shape, dtype=object)) * np.dtype(dtype).itemsize
    if size > LARGE:
        with contextlib.suppress(OSError):
            return _mapped(shape, dtype, size)
    return np.zeros(shape, dtype)


def copied(array: np.ndarray | None) -> np.ndarray | None:
    """A copy, as of `zeros`; None of None."""
    return None if array is None else _filled(array, array.dtype)


def as_type(array: np.ndarray, dtype: DTypeLike) -> np.ndarray:
    """The array itself where it has that type, else its numbers in another one, as of `zeros`."""
    return array if array.dtype == dtype else _filled(array, dtype)


def _filled(array: np.ndarray, dtype: DTypeLike) -> np.ndarray:
    found = zeros(array.shape, dtype)
    found[...] = array
    return found


def _mapped(shape: tuple[int, ...], dtype: DTypeLike, size: int) -> np.ndarray:
    """Zeros in a file without a name, whose room on the disk is taken: a write that finds none would end the process."""
    folder = None if os.environ.get("TMPDIR") or not os.access(_ON_DISK, os.W_OK) else _ON_DISK
    with tempfile.TemporaryFile(dir=folder) as file:
        if hasattr(os, "posix_fallocate"):
            os.posix_fallocate(file.fileno(), 0, size)
        else:
            file.truncate(size)
        return np.memmap(file, dtype, "r+", shape=shape).view(np.ndarray)
