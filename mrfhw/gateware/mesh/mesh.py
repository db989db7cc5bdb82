"""The tiles, their links to one another, and the two trees between them and the edge (Figure 3.3)."""

from __future__ import annotations

import itertools
from typing import Any

from amaranth import Const, Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.axi import AxiStream
from mrfhw.gateware.common.contexts import context_ports, join_contexts
from mrfhw.gateware.common.leaves import Leaves
from mrfhw.gateware.control.ops import LogStream, datum, downlink, label_word, uplink
from mrfhw.gateware.log.line_packer import LinePacker
from mrfhw.gateware.mesh.tree import ControlNode, LineHub, LogHub
from mrfhw.gateware.tile.spe import Spe
from mrfhw.machine.bits import bits_for
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived

__all__ = ["ROW", "TILE", "Mesh", "MeshRow", "row_levels"]

TILE = "mrfhw_spe"  # module name of a tile
ROW = "mrfhw_mesh_row"  # and of a row of tiles
ROWS_FROM = 64  # tiles; a mesh of more is emitted row by row, as the time that a module takes grows faster than what is in it


def row_levels(config: Config) -> int:
    """Levels of the trees whose nodes each have tiles of one row alone, below the line packers."""
    c, levels = Derived.of(config), 0
    while levels < c.message_levels and c.mesh_cols % c.hub_fan_in ** (levels + 1) == 0:
        levels += 1
    return levels


def _join(m: Module, sink: data.View, source: data.View) -> None:
    """Connect two ports of one layout as plain vectors."""
    m.d.comb += sink.as_value().eq(source.as_value())


def _join_log(m: Module, sink: Any, source: Any) -> None:
    _join(m, sink.payload, source.payload)
    m.d.comb += [sink.ends.eq(source.ends), sink.valid.eq(source.valid), source.ready.eq(sink.ready)]


def _join_lines(m: Module, sink: Any, source: Any) -> None:
    m.d.comb += [sink.tdata.eq(source.tdata), sink.tlast.eq(source.tlast), sink.tvalid.eq(source.tvalid),
                 source.tready.eq(sink.tready)]


class _Tiles(wiring.Component):
    """Tiles of a part of the mesh, and levels of the trees over them."""

    config: Derived
    leaves: Leaves

    def _tiles(self, m: Module, count: int) -> list[Any]:
        return [self.leaves.add(m, TILE, f"spe_{i}", lambda: Spe(self.config)) for i in range(count)]

    def _links(self, m: Module, tiles: list[Any], rows: int) -> None:
        c = self.config
        cols = len(tiles) // rows
        for i, tile in enumerate(tiles):
            row, col = divmod(i, cols)
            for side, opposite, near_row, near_col in (("north", "south", row - 1, col), ("south", "north", row + 1, col),
                                                       ("west", "east", row, col - 1), ("east", "west", row, col + 1)):
                if not (0 <= near_row < rows and 0 <= near_col < cols):
                    continue
                near = tiles[near_row * cols + near_col]
                _join(m, getattr(tile, f"label_{side}"), getattr(near, f"label_to_{opposite}"))
                if not c.holds_reach:
                    _join(m, getattr(tile, f"s2_{side}"), near.s2_words if side in ("west", "east") else near.s2_across)

    def _level(self, m: Module, level: int, downs: list[Any], ups: list[Any], logs: list[Any]) -> tuple[list[Any], ...]:
        """A level of both trees over the nodes of the level below; returns those of its own: down, up, log."""
        next_downs, next_ups = [], []
        for n, children in enumerate(self._groups(len(downs))):
            name, make = ControlNode.for_children(self.config, len(children))
            node: Any = self.leaves.add(m, name, f"control_{level}_{n}", make)
            for k, child in enumerate(children):
                _join(m, downs[child], getattr(node, f"child_down_{k}"))
                _join(m, getattr(node, f"child_up_{k}"), ups[child])
            next_downs.append(node.down)
            next_ups.append(node.up)
        if level == self.config.message_levels:
            logs = self._packed(m, logs)
        logs = [self._hub(m, level, n, [logs[child] for child in children])
                for n, children in enumerate(self._groups(len(logs)))]
        return next_downs, next_ups, logs

    def _groups(self, count: int) -> list[range]:
        """The children of each node of a level, of so many."""
        fan_in = self.config.hub_fan_in
        return [range(first, min(first + fan_in, count)) for first in range(0, count, fan_in)]

    def _hub(self, m: Module, level: int, n: int, children: list[Any]) -> Any:
        """A hub of messages, or of lines above the packers; returns its output."""
        c = self.config
        lines = level >= c.message_levels
        if lines:
            hub: Any = self.leaves.add(m, "mrfhw_line_hub", f"hub_{level}_{n}", lambda: LineHub(c))
        else:
            hub = self.leaves.add(m, f"mrfhw_log_hub_{level}", f"hub_{level}_{n}",
                                  lambda: LogHub(c, level * bits_for(c.hub_fan_in)))
        m.d.comb += hub.present.eq((1 << len(children)) - 1)
        for k, child in enumerate(children):
            (_join_lines if lines else _join_log)(m, getattr(hub, f"child_{k}"), child)
        return hub.lines if lines else hub.log

    def _packed(self, m: Module, logs: list[Any]) -> list[Any]:
        """Line packers behind the hubs of messages; returns their lines. A part of the mesh has none."""
        raise NotImplementedError


