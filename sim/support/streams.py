"""Random timing for ready/valid streams."""

from __future__ import annotations

import numpy as np

__all__ = ["Rhythm"]


class Rhythm:
    """Yes or no by cycle: a share of yes, in bursts of up to `burst` cycles. share 1: always."""

    def __init__(self, rng: np.random.Generator, share: float, burst: int = 1):
        self.rng, self.share, self.burst = rng, share, burst
        self._left, self._now = 0, True

    def __call__(self) -> bool:
        if self._left == 0:
            self._left = int(self.rng.integers(1, self.burst + 1))
            self._now = bool(self.rng.random() < self.share)
        self._left -= 1
        return self._now
