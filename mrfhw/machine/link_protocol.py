"""The bytes on the link (docs/link.md): frames on a stream and in datagrams, their checks, and addresses as segments."""

from __future__ import annotations

import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple

import numpy as np

__all__ = [
    "DatagramDecoder", "Decoder", "Frame", "Operation", "Segment", "Status", "datagram", "element_bits", "element_words", "encode",
    "ethernet_words", "flagged", "frame_words", "in_order", "is_outstanding", "is_size", "joined", "kinds_of", "log_unit",
    "most_words", "narrowest", "segments",
]

FLAG, ESCAPE, FLIP = 0x7E, 0x7D, 0x20
LINK_VERSION = 4
LEAST_VERSION = 2  # that this program speaks with a board
FIRST_PACKED = 3  # the first version with elements of fewer bits than 32
FIRST_TOLD = 3  # the first version that a hello tells, as its status
FIRST_WINDOWED = 4  # the first version with several requests outstanding, numbers of 16 bits and acknowledgements
HEAD_WORDS = 2  # header and value
LOG_CHUNK = 256  # bytes of log in a frame at most
DATAGRAM_LOG_CHUNK = 1024  # the same in a datagram, which an Ethernet packet has to hold
DATAGRAM_WORDS = 256  # most words of a memory for requests or responses whose frames are datagrams
MOST_OUTSTANDING = 64  # requests
OUTSTANDING = 1  # requests of a board, unless it has its own
WINDOW = 32  # of one with block RAM to spare
NUMBERS = 1 << 16  # requests are numbered modulo this, from FIRST_WINDOWED on
NEAR = 256  # numbers that differ from the last one's by less are of the same host
FRAMES_HELD = 4  # largest frames, at least, that fit the memories of a board with several requests outstanding
UDP_PORT = 28018  # of a board
PEER_BITS = 48  # of the address and port of who has sent a datagram
STATUS_BITS = 2  # of a response
ETHERNET_HZ = 125_000_000  # of the wires' clocks
ETHERNET_LOG_BYTES = 1 << 15  # of a ring of log that waits for the host
USB_LOG_BYTES = 1 << 14  # of such a ring: 14 ms, as a host's controller moves data by the millisecond
PACKET_BYTES = 64  # of a packet of a full-speed bulk endpoint of USB
FRAME_BITS = 10  # of a serial port's byte: start, eight of data, stop
UDP_BYTES, WIRE_BYTES = 28, 38  # of IP and UDP beside a frame, and on the wires beside that: addresses, check, preamble, gap
POSITIONS = 1 << 32  # log positions are counted modulo this
FRAME_WORDS = (16, 4096)  # least and most of a board's largest request, and of its largest response
MEMORY_WORDS = (64, 1 << 14)  # least and most of its memory for several requests, and of that for several responses
BAUD, WORDS, LOG_BYTES = 3_000_000, 512, 2048  # of a board's serial port, memories for frames and log memory, unless it has its own
LOG_MEMORY = (16, 1 << 16)  # least and most bytes of its log memory
REQUEST_CYCLES = 7  # of a board for a write or read, from the end of its frame on, beside those of its segments
WINDOW_CYCLES = 13  # the same of a board with several requests outstanding, from where it is the first that waits
SEGMENT_CYCLES = 7  # of a segment beyond those of its accesses, at most, where the bus takes each at once
LOG_WAIT = 1023  # cycles that log which fills no datagram waits for more
PERIOD_MAX = 255
COUNT_MAX = 0xFFFF
# What an element of a segment's data holds of a bus word, by the low KIND_BITS of its kind. Those of BYTES are written with the
# ABOVE_BITS that stand above the kind's low bits as bits 8 and on; those of FIELDS hold label and count of a word of LMem.
ELEMENT_MASKS = (0xFFFFFFFF, 0xFFFF, 0xFF, 0xFF00FF)
WHOLE, HALVES, BYTES, FIELDS = range(4)
KIND_BITS, ABOVE_BITS = 2, 6
SHAPE_MASK = (1 << KIND_BITS) - 1
RESPONSE = 0x80
REWIND = 1  # flag of a credit
PERIODS = (1, 2, 4, 8, 16)  # of address steps that are looked for
SHORT_RUN = 24  # bytes that two more segments take, about


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


