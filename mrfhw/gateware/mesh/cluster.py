"""Tiles in lockstep with all that they need for a run. A machine for several fields at once has one cluster for each."""

from __future__ import annotations

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.axi import AxiStream
from mrfhw.gateware.common.leaves import Leaves
from mrfhw.gateware.common.pipeline import delayed
from mrfhw.gateware.control.ops import bus_layout, downlink, parameters
from mrfhw.gateware.control.run import RunStatus, TableWrites, problem_registers
from mrfhw.gateware.control.scheduler import Scheduler
from mrfhw.gateware.mesh.mesh import Mesh
from mrfhw.machine.bits import bits_for
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived

__all__ = ["Cluster"]


class Cluster(wiring.Component):
    """A scheduler and the mesh that it drives.

    start, resume: pulses, while not `status.busy`. stop: a pulse, end the run after the sweep under way.
    problem, parameters: registers, constant during a run; `parameters.temperature` is not used.
    tables: writes of the label table and of the temperature table, between runs.
    bus, bus_data: accesses to the tiles, between runs; read data `Latency.tile_access` cycles later.
    lines: the log of all tiles, tlast on the last line of a run. base_*, messages: see Mesh.
    status: see RunStatus; busy until the last line has been taken. What counts its pulses, messages and lines is in the register
    file, where the counts are read.
    """

    def __init__(self, config: Config, leaves: Leaves | None = None):
        config = Derived.of(config)
        self.config, self.leaves = config, leaves or Leaves(shared=False)
        super().__init__({
            "start": In(1), "resume": In(1), "stop": In(1), "problem": In(problem_registers(config)),
            "parameters": In(parameters(config)), "tables": In(TableWrites()), "bus": In(bus_layout(config)), "bus_data": Out(32),
            "lines": Out(AxiStream(config.line_bits)), "base_write": In(1), "base_address": In(bits_for(config.spes)),
            "base_data": In(config.raster_bits), "messages": Out(range(config.packers + 1)), "status": Out(RunStatus()),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.scheduler = scheduler = Scheduler(self.config)
        m.submodules.mesh = mesh = Mesh(self.config, self.leaves)
        down = Signal(downlink(self.config))
        tables = delayed(m, self.tables, self.config.latency.tables, "tables", own=True)
        lines = self.lines
        m.d.comb += [
            down.eq(scheduler.down), down.parameters.eq(self.parameters),
            down.parameters.temperature.eq(scheduler.down.parameters.temperature), down.bus.eq(self.bus),
            mesh.down.eq(down), self.bus_data.eq(mesh.up.data), scheduler.stall.eq(mesh.up.stall),
            scheduler.start.eq(self.start), scheduler.resume.eq(self.resume), scheduler.stop.eq(self.stop),
            scheduler.registers.eq(self.problem), scheduler.tables.eq(tables), self.status.eq(scheduler.status),
            scheduler.log_done.eq(lines.tvalid & lines.tready & lines.tlast), self.messages.eq(mesh.messages),
            mesh.base_write.eq(self.base_write), mesh.base_address.eq(self.base_address), mesh.base_data.eq(self.base_data),
        ]
        wiring.connect(m, mesh.lines, wiring.flipped(lines))
        return m
