"""What a board's end of the link must do with any bytes, after docs/link.md: a reference for the bridge, without its timing."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass

from mrfhw.machine.link_protocol import (
    BYTES,
    ELEMENT_MASKS,
    ESCAPE,
    FIRST_PACKED,
    FIRST_TOLD,
    FIRST_WINDOWED,
    FLAG,
    FLIP,
    HEAD_WORDS,
    LINK_VERSION,
    NEAR,
    NUMBERS,
    POSITIONS,
    RESPONSE,
    REWIND,
    WHOLE,
    Frame,
    Operation,
    Status,
)

__all__ = ["BoardReference", "WindowReference"]


@dataclass
class _Answer:
    operation: int
    number: int
    status: int = Status.DONE
    value: int = 0
    body: bytes = b""

    def frame(self) -> Frame:
        return Frame(self.operation | RESPONSE, self.number & 0xFF, self.status, self.value, self.body, self.number >> 8)


class _Receiver:
    """Bytes to frames of whole words, and the request memory as they leave it."""

    def __init__(self, words: int):
        self.memory = [0] * words
        self._good, self._escaped, self._plain = False, False, bytearray()

    def feed(self, byte: int) -> int:
        """Words of the frame that this byte completes, CRC left out; 0 where it completes none."""
        if byte == FLAG:
            plain, whole = self._plain, self._good and not self._escaped
            self._good, self._escaped, self._plain = True, False, bytearray()
            right = len(plain) >= 4 * (HEAD_WORDS + 1) and zlib.crc32(plain[:-4]).to_bytes(4, "little") == plain[-4:]
            return len(plain) // 4 - 1 if whole and right and len(plain) % 4 == 0 else 0
        if byte == ESCAPE:
            self._good &= not self._escaped
            self._escaped = True
        elif len(self._plain) == 4 * len(self.memory):
            self._good = False
        else:
            self._plain.append(byte ^ FLIP if self._escaped else byte)
            self._escaped = False
            if self._good and len(self._plain) % 4 == 0:
                self.memory[len(self._plain) // 4 - 1] = int.from_bytes(self._plain[-4:], "little")
        return 0


class BoardReference:
    """A bridge of `words` and `log_bytes`, whose log lines have `line_bytes`.

    write, read: the bus; False and None where it answers err. log: all bytes that the machine has offered. behind: what the log
    memory says. Every frame is taken to come when the board is idle, and every log frame to be sent at once.
    behind_err: (write, address, data) of the accesses that stand behind one with err in their request, in order: the board may have
    asked for some of the first of them.
    short_elements: see `mrfhw.gateware.link.bridge.Bridge`.
    """

    def __init__(self, words: int, log_bytes: int, line_bytes: int, address_bits: int, write: Callable[[int, int], bool],
                 read: Callable[[int], int | None], short_elements: bool = True):
        self.short_elements = short_elements
        self.words, self.log_bytes, self.line_bytes, self.address_bits = words, log_bytes, line_bytes, address_bits
        self.write, self.read = write, read
        self.log, self.behind = bytearray(), 0
        self.behind_err: list[tuple[int, int, int]] = []
        self._receiver = _Receiver(words)
        self._last: _Answer | None = None  # the answer to the last request, where one was carried out since the last refusal
        self._freed, self._next, self._reached, self._limit = 0, 0, 0, 0  # of the log, not wrapped but for the limit

    def receive(self, data: bytes) -> list[Frame]:
        """The answers to the frames in `data`."""
        return [answer for byte in data if (size := self._receiver.feed(byte)) and (answer := self._carry_out(size))]

    @property
    def known(self) -> bool:
        """Whether a host has greeted it that it still serves."""
        return self._last is not None

    def send_log(self) -> tuple[int, bytes]:
        """(position, bytes) of the log that is sent now."""
        first = self._next
        self._reached = min(len(self.log), self._freed + self.log_bytes)
        while self._next != self._reached and self._next % POSITIONS != self._limit:
            self._next += 1
        return first, bytes(self.log[first:self._next])

    def _carry_out(self, size: int) -> Frame | None:
        head = self._receiver.memory[0]
        operation, number = head & 0xFF, head >> 8 & 0xFF
        last = self._last
        if operation == Operation.HELLO:
            self._last = self._hello(number)
        elif last is not None and (operation, number) == (last.operation, last.number):
            pass
        elif last is None or number != (last.number + 1) % 256:
            self._last = None
            return _Answer(operation, number, Status.NUMBER).frame()
        else:
            self._last = self._in_turn(operation, number, size)
        assert self._last is not None
        return self._last.frame()

    def _in_turn(self, operation: int, number: int, size: int) -> _Answer:
        if operation in (Operation.WRITE, Operation.READ):
            return self._access(operation, number, size)
        return self._credit(number, size) if operation == Operation.CREDIT else _Answer(operation, number, Status.MALFORMED)

    def _hello(self, number: int) -> _Answer:
        told = self._receiver.memory[0] >> 16 & 0xFF
        version = FIRST_WINDOWED - 1 if told >= FIRST_TOLD and self.short_elements else FIRST_PACKED - 1
        words = (version, self.words, self.words, self.log_bytes, self.line_bytes, self._freed % POSITIONS,
                 self._reached % POSITIONS, self.behind)
        return _Answer(Operation.HELLO, number, value=self._receiver.memory[1],
                       body=b"".join(word.to_bytes(4, "little") for word in words))

    def _credit(self, number: int, size: int) -> _Answer:
        _, position, limit, flags = self._receiver.memory[:4]
        answer = _Answer(Operation.CREDIT, number, value=self._reached % POSITIONS)
        back = (position - self._freed) % POSITIONS
        if size < HEAD_WORDS + 2 or back > self._reached - self._freed:
            answer.status = Status.MALFORMED
            return answer
        self._freed += back
        self._limit = limit
        if flags & REWIND or self._next < self._freed:
            self._next = self._freed
        return answer

    def _access(self, operation: int, number: int, size: int) -> _Answer:
        answer, at = _Answer(operation, number), HEAD_WORDS
        words, write = self._receiver.memory[:size], operation == Operation.WRITE
        while at < size:
            count, period, kind = words[at] & 0xFFFF, words[at] >> 16 & 0xFF, words[at] >> 24 & 3 if self.short_elements else WHOLE
            mask, above = ELEMENT_MASKS[kind], words[at] >> 26 << 8 if kind == BYTES else 0
            if at + 2 + period > size:
                return self._malformed(answer)
            address, steps_at, at = words[at + 1], at + 2, at + 2 + period
            bits, lane, found = mask.bit_count(), 0, 0
            for access in range(count):
                if lane == 0 and ((at >= size) if write else (len(answer.body) == 4 * self.words)):
                    return self._malformed(answer)
                place, data = address % (1 << self.address_bits), _spread(words[at] >> lane * bits, mask) | above if write else 0
                if answer.status == Status.BUS_ERROR:
                    self.behind_err.append((int(write), place, data))
                elif write:
                    if not self.write(place, data):
                        answer.status = Status.BUS_ERROR
                elif (word := self.read(place)) is None:
                    answer.status = Status.BUS_ERROR
                else:
                    found = (found if lane else 0) | _gathered(word, mask) << lane * bits
                    answer.body = (answer.body[:-4] if lane else answer.body) + found.to_bytes(4, "little")
                answer.value += answer.status == Status.DONE
                lane = (lane + 1) % (32 // bits)
                at += write and lane == 0
                address += words[steps_at + access % period] if period else 1
            at += write and lane != 0
        return answer

    @staticmethod
    def _malformed(answer: _Answer) -> _Answer:
        answer.status = answer.status or Status.MALFORMED
        return answer


class WindowReference(BoardReference):
    """A window bridge (`mrfhw.gateware.link.window_bridge.WindowBridge`), whose largest frames have `words`, on a stream.

    memory: words of its request memory, and of its response memory. kept: answers by number, the oldest first. Every frame is taken
    to find room in the request memory.
    """

    def __init__(self, words: int, log_bytes: int, line_bytes: int, address_bits: int, write: Callable[[int, int], bool],
                 read: Callable[[int], int | None], outstanding: int, memory: int, datagrams: bool = False):
        super().__init__(words, log_bytes, line_bytes, address_bits, write, read)
        self.outstanding, self.memory, self.datagrams = outstanding, memory, datagrams
        self.kept: dict[int, _Answer] = {}
        self.last: int | None = None  # number of the last request that was carried out; None: there was no hello
        self._old = False

    @property
    def known(self) -> bool:
        return self.last is not None

    def _carry_out(self, size: int) -> Frame | None:
        head = self._receiver.memory[0]
        operation, number, third = head & 0xFF, head >> 8 & 0xFF | head >> 24 << 8, head >> 16 & 0xFF
        if operation == Operation.HELLO:
            self._old, self.last, self.kept = third < FIRST_WINDOWED, number, {}
            return self._keep(number, self._window_hello(number))
        last = self.last
        if last is None:
            return _Answer(operation, number, Status.NUMBER).frame()
        following = last & 0xFF00 | (last + 1) & 0xFF if self._old else (last + 1) % NUMBERS
        if number == following:
            return self._of_window(operation, number, size, third)
        if number in self.kept:
            kept = self.kept[number]
            return _Answer(operation, number, kept.status, kept.value, kept.body).frame()
        near = min((number - last) % NUMBERS, (last - number) % NUMBERS) < NEAR
        return None if (near and not self._old) or self.datagrams else _Answer(operation, number, Status.NUMBER).frame()

    def _of_window(self, operation: int, number: int, size: int, acknowledged: int) -> Frame | None:
        """It is in turn."""
        assert self.last is not None
        numbers = [(self.last - len(self.kept) + place) & 0xFF for place in range(len(self.kept) + 1)]
        if self._old:
            self.kept.clear()
        elif acknowledged in numbers:
            for gone in list(self.kept)[:numbers.index(acknowledged)]:
                del self.kept[gone]
        free = self.memory - sum(len(answer.body) for answer in self.kept.values()) // 4
        if len(self.kept) == self.outstanding or (operation == Operation.READ and free < self.words):
            return None
        self.last = number
        return self._keep(number, self._in_turn(operation, number, size))

    def _keep(self, number: int, answer: _Answer) -> Frame:
        self.kept[number] = answer
        return answer.frame()

    def _window_hello(self, number: int) -> _Answer:
        answer = self._hello(number)
        if not self._old:
            more = b"".join(word.to_bytes(4, "little") for word in (self.outstanding, self.memory, self.memory))
            answer.body = LINK_VERSION.to_bytes(4, "little") + answer.body[4:] + more
        return answer


def _places(mask: int) -> list[int]:
    return [place for place in range(32) if mask >> place & 1]


def _spread(element: int, mask: int) -> int:
    """The lowest bits of `element` at the places of a mask."""
    return sum((element >> bit & 1) << place for bit, place in enumerate(_places(mask)))


def _gathered(word: int, mask: int) -> int:
    """The bits of a word at the places of a mask, side by side."""
    return sum((word >> place & 1) << bit for bit, place in enumerate(_places(mask)))
