"""Frames in datagrams (docs/link.md): one frame of whole words in each, with its CRC-32, without flags and escapes."""

from __future__ import annotations

from functools import reduce
from operator import xor

from amaranth import Module, Mux, Signal
from amaranth.lib import data, stream, wiring
from amaranth.lib.fifo import SyncFIFOBuffered
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.link.frames import CRC_POLYNOMIAL, CRC_RESIDUE, check_words, received_frame, response
from mrfhw.machine.link_protocol import DATAGRAM_LOG_CHUNK, HEAD_WORDS, Operation

__all__ = ["DatagramReceiver", "DatagramTransmitter", "DatagramWord", "SentWord", "WordCrc"]

QUEUE = 8  # words between the transmitter and its datagrams, which may not pause once they have begun
_ON_THE_WAY = 3  # words that may still come into the queue after it was looked at


class DatagramWord(data.StructLayout):
    """A word of a datagram that has arrived, its first byte lowest. last: of its datagram; whole, with the last word: the datagram
    is undamaged and of whole words."""

    def __init__(self) -> None:
        super().__init__({"word": 32, "last": 1, "whole": 1})


class SentWord(data.StructLayout):
    """A word of a datagram to be sent, its first byte lowest. length: bytes of the datagram, with each of its words."""

    def __init__(self) -> None:
        super().__init__({"word": 32, "last": 1, "length": 16})


