"""A host and a board that exchange requests and log over a link, in simulated seconds: what waits for what."""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field

from mrfhw.cost.links import ESCAPED, USB_PACKETS, BoardLink
from mrfhw.machine.link_pace import LONG, PAUSE, QUIET, SHORT
from mrfhw.machine.link_protocol import (
    DATAGRAM_LOG_CHUNK,
    ETHERNET_HZ,
    FRAME_BITS,
    HEAD_WORDS,
    LOG_CHUNK,
    LOG_WAIT,
    PACKET_BYTES,
    REQUEST_CYCLES,
    UDP_BYTES,
    WINDOW_CYCLES,
    WIRE_BYTES,
)

__all__ = ["Asked", "Exchange", "Log", "Wire"]

FLAGS = 2  # of a stream's frame
LEAST_PAYLOAD = 46  # of an Ethernet packet
STEADY_CREDITS = 24  # after which the log's rate is taken for steady
EVENTS = 40  # frames of log of a run, in rings or chunks, that are followed one by one before the rest is taken to go on like them
WORD_BYTES = 4


@dataclass(frozen=True)
class Asked:
    """A request. words: of its body. answer: words of the response's body. cycles: of the board to carry it out."""

    words: int
    answer: int
    cycles: int

    @property
    def frame_words(self) -> int:
        return HEAD_WORDS + 1 + self.words


@dataclass(frozen=True)
class Wire:
    """What a link does with frames.

    byte_s: seconds of a byte, in each direction. delay_s: under way, each way, beside that. board_s: of a cycle of the board's
    link. datagrams: frames are packets of Ethernet. outstanding: requests that may wait for their answers at a time, in memories
    of request_words and response_words, where the largest response has response_most. piece_bytes: that a host takes together, so
    that it has an answer's last one half as many bytes late.
    """

    byte_s: float
    delay_s: float
    board_s: float
    datagrams: bool = False
    outstanding: int = 1
    piece_bytes: int = 0
    request_words: int = 0
    response_words: int = 0
    response_most: int = 0

    @classmethod
    def of(cls, link: BoardLink, link_hz: float, delay_s: float = 0.0, piece_bytes: int = 0) -> Wire:
        """Of a board's link. link_hz: its clock's. Others as the attributes."""
        rate = {"ethernet": ETHERNET_HZ, "usb": 1000 * USB_PACKETS * PACKET_BYTES}.get(link.kind, link.baud / FRAME_BITS)
        return cls(1 / rate, delay_s, 1 / link_hz, link.kind == "ethernet", link.outstanding, piece_bytes, link.words,
                   link.response_memory, link.largest[1])

    def has_room(self, waiting: Collection[Asked], one: Asked) -> bool:
        """Whether a host may send one more while these wait for their answers, as `mrfhw.host.window.Window` has it."""
        if not waiting:
            return True
        if len(waiting) >= self.outstanding:
            return False
        requests = sum(each.frame_words for each in waiting) + one.frame_words
        return requests <= self.request_words and (
            not one.answer or sum(each.answer for each in waiting) <= self.response_words - self.response_most)

    def carried_s(self, one: Asked) -> float:
        """Of a board to carry a request out."""
        more = WINDOW_CYCLES - REQUEST_CYCLES if self.outstanding > 1 else 0
        return (one.cycles + more) * self.board_s

    def frame_s(self, body: float) -> float:
        """Of a frame with so many bytes beside head and check."""
        plain = body + WORD_BYTES * (HEAD_WORDS + 1)
        if self.datagrams:
            return (max(plain, LEAST_PAYLOAD - UDP_BYTES) + UDP_BYTES + WIRE_BYTES) * self.byte_s
        return (body * (1 + ESCAPED) + WORD_BYTES * (HEAD_WORDS + 1) + FLAGS) * self.byte_s

    @property
    def chunk(self) -> int:
        """Bytes of log in a frame at most."""
        return DATAGRAM_LOG_CHUNK if self.datagrams else LOG_CHUNK

    @property
    def late_s(self) -> float:
        return self.piece_bytes / 2 * self.byte_s


