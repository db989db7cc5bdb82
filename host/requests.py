"""Requests to a board and its log, over a link that may lose, repeat or change bytes (docs/link.md)."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from mrfhw.host.links import Link, LinkError
from mrfhw.host.protocol import HEAD_WORDS, LINK_VERSION, LOG_CHUNK, RESPONSE, REWIND, Decoder, Frame, Operation, Status, encode

__all__ = ["Greeting", "Limits", "Requests"]


LEAST_WORDS = 16  # of a request or response, however many errors there are
OVERHEAD = 200  # bytes that take as long as a request's way without its bytes


@dataclass(frozen=True)
class Limits:
    """Seconds and counts after which something else is done.

    first: wait for an answer before anything is measured. least, most: bounds of that wait later. silence: with nothing from
    the board. greeting: the same before the board has ever answered. repetitions: of one request.
    """

    first: float = 0.5
    least: float = 0.05
    most: float = 2.0
    silence: float = 10.0
    greeting: float = 5.0
    repetitions: int = 100


class Greeting(NamedTuple):
    """What a board says of itself."""

    version: int
    request_words: int
    response_words: int
    log_bytes: int
    line_bytes: int
    freed: int
    reached: int
    behind: int


class Requests:
    """One request after the other, each carried out once; log bytes in order, each once.

    log: bytes since `begin_log`. position: of the next one, as the board counts. repeated, damaged: requests that were sent
    again and frames that were dropped, for reports.
    """

    def __init__(self, link: Link, limits: Limits | None = None):
        self.link, self.limits = link, limits or Limits()
        self.log = bytearray()
        self.position, self.ended = 0, 0  # received, and reached by the board as far as it has said
        self.repeated = 0
        self.greeting: Greeting | None = None
        self._decoder, self._number = Decoder(), 0
        self._per_byte: float | None = None
        self._spread = 0.0
        self._patience = 1.0  # grows with every repetition until an answer comes at once
        self._share = 0.125  # of the largest frames that are used: half of it after a repetition, a 64th more after a clean answer
        self._gap, self._limit = False, 0
        self._progress = (0, 0.0)  # the position of the last credit, and when it was reached
        self._following = False

    @property
    def damaged(self) -> int:
        return self._decoder.damaged

    # -- requests

    def hello(self) -> Greeting:
        """Begin, or begin again after a break: numbers start anew, bus and log are as they were."""
        nonce = int.from_bytes(os.urandom(4), "little")
        self._number = os.urandom(1)[0]
        self._following = False
        frame = self._exchange(Operation.HELLO, nonce, b"", 4 * len(Greeting._fields), self.limits.greeting,
                               lambda frame: frame.value == nonce)
        words = [int(word) for word in frame.words]
        if len(words) < len(Greeting._fields) or words[0] != LINK_VERSION:
            raise LinkError(f"the board speaks version {words[0] if words else 'none'} of the link, this program {LINK_VERSION}: "
                            "build the board again with this version")
        self.greeting = Greeting(*words[:len(Greeting._fields)])
        return self.greeting

    def request(self, operation: Operation, value: int, words: np.ndarray, response_words: int = 0) -> Frame:
        """Have it carried out once. Raises LinkError where the board refuses it or does not answer."""
        self._number = (self._number + 1) % 256
        frame = self._exchange(operation, value, np.ascontiguousarray(words, "<u4").tobytes(), 4 * response_words,
                               self.limits.silence, lambda frame: True)
        if frame.status == Status.NUMBER:
            raise LinkError(f"the board at {self.link.name} was started again, or another program has spoken to it: "
                            "solve the problem again")
        if frame.status == Status.MALFORMED:
            raise LinkError(f"the board at {self.link.name} does not take a request of kind {int(operation)}: build it again with "
                            "this version")
        return frame

    def words_of_request(self) -> int:
        """Words that the next request's body should have at most: fewer after errors."""
        assert self.greeting is not None
        whole = self.greeting.request_words - HEAD_WORDS - 1
        return max(min(whole, LEAST_WORDS), int(whole * self._share))

    def words_of_response(self) -> int:
        """Words that the next response should have at most."""
        assert self.greeting is not None
        whole = self.greeting.response_words
        return max(min(whole, LEAST_WORDS), int(whole * self._share))

    def _exchange(self, operation: Operation, value: int, body: bytes, response: int, silence: float,
                  wanted: Callable[[Frame], bool]) -> Frame:
        data = encode(operation, self._number, value, body)
        size = len(data) + response + 24
        heard = self.link.clock()
        for repetition in range(self.limits.repetitions):
            sent = self.link.clock()
            self.link.send(data)
            until, damaged = sent + self._wait(size), self.damaged
            while (now := self.link.clock()) < until:
                for frame in self._receive(until - now):
                    if frame.operation == operation | RESPONSE and frame.number == self._number and wanted(frame):
                        self._measure(self.link.clock() - sent, size, repetition)
                        return frame
                    if frame.operation == Operation.LOG and self._following:
                        heard = self.link.clock()
                if self.damaged > damaged and self._per_byte is not None:
                    # It may have been the answer: no need to wait for more than another would take.
                    heard, until = self.link.clock(), min(until, sent + 2 * (size + OVERHEAD) * self._per_byte)
            if self.link.clock() - heard > silence:
                break
            self.repeated += 1
            if self.damaged == damaged:
                self._patience = min(4.0, 1.5 * self._patience)
            self._share = max(1 / 32, self._share / 2)
        if operation == Operation.HELLO and self.greeting is None:
            raise LinkError(f"nothing at {self.link.name} answers as a board does: see that the board is on, that this is its "
                            "port, and that the baud rate is its own")
        raise LinkError(f"the board at {self.link.name} has not answered for {silence:g} s: see that it is on and plugged in, "
                        "then resume or solve again")

    def _wait(self, size: int) -> float:
        if self._per_byte is None:
            return min(self.limits.most, self.limits.first * self._patience)
        expected = (size + OVERHEAD) * (self._per_byte + 4 * self._spread)
        return min(self.limits.most, (self.limits.least + expected) * self._patience)

    def _measure(self, seconds: float, size: int, repetition: int) -> None:
        if repetition:
            return
        # As TCP does it: a mean and a mean deviation, of the time that a byte takes.
        taken = seconds / (size + OVERHEAD)
        if self._per_byte is None:
            self._per_byte, self._spread = taken, taken / 2
        else:
            self._spread += (abs(taken - self._per_byte) - self._spread) / 4
            self._per_byte += (taken - self._per_byte) / 8
        self._patience = 1.0
        self._share = min(1.0, self._share + 1 / 64)

    @property
    def pause(self) -> float:
        """Seconds in which a log frame that is due comes."""
        return self._wait(LOG_CHUNK)

    # -- the log

    def begin_log(self, position: int) -> None:
        """Take the log from a position on; what was received before is forgotten."""
        self.log.clear()
        self.position = self.ended = position
        self._gap, self._following = True, True

    def follow_log(self) -> None:
        """Go on where it broke off."""
        self._gap, self._following = True, True

    def credit(self) -> int:
        """Free what is received and grant as much again; returns how far the board's log has come, from `position` on."""
        assert self.greeting is not None
        # After errors short frames come through where long ones do not. A limit is only taken back together with a rewind.
        granted = max(64, int(self.greeting.log_bytes * self._share))
        flags = REWIND if self._gap else 0
        if not self._gap:
            granted = max(granted, (self._limit - self.position) % (1 << 32))
        limit = self._limit = (self.position + granted) % (1 << 32)
        self._gap = False
        frame = self.request(Operation.CREDIT, self.position, np.array([limit, flags], np.uint32))
        self.ended = frame.value
        now = self.link.clock()
        if self.position != self._progress[0] or not self.outstanding:
            self._progress = (self.position, now)
        elif now - self._progress[1] > 2 * self.limits.silence:
            raise LinkError(f"the board at {self.link.name} has {self.outstanding} bytes of log that do not come: "
                            "resume or solve again")
        return self.outstanding

    @property
    def outstanding(self) -> int:
        """Bytes of log that the board has, as far as it has said, and this end has not."""
        ahead = (self.ended - self.position) % (1 << 32)
        return ahead if ahead < 1 << 31 else 0

    def listen(self, seconds: float) -> bool:
        """Wait for log; whether some came. Where some is due and none comes it is asked for again with the next credit."""
        before, until = self.position, self.link.clock() + seconds
        while self.position == before and not self._gap and (now := self.link.clock()) < until:
            self._receive(until - now)
        if self.position == before and self.outstanding:
            self._gap = True
        return self.position != before

    def _receive(self, seconds: float) -> list[Frame]:
        frames = self._decoder.feed(self.link.receive(seconds))
        for frame in frames:
            if frame.operation == Operation.LOG and self._following:
                self._take(frame)
        return frames

    def _take(self, frame: Frame) -> None:
        """A log frame: bytes that are here already are skipped, a frame beyond is dropped."""
        known = (self.position - frame.value) % (1 << 32)
        if known >= 1 << 31:
            self._gap = True
        elif known < len(frame.body):
            self.log += frame.body[known:]
            self.position = (frame.value + len(frame.body)) % (1 << 32)