class WordCrc(wiring.Component):
    """CRC-32 of Ethernet, four bytes a cycle, the lowest first.

    valid, word: included in `state`, the inverted CRC, one cycle later; first: the CRC begins with this word. whole: the words so
    far ended with their own CRC.
    """

    def __init__(self) -> None:
        super().__init__({"valid": In(1), "first": In(1), "word": In(32), "state": Out(32), "whole": Out(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        mixed = Signal(32)
        # Each of the 32 bits that state and word give together stands for a constant.
        terms = [Signal(32, name=f"term_{i}") for i in range(32)]
        m.d.comb += [mixed.eq(Mux(self.first, 0xFFFFFFFF, self.state) ^ self.word), self.whole.eq(self.state == CRC_RESIDUE)]
        for i, term in enumerate(terms):
            value = 1 << i
            for _ in range(32):
                value = value >> 1 ^ (CRC_POLYNOMIAL if value & 1 else 0)
            m.d.comb += term.eq(Mux(mixed[i], value, 0))
        with m.If(self.valid):
            m.d.sync += self.state.eq(reduce(xor, terms))
        return m


class DatagramReceiver(wiring.Component):
    """From datagrams to frames.

    received: at most a word a cycle, without backpressure. The others: see `received_frame`; held two cycles after the last word.
    Datagrams that begin or arrive while a frame is held are lost, as are those that are longer
    than the memory. holds: it holds its frames; else words of the next datagram may come in the cycles before `held`.
    """

    def __init__(self, words: int, holds: bool = True):
        self.words, self.holds = check_words("words", words), holds
        self.crc = WordCrc()
        super().__init__({"received": In(stream.Signature(DatagramWord())), **received_frame(words)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.crc = crc = self.crc
        valid, now = self.received.valid, self.received.payload
        first, lost, ended = Signal(init=1), Signal(), Signal()
        count = Signal(range(self.words + 1))
        self.first, self.lost, self.ended, self.count = first, lost, ended, count
        busy = self.held | ended if self.holds else 0
        bad = Mux(first, 0, lost) | busy | (~first & (count == self.words))
        at = Mux(first, 0, count)
        m.d.comb += [self.received.ready.eq(1), crc.valid.eq(valid), crc.first.eq(first), crc.word.eq(now.word),
                     self.word.eq(now.word), self.address.eq(at), self.write.eq(valid & ~bad)]
        m.d.sync += ended.eq(0)
        with m.If(self.take if self.holds else 1):
            m.d.sync += self.held.eq(0)
        with m.If(valid):
            m.d.sync += [first.eq(now.last), lost.eq(bad), count.eq(at + ~bad)]
            with m.If(now.last & now.whole & ~bad & (at >= HEAD_WORDS)):
                m.d.sync += [ended.eq(1), self.size.eq(at)]
        with m.If(ended):
            m.d.sync += self.held.eq(crc.whole)
        return m


class DatagramTransmitter(wiring.Component):
    """Sends frames: a response from a memory, or the log's words.

    log_size: words of log that may be sent from log_position on, at most a log frame's; a log frame begins when no other frame is
    sent and it is above 0. log_data: the log's next word, one cycle after its place was stepped to; log_step: on to the next one.
    log_size and log_position may follow a step by two cycles.
    sent: a word a cycle while it is taken, from a datagram's first to its last; the cycles of a datagram are its words and 3 more.
    The others: see `response`.
    """

    def __init__(self, words: int, session: bool = False):
        self.words = check_words("words", words)
        super().__init__({
            **response(words, session), "log_size": In(range(DATAGRAM_LOG_CHUNK // 4 + 1)), "log_position": In(32),
            "log_data": In(32), "log_step": Out(1), "sent": Out(stream.Signature(SentWord()))})
        self.crc, self.queue = WordCrc(), SyncFIFOBuffered(width=SentWord().size, depth=QUEUE)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        m.submodules.crc, m.submodules.queue = crc, queue = self.crc, self.queue
        log = Signal()
        index = Signal(range(max(self.words, DATAGRAM_LOG_CHUNK // 4) + HEAD_WORDS + 1))
        size = Signal.like(index)
        position = Signal(32)
        self.log, self.index, self.size_sent = log, index, size
        # A word is addressed in one cycle and put into the queue in the next.
        addressed, place = Signal(), Signal.like(index)
        self.addressed, self.place = addressed, place
        word, made = Signal(32), Signal(SentWord())
        m.d.comb += [
            self.address.eq(index - HEAD_WORDS), made.length.eq((size + 1) << 2), made.word.eq(word), crc.word.eq(word),
            crc.first.eq(place == 0), queue.w_data.eq(made), self.sent.payload.as_value().eq(queue.r_data),
            self.sent.valid.eq(queue.r_rdy), queue.r_en.eq(self.sent.ready),
        ]
        with m.Switch(place):
            with m.Case(0):
                m.d.comb += word.eq(Mux(log, int(Operation.LOG), self.head.as_value()))
            with m.Case(1):
                m.d.comb += word.eq(Mux(log, position, self.value))
            with m.Default():
                m.d.comb += word.eq(Mux(log, self.log_data, self.word))
        with m.If(addressed):
            m.d.comb += [crc.valid.eq(1), queue.w_en.eq(1)]
        m.d.sync += [addressed.eq(0), place.eq(index)]
        room = queue.level <= QUEUE - _ON_THE_WAY
        with m.FSM() as self.states:
            with m.State("IDLE"):
                m.d.comb += self.idle.eq(1)
                m.d.sync += [index.eq(0), log.eq(~self.respond), position.eq(self.log_position),
                             size.eq(Mux(self.respond, self.size, self.log_size) + HEAD_WORDS)]
                with m.If(self.respond | (self.log_size != 0)):
                    m.next = "WORDS"
            with m.State("WORDS"), m.If(room):
                m.d.sync += [addressed.eq(1), index.eq(index + 1)]
                m.d.comb += self.log_step.eq(log & (index >= HEAD_WORDS))
                with m.If(index + 1 == size):
                    m.next = "LAST"
            with m.State("LAST"):
                m.next = "CRC"
            with m.State("CRC"):
                m.d.comb += [made.word.eq(~crc.state), made.last.eq(1), queue.w_en.eq(queue.w_rdy)]
                with m.If(queue.w_rdy):
                    m.d.comb += self.responded.eq(~log)
                    m.next = "CLOSE"
            with m.State("CLOSE"):
                # The positions of the log follow its steps.
                m.next = "IDLE"
        return m
