"""The distribution that a machine draws from, computed by enumeration: conditional, sweep and stationary.

Nothing here is sampled. A uniform number is taken as uniform on its 2^k values and independent of the others;
all else is the machine's integer arithmetic (Equations 3.1-3.4), so that a difference between these numbers and
the machine's samples is a fault, and their distance to `exact_distribution` is a property of the widths.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mrfhw.field.colours import COLOURS, colours
from mrfhw.field.energy import Energy
from mrfhw.field.problem import Problem, ProblemError
from mrfhw.machine.config import Config
from mrfhw.placement.fit import check_fits
from mrfhw.placement.temperature import coefficients, realized
from mrfhw.twin.draws import conditional, exact_conditional, total_variation

__all__ = ["STATES_MAX", "ReducibleError", "SweepKernel", "conditional", "exact_conditional", "exact_distribution",
           "stationary", "sweep_kernel", "total_variation"]

STATES_MAX = 1 << 16  # configurations of a grid that is enumerated


class ReducibleError(ValueError):
    """The chain has several closed classes: where it ends depends on where it starts."""


# -- a grid


def _digits(count: int, labels: int) -> np.ndarray:
    """(labels^count, count) uint8: all configurations, the last column fastest."""
    return np.indices((labels,) * count, np.uint8).reshape(count, labels**count).T


@dataclass(frozen=True)
class SweepKernel:
    """One sweep of a machine on a small grid: all black sites given the white ones, then all white ones.

    labels: L. sites: the unclamped (black, white) sites, flat indices in raster order; B = L^(black sites), W alike.
    held: (H, W) uint8, the labels of the clamped sites. black: (W, B), white: (B, W) float64, the probability of
    a colour's new labels (column) given the other colour's (row); rows sum to 1.
    A configuration has the index b x W + w, the first site of a colour being its most significant digit.
    """

    labels: int
    sites: tuple[np.ndarray, np.ndarray]
    held: np.ndarray
    black: np.ndarray
    white: np.ndarray

    @cached_property
    def states(self) -> np.ndarray:
        """(B x W, H, W) uint8: the configurations, in the order of their indices."""
        black, white = (_digits(len(s), self.labels) for s in self.sites)
        out = np.repeat(self.held.reshape(1, -1), len(black) * len(white), 0)
        out[:, self.sites[0]] = np.repeat(black, len(white), 0)
        out[:, self.sites[1]] = np.tile(white, (len(black), 1))
        return out.reshape(-1, *self.held.shape)

    def index(self, grids: np.ndarray) -> np.ndarray:
        """Indices (n,) int64 of configurations (n, H, W)."""
        flat = np.asarray(grids, np.int64).reshape(len(grids), -1)
        order = np.concatenate(self.sites)
        return np.asarray(flat[:, order] @ self.labels ** np.arange(len(order) - 1, -1, -1, dtype=np.int64))

    def matrix(self) -> np.ndarray:
        """Transition matrix of a sweep, float64 (B x W, B x W); row: before, column: after."""
        after = (self.black[:, :, None] * self.white[None]).reshape(len(self.black), -1)
        return np.tile(after, (len(self.white), 1))  # the old black labels do not matter

    def after(self, sweeps: int) -> np.ndarray:
        """Distribution (B x W,) of the sample of sweep `sweeps` >= 1, begun at uniform random labels."""
        white = np.full(len(self.black), 1 / len(self.black))
        for _ in range(sweeps):
            black = white @ self.black
            white = black @ self.white
        return np.asarray((black[:, None] * self.white).ravel())

    def mixing(self, sweeps: int) -> float:
        """Largest total variation, over all starts, between the sample of sweep `sweeps` >= 1 and `stationary()`."""
        black = self.black @ np.linalg.matrix_power(self.white @ self.black, sweeps - 1)
        goal = self.stationary().reshape(self.white.shape)
        return max(total_variation(row[:, None] * self.white, goal) for row in black)

    def stationary(self) -> np.ndarray:
        """The left eigenvector of `matrix()` for 1, summing to 1; float64 (B x W,), 0 at transient configurations.

        Raises ReducibleError where it is not unique.
        """
        # The colour with fewer configurations is a Markov chain by itself, and the other follows from it.
        if len(self.white) <= len(self.black):
            black = _invariant(self.white @ self.black)
        else:
            black = _invariant(self.black @ self.white) @ self.black
        return np.asarray((black[:, None] * self.white).ravel())


def _invariant(matrix: np.ndarray) -> np.ndarray:
    """The distribution that `matrix` (n, n) keeps. Raises ReducibleError where there are several."""
    n = len(matrix)
    reach = (matrix > 0) | np.eye(n, dtype=bool)
    while True:
        further = reach.astype(np.float32) @ reach.astype(np.float32) > 0
        if np.array_equal(further, reach):
            break
        reach = further
    # A configuration is in a closed class if it is reached from all that it reaches.
    recurrent = ~(reach & ~reach.T).any(1)
    classes = np.unique(reach[recurrent], axis=0)
    if len(classes) > 1:
        raise ReducibleError(f"the quantized chain has {len(classes)} closed classes; only one has a single stationary "
                             "distribution: give a higher temperature or more bits")
    inside = np.flatnonzero(recurrent)
    system = matrix[np.ix_(inside, inside)].T - np.eye(len(inside))
    system[-1] = 1
    right = np.zeros(len(inside))
    right[-1] = 1
    out = np.zeros(n)
    out[inside] = np.maximum(np.linalg.solve(system, right), 0)
    return out / out.sum()


def _half(config: Config, problem: Problem, coefficient: int, sites: np.ndarray, others: np.ndarray,
          held: np.ndarray) -> np.ndarray:
    """(configurations of `others`, configurations of `sites`) float64: new labels at `sites`, one colour's."""
    rows, cols = problem.shape
    energy = Energy(problem)
    given = _digits(len(others), problem.labels)
    around = np.repeat(held.reshape(1, -1), len(given), 0)
    around[:, others] = given
    around = around.reshape(-1, rows, cols)
    out = np.ones((len(given), 1))
    for site in sites:
        distinct, which = np.unique(energy.of_site(around, *divmod(int(site), cols)), axis=0, return_inverse=True)
        table = np.stack([conditional(config, problem, sums, coefficient) for sums in distinct])
        out = (out[:, :, None] * table[which.ravel()][:, None, :]).reshape(len(given), -1)
    return out