def is_outstanding(value: object) -> bool:
    """Whether a board may have so many requests outstanding: a power of two."""
    return is_size(value, (1, MOST_OUTSTANDING))


def most_words(datagrams: bool, outstanding: int = OUTSTANDING) -> int:
    """Words of a board's memory for requests, or for responses, at most."""
    if outstanding > 1:
        return MEMORY_WORDS[1]
    return DATAGRAM_WORDS if datagrams else FRAME_WORDS[1]


def ethernet_words(outstanding: int) -> tuple[int, int]:
    """Words of a board's memories for requests and responses of datagrams, unless it has its own."""
    return (DATAGRAM_WORDS, DATAGRAM_WORDS) if outstanding == 1 else (8 * DATAGRAM_WORDS, 4 * DATAGRAM_WORDS)


def frame_words(words: int, outstanding: int) -> int:
    """Words of the largest frame of a memory of `words`, in a board with so many requests outstanding."""
    return words if outstanding == 1 else min(words // FRAMES_HELD, DATAGRAM_WORDS)


class Frame(NamedTuple):
    """A frame's fields; `body` without the CRC. session: which is the host's, or the upper half of the request's number."""

    operation: int
    number: int
    status: int
    value: int
    body: bytes
    session: int = 0

    @property
    def words(self) -> np.ndarray:
        """The body as uint32."""
        return np.frombuffer(self.body[:len(self.body) // 4 * 4], "<u4")


def datagram(operation: int, number: int, value: int, body: bytes = b"", status: int = 0, session: int = 0) -> bytes:
    """The bytes of a frame, CRC included, as a datagram carries them. session: which is the host's, 0 to 255."""
    plain = bytes((operation, number, status, session)) + value.to_bytes(4, "little") + body
    return plain + zlib.crc32(plain).to_bytes(4, "little")


def encode(operation: int, number: int, value: int, body: bytes = b"", status: int = 0, session: int = 0) -> bytes:
    """The bytes of a frame, flags, escapes and CRC included, as a stream carries them."""
    return flagged(datagram(operation, number, value, body, status, session))


def flagged(plain: bytes) -> bytes:
    """A frame's bytes as a stream carries them, with flags and escapes."""
    escaped = plain.replace(bytes((ESCAPE,)), bytes((ESCAPE, ESCAPE ^ FLIP))).replace(bytes((FLAG,)), bytes((ESCAPE, FLAG ^ FLIP)))
    return bytes((FLAG,)) + escaped + bytes((FLAG,))


def _frame_in(plain: bytes) -> Frame | None:
    """The frame that a datagram holds; None for one that was damaged."""
    if len(plain) < 4 * (HEAD_WORDS + 1) or zlib.crc32(plain[:-4]).to_bytes(4, "little") != plain[-4:]:
        return None
    return Frame(plain[0], plain[1], plain[2], int.from_bytes(plain[4:8], "little"), plain[8:-4], plain[3])


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


def element_bits(kind: int) -> int:
    """Bits of an element."""
    return ELEMENT_MASKS[kind & SHAPE_MASK].bit_count()


def element_words(count: int, kind: int) -> int:
    """Words that hold so many elements."""
    return -(-count * element_bits(kind) // 32)


def narrowest(mask: int) -> int:
    """The kind of the shortest elements that hold these bits of a bus word that is read."""
    return min((kind for kind, held in enumerate(ELEMENT_MASKS) if not mask & ~held), key=element_bits)


@dataclass(frozen=True)
class Segment:
    """Accesses `first` to `end` of a list of addresses; `words` are count, period and kind, address, steps.

    kind: of its elements.
    """

    first: int
    end: int
    words: np.ndarray
    kind: int

    @property
    def count(self) -> int:
        return self.end - self.first

    @property
    def data_words(self) -> int:
        """Words of its elements."""
        return element_words(self.count, self.kind)


def _segment(addresses: np.ndarray, steps: np.ndarray, first: int, end: int, period: int, kind: int) -> Segment:
    listed = steps[first:first + period].astype(np.uint32)
    head = np.array([end - first | len(listed) << 16 | kind << 24, addresses[first]], np.uint32)
    return Segment(first, end, np.concatenate([head, listed]), kind)


def kinds_of(words: np.ndarray) -> np.ndarray:
    """(n,) uint8, for each word by itself the kind of the shortest elements."""
    kinds = np.where(words < 1 << 8 + ABOVE_BITS, BYTES | words >> 8 << KIND_BITS, np.where(words < 1 << 16, HALVES, WHOLE))
    return kinds.astype(np.uint8)


def joined(kinds: np.ndarray) -> np.ndarray:
    """Kinds for words one after the other, from the kinds of each by itself.

    A few words between others go with those in longer elements, which takes fewer bytes than another segment.
    """
    changes = np.flatnonzero(np.diff(kinds)) + 1
    if not len(changes):
        return kinds
    lengths = np.diff(np.concatenate([[0], changes, [len(kinds)]]))
    short = np.repeat(lengths < SHORT_RUN, lengths) & (kinds & SHAPE_MASK == BYTES)
    found = np.where(short, HALVES, kinds).astype(np.uint8)
    found[_without_short_gaps(found == WHOLE, SHORT_RUN // 2)] = WHOLE
    return found


def in_order(addresses: np.ndarray, kinds: np.ndarray, writes: bool, sort: bool) -> tuple[np.ndarray | None, np.ndarray]:
    """The order (n,) in which accesses are made, None as they are, and their kinds in it. sort: they may come in any order.

    Long runs of addresses whose data have elements of one kind take few segments.
    """
    order = np.lexsort((addresses, kinds)) if sort else None
    placed = kinds if order is None else kinds[order]
    return order, joined(placed) if writes else placed


def _without_short_gaps(chosen: np.ndarray, most: int) -> np.ndarray:
    """`chosen` (n,) bool, True as well in gaps of at most `most` between two True."""
    if not chosen.any() or chosen.all():
        return chosen
    place, far = np.arange(len(chosen)), 2 * len(chosen) + most
    before = np.maximum.accumulate(np.where(chosen, place, -far))
    after = np.minimum.accumulate(np.where(chosen, place, far)[::-1])[::-1]
    return after - before <= most + 1


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


def segments(addresses: np.ndarray, response: int, body: int, kinds: np.ndarray | int, writes: bool) -> Iterator[list[Segment]]:
    """Requests for `addresses`, in order: the segments of each.

    response: words of a response that holds what is read. body: words of a request. kinds: of the elements, one for all or (n,)
    for each; all of a segment are of one. writes: the data stand in the requests.
    """
    steps = np.diff(addresses.astype(np.int64))
    ends = _ends(steps)
    kind_of = np.broadcast_to(np.asarray(kinds, np.uint8), addresses.shape)
    changes = [*(np.flatnonzero(np.diff(kind_of)) + 1).tolist(), len(addresses)]
    request: list[Segment] = []
    first, words, read = 0, 0, 0
    while first < len(addresses):
        while changes[0] <= first:
            changes.pop(0)
        kind = int(kind_of[first])
        room = COUNT_MAX if writes else min(COUNT_MAX, (response - read) * 32 // element_bits(kind))
        best = _cheapest(ends, first, changes[0] - first, room, body - words, element_bits(kind) if writes else 0)
        if best is None:
            if not request:
                raise ValueError(f"body is {body}; a segment of one access has {2 + writes} words: give that many or more")
            yield request
            request, words, read = [], 0, 0
            continue
        end, period = best
        segment = _segment(addresses, steps, first, end, period, kind)
        request.append(segment)
        words += len(segment.words) + (segment.data_words if writes else 0)
        read, first = read + segment.data_words, end
    if request:
        yield request


def _cheapest(ends: dict[int, np.ndarray], first: int, count: int, room: int, body: int, bits: int) -> tuple[int, int] | None:
    """(end, period) of the segment from `first` that takes the fewest words an access; None where none fits.

    count: accesses that may be in it. room, body: of those, and of words. bits: of an access's data in the body.
    """
    if room < 1 or body < 2 + (bits > 0):
        return None
    # Listed one by one, up to where steps of one go on for long.
    listed = min(count, room, PERIOD_MAX + 1, (32 * (body - 1)) // (32 + bits), 16)
    while 1 + listed + -(-listed * bits // 32) > body:
        listed -= 1
    best = (first + listed, listed - 1)
    price = (1 + listed) / listed
    for period, end in ends.items():
        length = min(int(end[first]) - first, room, count)
        if bits:
            length = min(length, (body - 2 - period) * 32 // bits)
        if length >= 1 and body >= 2 + period and (2 + period) / length < price:
            best, price = (first + length, period), (2 + period) / length
    return best
