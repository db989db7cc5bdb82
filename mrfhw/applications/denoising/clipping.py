"""Noise that a picture's black and white cut off: the mean of what is seen is then no longer what was there.

A grey g under noise of deviation s that is cut off at 0 and 255 has a mean above g where it is dark and below g where it is light,
and a deviation below s. Both follow from the normal distribution, so that the mean can be turned back into the grey.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

__all__ = ["CutNoise", "cut_moments"]

WHITE = 255.0
GREYS = np.arange(256.0)  # of the tables, between which values lie on straight lines
ROUNDS = 20
CLOSE = 1e-3  # of the deviation, between rounds
FEWEST = 0.5  # share of the pixels that such noise would cut off which a picture has at least, where it is cut off


def cut_moments(greys: np.ndarray, deviation: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean, standard deviation, and the share that is cut off, each (n,), of greys (n,) of 0..255 under normal noise of a deviation
    above 0 that is cut off at 0 and 255."""
    ends = (np.array([[0.0], [WHITE]]) - greys) / deviation
    below = np.array([[math.erfc(-end / math.sqrt(2)) / 2 for end in row] for row in ends])
    density = np.exp(-(ends**2) / 2) / math.sqrt(2 * math.pi)
    inside, light = below[1] - below[0], 1 - below[1]
    apart = deviation * (density[0] - density[1])
    mean = WHITE * light + greys * inside + apart
    square = (WHITE**2 * light + (greys**2 + deviation**2) * inside + 2 * greys * apart
              + deviation**2 * (ends[0] * density[0] - ends[1] * density[1]))
    return mean, np.sqrt(np.maximum(0.0, square - mean**2)), 1 - inside


@dataclass(frozen=True, eq=False)
class CutNoise:
    """Noise of a deviation that is cut off. mean, deviations, cut: (256,) each, of `cut_moments` of GREYS."""

    mean: np.ndarray
    deviations: np.ndarray
    cut: np.ndarray

    @classmethod
    def of(cls, deviation: float) -> CutNoise:
        """deviation: above 0, of the noise before it is cut off."""
        return cls(*cut_moments(GREYS, deviation))

    @classmethod
    def seen(cls, deviation: float, means: np.ndarray) -> CutNoise:
        """The noise that has a deviation, above 0, after it is cut off, the mean over pixels whose means are those (n,)."""
        before = deviation
        for _ in range(ROUNDS):
            found = cls.of(before)
            after = found.deviation(means)
            if abs(after - deviation) < CLOSE * deviation:
                break
            before = min(before * deviation / after, WHITE)
        return found

    def greys(self, means: np.ndarray) -> np.ndarray:
        """What has these means, of 0..255."""
        return np.interp(means, self.mean, GREYS)

    def deviation(self, means: np.ndarray) -> float:
        """After it is cut off, the mean over pixels of these means."""
        return float(np.interp(self.greys(means), GREYS, self.deviations).mean())

    def is_in(self, noisy: np.ndarray, means: np.ndarray) -> bool:
        """Whether a picture of 0..255 has about as many pixels of black and white as it then has."""
        share = np.mean((noisy <= 0) | (noisy >= WHITE))
        return bool(share > FEWEST * np.interp(self.greys(means), GREYS, self.cut).mean())
