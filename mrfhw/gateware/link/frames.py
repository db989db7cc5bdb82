"""Frames on a byte stream (docs/link.md): flags, escapes and CRC-32."""

from __future__ import annotations

from functools import reduce
from operator import xor

from amaranth import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.wiring import In, Member, Out

from mrfhw.machine.link_protocol import ESCAPE, FLAG, FLIP, FRAME_WORDS, HEAD_WORDS, LOG_CHUNK, Operation, is_size

__all__ = ["Crc", "FrameReceiver", "FrameTransmitter", "check_words", "received_frame", "response"]

HEAD = "operation", "number", "status", "session"  # bytes
CRC_POLYNOMIAL = 0xEDB88320  # Ethernet's, lowest bit first
CRC_RESIDUE = 0xDEBB20E3  # the state after any data that is followed by its own CRC


def check_words(name: str, words: int) -> int:
    """A frame memory's size, or ValueError."""
    if not is_size(words, FRAME_WORDS):
        least, most = FRAME_WORDS
        raise ValueError(f"{name} is {words!r}; a frame memory has {least} to {most} words, a power of two: give one of them")
    return words


def received_frame(words: int) -> dict[str, Member]:
    """Ports of a receiver of frames.

    write, address, word: writes of the frame's words, CRC included, into a memory of `words`. held: a frame with the right CRC is
    complete; size: its words without the CRC. take: it may be overwritten. A receiver that does not hold its frames has `held` for
    one cycle only, in which size and the words are whole, and takes the next frame at once.
    """
    return {"write": Out(1), "address": Out(range(words)), "word": Out(32), "held": Out(1), "size": Out(range(words)),
            "take": In(1)}


def response(words: int, session: bool) -> dict[str, Member]:
    """Ports of a transmitter of frames, for a response.

    respond: hold it until `responded`, with head, value and size (words) constant. address, word: the response memory, which gives
    `word` one cycle after `address`. idle: no frame is being sent. session: a head has its fourth byte, which else is 0.
    """
    head = data.StructLayout(dict.fromkeys(HEAD if session else HEAD[:-1], 8))
    return {
        "respond": In(1), "responded": Out(1), "head": In(head),
        "value": In(32), "size": In(range(words + 1)), "address": Out(range(words)), "word": In(32), "idle": Out(1)}