@dataclass
class Log:
    """A machine at work, and its log.

    ring: bytes that the board holds for the link. held: that a memory in front of it holds. start_s: of the machine's work until
    it logs; work_s: until it has ended. size: bytes of log, which come evenly from `start_s` on; last: those at the very end.
    """

    ring: float
    held: float
    start_s: float
    work_s: float
    size: float
    last: float = 0.0
    done_s: float = 0.0  # of the work
    at: float = 0.0  # the board's time up to which the machine has gone
    freed: float = 0.0
    sent: float = 0.0
    limit: float = 0.0

    @property
    def rate(self) -> float:
        """Bytes a second of a machine that does not wait."""
        return self.size / (self.work_s - self.start_s) if self.work_s > self.start_s else 0.0

    @property
    def made(self) -> float:
        """Bytes that have left the machine."""
        even = max(0.0, self.done_s - self.start_s) * self.rate
        return even + self.last if self.ended else even

    @property
    def ended(self) -> bool:
        return self.done_s >= self.work_s - 1e-12

    @property
    def reached(self) -> float:
        """Bytes of them in the ring or sent."""
        return min(self.made, self.freed + self.ring)

    def go_on(self, until: float) -> None:
        """The machine works up to a time of the board's, unless it has to wait."""
        end = self.done_s + max(0.0, until - self.at)
        if self.size and end > self.start_s:
            end = min(end, max(self.done_s, self.start_s + (self.freed + self.ring + self.held) / self.rate))
        self.done_s, self.at = min(end, self.work_s), max(self.at, until)


