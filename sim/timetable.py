"""What the scheduler must do in every cycle, by direct arithmetic on sites from `Placement`.

Stated without the scheduler's pointers and pipeline: a list of groups, the cycle at which each begins,
and for each operation the local row and column that it is about.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mrfhw.config import SCHEDULER_LATENCY
from mrfhw.gateware.ops import Direction
from mrfhw.placement import Placement, _patch_and_direction

__all__ = ["STROBES", "Group", "Timetable", "group_base", "lane_words", "site_word"]

# Fields that say whether others mean something: defined, and 0 but where the timetable has them.
STROBES = ("valid", "first", "last", "swap", "commit", "fetch", "s1_fetch", "flush")


@dataclass(frozen=True)
class Group:
    """S sites of a row and colour; `sweep` counts from the start of the chain."""

    sweep: int
    white: int
    row: int
    index: int

    @property
    def odd(self) -> int:
        """Parity of the sites' columns."""
        return (self.row + self.white) & 1

    def column(self, spus: int, lane: int) -> int:
        return 2 * (self.index * spus + lane) + self.odd


def group_base(p: Placement, row: int, index: int) -> int:
    """S2Mem bank address, in the first patch, of a group's first pair of columns."""
    return int(p.s2_address(np.array(row), np.array(2 * p.config.spus * index))[1])


def site_word(p: Placement, row: int, column: int, label: int) -> tuple[int, int, int, int]:
    """(bank, bank address, row direction, column direction) of a site's singleton-2 word; directions -1, 0, 1."""
    row_tile, r = divmod(row + int(p._offsets[label][0]), p.tile_rows)
    col_tile, c = divmod(column + int(p._offsets[label][1]), p.tile_cols)
    (row_patch, down), (col_patch, right) = _patch_and_direction(row_tile), _patch_and_direction(col_tile)
    bank, address = p.s2_address(np.array(r), np.array(c))
    return int(bank), p.patches.index((row_patch, col_patch)) * p.patch_words + int(address), down, right


def lane_words(spus: int, rotate: int, first: int, second: int) -> list[tuple[int, int, bool]]:
    """What S2Mem reads, by lane: (bank, address, whether `right` and not `left` has its column)."""
    words = []
    for lane in range(spus):
        bank = (rotate + lane) % spus
        words.append((bank, first if bank >= rotate else second, rotate + lane >= spus))
    return words


