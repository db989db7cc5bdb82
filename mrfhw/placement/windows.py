"""Windows: the parts of a grid that a machine holds one at a time."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mrfhw.field.problem import Problem, ProblemError, Run
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.placement.placement import KEPT_BYTES, Placement

__all__ = ["VISIT", "Window", "WindowPlan"]

VISIT = 20  # sweeps of a window at a time, at most, where none are given
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
        """((rows above, below), (columns left, right)) that a window holds around its interior: the neighbours, and what offsets
        reach where tiles read the second image's words from each other."""
        if self.problem.offsets is None or Derived.of(self.config).holds_reach:
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
