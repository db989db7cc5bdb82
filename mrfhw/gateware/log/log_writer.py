"""From log lines to a ring in memory: AXI4 write bursts."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.axi import BURST_INCR, OKAY, Axi4, AxiStream
from mrfhw.gateware.log.log_ring import POSITION_BITS, Place, Ring

__all__ = ["OUTSTANDING", "LogWriter"]

OUTSTANDING = 7  # bursts that memory has not acknowledged


class LogWriter(wiring.Component):
    """Writes lines, lowest bits at the lowest address, at the log index into a ring in memory.

    lines: a line is taken when the line before it is in the burst's buffer. memory: the read channels are idle. A burst
    is requested when all its beats are in the buffer: at the end of a block (see Ring) and at a line with tlast, so that the end of
    a run always reaches memory; otherwise lines wait until the block is full. At most 7 bursts are unacknowledged. A burst that
    begins within a block, behind a short burst, waits until all earlier bursts are acknowledged.
    base, size: bytes, both multiples of a block; size 0 to 2^32 - 1, base + size at most 2^address_bits; constant after reset.
    freed: position up to which the ring may be overwritten; at most `written`; it never decreases. A block is written again when
    all of it is freed. While no block is free, lines wait; this component then holds up to two blocks and a line.
    written: position up to which memory has acknowledged. error: memory has answered other than OKAY since reset; `written` still
    advances.
    Rate: one beat a cycle with burst_beats of 4 or more, where memory takes addresses and beats at once and acknowledges a burst
    within 4 * burst_beats cycles of its last beat; two beats in three cycles with 2, one in three with 1. A burst that a line
    ends is requested line_beats + 1 cycles after the line was taken. The memory's port must be reset together with this component.
    """

    def __init__(self, line_bits: int, data_bits: int, address_bits: int, burst_beats: int = 16):
        self.ring = Ring(line_bits, data_bits, address_bits, burst_beats)
        super().__init__({
            "lines": In(AxiStream(line_bits)), "memory": Out(Axi4(address_bits, data_bits)), "base": In(address_bits),
            "size": In(POSITION_BITS), "freed": In(POSITION_BITS), "written": Out(POSITION_BITS), "error": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        ring, bus = self.ring, self.memory
        m.submodules.beats = beats = ring.buffer(extra_bits=1)
        self.place = Place(ring, self.base, self.size)
        self.outstanding = Signal(range(OUTSTANDING + 1))
        asked = Signal()  # a burst is requested
        self._fill(m, beats, asked)

        # Data may come before its address is taken: a memory may wait for both.
        due = Signal(range(OUTSTANDING + 1))
        sent = Signal()
        m.d.comb += [
            bus.awaddr.eq(self.place.address), bus.awsize.eq(ring.beat_bits), bus.awburst.eq(BURST_INCR),
            Cat(bus.wdata, bus.wlast).eq(beats.r_data), bus.wstrb.eq(-1), bus.wvalid.eq(beats.r_rdy & (due != 0)),
            beats.r_en.eq(bus.wready & (due != 0)), sent.eq(bus.wvalid & bus.wready & bus.wlast), bus.bready.eq(1),
        ]
        with m.If(asked & ~sent):
            m.d.sync += due.eq(due + 1)
        with m.Elif(sent & ~asked):
            m.d.sync += due.eq(due - 1)
        self._acknowledge(m)
        return m

    def _fill(self, m: Module, beats: Any, asked: Signal) -> None:
        """Lines into beats, the last beat of a burst with its address."""
        ring, bus, place = self.ring, self.memory, self.place
        line = Signal(ring.line_bits, reset_less=True)
        ends_run = Signal(reset_less=True)
        left = Signal(range(ring.line_beats + 1))  # beats of the line
        fill = Signal(ring.index_bits)  # the next beat's place in its block
        room = Signal()
        enter = Signal()
        ends = Signal()
        whole = fill == ring.burst_beats - 1
        m.d.comb += [
            ends.eq(whole | ((left == 1) & ends_run)), asked.eq(enter & ends),
            enter.eq((left != 0) & beats.w_rdy & (~ends | (
                room & ~bus.awvalid & (self.outstanding != OUTSTANDING) & ((place.beat == 0) | (self.outstanding == 0))))),
            beats.w_data.eq(Cat(line[:ring.data_bits], ends)), beats.w_en.eq(enter),
            self.lines.tready.eq((left == 0) | ((left == 1) & enter)),
        ]
        with m.If(enter):
            m.d.sync += [line.eq(line[ring.data_bits:]), left.eq(left - 1), fill.eq(fill + 1)]
        with m.If(self.lines.tvalid & self.lines.tready):
            m.d.sync += [line.eq(self.lines.tdata), ends_run.eq(self.lines.tlast), left.eq(ring.line_beats)]

        accepted = bus.awvalid & bus.awready
        m.d.sync += room.eq((place.block - self.freed[ring.burst_bits:])[:len(place.block)] != place.blocks)
        with m.If(asked):
            m.d.sync += [bus.awvalid.eq(1), bus.awlen.eq((fill - place.beat)[:ring.index_bits])]
        with m.If(accepted):
            place.advance(m, bus.awlen + 1)
            m.d.sync += [bus.awvalid.eq(0), room.eq(0)]  # `room` was computed for the previous block

    def _acknowledge(self, m: Module) -> None:
        """Acknowledged bursts advance `written`. Every burst ends with its block, except where the end of a run made it short."""
        ring, bus, place = self.ring, self.memory, self.place
        written_block = Signal(len(place.block))
        written_beat = Signal(ring.index_bits)
        newest = Signal()
        m.d.comb += [newest.eq(self.outstanding == 1), self.written.eq(ring.bytes_of(Cat(written_beat, written_block)))]
        with m.If(bus.bvalid):
            m.d.sync += [written_block.eq(written_block + (~newest | (place.beat == 0))),
                         written_beat.eq(Mux(newest, place.beat, 0))]
            with m.If(bus.bresp != OKAY):
                m.d.sync += self.error.eq(1)
        accepted = bus.awvalid & bus.awready
        with m.If(accepted & ~bus.bvalid):
            m.d.sync += self.outstanding.eq(self.outstanding + 1)
        with m.Elif(bus.bvalid & ~accepted):
            m.d.sync += self.outstanding.eq(self.outstanding - 1)
