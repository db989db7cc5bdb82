"""Fields of motion: Middlebury's file format and its measure of error.

Baker et al., "A Database and Evaluation Methodology for Optical Flow", IJCV 92 (2011), and flowIO.cpp of the code that
comes with it.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from mrfhw.field.given import array_of, unmasked
from mrfhw.system.errors import ProblemError
from mrfhw.system.input_files import open_plain

__all__ = ["end_point_error", "flow_bytes", "flow_of", "read_flow", "write_flow"]

MAGIC = 202021.25  # the first four bytes, which read "PIEH"
UNKNOWN = 1e9  # a component of this or beyond stands for an unknown motion; writers differ in whether this one does
UNKNOWN_WRITTEN = 1e10
SIDE_MAX = 99999
_HEAD = 12  # bytes before the motions
_ROWS = 256  # that are read at a time


def read_flow(path: str | Path) -> np.ndarray:
    """A .flo file as float64 (H, W, 2), (row, column) motions in pixels, NaN where unknown.

    The file holds float32 202021.25, int32 width, int32 height and (u, v) float32 pairs in raster order, all
    little-endian; u is the motion along columns. Raises ProblemError for what is not such a file.
    """
    way_out = "give a Middlebury .flo file"
    with open_plain(path, way_out) as file:
        head, size = file.read(_HEAD), os.fstat(file.fileno()).st_size
        if len(head) < _HEAD:
            raise ProblemError(f"{path} has {len(head)} bytes; a .flo file has a header of {_HEAD}: {way_out}")
        magic = float(np.frombuffer(head, "<f4", 1)[0])
        if magic != MAGIC:
            raise ProblemError(f"{path} begins with {magic:g}; a .flo file begins with the number {MAGIC}: {way_out}")
        width, height = (int(n) for n in np.frombuffer(head, "<i4", 2, 4))
        if not (1 <= width <= SIDE_MAX and 1 <= height <= SIDE_MAX):
            raise ProblemError(f"{path} says that it is {width}x{height}; the limits are 1 to {SIDE_MAX}: {way_out}")
        needed = _HEAD + 8 * width * height
        if size != needed:
            raise ProblemError(f"{path} has {size} bytes; {width}x{height} motions take {needed}: give the whole file")
        flow = np.empty((height, width, 2))
        for top in range(0, height, _ROWS):  # so that no more than the flow is in memory
            rows = flow[top:top + _ROWS]
            with np.errstate(invalid="ignore"):  # of signalling NaN
                rows[:] = np.fromfile(file, "<f4", rows.size).reshape(rows.shape)[..., ::-1]
            rows[_unknown(rows)] = np.nan
    return flow


def _unknown(flow: np.ndarray) -> np.ndarray:
    """Bool (H, W) of motions (H, W, 2). "Not below" rather than "at least", so that NaN is unknown too."""
    return np.asarray(~(np.abs(flow) < UNKNOWN).all(-1))


def flow_of(given: Any) -> np.ndarray:
    """True motions, float64 (H, W, 2), (row, column) in pixels, NaN where unknown.

    given: the path of a .flo file, or an array (H, W, 2) as OpenCV has motions, along columns and then along rows, not finite,
    masked or at least UNKNOWN where unknown. Raises ProblemError for anything else.
    """
    if isinstance(given, (str, os.PathLike)):
        return read_flow(Path(given))
    array = array_of("the true motions", unmasked(given, UNKNOWN_WRITTEN))
    if array.dtype.kind not in "biuf" or array.ndim != 3 or array.shape[2] != 2 or array.size == 0:
        raise ProblemError(f"the true motions are of type {array.dtype} and shape {array.shape}; they are (rows, columns, 2), "
                           "along columns and then along rows: give such an array, or a .flo file")
    with np.errstate(invalid="ignore"):
        flow = array[..., ::-1].astype(np.float64)
    flow[_unknown(flow)] = np.nan
    return flow


def flow_bytes(flow: np.ndarray) -> bytes:
    """(H, W, 2) (row, column) motions as a .flo file, NaN as unknown."""
    rows, cols, _ = flow.shape
    known = np.isfinite(flow).all(-1, keepdims=True)
    u_v = np.where(known, flow, UNKNOWN_WRITTEN)[..., ::-1].astype("<f4")
    header = np.array([MAGIC], "<f4").tobytes() + np.array([cols, rows], "<i4").tobytes()
    return header + u_v.tobytes()


def write_flow(path: str | Path, flow: np.ndarray) -> None:
    """Write such a file."""
    Path(path).write_bytes(flow_bytes(flow))


def end_point_error(estimate: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Length of the difference of two (H, W, 2) fields, float64 (H, W) in pixels, NaN where the truth is."""
    return np.sqrt(((estimate - truth) ** 2).sum(-1))
