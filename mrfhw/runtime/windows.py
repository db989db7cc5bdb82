"""Images larger than the machine, swept window by window.

A window is a part of the grid that the machine holds at once: an interior, whose sites are drawn, and around
it sites that keep their labels, one ring of neighbours and as many more as the second image's reach needs.
Windows are visited in raster order, some sweeps a visit, round after round. Every site is interior to exactly
one of them, so this is a Gibbs sampler of the whole grid with another order of sites.
"""

from __future__ import annotations

import dataclasses
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from itertools import islice
from typing import Protocol, runtime_checkable

import numpy as np

from mrfhw.config import Config
from mrfhw.placement import Placement
from mrfhw.problem import Problem, ProblemError, Run, Schedule, initial_labels
from mrfhw.result import Result
from mrfhw.temperature import coefficients, realized

__all__ = ["Session", "Window", "WindowPlan", "check_visit", "sweep_windows"]

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
        def part(mask: np.ndarray | None) -> np.ndarray | None:
            return None if mask is None else mask[self.held]

        singleton1 = problem.singleton1[self.held]
        clamped = np.ones(singleton1.shape, bool)
        clamped[self.interior] = False if problem.clamped is None else problem.clamped[self.drawn]
        origin = problem.singleton2_origin
        return dataclasses.replace(
            problem, singleton1=singleton1, observed=part(problem.observed), clamped=clamped if clamped.any() else None,
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
        # More windows than the sites need are tried because smaller tiles leave room for more patches.
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

    def _splits(self, axis: int, parts: int, span: int) -> list[list[tuple[Span, Span]]]:
        """Ways to cut an axis: as large as the machine holds, or as equal as can be."""
        size, (before, after) = self.problem.shape[axis], self.margins[axis]
        equal = min(span, -(-(size - before - after) // parts) + before + after)
        ways = (_split(size, before, after, parts, held) for held in dict.fromkeys((span, equal)))
        return [way for way in ways if way is not None]

    def _cost(self, windows: list[Window], refusals: list[ProblemError]) -> int | None:
        """Sites of a tile that are scheduled in a round; None where a window does not fit, and then why."""
        tiles: dict[tuple[int, ...], int] = {}
        total = 0
        for window in windows:
            # Windows that differ in their place alone are alike.
            kind = (window.rows[1] - window.rows[0], window.cols[1] - window.cols[0], *(
                edge for drawn, held, size in zip((window.drawn_rows, window.drawn_cols), (window.rows, window.cols),
                                                  self.problem.shape, strict=True)
                for edge in (drawn[0] - held[0], drawn[1] - held[0], held[0] == 0, held[1] == size)))
            if kind not in tiles:
                try:
                    placement = Placement(self.config, window.cut(self.problem), Run(sweeps=1))
                except ProblemError as error:
                    refusals.append(error)
                    return None
                tiles[kind] = placement.tile_rows * placement.tile_cols
            total += tiles[kind]
        return total


class Session(Protocol):
    """A machine that runs one placed problem after the other."""

    config: Config

    def solve(self, problem: Problem, run: Run, *, fresh: bool = True) -> Result:
        """Run a problem that fits. fresh: generators start from the run's seed, else where the last problem left them."""


class Begun(Protocol):
    """A run whose labels are known."""

    @property
    def last(self) -> np.ndarray:
        """(H, W) uint8, the last sample."""

    def result(self) -> Result:
        """All of it, waiting for what has not come yet."""


@runtime_checkable
class OverlappingSession(Protocol):
    """A machine whose log may still come while it is loaded with the next problem."""

    def begin(self, problem: Problem, run: Run, *, fresh: bool = True) -> Begun:
        """`Session.solve` up to the last sample. Results are asked for in the order of the runs."""


@dataclass(frozen=True)
class _Over:
    """A run of a session that does not overlap."""

    outcome: Result

    @property
    def last(self) -> np.ndarray:
        return self.outcome.last

    def result(self) -> Result:
        return self.outcome


def _begin(session: Session, problem: Problem, run: Run, fresh: bool) -> Begun:
    if isinstance(session, OverlappingSession):
        return session.begin(problem, run, fresh=fresh)
    return _Over(session.solve(problem, run, fresh=fresh))


def check_visit(config: Config, problem: Problem, visit: int) -> None:
    """Raise ProblemError for a visit below 1 or, at a changing temperature, above what the temperature table holds."""
    if visit < 1:
        raise ProblemError(f"visit is {visit}; a window is swept at least once a visit: give 1 or more")
    if problem.schedule.kind != "constant" and visit > config.temperature_table:
        raise ProblemError(f"visit is {visit}; a changing temperature is loaded as a table of {config.temperature_table} "
                           "entries: give fewer sweeps a visit")


def _pieces(config: Config, problem: Problem, sweeps: int, visit: int) -> Iterator[tuple[int, Schedule]]:
    """(sweeps, temperatures) of each round: the schedule's own coefficients, `visit` sweeps at a time."""
    if problem.schedule.kind == "constant":
        for done in range(0, sweeps, visit):
            yield min(visit, sweeps - done), problem.schedule
        return
    held = coefficients(config, problem)
    for done in range(0, sweeps, visit):
        table = [realized(config, value, problem.energy_shift) for value in islice(held, min(visit, sweeps - done))]
        yield len(table), Schedule.of_table(tuple(table))


TIMES = ("cycles", "stall_cycles", "gap_cycles")


@dataclass
class _Sums:
    """What the results of visits add up to."""

    counts: np.ndarray
    backend: str = ""
    replication: int = 0
    numbers: Counter[str] = field(default_factory=Counter)

    def add(self, window: Window, begun: Begun, counted: bool) -> None:
        result = begun.result()
        if counted:
            self.counts[window.drawn] += result.counts[window.interior]
        self.backend, self.replication = result.backend, max(self.replication, result.extra["replication"])
        numbers = {name: value for name, value in result.extra.items() if isinstance(value, int)}
        self.numbers.update({**numbers, **{name: getattr(result, name) or 0 for name in TIMES},
                             "log_messages": result.log_messages or 0})


def sweep_windows(session: Session, plan: WindowPlan, run: Run, visit: int, progress: Callable[[int], object] | None = None,
                  observe: Callable[[int, np.ndarray], object] | None = None) -> Result:
    """Sample the plan's problem, `visit` sweeps a window, window after window, round after round.

    progress: called with the finished sweeps; observe: with them and the labels (H, W) after each round.
    Result: without `lmem` and `messages`, whose number is extra["log_messages"]; cycles, stalls and gaps are sums over
    all visits; extra["windows"], ["rounds"], ["visits"].
    wall_seconds is that of all of it. Raises ProblemError where `check_visit` does.
    """
    check_visit(plan.config, plan.problem, visit)
    began = time.perf_counter()
    config, problem = plan.config, plan.problem
    labels = initial_labels(problem, run)
    initial = labels.copy()
    sums = _Sums(np.zeros((*problem.shape, problem.labels), np.uint32))
    done, rounds = 0, 0
    before: tuple[Window, Begun, bool] | None = None
    for sweeps, schedule in _pieces(config, problem, run.sweeps, visit):
        burn_in = min(max(run.burn_in - done, 0), sweeps)
        for number, window in enumerate(plan.windows):
            piece = Run(sweeps=sweeps, burn_in=burn_in, seed=run.seed, initial=labels[window.held], partial=True)
            begun = _begin(session, dataclasses.replace(window.cut(problem), schedule=schedule), piece, done == number == 0)
            labels[window.drawn] = begun.last[window.interior]
            # The next problem needs the labels alone, so the visit before has had this one's time for the rest.
            if before is not None:
                sums.add(*before)
            before = window, begun, burn_in < sweeps
            if progress is not None:
                progress(done + sweeps * (number + 1) // len(plan.windows))
        done, rounds = done + sweeps, rounds + 1
        if observe is not None:
            observe(done, labels)
    assert before is not None
    sums.add(*before)
    numbers = sums.numbers
    extra = {name: value for name, value in numbers.items() if name not in TIMES}
    return Result(
        backend=sums.backend, counts=sums.counts, last=labels, initial=initial, wall_seconds=time.perf_counter() - began,
        label_evaluations=problem.labels * problem.unclamped_sites * run.sweeps, lanes=config.lanes,
        cycles=numbers["cycles"], stall_cycles=numbers["stall_cycles"], gap_cycles=numbers["gap_cycles"],
        extra={**extra, "replication": sums.replication, "windows": len(plan.windows), "rounds": rounds,
               "visits": rounds * len(plan.windows)})
