"""The order of visits: the unit and the time at which each site is drawn, and the numbers of the unit's generators for it.

The order is stated only here. The gateware implements it and is tested against it; the model, the timetable and the windows use it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mrfhw.field.colours import COLOURS
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.samplers import Race
from mrfhw.placement.label_groups import LabelGroups

__all__ = ["COLOURS", "Group", "VisitOrder"]


@dataclass(frozen=True)
class Group:
    """The sites that the sampling units of a tile draw at one turn; all tiles draw theirs at the same local places.

    sweep: from the start of the chain. colour: one of COLOURS. turn: from the colour's first group. row: in the tile.
    index: of the group in its row. columns: in the tile, by unit of the tile.
    """

    sweep: int
    colour: int
    turn: int
    row: int
    index: int
    columns: tuple[int, ...]


@dataclass(frozen=True)
class VisitOrder:
    """All tiles in lockstep: a colour after the other, in each a group of every tile's sampling units at each turn.

    mesh_rows, mesh_cols: tiles. tile_rows, tile_cols: sites of a tile that are in use; an even number of each.
    tile_units: units a tile, whose sites of a turn are two columns apart. groups: which labels a unit's lanes evaluate together.
    number_a_label: a lane's generator steps once a slot (race), else the unit's only one once a turn (cdf).
    numbers_a_step: uniform numbers that a step of a generator gives, each to a lane of its own.

    Units are numbered tile by tile in raster order. A site has a *place*, the position of its group in the tile (row after
    row, the same for all units and in all sweeps), and in each sweep a *turn*, the time at which that group is drawn.
    Generators step at every turn, whether there is a site to draw or not (padding, clamped sites), and whether all lanes have a
    label or not.

    Users of the order call `places`, `site`, `visit`, `table`, `groups_of`, `number` and the counts of turns and
    evaluations; they compute nothing from the tile's shape themselves. Another order is then another class with these members:

    - Sites chosen at run time (event-driven): `places` comes from what is to be drawn next, by tile, so it gets a second
      axis, (turns, tiles), and `turns` is known afterwards alone; `table` and `site` stay, as a place is still a site of a unit.
    - A scheduler for each part of the mesh (a sub-rectangle of tiles): one order for each part, with its tiles as the mesh and
      its first unit and site added in `site`, `table` and `number`; their evaluations add up, their turns run side by side.
    """

    mesh_rows: int
    mesh_cols: int
    tile_rows: int
    tile_cols: int
    tile_units: int
    groups: LabelGroups
    number_a_label: bool
    numbers_a_step: int

    @classmethod
    def of_machine(cls, config: Config, tile_rows: int, tile_cols: int, groups: LabelGroups) -> VisitOrder:
        """The order of a machine of `config` that uses tile_rows x tile_cols sites of each tile."""
        return cls(config.mesh_rows, config.mesh_cols, tile_rows, tile_cols, config.spus, groups, isinstance(config.sampler, Race),
                   Derived.of(config).numbers_a_step)

    # -- counts

    @property
    def groups_per_row(self) -> int:
        return self.tile_cols // (2 * self.tile_units)

    @property
    def turns(self) -> int:
        """Turns of a colour: the groups of a tile."""
        return self.tile_rows * self.groups_per_row

    @property
    def labels(self) -> int:
        return self.groups.labels

    @property
    def units(self) -> int:
        return self.mesh_rows * self.mesh_cols * self.tile_units

    @property
    def unit_generators(self) -> int:
        """Generators of a unit: its lanes', and behind them the one of subsets, which steps once a turn."""
        return self.groups.lanes // self.numbers_a_step + min(1, self.groups.subset)

    @property
    def columns(self) -> int:
        """Columns of the padded grid, the step of its flat indices from row to row."""
        return self.mesh_cols * self.tile_cols

    @property
    def numbers_a_turn(self) -> int:
        """Steps of a lane's generator a turn."""
        return self.groups.visited if self.number_a_label else 1

    @property
    def colour_evaluations(self) -> int:
        """Label evaluations that a colour has room for: units x turns x slots x lanes, padding and clamped sites included."""
        return self.units * self.turns * self.groups.visited * self.groups.lanes

    def scheduled_evaluations(self, sweeps: int) -> int:
        """Label evaluations that `sweeps` sweeps have room for."""
        return sweeps * len(COLOURS) * self.colour_evaluations

    def label_evaluations(self, unclamped: int, sweeps: int) -> int:
        """Label evaluations that are made for the `unclamped` sites: L a visit; of a subset, as many as its slots have at most."""
        return self.groups.evaluated * unclamped * sweeps

    # -- from turns to sites

    def first_row(self, sweep: int, colour: int) -> int:
        """The local row at which a colour starts: one below that of the colour before it."""
        return (len(COLOURS) * sweep + colour) % self.tile_rows

    def places(self, sweep: int, colour: int) -> np.ndarray:
        """(turns,) int64: the place of each turn of a colour."""
        return np.roll(self._all_places, -self.first_row(sweep, colour) * self.groups_per_row)

    @cached_property
    def _all_places(self) -> np.ndarray:
        return np.arange(self.turns)

    def groups_of(self, sweep: int) -> Iterator[Group]:
        """The groups of a sweep, in order."""
        units = np.arange(self.tile_units)
        for colour in COLOURS:
            for turn, place in enumerate(self.places(sweep, colour)):
                _, row, columns = self._local(colour, place, units)
                yield Group(sweep, colour, turn, int(row[0]), int(place) % self.groups_per_row, tuple(map(int, columns)))

    def _local(self, colour: int, place: np.ndarray, unit: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(tile, local row, local column) of places and units, broadcast."""
        tile, within = self.tile_of(unit)
        row, index = np.divmod(place, self.groups_per_row)
        tile, row, column = np.broadcast_arrays(tile, row, 2 * (index * self.tile_units + within) + ((row + colour) & 1))
        return tile, row, column

    def site(self, sweep: int, colour: int, turn: np.ndarray | int, unit: np.ndarray | int
             ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(tile, local row, local column) of the sites at `turn` of `unit`, which are broadcast; int64."""
        return self._local(colour, self.places(sweep, colour)[turn], np.asarray(unit))

    def tile_of(self, unit: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(tile, unit of the tile) of units."""
        tile, within = np.divmod(unit, self.tile_units)
        return tile, within

    def flat(self, tile: np.ndarray, row: np.ndarray, column: np.ndarray) -> np.ndarray:
        """Flat indices on the padded grid of (tile, local row, local column)."""
        tile_row, tile_col = np.divmod(tile, self.mesh_cols)
        return (tile_row * self.tile_rows + row) * self.columns + tile_col * self.tile_cols + column

    def table(self, width: int) -> np.ndarray:
        """(blocks, colours, turns, width) int32: the site, as a flat index on the padded grid, of each place and unit.

        Units come in blocks of `width`; -1 where the last block has no unit. 4 bytes a site, to be made once.
        """
        blocks = -(-self.units // width)
        table = np.full((blocks, len(COLOURS), self.turns, width), -1, np.int32)
        units = np.arange(self.units)
        for colour in COLOURS:
            # A site's flat index is that of its unit's first site plus a distance that is the same for all units.
            first = self.flat(*self._local(colour, np.zeros(1, np.int64), units))
            way = self.flat(*self._local(colour, self._all_places, np.zeros(1, np.int64)))
            for block in range(blocks):
                some = first[block * width:][:width]
                table[block, colour, :, :len(some)] = (way - way[0])[:, None] + some
        return table

    # -- from sites to turns

    def visit(self, sweep: int, row: np.ndarray, col: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(colour, unit, turn) of sites of the padded grid in a sweep; row, col: integers, broadcast."""
        colour, unit, place = self.home(row, col)
        first = np.array([self.first_row(sweep, each) for each in COLOURS]) * self.groups_per_row
        return colour, unit, (place - first[colour]) % self.turns

    def home(self, row: np.ndarray, col: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(colour, unit, place) of sites of the padded grid, the same in all sweeps."""
        (tile_row, r), (tile_col, c) = np.divmod(row, self.tile_rows), np.divmod(col, self.tile_cols)
        index, within = np.divmod(c // 2, self.tile_units)
        unit = (tile_row * self.mesh_cols + tile_col) * self.tile_units + within
        colour, unit, place = np.broadcast_arrays((r + c) & 1, unit, r * self.groups_per_row + index)
        return colour, unit, place

    # -- generators

    def number(self, sweep: int, colour: int, turn: np.ndarray | int, unit: np.ndarray | int, label: np.ndarray | int = 0
               ) -> tuple[np.ndarray | int, np.ndarray | int]:
        """(generator, index) of the step that gives the number which a unit uses for a label at a turn.

        Generators are numbered unit by unit. index: from 0, the first step of the chain's first turn; one number is
        used for all labels where it is one a turn. Which of the step's numbers is a label's own says `part`. Not of subsets, where
        a label's step is that of its slot's place in the subset.
        """
        assert self.groups.visited == self.groups.slots
        turns = (len(COLOURS) * sweep + colour) * self.turns + turn
        if not self.number_a_label:
            return unit, turns
        return (unit * self.unit_generators + self.groups.lane[label] // self.numbers_a_step,
                turns * self.numbers_a_turn + self.groups.slot[label])

    def part(self, label: np.ndarray | int) -> np.ndarray | int:
        """Which of a step's numbers is a label's: 0 for that of the top bits, 1 for that of the bits below."""
        return np.asarray(self.groups.lane[label] % self.numbers_a_step)
