"""PFM files: floats of one channel, rows from the last to the first.

The header is "Pf", columns, rows and a number: its sign is the byte order, its magnitude a unit that no format fixes (netpbm's
pfm(5)), so that values are taken as they are.
"""

from __future__ import annotations

import os
import re
from typing import BinaryIO

import numpy as np

from mrfhw.system.errors import ProblemError

__all__ = ["MAGICS", "read_pfm"]

MAGICS = (b"Pf", b"PF")
_HEADER = re.compile(rb"P[Ff]\s+(\d{1,9})\s+(\d{1,9})\s+([-+.\deE]{1,64})(\r\n|\s)")
_HEADER_BYTES = 256


def read_pfm(name: str, file: BinaryIO, pixels_max: int) -> tuple[np.ndarray, tuple[str, ...]]:
    """float32 (H, W) of a file at its beginning, the first row on top, and what is to be said of it.

    Raises ProblemError for what is no such file, for three channels, for more pixels than `pixels_max` and for a file that is not
    as long as its header says, before its pixels are read.
    """
    start = file.read(_HEADER_BYTES)
    if start.startswith(b"PF"):
        raise ProblemError(f"{name} is a PFM file of three channels; those of one are read, Pf: save the channel that is meant")
    found = _HEADER.match(start)
    scale = _number(found[3]) if found else 0.0
    if found is None or not scale:
        raise ProblemError(f"{name} begins with {start[:2].decode()} and has no header of a PFM file, which goes on with columns, "
                           "rows and a scale other than 0: give the whole file")
    cols, rows = int(found[1]), int(found[2])
    if not 1 <= rows * cols <= pixels_max:
        raise ProblemError(f"{name} says that it is {cols}x{rows}; a picture of floats has 1 to {pixels_max} pixels: scale it down")
    size, needed = os.fstat(file.fileno()).st_size, 4 * rows * cols
    # \r\n is one end of a line, or \r is and the pixels begin with \n: as long as the file is.
    begin = next((end for end in (found.end(), found.start(4) + 1) if size - end == needed), None)
    if begin is None:
        raise ProblemError(f"{name} has {size} bytes; {cols}x{rows} floats after a header of {found.end()} take "
                           f"{found.end() + needed}: give the whole file")
    file.seek(begin)
    values = np.fromfile(file, "<f4" if scale < 0 else ">f4", rows * cols).reshape(rows, cols)[::-1]
    unit = abs(scale)
    said = () if unit == 1 else (f"Note: {name} states the scale {unit:g} of PFM files; its values are taken as they are",)
    return np.ascontiguousarray(values, np.float32), said


def _number(text: bytes) -> float:
    """A finite number, or 0."""
    try:
        value = float(text)
    except ValueError:
        return 0.0
    return value if np.isfinite(value) else 0.0
