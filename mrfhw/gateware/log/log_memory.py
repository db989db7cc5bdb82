"""The log in memory, between the machine and its host."""

from __future__ import annotations

from amaranth import Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import Flow, In, Out

from mrfhw.gateware.common.axi import Axi4, AxiStream
from mrfhw.gateware.log.log_reader import LogReader
from mrfhw.gateware.log.log_ring import POSITION_BITS, Ring
from mrfhw.gateware.log.log_writer import LogWriter

__all__ = ["LogMemory"]

MAX_SIZE = 1 << POSITION_BITS - 1


class LogMemory(wiring.Component):
    """A queue of log lines, nearly all of it in memory: LogWriter and LogReader on one port.

    lines: as LogWriter's; while the ring is full they wait. out: the same lines in order; tlast is 0. The lines of a block (see
    Ring) come out when it is full or when a line with tlast is in it.
    behind: bytes of the lines that were taken and have not left `out`. It rises in the cycle after a line
    was taken and falls in the second cycle after it left. A reader that reads first the count of lines that came out, and `behind`
    in the next cycle, therefore misses no line. error: memory has answered other than OKAY since reset: the log since then may be
    wrong.
    base, size: of the ring in bytes, multiples of a block; size a block to 2^31; base + size at most 2^address_bits.
    """

    def __init__(self, line_bits: int, data_bits: int, address_bits: int, base: int, size: int, burst_beats: int = 16):
        self.ring = ring = Ring(line_bits, data_bits, address_bits, burst_beats)
        most, last = min(MAX_SIZE, 1 << address_bits), (1 << address_bits) - size
        if isinstance(size, bool) or not ring.burst_bytes <= size <= most or size % ring.burst_bytes:
            raise ValueError(f"size is {size!r}; a ring has {ring.burst_bytes} to {most} bytes, a multiple of a burst's "
                             f"{ring.burst_bytes}: give one of them")
        if isinstance(base, bool) or not 0 <= base <= last or base % ring.burst_bytes:
            raise ValueError(f"base is {base!r}; a ring of {size} bytes begins at 0 to {last}, at a multiple of a burst's "
                             f"{ring.burst_bytes} bytes: give one of them")
        self.base, self.size = base, size
        super().__init__({
            "lines": In(AxiStream(line_bits)), "out": Out(AxiStream(line_bits)), "memory": Out(Axi4(address_bits, data_bits)),
            "behind": Out(POSITION_BITS), "error": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        ring = self.ring
        shape = ring.line_bits, ring.data_bits, ring.address_bits, ring.burst_beats
        m.submodules.writer = writer = LogWriter(*shape)
        m.submodules.reader = reader = LogReader(*shape)
        wiring.connect(m, wiring.flipped(self.lines), writer.lines)
        wiring.connect(m, reader.lines, wiring.flipped(self.out))
        m.d.comb += [
            writer.base.eq(self.base), writer.size.eq(self.size), reader.base.eq(self.base), reader.size.eq(self.size),
            reader.written.eq(writer.written), writer.freed.eq(reader.received), self.error.eq(writer.error | reader.error),
        ]
        for name, member in self.memory.signature.members.items():
            part_of = reader if name.startswith(("ar", "r")) else writer
            port, part = getattr(self.memory, name), getattr(part_of.memory, name)
            m.d.comb += port.eq(part) if member.flow is Flow.Out else part.eq(port)

        # More than the ring holds: a line and a buffer in the writer, and the same in the reader.
        inside = self.size + 2 * (ring.line_bytes + (2 * ring.burst_beats + 1) * ring.beat_bytes)
        units = Signal(range((inside >> ring.unit_bits) + 1))
        come = Signal()
        left = Signal()
        m.d.comb += [come.eq(self.lines.tvalid & self.lines.tready), self.behind.eq(ring.units(units))]
        m.d.sync += left.eq(self.out.tvalid & self.out.tready)
        with m.If(come & ~left):
            m.d.sync += units.eq(units + ring.line_units)
        with m.Elif(left & ~come):
            m.d.sync += units.eq(units - ring.line_units)
        return m
