"""The bytes on the link (docs/link.md): frames on a stream and in datagrams, their checks, and addresses as segments."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

__all__ = [
    "DatagramDecoder", "Decoder", "Frame", "Operation", "Segment", "Status", "datagram", "encode", "is_size", "log_unit",
    "segments",
]

FLAG, ESCAPE, FLIP = 0x7E, 0x7D, 0x20
LINK_VERSION = 2
HEAD_WORDS = 2  # header and value
LOG_CHUNK = 256  # bytes of log in a frame at most
DATAGRAM_LOG_CHUNK = 1024  # the same in a datagram, which an Ethernet packet has to hold
DATAGRAM_WORDS = 256  # most words of a memory for requests or responses whose frames are datagrams
UDP_PORT = 28018  # of a board
ETHERNET_HZ = 125_000_000  # of the wires' clocks
ETHERNET_LOG_BYTES = 1 << 15  # of a ring of log that waits for the host
USB_LOG_BYTES = 1 << 14  # of such a ring: 14 ms, as a host's controller moves data by the millisecond
PACKET_BYTES = 64  # of a packet of a full-speed bulk endpoint of USB
FRAME_BITS = 10  # of a serial port's byte: start, eight of data, stop
UDP_BYTES, WIRE_BYTES = 28, 38  # of IP and UDP beside a frame, and on the wires beside that: addresses, check, preamble, gap
POSITIONS = 1 << 32  # log positions are counted modulo this
FRAME_WORDS = (16, 4096)  # least and most of a board's memory for requests, and of that for responses
BAUD, WORDS, LOG_BYTES = 3_000_000, 512, 2048  # of a board's serial port, memories for frames and log memory, unless it has its own
LOG_MEMORY = (16, 1 << 16)  # least and most bytes of its log memory
PERIOD_MAX = 255
COUNT_MAX = 0xFFFF
RESPONSE = 0x80
REWIND = 1  # flag of a credit
PERIODS = (1, 2, 4, 8, 16)  # of address steps that are looked for


class Operation(IntEnum):
    """What a frame is. A response has bit 7 set."""

    HELLO = 1
    WRITE = 2
    READ = 3
    CREDIT = 4
    LOG = 0x85


class Status(IntEnum):
    """How a request ended."""

    DONE = 0
    BUS_ERROR = 1
    NUMBER = 2
    MALFORMED = 3


def log_unit(datagrams: bool) -> int:
    """Bytes of log that a board stores at once."""
    return 4 if datagrams else 1


def is_size(value: object, limits: tuple[int, int]) -> bool:
    """Whether `value` is a power of two within FRAME_WORDS or LOG_MEMORY."""
    return isinstance(value, int) and not isinstance(value, bool) and limits[0] <= value <= limits[1] and not value & (value - 1)


@dataclass(frozen=True)
class Frame:
    """A frame's fields; `body` without the CRC."""

    operation: int
    number: int
    status: int
    value: int
    body: bytes

    @property
    def words(self) -> np.ndarray:
        """The body as uint32."""
        return np.frombuffer(self.body[:len(self.body) // 4 * 4], "<u4")


def datagram(operation: int, number: int, value: int, body: bytes = b"", status: int = 0, session: int = 0) -> bytes:
    """The bytes of a frame, CRC included, as a datagram carries them. session: which is the host's, 0 to 255."""
    plain = bytes((operation, number, status, session)) + value.to_bytes(4, "little") + body
    return plain + zlib.crc32(plain).to_bytes(4, "little")


def encode(operation: int, number: int, value: int, body: bytes = b"", status: int = 0) -> bytes:
    """The bytes of a frame, flags, escapes and CRC included, as a stream carries them."""
    plain = datagram(operation, number, value, body, status)
    escaped = plain.replace(bytes((ESCAPE,)), bytes((ESCAPE, ESCAPE ^ FLIP))).replace(bytes((FLAG,)), bytes((ESCAPE, FLAG ^ FLIP)))
    return bytes((FLAG,)) + escaped + bytes((FLAG,))


def _frame_in(plain: bytes) -> Frame | None:
    """The frame that a datagram holds; None for one that was damaged."""
    if len(plain) < 4 * (HEAD_WORDS + 1) or zlib.crc32(plain[:-4]).to_bytes(4, "little") != plain[-4:]:
        return None
    return Frame(plain[0], plain[1], plain[2], int.from_bytes(plain[4:8], "little"), plain[8:-4])


class DatagramDecoder:
    """Frames from datagrams. damaged: those that hold none."""

    def __init__(self) -> None:
        self.damaged = 0

    def feed(self, received: bytes) -> list[Frame]:
        """The frame in a datagram; nothing for no datagram."""
        if not received:
            return []
        found = _frame_in(received)
        self.damaged += found is None
        return [found] if found else []


class Decoder:
    """Frames from bytes that come in pieces; what is not a frame is counted and forgotten.

    limit: bytes of the longest frame, escapes included; longer ones are garbage. damaged: frames that were dropped.
    """

    def __init__(self, limit: int = 1 << 16):
        self.limit, self.damaged = limit, 0
        self._partial = bytearray()

    def feed(self, received: bytes) -> list[Frame]:
        """The frames that `received` completes, in order."""
        *ended, rest = received.split(bytes((FLAG,)))
        frames = []
        for piece in ended:
            found = self._frame(bytes(self._partial + piece))
            self._partial.clear()
            if found is not None:
                frames.append(found)
        # Beyond the limit the frame cannot be a good one; its CRC would be wrong as well.
        self._partial += rest[:max(0, self.limit - len(self._partial))]
        return frames

    def _frame(self, escaped: bytes) -> Frame | None:
        if not escaped:
            return None
        first, *others = escaped.split(bytes((ESCAPE,)))
        self.damaged += 1
        if not all(others):
            return None
        plain = first + b"".join(bytes((other[0] ^ FLIP,)) + other[1:] for other in others)
        found = _frame_in(plain)
        self.damaged -= found is not None
        return found


@dataclass(frozen=True)
class Segment:
    """Accesses `first` to `end` of a list of addresses; `words` are count and period, address, steps."""

    first: int
    end: int
    words: np.ndarray

    @property
    def count(self) -> int:
        return self.end - self.first


def _segment(addresses: np.ndarray, steps: np.ndarray, first: int, end: int, period: int) -> Segment:
    listed = steps[first:first + period].astype(np.uint32)
    head = np.array([end - first | len(listed) << 16, addresses[first]], np.uint32)
    return Segment(first, end, np.concatenate([head, listed]))


def _ends(steps: np.ndarray) -> dict[int, np.ndarray]:
    """By period (0: steps of one): for each access, where the run of that period which it begins ends."""
    count = len(steps)
    found = {}
    for period in (0, *PERIODS):
        if period > count:
            continue
        breaks = steps != 1 if period == 0 else steps[period:] != steps[:-period]
        at = np.where(breaks, np.arange(len(breaks)), len(breaks))
        nearest = np.minimum.accumulate(at[::-1])[::-1] if len(at) else at
        nearest = np.concatenate([nearest, np.full(count + 1 - len(nearest), len(breaks))])
        # Step j differs from step j + period: the run ends with the access before which step j + period stands.
        found[period] = np.minimum(nearest + max(period, 0) + 1, count + 1)
    return found


def segments(addresses: np.ndarray, most: int, body: int, data_words: int) -> Iterator[list[Segment]]:
    """Requests for `addresses`, in order: the segments of each.

    most: accesses of a request. body: its words. data_words: those that go with each access, 1 for writes.
    """
    steps = np.diff(addresses.astype(np.int64))
    ends = _ends(steps)
    request: list[Segment] = []
    first, words, accesses = 0, 0, 0
    while first < len(addresses):
        room = min(most - accesses, COUNT_MAX)
        best = _cheapest(ends, first, len(addresses), room, body - words, data_words)
        if best is None:
            if not request:
                raise ValueError(f"body is {body}; a segment of one access has {2 + data_words} words: give that many or more")
            yield request
            request, words, accesses = [], 0, 0
            continue
        end, period = best
        segment = _segment(addresses, steps, first, end, period)
        request.append(segment)
        words += len(segment.words) + data_words * segment.count
        accesses, first = accesses + segment.count, end
    if request:
        yield request


def _cheapest(ends: dict[int, np.ndarray], first: int, count: int, room: int, body: int, data: int) -> tuple[int, int] | None:
    """(end, period) of the segment from `first` that takes the fewest words an access; None where none fits."""
    if room < 1 or body < 2 + data:
        return None
    # Listed one by one, up to where steps of one go on for long.
    listed = min(count - first, room, PERIOD_MAX + 1, (body - 2 + 1) // (1 + data), 16)
    best = (first + listed, listed - 1)
    price = (1 + listed) / listed
    for period, end in ends.items():
        length = min(int(end[first]) - first, room)
        if data:
            length = min(length, body - 2 - period)
        if length >= 1 and body >= 2 + period + data * length and (2 + period) / length < price:
            best, price = (first + length, period), (2 + period) / length
    return best
