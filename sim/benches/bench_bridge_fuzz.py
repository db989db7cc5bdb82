"""Bridge against sim.support.link_reference: right and wrong frames of any length, number and place."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np

from mrfhw.machine.link_protocol import ESCAPE, FLAG, REWIND, Frame, Operation, encode
from sim.benches.bench_bridge import ASKED_BEHIND, REFUSED, Device
from sim.support.link_reference import BoardReference
from sim.support.runner import bench_parameters

QUIET = 40  # cycles in which nothing may come any more
CYCLES_OF_ACCESS = 40  # at most, as slowly as the bus answers and bytes are taken
OPERATIONS = (Operation.HELLO, Operation.WRITE, Operation.READ, Operation.CREDIT)


class Fuzzer:
    """Rounds of bytes to a bridge and its reference."""

    def __init__(self, dut: Any, seed: int):
        self.rng = rng = np.random.default_rng(seed)
        self.device = Device(dut, seed, share=float(rng.choice((0.5, 0.9, 1))), log=0.7)
        self.accesses: list[tuple[int, int, int]] = []
        self.memory: dict[int, int] = {}
        self.reference = self._reference()
        self.number = int(rng.integers(256))
        self.last = b""  # the last request, as it was sent
        self.log, self.log_position = bytearray(), 0  # what came since the round began, and from where

    def _reference(self) -> BoardReference:
        device = self.device
        return BoardReference(device.words, device.log_bytes, device.line_bits // 8, 12, self._write, self._read,
                              device.short_elements)

    # -- the reference's bus

    def _write(self, address: int, word: int) -> bool:
        if address >= REFUSED:
            return False
        self.accesses.append((1, address, word))
        self.memory[address] = word
        return True

    def _read(self, address: int) -> int | None:
        if address >= REFUSED:
            return None
        self.accesses.append((0, address, 0))
        return self.memory.get(address, 0)

    # -- what is sent

    def _small(self, most: int) -> int:
        """Mostly few, sometimes as many as there may be, sometimes anything."""
        kind = self.rng.random()
        return int(self.rng.integers(8) if kind < 0.6 else max(0, most - int(self.rng.integers(-2, 3))) if kind < 0.8
                   else self.rng.integers(1 << 16))

    def _words(self, count: int) -> np.ndarray:
        """Random ones, some of bytes that are sent as two."""
        return np.where(self.rng.random(count) < 0.3, 0x7D7E7E7D, self.rng.integers(0, 1 << 32, count))

    def _segments(self, write: bool) -> list[int]:
        rng, words, found = self.rng, self.device.words, list[int]()
        for _ in range(int(rng.choice((0, 1, 1, 1, 2, 3)))):
            count, period = self._small(words), self._small(words) % 256 if rng.random() < 0.5 else 0
            kind = int(rng.choice((0, 1, 2, 3), p=(0.4, 0.2, 0.2, 0.2)))
            head = count | period << 16 | kind << 24 | int(rng.integers(64)) << 26
            where = rng.random()
            address = int(rng.integers(REFUSED + 0x10) if where < 0.7 else REFUSED - rng.integers(8) if where < 0.9
                          else rng.integers(1 << 32))
            steps = rng.integers(-3, 4, min(period, 64)) % (1 << 32)
            data = self._words(min(-(-count // (1, 2, 4, 2)[kind]), 2 * words) if write else 0)
            found += [head, address, *map(int, steps), *map(int, data)]
        if rng.random() < 0.3:
            found = found[:int(rng.integers(len(found) + 1))]  # cut anywhere
        if rng.random() < 0.8:
            found = found[:words - 3]  # as long as a frame may be; else beyond
        return found

    def _position(self) -> int:
        """A log position: one that the board has, one beside, or any."""
        r, kind = self.reference, self.rng.random()
        inside = r._freed + int(self.rng.integers(r._reached - r._freed + 1))
        return (inside if kind < 0.7 else int(self.rng.choice((r._freed - 1, r._reached + 1, r._reached, r._freed)))
                if kind < 0.9 else int(self.rng.integers(1 << 32))) % (1 << 32)

    def _request(self) -> bytes:
        kind = self.rng.random()
        number = self.number if kind < 0.1 else (self.number + 1) % 256 if kind < 0.95 else int(self.rng.integers(256))
        operation, value, data = self._content()
        return encode(operation, number, value, data, int(self.rng.integers(256)) if self.rng.random() < 0.2 else 0)

    def _content(self) -> tuple[int, int, bytes]:
        """(operation, value, body) of a request."""
        rng = self.rng
        operation = int(rng.choice(OPERATIONS, p=(0.1, 0.35, 0.3, 0.25)) if rng.random() < 0.95 else rng.integers(256))
        value, body = int(self._words(1)[0]), list[int]()
        if operation in (Operation.WRITE, Operation.READ):
            body = self._segments(operation == Operation.WRITE)
        elif operation == Operation.CREDIT:
            value = self._position()
            limit = (value + self._small(self.device.log_bytes)) % (1 << 32)
            flags = int(rng.integers(1 << 31)) * 2 | (REWIND if rng.random() < 0.4 else 0)
            body = [limit, flags][:int(rng.choice((0, 1, 2, 2, 2, 2, 2)))]
        else:
            body = list(map(int, self._words(int(rng.choice((0, 0, 1, 5))))))
        data = b"".join(word.to_bytes(4, "little") for word in body)
        if rng.random() < 0.03:
            data += bytes(int(rng.integers(1, 4)))  # no whole words
        return operation, value, data

    def _broken(self, data: bytes) -> bytes:
        """A frame with something wrong: changed, lost, cut, escaped before its end, or with more."""
        at, rng = int(self.rng.integers(len(data))), self.rng
        kind = int(rng.integers(7))
        if kind == 0:
            return data[:at] + bytes((data[at] ^ 1 << int(rng.integers(8)),)) + data[at + 1:]
        if kind == 1:
            return data[:at] + data[at + 1:]
        if kind == 2:
            return data[:at]
        if kind == 3:
            return data[:-1] + bytes((ESCAPE, FLAG))
        if kind == 4:
            return data[:at] + bytes((ESCAPE, ESCAPE)) + data[at:]
        if kind == 5:
            return data.replace(bytes((ESCAPE,)), bytes((ESCAPE, ESCAPE)), 1)
        return data[:-1] + rng.bytes(int(rng.integers(1, 9))) + data[-1:]

    def _hello(self) -> bytes:
        return encode(Operation.HELLO, int(self.rng.integers(256)), int(self.rng.integers(1 << 32)))

    def _piece(self) -> bytes:
        kind = self.rng.random()
        if not self.reference.known and kind < 0.5:
            self.last = self._hello()
            return self.last
        if kind < 0.1 and self.last:
            return self.last  # once more
        if kind < 0.2:
            return self.rng.bytes(self._small(4 * self.device.words) % (8 * self.device.words) + 1)
        request = self._request()
        if kind < 0.35:
            return self._broken(request)
        self.last = request
        return request

    # -- a round

    async def start(self) -> None:
        await self.device.start()

    async def _until_quiet(self, cycles: int, wanted: int) -> list[Frame]:
        """Answers until `wanted` are here and nothing has come for a while; log goes to `log`."""
        found, quiet, device = list[Frame](), 0, self.device
        for _ in range(cycles):
            before = len(device.accesses), len(device.lines), len(device.to_board)
            await device.cycle()
            for frame in device._decoder.feed(bytes(device.from_board)):
                if frame.operation == Operation.LOG:
                    self._take(frame)
                else:
                    found.append(frame)
            still = not device.from_board and before == (len(device.accesses), len(device.lines), len(device.to_board))
            device.from_board.clear()
            quiet = quiet + 1 if still else 0
            if quiet > QUIET and len(found) >= wanted:
                return found
        raise AssertionError(f"{len(found)} of {wanted} answers in {cycles} cycles")

    def _take(self, frame: Frame) -> None:
        if not self.log:
            self.log_position = frame.value
        assert frame.value == self.log_position + len(self.log), "log that does not follow what came before"
        assert (frame.number, frame.status) == (0, 0)
        self.log += frame.body

    async def _settle(self, wanted: list[Frame], what: str) -> None:
        """Compare answers, bus and log."""
        device, reference = self.device, self.reference
        found = await self._until_quiet(CYCLES_OF_ACCESS * (device.words + 2 * device.log_bytes) + 4000, len(wanted))
        assert found == wanted, what
        self._take_those_behind(what)
        assert device.accesses == self.accesses, what
        held = b"" if device._line is None else device._line.to_bytes(device.line_bits // 8, "little")
        reference.log[:] = device.lines + held
        position, log = reference.send_log()
        assert bytes(self.log) == log, what
        assert not log or self.log_position == position, what
        self.log.clear()
        device.accesses.clear()
        self.accesses.clear()
        assert device._decoder.damaged == 0

    def _take_those_behind(self, what: str) -> None:
        """What was asked behind an access with err before the board saw that: some of the first, none that it knew better than."""
        possible, self.reference.behind_err = self.reference.behind_err, []
        first = len(self.accesses)
        for wanted in possible[:ASKED_BEHIND]:
            if wanted[1] < REFUSED and len(self.device.accesses) > first:
                assert self.device.accesses[first] == wanted, what
                first += 1
                (self._write if wanted[0] else self._read)(*wanted[1:2 + wanted[0]])

    async def round(self) -> None:
        device, reference, rng = self.device, self.reference, self.rng
        if rng.random() < 0.4:
            device.lines_left += int(rng.integers(1, 2 * device.log_bytes // (device.line_bits // 8) + 2))
            await self._settle([], "log alone")
        device.behind = reference.behind = int(rng.integers(1 << 32))
        await self._send(self._piece())
        # What is not ended may be ended by the next frame's flag, and then that frame comes while one is held and may be lost.
        await self._send(bytes((FLAG,)))

    async def _send(self, piece: bytes) -> None:
        self.device.to_board += piece
        wanted = self.reference.receive(piece)
        for frame in wanted:
            self.number = frame.number
        await self._settle(wanted, f"{piece.hex()}: {wanted}")


async def rounds_of(fuzzer: Fuzzer) -> None:
    """All rounds that are asked for, a third of them with answers at least."""
    await fuzzer.start()
    answered, rounds = 0, bench_parameters()["rounds"]
    for _ in range(rounds):
        await fuzzer.round()
        answered += fuzzer.reference.known
    assert answered > rounds // 3


@cocotb.test()
async def as_the_reference(dut: Any) -> None:
    await rounds_of(Fuzzer(dut, bench_parameters()["seed"]))
