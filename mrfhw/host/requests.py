"""Requests to a board and its log, over a link that may lose, repeat, change or reorder what it carries (docs/link.md)."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from mrfhw.host.answers import Greeting, check_answer, check_log_frame, read_greeting
from mrfhw.host.links import Link, LinkError
from mrfhw.host.transfers import Transfers
from mrfhw.host.window import Exchange, Window
from mrfhw.machine.link_pace import FIRST_SHARE, LEAST_SHARE, SHARE_STEP, longest_body
from mrfhw.machine.link_protocol import (
    DATAGRAM_LOG_CHUNK,
    HEAD_WORDS,
    LINK_VERSION,
    LOG_CHUNK,
    POSITIONS,
    REWIND,
    DatagramDecoder,
    Decoder,
    Frame,
    Operation,
    Segment,
    datagram,
    encode,
)

__all__ = ["PATIENCE", "Limits", "Requests"]


OVERHEAD = 200  # bytes that take as long as a request's way without its bytes
PATIENCE = 20.0  # seconds for which a board may answer without progress; other waiting times are shares of it
EARLY = 3  # log frames beyond a gap after which it is taken for a loss, where frames may come in another order
LOOKS = 64  # pieces that may have come while nobody waited for an answer
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


class _Turn(NamedTuple):
    """What was when a request became the first that waits: seconds, bytes that had come, damaged frames, and reconnections."""

    began: float
    came: int
    damaged: int
    breaks: int


class Requests:
    """Requests in order, each carried out once; log bytes in order, each once.

    window: requests that wait for their answers. transfers: those of many alike, while their answers come as expected.
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
        self.window = Window()
        self.transfers = Transfers(self)
        self._turn = _Turn(0.0, 0, 0, 0)  # of the first request that waits
        self._spoilt = False  # a damaged frame has come since something was sent again
        self._looked = 0.0  # up to when what has come was taken
        self._heard, self._made = 0.0, 0  # when the board last gave a sign; reconnections before what is in flight
        self._per_byte: float | None = None
        self._spread = 0.0
        self._round = 0.0  # mean seconds of a request with none ahead
        self._patience = 1.0  # grows with every repetition until an answer comes at once
        self._share = FIRST_SHARE  # of the largest frames: half of it after a repetition, a 64th more after a clean answer
        self._gap, self._limit = False, 0
        self._credited, self._granted = 0, 0  # position of the last credit, and bytes beyond it that it allowed
        self._rewound, self._rest = -1, FIRST_REST  # position of the last rewind, and how long the next from there waits
        self._due = 0.0  # since when the next byte of the log is awaited
        self._progress = (0, 0.0)  # the position of the last credit, and when it was reached
        self._following = False
        self._came = 0  # bytes

    @property
    def damaged(self) -> int:
        return self._decoder.damaged

    # -- requests

    def hello(self) -> Greeting:
        """Begin, or begin again after a break: numbers start anew, bus and log are as they were."""
        nonce = int.from_bytes(os.urandom(4), "little")
        self.transfers.forget()
        self.window.restart((nonce & 0xFF) << 8 | os.urandom(1)[0])  # by which both know later requests
        self._following = False
        # What the board may have at once is known from its answer on.
        self.answer(self._posted(Exchange(Operation.HELLO, nonce, b"", 0, (), self.limits.greeting, self._greeted)))
        assert self.greeting is not None
        return self.greeting

    def _greeted(self, frame: Frame) -> None:
        self.greeting = read_greeting(self.link.name, frame)
        self.window.greeted(self.greeting)

    def request(self, operation: Operation, value: int, words: np.ndarray, accesses: int = 0,
                reads: Sequence[Segment] = ()) -> Frame:
        """Have it carried out once. accesses: of the bus, in a write or read. reads: segments of a read.

        Raises LinkError where the board refuses it, does not answer, or answers what cannot be.
        """
        return self.answer(self.post(operation, value, words, accesses, reads))

    def post(self, operation: Operation, value: int, words: np.ndarray | bytes, accesses: int = 0, reads: Sequence[Segment] = (),
             then: Callable[[Frame], object] | None = None) -> Exchange:
        """Send a request as soon as the board has room for it, and do not wait for its answer. then: is called with that, in order.

        words: of its body, or those as they are sent.

        Raises LinkError as `request` does, for any that has been posted.
        """
        body = words if isinstance(words, bytes) else np.ascontiguousarray(words, "<u4").tobytes()
        return self._posted(Exchange(operation, value, body, accesses, reads, self.limits.silence, then))

    def answer(self, exchange: Exchange) -> Frame:
        """Wait for an answer, and for those to all requests before."""
        self._until(lambda: exchange.done)
        assert exchange.answer is not None
        return exchange.answer

    def drain(self) -> None:
        """Wait for the answers to all requests."""
        self.transfers.drain()
        self._until(lambda: not self.window.waiting)

    def complete(self) -> None:
        """Have the requests carried out that a LinkError cut off, so that they as well are carried out once."""
        self.transfers.spill()
        if self.window.waiting:
            self.first_waits()
            self.window.ground()
            self._fill()
            self.drain()

    def words_of_request(self) -> int:
        """Words that the next request's body should have at most: fewer after errors."""
        assert self.greeting is not None
        return longest_body(self.greeting.request_words - HEAD_WORDS - 1, self._share)

    def words_of_response(self) -> int:
        """Words that the next response should have at most."""
        assert self.greeting is not None
        return longest_body(self.greeting.response_words, self._share)

    def _posted(self, exchange: Exchange) -> Exchange:
        self.transfers.spill()
        hello = exchange.operation == Operation.HELLO
        exchange.response = 4 * (len(Greeting._fields) if hello else sum(segment.data_words for segment in exchange.reads))
        self.window.add(exchange)
        if self.window.waiting[0] is exchange:
            self.first_waits()
        self._fill()
        if exchange.began is None:
            self._until(lambda: exchange.began is not None)
        return exchange

    def _encoded(self, exchange: Exchange) -> bytes:
        window, number = self.window, exchange.number
        hello = exchange.operation == Operation.HELLO
        third = LINK_VERSION if hello else window.acknowledged & 0xFF if window.windowed else 0
        made = datagram if self.link.datagrams else encode
        return made(exchange.operation, number & 0xFF, exchange.value, exchange.body, third, number >> 8)

    def first_waits(self) -> None:
        """A request waits for its answer while none before it does."""
        self.begin_turn()
        self._heard, self._made = self._turn.began, self.link.reconnections

    def begin_turn(self) -> None:
        """Another request is the first that waits."""
        self._turn = _Turn(self.link.clock(), self._came, self.damaged, self.link.reconnections)

    def _fill(self) -> None:
        """Send what is to be sent, as much of it as the board has room for and as may be in flight."""
        window = self.window
        while (exchange := window.due()) is not None:
            if exchange.began is None:
                if exchange.fill is not None:
                    exchange.fill(exchange)
                exchange.data = self._encoded(exchange)
            else:
                self.repeated += 1
            now = self.link.clock()
            window.send(exchange, now)
            exchange.until = now + self.wait(exchange.size)
            self.link.send(exchange.data)

    def _until(self, done: Callable[[], bool]) -> None:
        """Receive, and repeat what is not answered in time."""
        self._hand_on()
        while not done():
            first = self.window.waiting[0]
            end = min(first.until, self._turn.began + self.limits.request, self._heard + first.silence)
            now = self.link.clock()
            if self.link.reconnections != self._made:
                # What was lost with a broken link is repeated without waiting for the timeout.
                self._repeat(first)
            elif now < end:
                self._receive(end - now)
            elif self._looked >= end or not self._look(first):
                self._repeat(first)

    def _look(self, first: Exchange) -> bool:
        """Take what has come while nobody waited for it; whether the first answer is among it."""
        for _ in range(LOOKS):
            came = self._came
            self._receive(0.0)
            if first.answer is not None or self._came == came:
                break
        return first.answer is not None

    def _repeat(self, first: Exchange) -> None:
        """Send again all that is not answered. Raises LinkError where the first one has waited for long enough."""
        now, turn, limits = self.link.clock(), self._turn, self.limits
        # As the wait before ends: a difference may be rounded to less, and a simulated clock does not go on by itself.
        if now >= self._heard + first.silence or now >= turn.began + limits.request:
            limit = first.silence if now >= self._heard + first.silence else limits.request
            raise self._unheard(self._came - turn.came, self.damaged - turn.damaged, limit)
        if self.link.reconnections - turn.breaks > limits.breaks:
            raise LinkError(f"the link to {self.link.name} broke {limits.breaks} times before one request was answered",
                            f"check {self.link.check}, then solve again")
        if not self._spoilt:
            self._patience = min(4.0, 1.5 * self._patience)
        self._spoilt = False
        self._share = max(LEAST_SHARE, self._share / 2)
        self._made = self.link.reconnections
        self.window.ground()
        self._fill()

    def _take_answer(self, frame: Frame) -> None:
        """Find the request that it answers, if any."""
        exchange, now = self.window.answered(frame), self.link.clock()
        if exchange is None:
            return
        self._heard = now
        if exchange.sent is not None and not exchange.repetition:
            self.measure(now - exchange.sent, exchange.size, exchange.size == exchange.bytes)
        assert exchange.began is not None
        self.longest = max(self.longest, now - exchange.began)
        self._hurry(exchange)
        self._hand_on()
        self._fill()

    def _hand_on(self) -> None:
        """The answers of requests that have them, and all before as well."""
        while (first := self.window.take()) is not None:
            assert first.answer is not None
            self.begin_turn()
            first.done = True
            if first.operation != Operation.HELLO:
                assert self.greeting is not None
                check_answer(self.link.name, first.operation, first.value, first.accesses, first.reads, self.greeting.log_bytes,
                             first.answer)
            if first.then is not None:
                first.then(first.answer)

    def _hurry(self, answered: Exchange) -> None:
        """Send the first request again where answers to later ones are here, as its own was lost then."""
        first = self.window.waiting[0]
        if first is answered or first.sent is None:
            return
        first.later += 1
        if first.later == (EARLY if self.link.datagrams else 1) and first.repetition == 0:
            first.repetition, self.repeated, now = 1, self.repeated + 1, self.link.clock()
            self.window.fly(first, now)
            first.until = now + self.wait(first.size)
            self.link.send(first.data)

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

    @property
    def steady(self) -> bool:
        """Whether requests are as large as they can be, as after many without an error, and several may be outstanding."""
        return self._share == 1.0 and self.window.windowed

    @property
    def broken(self) -> bool:
        """Whether the link was made again since the first request that waits was sent."""
        return self.link.reconnections != self._made

    def heard(self, now: float, seconds: float) -> None:
        """The board has answered a request, after so many seconds."""
        self._heard, self.longest = now, max(self.longest, seconds)

    def wait(self, size: int) -> float:
        """Seconds in which an answer is here behind so many bytes."""
        if self._per_byte is None:
            return min(self.limits.most, self.limits.first * self._patience)
        expected = (size + OVERHEAD) * (self._per_byte + 4 * self._spread)
        return min(self.limits.most, (self.limits.least + expected) * self._patience)

    def measure(self, seconds: float, size: int, alone: bool) -> None:
        """An answer has taken so long, behind so many bytes, its own included. alone: there were no others."""
        # As TCP does it: a mean and a mean deviation, of the time that a byte takes.
        taken = seconds / (size + OVERHEAD)
        if self._per_byte is None:
            self._per_byte, self._spread = taken, taken / 2
        else:
            self._spread += (abs(taken - self._per_byte) - self._spread) / 4
            self._per_byte += (taken - self._per_byte) / 8
        if alone:
            self._round += (seconds - self._round) / 8 if self._round else seconds
        self._patience = 1.0
        self._share = min(1.0, self._share + SHARE_STEP)

    @property
    def pause(self) -> float:
        """Seconds within which a log frame that is due arrives."""
        return self.wait(self._chunk)

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
        self.answer(self.post_credit())
        return self.outstanding

    def post_credit(self) -> Exchange:
        """The same without waiting for the answer."""
        assert self.greeting is not None
        self._before_rewind()
        flags = due = 0

        def fill(exchange: Exchange) -> None:
            nonlocal flags, due
            flags, due = REWIND if self._gap else 0, self.outstanding
            exchange.value = self.position
            exchange.body = np.array([self._grant(), flags], "<u4").tobytes()

        def credited(frame: Frame) -> None:
            self.ended = frame.value
            now = self.link.clock()
            if flags or not due:
                self._due = now
            # Without any due it was announced by the last credit at latest.
            if self.position != self._progress[0] or not self.outstanding or not due:
                self._progress = (self.position, now)
            elif now - self._progress[1] > self.limits.progress:
                raise LinkError(f"the board at {self.link.name} has {self.outstanding} bytes of log, of which none has come within "
                                f"{now - self._progress[1]:.0f} s", f"check {self.link.check}, then solve again")

        return self._posted(Exchange(Operation.CREDIT, 0, bytes(8), 0, (), self.limits.silence, credited, fill))

    def _grant(self) -> int:
        """The position up to which the board may send its log from now on. The gap, if there is one, is asked for."""
        assert self.greeting is not None
        # After errors short frames come through where long ones do not. A limit is only taken back together with a rewind.
        short = int(self._chunk * self._share / FIRST_SHARE) & ~3  # datagrams hold whole words
        ring = self.greeting.log_bytes
        granted = min(max(64, short), ring) if short < self._chunk else ring
        ahead = (self._limit - self.position) % POSITIONS
        if not self._gap and ahead < 1 << 31:  # log that was under way when a limit was taken back may have passed it
            granted = max(granted, ahead)
        self._limit = (self.position + granted) % POSITIONS
        self._gap, self._credited, self._granted = False, self.position, granted
        return self._limit

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

    def _receive(self, seconds: float) -> None:
        self.transfers.spill()
        frames, damaged = self.frames(self.link.receive(seconds))
        for frame in frames:
            self.take_frame(frame)
        if damaged:
            self.take_damage()

    def came(self, size: int) -> None:
        """So many bytes have come, or none."""
        self._looked = self.link.clock()
        self._came += size

    def frames(self, data: bytes) -> tuple[list[Frame], bool]:
        """Those in what has come, and whether something of it was damaged."""
        self.came(len(data))
        damaged = self.damaged
        return self._decoder.feed(data), self.damaged > damaged

    def take_frame(self, frame: Frame) -> None:
        """An answer to a request of the window, or log."""
        if frame.operation != Operation.LOG:
            self._take_answer(frame)
        elif self._following:
            self._heard = self.link.clock()
            self._take(frame)

    def take_damage(self) -> None:
        """The board is there. Before its greeting bytes that are no frame may be anybody's."""
        if self.greeting is None or not self.window.waiting:
            return
        self._heard, self._spoilt = self.link.clock(), True
        first = self.window.waiting[0]
        if self._per_byte is not None and first.sent is not None:
            # The damaged frame may have been the answer, so wait only as long as an answer usually takes.
            first.until = min(first.until, first.sent + 2 * max((first.size + OVERHEAD) * self._per_byte, self._round))

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
