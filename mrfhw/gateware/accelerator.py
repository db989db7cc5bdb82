"""The machine: mesh, trees, scheduler, registers and bus (Figure 3.3)."""

from __future__ import annotations

from typing import Any

from amaranth import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrfhw.config import Config, bits_for
from mrfhw.gateware.axi import AxiStream
from mrfhw.gateware.leaves import Leaves
from mrfhw.gateware.line_packer import LinePacker
from mrfhw.gateware.ops import LogStream, downlink, uplink
from mrfhw.gateware.register_file import RegisterFile, Wishbone
from mrfhw.gateware.scheduler import Scheduler
from mrfhw.gateware.spe import Spe
from mrfhw.gateware.tree import ControlNode, LogHub
from mrfhw.registers import AddressMap

__all__ = ["TILE", "Accelerator", "Mesh"]

TILE = "mrfhw_spe"  # module name of a tile


def _join(m: Module, sink: data.View, source: data.View) -> None:
    """Connect two ports of one layout as plain vectors."""
    m.d.comb += sink.as_value().eq(source.as_value())


def _join_log(m: Module, sink: Any, source: Any) -> None:
    _join(m, sink.payload, source.payload)
    m.d.comb += [sink.valid.eq(source.valid), source.ready.eq(sink.ready)]


class Mesh(wiring.Component):
    """The tiles, their links, the control tree and the hub tree.

    down, up: root of the control tree, `Config.tree_levels` cycles from and to the tiles. log: root of
    the hub tree. Tiles beyond the mesh read as zero: no label exists there and no pixel is inside.
    """

    def __init__(self, config: Config, leaves: Leaves | None = None):
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


class Accelerator(wiring.Component):
    """The generated chip.

    bus: Wishbone (classic), 32 bits, word addresses of `mrfhw.registers.AddressMap`. A write takes two
    cycles, a register read two, a tile memory read 5 + 2 `Config.tree_levels`. Tile memories answer
    with err while labels are being drawn.
    lines: the log, AXI4-Stream, `line_bits` wide; tlast on the last line of a run. A log that is not
    taken stalls the machine; nothing is lost.
    """

    def __init__(self, config: Config, leaves: Leaves | None = None):
        self.config, self.leaves = config, leaves or Leaves(shared=False)
        super().__init__({"bus": In(Wishbone(AddressMap(config).address_bits)), "lines": Out(AxiStream(config.line_bits))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c = self.config
        m.submodules.registers = registers = RegisterFile(c)
        m.submodules.scheduler = scheduler = Scheduler(c)
        m.submodules.mesh = mesh = Mesh(c, self.leaves)
        m.submodules.packer = packer = LinePacker(c)
        wiring.connect(m, wiring.flipped(self.bus), registers.bus)
        wiring.connect(m, mesh.log, packer.log)
        wiring.connect(m, packer.lines, wiring.flipped(self.lines))
        down = Signal(downlink(c))
        m.d.comb += [
            down.eq(scheduler.down), down.parameters.eq(registers.parameters),
            down.parameters.temperature.eq(scheduler.down.parameters.temperature), down.bus.eq(registers.tile_bus),
            mesh.down.eq(down), registers.tile_data.eq(mesh.up.data),
            scheduler.registers.eq(registers.problem), scheduler.stall.eq(mesh.up.stall),
            scheduler.log_done.eq(packer.done),
            scheduler.label_table_write.eq(registers.label_table_write),
            scheduler.temperature_table_write.eq(registers.temperature_table_write),
            scheduler.table_address.eq(registers.table_address), scheduler.table_data.eq(registers.table_data),
            packer.table_write.eq(registers.tile_base_write), packer.table_address.eq(registers.table_address),
            packer.table_data.eq(registers.table_data),
            registers.message.eq(packer.message), registers.line.eq(self.lines.tvalid & self.lines.tready),
        ]
        for name in ("start", "resume", "stop"):
            m.d.comb += getattr(scheduler, name).eq(getattr(registers, name))
        for name in ("running", "busy", "sweep", "cycle", "label_cycle", "gap_cycle", "stall_cycle"):
            m.d.comb += getattr(registers, name).eq(getattr(scheduler, name))
        return m
