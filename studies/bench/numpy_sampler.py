"""The sampler that one would write first: NumPy, a colour at a time, float32, one core."""

from __future__ import annotations

import numpy as np

__all__ = ["NumpySampler"]


class NumpySampler:
    """Samples sums of singles (H, W, L) and symmetrical doubles (L, L) at a temperature; labels: (H, W) intp, the chain's state.

    A label is that of the greatest Gumbel number less E / T, of all sites of a colour at once. No bit of it is the machine's.
    """

    def __init__(self, singles: np.ndarray, doubles: np.ndarray, temperature: float, seed: int = 1) -> None:
        rows, cols, count = singles.shape
        self._rng = np.random.default_rng(seed)
        self._singles = (singles / -temperature).astype(np.float32)
        # Beyond the border lies the label L, which no label minds.
        self._doubles = np.zeros((count + 1, count), np.float32)
        self._doubles[:-1] = doubles / -temperature
        self._framed = np.full((rows + 2, cols + 2), count)
        self.labels = self._framed[1:-1, 1:-1]
        self.labels[:] = self._rng.integers(0, count, (rows, cols))
        self._sites = [np.nonzero(np.indices((rows, cols)).sum(0) % 2 == colour) for colour in (0, 1)]

    def sweep(self) -> None:
        for row, col in self._sites:
            around = ((row, col + 1), (row + 2, col + 1), (row + 1, col), (row + 1, col + 2))
            score = self._singles[row, col]
            for neighbour in around:
                score += self._doubles[self._framed[neighbour]]
            score -= np.log(self._rng.standard_exponential(score.shape, np.float32))
            self.labels[row, col] = score.argmax(-1)
