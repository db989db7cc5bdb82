"""The requests that a board may have at once, in the order of their numbers (docs/link.md)."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from mrfhw.host.answers import Greeting
from mrfhw.machine.link_protocol import (
    FIRST_WINDOWED,
    HEAD_WORDS,
    NUMBERS,
    RESPONSE,
    Frame,
    Operation,
    Segment,
)

__all__ = ["ANSWER_BYTES", "Exchange", "Window"]

ANSWER_BYTES = 24  # of an answer without its body, about


@dataclass(eq=False, slots=True)
class Exchange:
    """A request and its answer. accesses: of the bus. reads: its segments. silence: seconds with nothing from the board. then: is
    called with the answer when those to all requests before are here. fill: is called before it is sent first, and may change what
    it says, not how long it is.

    words: of its frame. data: as it is sent. response: bytes of its answer's body. size: bytes that pass before its answer is here,
    those ahead of it included. began, sent, until: seconds, when it was sent first and last, and when it is to be sent again; None
    where it was not. repetition: how often it was sent again. later: answers to later ones since. done: its answer was handed on.
    """

    operation: Operation
    value: int
    body: bytes
    accesses: int
    reads: Sequence[Segment]
    silence: float
    then: Callable[[Frame], object] | None = None
    fill: Callable[[Exchange], object] | None = None
    number: int = 0
    data: bytes = b""
    response: int = 0
    size: int = 0
    began: float | None = None
    sent: float | None = None
    until: float = 0.0
    repetition: int = 0
    later: int = 0
    answer: Frame | None = None
    done: bool = False
    words: int = 0

    def __post_init__(self) -> None:
        self.words = HEAD_WORDS + 1 + len(self.body) // 4

    @property
    def bytes(self) -> int:
        """Bytes of it and its answer."""
        return len(self.data) + self.response + ANSWER_BYTES

    def answered_by(self, frame: Frame, numbered: bool) -> bool:
        """numbered: the answer has all of the number."""
        if frame.operation != self.operation | RESPONSE or frame.number != self.number & 0xFF:
            return False
        if self.operation == Operation.HELLO:
            return frame.value == self.value
        return not numbered or frame.session == self.number >> 8


class Window:
    """Requests that are not answered, or not all before them are.

    waiting: those, in the order of their numbers. unsent: those of them that are to be sent, for the first time or again. last: the
    number of the last one that waits or did; of its 16 bits the upper ones are the session's on a board of an earlier version than
    FIRST_WINDOWED. most: requests that may be in flight, fewer after losses. bytes: that those in flight take, with their answers.
    """

    def __init__(self) -> None:
        self.greeting: Greeting | None = None
        self.restart(0)

    def restart(self, number: int) -> None:
        """Forget all of it; the next number is this one."""
        self.greeting = None
        self.waiting, self.unsent = deque[Exchange](), deque[Exchange]()
        self._by_number: dict[int, Exchange] = {}  # by the lowest byte
        self.last, self.bytes, self.most, self._flying = number - 1, 0, 1.0, 0
        self._placed, self._words, self._response_words = 0, 0, 0  # of those that were sent and wait

    def greeted(self, greeting: Greeting) -> None:
        """A board has answered, and said what it may have at once."""
        self.greeting, self.most = greeting, float(greeting.outstanding)

    @property
    def windowed(self) -> bool:
        """Whether the board takes acknowledgements and numbers of 16 bits."""
        return self.greeting is not None and self.greeting.version >= FIRST_WINDOWED

    @property
    def acknowledged(self) -> int:
        """The number up to which all answers are here."""
        return self.waiting[0].number - 1

    def add(self, exchange: Exchange) -> None:
        """Give it the next number, and its place behind the others."""
        if self.windowed or self.greeting is None:
            self.last = (self.last + 1) % NUMBERS
        else:
            self.last = self.last & 0xFF00 | (self.last + 1) & 0xFF
        exchange.number = self.last
        self.waiting.append(exchange)
        self.unsent.append(exchange)

    def adopt(self, exchange: Exchange, sent: float) -> None:
        """One that was sent with its number, behind the others, is in flight."""
        self.waiting.append(exchange)
        self._place(exchange, sent)
        self.fly(exchange, sent)

    def due(self) -> Exchange | None:
        """The next one that is to be sent, where the board has room for it."""
        while self.unsent and self.unsent[0].answer is not None:
            self.unsent.popleft()
        if not self.unsent or self._flying >= int(self.most):
            return None
        return self.unsent[0] if self.unsent[0].began is not None or self._fits(self.unsent[0]) else None

    def _fits(self, exchange: Exchange) -> bool:
        """Whether the board has room for one more."""
        greeting = self.greeting
        if not self._placed:
            return True
        if greeting is None or self._placed >= greeting.outstanding:
            return False
        room = greeting.response_memory - greeting.response_words
        return (self._words + exchange.words <= greeting.request_memory
                and (exchange.operation != Operation.READ or self._response_words <= room))

    def send(self, exchange: Exchange, now: float) -> None:
        """It, the one that is due, is in flight from now on."""
        self.unsent.popleft()
        if exchange.began is None:
            self._place(exchange, now)
        self.fly(exchange, now)

    def _place(self, exchange: Exchange, now: float) -> None:
        """It takes the board's room from now on."""
        exchange.began = now
        self._by_number[exchange.number & 0xFF] = exchange
        self._placed += 1
        self._words += exchange.words
        self._response_words += exchange.response // 4

    def fly(self, exchange: Exchange, now: float) -> None:
        """It is in flight from now on, whether it was before or not."""
        self._land(exchange)
        self._flying += 1
        self.bytes += exchange.bytes
        exchange.size, exchange.sent, exchange.later = self.bytes, now, 0

    def _land(self, exchange: Exchange) -> None:
        if exchange.sent is not None:
            self._flying -= 1
            self.bytes -= exchange.bytes
            exchange.sent = None

    def answered(self, frame: Frame) -> Exchange | None:
        """The request that this frame answers, where it has no answer yet. Its `sent` is as it was."""
        exchange = self._by_number.get(frame.number)
        if exchange is None or exchange.answer is not None or not exchange.answered_by(frame, self.windowed):
            return None
        exchange.answer, sent = frame, exchange.sent
        self._land(exchange)
        exchange.sent = sent
        if exchange.repetition == 0 and self.greeting is not None:
            self.most = min(self.most + 1, self.greeting.outstanding)
        return exchange

    def take(self) -> Exchange | None:
        """The first one where it is answered; it waits no more."""
        if not self.waiting or self.waiting[0].answer is None:
            return None
        first = self.waiting.popleft()
        del self._by_number[first.number & 0xFF]
        self._placed -= 1
        self._words -= first.words
        self._response_words -= first.response // 4
        return first

    def ground(self) -> None:
        """All that are not answered are to be sent again, fewer at once than before."""
        self.most = max(1.0, self.most / 2)
        for exchange in self.waiting:
            if exchange.answer is None and exchange.sent is not None:
                self._land(exchange)
                exchange.repetition += 1
        self.unsent = deque(exchange for exchange in self.waiting if exchange.answer is None)
