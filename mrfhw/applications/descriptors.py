"""What a pixel is compared by, beside its grey: which of its neighbours are darker (census), and where the picture has edges."""

from __future__ import annotations

import numpy as np

from mrfhw.field.given import array_of, finite, whole_number
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.system.errors import ProblemError

__all__ = ["CENSUS", "census", "edge_weights", "graded_weights", "takes_census"]

# (row, column) from the pixel to those that it is compared with; a bit each.
CENSUS = ((-2, -1), (2, 1), (-1, 2), (1, -2), (-1, 0), (1, 0), (0, 1), (0, -1))


def census(grey: np.ndarray, offsets: tuple[tuple[int, int], ...] = CENSUS) -> np.ndarray:
    """Descriptors, uint32 (H, W): bit n is 1 where the pixel at `offsets[n]` is darker (census transform, Zabih and Woodfill 1994).

    grey: (H, W) numbers. Beyond the edges the nearest pixel stands.
    """
    rows, cols = grey.shape
    reach = max(max(map(abs, offset)) for offset in offsets)
    padded = np.pad(np.asarray(grey), reach, mode="edge")
    found = np.zeros((rows, cols), np.uint32)
    for bit, (row, col) in enumerate(offsets):
        darker = padded[reach + row:reach + row + rows, reach + col:reach + col + cols] < grey
        found |= darker.astype(np.uint32) << np.uint32(bit)
    return found


def takes_census(config: Config) -> bool:
    """Whether a machine compares descriptors of the bits of `CENSUS`."""
    return "hamming" in Derived.of(config).singletons and config.data_bits >= len(CENSUS)


def edge_weights(picture: np.ndarray, smooth: int, edge: int, threshold: float) -> np.ndarray:
    """Weights of a grid's edges by contrast, uint8 (H, W, 2): to the right and below.

    picture: (H, W) or (H, W, C) finite numbers.
    smooth: weight where the two pixels differ by at most `threshold` in every channel, 0 to 255.
    edge: weight elsewhere, 0 to 255.
    threshold: in the units of the picture.
    Raises ProblemError for anything else.
    """
    given = array_of("picture", picture)
    if given.dtype.kind not in "biuf" or given.ndim not in (2, 3) or given.size == 0 or not np.isfinite(given).all():
        raise ProblemError(f"picture has values of type {given.dtype} and shape {given.shape}; it is finite numbers (rows, "
                           "columns) or (rows, columns, channels): give such an array")
    threshold = finite("threshold", threshold, -1.0, "give the greatest difference within a surface")
    smooth, edge = (whole_number(name, weight, 0, 255, "give one of them") for name, weight in (("smooth", smooth), ("edge", edge)))
    channels = given.astype(np.float64 if given.dtype.kind == "f" else np.int64).reshape(*given.shape[:2], -1)
    found = np.full((*channels.shape[:2], 2), smooth, np.uint8)
    right, below = (np.abs(np.diff(channels, axis=axis)).max(-1) for axis in (1, 0))
    found[:, :-1, 0][right > threshold] = edge
    found[:-1, :, 1][below > threshold] = edge
    return found


def graded_weights(colours: np.ndarray, most: int = 15, least: int = 1) -> np.ndarray:
    """Weights of a grid's edges that fall with the contrast, uint8 (H, W, 2): to the right and below.

    colours: (H, W, C) float64. The weight is `most` times exp(-d^2 / 2m), d the distance of the two pixels' colours and m the mean
    of d^2 in the picture (Boykov and Jolly 2001), rounded, and at least `least`.
    """
    squares = [(np.diff(colours, axis=axis)**2).sum(-1) for axis in (1, 0)]
    count = sum(one.size for one in squares)
    mean = sum(float(one.sum()) for one in squares) / count if count else 0.0
    found = np.full((*colours.shape[:2], 2), most, np.uint8)
    for part, square in zip((found[:, :-1, 0], found[:-1, :, 1]), squares, strict=True):
        part[...] = np.maximum(least, np.rint(most * np.exp(-square / (2 * mean)))) if mean else most
    return found
