"""Black borders of pictures, of which nothing is known, such as rectification leaves."""

from __future__ import annotations

import numpy as np

__all__ = ["black_border", "filled_beside"]

WIDE = 4  # rows and columns of the least square of black pixels that a border has
BLACK_BEYOND = 0.15  # share of black among the pixels behind a border's end, above which it ends in a dark scene
LEAST = 0.002  # of the picture


def _from_edges(black: np.ndarray) -> np.ndarray:
    """Pixels from which a row or a column is black to one of the picture's edges."""
    along = np.logical_and.accumulate
    return np.asarray(along(black, 0) | along(black[::-1], 0)[::-1] | along(black, 1) | along(black[:, ::-1], 1)[:, ::-1])


def _counts(mask: np.ndarray, size: int) -> np.ndarray:
    """How many pixels each size x size square of a mask has; smaller than the mask by size - 1."""
    sums = np.pad(mask.astype(np.int64), ((1, 0), (1, 0))).cumsum(0).cumsum(1)
    return np.asarray(sums[size:, size:] - sums[:-size, size:] - sums[size:, :-size] + sums[:-size, :-size])


def _grown(mask: np.ndarray, by: int) -> np.ndarray:
    return np.asarray(_counts(np.pad(mask, by), 2 * by + 1) > 0)


def black_border(values: np.ndarray) -> np.ndarray | None:
    """Pixels of a picture's black border, bool (H, W); None where it has none.

    values: (H, W) or (H, W, C), as the file has them. A border is exactly 0 in all channels, reaches straight to the picture's
    edge, holds a square of WIDE x WIDE, and ends abruptly: behind the end of a dark part of a scene more is black.
    """
    black = values == 0 if values.ndim == 2 else (values == 0).all(-1)
    if min(black.shape) < WIDE or not (black[[0, -1]].any() or black[:, [0, -1]].any()):
        return None
    found = _from_edges(black)
    wide = _counts(np.pad(_counts(found, WIDE) == WIDE**2, WIDE - 1), WIDE) > 0
    if wide.mean() < LEAST:
        return None
    beyond = _grown(wide, 2) & ~wide
    return found if beyond.any() and black[beyond].mean() <= BLACK_BEYOND else None


def filled_beside(values: np.ndarray, known: np.ndarray | None) -> np.ndarray:
    """Values (H, W) or (H, W, C), where `known`, bool (H, W), is False those of the nearest known pixel of the row or the column,
    or where both have none of the nearest row that has one. As they are for None, and where nothing is known."""
    if known is None or known.all() or not known.any():
        return values
    filled, done = values.copy(), known.copy()
    for _ in range(2):  # what has neither row nor column is filled from what the first round filled
        ways = [_nearest(done, axis) for axis in (0, 1)]
        far = done.size
        (rows, down), (cols, along) = ((np.where(at < 0, 0, at), np.where(at < 0, far, gap)) for at, gap in ways)
        by_column = down <= along
        row, col = np.indices(done.shape)
        source = np.where(by_column, rows, row), np.where(by_column, col, cols)
        reached = np.minimum(down, along) < far
        filled, done = np.where((reached & ~done).reshape(*done.shape, *(1,) * (values.ndim - 2)), filled[source], filled), reached
    return filled


def _nearest(known: np.ndarray, axis: int) -> tuple[np.ndarray, np.ndarray]:
    """The place along an axis of the nearest known pixel, -1 where there is none, and how far it is."""
    size = known.shape[axis]
    place = np.arange(size).reshape((-1, 1) if axis == 0 else (1, -1))
    before = np.maximum.accumulate(np.where(known, place, -size), axis)
    after = np.flip(np.minimum.accumulate(np.flip(np.where(known, place, 2 * size), axis), axis), axis)
    nearer = place - before <= after - place
    found = np.where(nearer, before, after)
    none = (before < 0) & (after >= size)
    return np.where(none, -1, found), np.abs(found - place)
