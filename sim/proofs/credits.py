"""A bridge's positions of the log: what is freed, sent and stored follow one another, and nothing is sent that was not granted."""

from __future__ import annotations

from functools import partial
from typing import Any

from amaranth import Module, Mux, Signal
from amaranth.hdl import Assert, Assume

from mrfhw.gateware.link.bridge import Bridge, Request
from mrfhw.gateware.link.datagrams import DatagramTransmitter
from mrfhw.gateware.link.frames import FrameTransmitter
from mrfhw.machine.link_protocol import DATAGRAM_LOG_CHUNK, HEAD_WORDS, LOG_WAIT
from sim.proofs.engine import Proof, opened
from sim.proofs.transmitters import response_stays

__all__ = ["credits_proof"]

WORDS = 16  # of a response, of which nothing depends here


def credits_proof(line_bits: int, log_bytes: int, datagrams: bool) -> Proof:
    """A host frees whole units. Its credits may be any otherwise, and come and be answered at any time."""
    return Proof(f"credits in {'datagrams' if datagrams else 'bytes'}, ring of {log_bytes} bytes, lines of {line_bits} bits",
                 "what is freed had come and is freed once; what is sent had come, is granted and not freed, and is what the ring "
                 "has at its position", partial(_credits, line_bits, log_bytes, datagrams), cycles=3)


class _Log(Bridge):
    """The ring, its positions, the transmitter and the states of a credit; requests and responses are free."""

    def elaborate(self, platform: object) -> Module:
        m, kind = Module(), DatagramTransmitter if self.datagrams else FrameTransmitter
        self.transmitter: Any = kind(self.response_words)
        m.submodules.transmitter, m.submodules.log = opened(self.transmitter), opened(self.log)
        self.words_of = Signal(range(self.words), name="words_of_request")
        self.word, self.comes = Signal(32, name="word_of_request"), Signal(name="comes")
        self.request = _Words(self.word)
        self.credit = Request.of(self.words, self.response_words)
        self._log(m, self.transmitter)
        with m.FSM() as self.states:
            with m.State("IDLE"), m.If(self.comes):
                m.next = "POSITION"
            self._credit(m, self.credit, self.words_of, self.transmitter)
            with m.State("ANSWER"):
                m.next = "IDLE"
        return m


class _Words:
    """A request's memory, of which each word may be any."""

    def __init__(self, data: Signal):
        self.data = data


def _credits(line_bits: int, log_bytes: int, datagrams: bool) -> tuple[Module, list[Signal]]:
    m, bridge = Module(), _Log(20, line_bits, WORDS, log_bytes, WORDS, datagrams)
    m.submodules.bridge = opened(bridge)
    log, sender, unit = bridge.log, bridge.transmitter, bridge.log.unit
    held, unsent, ahead = (Signal(32, name=name) for name in ("held_bytes", "unsent_bytes", "granted_bytes"))
    before, come, after = Signal(32, name="freed_before"), Signal(32, name="held_before"), Signal(name="after_first")
    m.d.sync += [before.eq(bridge.freed), come.eq(held), after.eq(1)]
    m.d.comb += [
        held.eq(log.reached - bridge.freed), unsent.eq(log.reached - bridge.next), ahead.eq(bridge.limit - bridge.next),
        Assume(((bridge.word if unit > 1 else 0) & unit - 1) == 0),
        Assert(held <= log.size, "no more is held than the ring has"), Assert(unsent <= held, "what is freed is not sent again"),
        Assert(~after | ((bridge.freed - before)[:32] <= come), "what is freed had come, and is freed once"),
        Assert(((bridge.freed | bridge.next | log.reached | bridge.limit | bridge.credit.value) & unit - 1) == 0, "whole units"),
        Assert(log.number < line_bits // (8 * unit), "of the line's units"),
    ]
    _grants(m, bridge, unsent, ahead)
    (_words if datagrams else _bytes)(m, bridge, unsent, ahead)
    response_stays(m, sender)
    waited, line = Signal(name="line_waited"), Signal(line_bits, name="line_before")
    m.d.sync += [waited.eq(log.lines.tvalid & ~log.lines.tready), line.eq(log.lines.tdata)]
    with m.If(waited & after):
        m.d.comb += Assume(log.lines.tvalid & (log.lines.tdata == line))
    return m, [bridge.comes, bridge.words_of, bridge.word, log.lines.tvalid, log.lines.tdata, sender.respond, sender.size,
               sender.word, sender.value, sender.head.as_value(), *([sender.sent.ready] if datagrams else [sender.bytes.ready])]


def _grants(m: Module, bridge: _Log, unsent: Signal, ahead: Signal) -> None:
    """A credit is carried out while no log is sent."""
    states, r = bridge.states, bridge.credit
    quiet = bridge.transmitter.states.ongoing("IDLE") | ~bridge.transmitter.log
    with m.If(states.ongoing("FREE")):
        m.d.comb += [Assert(quiet, "no log is sent when a limit changes"), Assert(bridge.hold, "and none begins")]
    with m.If(states.ongoing("FREE") & ~bridge.malformed):
        m.d.comb += Assert((r.value - bridge.freed)[:32] <= (bridge.log.reached - bridge.freed)[:32], "what has come can be freed")
    m.d.comb += Assert(~bridge.transmitter.log_step | (unsent != 0) & (ahead != 0), "what is sent has come and is granted")


def _bytes(m: Module, bridge: _Log, unsent: Signal, ahead: Signal) -> None:
    """A byte that is sent next is the one at its position."""
    t, port = bridge.transmitter, bridge.log.ring.read_port(domain="comb")
    m.d.comb += port.addr.eq(bridge.next)
    with m.If(t.states.ongoing("BYTE") & t.log & ~t.closing & ~t.in_head):
        m.d.comb += [Assert((unsent != 0) & (ahead != 0), "a byte to be sent has come and is granted"),
                     Assert(t.byte == port.data, "it is the one at its position")]


def _words(m: Module, bridge: _Log, unsent: Signal, ahead: Signal) -> None:
    """What a log frame is to have has come and is granted when it begins; each word is the one at its position."""
    t, port = bridge.transmitter, bridge.log.ring.read_port(domain="comb")
    left, word, stepped = Signal(32, name="bytes_left"), Signal(32, name="word_at_position"), Signal(name="stepped")
    m.d.comb += [port.addr.eq(bridge.next >> 2), left.eq((t.size_sent - Mux(t.index < HEAD_WORDS, HEAD_WORDS, t.index)) << 2),
                 Assert(bridge.waited <= LOG_WAIT, "words wait for so long"),
                 Assert((t.log_size << 2 <= unsent) & (t.log_size << 2 <= ahead) | ~t.states.ongoing("IDLE"),
                        "what is to be sent has come and is granted")]
    m.d.sync += [word.eq(port.data), stepped.eq(t.log_step)]
    with m.If(t.states.ongoing("WORDS") & t.log):
        most = HEAD_WORDS + DATAGRAM_LOG_CHUNK // 4
        m.d.comb += [Assert((left <= unsent) & (left <= ahead), "the rest of a log frame, too"),
                     Assert((t.index < t.size_sent) & (t.size_sent <= most), "which is of its size")]
    with m.If(stepped):
        m.d.comb += Assert(t.log_data == word, "a word is the one at its position")
