"""How a problem is run by a backend: whole, or in windows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mrfhw.backends.backend import ActiveRun, Backend, Observe, Pauses, Progress
from mrfhw.backends.registry import BACKENDS, backend_type
from mrfhw.backends.windows import WindowPlan, WindowRun, check_visit
from mrfhw.field.problem import Problem, Run
from mrfhw.field.result import Result
from mrfhw.field.state import RunState
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.placement.fit import check_fits
from mrfhw.placement.placement import Placement
from mrfhw.placement.windows import VISIT

__all__ = ["BACKENDS", "VISIT", "Plan", "solve"]


@dataclass(frozen=True)
class Plan:
    """How a problem is run by a backend.

    backend: the backend's name or address.
    kind: the class of the backend.
    config: the machine; None where there is none.
    placed: the problem as the backend takes it, shared by all runs.
    windows: None where the grid is taken whole.
    visit: sweeps of a window at a time.
    """

    backend: str
    kind: type[Backend]
    config: Config | None
    problem: Problem
    placed: Problem | Placement
    windows: WindowPlan | None
    visit: int

    @classmethod
    def of(cls, backend: str, config: Config | None, problem: Problem, visit: int | None = None) -> Plan:
        """Raises ProblemError for an unknown backend and a problem that does not fit; nothing is opened.

        config: None for the default machine, where the backend is one.
        """
        kind = backend_type(backend)
        if kind.software:
            if config is not None:
                check_fits(config, problem)
            return cls(backend, kind, config, problem, problem, None, VISIT if visit is None else visit)
        config = Config() if config is None else config
        check_fits(config, problem)
        visit = min(VISIT, config.temperature_table) if visit is None else visit
        windows = WindowPlan(config, problem)
        if len(windows.windows) == 1:
            return cls(backend, kind, config, problem, windows.placements[0], None, visit)
        check_visit(config, problem, visit)
        return cls(backend, kind, config, problem, problem, windows, visit)

    def open(self, sweeps: int) -> Backend:
        """The backend, for `sweeps` sweeps in all."""
        if self.config is None:
            return self.kind.open(self.backend, None, 0)
        derived, problem = Derived.of(self.config), self.problem
        cycles = sweeps * problem.sites * derived.interval(derived.slots(problem.labels)) // derived.units
        return self.kind.open(self.backend, self.config, cycles)

    def prepare(self, backend: Backend, run: Run, *, state: RunState | None = None, progress: Progress | None = None,
                observe: Observe | None = None, pauses: Pauses | None = None) -> ActiveRun:
        """A chain, of which nothing has been sampled or that stands at `state`; see `Backend.prepare`. Raises ProblemError."""
        if self.windows is not None:
            others: Any = {"state": state, "progress": progress, "observe": observe, "pauses": pauses}
            together = backend.windows(self.windows, run, self.visit, **others)
            return together or WindowRun(backend, self.windows, run, self.visit, **others)
        return backend.prepare(self.placed, run, state=state, progress=progress, observe=observe, pauses=pauses)


def solve(backend: str, config: Config | None, problem: Problem, run: Run, progress: Progress | None = None,
          observe: Observe | None = None, visit: int | None = None) -> Result:
    """One chain of `problem` by a backend: one of BACKENDS, or a board by its address (`mrfhw.host.connect`).

    progress: called with the number of finished sweeps.
    observe: called with it, the labels (H, W) and the field's energy, None from backends that do not follow it, whenever the
    backend shows them: after each sweep, after each round of windows, or not at all (one run of `rtl`).
    visit: sweeps of a window at a time where the grid is larger than the machine; None for VISIT, or what a changing
    temperature's table holds. Software takes grids of any size.
    Raises ProblemError for an unknown backend and a problem that does not fit.
    """
    plan = Plan.of(backend, config, problem, visit)
    with plan.open(run.sweeps) as opened:
        active = plan.prepare(opened, run, progress=progress, observe=observe)
        active.advance()
        return active.result()
