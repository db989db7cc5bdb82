"""Many requests of one kind whose answers come as expected: what `Requests` does for each of them, without an object for each."""

from __future__ import annotations

import zlib
from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from mrfhw.host.window import ANSWER_BYTES, Exchange
from mrfhw.machine.link_protocol import HEAD_WORDS, NUMBERS, RESPONSE, Frame, Operation, Segment, Status, flagged

if TYPE_CHECKING:
    from mrfhw.host.requests import Requests

__all__ = ["Part", "Transfers"]

_HEAD = Struct("<BBBBI")
_CHECK = Struct("<I")
MEASURED = 8  # one of so many answers is looked at for how long it took


class Part(NamedTuple):
    """A request of many. first, end: words of all that are its body. accesses: of the bus. segments: of a read. response: bytes of
    its answer's body."""

    first: int
    end: int
    accesses: int
    segments: Sequence[Segment]
    response: int


class _Flying(NamedTuple):
    """A request that was sent. then: takes its answer. size: bytes that pass before that is here."""

    operation: Operation
    number: int
    part: Part
    body: bytes
    then: Callable[[Frame], object]
    data: bytes
    sent: float
    size: int


class Transfers:
    """Requests in flight that have been sent once, of a board that has had no errors for a while.

    Whatever is not as expected ends this: `spill` hands those that have no answer to the requests' window, where all of them wait
    in their order, and from there they are sent again, measured and given up.
    """

    def __init__(self, requests: Requests):
        self.requests = requests
        self._flying = deque[_Flying]()
        self._words = self._response = self._bytes = 0  # of them
        self._since = 0  # answers since one was measured

    @property
    def possible(self) -> bool:
        """Whether nothing waits for an answer elsewhere, and the board is one that takes many at once without errors."""
        r = self.requests
        return r.steady and not r.window.waiting

    def post(self, operation: Operation, words: bytes, parts: Sequence[Part], first: int, then: Callable[[int, Frame], object],
             stop: Callable[[], bool]) -> int:
        """Send parts from the first one on, as long as answers are as expected. Returns the first one that was not sent.

        words: of all parts' bodies. then: takes a part's number and its answer, in order. stop: whether no more are wanted.
        """
        number = first
        while number < len(parts) and self.possible and not stop():
            part = parts[number]
            if self._fits(operation, part):
                self._send(operation, words[4 * part.first:4 * part.end], part, partial(then, number))
                number += 1
            elif not self._receive():
                break
        return number

    def drain(self) -> None:
        """Wait for answers as long as they come as expected."""
        while self._flying and self._receive():
            pass

    def spill(self) -> None:
        """From now on those in flight are the window's."""
        if not self._flying:
            return
        r, flying = self.requests, list(self._flying)
        self.forget()
        for one in flying:
            exchange = Exchange(one.operation, 0, one.body, one.part.accesses, one.part.segments, r.limits.silence, one.then)
            exchange.number, exchange.response, exchange.data = one.number, one.part.response, one.data
            r.window.adopt(exchange, one.sent)
            exchange.until = one.sent + r.wait(exchange.size)
        r.begin_turn()

    def forget(self) -> None:
        """Nothing is in flight."""
        self._flying.clear()
        self._words = self._response = self._bytes = 0

    def _fits(self, operation: Operation, part: Part) -> bool:
        """Whether the board has room for one more, as `Window` has it."""
        flying, greeting = len(self._flying), self.requests.greeting
        assert greeting is not None
        if not flying:
            return True
        if flying >= min(greeting.outstanding, int(self.requests.window.most)):
            return False
        return (self._words + HEAD_WORDS + 1 + part.end - part.first <= greeting.request_memory
                and (operation != Operation.READ or self._response <= greeting.response_memory - greeting.response_words))

    def _send(self, operation: Operation, body: bytes, part: Part, then: Callable[[Frame], object]) -> None:
        r, flying = self.requests, self._flying
        last = r.window.last
        number = r.window.last = (last + 1) % NUMBERS
        head = _HEAD.pack(operation, number & 0xFF, (flying[0].number - 1 if flying else last) & 0xFF, number >> 8, 0)
        data = b"".join((head, body, _CHECK.pack(zlib.crc32(body, zlib.crc32(head)))))
        if not r.link.datagrams:
            data = flagged(data)
        now = r.link.clock()
        if not flying:
            r.first_waits()
        self._words += HEAD_WORDS + 1 + part.end - part.first
        self._response += part.response // 4
        self._bytes += len(data) + part.response + ANSWER_BYTES
        flying.append(_Flying(operation, number, part, body, then, data, now, self._bytes))
        r.link.send(data)

    def _receive(self) -> bool:
        """Take what comes next. False after all but expected answers and log, when those in flight have become the window's."""
        r, first = self.requests, self._flying[0]
        until = first.sent + r.wait(first.size)
        while True:
            now = r.link.clock()
            if r.broken or now >= until:
                break
            frames, damaged = r.received(until - now)
            if damaged:
                self._take(frames)
                self.spill()
                r.take_damage()
                return False
            if frames:
                return self._take(frames)
        self.spill()
        return False

    def _take(self, frames: list[Frame]) -> bool:
        r, now = self.requests, self.requests.link.clock()
        for number, frame in enumerate(frames):
            first = self._flying[0] if self._flying else None
            if frame.operation == Operation.LOG:
                r.take_frame(frame)
            elif first is not None and self._expected(first, frame):
                self._flying.popleft()
                self._words -= HEAD_WORDS + 1 + first.part.end - first.part.first
                self._response -= first.part.response // 4
                self._bytes -= len(first.data) + first.part.response + ANSWER_BYTES
                r.heard(now)
                self._since += 1
                if self._since >= MEASURED:
                    self._since = 0
                    r.measure(now - first.sent, first.size, not self._flying)
                r.longest = max(r.longest, now - first.sent)
                first.then(frame)
            else:
                self.spill()
                for other in frames[number:]:
                    r.take_frame(other)
                return False
        return True

    @staticmethod
    def _expected(first: _Flying, frame: Frame) -> bool:
        """Whether it is the first one's answer, with all accesses done."""
        return (frame.operation == first.operation | RESPONSE and frame.number == first.number & 0xFF
                and frame.session == first.number >> 8 and frame.status == Status.DONE and frame.value == first.part.accesses
                and len(frame.body) == first.part.response)
