"""Transmitters of frames: what they send is what a receiver makes of it, and is what they were given."""

from __future__ import annotations

import zlib
from functools import partial
from typing import Any

from amaranth import Array, Cat, Const, Module, Mux, Signal, Value
from amaranth.hdl import Assert, Assume
from amaranth.lib import data
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.link.datagrams import QUEUE, DatagramTransmitter, SentWord
from mrfhw.gateware.link.frames import CRC_RESIDUE, FrameReceiver, FrameTransmitter
from mrfhw.machine.link_protocol import DATAGRAM_LOG_CHUNK, ESCAPE, FLAG, HEAD_WORDS, LOG_CHUNK, Operation
from sim.proofs.crcs import INITIAL
from sim.proofs.engine import Anything, Proof, absent, ongoing, opened

__all__ = ["response_stays", "transmitter_proof"]

HEAD_BYTES = 4 * HEAD_WORDS


def transmitter_proof(words: int, datagrams: bool) -> Proof:
    """Responses, log, and when bytes or words are taken are any. words: of the largest response's body."""
    if datagrams:
        return Proof(f"transmitter of datagrams, responses of up to {words} words",
                     "each response is sent once, word by word as it was given, and so is log; the CRC is that of the words",
                     partial(_datagrams, words), cycles=3)
    return Proof(f"transmitter of bytes, responses of up to {words} words",
                 "a receiver has each response as it was given, once and with the right CRC; and each log frame of whole words",
                 partial(_sent, words), cycles=3)


def response_stays(m: Module, t: Any) -> None:
    """A response stays as it is until it is sent."""
    given, waits = Cat(t.head.as_value(), t.value, t.size), Signal(name="response_waits")
    before = Signal.like(given, name="response_before")
    m.d.sync += [waits.eq(t.respond & ~t.responded), before.eq(given)]
    m.d.comb += [Assume(t.size <= t.words), Assume(~waits | t.respond & (given == before))]


