"""The end of the log: global addresses, lines and the log index (Section 3.3.4)."""

from __future__ import annotations

from amaranth import Cat, Const, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.axi import AxiStream
from mrfhw.gateware.common.contexts import context_ports
from mrfhw.gateware.common.memories import UnguardedMemory
from mrfhw.gateware.control.ops import LogStream
from mrfhw.machine.bits import bits_for
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.words import log_message

__all__ = ["LinePacker"]


class LinePacker(wiring.Component):
    """Packs messages of `Derived.packer_tiles` tiles into lines (`mrfhw.machine.words.log_message`).

    The address is the tile's base plus the message's offset: the site's raster index in the image.
    table_*: the bases, one write a cycle; of each context, with several. An end marker sends what is left, zero-padded, as the last
    line of the run (all zero if nothing is left).
    messages, lines: pulses. One message a cycle; two cycles from a line's last message to tvalid.
    """

    def __init__(self, config: Config):
        config = Derived.of(config)
        self.config = config
        super().__init__({
            "log": In(LogStream(config, config.message_levels * bits_for(config.hub_fan_in))),
            "lines": Out(AxiStream(config.line_bits)),
            "table_write": In(1), "table_address": In(bits_for(config.packer_tiles)), "table_data": In(config.raster_bits),
            "message": Out(1), **context_ports(config.contexts),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c, log, out = self.config, self.log.payload, self.lines
        number, written = log.tile if c.message_levels else 0, self.table_address
        if c.contexts > 1:
            tile = Signal.like(written, name="tile")
            m.d.comb += tile.eq(number)
            number, written = Cat(tile, self.context), Cat(written, self.bus_context)
        m.submodules.bases = bases = UnguardedMemory(
            shape=c.raster_bits, depth=c.tile_bases, unused="bases are written while their problem does not run")
        write = bases.write_port()
        read = bases.read_port()
        m.d.comb += [write.addr.eq(written), write.data.eq(self.table_data), write.en.eq(self.table_write)]

        # A message waits one cycle while its tile's base is read.
        waiting = Signal()
        held = Signal.like(self.log.payload)
        advance = Signal()
        accept = Signal()
        m.d.comb += [self.log.ready.eq(~waiting | advance), accept.eq(self.log.valid & self.log.ready),
                     read.addr.eq(number), read.en.eq(accept)]
        with m.If(accept):
            m.d.sync += [waiting.eq(1), held.eq(self.log.payload)]
        with m.Elif(advance):
            m.d.sync += waiting.eq(0)

        address = Signal(c.raster_bits)
        marker = Signal()
        m.d.comb += [address.eq(read.data + held.offset), marker.eq(held.count == 0)]
        parts = {"count": held.count, "label": held.label, "address": address}
        message = Cat(parts[name] for name in log_message(c))
        # The last message of a line goes directly into the output register.
        slots = [Signal(c.message_bits, name=f"slot_{i}") for i in range(c.line_messages - 1)]
        fill = Signal(range(c.line_messages))
        following = Signal.like(fill)
        # Known when a message is accepted, so that `ready` follows from registers alone.
        ends = Signal()
        m.d.comb += following.eq(Mux(advance, Mux(ends, 0, fill + 1), fill))
        m.d.sync += fill.eq(following)
        with m.If(accept):
            m.d.sync += ends.eq((log.count == 0) | (following == c.line_messages - 1))
        m.d.comb += [
            advance.eq(waiting & (~ends | ~out.tvalid | out.tready)),
            self.message.eq(advance & ~marker),
        ]
        with m.If(out.tready):
            m.d.sync += out.tvalid.eq(0)
        with m.If(advance):
            for i, slot in enumerate(slots):
                with m.If(ends):
                    m.d.sync += slot.eq(0)
                with m.Elif(fill == i):
                    m.d.sync += slot.eq(message)
            with m.If(ends):
                line = Cat(Mux((fill == i) & ~marker, message, slot) for i, slot in enumerate([*slots, Const(0, c.message_bits)]))
                m.d.sync += [out.tdata.eq(line), out.tvalid.eq(1), out.tlast.eq(marker)]
        return m
