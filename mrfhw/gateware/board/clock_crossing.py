"""The machine's clock and the link's, apart: its bus and its log from one to the other."""

from __future__ import annotations

from amaranth import Cat, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.fifo import AsyncFIFO
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.axi import AxiStream
from mrfhw.gateware.control.register_file import Wishbone

__all__ = ["ACCESSES", "MACHINE", "ClockCrossing"]

MACHINE = "machine"  # the machine's domain, where it is not the link's
LINES = 4  # of log on their way
ACCESSES = 16  # of the bus, asked and not answered


class ClockCrossing(wiring.Component):
    """Between the domain "sync" of the link and the domain `MACHINE`, whose clocks have nothing to do with each other.

    bus: the link's. Up to ACCESSES are under way; one takes the machine's own cycles, three to five of each clock for the way there
    and as many back. lines: the log at the link's clock; as many a second as the slower clock has cycles, but for the first.
    behind: bytes of lines that were taken from the machine and are still in here; a line is in it before an access that saw the
    line counted is answered.
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
        """A queue each way. At most as many accesses are under way as the answers' queue holds, since the machine does not wait."""
        bus, machine = self.bus, self.machine_bus
        asked = Cat(bus.we, bus.adr, bus.dat_w)
        m.submodules.requests = requests = AsyncFIFO(width=len(asked), depth=ACCESSES, r_domain=MACHINE, w_domain="sync")
        m.submodules.answers = answers = AsyncFIFO(width=33, depth=ACCESSES, r_domain="sync", w_domain=MACHINE)
        under_way, there, taken = Signal(range(ACCESSES + 1)), Signal(range(ACCESSES + 1)), Signal()
        m.d.comb += [
            bus.stall.eq(~requests.w_rdy | (under_way == ACCESSES)), taken.eq(bus.cyc & bus.stb & ~bus.stall),
            requests.w_en.eq(taken), requests.w_data.eq(asked), answers.r_en.eq(1),
            Cat(machine.we, machine.adr, machine.dat_w).eq(requests.r_data), machine.stb.eq(requests.r_rdy),
            requests.r_en.eq(~machine.stall), machine.cyc.eq(machine.stb | there.any()),
            answers.w_en.eq(machine.ack | machine.err), answers.w_data.eq(Cat(machine.dat_r, machine.err)),
        ]
        m.d.sync += [
            bus.dat_r.eq(answers.r_data[:32]), bus.ack.eq(answers.r_rdy & ~answers.r_data[32]),
            bus.err.eq(answers.r_rdy & answers.r_data[32]), under_way.eq(under_way + taken - answers.r_rdy),
        ]
        m.d[MACHINE] += there.eq(there + (machine.stb & ~machine.stall) - answers.w_en)
