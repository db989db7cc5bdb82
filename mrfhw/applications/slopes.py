"""How greys of two pictures fit between whole pixels, where they are linear (compiled)."""

from __future__ import annotations

import numpy as np

from mrfhw.system.numba_alone import njit

__all__ = ["BEYOND", "NOISE", "PRECISION", "REACH", "STEP", "STIFF", "moved_by", "squares"]

REACH = 4  # rows and columns on each side of a pixel whose greys are fitted
STEP = 0.5  # pixels of a round, at most
STIFF = 200.0  # squared grey, added to the sums (not means) of squared slopes: where all is flat, motions stay where they are
BEYOND = 1e6  # rows and columns that no vector has
NOISE = 2.0  # variance of greys that fit perfectly
PRECISION = 12.0  # 1 / the variance of a motion that may be anywhere within a pixel of its vector


@njit(nogil=True)
def squares(down: np.ndarray, along: np.ndarray, apart: np.ndarray, vectors: np.ndarray, first: int, last: int,
          out: np.ndarray) -> None:
    """Variances and covariances among the pixels around each of rows `first` to `last` that have its vector.

    down, along: slopes; apart: differences, all (H, W). out: (7, H, W), of down and down, down and along, along and along, down and
    apart, along and apart, apart and apart, and how many pixels.
    """
    rows, cols = down.shape
    for row in range(first, last):
        for col in range(cols):
            # Numbers, and no small arrays, which would be made for each pixel.
            number = of_down = of_along = of_apart = 0.0
            down_down = down_along = along_along = down_apart = along_apart = apart_apart = 0.0
            below, behind = vectors[row, col, 0], vectors[row, col, 1]
            for y in range(max(0, row - REACH), min(rows, row + REACH + 1)):
                for x in range(max(0, col - REACH), min(cols, col + REACH + 1)):
                    if vectors[y, x, 0] == below and vectors[y, x, 1] == behind:
                        d, a, e = down[y, x], along[y, x], apart[y, x]
                        number += 1
                        of_down += d
                        of_along += a
                        of_apart += e
                        down_down += d * d
                        down_along += d * a
                        along_along += a * a
                        down_apart += d * e
                        along_apart += a * e
                        apart_apart += e * e
            of_down, of_along, of_apart = of_down / number, of_along / number, of_apart / number
            out[0, row, col] = down_down / number - of_down * of_down
            out[1, row, col] = down_along / number - of_down * of_along
            out[2, row, col] = along_along / number - of_along * of_along
            out[3, row, col] = down_apart / number - of_down * of_apart
            out[4, row, col] = along_apart / number - of_along * of_apart
            out[5, row, col] = apart_apart / number - of_apart * of_apart
            out[6, row, col] = number


def moved_by(image: np.ndarray, flow: np.ndarray) -> np.ndarray:
    """image (H, W) at each pixel's position after its motion, between pixels by bilinear interpolation."""
    rows, cols = image.shape
    row, col = (np.arange(rows)[:, None] + flow[..., 0]).clip(0, rows - 1), (np.arange(cols) + flow[..., 1]).clip(0, cols - 1)
    above, before = row.astype(np.int64), col.astype(np.int64)
    below, behind = np.minimum(above + 1, rows - 1), np.minimum(before + 1, cols - 1)
    down, along = row - above, col - before
    upper = image[above, before] * (1 - along) + image[above, behind] * along
    lower = image[below, before] * (1 - along) + image[below, behind] * along
    return np.asarray(upper * (1 - down) + lower * down)