def sweep_kernel(config: Config, problem: Problem, held: np.ndarray | None = None) -> SweepKernel:
    """The kernel of a sweep of `problem`, whose temperature is constant, on the machine `config`.

    held: (H, W) labels that the clamped sites keep, 0 by default. Raises ProblemError for a problem that
    does not fit the machine, has a schedule, or more than STATES_MAX configurations.
    """
    check_fits(config, problem)
    if problem.schedule.kind != "constant":
        raise ProblemError(f"the schedule is {problem.schedule.kind}; a sweep's kernel takes one temperature: "
                           "give a constant schedule")
    free = np.ones(problem.shape, bool) if problem.clamped is None else ~problem.clamped
    count = problem.labels ** int(free.sum())
    if count > STATES_MAX:
        raise ProblemError(f"the grid has {problem.labels}^{int(free.sum())} configurations; {STATES_MAX} can be "
                           "enumerated: give fewer sites, fewer labels or more clamped sites")
    black, white = (np.flatnonzero(free & (colours(problem.shape) == colour)) for colour in COLOURS)
    keep = np.zeros(problem.shape, np.uint8) if held is None else held.astype(np.uint8)
    value = next(coefficients(config, problem))
    return SweepKernel(labels=problem.labels, sites=(black, white), held=keep,
                       black=_half(config, problem, value, black, white, keep),
                       white=_half(config, problem, value, white, black, keep))


def stationary(config: Config, problem: Problem, held: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """(states (n, H, W) uint8, probabilities (n,) float64) that a sweep of the machine keeps.

    Raises as `sweep_kernel` does, and ReducibleError where the machine's chain has several such distributions.
    """
    kernel = sweep_kernel(config, problem, held)
    return kernel.states, kernel.stationary()


def exact_distribution(config: Config, problem: Problem, states: np.ndarray) -> np.ndarray:
    """Probability of each of `states` (n, H, W), which are all there are: proportional to exp(-E / T); float64 (n,).

    T is the one that `config` realizes for the first sweep; energies are neither shifted nor capped.
    """
    value = next(coefficients(config, problem))
    return exact_conditional(Energy(problem)(states), realized(config, value, problem.energy_shift))
