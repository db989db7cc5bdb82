"""Bridge behind datagrams: the host's own requests through losses, copies and another order, and what a late copy must not do."""

from __future__ import annotations

import itertools
from collections import deque
from collections.abc import Callable
from typing import Any

import cocotb
import numpy as np

from mrfhw.machine.link_protocol import (
    DATAGRAM_LOG_CHUNK,
    HEAD_WORDS,
    RESPONSE,
    REWIND,
    DatagramDecoder,
    Frame,
    Operation,
    Status,
    datagram,
)
from sim.benches.bench_bridge import Device, work_accesses, work_log
from sim.support.blocking import blocking

FRAME_CYCLES = 3  # of a datagram beyond its words, as DatagramTransmitter states


class DatagramDevice(Device):
    """A bridge with datagrams on either side. `sent` is of words, whose datagrams must not pause."""

    datagrams = True

    def __init__(self, dut: Any, seed: int, share: float = 0.5, log: float = 0.0):
        super().__init__(dut, seed, share, log)
        self._decoder = DatagramDecoder()
        self.words_to_board = deque[tuple[int, int, int]]()
        self.arrived = deque[bytes]()
        self._partial = bytearray()

    def send(self, data: bytes) -> None:
        words = [data[at:at + 4] for at in range(0, len(data), 4)]
        self.words_to_board += [(int.from_bytes(word, "little"), number == len(words) - 1, len(words[-1]) == 4)
                                for number, word in enumerate(words)]
        self.to_board[:] = b"." * len(self.words_to_board)

    def _offered(self, come: bool) -> dict[str, Any]:
        word, last, whole = self.words_to_board.popleft() if come else map(int, self.rng.integers(0, 2, 3))
        return {"received_payload": {"word": word, "last": int(last), "whole": int(whole)}}

    def _take(self, ready: bool) -> None:
        valid = self.bench.read("sent_valid")
        assert valid or not self._partial, "a datagram paused"
        if not (valid and ready):
            return
        now = self.bench.read("sent_payload")
        self._partial += now["word"].to_bytes(4, "little")
        if now["last"]:
            assert now["length"] == len(self._partial)
            self.arrived.append(bytes(self._partial))
            self._partial.clear()

    async def datagram(self, cycles: int = 5000) -> bytes:
        """The next datagram that is sent; empty if none comes."""
        for _ in range(cycles):
            if self.arrived:
                return self.arrived.popleft()
            await self.cycle()
        return b""

    async def frame(self) -> Frame:
        found = self._decoder.feed(await self.datagram())
        assert found, "no frame"
        return found[0]

    async def _receive(self, cycles: int) -> bytes:
        return await self.datagram(cycles)

    async def ignored(self, *frame: Any) -> bool:
        """Whether a frame is not answered."""
        return await self.answered(*frame) is None

    async def answer_of(self, *frame: Any) -> Frame:
        """The answer to a frame."""
        found = await self.answered(*frame)
        assert found is not None, "no answer"
        return found

    async def answered(self, operation: int, number: int, value: int = 0, body: bytes = b"", session: int = 0) -> Frame | None:
        """The answer to a frame, None where there is none."""
        self.send(datagram(operation, number, value, body, session=session))
        found = self._decoder.feed(await self.datagram(400))
        assert not found or found[0].operation == operation | RESPONSE
        return found[0] if found else None


async def _with(dut: Any, work: Callable[..., None], seed: int, *arguments: Any, **timing: float) -> None:
    device = DatagramDevice(dut, seed, **timing)
    await device.start()
    await blocking(work, device, *arguments)


@cocotb.test()
async def accesses(dut: Any) -> None:
    await _with(dut, work_accesses, 2, 6, 0.0, share=1)


@cocotb.test()
async def accesses_under_faults(dut: Any) -> None:
    await _with(dut, work_accesses, 3, 8, 0.3)


@cocotb.test()
async def log(dut: Any) -> None:
    await _with(dut, work_log, 4, 300, 0.0, log=1, share=1)


@cocotb.test()
async def log_under_faults(dut: Any) -> None:
    await _with(dut, work_log, 5, 300, 0.2, log=0.4)


