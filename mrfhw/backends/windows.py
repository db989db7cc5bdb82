"""Images larger than the machine, swept window by window.

A window is a part of the grid that the machine holds at once: an interior, whose sites are drawn, and around
it sites that keep their labels, one ring of neighbours and as many more as the second image's reach needs.
Windows are visited in raster order, some sweeps a visit, round after round. Every site is interior to exactly
one of them, so this is a Gibbs sampler of the whole grid with another order of sites.
"""

from __future__ import annotations

import dataclasses
import time
from dataclasses import dataclass
from functools import cached_property
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
from mrfhw.placement.placement import KEPT_BYTES, Placement
from mrfhw.placement.temperature import coefficients, realized
from mrfhw.system.large_arrays import copied, zeros

__all__ = ["Window", "WindowPlan", "WindowRun", "check_visit", "sweep_windows"]

Span = tuple[int, int]


@dataclass(frozen=True)
class Window:
    """rows, cols: [first, end) of the grid that the machine holds. drawn_rows, drawn_cols: those of the interior."""

    rows: Span
    cols: Span
    drawn_rows: Span
    drawn_cols: Span

    @property
    def held(self) -> tuple[slice, slice]:
        """The window's part of a grid."""
        return slice(*self.rows), slice(*self.cols)

    @property
    def drawn(self) -> tuple[slice, slice]:
        """The interior's part of a grid."""
        return slice(*self.drawn_rows), slice(*self.drawn_cols)

    @property
    def interior(self) -> tuple[slice, slice]:
        """The interior's part of the window."""
        return (slice(self.drawn_rows[0] - self.rows[0], self.drawn_rows[1] - self.rows[0]),
                slice(self.drawn_cols[0] - self.cols[0], self.drawn_cols[1] - self.cols[0]))

    def cut(self, problem: Problem) -> Problem:
        """The window's own problem: sites outside the interior are clamped, the second image is the whole one."""
        if self.drawn == (slice(0, problem.shape[0]), slice(0, problem.shape[1])):
            return problem
        def part(mask: np.ndarray | None) -> np.ndarray | None:
            return None if mask is None else mask[self.held]

        rows, cols = self.held
        clamped = np.ones((rows.stop - rows.start, cols.stop - cols.start), bool)
        clamped[self.interior] = False if problem.clamped is None else problem.clamped[self.drawn]
        clamped.flags.writeable = False  # so that the problem need not copy it
        origin = problem.singleton2_origin
        return dataclasses.replace(
            problem, singleton1=part(problem.singleton1), unary=part(problem.unary), edges=part(problem.edges),
            observed=part(problem.observed), clamped=clamped if clamped.any() else None,
            singleton2_origin=(origin[0] + self.rows[0], origin[1] + self.cols[0]))


def _split(size: int, before: int, after: int, parts: int, held: int) -> list[tuple[Span, Span]] | None:
    """(held, drawn) of `parts` windows of at most `held` sites along an axis, the last one being what is left.

    Margins of `before` and `after` sites are held where the grid goes on. None where there is nothing left to draw.
    """
    if parts == 1:
        return [((0, size), (0, size))] if size <= held else None
    spans, start = [], 0
    for part in range(parts):
        end = size if part == parts - 1 else start + held - after - (before if part else 0)
        if not start < end <= size or (part < parts - 1) == (end == size):
            return None
        spans.append(((max(0, start - before), min(size, end + after)), (start, end)))
        start = end
    return spans if spans[-1][0][1] - spans[-1][0][0] <= held else None


