"""LogBuffer: each unit of a line is kept in its place until it is freed, and none is overwritten or skipped."""

from __future__ import annotations

from functools import partial

from amaranth import Array, Module, Mux, Signal
from amaranth.hdl import Assert, Assume

from mrfhw.gateware.link.bridge import LogBuffer
from sim.proofs.engine import Proof, opened

__all__ = ["log_buffer_proof"]


def log_buffer_proof(line_bits: int, size: int, unit: int) -> Proof:
    """Of one size. The bridge frees only what has come, and no more than that."""
    return Proof(f"ring of {size} bytes of log, lines of {line_bits} bits, {unit} bytes at a time",
                 "each unit of each line can be read at its position until it is freed; none is skipped or overwritten",
                 partial(_log_buffer, line_bits, size, unit))


def _log_buffer(line_bits: int, size: int, unit: int) -> tuple[Module, list[Signal]]:
    m, ring = Module(), LogBuffer(line_bits, size, unit)
    m.submodules.buffer = opened(ring)
    lines, low, width = ring.lines, unit.bit_length() - 1, 8 * unit
    units = line_bits // width
    held, freed_before, after = Signal(32, name="held"), Signal(32, name="freed_before"), Signal(name="after_first")
    m.d.comb += held.eq(ring.reached - ring.freed)
    m.d.sync += [freed_before.eq(ring.freed), after.eq(1)]
    # What is freed had come, and a position is freed once; it begins at 0, as the ring does.
    m.d.comb += [Assume((ring.freed & unit - 1) == 0),
                 Assume((ring.freed - freed_before)[:32] <= (ring.reached - freed_before)[:32]),
                 Assume(after | (ring.freed == 0)), Assume((ring.position & unit - 1) == 0),
                 Assert(held <= size, "no more is held than the ring has"), Assert((ring.reached & unit - 1) == 0, "whole units"),
                 Assert(ring.number < units, "of the line's units")]
    _held_line(m, ring, after)

    # One unit of a line, any one, from when it is stored until it is freed.
    chosen, waits = Signal(name="chosen"), Signal(name="waits")
    place, word, take = Signal(32, name="place"), Signal(width, name="word"), Signal(name="taken")
    m.d.comb += take.eq(lines.tvalid & (held != size))
    number, of_line = ring.number, Signal(range(units), name="of_line")
    with m.If(take):
        m.d.sync += of_line.eq(Mux(lines.tready, 0, of_line + 1))
    m.d.comb += Assert(number == of_line, "a line's units come one after the other")
    inside, asked = Signal(name="inside"), Signal(name="asked")
    with m.If(waits & ~inside):
        m.d.sync += waits.eq(0)
    with m.Elif(~waits & take & chosen):
        m.d.sync += [waits.eq(1), place.eq(ring.reached),
                     word.eq(Array([lines.tdata[width * i:width * (i + 1)] for i in range(units)])[number])]
    port = ring.ring.read_port(domain="comb")
    m.d.comb += [inside.eq(waits & ((place - ring.freed)[:32] < held)), port.addr.eq(place >> low),
                 Assert((place & unit - 1) == 0, "it is a unit's position"),
                 Assert(lines.tready == (take & (number == units - 1)), "a line is taken with its last unit")]
    before = Signal(32, name="reached_before")
    stored = Signal(name="stored_before")
    m.d.sync += [before.eq(ring.reached), stored.eq(take)]
    with m.If(after):
        m.d.comb += Assert(ring.reached == (before + unit * stored)[:32], "each unit is counted once")
    with m.If(inside):
        m.d.comb += Assert(port.data == word, "what has come and is not freed is in its place")
    m.d.sync += asked.eq(inside & (ring.position == place))
    with m.If(asked):
        m.d.comb += Assert(ring.data == word, "and is read a cycle after its position")
    return m, [lines.tvalid, lines.tdata, ring.freed, ring.position, chosen]


def _held_line(m: Module, ring: LogBuffer, after: Signal) -> None:
    """A line stays until it is taken."""
    waited, line = Signal(name="line_waited"), Signal(ring.line_bits, name="line_before")
    m.d.sync += [waited.eq(ring.lines.tvalid & ~ring.lines.tready), line.eq(ring.lines.tdata)]
    with m.If(waited & after):
        m.d.comb += Assume(ring.lines.tvalid & (ring.lines.tdata == line))
