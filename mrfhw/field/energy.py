"""The energy of a field, in NumPy: what Equation 3.1 says, for any number of configurations at once.

Stated here and, compiled for whole sweeps, in `mrfhw.samplers.energy_kernel` and `sites_kernel`; everything else calls one of
these, and a test compares them with each other and with a third in plain Python. `mrfhw.samplers.cpu_kernel` only adds their
tables up, in the order that its speed needs (tests/samplers/test_cpu.py compares).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mrfhw.field.problem import Problem

__all__ = ["Energy", "doubleton_table", "edge_weights", "least_energies", "least_singleton", "limited", "singleton_energies",
           "singleton_energy"]


def singleton_energy(problem: Problem, label: int) -> np.ndarray:
    """alpha E_singleton of every site for one label, the sum of its channels'; int64 (H, W) (Equation 3.1, first term)."""
    energies = (channel.alpha * _channel_energy(problem, number, label) for number, channel in enumerate(problem.channels))
    return sum(energies, np.zeros(problem.shape, np.int64))


def _channel_energy(problem: Problem, number: int, label: int) -> np.ndarray:
    """E_singleton of one channel, before alpha; int64 (H, W)."""
    rows, cols = problem.shape
    channel, inside = problem.channels[number], np.ones((rows, cols), bool)

    def of(image: np.ndarray) -> np.ndarray:
        return image.reshape(*image.shape[:2], -1)[..., number]

    if problem.unary is not None:
        energy = channel.energy(problem.unary[..., label])
    elif problem.constants is not None:
        assert problem.singleton1 is not None
        energy = channel.compare(of(problem.singleton1), problem.constants.reshape(problem.labels, -1)[label, number])
    else:
        assert problem.singleton1 is not None
        assert problem.singleton2 is not None
        assert problem.offsets is not None
        (rows2, cols2), origin = problem.singleton2.shape[:2], problem.singleton2_origin
        r = np.arange(rows)[:, None] + int(problem.offsets[label][0]) + origin[0]
        c = np.arange(cols)[None, :] + int(problem.offsets[label][1]) + origin[1]
        inside, place = (r >= 0) & (r < rows2) & (c >= 0) & (c < cols2), (r.clip(0, rows2 - 1), c.clip(0, cols2 - 1))
        if problem.shown is not None:
            inside &= problem.shown[place]
        energy = channel.compare(of(problem.singleton1), of(problem.singleton2)[place])
    energy = np.where(inside, energy, problem.out_of_range if number == 0 else 0)
    return energy if problem.observed is None else np.where(problem.observed, energy, 0)


def singleton_energies(problem: Problem) -> np.ndarray:
    """alpha E_singleton of every site and label; int64 (H, W, L) (Equation 3.1, first term)."""
    return np.stack([singleton_energy(problem, label) for label in range(problem.labels)], -1)


def least_singleton(problem: Problem) -> np.ndarray:
    """The label of the least singleton energy at each site, the lowest on ties; uint8 (H, W). Of one channel, before alpha."""
    def energies(label: int) -> np.ndarray:
        return _channel_energy(problem, 0, label) if len(problem.channels) == 1 else singleton_energy(problem, label)

    label, least = np.zeros(problem.shape, np.uint8), energies(0)
    for other in range(1, problem.labels):
        energy = energies(other)
        better = energy < least
        label[better], least[better] = other, energy[better]
    return label


def doubleton_table(problem: Problem) -> np.ndarray:
    """E_doubleton of an edge, truncated at tau; int64 (L, L) (Equation 3.1, second term).

    By the label to the left or above, and that to the right or below.
    """
    labels = np.arange(problem.labels)
    if problem.doubleton == "absolute":
        table = np.abs(labels[:, None] - labels[None, :])
    elif problem.pairwise is not None:
        table = problem.pairwise.astype(np.int64)
    elif problem.doubleton == "potts":
        table = (labels[:, None] != labels[None, :]).astype(np.int64)
    else:
        assert problem.vectors is not None
        v = np.asarray(problem.vectors, np.int64)
        table = ((v[:, None, :] - v[None, :, :]) ** 2).sum(-1)
    return table if problem.tau is None else np.minimum(table, problem.tau)


def edge_weights(problem: Problem) -> np.ndarray:
    """(H, W, 4) int64: the weights of each site's edges up, down, left and right; 0 where there is no neighbour."""
    rows, cols = problem.shape
    given = np.ones((rows, cols, 2), np.int64) if problem.edges is None else problem.edges
    weights = np.zeros((rows, cols, 4), np.int64)
    weights[1:, :, 0] = weights[:-1, :, 1] = given[:-1, :, 1]
    weights[:, 1:, 2] = weights[:, :-1, 3] = given[:, :-1, 0]
    return weights


def least_energies(problem: Problem, labels: np.ndarray) -> np.ndarray:
    """The least of the energies E(l) of each site, its neighbours at `labels` (H, W) of any integer type; int64 (H, W)."""
    doubles, weights = problem.beta * doubleton_table(problem), edge_weights(problem)
    around = np.pad(labels, 1)  # what stands beyond the edges has the weight 0
    neighbours = (around[:-2, 1:-1], around[2:, 1:-1], around[1:-1, :-2], around[1:-1, 2:])
    least = np.full(problem.shape, np.iinfo(np.int64).max)
    for label in range(problem.labels):
        energy = singleton_energy(problem, label)
        for number, beside in enumerate(neighbours):
            edge = doubles[:, label] if number in (0, 2) else doubles[label]  # the label above or to the left comes first
            energy += weights[..., number] * edge[beside]
        np.minimum(least, energy, out=least)
    return least


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
        return singleton_energies(self.problem)

    @cached_property
    def doubles(self) -> np.ndarray:
        """(L, L): beta E_doubleton of an edge of weight 1, by the label to the left or above and that to the right or below."""
        return self.problem.beta * doubleton_table(self.problem)

    @cached_property
    def weights(self) -> np.ndarray:
        """(H, W, 4): as `edge_weights`."""
        return edge_weights(self.problem)

    def of_site(self, labels: np.ndarray, row: int, col: int) -> np.ndarray:
        """(..., L): E(l) of a site, given the labels of its neighbours."""
        rows, cols = self.problem.shape
        total = np.array(np.broadcast_to(self.singles[row, col], (*labels.shape[:-2], self.problem.labels)))
        around = ((row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1))
        for number, (r, c) in enumerate(around):
            if 0 <= r < rows and 0 <= c < cols:
                before = self.doubles if number in (0, 2) else self.doubles.T  # the neighbour's label comes first
                total += self.weights[row, col, number] * before[labels[..., r, c]]
        return total

    def __call__(self, labels: np.ndarray) -> np.ndarray:
        """(...): of whole configurations, alpha E_singleton of each site and beta E_doubleton of each edge once."""
        row, col = np.indices(self.problem.shape)
        singles = self.singles[row, col, labels].sum((-2, -1))
        below, right = self.weights[:-1, :, 1], self.weights[:, :-1, 3]
        return np.asarray(singles + (below * self.doubles[labels[..., :-1, :], labels[..., 1:, :]]).sum((-2, -1))
                          + (right * self.doubles[labels[..., :-1], labels[..., 1:]]).sum((-2, -1)))
