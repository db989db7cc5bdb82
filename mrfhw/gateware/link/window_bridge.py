"""The board's end of a link with several requests outstanding (docs/link.md)."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib.wiring import In, Member, Out

from mrfhw.gateware.link.bridge import Bridge, Request, check_link
from mrfhw.gateware.link.kept_responses import SETTLING, KeptResponses
from mrfhw.gateware.link.request_queue import RequestQueue
from mrfhw.machine.link_protocol import (
    FIRST_WINDOWED,
    LINK_VERSION,
    LOG_BYTES,
    NEAR,
    RESPONSE,
    WINDOW,
    WINDOW_CYCLES,
    WORDS,
    Operation,
    Status,
    frame_words,
)

__all__ = ["WINDOW_CYCLES", "WindowBridge"]


class WindowBridge(Bridge):
    """A `Bridge` that receives requests while others are carried out, and keeps responses until the host acknowledges them.

    outstanding: requests that the host may send before it has their responses. words, response_words: of memories for several
    frames, of which the largest are `frame_words`. tag: of the datagram whose last word came last, with which it is kept;
    taken_tag: that of the request that is carried out, with `accepted`. The others: see `Bridge`. A write or read takes
    WINDOW_CYCLES beside those of its segments.
    """

    _holds = False

    def __init__(self, address_bits: int, line_bits: int, words: int = WORDS, log_bytes: int = LOG_BYTES,
                 response_words: int | None = None, datagrams: bool = False, outstanding: int = WINDOW, tag_bits: int = 0):
        check_link(line_bits, words, log_bytes, response_words, datagrams, outstanding)
        if outstanding < 2:
            raise ValueError(f"outstanding is {outstanding}; a board with one has a Bridge: give two or more")
        self.outstanding, self.tag_bits = outstanding, tag_bits
        self.request_memory, self.response_memory = words, words if response_words is None else response_words
        super().__init__(address_bits, line_bits, frame_words(words, outstanding), log_bytes,
                         frame_words(self.response_memory, outstanding), datagrams)

    def _more_ports(self) -> dict[str, Member]:
        return {"tag": In(self.tag_bits), "taken_tag": Out(self.tag_bits)}

    def _memories(self, m: Module, receiver: Any, transmitter: Any) -> None:
        m.submodules.queue = self.queue = queue = RequestQueue(self.request_memory, self.words, self.outstanding, self.tag_bits)
        m.submodules.kept = self.kept = kept = KeptResponses(self.response_memory, self.response_words, self.outstanding)
        self.request = SimpleNamespace(addr=queue.place, en=queue.step, data=queue.data)
        self.response = SimpleNamespace(addr=kept.stored_at, en=kept.store, data=kept.stored)
        m.d.comb += [
            queue.write.eq(receiver.write), queue.address.eq(receiver.address), queue.word.eq(receiver.word),
            queue.came.eq(receiver.held), queue.size.eq(receiver.size), queue.tag.eq(self.tag), queue.step.eq(1),
            self.holding.eq(queue.held), self.taken_tag.eq(queue.held_tag),
            kept.address.eq(transmitter.address), transmitter.word.eq(kept.word),
        ]

    def _greeting(self) -> tuple[list[Any], Any]:
        words, last = super()._greeting()
        words[0] = Mux(self.old, words[0], LINK_VERSION)
        return [*words, self.outstanding, self.request_memory, self.response_memory], Mux(self.old, last, last + 3)

    def _requests(self, m: Module, receiver: Any, transmitter: Any) -> None:
        """Carries requests out in the order of their numbers; `r.number` is of 16 bits, above the session's or the number's own."""
        r, kept, queue, word = Request.of(self.words, self.response_words, 16), self.kept, self.queue, self.request.data
        self.under_way = r
        self.told, self.old = Signal(8, name="told"), Signal(name="old")  # a head's third byte; the hello was of an earlier version
        # The number of the last request that was carried out, and whether that is a hello.
        self.last, self.greeted = Signal(16, name="last"), Signal(name="greeted")
        # Operation and number of the request to which the response that is sent belongs, and whether it refuses it.
        answered, refuses = Signal(24, name="answered_to"), Signal(name="refuses")
        m.d.comb += [
            queue.place.eq(r.at), kept.stored_at.eq(r.size), kept.slot.eq(r.number), kept.status.eq(r.status),
            kept.value.eq(r.value), kept.size.eq(r.size),
            transmitter.respond.eq(r.answered), transmitter.value.eq(Mux(refuses, 0, kept.sent_value)),
            transmitter.size.eq(Mux(refuses, 0, kept.sent_size)), transmitter.head.operation.eq(answered[:8] | RESPONSE),
            Cat(transmitter.head.number, transmitter.head.session).eq(answered[8:]),
            transmitter.head.status.eq(Mux(refuses, Status.NUMBER, kept.sent_status)),
        ]
        with m.If(transmitter.responded):
            m.d.sync += r.answered.eq(0)
        with m.FSM() as self.states:
            with m.State("IDLE"):
                m.d.sync += r.at.eq(0)
                with m.If(queue.held):
                    m.next = "FETCH_HEAD"
            with m.State("FETCH_HEAD"):
                m.d.sync += r.at.eq(1)
                m.next = "HEAD"
            with m.State("HEAD"):
                m.d.sync += [r.operation.eq(word[:8]), r.number.eq(Cat(word[8:16], word[24:])), self.told.eq(word[16:24])]
                m.next = "NUMBER"
            self._decide(m, r)
            self._begin_sessions(m, r)
            self._acknowledge(m, r)
            self._greet(m, r)
            self._credit(m, r, queue.held_size, transmitter)
            self._segments(m, r, queue.held_size)
            # What a credit grants is sent after its answer.
            credit = r.operation == Operation.CREDIT
            with m.State("ANSWER"):
                m.d.comb += [kept.keep.eq(1), self.hold.eq(credit)]
                m.d.sync += self.last.eq(r.number)
                m.next = "AGAIN"
            with m.State("AGAIN"):
                m.d.comb += [queue.take.eq(1), self.accepted.eq(1), self.hold.eq(credit)]
                m.next = "SEND"
            with m.State("SEND"):
                m.d.comb += self.hold.eq(credit)
                with m.If(~r.answered):
                    m.d.comb += kept.send.eq(1)
                    m.d.sync += [r.answered.eq(1), answered.eq(Cat(r.operation, r.number)), refuses.eq(0)]
                    m.next = "IDLE"
            with m.State("REFUSE"), m.If(~r.answered):
                m.d.comb += [queue.take.eq(1), self.accepted.eq(1)]
                m.d.sync += [r.answered.eq(1), answered.eq(Cat(r.operation, r.number)), refuses.eq(1)]
                m.next = "IDLE"
            with m.State("IGNORE"):
                m.d.comb += queue.take.eq(1)
                m.next = "IDLE"

    def _decide(self, m: Module, r: Request) -> None:
        """Decide by a request's number: carry it out, send a kept response again, ignore it or refuse it."""
        after, behind, ahead = (Signal(16, name=name) for name in ("after", "behind", "ahead"))
        # The numbers of an earlier version are of eight bits, below the session's.
        m.d.comb += [after.eq(Mux(self.old, Cat((self.last + 1)[:8], self.last[8:]), self.last + 1)),
                     behind.eq(self.last - r.number), ahead.eq(r.number - self.last)]
        near = (behind < NEAR) | (ahead < NEAR)
        with m.State("NUMBER"):
            with m.If(r.operation == Operation.HELLO):
                # What is sent now is of the kept responses, which end here.
                m.next = "NUMBER"
                with m.If(~r.answered):
                    m.next = "SESSION"
            with m.Elif(~r.known):
                m.next = "REFUSE"
            with m.Elif(r.number == after):
                m.next = "ACKNOWLEDGE"
            with m.Elif(behind < self.kept.count):
                m.next = "AGAIN"
            with m.Elif(1 if self.datagrams else ~self.old & near):
                m.next = "IGNORE"
            with m.Else():
                m.next = "REFUSE"

    def _begin_sessions(self, m: Module, r: Request) -> None:
        """A hello begins a session; in datagrams unless it is a late copy of this session's hello or of the one before."""
        begin, word, session = Signal(name="begin"), self.request.data, list[Any]()
        m.d.comb += begin.eq(1)
        if self.datagrams:
            nonce, before, begun = Signal(32, name="nonce"), Signal(32, name="nonce_before"), Signal(name="begun")
            again, new = Signal(name="again"), Signal(name="new")
            m.d.comb += [again.eq((word == nonce) & (r.number[:8] == self.last[:8]) & self.greeted), new.eq(r.known & ~again),
                         begin.eq(~r.known | again | ((word != nonce) & ~(begun & (word == before))))]
            session = [r.number[8:].eq(word), nonce.eq(word), self.greeted.eq(1), before.eq(Mux(new, nonce, before)),
                       begun.eq(begun | new)]
        with m.State("SESSION"):
            m.next = "IGNORE"
            with m.If(begin):
                m.d.comb += self.kept.restart.eq(1)
                m.d.sync += [r.status.eq(Status.DONE), r.size.eq(0), r.known.eq(1), self.old.eq(self.told < FIRST_WINDOWED),
                             *session]
                m.next = "GREET"

    def _acknowledge(self, m: Module, r: Request) -> None:
        """Release what the host has, and carry the request out where its response has room."""
        kept, acknowledged = self.kept, Signal(8, name="acknowledged")
        m.d.comb += [acknowledged.eq(self.told - self.last[:8] + kept.count),
                     kept.released.eq(Mux(self.old, kept.count, Mux(acknowledged <= kept.count, acknowledged, 0)))]
        with m.State("ACKNOWLEDGE"):
            m.d.comb += kept.release.eq(1)
            m.next = "SETTLE_1"
        for number in range(1, SETTLING):
            with m.State(f"SETTLE_{number}"):
                m.next = f"SETTLE_{number + 1}" if number + 1 < SETTLING else "ROOM"
        with m.State("ROOM"):
            m.d.sync += [r.status.eq(Status.DONE), r.value.eq(0), r.size.eq(0), self.greeted.eq(0)]
            with m.If((kept.count == self.outstanding) | ((r.operation == Operation.READ) & ~kept.room)):
                m.next = "IGNORE"
            with m.Else():
                self._carry_out(m, r, r.operation)
