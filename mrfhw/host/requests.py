"""Requests to a board and its log, over a link that may lose, repeat, change or reorder what it carries (docs/link.md)."""

from __future__ import annotations

import os
from dataclasses import dataclass, replace

import numpy as np

from mrfhw.host.answers import Greeting, check_answer, check_log_frame, read_greeting
from mrfhw.host.links import Link, LinkError
from mrfhw.machine.link_protocol import (
    DATAGRAM_LOG_CHUNK,
    HEAD_WORDS,
    LOG_CHUNK,
    POSITIONS,
    RESPONSE,
    REWIND,
    DatagramDecoder,
    Decoder,
    Frame,
    Operation,
    datagram,
    encode,
)

__all__ = ["PATIENCE", "Limits", "Requests"]


LEAST_WORDS = 16  # of a request or response, however many errors there are
FIRST_SHARE = 0.125  # of the largest frames, before anything is known of the link
OVERHEAD = 200  # bytes that take as long as a request's way without its bytes
PATIENCE = 20.0  # seconds for which a board may answer without progress; other waiting times are shares of it
EARLY = 3  # log frames beyond a gap after which it is taken for a loss, where frames may come in another order
FIRST_REST, LONGEST_REST = 0.001, 0.02  # seconds between rewinds while no log arrives


@dataclass(frozen=True)
class Limits:
    """Timeouts in seconds, and counts.

    first: wait for an answer before anything is measured. least, most: bounds of that wait later. silence: with nothing from
    the board. greeting: the same before the board has ever answered. request: one request, whatever comes meanwhile.
    progress: answers arrive, but neither sweeps nor log. breaks: number of breaks of the link, for one request or without progress.
    reconnect: time to reconnect a broken link, 0 for no attempt.
    """

    first: float = 0.5
    least: float = 0.05
    most: float = 2.0
    silence: float = PATIENCE / 2
    greeting: float = PATIENCE / 4
    request: float = 1.5 * PATIENCE
    progress: float = PATIENCE
    breaks: int = 100
    reconnect: float = 30.0

    def patient(self, seconds: float) -> Limits:
        """These limits, with every wait for a board scaled by `seconds` / PATIENCE."""
        waits = {name: getattr(Limits, name) * seconds / PATIENCE for name in ("silence", "greeting", "request", "progress")}
        return replace(self, **waits)


@dataclass(frozen=True)
class _Exchange:
    """A request that has been sent or will be. accesses: of the bus. silence: seconds with nothing from the board."""

    operation: Operation
    number: int
    value: int
    body: bytes
    accesses: int
    silence: float

    @property
    def response(self) -> int:
        """Bytes of the response's body."""
        if self.operation == Operation.HELLO:
            return 4 * len(Greeting._fields)
        return 4 * self.accesses if self.operation == Operation.READ else 0

    def answered_by(self, frame: Frame) -> bool:
        greeted = self.operation != Operation.HELLO or frame.value == self.value
        return frame.operation == self.operation | RESPONSE and frame.number == self.number and greeted


