"""Tiles that hold several problems and run one at a time."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.axi import AxiStream
from mrfhw.gateware.common.contexts import chosen
from mrfhw.gateware.common.leaves import Leaves
from mrfhw.gateware.common.pipeline import delayed
from mrfhw.gateware.control.ops import bus_layout, downlink, parameters
from mrfhw.gateware.control.run import RunStatus, TableWrites, problem_registers
from mrfhw.gateware.control.scheduler import Scheduler
from mrfhw.gateware.mesh.mesh import Mesh
from mrfhw.machine.bits import bits_for
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived

__all__ = ["PULSES", "ContextCluster", "ContextTurns"]

PULSES = ("start", "resume", "stop")


class ContextTurns(wiring.Component):
    """Whose run is next: a context's that has been told to run and waits, the one behind the last first.

    start_<k>, resume_<k>, stop_<k>: pulses, as a Cluster takes them. waiting_<k>: from the cycle after a start or resume until its
    scheduler runs; fresh_<k>: it will begin at sweep 0. idle: no run is under way.
    to_start_<k>, to_resume_<k>, to_stop_<k>: pulses to the schedulers; a stop that comes while its run waits follows the start.
    context: of the run under way, or of the last one; it changes with the pulse that begins a run.
    A run begins a cycle after `idle`, or two after its pulse.
    """

    def __init__(self, contexts: int):
        self.contexts = contexts
        # A run's start or resume that waits, and its stop; the cycle after it began.
        self.asked = [Signal(2, name=f"asked_{k}") for k in range(contexts)]
        self.stopped, self.begun = ([Signal(name=f"{name}_{k}") for k in range(contexts)] for name in ("stopped", "begun"))
        super().__init__({
            **{f"{name}_{k}": In(1) for k in range(contexts) for name in PULSES}, "idle": In(1),
            **{f"to_{name}_{k}": Out(1) for k in range(contexts) for name in PULSES},
            **{f"{name}_{k}": Out(1) for k in range(contexts) for name in ("waiting", "fresh")}, "context": Out(bits_for(contexts)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n = self.contexts
        begins = [Signal(2, name=f"begins_{k}") for k in range(n)]  # by a start, by resuming
        following = Signal(bits_for(n))
        waits = Signal(n)
        free = Signal()
        m.d.comb += [waits.eq(Cat(asked.any() for asked in self.asked)), following.eq(self.context),
                     free.eq(self.idle & ~Cat(begins).any())]
        with m.Switch(self.context):
            for last in range(n):
                with m.Case(last):
                    for step in range(n, 0, -1):
                        with m.If(waits[(last + step) % n]):
                            m.d.comb += following.eq((last + step) % n)
        for k, (asked, now) in enumerate(zip(self.asked, begins, strict=True)):
            mine, stop, waiting = Signal(name=f"given_{k}"), getattr(self, f"stop_{k}"), getattr(self, f"waiting_{k}")
            m.d.comb += [mine.eq(free & waits[k] & (following == k)), waiting.eq(waits[k] | now.any()),
                         getattr(self, f"fresh_{k}").eq(asked[0] | now[0]),
                         Cat(getattr(self, f"to_{name}_{k}") for name in PULSES[:2]).eq(now)]
            m.d.sync += [now.eq(Mux(mine, asked, 0)),
                         asked.eq(Mux(mine, 0, asked) | Cat(getattr(self, f"{name}_{k}") for name in PULSES[:2]))]
            with m.If(mine):
                m.d.sync += self.context.eq(k)
            # A scheduler forgets a stop that comes with or before its start.
            stopped, begun = self.stopped[k], self.begun[k]
            m.d.sync += begun.eq(now.any())
            m.d.comb += getattr(self, f"to_stop_{k}").eq(begun & stopped | stop & ~waiting)
            with m.If(begun):
                m.d.sync += stopped.eq(0)
            with m.If(stop & waiting):
                m.d.sync += stopped.eq(1)
        return m


class ContextCluster(wiring.Component):
    """A mesh with a scheduler for each of its contexts, whose runs follow one another.

    As of a Cluster, of each context k: start_<k>, resume_<k>, stop_<k>, problem_<k>, parameters_<k>, tables_<k>, bus_<k>,
    lines_<k>, status_<k>, messages_<k>; base_<k> is the `tile_base_write` of a register file, with address and data of its tables.
    bus_data: of all. The bus may access a context's words while another runs; there is one access in a cycle.

    ::

        registers -> ContextTurns -> schedulers -> the one whose turn it is -> Mesh -> its lines
    """

    def __init__(self, config: Config, leaves: Leaves | None = None):
        config = Derived.of(config)
        self.config, self.leaves = config, leaves or Leaves(shared=False)
        ports: dict[str, Any] = {"bus_data": Out(32)}
        for k in range(config.contexts):
            ports |= {f"{name}_{k}": port for name, port in {
                "start": In(1), "resume": In(1), "stop": In(1), "problem": In(problem_registers(config)),
                "parameters": In(parameters(config)), "tables": In(TableWrites()), "bus": In(bus_layout(config)), "base": In(1),
                "lines": Out(AxiStream(config.line_bits)), "messages": Out(range(config.packers + 1)),
                "status": Out(RunStatus(config.contexts))}.items()}
        super().__init__(ports)

    def _each(self, name: str) -> list[Any]:
        return [getattr(self, f"{name}_{k}") for k in range(self.config.contexts)]

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c = self.config
        m.submodules.turns = turns = ContextTurns(c.contexts)
        m.submodules.mesh = mesh = Mesh(c, self.leaves)
        schedulers = [Scheduler(c) for _ in range(c.contexts)]
        for k, scheduler in enumerate(schedulers):
            m.submodules[f"scheduler_{k}"] = scheduler
            self._context(m, k, scheduler, turns, mesh)
        down = Signal(downlink(c))
        m.d.comb += [
            down.eq(chosen([one.down for one in schedulers], turns.context)),
            down.parameters.eq(chosen(self._each("parameters"), turns.context)),
            down.parameters.temperature.eq(chosen([one.down.parameters.temperature for one in schedulers], turns.context)),
            down.parameters.context.eq(turns.context), mesh.down.eq(down), self.bus_data.eq(mesh.up.data),
            turns.idle.eq(~Cat(one.status.busy for one in schedulers).any()), mesh.context.eq(turns.context),
            mesh.lines.tready.eq(chosen([lines.tready for lines in self._each("lines")], turns.context)),
        ]
        # One access at a time, of any context.
        for k, (bus, base, tables) in enumerate(zip(self._each("bus"), self._each("base"), self._each("tables"), strict=True)):
            with m.If(bus.strobe):
                m.d.comb += [down.bus.eq(bus), down.bus.context.eq(k)]
            with m.If(base):
                m.d.comb += [mesh.base_write.eq(1), mesh.bus_context.eq(k), mesh.base_address.eq(tables.address),
                             mesh.base_data.eq(tables.data)]
        return m

    def _context(self, m: Module, k: int, scheduler: Scheduler, turns: ContextTurns, mesh: Mesh) -> None:
        """Connect a context's scheduler, registers and log."""
        lines, status = getattr(self, f"lines_{k}"), getattr(self, f"status_{k}")
        runs, waits = Signal(name=f"runs_{k}"), getattr(turns, f"waiting_{k}")
        m.d.comb += [
            *(getattr(turns, f"{name}_{k}").eq(getattr(self, f"{name}_{k}")) for name in PULSES),
            *(getattr(scheduler, name).eq(getattr(turns, f"to_{name}_{k}")) for name in PULSES),
            scheduler.registers.eq(getattr(self, f"problem_{k}")), scheduler.stall.eq(mesh.up.stall),
            scheduler.tables.eq(delayed(m, getattr(self, f"tables_{k}"), self.config.latency.tables, f"tables_{k}", own=True)),
            scheduler.log_done.eq(lines.tvalid & lines.tready & lines.tlast), runs.eq(turns.context == k),
            lines.tvalid.eq(mesh.lines.tvalid & runs), lines.tdata.eq(mesh.lines.tdata), lines.tlast.eq(mesh.lines.tlast),
            getattr(self, f"messages_{k}").eq(Mux(runs, mesh.messages, 0)), status.waiting.eq(waits),
            *(status[name].eq(scheduler.status[name]) for name in RunStatus().members),
            status.sweep.eq(Mux(getattr(turns, f"fresh_{k}"), 0, scheduler.status.sweep)),
            status.running.eq(scheduler.status.running | waits), status.busy.eq(scheduler.status.busy | waits),
        ]
