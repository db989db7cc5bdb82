"""What a board's end of the link must do with any bytes, after docs/link.md: a reference for the bridge, without its timing."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass

from mrfhw.machine.link_protocol import (
    ESCAPE,
    FLAG,
    FLIP,
    HEAD_WORDS,
    LINK_VERSION,
    POSITIONS,
    RESPONSE,
    REWIND,
    Frame,
    Operation,
    Status,
)

__all__ = ["BoardReference"]


@dataclass
class _Answer:
    operation: int
    number: int
    status: int = Status.DONE
    value: int = 0
    body: bytes = b""

    def frame(self) -> Frame:
        return Frame(self.operation | RESPONSE, self.number, self.status, self.value, self.body)


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
    """

    def __init__(self, words: int, log_bytes: int, line_bytes: int, address_bits: int, write: Callable[[int, int], bool],
                 read: Callable[[int], int | None]):
        self.words, self.log_bytes, self.line_bytes, self.address_bits = words, log_bytes, line_bytes, address_bits
        self.write, self.read = write, read
        self.log, self.behind = bytearray(), 0
        self._receiver = _Receiver(words)
        self._last: _Answer | None = None  # the answer to the last request, where one was carried out since the last refusal
        self._freed, self._next, self._reached, self._limit = 0, 0, 0, 0  # of the log, not wrapped but for the limit

    def receive(self, data: bytes) -> list[Frame]:
        """The answers to the frames in `data`."""
        return [self._carry_out(size) for byte in data if (size := self._receiver.feed(byte))]

    def send_log(self) -> tuple[int, bytes]:
        """(position, bytes) of the log that is sent now."""
        first = self._next
        self._reached = min(len(self.log), self._freed + self.log_bytes)
        while self._next != self._reached and self._next % POSITIONS != self._limit:
            self._next += 1
        return first, bytes(self.log[first:self._next])

    def _carry_out(self, size: int) -> Frame:
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
        elif operation in (Operation.WRITE, Operation.READ):
            self._last = self._access(operation, number, size)
        elif operation == Operation.CREDIT:
            self._last = self._credit(number, size)
        else:
            self._last = _Answer(operation, number, Status.MALFORMED)
        assert self._last is not None
        return self._last.frame()

    def _hello(self, number: int) -> _Answer:
        words = (LINK_VERSION, self.words, self.words, self.log_bytes, self.line_bytes, self._freed % POSITIONS,
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
        words = self._receiver.memory[:size]
        while at < size:
            count, period = words[at] & 0xFFFF, words[at] >> 16 & 0xFF
            if at + 2 + period > size:
                answer.status = Status.MALFORMED
                return answer
            address, steps_at, at = words[at + 1], at + 2, at + 2 + period
            for access in range(count):
                if (at >= size) if operation == Operation.WRITE else (len(answer.body) == 4 * self.words):
                    answer.status = Status.MALFORMED
                    return answer
                place = address % (1 << self.address_bits)
                if operation == Operation.WRITE:
                    done = self.write(place, words[at])
                    at += 1
                else:
                    found = self.read(place)
                    done = found is not None
                    answer.body += b"" if found is None else found.to_bytes(4, "little")
                if not done:
                    answer.status = Status.BUS_ERROR
                    return answer
                answer.value += 1
                address += words[steps_at + access % period] if period else 1
        return answer