class Requests:
    """One request after the other, each carried out once; log bytes in order, each once.

    log: bytes since `begin_log` that have not been taken. position: of the next one to come, as the board counts. repeated,
    damaged: requests that were sent again and frames that were dropped, for reports; longest: seconds of the longest request.
    """

    def __init__(self, link: Link, limits: Limits | None = None):
        self.link, self.limits = link, limits or Limits()
        self.log = bytearray()
        self.position, self.ended = 0, 0  # received, and reached by the board as far as it has said
        self.repeated, self.longest = 0, 0.0
        self.greeting: Greeting | None = None
        self._decoder: Decoder | DatagramDecoder = DatagramDecoder() if link.datagrams else Decoder()
        self._chunk = DATAGRAM_LOG_CHUNK if link.datagrams else LOG_CHUNK
        self._early: dict[int, bytes] = {}  # log frames that came before their turn, by position
        self._number, self._session = 0, 0
        self._per_byte: float | None = None
        self._spread = 0.0
        self._patience = 1.0  # grows with every repetition until an answer comes at once
        self._share = FIRST_SHARE  # of the largest frames: half of it after a repetition, a 64th more after a clean answer
        self._gap, self._limit = False, 0
        self._credited, self._granted = 0, 0  # position of the last credit, and bytes beyond it that it allowed
        self._rewound, self._rest = -1, FIRST_REST  # position of the last rewind, and how long the next from there waits
        self._due = 0.0  # since when the next byte of the log is awaited
        self._progress = (0, 0.0)  # the position of the last credit, and when it was reached
        self._following = False
        self._came = 0  # bytes
        self._unanswered: _Exchange | None = None

    @property
    def damaged(self) -> int:
        return self._decoder.damaged

    # -- requests

    def hello(self) -> Greeting:
        """Begin, or begin again after a break: numbers start anew, bus and log are as they were."""
        self._number = os.urandom(1)[0]
        self._following = False
        nonce = int.from_bytes(os.urandom(4), "little")
        self._session = nonce & 0xFF
        self._checked(_Exchange(Operation.HELLO, self._number, nonce, b"", 0, self.limits.greeting))
        assert self.greeting is not None
        return self.greeting

    def request(self, operation: Operation, value: int, words: np.ndarray, accesses: int = 0) -> Frame:
        """Have it carried out once. accesses: of the bus, in a write or read.

        Raises LinkError where the board refuses it, does not answer, or answers what cannot be.
        """
        self._number = (self._number + 1) % 256
        return self._checked(_Exchange(operation, self._number, value, np.ascontiguousarray(words, "<u4").tobytes(), accesses,
                                       self.limits.silence))

    def complete(self) -> None:
        """Have the request carried out that a LinkError cut off, so that it as well is carried out once."""
        if self._unanswered is not None:
            self._checked(self._unanswered)

    def _checked(self, request: _Exchange) -> Frame:
        frame = self._exchange(request)
        if request.operation == Operation.HELLO:
            self.greeting = read_greeting(self.link.name, frame)
        else:
            assert self.greeting is not None
            check_answer(self.link.name, request.operation, request.value, request.accesses, self.greeting.log_bytes, frame)
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

    def _exchange(self, request: _Exchange) -> Frame:
        data = (datagram(request.operation, request.number, request.value, request.body, session=self._session)
                if self.link.datagrams else encode(request.operation, request.number, request.value, request.body))
        size = len(data) + request.response + 24
        began = heard = self.link.clock()
        came, all_damaged, breaks = self._came, self.damaged, self.link.reconnections
        self._unanswered = request
        repetition = 0
        while True:
            made, sent = self.link.reconnections, self.link.clock()
            self.link.send(data)
            until, damaged = min(sent + self._wait(size), began + self.limits.request), self.damaged
            # A request that was lost with a broken link is repeated without waiting for the timeout.
            while (left := min(until, heard + request.silence) - self.link.clock()) > 0 and self.link.reconnections == made:
                for frame in self._receive(left):
                    if request.answered_by(frame):
                        self._unanswered = None
                        self._measure(self.link.clock() - sent, size, repetition)
                        self.longest = max(self.longest, self.link.clock() - began)
                        return frame
                    if frame.operation == Operation.LOG and self._following:
                        heard = self.link.clock()
                if self.damaged > damaged and self.greeting is not None:
                    # The board is there. Before its greeting bytes that are no frame may be anybody's.
                    heard = self.link.clock()
                    if self._per_byte is not None:
                        # The damaged frame may have been the answer, so wait only as long as an answer usually takes.
                        until = min(until, sent + 2 * (size + OVERHEAD) * self._per_byte)
            now = self.link.clock()
            if now - heard >= request.silence or now - began >= self.limits.request:
                limit = request.silence if now - heard >= request.silence else self.limits.request
                raise self._unheard(self._came - came, self.damaged - all_damaged, limit)
            if self.link.reconnections - breaks > self.limits.breaks:
                raise LinkError(f"the link to {self.link.name} broke {self.limits.breaks} times before one request was answered",
                                f"check {self.link.check}, then solve again")
            repetition, self.repeated = repetition + 1, self.repeated + 1
            if self.damaged == damaged:
                self._patience = min(4.0, 1.5 * self._patience)
            self._share = max(1 / 32, self._share / 2)

    def _unheard(self, came: int, damaged: int, seconds: float) -> LinkError:
        """The error for a board that has not answered: no bytes arrived, or bytes that are no valid frames."""
        name, check, within = self.link.name, self.link.check, f"within {seconds:g} s"
        if self.greeting is None and not came:
            return LinkError(f"nothing came from {name} {within}",
                             f"see that the board is on and that this is its port, and check {check}")
        if self.greeting is None:
            return LinkError(f"{came} bytes came from {name} {within}, none of them an answer of a board's",
                             f"see that this is the board's port, and check {check}")
        if damaged:
            return LinkError(f"{damaged} damaged frames and no answer came from {name} {within}",
                             f"check {check}, then solve again")
        # A UDP board answers the last program that has greeted it, and says nothing to the one before.
        alone = ", and that no other program has taken it over" if self.link.datagrams else ""
        return LinkError(f"the board at {name} has not answered {within}",
                         f"see that it is on and plugged in{alone}, then solve again")

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
        """Seconds within which a log frame that is due arrives."""
        return self._wait(self._chunk)

    # -- the log

    def begin_log(self, position: int) -> None:
        """Take the log from a position on; what was received before is forgotten."""
        self.log.clear()
        self._early.clear()
        self.position = self.ended = self._credited = position
        self._progress = (position, self.link.clock())
        self._gap, self._following = True, True
        self._rewound = -1

    def take_log(self, size: int) -> bytes | None:
        """The next bytes of the log, None where they are not here yet."""
        if len(self.log) < size:
            return None
        taken = bytes(self.log[:size])
        del self.log[:size]
        return taken

    @property
    def credit_due(self) -> bool:
        """Whether the board waits for a credit or soon will. Each credit ends a log frame early, so only needed ones are sent."""
        return self._following and (self._gap or 4 * ((self.position - self._credited) % POSITIONS) >= self._granted)

    def credit(self) -> int:
        """Free what is received and grant as much again; returns how far the board's log has come, from `position` on."""
        assert self.greeting is not None
        self._before_rewind()
        # After errors short frames come through where long ones do not. A limit is only taken back together with a rewind.
        short = int(self._chunk * self._share / FIRST_SHARE) & ~3  # datagrams hold whole words
        granted = max(64, short) if short < self._chunk else self.greeting.log_bytes
        flags = REWIND if self._gap else 0
        if not self._gap:
            granted = max(granted, (self._limit - self.position) % POSITIONS)
        limit = self._limit = (self.position + granted) % POSITIONS
        self._gap, self._credited, self._granted = False, self.position, granted
        due = self.outstanding
        frame = self.request(Operation.CREDIT, self.position, np.array([limit, flags], np.uint32))
        self.ended = frame.value
        now = self.link.clock()
        if flags or not due:
            self._due = now
        if self.position != self._progress[0] or not self.outstanding:
            self._progress = (self.position, now)
        elif now - self._progress[1] > self.limits.progress:
            raise LinkError(f"the board at {self.link.name} has {self.outstanding} bytes of log, of which none has come within "
                            f"{now - self._progress[1]:.0f} s", f"check {self.link.check}, then solve again")
        return self.outstanding

    def _before_rewind(self) -> None:
        """Wait a little if the last rewind brought no log; the log after it may still be on its way."""
        if not self._gap:
            return
        if self.position == self._rewound:
            self.rest(self._rest)
            self._rest = min(2 * self._rest, LONGEST_REST)
        else:
            self._rest = FIRST_REST
        self._rewound = self.position

    def rest(self, seconds: float) -> None:
        """Wait at most `seconds`, receiving frames, until log arrives."""
        before, until = self.position, self.link.clock() + seconds
        while self.position == before and (now := self.link.clock()) < until:
            self._receive(until - now)

    @property
    def outstanding(self) -> int:
        """Bytes of log that the board has announced and that have not arrived here."""
        ahead = (self.ended - self.position) % POSITIONS
        return ahead if ahead < 1 << 31 else 0

    def listen(self, seconds: float) -> bool:
        """Wait for log; whether some came. Where some is due and none comes in `pause` the next credit asks for it again."""
        before, until = self.position, self.link.clock() + seconds
        while self.position == before and not self._gap and (now := self.link.clock()) < until:
            self._receive(until - now)
        if self.position == before and self.outstanding and self.link.clock() - self._due >= self.pause:
            self._gap = True
        return self.position != before

    def _receive(self, seconds: float) -> list[Frame]:
        data = self.link.receive(seconds)
        self._came += len(data)
        frames = self._decoder.feed(data)
        for frame in frames:
            if frame.operation == Operation.LOG and self._following:
                self._take(frame)
        return frames

    def _take(self, frame: Frame) -> None:
        """A log frame: bytes that have arrived before are skipped; a frame beyond the next position is dropped, or kept for its
        turn where frames may come in another order.

        A frame with positions beyond one ring from the last credit is dropped too, because the board cannot hold such bytes.
        """
        assert self.greeting is not None
        check_log_frame(self.link.name, frame, self._chunk)
        known = (self.position - frame.value) % POSITIONS
        end = (frame.value + len(frame.body)) % POSITIONS
        possible = (end - self._credited) % POSITIONS <= self.greeting.log_bytes
        if known >= 1 << 31:
            if self.link.datagrams and possible:
                self._early[frame.value] = frame.body
            self._gap |= not self.link.datagrams or len(self._early) >= EARLY
        elif known < len(frame.body):
            if not possible:
                self._gap = True
                return
            self._append(frame.body[known:])
            self._take_early()

    def _append(self, body: bytes) -> None:
        self.log += body
        self.position, self._due = (self.position + len(body)) % POSITIONS, self.link.clock()

    def _take_early(self) -> None:
        """Those kept frames whose turn has come; what a later frame has brought meanwhile is forgotten."""
        for position in sorted(self._early, key=lambda position: (position - self.position + (1 << 31)) % POSITIONS):
            known = (self.position - position) % POSITIONS
            if known >= 1 << 31:
                return
            body = self._early.pop(position)
            if known < len(body):
                self._append(body[known:])
