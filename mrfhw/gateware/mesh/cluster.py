"""Tiles in lockstep with all that they need for a run. A machine for several fields at once would have one cluster for each."""

from __future__ import annotations

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.leaves import Leaves
from mrfhw.gateware.control.ops import LogStream, bus_layout, downlink, parameters
from mrfhw.gateware.control.run import RunStatus, TableWrites, problem_registers
from mrfhw.gateware.control.scheduler import Scheduler
from mrfhw.gateware.mesh.mesh import Mesh
from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.config import Config

__all__ = ["Cluster"]


class Cluster(wiring.Component):
    """A scheduler and the mesh that it drives.

    start, resume: pulses, while not `status.busy`. stop: a pulse, end the run after the sweep under way.
    problem, parameters: registers, constant during a run; `parameters.temperature` is not used.
    tables: writes of the label table and of the temperature table, between runs.
    bus, bus_data: accesses to the tiles, between runs; read data `Latency.tile_access` cycles later.
    log: messages of all tiles; the end marker (count 0) of a run is its last one.
    status: see RunStatus; busy until the end marker has been taken. done: a pulse in the cycle in which it is taken.
    """

    def __init__(self, config: Config, leaves: Leaves | None = None):
        self.config, self.leaves = config, leaves or Leaves(shared=False)
        super().__init__({
            "start": In(1), "resume": In(1), "stop": In(1), "problem": In(problem_registers(config)),
            "parameters": In(parameters(config)), "tables": In(TableWrites()), "bus": In(bus_layout(config)), "bus_data": Out(32),
            "log": Out(LogStream(config, AddressMap(config).tile_bits)), "status": Out(RunStatus()), "done": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.scheduler = scheduler = Scheduler(self.config)
        m.submodules.mesh = mesh = Mesh(self.config, self.leaves)
        down = Signal(downlink(self.config))
        log = mesh.log
        m.d.comb += [
            down.eq(scheduler.down), down.parameters.eq(self.parameters),
            down.parameters.temperature.eq(scheduler.down.parameters.temperature), down.bus.eq(self.bus),
            mesh.down.eq(down), self.bus_data.eq(mesh.up.data), scheduler.stall.eq(mesh.up.stall),
            scheduler.start.eq(self.start), scheduler.resume.eq(self.resume), scheduler.stop.eq(self.stop),
            scheduler.registers.eq(self.problem), scheduler.tables.eq(self.tables), self.status.eq(scheduler.status),
            self.done.eq(log.valid & log.ready & (log.payload.count == 0)), scheduler.log_done.eq(self.done),
        ]
        wiring.connect(m, log, wiring.flipped(self.log))
        return m
