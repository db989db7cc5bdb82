"""WindowBridge: each request is carried out once, and its response is kept as it was until the host has it."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import Any

from amaranth import Array, Cat, Module, Mux, Signal, Value
from amaranth.hdl import Assert, Assume
from amaranth.lib import data

from mrfhw.gateware.link.accesses import Accesses
from mrfhw.gateware.link.frames import FrameTransmitter
from mrfhw.gateware.link.kept_responses import SETTLING, KeptResponses
from mrfhw.gateware.link.request_queue import RequestQueue
from mrfhw.gateware.link.window_bridge import WindowBridge
from mrfhw.machine.link_protocol import STATUS_BITS, Status
from sim.proofs.engine import Proof, absent, ongoing, opened

__all__ = ["requests_proof"]

ADDRESS_BITS, LINE_BITS, LOG_BYTES = 20, 32, 16  # nothing here depends on them
SETTLES = *(f"SETTLE_{number}" for number in range(1, SETTLING)), "ROOM"
GREETS, SENDS = ("GREET", "GREET_WORDS"), ("AGAIN", "SEND")
CARRIES_OUT = "ACCESSES", "POSITION", "FLAGS", "LIMIT", "GRANT", "FREE"


def requests_proof(words: int, frame: int, outstanding: int, datagrams: bool) -> Proof:
    """Requests, and when accesses end and responses are sent, are any. Accesses fill no more than a response has, a write's none.

    words: of the memory of responses. frame: of the largest response.
    """
    return Proof(f"requests in {'datagrams' if datagrams else 'bytes'}, {outstanding} outstanding, responses of up to {frame} "
                 f"words in {words}",
                 "a session's requests are carried out in the order of their numbers, each once; the response of each stays as it "
                 "was until the host has it, and is what is sent when it is asked for again",
                 partial(_requests, words, frame, outstanding, datagrams), cycles=3)


class _Alone(WindowBridge):
    """The states of requests and the kept responses; what is around them is free."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self.queue = absent(RequestQueue(self.request_memory, self.words, self.outstanding))
        self.accesses = absent(Accesses(ADDRESS_BITS, self.words, self.response_words))
        self.log, self.transmitter = absent(self.log), absent(FrameTransmitter(self.response_memory, True))
        self.hold, self.held = Signal(name="hold"), Signal(self.log.size.bit_length(), name="held")
        self.freed, self.limit, self.next = (Signal(32, name=name) for name in ("freed", "limit", "next"))
        self.kept = kept = KeptResponses(self.response_memory, self.response_words, self.outstanding)
        m.submodules.kept = module = opened(kept)
        self.bodies, self.heads, self.places = (getattr(module.submodules, name) for name in ("bodies", "heads", "places"))
        self.request = SimpleNamespace(addr=self.queue.place, en=self.queue.step, data=self.queue.data)
        self.response = SimpleNamespace(addr=kept.stored_at, en=kept.store, data=kept.stored)
        m.d.comb += kept.address.eq(self.transmitter.address)
        self._requests(m, None, self.transmitter)
        return m

    def _greeting(self) -> tuple[list[Any], Any]:
        words, self.greeting = super()._greeting()
        return words, self.greeting

    def free(self) -> list[Signal]:
        """What comes from around."""
        queue, a, t = self.queue, self.accesses, self.transmitter
        return [queue.held, queue.held_size, queue.data, a.done, a.status, a.count, a.response, a.store, a.stored_at, a.stored,
                a.place, a.step, t.responded, t.address, t.idle, self.held, self.next, self.log.reached, self.behind]

    def ongoing(self, *states: str) -> Value:
        return ongoing(self.states, *states)


def _requests(words: int, frame: int, outstanding: int, datagrams: bool) -> tuple[Module, list[Signal]]:
    m = Module()
    bridge = _Alone(ADDRESS_BITS, LINE_BITS, words, LOG_BYTES, words, datagrams, outstanding)
    bridge.response_words = frame
    m.submodules.bridge = opened(bridge)
    accesses, transmitter = bridge.accesses, bridge.transmitter
    m.d.comb += [Assume(~accesses.done | accesses.go), Assume(~transmitter.responded | transmitter.respond),
                 Assume((accesses.response <= frame) & (accesses.stored_at < frame)),
                 Assume(~accesses.write | (accesses.response == 0) & ~accesses.store)]
    _in_turn(m, bridge)
    _ring(m, bridge)
    return m, [*bridge.free(), *_response(m, bridge)]


