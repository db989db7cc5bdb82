"""The machine: a cluster of tiles behind its bus, and its log as lines (Figure 3.3)."""

from __future__ import annotations

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.axi import AxiStream
from mrfhw.gateware.common.leaves import Leaves
from mrfhw.gateware.control.register_file import PLACEHOLDER, RegisterFile, Wishbone
from mrfhw.gateware.mesh.cluster import Cluster
from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.config import Config

__all__ = ["Accelerator"]


class Accelerator(wiring.Component):
    """The generated chip.

    bus: Wishbone (classic), 32 bits, word addresses of `mrfhw.machine.address_map.AddressMap`. A write and a
    register's read take `Derived.bus_write_cycles`, a read from a tile `Derived.bus_read_cycles`. Tile memories answer
    with err while labels are being drawn.
    lines: the log, AXI4-Stream, `line_bits` wide; tlast on the last line of a run. A log that is not
    taken stalls the machine; nothing is lost.
    digest: see `RegisterFile`.
    """

    def __init__(self, config: Config, leaves: Leaves | None = None, digest: str = PLACEHOLDER):
        self.config, self.leaves, self.digest = config, leaves or Leaves(shared=False), digest
        super().__init__({"bus": In(Wishbone(AddressMap(config).address_bits)), "lines": Out(AxiStream(config.line_bits))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c = self.config
        m.submodules.registers = registers = RegisterFile(c, self.digest)
        m.submodules.cluster = cluster = Cluster(c, self.leaves)
        wiring.connect(m, wiring.flipped(self.bus), registers.bus)
        wiring.connect(m, cluster.lines, wiring.flipped(self.lines))
        m.d.comb += [
            cluster.start.eq(registers.start), cluster.resume.eq(registers.resume), cluster.stop.eq(registers.stop),
            cluster.problem.eq(registers.problem), cluster.parameters.eq(registers.parameters), cluster.tables.eq(registers.tables),
            cluster.bus.eq(registers.tile_bus), registers.tile_data.eq(cluster.bus_data), registers.status.eq(cluster.status),
            cluster.base_write.eq(registers.tile_base_write), cluster.base_address.eq(registers.tables.address),
            cluster.base_data.eq(registers.tables.data),
            registers.messages.eq(cluster.messages), registers.line.eq(self.lines.tvalid & self.lines.tready),
        ]
        return m