def _sent(words: int) -> tuple[Module, list[Signal]]:
    m, t = Module(), FrameTransmitter(words, session=True)
    longest = max(words, LOG_CHUNK // 4) + HEAD_WORDS + 1
    r = FrameReceiver(1 << longest.bit_length(), holds=False)
    m.submodules.transmitter, m.submodules.receiver = opened(t), opened(r)
    m.submodules.memory = memory = Memory(shape=32, depth=r.words, init=[])
    write = memory.write_port()
    m.d.comb += [r.bytes.valid.eq(t.bytes.valid & t.bytes.ready), r.bytes.payload.eq(t.bytes.payload),
                 write.addr.eq(r.address), write.data.eq(r.word), write.en.eq(r.write)]
    _followed(m, t, r)
    ended, log, whole, size = (Signal(shape, name=name) for shape, name in (
        (1, "frame_ended"), (1, "was_log"), (1, "of_whole_words"), (range(r.words), "words_sent")))
    m.d.sync += [ended.eq(t.states.ongoing("CLOSE") & t.bytes.ready), log.eq(t.log), whole.eq(t.index[:2] == 0),
                 size.eq(t.index >> 2)]
    m.d.comb += [Assert(r.held == (ended & whole), "a frame is received when it was sent, and at no other time"),
                 Assert(~r.held | (r.size == size), "with its size"), Assert(~ended | log | whole, "responses are of whole words")]
    return m, [t.respond, t.head.as_value(), t.value, t.size, t.word, t.log_more, t.log_position, t.log_byte, t.bytes.ready,
               *_bytes(m, t, r, memory, r.held & ~log)]


def _followed(m: Module, t: FrameTransmitter, r: FrameReceiver) -> None:
    """What the receiver has of a frame is what was sent of it; its CRC differs from the transmitter's by what was sent of that."""
    between = ongoing(t.states, "IDLE", "OPEN")
    close, at_byte = t.states.ongoing("CLOSE"), t.states.ongoing("BYTE")
    total = Mux(t.log, HEAD_BYTES + LOG_CHUNK, (t.size + HEAD_WORDS) << 2)
    # Each byte of the CRC is that of the state, inverted, and brings the receiver from state 0 to what only ones bring it to.
    differ = [zlib.crc32(bytes([0xFF]) * sent, INITIAL) ^ INITIAL for sent in range(4)]
    with m.If(between):
        m.d.comb += [Assert((r.bad | (r.count == 0)) & ~r.escaped, "no byte comes between frames"),
                     Assert(t.tail == 0, "its CRC is sent")]
    with m.If(t.states.ongoing("OPEN")):
        m.d.comb += Assert((t.crc.state == INITIAL) & (t.index == 0) & ~t.closing & ~t.sent_escape, "a frame begins")
    with m.If(close):
        m.d.comb += Assert((r.crc.state == CRC_RESIDUE) & (t.crc.state == 0) & (r.count == t.index + 4) & ~r.escaped
                             & (t.tail == 0) & t.closing, "and ends whole")
    with m.Elif(~between):
        m.d.comb += [
            Assert(r.count == t.index + t.tail, "each byte is received"), Assert(t.closing | (t.tail == 0), "its CRC comes last"),
            Assert(r.escaped == t.sent_escape, "an escape is received"),
            Assert(~t.sent_escape | at_byte & ((t.byte == FLAG) | (t.byte == ESCAPE)), "before a byte that needs one"),
            Assert(r.crc.state == t.crc.state ^ Mux(t.closing, Array(Const(one, 32) for one in differ)[t.tail], 0),
                   "the CRC is that"),
            Assert(~t.closing | ~at_byte | (t.byte == ~t.crc.state[:8]), "which is sent")]
        for sent in range(1, 4):
            m.d.comb += Assert((t.tail < sent) | (t.crc.state[32 - 8 * sent:] == 0), "from the lowest byte on")
    with m.If(~between):
        m.d.comb += [Assert(~r.bad, "nothing is spoiled"),
                     Assert((t.index <= total) & (close | ~t.closing | t.log | (t.index == total)), "no more is sent"),
                     Assert(~close | t.log | (t.index == total), "all of a response is sent"),
                     Assert(close | t.closing | ~at_byte | (t.index < total), "than it has"),
                     Assert(~(close | t.closing) | (t.index >= HEAD_BYTES), "a head is sent")]


def _bytes(m: Module, t: FrameTransmitter, r: FrameReceiver, memory: Memory, received: Value) -> list[Signal]:
    """One byte of a response, any one, and the word that it is in: from when it is given until it is received."""
    idle = t.states.ongoing("IDLE")
    response_stays(m, t)
    m.d.comb += Assert(idle | t.log | t.respond, "a response is sent while there is one")
    chosen, word = Signal(range(4 * (t.words + HEAD_WORDS)), name="chosen"), Signal(32, name="any_word")
    place, body, asked = Signal.like(chosen, name="place"), Signal(32, name="body_word"), Signal(name="word_asked")
    with m.If(idle):
        m.d.sync += [place.eq(chosen), body.eq(word)]
    m.d.sync += asked.eq((place >= HEAD_BYTES) & (t.address == (place >> 2) - HEAD_WORDS))
    expected = Signal(8, name="expected")
    of_word = Array([t.head.as_value(), t.value, body])[Mux(place < HEAD_BYTES, place >> 2, HEAD_WORDS)]
    m.d.comb += [Assume(~asked | (t.word == body)), expected.eq(of_word.word_select(place[:2], 8))]
    fetched = Signal(name="was_fetched")
    m.d.sync += fetched.eq(t.states.ongoing("FETCH"))
    with m.If(t.states.ongoing("CHOOSE") & ~t.closing):
        m.d.comb += Assert(fetched, "a byte is chosen when its word is there")
    with m.If(t.states.ongoing("BYTE") & ~t.closing & ~t.log & (t.index == place)):
        m.d.comb += Assert(t.byte == expected, "a byte is sent as it was given")
    port, kept, at = memory.read_port(domain="comb"), Signal(8, name="kept"), Signal.like(place, name="kept_place")
    m.d.comb += port.addr.eq(Mux(received, at, place) >> 2)
    m.d.sync += [kept.eq(expected), at.eq(place)]
    partly = r.shift.word_select((place - r.count - 1)[:2], 8)
    with m.If(~ongoing(t.states, "IDLE", "OPEN") & ~t.log & (place < t.index)):
        m.d.comb += Assert(Mux(place >> 2 < r.count >> 2, port.data.word_select(place[:2], 8), partly) == expected,
                           "a byte is received as it was given")
    with m.If(received & (at >> 2 < r.size)):
        m.d.comb += Assert(port.data.word_select(at[:2], 8) == kept, "and has its place when its frame is received")
    return [chosen, word]


def _datagrams(words: int) -> tuple[Module, list[Signal]]:
    """Words as they are put into the queue behind it, which is Amaranth's."""
    m, t = Module(), DatagramTransmitter(words, session=True)
    t.crc, fifo = Anything(absent(t.crc).signature), absent(t.queue)
    t.queue = Anything({"w_data": In(len(fifo.w_data)), "w_en": In(1), "w_rdy": Out(1), "level": Out(len(fifo.level)),
                        "r_data": Out(len(fifo.r_data)), "r_rdy": Out(1), "r_en": In(1)})
    crc, queue = t.crc, t.queue
    m.submodules.transmitter = opened(t)
    made, inside = data.View(SentWord(), queue.w_data), ongoing(t.states, "WORDS", "LAST", "CRC")
    response_stays(m, t)
    level = Signal.like(queue.level, name="words_that_wait")
    gets = queue.r_en & queue.r_rdy
    m.d.sync += level.eq(level + (queue.w_en & queue.w_rdy) - gets)
    # A buffered FIFO may have no room for one word less than its depth.
    m.d.comb += [Assume(queue.level == level), Assume(~queue.r_rdy | (level != 0)), Assume(queue.w_rdy | (level >= QUEUE - 1)),
                 Assume(~queue.w_rdy | (level < QUEUE)),
                 Assert(level <= QUEUE, "the queue has so many"), Assert(~t.addressed | (level <= QUEUE - 2), "a word has room"),
                 Assert(~queue.w_en | queue.w_rdy, "no word is lost")]
    # Words that were put since the frame began, and its size and first words as they were then.
    put, log, position = (Signal(shape, name=name) for shape, name in (
        (t.index.shape(), "words_put"), (1, "sends_log"), (32, "position_sent")))
    size = Signal.like(t.index, name="words_to_send")
    with m.If(t.states.ongoing("IDLE")):
        m.d.sync += [put.eq(0), log.eq(~t.respond), position.eq(t.log_position),
                     size.eq(HEAD_WORDS + Mux(t.respond, t.size, t.log_size))]
    with m.Elif(queue.w_en):
        m.d.sync += put.eq(put + 1)
    m.d.comb += [Assume(t.log_size <= DATAGRAM_LOG_CHUNK // 4),
                 Assert(~inside | log | t.respond, "a response is sent while there is one")]
    with m.If(inside):
        m.d.comb += [
            Assert((t.log == log) & (t.size_sent == size) & (size >= HEAD_WORDS), "what is sent is known"),
            Assert(put + t.addressed == t.index, "word by word"),
            Assert(~t.addressed | (t.place == put), "each in its place"),
            Assert(Mux(t.states.ongoing("WORDS"), (t.index < size), t.index == size), "as many as there are"),
            Assert(t.states.ongoing("LAST") | ~t.addressed | t.states.ongoing("WORDS"), "all of them before their CRC"),
            Assert(~t.states.ongoing("LAST") | t.addressed, "without a pause at the end")]
    m.d.comb += [
        Assert(inside | ~queue.w_en, "nothing is sent between frames"),
        Assert(t.responded == (queue.w_en & made.last & ~log), "a response is sent once"),
        Assert(crc.valid == (queue.w_en & ~made.last), "the CRC is of the words"),
        Assert(~crc.valid | (crc.word == made.word) & (crc.first == (put == 0)), "of all of them")]
    chosen, place, body, asked, stepped, word = (Signal(shape, name=name) for shape, name in (
        (range(words), "chosen"), (range(words), "place"), (32, "body_word"), (1, "word_asked"), (1, "stepped"), (32, "any_word")))
    with m.If(t.states.ongoing("IDLE")):
        m.d.sync += [place.eq(chosen), body.eq(word)]
    m.d.sync += [asked.eq(t.address == place), stepped.eq(t.log_step)]
    m.d.comb += Assume(~asked | (t.word == body))
    with m.If(queue.w_en):
        m.d.comb += [
            Assert(made.length == (size + 1) << 2, "a datagram tells its length"),
            Assert(made.last == (put == size), "and its end"),
            Assert(~made.last | (made.word == ~crc.state), "where its CRC stands"),
            Assert((put != 0) | (made.word == Mux(log, int(Operation.LOG), t.head.as_value())), "a head"),
            Assert((put != 1) | (made.word == Mux(log, position, t.value)), "a value"),
            Assert(log | made.last | (put != place + HEAD_WORDS) | (made.word == body), "a response's word"),
            Assert(~stepped | (made.word == t.log_data), "log as it was stepped to")]
    m.d.comb += Assert(stepped == (log & queue.w_en & ~made.last & (put >= HEAD_WORDS)), "a step for each word of log")
    return m, [t.respond, t.head.as_value(), t.value, t.size, t.word, t.log_size, t.log_position, t.log_data, t.sent.ready,
               queue.level, queue.w_rdy, queue.r_rdy, queue.r_data, crc.state, word, chosen]