def _in_turn(m: Module, bridge: _Alone) -> None:
    """Numbers from that of the hello on, one after the other, each carried out and answered once."""
    r, kept = bridge.under_way, bridge.kept
    # The number of the last request that was carried out since the hello; whether one is under way.
    carried, under_way, decides = Signal(16, name="carried"), Signal(name="carrying_out"), Signal(name="was_decided")
    following, begins = Signal(16, name="following"), Signal(name="begins")
    m.d.sync += decides.eq(bridge.ongoing("ROOM"))
    m.d.comb += [following.eq(Mux(bridge.old, Cat((carried + 1)[:8], carried[8:]), carried + 1)),  # of eight bits once
                 begins.eq(decides & ~bridge.ongoing("IGNORE"))]
    with m.If(begins):
        m.d.comb += [Assert(r.number == following, "the number after the last one is carried out"),
                     Assert(~under_way, "one at a time")]
    with m.If(kept.keep):
        m.d.sync += [carried.eq(r.number), under_way.eq(0)]
    with m.Elif(begins | kept.restart):
        m.d.sync += under_way.eq(1)
    m.d.comb += [Assert(~kept.keep | under_way | begins, "what is answered was carried out"),
                 Assert((under_way | begins) == bridge.ongoing(*GREETS, *CARRIES_OUT, "ANSWER"), "and only that is under way"),
                 Assert(carried == bridge.last, "the last one is known"),
                 Assert(~bridge.ongoing("ACKNOWLEDGE", *SETTLES) | r.known, "after a hello"),
                 Assert(~bridge.ongoing("ACKNOWLEDGE", *SETTLES, *CARRIES_OUT) | (r.number == following)
                        & ~kept.restart, "in turn"),
                 Assert(~bridge.ongoing("ANSWER") | (kept.count == 0) | (r.number == following), "and answered")]


def _ring(m: Module, bridge: _Alone) -> None:
    """Kept responses lie one behind the other, and there is room for the one that is made."""
    r, kept, last = bridge.under_way, bridge.kept, bridge.last
    heads, places = _kept(m, bridge)
    used = Signal(kept.end.shape(), name="used_by_all")
    m.d.comb += [used.eq(Mux(kept.count == 0, 0, kept.end - places[0])),
                 Assert(used <= kept.words, "all lie in the memory"), Assert(kept.count <= kept.outstanding, "so many are kept")]
    for n in range(kept.outstanding):
        after = kept.end if n + 1 == kept.outstanding else Mux(kept.count == n + 1, kept.end, places[n + 1])
        with m.If(kept.count > n):
            m.d.comb += [Assert(heads[n].place == places[n], "both know its place"),
                         Assert((after - places[n])[:len(kept.end)] == heads[n].size, "the next one lies behind it"),
                         Assert(heads[n].size <= kept.frame, "none is too long")]
    youngest = (kept.oldest + kept.count - 1)[:len(kept.oldest)]
    carried_out = bridge.ongoing(*CARRIES_OUT, "ANSWER")
    m.d.comb += [Assert((kept.count == 0) | (last[:len(youngest)] == youngest), "the last one is the youngest"),
                 Assert(~bridge.old | (kept.count <= Mux(bridge.ongoing(*SETTLES, *CARRIES_OUT, "ANSWER"), 0, 1)),
                        "a host of an earlier version has one outstanding"),
                 Assert(~bridge.ongoing(*GREETS) | (kept.count == 0), "a hello ends those that are kept"),
                 Assert(~bridge.ongoing(*CARRIES_OUT, "ANSWER", *GREETS) | (kept.count < kept.outstanding), "there is a place"),
                 Assert(~bridge.ongoing(*SENDS) | ((last - r.number)[:16] < kept.count), "what is sent is kept"),
                 Assert(~(carried_out & (r.size != 0) | bridge.ongoing("ACCESSES") & ~bridge.accesses.write)
                        | (used <= kept.words - kept.frame) | (kept.count == 0), "there is room"),
                 Assert(r.size <= kept.frame, "a response is not too long"),
                 Assert(~bridge.ongoing("GREET") | (r.size == 0), "a greeting begins with its first word"),
                 Assert(~bridge.ongoing("GREET_WORDS") | (r.size <= bridge.greeting), "and ends with its last")]


