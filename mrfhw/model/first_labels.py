"""First labels that shorten the burn-in: those that fit the data around a site best (compiled)."""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

from mrfhw.field.problem import Problem
from mrfhw.model.data import compiling, energy_bound, sources
from mrfhw.model.kernel import fill_singles
from mrfhw.model.threads import in_shares, threads_of

__all__ = ["BOX", "box_start", "least_in_boxes"]

BOX = 9  # rows and columns of sites whose singletons are added
_WORTH_A_THREAD = 1 << 18  # singletons; fewer take less time than to hand them over


@numba.njit(cache=True, nogil=True)
def _fill_rows(out: np.ndarray, first: int, last: int, half: int, window: np.ndarray, sums: np.ndarray, chosen: np.ndarray,
               shape: tuple[int, int], s1: np.ndarray, s2: np.ndarray, offsets: np.ndarray, constants: np.ndarray,
               unary: np.ndarray, observed: np.ndarray, channels: np.ndarray, out_of_range: int) -> None:
    """out (H, W) of the rows from `first` to before `last`.

    window: (2 half + 1, W, L), the singletons of the rows of a box; sums: (W, L), theirs by column, 0. The rest as of
    `mrfhw.model.kernel.fill_singles`.
    """
    rows, cols = shape
    size, labels = window.shape[0], window.shape[2]
    total = np.empty(labels, sums.dtype)
    for newest in range(first - half, last + half):
        at = (newest - first + half) % size
        if newest - half > first:  # the box is full, and leaves its uppermost row
            sums -= window[at]
        row = min(max(newest, 0), rows - 1)
        fill_singles(window[at], np.arange(row * cols, (row + 1) * cols), cols, chosen, shape, s1, s2, offsets, constants, unary,
                     observed, channels, out_of_range)
        sums += window[at]
        if newest - half < first:
            continue
        total[:] = 0
        for col in range(-half, half + 1):
            total += sums[min(max(col, 0), cols - 1)]
        for col in range(cols):
            out[newest - half, col] = total.argmin()
            total += sums[min(col + half + 1, cols - 1)]
            total -= sums[max(col - half, 0)]


def least_in_boxes(data: tuple[Any, ...], labels: int, size: int, kind: type[np.generic], threads: int | None = None) -> np.ndarray:
    """Labels, uint16 (H, W), of the least sum of the singletons of a label over size x size sites around, the lowest on ties.

    data: as of `mrfhw.model.data.sources`. size: odd. kind: holds the sums. Beyond the edges the nearest site stands. threads: as
    of `mrfhw.model.threads.threads_of`.
    """
    rows, cols = data[0]
    out = np.empty((rows, cols), np.uint16)

    def share(first: int, last: int) -> None:
        window = np.empty((size, cols, labels), kind)
        _fill_rows(out, first, last, size // 2, window, np.zeros(window.shape[1:], kind), np.empty(0, np.uint8), *data)

    with compiling("first labels", kind):
        in_shares(share, rows, rows * cols * labels // _WORTH_A_THREAD, threads_of(threads))
    return out


def box_start(problem: Problem, size: int = BOX, threads: int | None = None) -> np.ndarray:
    """`least_in_boxes` of the singletons of a problem, uint8 (H, W)."""
    kind = np.int32 if energy_bound(problem) * size**2 < 1 << 31 else np.int64
    return least_in_boxes(sources(problem), problem.labels, size, kind, threads).astype(np.uint8)
