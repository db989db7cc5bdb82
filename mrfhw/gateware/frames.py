"""Frames on a byte stream (docs/link.md): flags, escapes and CRC-32."""

from __future__ import annotations

from typing import Any

from amaranth import Array, Cat, Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.crc.catalog import CRC32_ETHERNET
from amaranth.lib.wiring import In, Out

from mrfhw.config import bits_for
from mrfhw.host.protocol import ESCAPE, FLAG, FLIP, HEAD_WORDS, LOG_CHUNK, Operation

__all__ = ["FrameReceiver", "FrameTransmitter", "check_words"]


def check_words(name: str, words: int) -> int:
    """A frame memory's size, or ValueError."""
    if isinstance(words, bool) or not isinstance(words, int) or not 16 <= words <= 4096 or words & (words - 1):
        raise ValueError(f"{name} is {words!r}; a frame memory has 16 to 4096 words, a power of two: give one of them")
    return words


def _crc(m: Module, name: str) -> Any:
    crc = CRC32_ETHERNET(data_width=8).create()
    m.submodules[name] = crc
    return crc


class FrameReceiver(wiring.Component):
    """From bytes to frames of whole words.

    bytes: one a cycle at most; never waits. write, address, word: a frame's words as they come, CRC included, for a memory of
    `words`. held: a frame with the right CRC is there, two cycles after its last flag; size: its words without the CRC.
    take: it may be overwritten. Bytes that come while a frame is held are lost, with what is left of their frame.
    """

    def __init__(self, words: int):
        self.words = check_words("words", words)
        super().__init__({"bytes": In(stream.Signature(8)), "write": Out(1), "address": Out(range(words)),
                          "word": Out(32), "held": Out(1), "size": Out(range(words)), "take": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        crc = _crc(m, "crc")
        byte, flag, escape = self.bytes.payload, Signal(), Signal()
        m.d.comb += [flag.eq(byte == FLAG), escape.eq(byte == ESCAPE)]
        # The first flag after a byte was lost begins anew.
        bad, escaped = Signal(init=1), Signal()
        count, shift = Signal(range(4 * self.words + 1)), Signal(24)
        clear = Mux(escaped, byte ^ FLIP, byte)
        m.d.comb += [crc.data.eq(clear), self.word.eq(Cat(shift, clear)), self.address.eq(count[2:]),
                     crc.start.eq(self.bytes.valid & flag), self.bytes.ready.eq(1)]
        with m.If(self.take):
            m.d.sync += self.held.eq(0)
        with m.If(self.bytes.valid):
            with m.If(self.held):
                m.d.sync += bad.eq(1)
            with m.Elif(flag):
                whole = (count[:2] == 0) & (count >= 4 * (HEAD_WORDS + 1)) & ~bad & ~escaped & crc.match_detected
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
    """From a response in a memory, or the log's bytes, to a frame.

    respond: hold until `responded`, with head, value and size (words) steady; address, word: its words, read a cycle ahead.
    log_*: a log frame is begun while nothing else is sent and log_more is set: log_position is the position of the byte wanted
    next, whose value is log_byte a cycle later; log_step takes it. log_more: there is such a byte.
    idle: no frame is under way. bytes: a byte every second cycle at most.
    """

    def __init__(self, words: int):
        self.words = check_words("words", words)
        super().__init__({
            "respond": In(1), "responded": Out(1), "head": In(data.StructLayout({"operation": 8, "number": 8, "status": 8})),
            "value": In(32), "size": In(range(words + 1)), "address": Out(range(words)), "word": In(32),
            "log_more": In(1), "log_position": In(32), "log_byte": In(8), "log_step": Out(1),
            "idle": Out(1), "bytes": Out(stream.Signature(8))})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        crc = _crc(m, "crc")
        log, chunk = Signal(), Signal(range(LOG_CHUNK + 1))
        start, head, index, tail = Signal(32), Signal(32), Signal(range(4 * (self.words + HEAD_WORDS) + 1)), Signal(2)
        place = Signal(range(4 * self.words))
        words = Array([head[8 * i:8 * i + 8] for i in range(4)] + [start[8 * i:8 * i + 8] for i in range(4)])
        payload, stored = Signal(8), Array([self.word[8 * i:8 * i + 8] for i in range(4)])
        in_head = Signal()
        m.d.comb += [
            place.eq(index - 4 * HEAD_WORDS), in_head.eq(index < 4 * HEAD_WORDS), self.address.eq(place[2:]),
            payload.eq(Mux(in_head, words[index[:bits_for(4 * HEAD_WORDS)]], Mux(log, self.log_byte, stored[index[:2]]))),
        ]
        closing, special, sent_escape, byte = Signal(), Signal(), Signal(), Signal(8)
        m.d.comb += [byte.eq(Mux(closing, Array([crc.crc[8 * i:8 * i + 8] for i in range(4)])[tail], payload)),
                     special.eq((byte == FLAG) | (byte == ESCAPE)), crc.data.eq(payload)]
        last = Mux(log, ~in_head & (~self.log_more | (chunk == LOG_CHUNK)), index == ((self.size + HEAD_WORDS) << 2))
        with m.FSM():
            with m.State("IDLE"):
                m.d.comb += [self.idle.eq(1), crc.start.eq(1)]
                m.d.sync += [index.eq(0), chunk.eq(0), tail.eq(0), closing.eq(0), sent_escape.eq(0), log.eq(~self.respond)]
                m.d.sync += [head.eq(Mux(self.respond, self.head.as_value(), int(Operation.LOG))),
                             start.eq(Mux(self.respond, self.value, self.log_position))]
                with m.If(self.respond | self.log_more):
                    m.next = "OPEN"
            with m.State("OPEN"):
                m.d.comb += [self.bytes.payload.eq(FLAG), self.bytes.valid.eq(1)]
                with m.If(self.bytes.ready):
                    m.next = "FETCH"
            with m.State("FETCH"):
                # A cycle for the memories and for the CRC of the byte before.
                with m.If(~closing & last):
                    m.d.sync += closing.eq(1)
                m.next = "BYTE"
            with m.State("BYTE"):
                m.d.comb += [self.bytes.valid.eq(1),
                             self.bytes.payload.eq(Mux(sent_escape, byte ^ FLIP, Mux(special, ESCAPE, byte)))]
                with m.If(self.bytes.ready):
                    with m.If(special & ~sent_escape):
                        m.d.sync += sent_escape.eq(1)
                    with m.Else():
                        m.d.sync += sent_escape.eq(0)
                        m.d.comb += [crc.valid.eq(~closing), self.log_step.eq(log & ~closing & ~in_head)]
                        with m.If(closing):
                            m.d.sync += tail.eq(tail + 1)
                        with m.Else():
                            m.d.sync += index.eq(index + 1)
                            with m.If(~in_head):
                                m.d.sync += chunk.eq(chunk + 1)
                        m.next = "FETCH"
                        with m.If(closing & (tail == 3)):
                            m.next = "CLOSE"
            with m.State("CLOSE"):
                m.d.comb += [self.bytes.payload.eq(FLAG), self.bytes.valid.eq(1)]
                with m.If(self.bytes.ready):
                    m.d.comb += self.responded.eq(~log)
                    m.next = "IDLE"
        return m