@cocotb.test()
async def late_copies(dut: Any) -> None:
    """Of requests, of this session's hello and of the one before: nothing is carried out, answered or forgotten."""
    device = DatagramDevice(dut, 6, share=1)
    await device.start()
    answer, ignored, body = device.answer_of, device.ignored, np.array([1, 9, 77], np.uint32).tobytes()
    assert (await answer(Operation.WRITE, 5, 0, body, 0x11)).status == Status.NUMBER, "no hello so far"
    for nonce in (0x11, 0x22):
        found = await answer(Operation.HELLO, 200, nonce)
        assert (found.number, found.value) == (200, nonce)
        assert await answer(Operation.HELLO, 200, nonce) == found, "asked again before anything else"
    for number in (201, 202, 203):
        found = await answer(Operation.WRITE, number, 0, body, 0x22)
        assert (found.status, found.value) == (Status.DONE, 1)
    assert len(device.accesses) == 3
    for late in ((Operation.HELLO, 200, 0x11), (Operation.HELLO, 200, 0x22), (Operation.WRITE, 201, 0, body, 0x22),
                 (Operation.WRITE, 202, 0, body, 0x22), (Operation.WRITE, 205, 0, body, 0x22),
                 (Operation.WRITE, 204, 0, body, 0x11)):
        assert await ignored(*late)
    assert (await answer(Operation.WRITE, 203, 0, body, 0x22)).value == 1, "the last one's answer is kept"
    assert len(device.accesses) == 3
    assert (await answer(Operation.WRITE, 204, 0, body, 0x22)).value == 1
    assert len(device.accesses) == 4
    assert await ignored(Operation.HELLO, 200, 0x11), "of the session before, still"
    assert (await answer(Operation.HELLO, 7, 0x33)).number == 7
    assert await ignored(Operation.WRITE, 205, 0, body, 0x22)
    assert len(device.accesses) == 4


@cocotb.test()
async def damaged_and_odd(dut: Any) -> None:
    """Any byte changed, any cut, too long, or of no whole words: nothing is carried out, nothing is answered."""
    device = DatagramDevice(dut, 9, share=1)
    await device.start()
    assert await device.answered(Operation.HELLO, 0, 5)
    good = datagram(Operation.WRITE, 1, 0, np.array([1, 9, 77], np.uint32).tobytes(), session=5)
    long = datagram(Operation.WRITE, 1, 0, np.arange(device.words, dtype=np.uint32).tobytes(), session=5)
    bad = [good[:at] + bytes((good[at] ^ 1 << at % 8,)) + good[at + 1:] for at in range(len(good))]
    bad += [good[:at] for at in range(1, len(good))] + [good + bytes(4), long, datagram(Operation.WRITE, 1, 0)[:8]]
    for data in bad:
        device.send(data)
    assert await device.datagram(len(bad) * len(good)) == b""
    assert device.accesses == []
    device.send(good)
    assert await device.datagram(200) != b""
    assert device.accesses == [(1, 9, 77)]


async def _with_a_full_ring(dut: Any, seed: int) -> DatagramDevice:
    """A device in session 5 whose ring of log is full, with as much again behind it."""
    device = DatagramDevice(dut, seed, share=1, log=1)
    await device.start()
    assert await device.answered(Operation.HELLO, 0, 5)
    device.lines_left = 2 * device.log_bytes // (device.line_bits // 8)
    for _ in range(2 * device.log_bytes):
        await device.cycle()
    return device


@cocotb.test()
async def rate_of_a_full_log(dut: Any) -> None:
    """Frames of DATAGRAM_LOG_CHUNK bytes but for what is left, each in its words and FRAME_CYCLES cycles."""
    device = await _with_a_full_ring(dut, 11)
    size, log, sizes, times = device.log_bytes, bytearray(), [], []
    device.send(datagram(Operation.CREDIT, 1, 0, np.array([size, 0], np.uint32).tobytes(), session=5))
    while len(log) < size:
        frame = await device.frame()
        if frame.operation == Operation.LOG:
            assert frame.value == len(log)
            log += frame.body
            sizes.append(len(frame.body))
            times.append(device.bench.now)
    chunk = DATAGRAM_LOG_CHUNK
    assert sizes == [chunk] * (size // chunk) + [size % chunk] * (size % chunk > 0)
    cycles = [b - a for a, b in itertools.pairwise(times)][:size // chunk - 1]
    assert cycles == [HEAD_WORDS + chunk // 4 + 1 + FRAME_CYCLES] * len(cycles)
    assert log == (device.lines + (device._line or 0).to_bytes(device.line_bits // 8, "little"))[:size]


@cocotb.test()
async def a_credit_in_the_middle_of_a_log(dut: Any) -> None:
    """That takes the log back and grants a word of it: what is sent next is that word alone."""
    device = await _with_a_full_ring(dut, 12)
    for number, body in ((1, (device.log_bytes, 0)), (2, (4, REWIND))):
        assert number == 1 or (await device.frame()).value == 0, "the first of the log"
        device.send(datagram(Operation.CREDIT, number, 0, np.array(body, np.uint32).tobytes(), session=5))
        while (frame := await device.frame()).operation == Operation.LOG:
            assert number == 1 or frame.value > 0, "more than is granted"
    sent = []
    while data := await device.datagram():
        sent += [(log.value, len(log.body)) for log in device._decoder.feed(data)]
    assert sent == [(0, 4)]
