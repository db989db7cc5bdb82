"""The energy of a field, in NumPy: what Equation 3.1 says, for any number of configurations at once.

Stated here and, compiled for whole sweeps, in `mrfhw.model.kernel`; everything else calls one of the two, and a test compares
them with each other and with a third in plain Python.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mrfhw.field.problem import Problem

__all__ = ["Energy", "doubleton_table", "least_singleton", "limited", "singleton_energies", "singleton_energy", "summed"]


def singleton_energy(problem: Problem, label: int) -> np.ndarray:
    """E_singleton of every site for one label, before alpha; int64 (H, W) (Equation 3.1, first term)."""
    rows, cols = problem.shape
    s1 = problem.singleton1.astype(np.int64)
    inside = np.ones((rows, cols), bool)
    if problem.constants is not None:
        difference = np.abs(s1 - int(problem.constants[label]))
    else:
        assert problem.singleton2 is not None
        assert problem.offsets is not None
        (rows2, cols2), origin = problem.singleton2.shape, problem.singleton2_origin
        r = np.arange(rows)[:, None] + int(problem.offsets[label][0]) + origin[0]
        c = np.arange(cols)[None, :] + int(problem.offsets[label][1]) + origin[1]
        inside = (r >= 0) & (r < rows2) & (c >= 0) & (c < cols2)
        difference = np.abs(s1 - problem.singleton2.astype(np.int64)[r.clip(0, rows2 - 1), c.clip(0, cols2 - 1)])
    energy = difference if problem.singleton == "absolute" else difference * difference
    energy = np.where(inside, energy, problem.out_of_range)
    return energy if problem.observed is None else np.where(problem.observed, energy, 0)


def singleton_energies(problem: Problem) -> np.ndarray:
    """E_singleton of every site and label, before alpha; int64 (H, W, L) (Equation 3.1, first term)."""
    return np.stack([singleton_energy(problem, label) for label in range(problem.labels)], -1)


def least_singleton(problem: Problem) -> np.ndarray:
    """The label of the least singleton energy at each site, the lowest on ties; uint8 (H, W)."""
    label, least = np.zeros(problem.shape, np.uint8), singleton_energy(problem, 0)
    for other in range(1, problem.labels):
        energy = singleton_energy(problem, other)
        better = energy < least
        label[better], least[better] = other, energy[better]
    return label


def doubleton_table(problem: Problem) -> np.ndarray:
    """E_doubleton(l, x), truncated at tau; int64 (L, L) (Equation 3.1, second term)."""
    labels = np.arange(problem.labels)
    if problem.doubleton == "absolute":
        table = np.abs(labels[:, None] - labels[None, :])
    elif problem.doubleton == "potts":
        table = (labels[:, None] != labels[None, :]).astype(np.int64)
    else:
        assert problem.vectors is not None
        v = np.asarray(problem.vectors, np.int64)
        table = ((v[:, None, :] - v[None, :, :]) ** 2).sum(-1)
    return table if problem.tau is None else np.minimum(table, problem.tau)


def summed(singles: np.ndarray, doubles: np.ndarray, neighbours: Iterable[np.ndarray]) -> np.ndarray:
    """E(l) of sites before shift and limit, int64 (..., L): alpha E_singleton + beta sum of E_doubleton (Equation 3.1).

    singles: (..., L) alpha E_singleton. doubles: (L, L) beta E_doubleton. neighbours: of each neighbour that exists its
    labels (...).
    """
    total = np.array(singles, np.int64)
    for labels in neighbours:
        total = total + doubles.T[labels]
    return total


def limited(energies: np.ndarray, energy_shift: int, energy_max: int) -> np.ndarray:
    """Energies as a machine holds them: shifted, and at most `energy_max` (Equation 3.1)."""
    return np.minimum(np.asarray(energies, np.int64) >> energy_shift, energy_max)


@dataclass(frozen=True)
class Energy:
    """The energies of `problem` at its configurations, labels (..., H, W) of any integer type. All int64, unshifted."""

    problem: Problem

    @cached_property
    def singles(self) -> np.ndarray:
        """(H, W, L): alpha E_singleton."""
        return self.problem.alpha * singleton_energies(self.problem)

    @cached_property
    def doubles(self) -> np.ndarray:
        """(L, L): beta E_doubleton."""
        return self.problem.beta * doubleton_table(self.problem)

    def of_site(self, labels: np.ndarray, row: int, col: int) -> np.ndarray:
        """(..., L): E(l) of a site, given the labels of its neighbours."""
        rows, cols = self.problem.shape
        around = ((row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1))
        given = (labels[..., r, c] for r, c in around if 0 <= r < rows and 0 <= c < cols)
        return summed(np.broadcast_to(self.singles[row, col], (*labels.shape[:-2], self.problem.labels)), self.doubles, given)

    def __call__(self, labels: np.ndarray) -> np.ndarray:
        """(...): of whole configurations, alpha E_singleton of each site and beta E_doubleton of each edge once."""
        row, col = np.indices(self.problem.shape)
        singles = self.singles[row, col, labels].sum((-2, -1))
        return np.asarray(singles + self.doubles[labels[..., 1:, :], labels[..., :-1, :]].sum((-2, -1))
                          + self.doubles[labels[..., 1:], labels[..., :-1]].sum((-2, -1)))
