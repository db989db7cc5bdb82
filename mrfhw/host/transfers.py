"""Many requests of one kind whose answers come as expected: what `Requests` does for each of them, without an object for each."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from functools import partial
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple
from zlib import crc32

from mrfhw.host.window import ANSWER_BYTES, Exchange
from mrfhw.machine.link_protocol import HEAD_WORDS, NUMBERS, RESPONSE, Frame, Operation, Segment, Status, flagged

if TYPE_CHECKING:
    from mrfhw.host.requests import Requests

__all__ = ["Part", "Transfers"]

_HEAD = Struct("<BBBBI")
_CHECK = Struct("<I")
WHOLE_FRAME = 0x2144DF1C  # the CRC of bytes that end with their CRC
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
    """A request that was sent, as `Transfers` has it.

    head: of the answer that is expected, as bytes. then: takes any other. done: takes that one's body. size: bytes that pass before
    it is here. bytes: of them those of the request itself and of its answer.
    """

    operation: Operation
    number: int
    part: Part
    body: bytes
    head: bytes
    then: Callable[[Frame], object]
    done: Callable[[bytes], object] | None
    data: bytes
    sent: float
    size: int
    bytes: int


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
             done: Callable[[bytes], object] | None, stop: Callable[[], bool]) -> int:
        """Send parts from the first one on, as long as answers are as expected. Returns the first one that was not sent.

        words: of all parts' bodies. done: takes the body of an expected answer, in order; then: a part's number and another answer.
        stop: whether no more are wanted after an answer or log.
        """
        number, goes_on = first, self.possible and not stop()
        while goes_on and number < len(parts):
            number = self._fill(operation, words, parts, number, then, done)
            if number < len(parts):
                goes_on = self._receive() and not stop()
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

    def _fill(self, operation: Operation, words: bytes, parts: Sequence[Part], number: int, then: Callable[[int, Frame], object],
              done: Callable[[bytes], object] | None) -> int:
        """Send as many as the board has room for, as `Window` has it. Returns the first that was not sent."""
        r, flying, window, link = self.requests, self._flying, self.requests.window, self.requests.link
        greeting = r.greeting
        assert greeting is not None
        most, room = min(greeting.outstanding, int(window.most)), greeting.request_memory
        answers = greeting.response_memory - greeting.response_words if operation == Operation.READ else self._response
        while number < len(parts):
            part = parts[number]
            size = HEAD_WORDS + 1 + part.end - part.first
            if flying and (len(flying) >= most or self._words + size > room or self._response > answers):
                break
            if not flying:
                r.first_waits()
            last, body = window.last, words[4 * part.first:4 * part.end]
            window.last = own = (last + 1) % NUMBERS
            head = _HEAD.pack(operation, own & 0xFF, (flying[0].number - 1 if flying else last) & 0xFF, own >> 8, 0)
            data = b"".join((head, body, _CHECK.pack(crc32(body, crc32(head)))))
            if not link.datagrams:
                data = flagged(data)
            both = len(data) + part.response + ANSWER_BYTES
            self._words += size
            self._response += part.response // 4
            self._bytes += both
            expected = _HEAD.pack(operation | RESPONSE, own & 0xFF, Status.DONE, own >> 8, part.accesses)
            flying.append(_Flying(operation, own, part, body, expected, partial(then, number), done, data, link.clock(),
                                  self._bytes, both))
            number += 1
            link.send(data)
        return number

    def _receive(self) -> bool:
        """Take what comes next. False after all but expected answers and log, when those in flight have become the window's."""
        r, first = self.requests, self._flying[0]
        until = first.sent + r.wait(first.size)
        while (now := r.link.clock()) < until and not r.broken:
            data = r.link.receive(until - now)
            if r.link.datagrams and crc32(data) == WHOLE_FRAME and self._answered(data[:_HEAD.size], data[_HEAD.size:-_CHECK.size]):
                r.came(len(data))
                return True
            frames, damaged = r.frames(data)
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
        for number, frame in enumerate(frames):
            if frame.operation == Operation.LOG:
                self.requests.take_frame(frame)
            elif not self._answered(_HEAD.pack(*frame[:3], frame.session, frame.value), frame.body):
                self.spill()
                for other in frames[number:]:
                    self.requests.take_frame(other)
                return False
        return True

    def _answered(self, head: bytes, body: bytes) -> bool:
        """Whether it is the first one's answer, with all accesses done, which is handed on then."""
        if not self._flying:
            return False
        first = self._flying[0]
        if head != first.head or len(body) != first.part.response:
            return False
        r, now = self.requests, self.requests.link.clock()
        self._flying.popleft()
        self._words -= HEAD_WORDS + 1 + first.part.end - first.part.first
        self._response -= first.part.response // 4
        self._bytes -= first.bytes
        r.heard(now, now - first.sent)
        self._since += 1
        if self._since >= MEASURED:
            self._since = 0
            r.measure(now - first.sent, first.size, first.size == first.bytes)
        if first.done is not None:
            first.done(body)
        return True