class Crc(wiring.Component):
    """CRC-32 of Ethernet, a byte a cycle.

    start: begin a new CRC. valid, byte: the next byte, included in `state` one cycle later. state: the inverted CRC. Feeding the
    state's lowest byte back as the next byte shifts the state down by a byte, so the CRC can be sent from the lowest byte on.
    whole: the bytes so far ended with their own CRC.
    """

    def __init__(self) -> None:
        super().__init__({"start": In(1), "valid": In(1), "byte": In(8), "state": Out(32, init=0xFFFFFFFF), "whole": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        # The byte meets the lowest state bits; each of the eight bits that result stands for a constant.
        mixed = Signal(8)
        terms = [Signal(32, name=f"term_{i}") for i in range(8)]
        m.d.comb += [mixed.eq(self.state[:8] ^ self.byte), self.whole.eq(self.state == CRC_RESIDUE)]
        for i, term in enumerate(terms):
            value = 1 << i
            for _ in range(8):
                value = value >> 1 ^ (CRC_POLYNOMIAL if value & 1 else 0)
            m.d.comb += term.eq(Mux(mixed[i], value, 0))
        with m.If(self.start):
            m.d.sync += self.state.eq(self.state.init)
        with m.Elif(self.valid):
            m.d.sync += self.state.eq(reduce(xor, terms, self.state >> 8))
        return m


class FrameReceiver(wiring.Component):
    """From bytes to frames of whole words.

    bytes: at most one per cycle, without backpressure. The others: see `received_frame`; held two cycles after the last flag. Bytes
    that arrive while a frame is held are lost, with the rest of their frame. holds: it holds its frames.
    """

    def __init__(self, words: int, holds: bool = True):
        self.words, self.holds = check_words("words", words), holds
        self.crc = Crc()
        super().__init__({"bytes": In(stream.Signature(8)), **received_frame(words)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.crc = crc = self.crc
        byte = self.bytes.payload
        flag = Signal()
        escape = Signal()
        m.d.comb += [flag.eq(byte == FLAG), escape.eq(byte == ESCAPE)]
        # After a lost byte the next flag begins a new frame.
        bad = Signal(init=1)
        escaped = Signal()
        count = Signal(range(4 * self.words + 1))
        shift = Signal(24)
        clear = Mux(escaped, byte ^ FLIP, byte)
        self.bad, self.escaped, self.count, self.shift = bad, escaped, count, shift
        m.d.comb += [crc.byte.eq(clear), self.word.eq(Cat(shift, clear)), self.address.eq(count[2:]),
                     crc.start.eq(self.bytes.valid & flag), self.bytes.ready.eq(1)]
        with m.If(self.take if self.holds else 1):
            m.d.sync += self.held.eq(0)
        with m.If(self.bytes.valid):
            with m.If(self.held if self.holds else 0):
                m.d.sync += bad.eq(1)
            with m.Elif(flag):
                whole = (count[:2] == 0) & (count >= 4 * (HEAD_WORDS + 1)) & ~bad & ~escaped & crc.whole
                m.d.sync += [count.eq(0), bad.eq(0), escaped.eq(0), self.held.eq(whole), self.size.eq(count[2:] - 1)]
            with m.Elif(escape):
                m.d.sync += [escaped.eq(1), bad.eq(bad | escaped)]
            with m.Elif(count == 4 * self.words):
                m.d.sync += bad.eq(1)
            with m.Else():
                m.d.comb += [crc.valid.eq(1), self.write.eq(~bad & (count[:2] == 3))]
                m.d.sync += [count.eq(count + 1), shift.eq(Cat(shift[8:], clear)), escaped.eq(0)]
        return m


class FrameTransmitter(wiring.Component):
    """Sends frames: a response from a memory, or the log's bytes.

    log_*: a log frame begins when no other frame is sent and log_more is set. log_position: position of the next byte, which is in
    log_byte one cycle later; log_step: the byte is taken. log_more: there is a byte at log_position. Both may follow a step by two
    cycles.
    bytes: at most one byte every third cycle. The others: see `response`.
    """

    def __init__(self, words: int, session: bool = False):
        self.words = check_words("words", words)
        super().__init__({
            **response(words, session), "log_more": In(1), "log_position": In(32), "log_byte": In(8), "log_step": Out(1),
            "bytes": Out(stream.Signature(8))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.crc = self.crc = crc = Crc()
        log = Signal()
        tail = Signal(2)
        index = Signal(range(max(4 * self.words, LOG_CHUNK) + 4 * HEAD_WORDS + 1))
        word = Signal(32)
        payload = Signal(8)
        in_head = Signal()
        m.d.comb += [in_head.eq(index < 4 * HEAD_WORDS), self.address.eq((index >> 2) - HEAD_WORDS)]
        # The position in a log frame's header is constant until the frame's first byte is taken.
        with m.Switch(index >> 2):
            with m.Case(0):
                m.d.comb += word.eq(Mux(log, int(Operation.LOG), self.head.as_value()))
            with m.Case(1):
                m.d.comb += word.eq(Mux(log, self.log_position, self.value))
            with m.Default():
                m.d.comb += word.eq(self.word)
        m.d.comb += payload.eq(Array([word[8 * i:8 * i + 8] for i in range(4)])[index[:2]])
        with m.If(log & ~in_head):
            m.d.comb += payload.eq(self.log_byte)
        closing = Signal()
        special = Signal()
        sent_escape = Signal()
        byte = Signal(8)
        self.byte, self.log, self.closing, self.in_head = byte, log, closing, in_head
        self.tail, self.index, self.sent_escape = tail, index, sent_escape
        m.d.comb += [special.eq((byte == FLAG) | (byte == ESCAPE)),
                     crc.byte.eq(Mux(closing, ~byte, byte))]
        last = (index == Mux(log, LOG_CHUNK + 4 * HEAD_WORDS, (self.size + HEAD_WORDS) << 2)) | (log & ~in_head & ~self.log_more)
        with m.FSM() as self.states:
            with m.State("IDLE"):
                m.d.comb += [self.idle.eq(1), crc.start.eq(1)]
                m.d.sync += [index.eq(0), tail.eq(0), closing.eq(0), sent_escape.eq(0), log.eq(~self.respond)]
                with m.If(self.respond | self.log_more):
                    m.next = "OPEN"
            with m.State("OPEN"):
                m.d.comb += [self.bytes.payload.eq(FLAG), self.bytes.valid.eq(1)]
                with m.If(self.bytes.ready):
                    m.next = "FETCH"
            with m.State("FETCH"):
                # One cycle of latency of the memories, and of the CRC of the previous byte.
                m.next = "CHOOSE"
            with m.State("CHOOSE"):
                m.d.sync += byte.eq(Mux(closing, ~crc.state[:8], payload))
                with m.If(~closing & last):
                    m.d.sync += closing.eq(1)
                with m.Else():
                    m.next = "BYTE"
            with m.State("BYTE"):
                m.d.comb += [self.bytes.valid.eq(1),
                             self.bytes.payload.eq(Mux(sent_escape, byte ^ FLIP, Mux(special, ESCAPE, byte)))]
                with m.If(self.bytes.ready):
                    with m.If(special & ~sent_escape):
                        m.d.sync += sent_escape.eq(1)
                    with m.Else():
                        m.d.sync += sent_escape.eq(0)
                        m.d.comb += [crc.valid.eq(1), self.log_step.eq(log & ~closing & ~in_head)]
                        with m.If(closing):
                            m.d.sync += tail.eq(tail + 1)
                        with m.Else():
                            m.d.sync += index.eq(index + 1)
                        m.next = "FETCH"
                        with m.If(closing & (tail == 3)):
                            m.next = "CLOSE"
            with m.State("CLOSE"):
                m.d.comb += [self.bytes.payload.eq(FLAG), self.bytes.valid.eq(1)]
                with m.If(self.bytes.ready):
                    m.d.comb += self.responded.eq(~log)
                    m.next = "IDLE"
        return m