def _kept(m: Module, bridge: _Alone) -> tuple[list[data.View], list[Value]]:
    """Heads and places of the responses, the oldest first, of those that are not kept any."""
    heads, places = list[data.View](), list[Value]()
    layout = data.StructLayout({"status": STATUS_BITS, "value": 32, "size": len(bridge.kept.size), "place": len(bridge.kept.end)})
    for n in range(bridge.kept.outstanding):
        head, place = bridge.heads.read_port(domain="comb"), bridge.places.read_port(domain="comb")
        m.d.comb += [port.addr.eq(bridge.kept.oldest + n) for port in (head, place)]
        heads.append(data.View(layout, head.data))
        places.append(place.data)
    return heads, places


def _response(m: Module, bridge: _Alone) -> list[Signal]:
    """One response, any one, and one word of it, from when it is complete until it is released."""
    r, kept, transmitter = bridge.under_way, bridge.kept, bridge.transmitter
    chosen, offset = Signal(name="chosen"), Signal(range(kept.frame), name="offset")
    tracked, sent, number = Signal(name="tracked"), Signal(name="tracked_is_sent"), Signal(16, name="tracked_number")
    status, value, size = Signal.like(kept.status), Signal(32, name="tracked_value"), Signal.like(kept.size)
    place, at, word = (Signal(shape, name=f"tracked_{name}") for shape, name in (
        (kept.end.shape(), "place"), (range(kept.frame), "offset"), (32, "word")))
    ahead = Signal(range(kept.outstanding), name="ahead")
    now = bridge.bodies.read_port(domain="comb")
    m.d.comb += now.addr.eq(Mux(tracked, place + at, kept.end + offset))
    with m.If(kept.restart):
        m.d.sync += [tracked.eq(0), sent.eq(0)]
    with m.Elif(kept.release & tracked):
        m.d.sync += [tracked.eq(ahead >= kept.released), sent.eq(sent & (ahead >= kept.released)), ahead.eq(ahead - kept.released)]
    with m.Elif(kept.keep & ~tracked & chosen & (offset < kept.size)):
        m.d.sync += [tracked.eq(1), number.eq(r.number), status.eq(r.status), value.eq(r.value), size.eq(kept.size),
                     place.eq(kept.end), at.eq(offset), word.eq(now.data), ahead.eq(kept.count)]
    with m.Elif(kept.send):
        m.d.sync += sent.eq(tracked & (r.number == number))
    heads, places = _kept(m, bridge)
    head = data.View(heads[0].shape(), Array([one.as_value() for one in heads])[ahead])
    with m.If(tracked):
        m.d.comb += [Assert(ahead < kept.count, "it is counted"), Assert(number == (bridge.last - (kept.count - 1 - ahead))[:16],
                            "its number says where it is kept"),
                     Assert((head.status == status) & (head.value == value) & (head.size == size) & (head.place == place),
                            "its head is in its place"), Assert(Array(places)[ahead] == place, "and known"),
                     Assert(at < size, "its word is one of its own"), Assert(now.data == word, "its word is in its place")]
    asked = Signal(name="word_asked")
    m.d.sync += asked.eq(sent & transmitter.respond & (transmitter.address == at))
    with m.If(sent):
        m.d.comb += [Assert(tracked, "it is kept"), Assert((kept.sent_value == value) & (kept.sent_size == size)
                            & (kept.sent_status == status) & (kept.sent.place == place), "what is sent is the response")]
        with m.If(transmitter.respond & (transmitter.head.status != Status.NUMBER)):
            m.d.comb += Assert((transmitter.value == value) & (transmitter.size == size), "and is its value and size")
    with m.If(sent & asked):
        m.d.comb += Assert(kept.word == word, "and its words")
    return [chosen, offset]
