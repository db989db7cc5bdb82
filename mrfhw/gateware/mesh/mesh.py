"""The tiles, their links to one another, and the two trees between them and the edge (Figure 3.3)."""

from __future__ import annotations

from typing import Any

from amaranth import Module
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.leaves import Leaves
from mrfhw.gateware.control.ops import LogStream, downlink, uplink
from mrfhw.gateware.mesh.tree import ControlNode, LogHub
from mrfhw.gateware.tile.spe import Spe
from mrfhw.machine.address_map import AddressMap
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
    m.d.comb += [sink.valid.eq(source.valid), source.ready.eq(sink.ready)]


class Mesh(wiring.Component):
    """The tiles, their links, the control tree and the hub tree.

    down, up: root of the control tree, `Latency.down` cycles to the tiles and `Latency.up` from them. log: root of
    the hub tree. Tiles beyond the mesh read as zero: no label exists there and no pixel is inside.
    """

    def __init__(self, config: Config, leaves: Leaves | None = None):
        config = Derived.of(config)
        self.config, self.leaves = config, leaves or Leaves(shared=False)
        tile_bits = AddressMap(config).tile_bits
        super().__init__({"down": In(downlink(config)), "up": Out(uplink(config)), "log": Out(LogStream(config, tile_bits))})

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
                across = near.s2_words if side in ("west", "east") else near.s2_across
                _join(m, getattr(tile, f"label_{side}"), getattr(near, f"label_to_{opposite}"))
                _join(m, getattr(tile, f"s2_{side}"), across)

    def _tree(self, m: Module, tiles: list[Any]) -> None:
        c = self.config
        fan_in, digit = c.hub_fan_in, bits_for(c.hub_fan_in)
        downs, ups, logs = [t.down for t in tiles], [t.up for t in tiles], [t.log for t in tiles]
        for level in range(c.tree_levels):
            nodes = -(-len(downs) // fan_in)
            next_downs, next_ups, next_logs = [], [], []
            for n in range(nodes):
                children = range(n * fan_in, min((n + 1) * fan_in, len(downs)))
                node: Any = self.leaves.add(m, "mrfhw_control_node", f"control_{level}_{n}", lambda: ControlNode(c))
                hub: Any = self.leaves.add(m, f"mrfhw_log_hub_{level}", f"hub_{level}_{n}",
                                           lambda bits=level * digit: LogHub(c, bits))  # type: ignore[misc]
                m.d.comb += hub.present.eq((1 << len(children)) - 1)
                for k, child in enumerate(children):
                    _join(m, downs[child], getattr(node, f"child_down_{k}"))
                    _join(m, getattr(node, f"child_up_{k}"), ups[child])
                    _join_log(m, getattr(hub, f"child_{k}"), logs[child])
                next_downs.append(node.down)
                next_ups.append(node.up)
                next_logs.append(hub.log)
            downs, ups, logs = next_downs, next_ups, next_logs
        _join(m, downs[0], self.down)
        _join(m, self.up, ups[0])
        _join_log(m, self.log, logs[0])
