"""Which motions two frames have: the window of labels for them, where none is given.

Blocks of census descriptors are matched, on reduced pictures first, forwards and backwards; what the two agree on are motions.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mrfhw.applications.descriptors import CENSUS, census
from mrfhw.applications.known import ALL, Masks
from mrfhw.field.problem import LABELS_MAX
from mrfhw.samplers.boxes import least_in_boxes
from mrfhw.samplers.data import hamming_sources
from mrfhw.samplers.gpu.blocks import device_blocks
from mrfhw.samplers.gpu.device import Device

__all__ = ["LEAST_SIDE", "REACH", "MotionWindow", "block_motions", "coarse_step", "confirmed_motions", "find_window", "reduced",
           "reduced_known"]

REACH = 32  # rows and columns of the farthest motion looked for
BLOCK = 13  # rows and columns of a block
LEFT_OUT = 0.01  # share of the motions at each end of an axis that the window leaves out
MARGIN = 1  # vectors beyond the motions found
LEAST_SIDE, MOST_REDUCED = 48, 8  # pictures are reduced by up to so much, while a side has so many pixels
ENOUGH = 100  # confirmed pixels without which nothing is known


@dataclass(frozen=True)
class MotionWindow:
    """rows, cols: of vectors. centre: the (row, column) of the middle one, as `motion_vectors` takes it. whole: whether it holds
    all motions that it is to hold."""

    rows: int
    cols: int
    centre: tuple[int, int]
    whole: bool = True


def coarse_step(shape: tuple[int, ...]) -> int:
    """By how much pictures (H, W) are reduced for a first look."""
    step = 1
    while step < MOST_REDUCED and min(shape) // (2 * step) >= LEAST_SIDE:
        step *= 2
    return step


def reduced(grey: np.ndarray, step: int) -> np.ndarray:
    """Sums of step x step pixels; the order of greys is all that a census takes."""
    return np.asarray(_squares(grey, step).sum((1, 3)))


def reduced_known(known: Masks, step: int) -> Masks:
    """Squares of step x step pixels that are known as a whole."""
    first, second = (None if one is None else np.asarray(_squares(one, step).all((1, 3))) for one in known)
    return first, second


def _squares(image: np.ndarray, step: int) -> np.ndarray:
    rows, cols = (size // step * step for size in image.shape)
    return image[:rows, :cols].reshape(rows // step, step, cols // step, step)


def block_motions(first: np.ndarray, second: np.ndarray, rows: range, cols: range, size: int = BLOCK,
                  known: Masks = ALL, device: Device | None = None) -> np.ndarray:
    """(H, W, 2) int64: each pixel's (row, column) motion of the least Hamming distance over size x size descriptors.

    first, second: (H, W) descriptors. Of equal motions the shortest. known: those that say something; one of the first with one of
    the second that says nothing has half of the bits unlike. device: who works it out, where it holds it; None for the processor.
    """
    above, before = max(0, -rows[0]), max(0, -cols[0])
    observed, shown = known
    around = (above, max(0, rows[-1])), (before, max(0, cols[-1]))
    padded = np.pad(second, around, mode="edge")
    motions = np.array(sorted(((row, col) for row in rows for col in cols), key=lambda motion: motion[0] ** 2 + motion[1] ** 2))
    moves, unlike = motions + np.array([above, before]), len(CENSUS) // 2
    around_shown = None if shown is None else np.pad(shown, around, mode="edge")
    if device is not None:
        found = device_blocks(device, first, padded, moves, size, observed, around_shown, unlike)
        if found is not None:
            return np.asarray(motions[found])
    data = hamming_sources(first, padded, moves, observed, around_shown, unlike)
    return np.asarray(motions[least_in_boxes(data, len(motions), size, np.int32)])


def _confirmed(forwards: np.ndarray, backwards: np.ndarray, known: Masks) -> np.ndarray:
    """(n, 2): the motions of known pixels that those of the second frame's undo, to within one row and column."""
    rows, cols = forwards.shape[:2]
    row, col = np.arange(rows)[:, None] + forwards[..., 0], np.arange(cols)[None] + forwards[..., 1]
    inside = (row >= 0) & (row < rows) & (col >= 0) & (col < cols)
    place = row.clip(0, rows - 1), col.clip(0, cols - 1)
    there = backwards[place]
    first, second = known
    if first is not None:
        inside &= first
    if second is not None:
        inside &= second[place]
    return np.asarray(forwards[inside & (np.abs(forwards + there).max(-1) <= 1)])


def confirmed_motions(first: np.ndarray, second: np.ndarray, rows: range, cols: range, known: Masks = ALL,
                      device: Device | None = None) -> np.ndarray:
    """(n, 2): of `block_motions` between the censuses of two images of greys (H, W), those of known pixels that the way back
    confirms."""
    one, other = census(first), census(second)
    back = range(-rows[-1], -rows[0] + 1), range(-cols[-1], -cols[0] + 1)
    return _confirmed(block_motions(one, other, rows, cols, known=known, device=device),
                      block_motions(other, one, *back, known=(known[1], known[0]), device=device), known)


def _ends(values: np.ndarray, left_out: float) -> tuple[int, int]:
    rising = np.sort(values)
    return int(rising[int(left_out * len(rising))]), int(rising[min(len(rising) - 1, int((1 - left_out) * len(rising)))])


def _matched(first: np.ndarray, second: np.ndarray, rows: range, cols: range, known: Masks, device: Device | None) -> np.ndarray:
    found = confirmed_motions(first, second, rows, cols, known, device)
    return found if len(found) >= min(ENOUGH, first.size // 4) else np.zeros((1, 2), np.int64)


def find_window(first: np.ndarray, second: np.ndarray, most: int = LABELS_MAX, known: Masks = ALL,
                device: Device | None = None) -> MotionWindow:
    """The window that holds the motions from `first` to `second`, (H, W) greys, but for a share of `LEFT_OUT` at each end.

    most: vectors. Where more are needed, more of the ends are left out, and the window is not `whole`. known: pixels that count. Of
    pictures that tell nothing, the window around 0. device: as of `block_motions`.
    """
    one, other = np.asarray(first, np.int64), np.asarray(second, np.int64)
    step = coarse_step(one.shape)
    reach = max(1, -(-REACH // step))
    motions = _matched(reduced(one, step), reduced(other, step), range(-reach, reach + 1), range(-reach, reach + 1),
                       reduced_known(known, step), device) * step
    (top, bottom), (left, right) = (_ends(motions[:, axis], LEFT_OUT) for axis in (0, 1))
    motions = _matched(one, other, range(top - step, bottom + step + 1), range(left - step, right + step + 1), known, device)
    left_out = LEFT_OUT
    while True:
        (top, bottom), (left, right) = (_ends(motions[:, axis], left_out) for axis in (0, 1))
        rows, cols = bottom - top + 1 + 2 * MARGIN, right - left + 1 + 2 * MARGIN
        if rows * cols <= most:
            return MotionWindow(rows, cols, (top - MARGIN + (rows - 1) // 2, left - MARGIN + (cols - 1) // 2),
                                left_out == LEFT_OUT)
        left_out *= 1.25
