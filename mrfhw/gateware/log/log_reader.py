"""From a ring in memory to log lines: AXI4 read bursts."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.axi import BURST_INCR, OKAY, Axi4, AxiStream
from mrfhw.gateware.log.log_ring import POSITION_BITS, Place, Ring

__all__ = ["LogReader"]


class LogReader(wiring.Component):
    """Reads the lines of a ring in memory in order, each once, as LogWriter put them there.

    memory: the write channels are idle. A burst ends at the end of its block (see Ring) or at `written`; it is requested
    only when the buffer has room for its beats, so rready is always 1. base, size: as LogWriter's.
    written: position up to which memory has the log; nothing beyond it is read. A multiple of a beat's bytes; it never decreases.
    received: position up to which beats have come from memory; the ring may be overwritten up to there. taken: bytes of the lines
    that left. lines: whole lines; tlast is 0, because memory does not hold the ends of runs. error: memory has answered other than
    OKAY since reset; lines continue, with the bits that memory gave.
    Rate: one beat per cycle if memory's first beat comes within burst_beats - 3 cycles of its address; two blocks are then in
    flight. The memory's port must be reset together with this component.
    """

    def __init__(self, line_bits: int, data_bits: int, address_bits: int, burst_beats: int = 16):
        self.ring = Ring(line_bits, data_bits, address_bits, burst_beats)
        super().__init__({
            "lines": Out(AxiStream(line_bits)), "memory": Out(Axi4(address_bits, data_bits)), "base": In(address_bits),
            "size": In(POSITION_BITS), "written": In(POSITION_BITS), "received": Out(POSITION_BITS), "taken": Out(POSITION_BITS),
            "error": Out(1),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        ring, bus = self.ring, self.memory
        m.submodules.beats = beats = ring.buffer()
        leaves = Signal()  # a beat, from the buffer
        self._ask(m, leaves)

        received_beats = Signal(POSITION_BITS - ring.beat_bits)
        m.d.comb += [bus.rready.eq(1), beats.w_data.eq(bus.rdata), beats.w_en.eq(bus.rvalid),
                     self.received.eq(ring.bytes_of(received_beats))]
        with m.If(bus.rvalid):
            m.d.sync += received_beats.eq(received_beats + 1)
            with m.If(bus.rresp != OKAY):
                m.d.sync += self.error.eq(1)
        self._lines(m, beats, leaves)
        return m

    def _ask(self, m: Module, leaves: Signal) -> None:
        """Request bursts of beats that are written and for which the buffer has room."""
        ring, bus = self.ring, self.memory
        place = Place(ring, self.base, self.size)
        reserved = Signal(range(2 * ring.burst_beats + 1))  # beats that were requested and have not left the buffer
        written = self.written[ring.beat_bits:]
        end, block = written[:ring.index_bits], written[ring.index_bits:]
        whole = Signal()
        m.d.comb += [bus.araddr.eq(place.address), bus.arsize.eq(ring.beat_bits), bus.arburst.eq(BURST_INCR),
                     whole.eq(place.block != block)]
        accepted = bus.arvalid & bus.arready
        with m.If(accepted):
            place.advance(m, bus.arlen + 1)
            m.d.sync += bus.arvalid.eq(0)
        with m.Elif(~bus.arvalid):
            last = Mux(whole, ring.burst_beats - 1, end - 1) - place.beat
            m.d.sync += [bus.arlen.eq(last[:ring.index_bits]),
                         bus.arvalid.eq((whole | (place.beat != end)) & (reserved <= ring.burst_beats))]
        m.d.sync += reserved.eq(reserved + Mux(accepted, bus.arlen + 1, 0) - leaves)

    def _lines(self, m: Module, beats: Any, leaves: Signal) -> None:
        """Beats into lines, the first in the lowest bits."""
        ring, out = self.ring, self.lines
        line = Signal(ring.line_bits, reset_less=True)
        count = Signal(range(ring.line_beats + 1))
        taken_units = Signal(POSITION_BITS - ring.unit_bits)
        m.d.comb += [
            out.tvalid.eq(count == ring.line_beats), out.tdata.eq(line), leaves.eq(beats.r_rdy & (~out.tvalid | out.tready)),
            beats.r_en.eq(leaves), self.taken.eq(ring.units(taken_units)),
        ]
        with m.If(out.tvalid & out.tready):
            m.d.sync += [count.eq(0), taken_units.eq(taken_units + ring.line_units)]
        with m.If(leaves):
            m.d.sync += [line.eq(Cat(line, beats.r_data)[ring.data_bits:]), count.eq(Mux(out.tvalid, 1, count + 1))]
