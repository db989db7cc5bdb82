"""A board, its wires and the hosts at them in time that is counted, not waited for: what may happen to frames, and what must not.

The board is `sim.support.link_reference.BoardReference`. `Ear` says once more what docs/link.md has of a host's log, from what
has passed at the host's end of the wire alone.
"""

from __future__ import annotations

import heapq
import itertools
import random
import zlib
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from mrfhw.host.requests import Limits
from mrfhw.machine.link_pace import longest_body
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
    element_words,
    encode,
)
from sim.support.link_reference import BoardReference

__all__ = ["DATAGRAM_FATES", "STREAM_FATES", "Ear", "Fate", "World", "WorldLink", "signed"]

RATE, DELAY = 300_000, 0.0008  # bytes a second on each wire, and seconds on the way
LINE_BYTES, ADDRESS_BITS = 8, 16
MOST_LOOKS = 60_000  # of a host at its wire, in one call
STREAM_FATES = ("lost", "byte lost", "flipped", "cut", "garbage", "sent twice", "held up")
DATAGRAM_FATES = ("lost", "doubled", "late", "damaged", "doubled and late")

Bytes = Callable[[Frame], bytes]


def signed(difference: int) -> int:
    """A difference of two positions, of which the nearer way round counts."""
    return (difference + POSITIONS // 2) % POSITIONS - POSITIONS // 2


@dataclass(frozen=True)
class Fate:
    """What becomes of the next thing that is sent. kind: of STREAM_FATES or DATAGRAM_FATES, or "" for nothing. at: where in it, as
    a share. seconds: how late a late one is."""

    kind: str
    at: float = 0.5
    seconds: float = 0.1

    def spoil(self, data: bytes, rng: random.Random) -> list[tuple[float, bytes]]:
        """(seconds later, bytes) that come of it."""
        place = min(len(data) - 1, int(self.at * len(data)))
        flipped = data[:place] + bytes((data[place] ^ 1 << rng.randrange(8),)) + data[place + 1:]
        return {
            "": [(0.0, data)], "lost": [], "byte lost": [(0.0, data[:place] + data[place + 1:])],
            "flipped": [(0.0, flipped)], "damaged": [(0.0, flipped)], "cut": [(0.0, data[:place])],
            "garbage": [(0.0, data[:place] + rng.randbytes(1 + place % 16) + data[place:])],
            "sent twice": [(0.0, data + data)], "doubled": [(0.0, data), (0.0, data)], "held up": [(self.seconds, data)],
            "late": [(self.seconds, data)], "doubled and late": [(0.0, data), (self.seconds, data)]}[self.kind]


class _GrownLog:
    """All bytes that a machine has offered since a position."""

    def __init__(self, base: int):
        self.base, self.bytes = base, bytearray()

    def __len__(self) -> int:
        return self.base + len(self.bytes)

    def __getitem__(self, place: slice) -> bytes:
        return bytes(self.bytes[place.start - self.base:place.stop - self.base])


class _Reference(BoardReference):
    """One whose log begins at a position, and that takes datagrams as well, with their sessions."""

    def __init__(self, words: int, log_bytes: int, base: int, write: Callable[[int, int], bool],
                 read: Callable[[int], int | None]):
        super().__init__(words, log_bytes, LINE_BYTES, ADDRESS_BITS, write, read)
        self.log: _GrownLog = _GrownLog(base)  # type: ignore[assignment]
        self._freed = self._next = self._reached = base
        self._nonce: int | None = None
        self._before: int | None = None

    def datagram(self, data: bytes) -> Frame | None:
        """The answer to a datagram, None where it is ignored."""
        size = len(data) // 4 - 1
        if len(data) % 4 or not HEAD_WORDS <= size < len(self._receiver.memory):
            return None
        if zlib.crc32(data[:-4]).to_bytes(4, "little") != data[-4:]:
            return None
        words = [int.from_bytes(data[at:at + 4], "little") for at in range(0, len(data), 4)]
        self._receiver.memory[:len(words)] = words
        operation, number, session, nonce = words[0] & 0xFF, words[0] >> 8 & 0xFF, words[0] >> 24, words[1]
        last = self._last
        if operation == Operation.HELLO:
            again = last is not None and (last.operation, last.number, self._nonce) == (operation, number, nonce)
            if last is not None and not again:
                if nonce in (self._nonce, self._before):
                    return None
                self._before = self._nonce
            self._nonce = nonce
        elif last is not None:
            same = (operation, number) == (last.operation, last.number)
            if self._nonce is None or session != self._nonce & 0xFF or not (same or number == (last.number + 1) % 256):
                return None
        return self._carry_out(size)

    def more_log(self, most: int, unit: int) -> tuple[int, bytes]:
        """(position, bytes) of the next log frame, of whole units."""
        first = self._next
        self._reached = min(len(self.log), self._freed + self.log_bytes)
        size = min(self._reached - first, (self._limit - first) % POSITIONS, most) // unit * unit
        self._next += size
        return first, self.log[slice(first, first + size)]


class Ear:
    """What a host must make of the log frames that come to it. follows: since a log was begun. gap: it has to ask again."""

    def __init__(self, datagrams: bool, log_bytes: int):
        self.datagrams, self.log_bytes = datagrams, log_bytes
        self.decoder = DatagramDecoder() if datagrams else Decoder()
        self.follows, self.gap = False, False
        self.position, self.credited = 0, 0
        self.log = bytearray()
        self._early: dict[int, bytes] = {}

    def begin(self, position: int) -> None:
        self.follows, self.gap, self.position, self.credited = True, True, position, position
        self.log.clear()
        self._early.clear()

    def hear(self, data: bytes) -> list[Frame]:
        frames = self.decoder.feed(data)
        for frame in frames:
            if frame.operation == Operation.LOG and self.follows:
                self._take(frame)
        return frames

    def _take(self, frame: Frame) -> None:
        ahead = signed(frame.value - self.position)
        possible = (frame.value + len(frame.body) - self.credited) % POSITIONS <= self.log_bytes
        if ahead > 0:
            if self.datagrams and possible:
                self._early[frame.value] = frame.body
            self.gap |= not self.datagrams or len(self._early) >= 3
        elif -ahead < len(frame.body):
            self.gap |= not possible
            if possible:
                self._append(frame.body[-ahead:])
        else:
            return
        while here := [value for value in self._early if signed(value - self.position) <= 0]:
            value = here[0]
            self._append(self._early.pop(value)[-signed(value - self.position):])

    def _append(self, body: bytes) -> None:
        self.log += body
        self.position = (self.position + len(body)) % POSITIONS


def _response_bytes(frame: Frame) -> int:
    """Of the answer's body to a request."""
    if frame.operation == Operation.HELLO:
        return 32
    if frame.operation != Operation.READ:
        return 0
    size, at, words = 0, 0, [int(word) for word in frame.words]
    while at < len(words):
        size += 4 * element_words(words[at] & 0xFFFF, words[at] >> 24)
        at += 2 + (words[at] >> 16 & 0xFF)
    return size


class WorldLink:
    """A host's end of a wire (`mrfhw.host.links.Link`). ear: what the host has to make of what passes here."""

    name, check = "desk", "the desk"

    def __init__(self, world: World, sender: int, limits: Limits):
        self.world, self.sender, self.datagrams, self.reconnections = world, sender, world.datagrams, 0
        self.inbox = deque[bytes]()
        self.ear = Ear(world.datagrams, world.log_bytes)
        self.sent: list[Frame] = []
        self.looks, self._last = 0, b""
        self.limit: int | None = None
        self._decoder = DatagramDecoder() if world.datagrams else Decoder()

    def send(self, data: bytes) -> None:
        self.looks += 1
        assert self.looks < MOST_LOOKS, "the host sends for ever"
        frames = self._decoder.feed(data)
        assert len(frames) == 1, "one frame is sent at a time"
        frame, world = frames[0], self.world
        self.sent.append(frame)
        assert len(frame.body) // 4 + HEAD_WORDS + 1 <= world.words, "the largest request"
        assert _response_bytes(frame) <= 4 * world.words or frame.operation == Operation.HELLO, "the largest response"
        repeated, self._last = data == self._last, data
        if frame.operation == Operation.CREDIT and not repeated:
            self._credits(frame)
        world.transmit(world.to_board, data, lambda piece: world.arrive(piece, self.sender))

    def _credits(self, frame: Frame) -> None:
        ear, (limit, flags) = self.ear, (int(word) for word in frame.words)
        assert frame.value == ear.position, "what is freed has been received"
        granted = (limit - frame.value) % POSITIONS
        assert granted <= self.world.log_bytes, "no more is granted than the ring holds"
        assert granted >= min(64, self.world.log_bytes), "something is granted"
        assert flags & REWIND or self.limit is None or signed(limit - self.limit) >= 0, "a limit is taken back by a rewind alone"
        assert flags & REWIND or not ear.gap, "a gap is asked for again"
        ear.gap, ear.credited, self.limit = False, ear.position, limit

    def receive(self, seconds: float) -> bytes:
        self.looks += 1
        assert self.looks < MOST_LOOKS, "the host looks for ever"
        world, until = self.world, self.world.now + max(1e-6, seconds)
        made = self.reconnections
        while not self.inbox and self.reconnections == made and world.step(until):
            pass
        if not self.inbox:
            world.now = world.now if self.reconnections > made else until
            return b""
        data = self.inbox.popleft() if self.datagrams else b"".join(self.inbox)
        if not self.datagrams:
            self.inbox.clear()
        self.ear.hear(data)
        return data

    def clock(self) -> float:
        return self.world.now

    def close(self) -> None: ...


class World:
    """Time, a board and two wires.

    fates: of what is sent next, in either direction. carried: accesses of the bus, in order: whether it is a write, address, data.
    gone: whether the board is off.
    """

    def __init__(self, datagrams: bool, words: int, log_bytes: int, base: int, seed: int):
        self.datagrams, self.words, self.log_bytes = datagrams, words, log_bytes
        self.now, self.rng = 0.0, random.Random(seed)
        self.fates = deque[Fate]()
        self.carried: list[tuple[bool, int, int]] = []
        self.gone = False
        self.stranger = False  # whether the board serves another host's session than the last one of host 0
        self.to_board, self.from_board = [0.0], [0.0]  # until when each wire is busy
        self.ends: dict[int, WorldLink] = {}
        self._events: list[tuple[float, int, Callable[[], object]]] = []
        self._serial = itertools.count()
        self._turn = 0
        self.restart(base)

    def restart(self, base: int) -> None:
        """A board that knows nothing; what was on its way to the host still comes."""
        self.board = _Reference(self.words, self.log_bytes, base, self._write, self._read)
        self._answers = deque[Frame]()
        self._peer, self._sending = 0, False
        self.stranger = bool(self.ends)

    def _write(self, address: int, data: int) -> bool:
        self.carried.append((True, address, data))
        return True

    def _read(self, address: int) -> int:
        """Each read gives another word, as that of a generator does."""
        self._turn += 1
        self.carried.append((False, address, word := zlib.crc32(self._turn.to_bytes(8, "little"))))
        return word

    def link(self, sender: int, limits: Limits) -> WorldLink:
        self.ends[sender] = WorldLink(self, sender, limits)
        return self.ends[sender]

    def at(self, time: float, what: Callable[[], object]) -> None:
        heapq.heappush(self._events, (max(time, self.now), next(self._serial), what))

    def step(self, until: float) -> bool:
        """Go on to the next event; False where there is none by then."""
        if not self._events or self._events[0][0] > until:
            return False
        self.now, _, what = heapq.heappop(self._events)
        what()
        return True

    def transmit(self, wire: list[float], data: bytes, arrive: Callable[[bytes], object]) -> None:
        """Put bytes on a wire; a stream keeps their order, however late they come."""
        fate = self.fates.popleft() if self.fates else Fate("")
        for later, piece in fate.spoil(data, self.rng):
            if self.datagrams:
                wire[0] = max(wire[0], self.now) + len(piece) / RATE
                self.at(wire[0] + DELAY + later, lambda piece=piece: arrive(piece))
            else:
                wire[0] = max(wire[0], self.now) + len(piece) / RATE + later
                self.at(wire[0] + DELAY, lambda piece=piece: arrive(piece))

    def lose_all(self) -> None:
        """What is on its way is lost, as in a link that breaks."""
        self._events = [one for one in self._events if one[2] == self._free]
        heapq.heapify(self._events)
        for end in self.ends.values():
            end.inbox.clear()

    def arrive(self, data: bytes, sender: int) -> None:
        if self.gone:
            return
        self.board.more_log(0, 1)  # how far the log has come
        answers = [self.board.datagram(data)] if self.datagrams else self.board.receive(data)
        for answer in filter(None, answers):
            if answer.operation == Operation.HELLO | RESPONSE:
                asked = [frame.value for frame in self.ends[0].sent if frame.operation == Operation.HELLO]
                self.stranger = sender != 0 or answer.value != asked[-1]
            self._peer = sender
            self._answers.append(answer)
        self._go()

    def produce(self, data: bytes) -> None:
        """The machine logs."""
        self.board.log.bytes += data
        self._go()

    def _go(self) -> None:
        if not self._sending:
            self._sending = True
            self.at(self.now + 1e-5, self._free)

    def _free(self) -> None:
        """The board's transmitter is idle."""
        self._sending = False
        made = datagram if self.datagrams else encode
        if self.gone:
            return
        if self._answers:
            frame = self._answers.popleft()
            data = made(frame.operation, frame.number, frame.value, frame.body, frame.status)
        else:
            most, unit = (DATAGRAM_LOG_CHUNK, 4) if self.datagrams else (LOG_CHUNK, 1)
            position, body = self.board.more_log(most, unit)
            if not body:
                return
            data = made(Operation.LOG, 0, position % POSITIONS, body)
        end = self.ends.get(self._peer if self.datagrams else 0)
        self.transmit(self.from_board, data, end.inbox.append if end is not None else lambda piece: None)
        self._sending = True
        self.at(self.from_board[0], self._free)

    def words_of(self, share: float) -> tuple[int, int]:
        """Words that a request and a response should have at most."""
        return longest_body(self.words - HEAD_WORDS - 1, share), longest_body(self.words, share)

    def breaks(self, end: WorldLink) -> None:
        """A host's link breaks and is made again at once."""
        self.lose_all()
        end.reconnections += 1
