"""Images larger than the machine, swept window by window.

A window is a part of the grid that the machine holds at once: an interior, whose sites are drawn, and around
it sites that keep their labels, one ring of neighbours and as many more as the second image's reach needs.
Windows are visited in raster order, some sweeps a visit, round after round. Every site is interior to exactly
one of them, so this is a Gibbs sampler of the whole grid with another order of sites.
"""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from itertools import islice

import numpy as np

from mrfhw.backends.backend import ActiveRun, Backend, Fresh, Observe, Pauses, Progress
from mrfhw.field.initial import initial_labels
from mrfhw.field.problem import Problem, ProblemError, Run, Schedule
from mrfhw.field.result import Result, added, numbers
from mrfhw.field.state import RunState
from mrfhw.field.state_check import WAY_OUT, Stands, check_state
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.placement.temperature import coefficients, realized
from mrfhw.placement.windows import Window, WindowPlan
from mrfhw.system.large_arrays import copied, zeros

__all__ = ["Window", "WindowPlan", "WindowRun", "check_visit", "sweep_windows"]


def check_visit(config: Config, problem: Problem, visit: int) -> None:
    """Raise ProblemError for a visit below 1 or, at a changing temperature, above what the temperature table holds."""
    if visit < 1:
        raise ProblemError(f"visit is {visit}; a window is swept at least once a visit: give 1 or more")
    if problem.schedule.kind != "constant" and visit > config.temperature_table:
        raise ProblemError(f"visit is {visit}; a changing temperature is loaded as a table of {config.temperature_table} "
                           "entries: give fewer sweeps a visit")


