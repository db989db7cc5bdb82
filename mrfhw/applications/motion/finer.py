"""Motions between whole pixels: from the vectors that were sampled to where the second frame's greys fit best.

A pixel's motion is moved until the greys of the pixels around it that have its vector fit those of the second frame in the sense of
least squares, a few times (B. Lucas and T. Kanade, An iterative image registration technique, IJCAI 1981). Their mean is taken off,
so that exposure does not count. Medians take away what single fits get wrong (D. Sun, S. Roth, M. Black, Secrets of optical flow
estimation, CVPR 2010). No motion moves farther from its vector than `FARTHEST`.
"""

from __future__ import annotations

from dataclasses import dataclass
from statistics import NormalDist
from typing import ClassVar

import numpy as np

from mrfhw.applications.slopes import BEYOND, NOISE, PRECISION, STEP, STIFF, moved_by, squares
from mrfhw.jobs.job import Between
from mrfhw.jobs.label_scale import LEVEL
from mrfhw.pictures.medians import medians
from mrfhw.system.progress import compiling
from mrfhw.system.threads import PIXELS_WORTH_A_THREAD, in_shares, threads_of

__all__ = ["FARTHEST", "FinerMotion", "around"]

MEDIAN = 9  # rows and columns of the medians
ROUNDS = 3
FARTHEST = 0.75  # pixels between a motion and its vector, along an axis
FLAT = 1e-6  # squared grey, below which a slope is rounding

# The standard deviation of what no fit sees, such as frames that are not aligned to the truth or surfaces that turn, shrinks with a
# picture as motions do: a share of the root mean square of all motions, found by `studies/motion_intervals.py`.
OF_MOTION = 0.0325
DEVIATIONS = NormalDist().inv_cdf((1 + LEVEL) / 2)  # between a motion and its interval's ends, 1.645 for 90 %
SAME = 1.2  # pixels by which an end of the samples' own interval differs without telling of another motion


def around(flow: np.ndarray, deviation: np.ndarray, sampled: np.ndarray, of_motion: float = OF_MOTION) -> np.ndarray:
    """(H, W, 2, 2) 90 % intervals around motions (H, W, 2) of a fit's standard deviations (H, W, 2), in pixels.

    What the fit sees and what it does not are two independent errors, normal together, so that their variances add. of_motion: the
    second's standard deviation, as a share of the root mean square of all motions. sampled: (H, W, 2, 2), the intervals of the
    samples, whose ends are taken where other motions were sampled.
    """
    half = DEVIATIONS * np.sqrt(deviation**2 + of_motion**2 * (flow**2).sum(-1).mean())
    below = np.where(flow - sampled[..., 0] > SAME, sampled[..., 0], flow - half)
    above = np.where(sampled[..., 1] - flow > SAME, sampled[..., 1], flow + half)
    return np.stack([below, above], -1)


@dataclass(frozen=True, eq=False)
class FinerMotion:
    """first, second: (H, W) greys of 0..255, the two frames; both sides of a frame have at least two pixels. hidden: bool (H, W),
    pixels of the first that the second does not show: their greys count among themselves alone; None for none."""

    first: np.ndarray
    second: np.ndarray
    hidden: np.ndarray | None = None
    name: ClassVar[str] = "the motion between pixels"

    def _fit(self, vectors: np.ndarray, flow: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(H, W, 2) each: what makes the squared error least where it is linear, and that motion's standard deviation.

        The deviation is that of white noise, and of a motion that is known to a pixel (`PRECISION`) where greys tell no more.
        """
        moved = moved_by(self.second, flow)
        down, along = np.gradient((self.first + moved) / 2)
        found = np.empty((7, *self.first.shape))

        def share(begin: int, end: int) -> None:
            squares(down, along, moved - self.first, vectors, begin, end, found)

        if self.hidden is not None:
            vectors = np.where(self.hidden[..., None], vectors + BEYOND, vectors)
        with compiling("motions between pixels"):
            in_shares(share, len(down), down.size // PIXELS_WORTH_A_THREAD, threads_of(None))
        rows, both, cols, row_error, col_error, error, number = found
        known = [one - both * both / np.maximum(other, FLAT) for one, other in ((rows, cols), (cols, rows))]
        precision = PRECISION + np.maximum(0, np.stack(known, -1)) * (number / (error + NOISE))[..., None]
        rows, cols = rows + STIFF / number, cols + STIFF / number
        step = np.stack([both * col_error - cols * row_error, both * row_error - rows * col_error], -1)
        step /= (rows * cols - both * both)[..., None]
        return step.clip(-STEP, STEP), precision**-0.5

    def __call__(self, vectors: np.ndarray, start: np.ndarray, interval: np.ndarray | None) -> Between:
        """Motions near `vectors`. All (H, W, 2), rows first, in pixels.

        vectors: what was estimated. start: where to begin, such as the mean of the samples. interval: (H, W, 2, 2), of the samples
        as a density; the answer's goes as far beyond the fit as the fit is uncertain, or where other motions were sampled to these.
        """
        least, most = vectors - FARTHEST, vectors + FARTHEST
        flow = start.astype(np.float64).clip(least, most)
        for _ in range(ROUNDS):
            flow = (flow + self._fit(vectors, flow)[0]).clip(least, most)
            middle = np.stack([medians(flow[..., axis].astype(np.float32), MEDIAN) for axis in (0, 1)], -1)
            flow = middle.astype(np.float64).clip(least, most)
        if interval is None:
            return Between(flow, None)
        return Between(flow, around(flow, self.deviation(vectors, flow), interval))

    def deviation(self, vectors: np.ndarray, flow: np.ndarray) -> np.ndarray:
        """(H, W, 2): standard deviations of motions (H, W, 2) near `vectors`, in pixels."""
        return self._fit(vectors, flow)[1]
