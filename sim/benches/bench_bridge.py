"""Bridge: the host's own requests over a byte stream with faults, a bus that answers when it likes, a log that never pauses."""

from __future__ import annotations

import itertools
import os
from collections import Counter, deque
from collections.abc import Callable
from typing import Any

import cocotb
import numpy as np
import pytest
from cocotb.task import resume

from mrfhw.driver.driver import ChipError
from mrfhw.gateware.link.accesses import SEGMENT_CYCLES
from mrfhw.gateware.link.bridge import REQUEST_CYCLES, Bridge
from mrfhw.gateware.link.window_bridge import WindowBridge
from mrfhw.host.remote_chip import RemoteChip
from mrfhw.host.requests import Greeting, Requests
from mrfhw.machine.link_protocol import (
    FIRST_WINDOWED,
    HEAD_WORDS,
    LOG_CHUNK,
    RESPONSE,
    Decoder,
    Frame,
    Operation,
    Status,
    element_bits,
    element_words,
    encode,
)
from sim.support.blocking import blocking
from sim.support.faulty_link import FaultyDatagrams, FaultyLink
from sim.support.fields import Bench
from sim.support.runner import bench_parameters
from sim.support.streams import Rhythm

LINK_PARAMETERS = ("address_bits", "line_bits", "words", "response_words", "log_bytes", "outstanding", "short_elements")
SECOND = 20_000  # cycles that the host takes for a second
REFUSED = 0x300  # addresses from here on are answered with err
ASKED_BEHIND = 9  # accesses that the board may ask for before it sees that one was refused
BUS_LATENCY = 5  # most cycles from the taking of an access to its answer, where none waits for those before it