class WindowRun:
    """A run of a grid window by window on one machine; see `mrfhw.backends.backend.ActiveRun`. It pauses between visits.

    Arguments: as of `sweep_windows`; pauses and state as of `mrfhw.backends.backend.Backend.begin`.
    """

    def __init__(self, session: Backend, plan: WindowPlan, run: Run, visit: int, *, state: RunState | None = None,
                 progress: Progress | None = None, observe: Observe | None = None, pauses: Pauses | None = None):
        check_visit(plan.config, plan.problem, visit)
        if state is not None:
            check_state(state, plan.problem, run, Stands(Derived.of(plan.config).generators))
            if not 0 <= state.window < len(plan.windows):
                raise ProblemError(f"the state has visited {state.window} windows of a round of {len(plan.windows)}: {WAY_OUT}")
        self.session, self.plan, self.run, self.visit = session, plan, run, visit
        self._progress, self._observe, self._pauses = progress, observe, pauses
        self.sweeps, self._window = (0, 0) if state is None else (state.sweeps, state.window)  # whole rounds, and visits since
        problem = plan.problem
        self.initial = initial_labels(problem, run) if state is None else state.so_far.initial
        self._labels = self.initial.copy() if state is None else state.so_far.last.astype(np.uint8)
        counts, sums = (None, None) if state is None else (copied(state.so_far.counts), copied(state.so_far.sums))
        self._counts = (zeros((*problem.shape, problem.labels), np.uint32) if counts is None and run.estimate == "mode" else counts)
        self._sums = np.zeros((*problem.shape, 2), np.int64) if sums is None and run.estimate == "mean" else sums
        self._backend, self._numbers = ("", {}) if state is None else (state.so_far.backend, numbers(state.so_far))
        self._wall = float(self._numbers.get("wall_seconds", 0.0))
        self._fresh: Fresh = True
        if state is not None:
            assert state.generators is not None
            self._fresh = state.generators
        self._coefficients = islice(coefficients(plan.config, problem), self.sweeps, None)
        self._schedule = problem.schedule
        self._round = 0  # sweeps of the round under way
        self._unread: tuple[Window, ActiveRun] | None = None

    @property
    def finished(self) -> bool:
        return self.sweeps >= self.run.sweeps

    @property
    def last(self) -> np.ndarray:
        return self._labels

    def _begin_round(self) -> None:
        """The next round's sweeps and temperatures: the schedule's own coefficients."""
        config, problem = self.plan.config, self.plan.problem
        self._round = min(self.visit, self.run.sweeps - self.sweeps)
        if problem.schedule.kind != "constant":
            values = islice(self._coefficients, self._round)
            self._schedule = Schedule.of_table(tuple(realized(config, value, problem.energy_shift) for value in values))

    def _visit(self, number: int) -> Iterator[None]:
        window, placed, sweeps = self.plan.windows[number], self.plan.placements[number], self._round
        burn_in = max(self.run.counts_from - self.sweeps, 0)
        counted = burn_in < sweeps
        piece = Run(sweeps=sweeps, burn_in=burn_in if counted else 0, seed=self.run.seed, initial=self._labels[window.held],
                    estimate=self.run.estimate if counted else "last")
        begun = self.session.prepare(placed.again(piece, self._schedule), piece, fresh=self._fresh)
        yield from begun.steps()
        self._fresh = False
        self._labels[window.drawn] = begun.last[window.interior]
        # The next window needs only the labels, so the log of the previous visit may arrive during this visit.
        self._add()
        self._unread = window, begun

    def _add(self) -> None:
        """Add the result of the last visit, waiting for log that has not arrived yet."""
        if self._unread is None:
            return
        (window, begun), self._unread = self._unread, None
        result = begun.result()
        if self._counts is not None and result.counts is not None:
            self._counts[window.drawn] += result.counts[window.interior]
        if self._sums is not None and result.sums is not None:
            self._sums[window.drawn] += result.sums[window.interior]
        self._backend = result.backend
        self._numbers = added([*([self._numbers] if self._numbers else []), numbers(result)])

    def advance(self) -> None:
        for _ in self.steps():
            pass

    def steps(self) -> Iterator[None]:
        began, windows = time.perf_counter(), self.plan.windows
        while not self.finished:
            if not self._round:
                self._begin_round()
            yield from self._visit(self._window)
            self._window += 1
            reached = self.sweeps + self._round * self._window // len(windows)
            if self._window == len(windows):
                self.sweeps, self._window, self._round = reached, 0, 0
                if self._observe is not None:
                    self._observe(self.sweeps, self._labels, None)
            if self._progress is not None:
                self._progress(reached)
            if self._pauses is not None and self._pauses.now(reached):
                break
        self._wall += time.perf_counter() - began

    def _so_far(self, **others: int) -> Result:
        return Result(backend=self._backend, counts=self._counts, sums=self._sums, last=self._labels, initial=self.initial,
                      **{**self._numbers, "wall_seconds": self._wall, **others})

    def state(self, counted: bool = True) -> RunState:
        assert self._unread is not None
        begun = self._unread[1]
        generators = begun.state(counted=False).generators
        self._add()
        found = dataclasses.replace(self._so_far(), last=self._labels.copy())
        if counted:
            found = dataclasses.replace(found, counts=copied(self._counts), sums=copied(self._sums))
        state = RunState(sweeps=self.sweeps, window=self._window, so_far=found, generators=generators)
        return state if counted else state.uncounted()

    def result(self) -> Result:
        began = time.perf_counter()
        self._add()
        self._wall += time.perf_counter() - began
        windows, rounds = len(self.plan.windows), -(-self.run.sweeps // self.visit)
        return self._so_far(windows=windows, rounds=rounds, visits=rounds * windows)


def sweep_windows(session: Backend, plan: WindowPlan, run: Run, visit: int, progress: Progress | None = None,
                  observe: Observe | None = None) -> Result:
    """Sample the plan's problem, `visit` sweeps a window, window after window, round after round.

    progress: called with the finished sweeps.
    observe: with them, the labels (H, W) and None after each round.

    The result is without `lmem` and `messages`; its numbers are the visits', added up as `mrfhw.field.result.Adding` says, but that
    wall_seconds is that of all of it.
    Raises ProblemError where `check_visit` does.
    """
    active = WindowRun(session, plan, run, visit, progress=progress, observe=observe)
    active.advance()
    return active.result()
