"""Bridge, with one request outstanding: each is carried out once, and answered with what it gave however often it comes."""

from __future__ import annotations

from functools import partial
from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.hdl import Assert, Assume

from mrfhw.gateware.link.accesses import Accesses
from mrfhw.gateware.link.bridge import Bridge
from mrfhw.gateware.link.datagrams import DatagramReceiver, DatagramTransmitter
from mrfhw.gateware.link.frames import FrameReceiver, FrameTransmitter
from mrfhw.machine.link_protocol import HEAD_WORDS, RESPONSE, Operation, Status
from sim.proofs.engine import Proof, absent, ongoing, opened

__all__ = ["single_requests_proof"]

ADDRESS_BITS, LINE_BITS, LOG_BYTES = 20, 32, 16  # nothing here depends on them
OF_CREDITS = "POSITION", "FLAGS", "LIMIT", "GRANT", "FREE"
CARRIES_OUT = "GREET", "GREET_WORDS", "ACCESSES", *OF_CREDITS


def single_requests_proof(words: int, datagrams: bool) -> Proof:
    """Frames, and when accesses end and responses are sent, are any. A frame is not written while it is held.

    words: of a request, and of a response.
    """
    return Proof(f"single requests in {'datagrams' if datagrams else 'bytes'}, of {words} words",
                 "a session's requests are carried out in the order of their numbers, each once; one that comes again is answered "
                 "with the response that it had; a response stays as it is until it is sent",
                 partial(_requests, words, datagrams), cycles=3)


class _Alone(Bridge):
    """Requests, their two memories and their states; what is around them is free."""

    def elaborate(self, platform: object) -> Module:
        m = Module()
        receives, sends = (DatagramReceiver, DatagramTransmitter) if self.datagrams else (FrameReceiver, FrameTransmitter)
        self.receiver: Any = receives(self.words)
        self.transmitter: Any = sends(self.response_words, True)
        self.accesses = Accesses(ADDRESS_BITS, self.words, self.response_words)
        for part in (self.receiver, self.transmitter, self.accesses, self.log):
            absent(part)
        self.hold, self.held = Signal(name="hold"), Signal(self.log.size.bit_length(), name="held")
        self.freed, self.limit, self.next = (Signal(32, name=name) for name in ("freed", "limit", "next"))
        self._memories(m, self.receiver, self.transmitter)
        self._requests(m, self.receiver, self.transmitter)
        return m

    def free(self) -> list[Signal]:
        """What comes from around."""
        f, a, t = self.receiver, self.accesses, self.transmitter
        return [f.write, f.address, f.word, f.held, f.size, a.done, a.status, a.count, a.response, a.store, a.stored_at, a.stored,
                a.place, a.step, t.responded, t.address, t.idle, self.held, self.next, self.log.reached, self.behind]

    def ongoing(self, *states: str) -> Value:
        return ongoing(self.states, *states)


def _requests(words: int, datagrams: bool) -> tuple[Module, list[Signal]]:
    m = Module()
    bridge = _Alone(ADDRESS_BITS, LINE_BITS, words, LOG_BYTES, words, datagrams)
    module = opened(bridge)
    m.submodules.bridge = module
    receiver, accesses, transmitter = bridge.receiver, bridge.accesses, bridge.transmitter
    waits = Signal(name="frame_waits")
    m.d.sync += waits.eq(receiver.held & ~receiver.take)
    m.d.comb += [Assume(~receiver.held | ~receiver.write), Assume(~waits | receiver.held), Assume(~accesses.done | accesses.go),
                 Assume(~accesses.store | accesses.go), Assume(accesses.response <= words),
                 Assume(~transmitter.responded | transmitter.respond),
                 Assert(~receiver.take | receiver.held, "a frame that is held is taken"),
                 Assert(bridge.ongoing("IDLE") | receiver.held, "and not before it is done with")]
    _frame(m, bridge, module.submodules.requests)
    return m, [*bridge.free(), _response(m, bridge, module.submodules.responses, _in_turn(m, bridge))]


def _frame(m: Module, bridge: _Alone, memory: Any) -> None:
    """Words of a request are those of its frame when they are looked at."""
    value, limit, flags = HEAD_WORDS - 1, HEAD_WORDS, HEAD_WORDS + 1  # their places
    looked_at = {"HEAD": 0, "GREET": value, "POSITION": value, "LIMIT": flags, "FREE": limit}
    read_next = {"FETCH_HEAD": 0, "HEAD": value, "FLAGS": flags, "LIMIT": limit, "GRANT": limit, "FREE": limit}
    if bridge.datagrams:
        looked_at["SESSION"] = read_next["SESSION"] = value
    for state, place in looked_at.items():
        port = memory.read_port(domain="comb")
        m.d.comb += [port.addr.eq(place), Assert(~bridge.ongoing(state) | (bridge.request.data == port.data), "words of its frame")]
    m.d.comb += [Assert(~bridge.ongoing(state) | (bridge.under_way.at == place), "each at its place")
                 for state, place in read_next.items()]


