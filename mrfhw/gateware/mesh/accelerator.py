"""The machine: a cluster of tiles behind its bus, and its log as lines (Figure 3.3); or several, each a machine of its own."""

from __future__ import annotations

from amaranth import Module
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.axi import AxiStream
from mrfhw.gateware.common.leaves import Leaves
from mrfhw.gateware.control.register_file import PLACEHOLDER, RegisterFile, Wishbone
from mrfhw.gateware.log.line_merger import LineMerger
from mrfhw.gateware.mesh.bus_fork import BusFork
from mrfhw.gateware.mesh.cluster import Cluster
from mrfhw.gateware.mesh.contexts import PULSES, ContextCluster
from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.config import Config

__all__ = ["CLUSTER", "Accelerator"]

CLUSTER = "mrfhw_cluster"  # the module of one of several clusters, with its registers
REGISTERS = "mrfhw_registers"  # and of a context's registers


class Accelerator(wiring.Component):
    """The generated chip.

    bus: Wishbone (pipelined), 32 bits, word addresses of `mrfhw.machine.address_map.AddressMap`; a word a cycle (`RegisterFile`).
    Writes and registers' reads take `Derived.bus_write_cycles`, reads from tiles `Derived.bus_read_cycles`. Tile memories answer
    with err while labels are being drawn.
    lines: the log, AXI4-Stream, `line_bits` wide; tlast on the last line of a run. A log that is not
    taken stalls the machine; nothing is lost.
    digest: see `RegisterFile`.
    Of several clusters each is such a machine with registers of its own, at the words from `AddressMap.cluster` on (`BusFork`),
    and their logs are one (`LineMerger`). Whoever drives one needs to know nothing of the others: what it draws, counts and sends
    is that of a machine alone, but for the cycles in which it waits for the log. Several contexts lie on the bus and in the log as
    clusters do; their runs follow one another (`ContextCluster`), and one waits until the tiles are free.
    """

    def __init__(self, config: Config, leaves: Leaves | None = None, digest: str = PLACEHOLDER):
        self.config, self.leaves, self.digest = config, leaves or Leaves(shared=False), digest
        super().__init__({"bus": In(Wishbone(AddressMap(config).bus_bits)), "lines": Out(AxiStream(config.line_bits))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        if self.config.seats == 1:
            self._alone(m)
        else:
            self._several(m)
        return m

    def _several(self, m: Module) -> None:
        """Clusters, of one module, so that the digest has its place once; or contexts of the same tiles."""
        c, one = self.config, self.config.cluster
        m.submodules.fork = fork = BusFork(c)
        m.submodules.merger = merger = LineMerger(c)
        wiring.connect(m, wiring.flipped(self.bus), fork.bus)
        wiring.connect(m, merger.lines, wiring.flipped(self.lines))
        if c.contexts > 1:
            self._contexts(m, fork, merger)
            return
        for k in range(c.clusters):
            cluster = self.leaves.add(m, CLUSTER, f"cluster_{k}", lambda: Accelerator(one, self.leaves, self.digest))
            wiring.connect(m, getattr(fork, f"cluster_{k}"), cluster.bus)
            wiring.connect(m, cluster.lines, getattr(merger, f"child_{k}"))
            m.d.comb += getattr(merger, f"turn_{k}").eq(getattr(fork, f"turn_{k}"))

    def _contexts(self, m: Module, fork: BusFork, merger: LineMerger) -> None:
        """Registers of each context, of one module as well, before the tiles that all have."""
        c = self.config
        m.submodules.cluster = cluster = ContextCluster(c, self.leaves)
        for k in range(c.contexts):
            registers = self.leaves.add(m, REGISTERS, f"registers_{k}", lambda: RegisterFile(c, self.digest))
            part = {name: getattr(cluster, f"{name}_{k}") for name in ("base", "bus", "lines", "messages", "parameters", "problem",
                                                                     "status", "tables", *PULSES)}
            wiring.connect(m, getattr(fork, f"cluster_{k}"), registers.bus)
            wiring.connect(m, part["lines"], getattr(merger, f"child_{k}"))
            m.d.comb += [
                getattr(merger, f"turn_{k}").eq(getattr(fork, f"turn_{k}")),
                *(part[name].eq(getattr(registers, name)) for name in ("parameters", "problem", "tables", *PULSES)),
                part["bus"].eq(registers.tile_bus), part["base"].eq(registers.tile_base_write),
                registers.tile_data.eq(cluster.bus_data), registers.status.eq(part["status"]),
                registers.messages.eq(part["messages"]), registers.line.eq(part["lines"].tvalid & part["lines"].tready),
            ]

    def _alone(self, m: Module) -> None:
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
