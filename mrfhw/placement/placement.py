"""Where each site and each singleton-2 word of a problem lies in the mesh (Section 3.3.5, Figure 3.11).

A tile takes h x w sites of the image, padded at the right and the bottom. All tiles work at the same
local site and label at once, so a singleton-2 word is named by (patch, local address) in one of the
nine tiles around; a reach beyond those is met by further patches in the same memory. Where lanes share
a site, a tile holds all words that its sites reach (`mrfhw.placement.reach`).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from mrfhw.field.energy import doubleton_table, edge_weights
from mrfhw.field.initial import initial_labels
from mrfhw.field.problem import Problem, ProblemError, Run, Schedule
from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.words import LMEM_WORDS
from mrfhw.placement.fit import check_fits, check_schedule
from mrfhw.placement.label_groups import LabelGroups
from mrfhw.placement.reach import Reach
from mrfhw.placement.subsets import Subsets
from mrfhw.placement.visit_order import VisitOrder

__all__ = ["LabelEntry", "Placement", "patch_and_direction", "place"]

KEPT_BYTES = 1 << 28  # of tables kept with a placed problem, or with all windows of one


@dataclass(frozen=True)
class LabelEntry:
    """The offset table's entry of a slot: where the singleton-2 word of its first label lies.

    Several lanes: column and deltas[0][0], as of `Reach.steps`, and nothing else. One lane:
    row_threshold: local rows from here on wrap into the next tile. column: columns to add, 0..w-1.
    deltas[column_wraps][row_wraps]: bank address to add, modulo the bank's address space.
    row_directions[row_wraps], column_directions[column_wraps]: -1, 0 or 1, the tile that holds the word.
    """

    row_threshold: int
    column: int
    deltas: tuple[tuple[int, int], ...]
    row_directions: tuple[int, ...]
    column_directions: tuple[int, ...]


def patch_and_direction(tiles: int) -> tuple[int, int]:
    """(patch, neighbour direction) that reach `tiles` tiles away.

    Both have the sign of `tiles`: beyond the mesh's edge, where there is no neighbour, the word then is
    outside the image as well. Patches two tiles apart suffice.
    """
    sign, distance = (1, tiles) if tiles >= 0 else (-1, -tiles)
    patch = distance // 2 * 2
    return sign * patch, sign * (distance - patch)


@dataclass(frozen=True, init=False)
class Placement:
    """A problem and its run, distributed over the mesh of `config`.

    Raises ProblemError where the problem does not fit: too many sites per tile, too long a reach, words too wide.
    `again` gives the same placed problem for another run; both share all values that are computed once. A backend may also keep its
    own tables of the problem in `derived`. room: how many bytes it may keep there.
    """

    config: Derived
    problem: Problem
    run: Run
    room: int = field(repr=False)

    def __init__(self, config: Config, problem: Problem, run: Run) -> None:
        config = Derived.of(config)
        for name, value in (("config", config), ("problem", problem), ("run", run), ("room", KEPT_BYTES)):
            object.__setattr__(self, name, value)
        check_fits(config, problem)
        c, (rows, cols) = self.config, self.problem.shape
        if self.tile_rows > c.tile_rows or self.tile_cols > c.tile_cols:
            raise ProblemError(f"the image is {cols}x{rows}; a {c.mesh_rows}x{c.mesh_cols} mesh of tiles of {c.tile_cols}x"
                               f"{c.tile_rows} sites takes {c.mesh_cols * c.tile_cols}x{c.mesh_rows * c.tile_rows}: give a "
                               "window, more SPEs or larger tiles")
        used = len(self.patches) * self.patch_words
        if used > c.s2_bank_depth:
            what = (f"the costs of {problem.labels} labels take {len(self.patches)} times" if problem.unary is not None
                    else f"the labels reach over {len(self.patches)} patches of" if self.reach is None
                    else f"the labels reach {self.reach.columns}x{self.reach.rows} pixels of a tile's {self.tile_cols}x"
                         f"{self.tile_rows} sites,")
            way = "fewer labels" if problem.unary is None else "fewer labels, a smaller window, the float reference"
            raise ProblemError(f"{what} {self.patch_words * c.s2_banks} singleton-2 words; a tile holds "
                               f"{c.s2_bank_depth * c.s2_banks}: give {way}, fewer SPEs or s2_words = {used * c.s2_banks} or more")
        self._check_reach()
        most = 1 << c.pairwise_slot_bits
        filled = self.label_groups.slots
        if self.has_table and filled > most:
            raise ProblemError(f"the labels take {filled} slots, because their offsets follow one another in few rows; the "
                               f"doubleton table of {c.lanes} lanes has {most} slots: give labels in the order of their columns, "
                               "or a machine with fewer lanes")

    def _check_reach(self) -> None:
        """Raise ProblemError where a site that is drawn needs a pixel of the second image that lies beyond the mesh."""
        problem = self.problem
        if problem.singleton2 is None or self.reach is not None:
            return
        drawn = np.ones(problem.shape, bool) if problem.clamped is None else ~problem.clamped
        for axis in (0, 1):
            sites = np.flatnonzero(drawn.any(1 - axis))
            if not len(sites):
                return
            low, high = int(self.moved_offsets[:, axis].min()), int(self.moved_offsets[:, axis].max())
            span, over = self.padded_shape[axis], self.second_origin[axis]
            pixels = problem.singleton2.shape[axis]
            # The words [first, last] on either side of the mesh, as pixels of the second image.
            for first, last in ((sites[0] + low, -1), (span, sites[-1] + high)):
                if max(first + over, 0) <= min(last + over, pixels - 1):
                    raise ProblemError(f"the labels reach {'rows' if axis == 0 else 'columns'} {first} to {last} beyond the "
                                       f"{span} of the mesh, where the second image goes on: clamp the sites that far from "
                                       "the grid's edge")

    # -- further runs

    @cached_property
    def derived(self) -> dict[str, Any]:
        """Tables that backends have made of the placed problem, by name; all of its runs share them."""
        return {}

    def with_room(self, room: int) -> Placement:
        """A copy in which backends may keep `room` bytes."""
        new = copy.copy(self)
        object.__setattr__(new, "room", room)
        return new

    def again(self, run: Run, schedule: Schedule | None = None) -> Placement:
        """This placed problem for another run, with another schedule if one is given.

        Only that schedule is checked: ProblemError where the machine cannot hold it.
        """
        for name in _SHARED:
            getattr(self, name)
        new = copy.copy(self)
        vars(new).pop("initial", None)
        object.__setattr__(new, "run", run)
        if schedule is not None and schedule is not self.problem.schedule:
            object.__setattr__(new, "problem", self.problem.with_schedule(schedule))
            check_schedule(new.config, new.problem)
        return new

    # -- shape

    @cached_property
    def tile_rows(self) -> int:
        """Rows of each tile that the problem uses."""
        c = self.config
        return -(-self.problem.shape[0] // (c.mesh_rows * c.row_step)) * c.row_step

    @cached_property
    def tile_cols(self) -> int:
        """Columns of each tile that the problem uses."""
        c = self.config
        return -(-self.problem.shape[1] // (c.mesh_cols * c.col_step)) * c.col_step

    @cached_property
    def order(self) -> VisitOrder:
        """The order in which sampling units draw the sites."""
        return VisitOrder.of_machine(self.config, self.tile_rows, self.tile_cols, self.label_groups)

    @cached_property
    def label_groups(self) -> LabelGroups:
        """Which labels of a site are evaluated together."""
        return LabelGroups.of(self.config, self.problem)

    @property
    def slots(self) -> int:
        """Slots of a visit to a site: all that its labels fill, or those of a subset."""
        return self.label_groups.visited

    @cached_property
    def subsets(self) -> Subsets | None:
        """Which slots a visit has; None where the machine has no subsets."""
        return Subsets.of(self.config, self.label_groups) if self.config.subset_slots else None

    @property
    def padded_shape(self) -> tuple[int, int]:
        return self.config.mesh_rows * self.tile_rows, self.config.mesh_cols * self.tile_cols

    @property
    def overlap(self) -> bool:
        return self.config.overlaps(self.tile_rows, self.order.groups_per_row, self.slots)

    def piece_end(self, sweeps: int) -> int:
        """The sweep up to which a machine that has done `sweeps` runs: the run's end, or where LMem can hold no larger sums.

        There they are read and cleared, and the machine goes on.
        """
        run = self.run
        if run.estimate != "mean":
            return run.sweeps
        most = self.config.sum_sweeps(self.problem.labels)
        return min(run.sweeps, run.burn_in + most * (run.counted_of(sweeps) // most + 1))

    def sums_end(self, sweeps: int) -> bool:
        """Whether the sums after `sweeps` are cleared before the next sweep."""
        counted = self.run.counted_of(sweeps)
        return self.run.estimate == "mean" and counted > 0 and counted % self.config.sum_sweeps(self.problem.labels) == 0

    @property
    def entry_words(self) -> int:
        """Words of a site's LMem entry that are read, from the first on. A run for the last sample leaves 0 in the second."""
        return 1 if self.run.estimate == "last" else LMEM_WORDS

    @property
    def interval(self) -> int:
        return self.config.interval(self.slots)

    # -- sites

    def pad(self, grid: np.ndarray, value: int = 0) -> np.ndarray:
        """`grid` on the padded shape, filled with `value`."""
        rows, cols = self.problem.shape
        padded = np.full(self.padded_shape, value, grid.dtype)
        padded[:rows, :cols] = grid
        return padded

    @cached_property
    def exists(self) -> np.ndarray:
        """(padded) bool: sites of the image."""
        return self.pad(np.ones(self.problem.shape, bool))

    @cached_property
    def clamped(self) -> np.ndarray:
        """(padded) bool: image sites that keep their label."""
        mask = self.problem.clamped
        return self.pad(np.zeros(self.problem.shape, bool) if mask is None else mask)

    @cached_property
    def observed(self) -> np.ndarray:
        """(padded) bool: image sites with a singleton term."""
        mask = self.problem.observed
        return self.pad(np.ones(self.problem.shape, bool) if mask is None else mask)

    @cached_property
    def initial(self) -> np.ndarray:
        """(image) uint8: the labels that the chain starts from."""
        return initial_labels(self.problem, self.run)

    def tiles(self, padded: np.ndarray) -> np.ndarray:
        """A padded grid as (tile, local row, local column)."""
        c = self.config
        split = padded.reshape(c.mesh_rows, self.tile_rows, c.mesh_cols, self.tile_cols)
        return split.transpose(0, 2, 1, 3).reshape(c.spes, self.tile_rows, self.tile_cols)

    def untile(self, tiles: np.ndarray) -> np.ndarray:
        """(tile, local row, local column) back to the image."""
        c, (rows, cols) = self.config, self.problem.shape
        grid = tiles.reshape(c.mesh_rows, c.mesh_cols, self.tile_rows, self.tile_cols)
        return grid.transpose(0, 2, 1, 3).reshape(self.padded_shape)[:rows, :cols]

    @cached_property
    def tile_base(self) -> np.ndarray:
        """(tile,) int64: raster index of each tile's first site, modulo the machine's raster width."""
        c = self.config
        row, col = np.divmod(np.arange(c.spes), c.mesh_cols)
        return (row * self.tile_rows * self.problem.shape[1] + col * self.tile_cols) % (1 << c.raster_bits)

    # -- addresses

    def site_address(self, row: np.ndarray, col: np.ndarray) -> np.ndarray:
        """S1Mem address of a local site."""
        colour = (row + col) & 1
        return (colour << (self.config.site_address_bits - 1)) + row * (self.tile_cols // 2) + (col >> 1)

    def label_address(self, row: np.ndarray, col: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(bank, address) in LMem of a local site (Figure 3.7)."""
        colour, pair = (row + col) & 1, col >> 1
        if self.config.lmem_banks == 1:
            bank, index = np.zeros_like(row + col), row * (self.tile_cols // 2) + pair
        else:
            bank = 2 * (row & 1) + (((row >> 1) ^ pair) & 1)
            index = (row >> 1) * (self.tile_cols // 4) + (pair >> 1)
        return bank, (colour << (self.config.lmem_address_bits - 1)) + index

    def s2_address(self, row: np.ndarray, col: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(bank, address within a patch) in S2Mem of a local position (Figure 3.6b), of units with a lane each."""
        c = self.config
        word, bank = np.divmod(col // c.s2_step, c.s2_banks)
        return bank, row * (self.tile_cols // c.s2_banks) + word * c.s2_step + col % c.s2_step

    # -- singleton 2

    @cached_property
    def second_shift(self) -> tuple[int, int]:
        """(row, column) by which the second image is moved so that no offset is larger than needed.

        On each axis the offset of least absolute value, or 0 where offsets have both signs.
        """
        if self.problem.offsets is None:
            return 0, 0
        low, high = np.min(self.problem.offsets, 0), np.max(self.problem.offsets, 0)
        row, col = (int(np.clip(0, a, b)) for a, b in zip(low, high, strict=True))
        return row, col

    @cached_property
    def second_origin(self) -> tuple[int, int]:
        """The (row, column) of the second image that is placed on site (0, 0)."""
        (row, col), origin = self.second_shift, self.problem.singleton2_origin
        return row + origin[0], col + origin[1]

    @cached_property
    def moved_offsets(self) -> np.ndarray:
        """(L, 2) offsets in the moved second image."""
        if self.problem.offsets is None:
            return np.zeros((self.problem.labels, 2), np.int64)
        return np.asarray(self.problem.offsets, np.int64) - self.second_shift

    @cached_property
    def reach(self) -> Reach | None:
        """What a tile holds of the second image by itself; None where tiles do not hold their reach, and without offsets."""
        if not self.config.holds_reach or self.problem.offsets is None:
            return None
        tile = self.tile_rows, self.tile_cols
        return Reach.of(tile, self.moved_offsets, self.config.lanes, self.label_groups.mirrored)

    @property
    def s2_stride(self) -> int:
        """Singleton-2 words of a bank from a row of a tile's sites to the next, in tiles that hold their reach."""
        return self.tile_cols if self.reach is None else self.reach.stride

    @property
    def patch_words(self) -> int:
        """Words of a patch in each bank."""
        if self.reach is not None:
            return self.reach.words
        sites, c = self.tile_rows * self.tile_cols, self.config
        return sites // (c.spus if self.problem.unary is not None else c.s2_banks)

    @cached_property
    def patches(self) -> list[tuple[int, int]]:
        """(row, column) tile offsets of the patches that each tile holds."""
        if self.problem.unary is not None:
            return [(0, 0)] * self.label_groups.slots  # the costs of each slot's labels
        if self.problem.offsets is None:
            return []
        if self.reach is not None:
            return [(0, 0)]
        found: set[tuple[int, int]] = set()
        for row, col in self.moved_offsets:
            rows, cols = (range(int(o) // size, (int(o) + size - 1) // size + 1)
                          for o, size in ((row, self.tile_rows), (col, self.tile_cols)))
            found |= {(patch_and_direction(r)[0], patch_and_direction(c)[0]) for r in rows for c in cols}
        return sorted(found, key=lambda p: (abs(p[0]) + abs(p[1]), p))

    @cached_property
    def label_entries(self) -> list[LabelEntry]:
        """The offset table, one entry a slot."""
        wraps = (0, 1)
        if self.problem.unary is not None:
            bases = [slot * self.patch_words for slot in range(self.label_groups.slots)]
            return [LabelEntry(self.tile_rows, 0, ((base, base),) * len(wraps), (0, 0), (0,) * len(wraps)) for base in bases]
        offsets = self.moved_offsets[list(self.label_groups.firsts)]
        if self.reach is not None:
            steps = [self.reach.steps(offset, self.tile_cols) for offset in offsets]
            return [LabelEntry(0, column, ((words, words),), (), ()) for column, words in steps]
        h, w, words = self.tile_rows, self.tile_cols, self.tile_cols // self.config.s2_banks
        patch_index = {patch: i for i, patch in enumerate(self.patches)}
        entries = []
        for row, col in offsets:
            (row_tile, row_rest), (col_tile, col_rest) = divmod(int(row), h), divmod(int(col), w)
            rows = [patch_and_direction(row_tile + wrap) for wrap in (0, 1)]
            cols = [patch_and_direction(col_tile + wrap) for wrap in wraps]
            deltas = tuple(tuple(
                (patch_index.get((rows[down][0], patch), 0) * self.patch_words + (row_rest - down * h) * words - wrap * words)
                % (1 << self.config.s2_address_bits) for down in (0, 1)) for wrap, (patch, _) in zip(wraps, cols, strict=True))
            entries.append(LabelEntry(h - row_rest, col_rest, deltas, tuple(direction for _, direction in rows),  # type: ignore[arg-type]
                                      tuple(direction for _, direction in cols)))
        return entries

    def words(self, data: np.ndarray) -> np.ndarray:
        """Data of this problem, with its channels in the last axis where it has several, as words: channels side by side."""
        bits, (*shape,) = self.config.channel_bits, data.shape if self._one_channel else data.shape[:-1]
        channels = data.reshape(*shape, -1).astype(np.int64)
        return np.asarray(sum(channels[..., n] << sum(bits[:n]) for n in range(channels.shape[-1])), np.uint32)

    @property
    def _one_channel(self) -> bool:
        return self.problem.singleton1 is None or self.problem.singleton1.ndim == 2

    def s2_loads(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """(bank, address, word) of S2Mem's content, each (tile, row, column) of the tile's sites or its reach, part after part.

        A word is a datum, and a valid bit above it.
        """
        c, problem = self.config, self.problem
        row, col = np.indices((self.tile_rows, self.tile_cols))
        if problem.unary is not None:
            bank, address = self.s2_address(row, col)
            for label, (slot, lane) in enumerate(zip(self.label_groups.slot, self.label_groups.lane, strict=True)):
                if c.holds_reach:
                    bank, address = np.full_like(row, lane), row * self.tile_cols + col
                yield bank, address + slot * self.patch_words, self.tiles(self.pad(
                    problem.unary[..., label].astype(np.uint32) | 1 << c.datum_bits))
        elif self.reach is not None:
            yield *self.reach.address(*np.indices((self.reach.rows, self.reach.columns))), self._reached(self.reach)
        else:
            for number in range(len(self.patches)):
                bank, address = self.s2_address(row, col)
                yield bank, address + number * self.patch_words, self._patch(number)

    def _second(self, row: np.ndarray, col: np.ndarray) -> np.ndarray:
        """Words of the second image at these sites of the mesh, where offsets are 0; 0 where it has no pixel."""
        problem = self.problem
        assert problem.singleton2 is not None
        (rows, cols), (over_row, over_col) = problem.singleton2.shape[:2], self.second_origin
        row, col = row + over_row, col + over_col
        valid = (row >= 0) & (row < rows) & (col >= 0) & (col < cols)
        place = row.clip(0, rows - 1), col.clip(0, cols - 1)
        if problem.shown is not None:
            valid &= problem.shown[place]
        data = self.words(problem.singleton2)[place]
        return np.where(valid, data | 1 << self.config.datum_bits, 0).astype(np.uint32)

    def _patch(self, number: int) -> np.ndarray:
        """(tile, local row, local column) words of a patch of `patches`."""
        row, col = self.patches[number]
        return self.tiles(self._second(np.arange(self.padded_shape[0])[:, None] + row * self.tile_rows,
                                       np.arange(self.padded_shape[1]) + col * self.tile_cols))

    def _reached(self, reach: Reach) -> np.ndarray:
        """(tile, row, column) words of each tile's reach."""
        tile_row, tile_col = np.divmod(np.arange(self.config.spes), self.config.mesh_cols)
        row = tile_row[:, None] * self.tile_rows + reach.low[0] + np.arange(reach.rows)
        col = tile_col[:, None] * self.tile_cols + reach.low[1] + np.arange(reach.columns)
        return self._second(row[:, :, None], col[:, None, :])

    @property
    def s1_words(self) -> np.ndarray:
        """(tile, local row, local column) words of singleton 1: datum, and whether the site is observed above it."""
        data = np.zeros(self.problem.shape, np.uint32) if self.problem.singleton1 is None else self.words(self.problem.singleton1)
        return np.asarray(self.tiles(self.pad(data)) | self.tiles(self.observed).astype(np.uint32) << self.config.datum_bits)

    @property
    def edge_words(self) -> np.ndarray:
        """(tile, local row, local column) words of the edges' weights: up, down, left and right side by side."""
        weights = edge_weights(self.problem)
        return self.tiles(self.pad((weights << self.config.edge_bits * np.arange(4)).sum(-1).astype(np.uint32)))

    @property
    def has_table(self) -> bool:
        """Whether the machine has the problem's doubleton as a table."""
        return self.config.doubletons == "table" or self.problem.pairwise is not None

    @cached_property
    def pairwise_offsets(self) -> np.ndarray:
        """Words of the doubleton tables that `pairwise_entries` go to.

        One lane: {label to the left or above, label to the right or below}. Several: {whether the site's own label comes first,
        the neighbour's label, slot, which lanes}, the entries of `Derived.pairwise_lanes` lanes in a word.
        """
        c, labels = self.config, np.arange(self.problem.labels)
        if c.lanes == 1:
            return np.asarray(labels[:, None] << c.label_bits | labels)
        words = self.label_groups.slots * (c.lanes // c.pairwise_lanes)
        part_bits = AddressMap(c).pairwise_part_bits
        of_neighbour = labels[:, None] << c.pairwise_slot_bits + part_bits | np.arange(words)
        return np.stack([of_neighbour, of_neighbour | 1 << c.label_bits + c.pairwise_slot_bits + part_bits])

    @property
    def pairwise_entries(self) -> np.ndarray:
        """The entries of the doubleton tables, each at its place in `pairwise_offsets`."""
        table = doubleton_table(self.problem) if self.config.doubletons == "table" else self.problem.pairwise
        assert table is not None
        c, groups = self.config, self.label_groups
        if c.lanes == 1:
            return table
        entries = np.zeros((2, len(table), groups.slots * c.lanes), np.int64)
        entries[..., groups.slot * c.lanes + groups.lane] = np.stack([table, table.T])
        of_word = entries.reshape(2, len(table), -1, c.pairwise_lanes)
        return np.asarray((of_word << c.pairwise_bits * np.arange(c.pairwise_lanes)).sum(-1))

    @property
    def replication(self) -> int:
        """Singleton-2 data that each tile holds, in parts as large as the tile, the last one perhaps not whole; 1 without
        replication, 0 without a second image."""
        if self.reach is None:
            return len(self.patches)
        return -(-self.reach.words * self.reach.lanes // (self.tile_rows * self.tile_cols))

    @property
    def s2_used(self) -> int:
        """Singleton-2 words that each tile holds."""
        return max(1, len(self.patches)) * self.patch_words * self.config.s2_banks


# Values that depend on problem and machine, but not on the run.
_SHARED = [name for name, value in vars(Placement).items() if isinstance(value, cached_property) and name != "initial"]


def place(config: Config, problem: Problem | Placement, run: Run) -> Placement:
    """`problem` for `run` on the machine: placed, or, where it is a Placement, again for that run. Raises as Placement does."""
    if isinstance(problem, Placement):
        assert problem.config == config
        return problem if problem.run is run else problem.again(run)
    return Placement(config, problem, run)
