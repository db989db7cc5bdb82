"""The operations that the scheduler must emit in every cycle, computed directly from the sites of a `Placement`.

Stated without the scheduler's pointers and pipeline: the groups of the order of visits (`mrfhw.placement.visit_order`), the
cycle at which each begins, and for each operation the local row and column that it is about.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mrfhw.gateware.control.ops import Direction, operations
from mrfhw.placement.placement import Placement, patch_and_direction
from mrfhw.placement.visit_order import COLOURS, Group

__all__ = ["STROBES", "Timetable", "label_slot", "lane_words", "site_word", "slot_labels", "slot_words"]

# Fields that say whether others mean something, by operation: defined, and 0 but where the timetable has them.
STROBES = {"label": ("enable", "first", "last"), "swap": ("enable",), "write_back": ("enable", "end"), "fetch": ("enable",),
           "site": ("enable",)}


def site_word(p: Placement, row: int, column: int, label: int) -> tuple[int, int, int, int]:
    """(bank, bank address, row direction, column direction) of a site's singleton-2 word; directions -1, 0, 1."""
    if p.reach is not None:
        place = (np.array(at + int(moved) - least) for at, moved, least in
                 zip((row, column), p.moved_offsets[label], p.reach.low, strict=True))
        held, word = p.reach.address(*place)
        return int(held), int(word), 0, 0
    row_tile, r = divmod(row + int(p.moved_offsets[label][0]), p.tile_rows)
    col_tile, c = divmod(column + int(p.moved_offsets[label][1]), p.tile_cols)
    (row_patch, down), (col_patch, right) = patch_and_direction(row_tile), patch_and_direction(col_tile)
    bank, address = p.s2_address(np.array(r), np.array(c))
    return int(bank), p.patches.index((row_patch, col_patch)) * p.patch_words + int(address), down, right


def lane_words(banks: int, rotate: int, first: int, second: int) -> list[tuple[int, int, bool]]:
    """What S2Mem reads, by lane: (bank, address, whether `right` and not `left` has its column)."""
    words = []
    for lane in range(banks):
        bank = (rotate + lane) % banks
        words.append((bank, first if bank >= rotate else second, rotate + lane >= banks))
    return words


def slot_labels(p: Placement, slot: int) -> range:
    """The labels of a slot."""
    first = p.label_groups.firsts[slot]
    return range(first, first + int(p.label_groups.counts[slot]))


def slot_words(p: Placement, group: Group, slot: int) -> list[tuple[int, int, int, int]]:
    """`site_word` of each lane of a group's units, lane after lane, as far as they have a label."""
    return [site_word(p, group.row, column, label) for column in group.columns for label in slot_labels(p, slot)]


def label_slot(p: Placement, slot: int) -> dict[str, Any]:
    """The fields of a slot's labels that mean something; vectors and constants of lanes with a label alone."""
    problem, labels = p.problem, slot_labels(p, slot)
    vectors = np.zeros((problem.labels, 2), int) if problem.vectors is None else problem.vectors
    several: dict[str, Any] = {"used": (1 << len(labels)) - 1, "slot": slot} if p.config.lanes > 1 else {}
    if p.config.vector_bits:
        several["vectors"] = [{"u": int(vectors[n][0]), "v": int(vectors[n][1])} for n in labels]
    return {"label": labels[0],
            "constants": [0 if problem.constants is None else int(problem.constants[n]) for n in labels], **several}