def _least_parts(size: int, span: int, before: int, after: int) -> int:
    if size <= span:
        return 1
    return max(2, -(-(size - before - after) // max(1, span - before - after)))


@dataclass(frozen=True)
class WindowPlan:
    """The fewest windows of a problem that fit the machine, and of those the ones with the fewest scheduled sites.

    config: the machine.
    problem: what is larger than it.
    Raises ProblemError where no window fits.
    """

    config: Config
    problem: Problem

    @cached_property
    def margins(self) -> tuple[Span, Span]:
        """((rows above, below), (columns left, right)) that a window holds around its interior."""
        if self.problem.offsets is None:
            return (1, 1), (1, 1)
        margins = []
        for axis in (0, 1):
            offsets = np.asarray(self.problem.offsets)[:, axis]
            low, high = int(offsets.min()), int(offsets.max())
            moved = int(np.clip(0, low, high))
            margins.append((max(1, moved - low), max(1, high - moved)))
        return margins[0], margins[1]

    @cached_property
    def windows(self) -> list[Window]:
        """In raster order."""
        c = self.config
        spans = (c.mesh_rows * c.tile_rows, c.mesh_cols * c.tile_cols)
        least = [_least_parts(size, span, *margin)
                 for size, span, margin in zip(self.problem.shape, spans, self.margins, strict=True)]
        # Also tries more windows than the number of sites requires, because smaller tiles leave room for more patches.
        tries = sorted(((least[0] + more, least[1] + extra) for more in range(8) for extra in range(8)),
                       key=lambda parts: parts[0] * parts[1])
        refusals: list[ProblemError] = []
        for parts in tries:
            rows, cols = (self._splits(axis, parts[axis], spans[axis]) for axis in (0, 1))
            plans = [[Window(r, c, drawn_r, drawn_c) for r, drawn_r in some for c, drawn_c in others]
                     for some in rows for others in cols]
            fitting = [(cost, n) for n, plan in enumerate(plans) if (cost := self._cost(plan, refusals)) is not None]
            if fitting:
                return plans[min(fitting)[1]]
        if refusals:
            raise refusals[0]
        (up, down), (left, right) = self.margins
        raise ProblemError(f"a window of this problem has {up + down} rows and {left + right} columns around what is drawn; "
                           f"the machine holds {spans[1]}x{spans[0]} sites: give fewer labels, more SPEs or larger tiles")

    @cached_property
    def placements(self) -> list[Placement]:
        """The windows' problems placed, once for all runs; see `Placement.again`. They share the room for tables."""
        placed = [self._placed(window).with_room(KEPT_BYTES // len(self.windows)) for window in self.windows]
        self._tried.clear()
        return placed

    @cached_property
    def _tried(self) -> dict[Window, Placement]:
        return {}

    def _placed(self, window: Window) -> Placement:
        """The window's problem, placed at the first call. Raises ProblemError where it does not fit."""
        if window not in self._tried:
            self._tried[window] = Placement(self.config, window.cut(self.problem), Run(sweeps=1))
        return self._tried[window]

    def _splits(self, axis: int, parts: int, span: int) -> list[list[tuple[Span, Span]]]:
        """Ways to cut an axis: as large as the machine holds, or as equal as can be."""
        size, (before, after) = self.problem.shape[axis], self.margins[axis]
        equal = min(span, -(-(size - before - after) // parts) + before + after)
        ways = (_split(size, before, after, parts, held) for held in dict.fromkeys((span, equal)))
        return [way for way in ways if way is not None]

    def _cost(self, windows: list[Window], refusals: list[ProblemError]) -> int | None:
        """Turns of the windows' colours in a round; None where a window does not fit, and then why."""
        turns: dict[tuple[int, ...], int] = {}
        total = 0
        for window in windows:
            # Windows that differ in their place alone are alike.
            kind = (window.rows[1] - window.rows[0], window.cols[1] - window.cols[0], *(
                edge for drawn, held, size in zip((window.drawn_rows, window.drawn_cols), (window.rows, window.cols),
                                                  self.problem.shape, strict=True)
                for edge in (drawn[0] - held[0], drawn[1] - held[0], held[0] == 0, held[1] == size)))
            if kind not in turns:
                try:
                    placement = self._placed(window)
                except ProblemError as error:
                    refusals.append(error)
                    return None
                turns[kind] = placement.order.turns
            total += turns[kind]
        return total


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

    def _visit(self, number: int) -> None:
        window, placed, sweeps = self.plan.windows[number], self.plan.placements[number], self._round
        burn_in = max(self.run.counts_from - self.sweeps, 0)
        counted = burn_in < sweeps
        piece = Run(sweeps=sweeps, burn_in=burn_in if counted else 0, seed=self.run.seed, initial=self._labels[window.held],
                    estimate=self.run.estimate if counted else "last")
        begun = self.session.begin(placed.again(piece, self._schedule), piece, fresh=self._fresh)
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
        began, windows = time.perf_counter(), self.plan.windows
        while not self.finished:
            if not self._round:
                self._begin_round()
            self._visit(self._window)
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
