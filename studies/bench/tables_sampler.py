"""The sampler that one would write without hardware in mind: numba, tables of exp() by energy, one core.

Gibbs on a checkerboard with float32 weights and a xorshift32 of its own; no bit of it is the machine's. It is what
the speed of the bit-exact model is measured against.
"""

from __future__ import annotations

import numpy as np

from mrfhw.system.numba_alone import njit

__all__ = ["TablesSampler"]

U = np.uint64


@njit(nogil=True)
def _draw_colour(colour: int, singles: np.ndarray, doubles: np.ndarray, weights: np.ndarray, labels: np.ndarray,
                 state: np.ndarray) -> None:
    """singles: (H, W, L) int16. doubles: (L, L) int16. weights: float32, exp(-d / T). labels: (H + 2, W + 2) uint8, framed
    by the label L, whose row of doubles is 0. state: (1,) uint32."""
    rows, cols, count = singles.shape
    energy, running = np.empty(count, np.int16), np.empty(count, np.float32)
    word = state[0]
    for row in range(U(rows)):
        for col in range((row + U(colour)) & U(1), U(cols), U(2)):
            up, down = U(labels[row, col + U(1)]), U(labels[row + U(2), col + U(1)])
            left, right = U(labels[row + U(1), col]), U(labels[row + U(1), col + U(2)])
            for label in range(U(count)):
                energy[label] = (singles[row, col, label] + doubles[up, label] + doubles[down, label]
                                 + doubles[left, label] + doubles[right, label])
            least = energy[0]
            for label in range(U(count)):
                least = min(least, energy[label])
            base, total = np.int64(least), np.float32(0)
            for label in range(U(count)):
                total += weights[U(np.int64(energy[label]) - base)]
                running[label] = total
            word ^= np.uint32(word << np.uint32(13))
            word ^= np.uint32(word >> np.uint32(17))
            word ^= np.uint32(word << np.uint32(5))
            target = np.float32(word >> np.uint32(8)) * np.float32(2.0**-24) * total
            drawn = np.int32(0)
            for label in range(U(count)):
                drawn += np.int32(running[label] <= target)
            labels[row + U(1), col + U(1)] = min(drawn, np.int32(count - 1))
    state[0] = word


class TablesSampler:
    """Samples sums of singles (H, W, L) and symmetrical doubles (L, L), whole numbers, at a temperature.

    labels: (H, W) uint8, a view of the chain's state. The largest sum of energies must fit int16.
    """

    def __init__(self, singles: np.ndarray, doubles: np.ndarray, temperature: float, seed: int = 1) -> None:
        rows, cols, count = singles.shape
        largest = int(singles.max()) + 4 * int(doubles.max())
        if largest > np.iinfo(np.int16).max:
            raise ValueError(f"energies reach {largest}; int16 holds {np.iinfo(np.int16).max}: scale them")
        self._singles = np.ascontiguousarray(singles, np.int16)
        self._doubles = np.zeros((count + 1, count), np.int16)
        self._doubles[:-1] = doubles
        self._weights = np.exp(np.arange(largest + 1) / -temperature).astype(np.float32)
        self._framed = np.full((rows + 2, cols + 2), count, np.uint8)
        self.labels = self._framed[1:-1, 1:-1]
        self.labels[:] = np.random.default_rng(seed).integers(0, count, (rows, cols))
        self._state = np.array([np.random.SeedSequence(seed).generate_state(1)[0] | 1], np.uint32)

    def sweep(self) -> None:
        for colour in (0, 1):
            _draw_colour(colour, self._singles, self._doubles, self._weights, self._framed, self._state)