def _in_turn(m: Module, bridge: _Alone) -> Value:
    """Numbers from that of the hello on, one after the other. Returns whether a request other than the last one begins."""
    r, asked, decided = bridge.under_way, Signal(32, name="asked"), Signal(name="was_decided")
    # A session and its last request, as they were before the one that is looked at.
    known, last, last_operation = Signal(name="in_session"), Signal(8, name="last_number"), Signal(8, name="last_operation")
    carrying = Signal(name="carrying_out")
    m.d.sync += decided.eq(bridge.ongoing("HEAD"))
    with m.If(bridge.ongoing("HEAD")):
        m.d.sync += asked.eq(bridge.request.data)
    operation, number, answered = asked[:8], asked[8:16], decided & bridge.ongoing("ANSWER")
    first, looked, mine = decided & bridge.ongoing("GREET"), Value.cast(0), Value.cast(1)
    if bridge.datagrams:
        first, looked, mine = _sessions(m, bridge, asked, known, last, last_operation)
    again = known & mine & (number == last) & (operation == last_operation)
    carries = (decided & bridge.ongoing("ACCESSES", "POSITION")) | (answered & (r.status == Status.MALFORMED) & ~again)
    refused = answered & ~carries & ~again
    begins = Signal(name="begins")
    m.d.comb += begins.eq(first | carries | refused)
    with m.If(carries):
        m.d.comb += Assert(known & mine & (number == (last + 1)[:8]), "the number after the last one is carried out")
    with m.If(refused):
        m.d.comb += [Assert((r.status == Status.NUMBER) & (r.size == 0), "what is out of turn is refused"),
                     Assert((not bridge.datagrams) | ~known, "in datagrams where there is no session alone")]
        m.d.sync += known.eq(0)
    with m.If(first | carries):
        m.d.sync += [known.eq(1), last.eq(r.number), last_operation.eq(r.operation)]
    with m.If(carries | refused):
        m.d.comb += Assert((r.number == number) & (r.operation == operation), "an answer is that of the request")
    m.d.sync += carrying.eq((carrying | begins) & ~bridge.ongoing("ANSWER"))
    same = (r.known == known) & (~known | (r.number == last) & (r.operation == last_operation))
    m.d.comb += [Assert(bridge.ongoing(*CARRIES_OUT) == ((carrying | begins) & ~bridge.ongoing("ANSWER")),
                        "what is carried out began, and ends with its answer"),
                 Assert(decided | looked | same, "the last request is known"),
                 Assert(~decided & ~looked | ~bridge.ongoing("IDLE", "FETCH_HEAD", "HEAD"), "a request is decided once")]
    return begins


def _sessions(m: Module, bridge: _Alone, asked: Signal, known: Signal, last: Signal, last_operation: Signal) -> tuple[Any, ...]:
    """Of hellos in datagrams: whether one begins to be carried out, or was looked at, and whether a request is of its session."""
    nonce, before, sessions = Signal(32, name="session"), Signal(32, name="session_before"), Signal(2, name="sessions")
    looked, word = Signal(name="was_looked_at"), Signal(32, name="word_of_hello")
    m.d.sync += [looked.eq(bridge.ongoing("SESSION")), word.eq(bridge.request.data)]
    first = looked & bridge.ongoing("GREET")
    again = known & (word == nonce)
    with m.If(first):
        m.d.comb += [Assert(~again | ((last == bridge.under_way.number) & (last_operation == Operation.HELLO)),
                            "a session's hello is carried out again while it is the last request alone"),
                     Assert(again | (sessions < 2) | (word != before), "that of the session before is not"),
                     Assert((bridge.under_way.number == asked[8:16]) & (bridge.under_way.operation == Operation.HELLO), "as asked")]
        m.d.sync += nonce.eq(word)
        with m.If(~again):
            m.d.sync += [before.eq(nonce), sessions.eq(Mux(sessions == 2, 2, sessions + 1))]
    m.d.comb += [Assert(~known | looked | (bridge.nonce == nonce), "a session's number is that of its hello"),
                 Assert((known == (sessions != 0)) & (sessions <= 2), "there is one from the first hello on"),
                 Assert(looked | (bridge.begun == (sessions == 2)), "and one before it from the second on"),
                 Assert((sessions < 2) | looked | (bridge.nonce_before == before), "whose number is kept")]
    return first, looked, asked[24:] == nonce[:8]


def _response(m: Module, bridge: _Alone, memory: Any, begins: Value) -> Signal:
    """A response, and one word of it, any one, from when it is answered until another one begins."""
    r, transmitter = bridge.under_way, bridge.transmitter
    place, given, word = Signal(range(bridge.response_words), name="place"), Signal(name="given"), Signal(32, name="given_word")
    at, now = Signal.like(place, name="given_place"), memory.read_port(domain="comb")
    names = "operation", "number", "status", "value", "size"
    kept = {name: Signal.like(getattr(r, name), name=f"given_{name}") for name in names}
    same = Cat(getattr(r, name) == one for name, one in kept.items()).all()
    gives = bridge.ongoing("ANSWER") & (~given | begins)
    m.d.comb += now.addr.eq(Mux(gives, place, at))
    with m.If(gives):
        m.d.sync += [given.eq(1), at.eq(place), word.eq(now.data), *(one.eq(getattr(r, name)) for name, one in kept.items())]
    with m.Elif(begins):
        m.d.sync += given.eq(0)
    with m.If(given & ~begins):
        m.d.comb += [Assert(same, "a response stays as it was given"), Assert(now.data == word, "and its words")]
    m.d.comb += [Assert(~r.answered | given, "what is sent was given"),
                 Assert(~r.answered | bridge.ongoing("IDLE"), "no request is looked at while a response is sent"),
                 Assert(~bridge.ongoing(*CARRIES_OUT) | ~given | begins, "it is of the last request")]
    head, asked = transmitter.head, Signal(name="word_asked")
    m.d.sync += asked.eq(transmitter.respond & (transmitter.address == at))
    with m.If(transmitter.respond):
        m.d.comb += [Assert((head.operation == (kept["operation"] | RESPONSE)) & (head.number == kept["number"])
                            & (head.status == kept["status"]) & (transmitter.value == kept["value"])
                            & (transmitter.size == kept["size"]), "what is sent is the response"),
                     Assert(~asked | (transmitter.word == word), "and its words")]
    return place
