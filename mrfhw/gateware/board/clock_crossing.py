"""The machine's clock and the link's, apart: its bus and its log from one to the other."""

from __future__ import annotations

from amaranth import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.cdc import FFSynchronizer
from amaranth.lib.fifo import AsyncFIFO
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.axi import AxiStream
from mrfhw.gateware.control.register_file import Wishbone

__all__ = ["MACHINE", "ClockCrossing"]

MACHINE = "machine"  # the machine's domain, where it is not the link's
LINES = 4  # of log on their way


class ClockCrossing(wiring.Component):
    """Between the domain "sync" of the link and the domain `MACHINE`, whose clocks have nothing to do with each other.

    bus: the link's. An access takes the machine's own cycles, and three to four cycles of each clock for the way there and as many
    back. lines: the log at the link's clock; as many a second as the slower clock has cycles, but for the first. behind: bytes of
    lines that were taken from the machine and are still in here; a line is in it before an access that saw the line counted
    is answered.
    machine_bus, machine_lines: the machine's, in its domain.
    """

    def __init__(self, address_bits: int, line_bits: int):
        self.line_bytes = line_bits // 8
        super().__init__({
            "bus": In(Wishbone(address_bits)), "lines": Out(AxiStream(line_bits)),
            "behind": Out(range(LINES * self.line_bytes + 1)),
            "machine_bus": Out(Wishbone(address_bits)), "machine_lines": In(AxiStream(line_bits)),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._cross_bus(m)
        m.submodules.queue = queue = AsyncFIFO(width=len(self.lines.tdata) + 1, depth=LINES, r_domain="sync", w_domain=MACHINE)
        m.d.comb += [
            queue.w_data.eq(Cat(self.machine_lines.tdata, self.machine_lines.tlast)), queue.w_en.eq(self.machine_lines.tvalid),
            self.machine_lines.tready.eq(queue.w_rdy),
            Cat(self.lines.tdata, self.lines.tlast).eq(queue.r_data), self.lines.tvalid.eq(queue.r_rdy),
            queue.r_en.eq(self.lines.tready), self.behind.eq(queue.r_level * self.line_bytes),
        ]
        return m

    def _cross_bus(self, m: Module) -> None:
        """A request is held until its answer is back; a change of `asked` and `answered` says that there is one."""
        bus, machine = self.bus, self.machine_bus
        asked, asked_there, answered, answered_here = (
            Signal(name=name) for name in ("asked", "asked_there", "answered", "answered_here"))
        m.submodules.request_synchronizer = FFSynchronizer(asked, asked_there, o_domain=MACHINE)
        m.submodules.answer_synchronizer = FFSynchronizer(answered, answered_here)
        under_way = Signal()
        word = Signal(32)
        failed = Signal()
        m.d.sync += [bus.ack.eq(0), bus.err.eq(0)]
        with m.If(under_way), m.If(answered_here == asked):
            m.d.sync += [under_way.eq(0), bus.ack.eq(~failed), bus.err.eq(failed), bus.dat_r.eq(word)]
        with m.Elif(bus.cyc & bus.stb & ~bus.ack & ~bus.err):
            m.d.sync += [under_way.eq(1), asked.eq(~asked), machine.we.eq(bus.we), machine.adr.eq(bus.adr),
                         machine.dat_w.eq(bus.dat_w)]
        waiting = Signal()
        m.d.comb += [machine.cyc.eq(waiting), machine.stb.eq(waiting)]
        with m.If(waiting), m.If(machine.ack | machine.err):
            m.d[MACHINE] += [waiting.eq(0), word.eq(machine.dat_r), failed.eq(machine.err), answered.eq(asked_there)]
        with m.Elif(asked_there != answered):
            m.d[MACHINE] += waiting.eq(1)
