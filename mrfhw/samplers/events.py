"""Event-driven Gibbs sampling as published (Chapter 4): an approximation, for optimization alone.

Labels whose probability is the largest one's divided by `cutoff`, or less, are not drawn (Equation 4.1). A site is drawn only if a
neighbour has changed since, or if it had more than one label left when it was drawn last. Regions of several sites are drawn as a
whole if one of their sites is to be. What is drawn has another distribution than the field: no uncertainty comes of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mrfhw.field.initial import initial_labels
from mrfhw.field.problem import Problem, ProblemError, Run
from mrfhw.field.result import Result
from mrfhw.field.state import RunState
from mrfhw.machine.config import Config
from mrfhw.placement.visit_order import COLOURS
from mrfhw.samplers.events_kernel import sweep_active
from mrfhw.samplers.exact import FloatTables, temperatures
from mrfhw.system.progress import compiling

__all__ = ["EventChain", "Skipping"]

_WEIGHTS = 1 << 16  # energies above the least that have a weight


@dataclass(frozen=True)
class Skipping:
    """What is left out. cutoff: C of Equation 4.1, above 1. region: rows and columns of the regions. Raises ProblemError."""

    cutoff: float = 4.0
    region: tuple[int, int] = (1, 1)

    def __post_init__(self) -> None:
        if not self.cutoff > 1:
            raise ProblemError(f"cutoff is {self.cutoff:g}; labels less likely than 1 / cutoff of the likeliest are left out: give "
                               "more than 1")
        if min(self.region) < 1:
            raise ProblemError(f"region is {self.region[0]}x{self.region[1]}; it has rows and columns: give at least 1 of each")


class EventChain:
    """A chain of `problem` in float64, advanced sweep by sweep.

    skipping: the cut-off C, of which infinity draws every label, and skips nothing but where one label has all the probability
    that float64 knows; and the regions. config: the machine whose temperatures are taken. tables: those of another chain of the
    problem. labels: (H, W) uint8. drawn, changes: sites drawn so far, and those whose label changed.
    Raises ProblemError where the run estimates more than its last labels.
    """

    energy: int | None = None

    def __init__(self, problem: Problem, run: Run, *, skipping: Skipping, config: Config | None = None,
                 tables: FloatTables | None = None):
        if run.estimate != "last":
            raise ProblemError(f"estimate is {run.estimate}; event-driven sampling never draws unlikely labels, so its samples say "
                               "nothing of uncertainty: give estimate last, or another backend than events")
        self._tables = FloatTables(problem, config) if tables is None else tables
        self.problem, self.run, self.config, self.sweeps, self.drawn, self.changes = problem, run, config, 0, 0, 0
        self.cutoff, region = skipping.cutoff, skipping.region
        self._rng = np.random.Generator(np.random.PCG64([run.seed, 2]))
        self.initial = initial_labels(problem, run)
        self.labels = np.ascontiguousarray(self.initial).copy()
        rows, cols = (np.arange(size) // min(step, size) for size, step in zip(problem.shape, region, strict=True))
        self._regions = (rows[:, None] * (cols[-1] + 1) + cols).reshape(-1)
        self._active = np.ones((len(COLOURS), self._regions[-1] + 1), np.uint8)
        self._temperatures, self._last = temperatures(problem, config), math.inf
        self._weights = np.empty(0)

    def sweep(self) -> None:
        """Black sites in active regions, then white ones."""
        t, temperature = self._tables, next(self._temperatures)
        if temperature > self._last:
            self._active.fill(1)
        if temperature != self._last or not self._weights.size:
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
    def sample(self) -> np.ndarray:
        """(H, W) uint8, a copy."""
        return self.labels.copy()

    def result(self, wall: float) -> Result:
        """The result of the chain so far, after `wall` seconds; its label evaluations are those that were not skipped."""
        return Result(backend="events", last=self.sample, initial=self.initial, wall_seconds=wall,
                      label_evaluations=self.drawn * self.problem.labels)

    def state(self, wall: float = 0.0, counted: bool = True) -> RunState:
        """The state of the chain, as a copy that later sweeps do not change. Nothing is counted."""
        return RunState(sweeps=self.sweeps, so_far=self.result(wall), random=self._rng.bit_generator.state,
                        more={"active": self._active.copy(), "changes": np.array(self.changes)})

    def restore(self, state: RunState) -> None:
        """Continue from the state of a chain with the same problem, run and skipping."""
        found = state.so_far
        assert state.random is not None
        self.initial, self.sweeps, self.changes = found.initial, state.sweeps, int(state.more["changes"])
        self.drawn = found.label_evaluations // self.problem.labels
        self.labels[...], self._active[...] = found.last, state.more["active"]
        self._rng.bit_generator.state = state.random
        self._temperatures, self._last, self._weights = temperatures(self.problem, self.config), math.inf, np.empty(0)
        for _ in range(self.sweeps):
            self._last = next(self._temperatures)

    @property
    def skipped(self) -> float:
        """Share of the updates of all sweeps so far that were skipped."""
        return 1 - self.drawn / max(1, self.problem.unclamped_sites * self.sweeps)
