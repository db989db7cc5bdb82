"""The tiles, their links to one another, and the two trees between them and the edge (Figure 3.3)."""

from __future__ import annotations

from typing import Any

from amaranth import Const, Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.axi import AxiStream
from mrfhw.gateware.common.contexts import context_ports, join_contexts
from mrfhw.gateware.common.leaves import Leaves
from mrfhw.gateware.control.ops import downlink, uplink
from mrfhw.gateware.log.line_packer import LinePacker
from mrfhw.gateware.mesh.tree import ControlNode, LineHub, LogHub
from mrfhw.gateware.tile.spe import Spe
from mrfhw.machine.bits import bits_for
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived

__all__ = ["TILE", "Mesh"]

TILE = "mrfhw_spe"  # module name of a tile


def _join(m: Module, sink: data.View, source: data.View) -> None:
    """Connect two ports of one layout as plain vectors."""
    m.d.comb += sink.as_value().eq(source.as_value())


def _join_log(m: Module, sink: Any, source: Any) -> None:
    _join(m, sink.payload, source.payload)
    m.d.comb += [sink.ends.eq(source.ends), sink.valid.eq(source.valid), source.ready.eq(sink.ready)]


def _join_lines(m: Module, sink: Any, source: Any) -> None:
    m.d.comb += [sink.tdata.eq(source.tdata), sink.tlast.eq(source.tlast), sink.tvalid.eq(source.tvalid),
                 source.tready.eq(sink.tready)]


class Mesh(wiring.Component):
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
        tiles = [self.leaves.add(m, TILE, f"spe_{i}", lambda: Spe(c)) for i in range(c.spes)]
        self._links(m, tiles)
        self._tree(m, tiles)
        return m

    def _links(self, m: Module, tiles: list[Any]) -> None:
        c = self.config
        for i, tile in enumerate(tiles):
            row, col = divmod(i, c.mesh_cols)
            for side, opposite, near_row, near_col in (("north", "south", row - 1, col), ("south", "north", row + 1, col),
                                                       ("west", "east", row, col - 1), ("east", "west", row, col + 1)):
                if not (0 <= near_row < c.mesh_rows and 0 <= near_col < c.mesh_cols):
                    continue
                near = tiles[near_row * c.mesh_cols + near_col]
                _join(m, getattr(tile, f"label_{side}"), getattr(near, f"label_to_{opposite}"))
                if not c.holds_reach:
                    _join(m, getattr(tile, f"s2_{side}"), near.s2_words if side in ("west", "east") else near.s2_across)

    def _tree(self, m: Module, tiles: list[Any]) -> None:
        c = self.config
        downs, ups, logs = [t.down for t in tiles], [t.up for t in tiles], [t.log for t in tiles]
        for level in range(c.tree_levels):
            next_downs, next_ups = [], []
            for n, children in enumerate(self._groups(len(downs))):
                name, make = ControlNode.for_children(c, len(children))
                node: Any = self.leaves.add(m, name, f"control_{level}_{n}", make)
                for k, child in enumerate(children):
                    _join(m, downs[child], getattr(node, f"child_down_{k}"))
                    _join(m, getattr(node, f"child_up_{k}"), ups[child])
                next_downs.append(node.down)
                next_ups.append(node.up)
            downs, ups = next_downs, next_ups
            if level == c.message_levels:
                logs = self._packed(m, logs)
            logs = [self._hub(m, level, n, [logs[child] for child in children])
                    for n, children in enumerate(self._groups(len(logs)))]
        if not c.line_levels:
            logs = self._packed(m, logs)
        _join(m, downs[0], self.down)
        _join(m, self.up, ups[0])
        _join_lines(m, self.lines, logs[0])

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