class Device:
    """A bridge with a bus of words, and lines of a log.

    accesses: (write, address, data) of those that the bus carried out; asked: how many it took. lines: those that the bridge
    took. behind: what the log memory says.
    share, log: of cycles in which bytes and lines come. bus: in which the bus takes an access; where it is 1 it answers in the
    cycle after, else after up to BUS_LATENCY, in order.
    """

    name = "bench"
    datagrams = False

    def __init__(self, dut: Any, seed: int, share: float = 0.5, log: float = 0.0, bus: float = 0.6):
        p = {name: value for name, value in bench_parameters().items() if name in LINK_PARAMETERS}
        bridge = (WindowBridge if "outstanding" in p else Bridge)(**p, datagrams=self.datagrams)
        self.bench = Bench(dut, bridge)
        self.rng = np.random.default_rng(seed)
        self.line_bits, self.words, self.log_bytes = p["line_bits"], bridge.words, p["log_bytes"]
        self.short_elements = p.get("short_elements", True)
        self.accesses: list[tuple[int, int, int]] = []
        self.asked = 0
        self.memory: dict[int, int] = {}
        self.lines, self.lines_left = bytearray(), 0
        self.to_board, self.from_board = bytearray(), bytearray()
        self._come, self._taken, self._log = Rhythm(self.rng, share, 3), Rhythm(self.rng, share, 3), Rhythm(self.rng, log, 9)
        self.behind = 0
        self._bus, self._takes = bus, Rhythm(self.rng, bus, 3)
        self._answers = deque[tuple[int, dict[str, int]]]()  # each with the cycle from which on it may come
        self._line: int | None = None
        self._held: int | None = None
        self.faults = Counter[str]()
        self._decoder: Any = Decoder()
        self._frames = deque[Frame]()

    async def start(self) -> None:
        await self.bench.start()

    async def cycle(self) -> None:
        """One cycle of all three sides."""
        bench, drive = self.bench, dict[str, Any]()
        come = bool(self.to_board) and self._come()
        drive |= {"received_valid": int(come), **self._offered(come)}
        ready = self._taken()
        taking = self._takes()
        drive |= {"sent_ready": int(ready), "bus_ack": 0, "bus_err": 0, "bus_dat_r": int(self.rng.integers(1 << 32)),
                  "bus_stall": int(not taking)}
        if self._answers and self._answers[0][0] <= bench.now + 1:
            drive |= self._answers.popleft()[1]
        if self._line is None and self.lines_left and self._log():
            self._line = int.from_bytes(self.rng.bytes(self.line_bits // 8), "little")
        drive |= {"lines_tvalid": int(self._line is not None), "lines_tdata": self._line or 0,
                  "behind": self.behind}
        await bench.cycle(**drive)
        if come:
            assert bench.read("received_ready") == 1
            self.to_board.pop(0)
        self._take(ready)
        assert bench.read("bus_cyc") or not (bench.read("bus_stb") or self._answers), "a cycle ended before its answers"
        if taking and bench.read("bus_stb"):
            self.asked += 1
            latency = 1 if self._bus == 1 else int(self.rng.integers(1, BUS_LATENCY + 1))
            self._answers.append((bench.now + latency, self._carried_out()))
        if self._line is not None and bench.read("lines_tready"):
            self.lines += self._line.to_bytes(self.line_bits // 8, "little")
            self._line, self.lines_left = None, self.lines_left - 1

    def _offered(self, come: bool) -> dict[str, int]:
        return {"received_payload": self.to_board[0] if come else int(self.rng.integers(256))}

    def _take(self, ready: bool) -> None:
        valid = self.bench.read("sent_valid")
        byte: int = self.bench.read("sent_payload") if valid else 0
        assert self._held is None or byte == self._held, "a byte changed before it was taken"
        if valid and ready:
            self.from_board.append(byte)
        self._held = byte if valid and not ready else None

    def _carried_out(self) -> dict[str, int]:
        """The slave's answer to what stands on the bus."""
        read = self.bench.read
        write, address, word = read("bus_we"), read("bus_adr"), read("bus_dat_w")
        if address >= REFUSED:
            return {"bus_err": 1}
        self.accesses.append((write, address, word if write else 0))
        if write:
            self.memory[address] = word
        return {"bus_ack": 1, "bus_dat_r": self.memory.get(address, 0)}

    async def frame(self) -> Frame:
        """The next frame that is sent."""
        for _ in range(5000):
            await self.cycle()
            self._frames += self._decoder.feed(bytes(self.from_board))
            self.from_board.clear()
            if self._frames:
                return self._frames.popleft()
        raise AssertionError("no frame")

    async def ask(self, operation: int, number: int, value: int = 0, body: bytes = b"") -> tuple[int, int, int]:
        """(number, status, value) of the answer, where no log comes."""
        self.send(encode(operation, number, value, body))
        frame = await self.frame()
        assert frame.operation == operation | RESPONSE
        return frame.number, frame.status, frame.value

    # -- as a link of the host's

    def send(self, data: bytes) -> None:
        self.to_board += data

    def receive(self, seconds: float) -> bytes:
        return bytes(resume(self._receive)(int(seconds * SECOND) + 1))

    async def _receive(self, cycles: int) -> bytes:
        quiet = 0
        for _ in range(cycles):
            before = len(self.from_board)
            await self.cycle()
            quiet = quiet + 1 if len(self.from_board) == before else 0
            if before and quiet > 20:
                break
        found = bytes(self.from_board)
        self.from_board.clear()
        return found

    def clock(self) -> float:
        return self.bench.now / SECOND

    def close(self) -> None: ...


def greeted(device: Device, seed: int = 0, rate: float = 0.0) -> Requests:
    link = (FaultyDatagrams if device.datagrams else FaultyLink)(device, seed, rate)
    requests = Requests(link)
    requests.hello()
    device.faults = link.faults
    return requests


def random_addresses(rng: np.random.Generator) -> np.ndarray:
    runs = [int(rng.integers(0x200)) + int(rng.integers(-3, 9)) * np.arange(int(rng.integers(1, 20))) for _ in range(4)]
    return (np.concatenate(runs) % REFUSED).astype(np.uint32)


def work_accesses(device: Device, rounds: int, rate: float) -> None:
    """Writes and reads; the bus sees each once, in order."""
    chip, rng = RemoteChip(greeted(device, 7, rate)), device.rng
    for number in range(rounds):
        addresses, data = random_addresses(rng), rng.integers(0, 1 << 32, 80, np.uint32)
        data = data[:len(addresses)] if number % 4 else np.full(len(addresses), 0x7D7E7E7D, np.uint32)
        device.accesses.clear()
        chip.write(addresses, data)
        assert device.accesses == [(1, int(a), int(d)) for a, d in zip(addresses, data, strict=True)]
        addresses = random_addresses(rng)
        device.accesses.clear()
        assert chip.read(addresses).tolist() == [device.memory.get(int(a), 0) for a in addresses]
        assert device.accesses == [(0, int(a), 0) for a in addresses]
    assert (device.faults.total() > 0) == (rate > 0)


def work_log(device: Device, lines: int, rate: float) -> None:
    """All of a log, through credits, with reads between."""
    requests = greeted(device, 8, rate)
    chip = RemoteChip(requests)
    assert requests.greeting is not None
    requests.begin_log(requests.greeting.reached)
    requests.credit()
    device.lines.clear()
    device.lines_left = lines
    while device.lines_left or requests.credit():
        requests.listen(0.01)
        requests.credit()
        chip.read(np.arange(3, dtype=np.uint32))
    assert bytes(requests.log) == bytes(device.lines)
    assert len(device.lines) == lines * device.line_bits // 8
    assert (device.faults.total() > 0) == (rate > 0)


async def with_device(dut: Any, work: Callable[..., None], seed: int, *arguments: Any, **timing: float) -> None:
    device = Device(dut, seed, **timing)
    await device.start()
    await blocking(work, device, *arguments)


@cocotb.test()
async def what_it_says_of_itself(dut: Any) -> None:
    def work(device: Device) -> None:
        device.behind = int(device.rng.integers(1 << 32))
        greeting = greeted(device).greeting
        assert greeting == Greeting(FIRST_WINDOWED - 1, device.words, device.words, device.log_bytes, device.line_bits // 8, 0, 0,
                                    device.behind)

    await with_device(dut, work, 1)


@cocotb.test()
async def accesses(dut: Any) -> None:
    await with_device(dut, work_accesses, 2, 8, 0.0, share=1)


@cocotb.test()
async def accesses_under_faults(dut: Any) -> None:
    await with_device(dut, work_accesses, 3, 8, 3e-3)


@cocotb.test()
async def log(dut: Any) -> None:
    await with_device(dut, work_log, 4, 60, 0.0, log=1, share=1)


@cocotb.test()
async def log_under_faults(dut: Any) -> None:
    await with_device(dut, work_log, 5, 60, 1e-2, log=0.4)


@cocotb.test()
async def an_access_refused(dut: Any) -> None:
    """The accesses before it are carried out and counted, those after it may be; the next request is served."""
    def work(device: Device) -> None:
        chip = RemoteChip(greeted(device))
        for call in (lambda a: chip.write(a, a), chip.read):
            device.accesses.clear()
            with pytest.raises(ChipError, match=f"{REFUSED + 5:#x}"):
                call(np.array([1, 2, REFUSED + 5, 3], np.uint32))
            assert [a for _, a, _ in device.accesses] in ([1, 2], [1, 2, 3])
        assert chip.read(np.array([2], np.uint32)).tolist() == [2]

    await with_device(dut, work, 6)


@cocotb.test()
async def accesses_behind_one_that_is_refused(dut: Any) -> None:
    """None is counted or read, and no more are carried out than were asked before the answer came."""
    device, number = Device(dut, 13, share=1), 0
    await device.start()
    await device.ask(Operation.HELLO, 0, 5)
    count = device.words - HEAD_WORDS - 4
    for operation, kind, good in itertools.product((Operation.WRITE, Operation.READ), (0, 1, 2), (0, 1, 5)):
        accesses, number = count * 32 // element_bits(kind), number + 1
        body = np.concatenate([np.array([accesses | 1 << 16 | kind << 24, REFUSED - 7 * good, 7], np.uint32),
                               np.arange(count if operation == Operation.WRITE else 0, dtype=np.uint32)])
        device.accesses.clear()
        device.asked = 0
        device.send(encode(operation, number, 0, body.tobytes()))
        frame = await device.frame()
        assert (frame.status, frame.value, len(device.accesses)) == (Status.BUS_ERROR, good, good)
        assert len(frame.body) == (4 * element_words(good, kind) if operation == Operation.READ else 0)
        assert good < device.asked <= good + ASKED_BEHIND


@cocotb.test()
async def numbers(dut: Any) -> None:
    """Repeated: answered, not carried out. Out of turn: refused, and so until a hello."""
    device = Device(dut, 7)
    await device.start()
    ask, body = device.ask, np.array([1, 9, 77], np.uint32).tobytes()

    assert await ask(Operation.WRITE, 0, 0, body) == (0, Status.NUMBER, 0)
    assert await ask(Operation.HELLO, 255, 5) == (255, Status.DONE, 5)
    for _ in range(3):
        assert await ask(Operation.WRITE, 0, 0, body) == (0, Status.DONE, 1)
    assert device.accesses == [(1, 9, 77)]
    assert await ask(Operation.WRITE, 2, 0, body) == (2, Status.NUMBER, 0)
    assert await ask(Operation.WRITE, 1, 0, body) == (1, Status.NUMBER, 0)
    assert await ask(Operation.HELLO, 1, 6) == (1, Status.DONE, 6)
    assert await ask(9, 2) == (2, Status.MALFORMED, 0)
    assert await ask(Operation.WRITE, 3, 0, np.array([5, 9, 1], np.uint32).tobytes()) == (3, Status.MALFORMED, 1)
    much = np.array([device.words + 1, 0], np.uint32).tobytes()
    assert await ask(Operation.READ, 4, 0, much) == (4, Status.MALFORMED, device.words)
    assert await ask(Operation.READ, 5, 0, np.array([1, 9], np.uint32).tobytes()) == (5, Status.DONE, 1)


@cocotb.test()
async def cycles_of_accesses(dut: Any) -> None:
    """One for each access, two where data and steps are both listed, and some for each segment and request."""
    device = Device(dut, 12, share=1, bus=1)
    await device.start()
    await device.ask(Operation.HELLO, 0, 5)
    count = device.words - 3 - HEAD_WORDS - 2
    data = np.arange(count, dtype=np.uint32)
    for number, (operation, period, kind, each) in enumerate((
            (Operation.WRITE, 0, 0, 1), (Operation.WRITE, 1, 0, 1), (Operation.WRITE, 2, 0, 2), (Operation.WRITE, 0, 2, 1),
            (Operation.WRITE, 1, 1, 1), (Operation.READ, 0, 0, 1), (Operation.READ, 1, 2, 1), (Operation.READ, 2, 0, 1)), start=1):
        accesses = count * 32 // element_bits(kind)
        head = np.array([accesses | period << 16 | kind << 24, 7] + [3] * period, np.uint32)
        device.accesses.clear()
        body = [head, data] if operation == Operation.WRITE else [head]
        device.send(encode(operation, number, 0, np.concatenate(body).tobytes()))
        cycles = 0
        while not device.bench.read("accepted"):
            cycles += device.bench.read("holding")
            await device.cycle()
        assert (await device.frame()).value == accesses == len(device.accesses)
        assert cycles <= REQUEST_CYCLES + SEGMENT_CYCLES + each * accesses, (operation, period, kind, cycles, accesses)


def _limit(position: int) -> bytes:
    """The body of a credit."""
    return np.array([position, 0], np.uint32).tobytes()


async def _full(dut: Any, seed: int) -> Device:
    """A bridge whose ring is full of lines, of which none may be sent."""
    device = Device(dut, seed, share=1, log=1)
    await device.start()
    assert await device.ask(Operation.HELLO, 0) == (0, Status.DONE, 0)
    device.lines_left = 2 * device.log_bytes // (device.line_bits // 8)
    for _ in range(2 * device.log_bytes):
        await device.cycle()
    return device


@cocotb.test()
async def positions_of_a_credit(dut: Any) -> None:
    """From what is free to what has come, sent or not; none before, none beyond."""
    device = await _full(dut, 10)
    size = device.log_bytes
    assert await device.ask(Operation.CREDIT, 1, size + 1, _limit(size + 1)) == (1, Status.MALFORMED, size)
    assert await device.ask(Operation.CREDIT, 2, 3, _limit(3)) == (2, Status.DONE, size)
    for _ in range(10):
        await device.cycle()
    assert await device.ask(Operation.CREDIT, 3, 2, _limit(3)) == (3, Status.MALFORMED, size + 3)
    assert await device.ask(Operation.CREDIT, 4, size + 4, _limit(size + 4)) == (4, Status.MALFORMED, size + 3)
    assert await device.ask(Operation.CREDIT, 5, size + 3, _limit(size + 3)) == (5, Status.DONE, size + 3)


@cocotb.test()
async def frames_of_a_full_log(dut: Any) -> None:
    """They are of LOG_CHUNK bytes, but for what is left."""
    device = await _full(dut, 11)
    size, log, found = device.log_bytes, bytearray(), []
    device.send(encode(Operation.CREDIT, 1, 0, _limit(size)))
    while len(log) < size:
        frame = await device.frame()
        if frame.operation == Operation.LOG:
            assert frame.value == len(log)
            log += frame.body
            found.append(len(frame.body))
    assert found == [LOG_CHUNK] * (size // LOG_CHUNK) + [size % LOG_CHUNK] * (size % LOG_CHUNK > 0)
    assert device._line is not None, "a line that has its first bytes in the ring"
    assert log == (device.lines + device._line.to_bytes(device.line_bits // 8, "little"))[:size]


@cocotb.test()
async def a_damaged_request(dut: Any) -> None:
    """Whichever byte is changed or lost: nothing is carried out, nothing is answered."""
    device = Device(dut, 9, share=1)
    await device.start()
    device.send(encode(Operation.HELLO, 0, 5))
    await device._receive(600)
    good = encode(Operation.WRITE, 1, 0, np.array([1, 9, 77], np.uint32).tobytes())
    for at in range(1, len(good) - 1):
        for damaged in (good[:at] + bytes((good[at] ^ 1 << at % 8,)) + good[at + 1:], good[:at] + good[at + 1:]):
            device.send(damaged)
            assert await device._receive(3 * len(good)) == b""
    assert device.accesses == []
    device.send(good)
    await device._receive(600)
    assert device.accesses == [(1, 9, 77)]


@cocotb.test()
async def garbage(dut: Any) -> None:
    """Whatever comes, nothing is carried out, and the hello after it is answered."""
    def work(device: Device) -> None:
        for size in (1, 5, 300, 4 * device.words + 40):
            device.send(os.urandom(size) if size < 300 else device.rng.bytes(size).replace(b"\x7e", b"\x7d"))
            greeted(device)
        assert device.accesses == []

    await with_device(dut, work, 8)