class Timetable:
    """A run of sweeps first .. last - 1, cycle by cycle; cycle 0 is the first one that counts as running.

    stall: the stall input by cycle. operations: by cycle and operation, the fields that mean something in it;
    lists by lane, of those that have a label, stand for the singleton-2 addresses and directions, (bank, address) and -1, 0, 1;
    {bank: address} for LMem's.
    state: "gap", "label", "idle" (a label slot without a label) or "stall" of each running cycle.
    temperature: (cycle, sweep) of each change of the coefficient. sweeps: (cycle, sweeps whose labels are all written from it on).
    """

    def __init__(self, placement: Placement, first: int, last: int, stall: Callable[[int], int] = lambda cycle: 0):
        self.placement, self.config = placement, placement.config
        self.last, self.interval = last, placement.interval
        self.slots = placement.slots
        self.cycle_of = {name: operation.cycle for name, operation in operations(self.config).items()}
        self.operations: dict[int, dict[str, Any]] = {}
        self.state: list[str] = []
        self.temperature: list[tuple[int, int]] = []
        self.sweeps: list[tuple[int, int]] = []
        self._commits: dict[int, tuple[Group, int]] = {}
        windows = self._issue([group for sweep in range(first, last) for group in placement.order.groups_of(sweep)], stall)
        for cycle, (group, lane) in self._commits.items():
            self._commit(cycle, group, lane)
        for begin, group in windows:
            self._fetch_window(begin, group)

    @property
    def cycles(self) -> int:
        return len(self.state)

    def _put(self, slot: int, operation: str, fields: Any) -> None:
        """An operation of a slot, in the cycle in which it leaves the scheduler."""
        self.operations.setdefault(slot + self.config.latency.scheduler + self.cycle_of[operation], {})[operation] = fields

    def _issue(self, groups: list[Group], stall: Callable[[int], int]) -> list[tuple[int, Group]]:
        """Place the groups in time; returns the interval in which each one's neighbours are fetched."""
        c, interval, delay = self.config, self.interval, self.config.commit_delay(self.slots)
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
            if group.colour == COLOURS[-1] and group.turn + 1 == self.placement.order.turns:
                # The last lane's label is in LMem.
                self.sweeps.append((issue + delay + c.spus - 1 + c.drain_cycles, group.sweep + 1))
            self.state += ["label"] * self.slots + ["idle"] * (interval - self.slots)
            ends, final = group.turn + 1 == self.placement.order.turns, number + 1 == len(groups)
            if final or (ends and not self.placement.overlap):
                drained = max(issue + interval, issue + delay + c.spus + c.drain_cycles)
                self.state += ["gap"] * (drained + 1 - len(self.state))
                if final:
                    self._put(drained, "write_back", {"end": 1})
                    break
                windows.append((len(self.state), groups[number + 1]))
                self.state += ["gap"] * interval
            else:
                windows.append((issue, groups[number + 1]))
        return windows

    def _label_slots(self, issue: int, group: Group) -> None:
        p, c = self.placement, self.config
        if group.colour == COLOURS[0] and group.turn == 0:
            self.temperature.append((issue + c.latency.scheduler + c.temperature_delay(self.slots), group.sweep))
        self._put(issue, "swap", {"enable": 1})
        for number in range(self.slots):
            slot = issue + number
            self._put(slot, "label", {"enable": 1, "first": int(number == 0), "last": int(number == self.slots - 1),
                                      **label_slot(p, number)})
            if p.problem.offsets is not None:
                words = slot_words(p, group, number)
                self._put(slot, "singleton", [w[:2] for w in words])
                if not c.holds_reach:
                    self._put(slot, "columns", [w[3] for w in words])
                    self._put(slot, "rows", [w[2] for w in words])

    def _at(self, row: int, column: int) -> tuple[int, int]:
        bank, address = self.placement.label_address(np.array(row), np.array(column))
        return int(bank), int(address)

    def _commit(self, slot: int, group: Group, lane: int) -> None:
        p, column = self.placement, group.columns[lane]
        bank, address = self._at(group.row, column)
        self._put(slot, "label_read", {bank: address})
        self._put(slot, "write_back", {
            "enable": 1, "lane": lane, "bank": bank, "address": address, "offset": group.row * p.problem.shape[1] + column,
            "counted": int(group.sweep >= p.run.burn_in)})

    def _fetch_window(self, begin: int, group: Group) -> None:
        """Neighbours of the group's sites, in the cycles of an interval in which nothing is written back."""
        c, p = self.config, self.placement
        free = (slot for slot in range(begin, begin + self.interval) if slot not in self._commits)
        row = group.row
        for column in group.columns:
            around = [(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)]
            cross = [not (0 <= r < p.tile_rows and 0 <= col < p.tile_cols) for r, col in around]
            places = [self._at(r % p.tile_rows, col % p.tile_cols) for r, col in around]
            singleton = int(p.site_address(np.array(row), np.array(column)))
            if c.lmem_banks == 4:
                slot = next(free)
                self._put(slot, "label_read", dict(places))
                self._put(slot, "fetch", {"enable": 1, "up_bank": places[0][0], "left_bank": places[2][0],
                                          "cross": sum(x << i for i, x in enumerate(cross))})
                self._put(slot, "site", {"enable": 1, "address": singleton})
                continue
            for kind, source in enumerate((Direction.UP, Direction.DOWN, Direction.LEFT, Direction.RIGHT)):
                slot = next(free)
                self._put(slot, "label_read", dict([places[kind]]))
                self._put(slot, "fetch", {"enable": 1, "source": int(source if cross[kind] else Direction.LOCAL)})
                if kind == 0:
                    self._put(slot, "site", {"enable": 1, "address": singleton})

