"""The energy of a whole configuration, without an array over the labels."""

from __future__ import annotations

import numba
import numpy as np

from mrfhw.model.data import sources
from mrfhw.problem import Problem, doubleton_table

__all__ = ["FieldEnergy", "field_energy"]


@numba.njit(cache=True, nogil=True)
def field_energy(labels: np.ndarray, s1: np.ndarray, s2: np.ndarray, offsets: np.ndarray, constants: np.ndarray,
                 observed: np.ndarray, alpha: int, squared: bool, out_of_range: int, doubles: np.ndarray) -> int:
    """alpha E_singleton of each site's label and beta E_doubleton of each edge once (Equation 3.1, unshifted); int64.

    labels: (H, W) uint8. s1: (H, W) int32. s2: (H2, W2) int32, moved by offsets (L, 2) int64; of size 0 with constants
    (L,) int32. observed: (H, W) bool, or of size 0 for all. doubles: (L, L) int64 beta E_doubleton.
    """
    rows, cols = labels.shape
    total = 0
    for row in range(rows):
        for col in range(cols):
            label = labels[row, col]
            if col > 0:
                total += doubles[label, labels[row, col - 1]]
            if row > 0:
                total += doubles[label, labels[row - 1, col]]
            if observed.size > 0 and not observed[row, col]:
                continue
            if s2.size == 0:
                difference = abs(np.int64(s1[row, col]) - constants[label])
            else:
                r, c = row + offsets[label, 0], col + offsets[label, 1]
                if not (0 <= r < s2.shape[0] and 0 <= c < s2.shape[1]):
                    total += alpha * out_of_range
                    continue
                difference = abs(np.int64(s1[row, col]) - s2[r, c])
            total += alpha * (difference * difference if squared else difference)
    return total


class FieldEnergy:
    """Energy of configurations of `problem`: called with labels (H, W) uint8, gives `mrfhw.model.exact.sweep_energy`'s int."""

    def __init__(self, problem: Problem) -> None:
        self._arguments = (*sources(problem), np.ascontiguousarray(problem.beta * doubleton_table(problem).T))

    def __call__(self, labels: np.ndarray) -> int:
        return int(field_energy(np.ascontiguousarray(labels, np.uint8), *self._arguments))