class Timetable:
    """A run of sweeps first .. last - 1, cycle by cycle; cycle 0 is the first one that counts as running.

    stall: the stall input by cycle. operations: by cycle, fields of `ops.downlink` that mean something
    in it; `words` stands for the singleton-2 addresses, `columns` and `rows` for the directions, by lane.
    state: "gap", "label", "idle" (a label slot without a label) or "stall" of each running cycle.
    temperature: (cycle, sweep) of each change of the coefficient. flush: the cycle in which the run ends.
    """

    def __init__(self, placement: Placement, first: int, last: int, stall: Callable[[int], int] = lambda cycle: 0):
        self.placement, self.config = placement, placement.config
        self.last, self.interval = last, placement.interval
        self.labels = placement.problem.labels
        self.operations: dict[int, dict[str, Any]] = {}
        self.state: list[str] = []
        self.temperature: list[tuple[int, int]] = []
        self._commits: dict[int, tuple[Group, int]] = {}
        windows = self._issue(list(self._groups(first, last)), stall)
        for cycle, (group, lane) in self._commits.items():
            self._commit(cycle, group, lane)
        for begin, group in windows:
            self._fetch_window(begin, group)

    @property
    def cycles(self) -> int:
        return len(self.state)

    def _groups(self, first: int, last: int) -> Iterator[Group]:
        p = self.placement
        for sweep in range(first, last):
            for white in (0, 1):
                # Each colour starts one row below the one before it.
                for step in range(p.tile_rows):
                    row = (2 * sweep + white + step) % p.tile_rows
                    for index in range(p.groups_per_row):
                        yield Group(sweep, white, row, index)

    def _put(self, cycle: int, **fields: Any) -> None:
        self.operations.setdefault(cycle + SCHEDULER_LATENCY, {}).update(fields)

    def _issue(self, groups: list[Group], stall: Callable[[int], int]) -> list[tuple[int, Group]]:
        """Place the groups in time; returns the interval in which each one's neighbours are fetched."""
        c, interval, delay = self.config, self.interval, self.config.commit_delay(self.labels)
        colour_groups = self.placement.tile_rows * self.placement.groups_per_row
        windows = [(0, groups[0])]
        self.state += ["gap"] * interval
        for number, group in enumerate(groups):
            # The last cycle of the interval decides; after it the machine stands still until it may go on.
            while stall(len(self.state) - 1):
                self.state.append("stall")
            issue = len(self.state)
            self._label_slots(issue, group)
            for lane in range(c.spus):
                self._commits[issue + delay + lane] = (group, lane)
            self.state += ["label"] * self.labels + ["idle"] * (interval - self.labels)
            ends, final = (number + 1) % colour_groups == 0, number + 1 == len(groups)
            if final or (ends and not self.placement.overlap):
                drained = max(issue + interval, issue + delay + c.spus + c.drain_cycles)
                self.state += ["gap"] * (drained + 1 - len(self.state))
                if final:
                    self.flush = drained
                    self._put(drained + 1, flush=1)
                    break
                windows.append((len(self.state), groups[number + 1]))
                self.state += ["gap"] * interval
            else:
                windows.append((issue, groups[number + 1]))
        return windows

    def _label_slots(self, issue: int, group: Group) -> None:
        p, c = self.placement, self.config
        if group.white == 0 and group.index == 0 and group.row == 2 * group.sweep % p.tile_rows:
            self.temperature.append((issue + SCHEDULER_LATENCY + c.temperature_delay(self.labels), group.sweep))
        self._put(issue + 3, swap=1)
        for label in range(self.labels):
            slot = issue + label
            vectors, constants = p.problem.vectors, p.problem.constants
            u, v = (0, 0) if vectors is None else (int(x) for x in vectors[label])
            self._put(slot + 4, valid=1, label=label, first=int(label == 0), last=int(label == self.labels - 1),
                      vector={"u": u, "v": v}, constant=0 if constants is None else int(constants[label]))
            if p.problem.offsets is not None:
                words = [site_word(p, group.row, group.column(c.spus, lane), label) for lane in range(c.spus)]
                self._put(slot, words=[w[:2] for w in words])
                self._put(slot + 2, columns=[w[3] for w in words])
                self._put(slot + 3, rows=[w[2] for w in words])

    def _at(self, row: int, column: int) -> tuple[int, int]:
        bank, address = self.placement.label_address(np.array(row), np.array(column))
        return int(bank), int(address)

    def _commit(self, slot: int, group: Group, lane: int) -> None:
        p, column = self.placement, group.column(self.config.spus, lane)
        bank, address = self._at(group.row, column)
        self._put(slot, lmem={bank: address})
        self._put(slot + 1, commit=1, commit_lane=lane, commit_bank=bank, commit_address=address,
                  commit_offset=group.row * p.problem.shape[1] + column,
                  commit_counted=int(group.sweep >= p.run.burn_in))

    def _fetch_window(self, begin: int, group: Group) -> None:
        """Neighbours of the group's sites, in the cycles of an interval in which nothing is written back."""
        c, p = self.config, self.placement
        free = (slot for slot in range(begin, begin + self.interval) if slot not in self._commits)
        for lane in range(c.spus):
            row, column = group.row, group.column(c.spus, lane)
            around = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
            cross = [not (0 <= r < p.tile_rows and 0 <= col < p.tile_cols) for r, col in around]
            places = [self._at(r % p.tile_rows, col % p.tile_cols) for r, col in around]
            singleton = int(p.site_address(np.array(row), np.array(column)))
            if c.lmem_banks == 4:
                slot = next(free)
                self._put(slot, lmem=dict(places))
                self._put(slot + 2, fetch=1, fetch_up_bank=places[0][0], fetch_left_bank=places[2][0],
                          fetch_cross=sum(x << i for i, x in enumerate(cross)), s1_fetch=1, s1_address=singleton)
                continue
            for kind, source in enumerate((Direction.UP, Direction.DOWN, Direction.LEFT, Direction.RIGHT)):
                slot = next(free)
                self._put(slot, lmem=dict([places[kind]]))
                self._put(slot + 2, fetch=1, fetch_from=int(source if cross[kind] else Direction.LOCAL))
                if kind == 0:
                    self._put(slot + 2, s1_fetch=1, s1_address=singleton)

