"""The energy of a whole configuration, without an array over the labels."""

from __future__ import annotations

import numpy as np

from mrfhw.field.problem import Problem
from mrfhw.samplers.data import doubles, edges, sources
from mrfhw.samplers.energy_kernel import field_energy, fill_singles
from mrfhw.system.threads import in_shares, threads_of

__all__ = ["FieldEnergy"]

_WORTH_A_THREAD = 10_000  # sites; fewer take less time than to hand them over


class FieldEnergy:
    """Energy of configurations of `problem`: called with labels (H, W) uint8, gives the number of `Energy`, sooner."""

    def __init__(self, problem: Problem) -> None:
        self._sources, self._doubles = sources(problem), doubles(problem, np.int64)
        self._edges = edges(problem, np.int64).reshape(-1, 4)
        self._sites = np.arange(problem.sites, dtype=np.int32)
        self._singles = np.empty((problem.sites, 1), np.int64)

    def __call__(self, labels: np.ndarray) -> int:
        labels = np.ascontiguousarray(labels, np.uint8)
        flat, threads = labels.reshape(-1), threads_of(None)

        def fill(first: int, last: int) -> None:
            fill_singles(self._singles[first:last], self._sites[first:last], labels.shape[1], flat[first:last], *self._sources)

        in_shares(fill, labels.size, labels.size // _WORTH_A_THREAD, threads)
        return int(field_energy(labels, self._singles, self._doubles, self._edges))
