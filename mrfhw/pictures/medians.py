"""Medians of squares of pixels: what single pixels got wrong goes, edges stay (compiled)."""

from __future__ import annotations

import numpy as np

from mrfhw.system.numba_alone import njit
from mrfhw.system.progress import compiling
from mrfhw.system.threads import PIXELS_WORTH_A_THREAD, in_shares, threads_of

__all__ = ["medians"]



@njit(nogil=True)
def _put(rising: np.ndarray, at: int, value: float) -> None:
    """`value` in place of the one at `at` of numbers that rise, which rise afterwards, too."""
    while at + 1 < len(rising) and rising[at + 1] < value:
        rising[at] = rising[at + 1]
        at += 1
    while at > 0 and rising[at - 1] > value:
        rising[at] = rising[at - 1]
        at -= 1
    rising[at] = value


@njit(nogil=True)
def _medians(padded: np.ndarray, first: int, last: int, out: np.ndarray) -> None:
    """out (H, W), rows `first` to `last`: of the squares of padded (H + side - 1, W + side - 1) that begin at their pixels.

    The numbers of each column of a square are kept in order, and those of the square, from which a step to the right takes one
    column and into which it merges another.
    """
    side, width = padded.shape[0] - out.shape[0] + 1, padded.shape[1]
    columns = np.empty((width, side), padded.dtype)
    square, merged = np.empty(side * side, padded.dtype), np.empty(side * side, padded.dtype)
    for row in range(first, last):
        for col in range(width):
            if row == first:
                columns[col] = np.sort(padded[row:row + side, col])
            else:
                _put(columns[col], np.searchsorted(columns[col], padded[row - 1, col]), padded[row + side - 1, col])
        square[:] = np.sort(columns[:side].copy().reshape(-1))
        out[row, 0] = square[side * side // 2]
        for col in range(1, out.shape[1]):
            leaving, entering = columns[col - 1], columns[col + side - 1]
            left, entered, number = 0, 0, 0
            for value in square:
                if left < side and value == leaving[left]:
                    left += 1
                    continue
                while entered < side and entering[entered] < value:
                    merged[number] = entering[entered]
                    entered += 1
                    number += 1
                merged[number] = value
                number += 1
            merged[number:] = entering[entered:]
            square, merged = merged, square
            out[row, col] = square[side * side // 2]


def medians(image: np.ndarray, side: int) -> np.ndarray:
    """Of side x side pixels around each of (H, W), side odd; beyond the edges the nearest pixel stands.

    image: uint8, or finite float32; the answer is of the same type.
    """
    padded, out = np.pad(image, side // 2, mode="edge"), np.empty_like(image)
    with compiling("medians", image.dtype):
        in_shares(lambda first, last: _medians(padded, first, last, out), len(image), image.size // PIXELS_WORTH_A_THREAD,
                  threads_of(None))
    return out