class MeshRow(_Tiles):
    """The tiles of a row of the mesh, the links between them, and those levels of the trees that lie within a row.

    down_<k>, up_<k>, log_<k>: the roots of the levels (`row_levels`), from west to east; a log of messages.
    label_north, label_south, label_to_north, label_to_south: tiles' label words from and to the rows beside, from west to east.
    s2_north, s2_south, s2_to_vertical: the same of their singleton-2 words, which go to both. What is beyond the mesh is zero.
    """

    def __init__(self, config: Config, leaves: Leaves | None = None):
        self.config = c = Derived.of(config)
        self.leaves, self.levels = leaves or Leaves(shared=False), row_levels(c)
        labels = data.ArrayLayout(label_word(c), c.mesh_cols)
        words = data.ArrayLayout(data.ArrayLayout(datum(c), c.s2_banks), c.mesh_cols)
        ports: dict[str, Any] = {"label_north": In(labels), "label_south": In(labels), "label_to_north": Out(labels),
                                 "label_to_south": Out(labels)}
        if not c.holds_reach:
            ports |= {"s2_north": In(words), "s2_south": In(words), "s2_to_vertical": Out(words)}
        for k in range(c.mesh_cols // c.hub_fan_in ** self.levels):
            ports |= {f"down_{k}": In(downlink(c)), f"up_{k}": Out(uplink(c)),
                      f"log_{k}": Out(LogStream(c, self.levels * bits_for(c.hub_fan_in)))}
        super().__init__(ports)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        tiles = self._tiles(m, self.config.mesh_cols)
        self._links(m, tiles, 1)
        for col, tile in enumerate(tiles):
            for side in ("north", "south"):
                m.d.comb += [getattr(tile, f"label_{side}").as_value().eq(getattr(self, f"label_{side}")[col].as_value()),
                             getattr(self, f"label_to_{side}")[col].as_value().eq(getattr(tile, f"label_to_{side}").as_value())]
                if not self.config.holds_reach:
                    m.d.comb += getattr(tile, f"s2_{side}").as_value().eq(getattr(self, f"s2_{side}")[col].as_value())
            if not self.config.holds_reach:
                m.d.comb += self.s2_to_vertical[col].as_value().eq(tile.s2_across.as_value())
        downs, ups, logs = [tile.down for tile in tiles], [tile.up for tile in tiles], [tile.log for tile in tiles]
        for level in range(self.levels):
            downs, ups, logs = self._level(m, level, downs, ups, logs)
        for k, (down, up, log) in enumerate(zip(downs, ups, logs, strict=True)):
            _join(m, down, getattr(self, f"down_{k}"))
            _join(m, getattr(self, f"up_{k}"), up)
            _join_log(m, getattr(self, f"log_{k}"), log)
        return m


class Mesh(_Tiles):
    """The tiles, their links, the control tree and the log's tree.

    down, up: root of the control tree, `Latency.down` cycles to the tiles and `Latency.up` from them. lines: root of the log's
    tree, tlast on the last line of a run; base_*: of the line packers' tables, by tile; messages: packed in a cycle, one cycle
    later where there are several packers. context, bus_context: of several, the one whose log comes, and whose bases are written.
    Tiles beyond the mesh read as zero: no label exists there and no pixel is inside.
    """

    def __init__(self, config: Config, leaves: Leaves | None = None):
        config = Derived.of(config)
        self.config, self.leaves = config, leaves or Leaves(shared=False)
        super().__init__({
            "down": In(downlink(config)), "up": Out(uplink(config)), "lines": Out(AxiStream(config.line_bits)),
            "base_write": In(1), "base_address": In(bits_for(config.spes)), "base_data": In(config.raster_bits),
            "messages": Out(range(config.packers + 1)), **context_ports(config.contexts)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c = self.config
        if c.spes > ROWS_FROM and c.mesh_rows > 1:
            self._rows(m)
            return m
        tiles = self._tiles(m, c.spes)
        self._links(m, tiles, c.mesh_rows)
        self._tree(m, [tile.down for tile in tiles], [tile.up for tile in tiles], [tile.log for tile in tiles], 0)
        return m

    def _tree(self, m: Module, downs: list[Any], ups: list[Any], logs: list[Any], first: int) -> None:
        """The trees' levels from `first` on, up to the root."""
        for level in range(first, self.config.tree_levels):
            downs, ups, logs = self._level(m, level, downs, ups, logs)
        if not self.config.line_levels:
            logs = self._packed(m, logs)
        _join(m, downs[0], self.down)
        _join(m, self.up, ups[0])
        _join_lines(m, self.lines, logs[0])

    def _rows(self, m: Module) -> None:
        """A large mesh, whose rows are one module."""
        c = self.config
        levels = row_levels(c)
        rows: list[Any] = [self.leaves.add(m, ROW, f"row_{i}", lambda: MeshRow(c, self.leaves)) for i in range(c.mesh_rows)]
        for north, south in itertools.pairwise(rows):
            m.d.comb += [south.label_north.eq(north.label_to_south), north.label_south.eq(south.label_to_north)]
            if not c.holds_reach:
                m.d.comb += [south.s2_north.eq(north.s2_to_vertical), north.s2_south.eq(south.s2_to_vertical)]
        roots = [(row, k) for row in rows for k in range(c.mesh_cols // c.hub_fan_in ** levels)]
        downs, ups, logs = ([getattr(row, f"{name}_{k}") for row, k in roots] for name in ("down", "up", "log"))
        self._tree(m, downs, ups, logs, levels)

    def _packed(self, m: Module, logs: list[Any]) -> list[Any]:
        """Line packers behind the hubs of messages; returns their lines."""
        c = self.config
        found, messages = [], []
        low = (c.packer_tiles - 1).bit_length()
        for n, log in enumerate(logs):
            packer: Any = self.leaves.add(m, "mrfhw_line_packer", f"packer_{n}", lambda: LinePacker(c))
            mine = (self.base_address >> low) == n if len(logs) > 1 else Const(1)
            address = self.base_address[:low] if len(logs) > 1 else self.base_address
            m.d.comb += [packer.table_write.eq(self.base_write & mine), packer.table_address.eq(address),
                         packer.table_data.eq(self.base_data)]
            if c.contexts > 1:
                join_contexts(m, packer, self.context, self.bus_context)
            _join_log(m, packer.log, log)
            messages.append(packer.message)
            found.append(packer.lines)
        if len(logs) == 1:
            m.d.comb += self.messages.eq(messages[0])
        else:
            m.d.sync += self.messages.eq(sum(messages[1:], messages[0]))
        return found
