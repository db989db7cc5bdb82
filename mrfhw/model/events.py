"""Event-driven Gibbs sampling as published (Chapter 4): an approximation, for optimization alone.

Labels whose probability is the largest one's divided by `cutoff`, or less, are not drawn (Equation 4.1). A site is drawn only if a
neighbour has changed since, or if it had more than one label left when it was drawn last. Regions of several sites are drawn as a
whole if one of their sites is to be. What is drawn has another distribution than the field: no uncertainty comes of it.
"""

from __future__ import annotations

import math

import numpy as np

from mrfhw.field.initial import initial_labels
from mrfhw.field.problem import Problem, ProblemError, Run
from mrfhw.model.data import compiling
from mrfhw.model.events_kernel import sweep_active
from mrfhw.model.exact import FloatTables, temperatures
from mrfhw.placement.visit_order import COLOURS

__all__ = ["EventChain"]

_WEIGHTS = 1 << 16  # energies above the least that have a weight


class EventChain:
    """A chain of `problem` in float64, advanced sweep by sweep.

    cutoff: C of Equation 4.1, above 1; infinity draws every label, and skips nothing but where one label has all the probability
    that float64 knows. region: rows and columns of the regions. tables: those of another chain of the problem.
    labels: (H, W) uint8. drawn, changes: sites drawn so far, and those whose label changed.
    """

    def __init__(self, problem: Problem, run: Run, *, cutoff: float, region: tuple[int, int] = (1, 1),
                 tables: FloatTables | None = None):
        if not cutoff > 1:
            raise ProblemError(f"cutoff is {cutoff:g}; labels less likely than 1 / cutoff of the likeliest are left out: give more "
                               "than 1")
        if min(region) < 1:
            raise ProblemError(f"region is {region[0]}x{region[1]}; it has rows and columns: give at least 1 of each")
        self._tables = FloatTables(problem) if tables is None else tables
        self.problem, self.run, self.cutoff, self.sweeps, self.drawn, self.changes = problem, run, cutoff, 0, 0, 0
        self._rng = np.random.Generator(np.random.PCG64([run.seed, 2]))
        self.labels = np.ascontiguousarray(initial_labels(problem, run)).copy()
        rows, cols = (np.arange(size) // step for size, step in zip(problem.shape, region, strict=True))
        self._regions = (rows[:, None] * (cols[-1] + 1) + cols).reshape(-1)
        self._active = np.ones((len(COLOURS), self._regions[-1] + 1), np.uint8)
        self._temperatures, self._last = temperatures(problem), math.inf
        self._weights = np.empty(0)

    def sweep(self) -> None:
        """Black sites in active regions, then white ones."""
        t, temperature = self._tables, next(self._temperatures)
        if temperature > self._last:
            self._active.fill(1)
        if temperature != self._last:
            self._weights = np.exp(np.arange(min(_WEIGHTS, t.bound + 1) + 1) / -temperature)
            self._weights[-1] = 0.0
            self._last = temperature
        with compiling("events", t.kind):
            for colour in COLOURS:
                now = self._active[colour].copy()
                self._active[colour].fill(0)
                drawn, changes = sweep_active(
                    t.sites[colour], self.problem.shape[1], self._weights, 1 / self.cutoff, t.singles[colour], t.doubles, t.edges,
                    t.flags.reshape(-1), self.labels.reshape(-1), self._rng.random(len(t.sites[colour])), self._regions, now,
                    self._active[colour], self._active[1 - colour])
                self.drawn += drawn
                self.changes += changes
        self.sweeps += 1

    @property
    def skipped(self) -> float:
        """Share of the updates of all sweeps so far that were skipped."""
        return 1 - self.drawn / max(1, self.problem.unclamped_sites * self.sweeps)
