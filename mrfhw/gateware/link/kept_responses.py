"""Responses that the host has not acknowledged, on a board with several requests outstanding (docs/link.md)."""

from __future__ import annotations

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.memories import UnguardedMemory
from mrfhw.gateware.link.request_queue import check_memory_words
from mrfhw.machine.link_protocol import STATUS_BITS

__all__ = ["SETTLING", "KeptResponses"]

SETTLING = 3  # cycles from `keep` or `release` until `room` is right


class KeptResponses(wiring.Component):
    """A ring of responses, each kept until it is released, the oldest first.

    restart: all are released. store, stored_at, stored: words of the next response's body. keep: it is complete, with `slot`, the
    lowest bits of its request's number, status, value and size (words); those that are kept have numbers one after the other.
    release: `released` of them. count: kept ones; room: the largest response fits beside them.
    send: the response of `slot` is the one that is sent from the next cycle on: sent_status, sent_value, sent_size, and its body
    at `address`, whose `word` comes one cycle later. One that is released meanwhile may change.
    words: of the memory. frame: of the largest body. outstanding: responses, a power of two.
    """

    def __init__(self, words: int, frame: int, outstanding: int):
        self.words, self.frame, self.outstanding = check_memory_words("response_words", words), frame, outstanding
        super().__init__({
            "restart": In(1), "store": In(1), "stored_at": In(range(frame)), "stored": In(32), "keep": In(1),
            "slot": In(range(outstanding)), "status": In(STATUS_BITS), "value": In(32), "size": In(range(frame + 1)),
            "release": In(1), "released": In(range(outstanding + 1)), "count": Out(range(outstanding + 1)), "room": Out(1),
            "send": In(1), "sent_status": Out(STATUS_BITS), "sent_value": Out(32), "sent_size": Out(range(frame + 1)),
            "address": In(range(frame)), "word": Out(32)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        place = Signal(range(2 * self.words)).shape()  # with a bit more, that tells a full ring from an empty one
        head = data.StructLayout({"status": STATUS_BITS, "value": 32, "size": len(self.size), "place": place})
        m.submodules.bodies = bodies = UnguardedMemory(
            shape=32, depth=self.words, unused="a response is sent when it is complete; one that is released means nothing")
        m.submodules.heads = heads = Memory(shape=head.size, depth=self.outstanding, init=[])
        m.submodules.places = places = Memory(shape=place, depth=self.outstanding, init=[])
        into, out = bodies.write_port(), bodies.read_port()
        head_in, head_out, place_in, place_out = heads.write_port(), heads.read_port(), places.write_port(), places.read_port()
        end, first, oldest, used = Signal(place), Signal(place), Signal(range(self.outstanding)), Signal(place)
        kept, sent = Signal(head), Signal(head)
        self.end, self.oldest, self.sent = end, oldest, sent
        m.d.comb += [
            into.addr.eq(end + self.stored_at), into.data.eq(self.stored), into.en.eq(self.store),
            Cat(kept.status, kept.value, kept.size, kept.place).eq(Cat(self.status, self.value, self.size, end)),
            head_in.addr.eq(self.slot), head_in.data.eq(kept), head_in.en.eq(self.keep),
            place_in.addr.eq(self.slot), place_in.data.eq(end), place_in.en.eq(self.keep),
            place_out.addr.eq(oldest), place_out.en.eq(1), first.eq(Mux(self.count == 0, end, place_out.data)),
            used.eq(end - first),
            # The port keeps what it has read.
            head_out.addr.eq(self.slot), head_out.en.eq(self.send), sent.as_value().eq(head_out.data),
            self.sent_status.eq(sent.status), self.sent_value.eq(sent.value), self.sent_size.eq(sent.size),
            out.addr.eq(sent.place + self.address), out.en.eq(1), self.word.eq(out.data),
        ]
        m.d.sync += self.room.eq(used <= self.words - self.frame)
        with m.If(self.restart):
            m.d.sync += [self.count.eq(0), end.eq(0)]
        with m.Elif(self.release):
            m.d.sync += [self.count.eq(self.count - self.released), oldest.eq(oldest + self.released)]
        with m.Elif(self.keep):
            m.d.sync += [self.count.eq(self.count + 1), end.eq(end + self.size)]
            with m.If(self.count == 0):
                m.d.sync += oldest.eq(self.slot)
        return m
