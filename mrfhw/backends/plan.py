"""One call for every backend."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from mrfhw.backends.registry import BACKENDS, session_type
from mrfhw.backends.session import ActiveRun, BaseSession, Observe, Pauses, Progress, Session
from mrfhw.backends.windows import WindowPlan, WindowRun, check_visit
from mrfhw.field.problem import Problem, ProblemError, Run
from mrfhw.field.result import Result
from mrfhw.field.state import RunState
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.manifest import PLACING
from mrfhw.placement.fit import check_fits
from mrfhw.placement.placement import Placement

__all__ = ["BACKENDS", "VISIT", "Plan", "check_useful", "solve"]

VISIT = 20  # sweeps of a window at a time, at most, where none are given


@dataclass(frozen=True)
class Plan:
    """How a problem is run by a backend: whole, or in windows.

    kind: the backend's sessions. placed: the problem as sessions take it, shared by all runs.
    windows: None where the machine holds the grid. visit: sweeps of a window at a time.
    """

    backend: str
    kind: type[BaseSession]
    config: Config
    problem: Problem
    placed: Problem | Placement
    windows: WindowPlan | None
    visit: int

    @classmethod
    def of(cls, backend: str, config: Config, problem: Problem, visit: int | None = None) -> Plan:
        """Raises ProblemError for an unknown backend and a problem that does not fit; nothing is opened."""
        kind = session_type(backend)
        check_fits(config, problem)
        windows = None if kind.any_size else WindowPlan(config, problem)
        visit = min(VISIT, config.temperature_table) if visit is None else visit
        placed: Problem | Placement = problem
        if windows is not None and len(windows.windows) == 1:
            placed, windows = windows.placements[0], None
        if windows is not None:
            check_visit(config, problem, visit)
        return cls(backend, kind, config, problem, placed, windows, visit)

    def open(self, sweeps: int) -> BaseSession:
        """A session for `sweeps` sweeps in all."""
        derived, problem = Derived.of(self.config), self.problem
        cycles = sweeps * problem.sites * derived.interval(derived.slots(problem.labels)) // derived.units
        return self.kind.open(self.backend, self.config, cycles)

    def begin(self, session: Session, run: Run, *, state: RunState | None = None, progress: Progress | None = None,
              observe: Observe | None = None, pauses: Pauses | None = None) -> ActiveRun:
        """Run a chain to its first pause or its end, from `state` where there is one. Raises ProblemError."""
        if self.windows is not None:
            return WindowRun(session, self.windows, run, self.visit, state=state, progress=progress, observe=observe, pauses=pauses)
        return session.begin(self.placed, run, state=state, progress=progress, observe=observe, pauses=pauses)


def check_useful(backend: str, given: Iterable[str], visit: int | None = None, clock_mhz: float | None = None) -> tuple[str, ...]:
    """A note where a backend without a machine leaves out some of the given options, by name.

    A placement may stand beside the widths of a machine, which hold for such a backend as well. Raises ProblemError for visits and
    a clock, which mean nothing there.
    """
    given = list(given)
    placing = [name for name in PLACING if name in given]
    if "most_sweeps" in given and not session_type(backend).shows_sweeps:  # of a machine, to which all others mean something
        return (f"Note: most-sweeps is for chains that do not agree; {backend} shows no sweeps, so that this can be told of a "
                "picture in windows alone",)
    if (visit is None and clock_mhz is None and not placing) or not session_type(backend).any_size:
        return ()
    if visit is not None:
        raise ProblemError(f"visit is {visit}; backend {backend} takes a picture of any size whole, not in windows: leave visit "
                           "out, or give backend model")
    if clock_mhz is not None:
        raise ProblemError(f"clock is {clock_mhz:g} MHz; backend {backend} has no machine and no cycles: leave clock out, or give "
                           "backend model")
    return (f"Note: {', '.join(placing)} place{'s' if len(placing) == 1 else ''} a field on a machine; backend {backend} has none: "
            "backend model takes " + ("it" if len(placing) == 1 else "them"),)


def solve(backend: str, config: Config, problem: Problem, run: Run, progress: Progress | None = None,
          observe: Observe | None = None, visit: int | None = None) -> Result:
    """Solve `problem` by a backend: "float" (double precision), "model" (bit-exact), "rtl" (compiled Verilog) or a board.

    A board is named by its address, see `mrfhw.host.connect`.

    progress: called with the number of finished sweeps. observe: called with it, the labels (H, W) and the field's energy, None
    from backends that do not follow it, whenever the backend shows them: after each sweep, after each round of windows, or not at
    all (one run of `rtl`).
    visit: sweeps of a window at a time where the grid is larger than the machine; None for VISIT, or what a changing
    temperature's table holds. "float" takes grids of any size.
    Raises ProblemError for an unknown backend and a problem that does not fit.
    """
    plan = Plan.of(backend, config, problem, visit)
    with plan.open(run.sweeps) as session:
        return plan.begin(session, run, progress=progress, observe=observe).result()