@dataclass
class Exchange:
    """The host's time, and what is under way. `log` is that of a machine at work; None before."""

    wire: Wire
    now: float = 0.0
    log: Log | None = None
    position: float = 0.0  # bytes of log that the host has
    requests: int = 0
    _free: float = 0.0  # when the board's end of the wire is free again
    _ready: float = 0.0  # when the board can begin with another request
    _waiting: deque[tuple[Asked, float]] = field(default_factory=deque)  # requests under way, and when the host has their answers
    _coming: deque[tuple[float, float]] = field(default_factory=deque)  # when frames of log arrive, and their bytes
    _credited: float = 0.0

    # -- requests

    @property
    def answered(self) -> int:
        """Requests whose answers are here."""
        return self.requests - len(self._waiting)

    def ask(self, asked: Iterable[Asked]) -> None:
        """Requests one after the other, or as many at a time as may be outstanding, until all are answered."""
        waiting, wire = self._waiting, self.wire
        line = self.now
        for one in asked:
            while not wire.has_room([each for each, _ in waiting], one):
                self._take_answer()
            line = max(line, self.now) + wire.frame_s(WORD_BYTES * one.words)
            ready = max(line + wire.delay_s, self._ready) + wire.carried_s(one)
            waiting.append((one, self._answered(ready, one.answer)))
            # The board makes the next answer while it sends this one.
            self._ready = self._free - wire.frame_s(WORD_BYTES * one.answer)
            self.requests += 1
            if wire.outstanding == 1:
                self._take_answer()
        while waiting:
            self._take_answer()

    def _take_answer(self) -> None:
        self._wait_until(self._waiting.popleft()[1])

    def _answered(self, ready: float, words: int) -> float:
        """When the host has an answer that the board has ready at a time."""
        self._send_log(ready)
        self._free = max(self._free, ready) + self.wire.frame_s(WORD_BYTES * words)
        return self._free + self.wire.delay_s + self.wire.late_s

    def _wait_until(self, time: float) -> None:
        self.now = max(self.now, time)
        while self._coming and self._coming[0][0] <= self.now:
            self.position += self._coming.popleft()[1]

    # -- the log

    @property
    def credit_due(self) -> bool:
        return self.log is not None and 4 * (self.position - self._credited) >= self.log.ring

    def credit(self) -> None:
        """Free what is here, and let as much come as the ring holds."""
        log, position = self.log, self.position
        arrives = self.now + self.wire.frame_s(2 * WORD_BYTES) + self.wire.delay_s
        if log is not None:
            self._send_log(arrives)
            log.go_on(arrives)
            log.freed, log.limit = max(log.freed, position), max(log.limit, position + log.ring)
            self._credited = position
        self.requests += 1
        self._wait_until(self._answered(arrives, 0))

    def _send_log(self, until: float, one: bool = False) -> None:
        """Frames of log that begin on the board before a time. one: only the first."""
        log = self.log
        while log is not None and self._free < until and not (one and self._coming):
            log.go_on(max(self._free, log.at))
            ready = min(log.reached, log.limit) - log.sent
            # A frame begins with the first byte; here when as much has come as fills a good part of it, so that there are fewer.
            enough = min(self.wire.chunk / 4, log.ring / 8, log.limit - log.sent, log.freed + log.ring - log.sent)
            if ready < 1e-6 or (ready < enough - 1e-6 and not log.ended):
                soon = until
                if not log.ended:
                    work = log.work_s
                    if enough > 1e-6 and log.rate:
                        work = min(work, log.start_s + (log.sent + enough) / log.rate)
                    soon = log.at + max(0.0, work - log.done_s) + (LOG_WAIT * self.wire.board_s if self.wire.datagrams else 0.0)
                self._free = min(max(soon, self._free + self.wire.board_s), until)
                continue
            size = min(ready, self.wire.chunk)
            log.sent += size
            self._free += self.wire.frame_s(size)
            self._coming.append((self._free + self.wire.delay_s + self.wire.late_s, size))

    def listen(self, seconds: float) -> bool:
        """Wait for log; whether some has come."""
        until = self.now + seconds
        if not self._coming:
            self._send_log(until - self.wire.delay_s, one=True)
        if self._coming and self._coming[0][0] <= until:
            self._wait_until(self._coming[0][0])
            return True
        self._wait_until(until)
        return False

    # -- a run

    def run(self, log: Log, look: Asked) -> None:
        """From the start of a machine, which the board has just carried out, until the host knows of its end.

        look: the request that asks whether it is at work.
        """
        log.at = self._free
        self.log, self.position, self._credited = log, 0.0, -log.ring
        self._coming.clear()
        seconds, quiet, followed = SHORT, SHORT, None
        while True:
            ready = self.now + self.wire.frame_s(WORD_BYTES * look.words) + self.wire.delay_s
            self.ask([look])
            log.go_on(ready)
            if log.ended:
                break
            followed = self._ahead(log, followed)
            came = self._look(seconds, quiet)
            seconds, quiet = min(2 * seconds, LONG), QUIET if came else min(2 * quiet, PAUSE)

    def _look(self, seconds: float, quiet: float) -> bool:
        """Take log for some seconds, until none comes for `quiet`, or up to a run's last line."""
        came = False
        self.credit()
        until = self.now + seconds
        while (left := until - self.now) > 1e-12 and self.listen(min(left, quiet)):
            came = True
            if self.credit_due:
                self.credit()
            if self._all_here:
                break
        return came

    @property
    def _all_here(self) -> bool:
        """Whether the host has all log of the run."""
        return self.log is not None and self.log.ended and self.position >= self.log.size + self.log.last - 1e-6

    def _ahead(self, log: Log, since: tuple[float, float, float] | None) -> tuple[float, float, float] | None:
        """Go to where the machine nearly ends or begins to log, as it has gone on since (time, work, bytes)."""
        if log.done_s < log.start_s or not log.size:
            end = log.start_s if log.size else log.work_s
            steps = int((end - log.done_s) / (4 * LONG))
            self._move(steps * (4 * LONG), steps * (4 * LONG), 0.0, log)
            return None
        if since is None:
            return (self.now, log.done_s, self.position)
        bytes_since = self.position - since[2]
        if bytes_since < STEADY_CREDITS * max(log.ring / 4, self.wire.chunk) and self.now - since[0] < EVENTS * LONG:
            return since
        work = log.done_s - since[1]
        seconds = self.now - since[0]
        times = int((log.work_s - log.done_s) / work) - 1 if work > 0 else 0
        if times > 0:
            self._move(times * seconds, times * work, times * bytes_since, log)
        return (self.now, log.done_s, self.position)

    def _move(self, seconds: float, work: float, size: float, log: Log) -> None:
        """Everything as it is, so much later."""
        if seconds <= 0:
            return
        self.now += seconds
        self._free += seconds
        self._ready += seconds
        log.at += seconds
        log.done_s += work
        for name in ("freed", "sent", "limit"):
            setattr(log, name, getattr(log, name) + size)
        self.position, self._credited = self.position + size, self._credited + size
        self._coming = deque((when + seconds, bytes_) for when, bytes_ in self._coming)

    def take(self) -> None:
        """The rest of the log."""
        log = self.log
        assert log is not None
        while self.position < log.size + log.last - 1e-6:
            left = log.size + log.last - self.position
            if left > 4 * EVENTS * log.ring:  # a memory holds it
                before, began = self.position, self.now
                for _ in range(EVENTS):
                    self._round(log)
                came, took = self.position - before, self.now - began
                times = int((log.size + log.last - self.position) / came) - 1 if came > 0 else 0
                if times > 0:
                    self._move(times * took, 0.0, times * came, log)
                continue
            self._round(log)
        self.log = None
        self._coming.clear()

    def _round(self, log: Log) -> None:
        self.credit()
        while self.listen(PAUSE):
            if self.credit_due or self._all_here:
                break
