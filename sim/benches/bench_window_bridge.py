"""Window bridge on a stream: many requests at once, in turn and out of turn, their responses kept until they are acknowledged."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np

from mrfhw.gateware.link.accesses import SEGMENT_CYCLES
from mrfhw.gateware.link.window_bridge import WINDOW_CYCLES
from mrfhw.host.requests import Greeting
from mrfhw.machine.link_protocol import (
    FIRST_WINDOWED,
    HEAD_WORDS,
    LINK_VERSION,
    RESPONSE,
    Frame,
    Operation,
    Status,
    element_bits,
    encode,
)
from sim.benches.bench_bridge import Device, greeted, with_device
from sim.support.runner import bench_parameters
from sim.support.streams import Rhythm

QUIET = 400  # cycles in which nothing is answered


def request(operation: int, number: int, body: bytes = b"", acknowledged: int = 0, value: int = 0) -> bytes:
    """number: all 16 bits. acknowledged: the number up to which the host has all answers; of a hello its version."""
    return encode(operation, number & 0xFF, value, body, acknowledged & 0xFF, number >> 8)


def write(address: int, word: int) -> bytes:
    return np.array([1, address, word], np.uint32).tobytes()


class Window(Device):
    """Frames by hand."""

    def takes(self, share: float) -> None:
        """The bus takes accesses in this share of cycles from now on."""
        self._takes = Rhythm(self.rng, share, 3)

    async def hello(self, number: int, version: int = LINK_VERSION) -> Frame:
        self.send(request(Operation.HELLO, number, acknowledged=version, value=5))
        frame = await self.frame()
        assert (frame.operation, frame.number, frame.session, frame.value) == (
            Operation.HELLO | RESPONSE, number & 0xFF, number >> 8, 5)
        return frame

    async def answers(self, cycles: int = QUIET) -> list[tuple[int, int, int]]:
        """(number, status, value) of all answers, until there is none for a while."""
        found, quiet = list[Frame](), 0
        while quiet < cycles:
            await self.cycle()
            quiet = 0 if self.from_board or self.to_board else quiet + 1
            found += self._decoder.feed(bytes(self.from_board))
            self.from_board.clear()
        return [(frame.number | frame.session << 8, frame.status, frame.value) for frame in found]


@cocotb.test()
async def what_it_says_of_itself(dut: Any) -> None:
    def work(device: Device) -> None:
        p = bench_parameters()
        device.behind = int(device.rng.integers(1 << 32))
        assert greeted(device).greeting == Greeting(
            LINK_VERSION, device.words, device.words, device.log_bytes, device.line_bits // 8, 0, 0, device.behind,
            p["outstanding"], p["words"], p["words"])

    await with_device(dut, work, 1)


@cocotb.test()
async def many_at_once(dut: Any) -> None:
    """All that the board has room for, while it answers slowly: each is carried out once, in order, also where numbers wrap."""
    device, most = Window(dut, 6, share=1, bus=0.3), bench_parameters()["outstanding"]
    await device.start()
    first = 0xFFFF - most // 2
    await device.hello(first)
    for number in range(most):
        device.send(request(Operation.WRITE, (first + 1 + number) % (1 << 16), write(number, 7 * number), first))
    assert await device.answers() == [((first + 1 + number) % (1 << 16), Status.DONE, 1) for number in range(most)]
    assert device.accesses == [(1, number, 7 * number) for number in range(most)]


@cocotb.test()
async def lost_and_repeated(dut: Any) -> None:
    """What follows a lost one is dropped; what is repeated is answered from what is kept, as long as it is not acknowledged."""
    device, done = Window(dut, 7, share=1), Status.DONE
    await device.start()
    for number in (10, 11):
        device.send(request(Operation.WRITE, number, write(1, 1)))
    assert await device.answers() == [(10, Status.NUMBER, 0), (11, Status.NUMBER, 0)], "no hello so far"
    await device.hello(0x1200)
    for number in (1, 3, 4):  # 2 is lost
        device.send(request(Operation.WRITE, 0x1200 + number, write(number, number), 0))
    assert await device.answers() == [(0x1201, done, 1)]
    for number in (2, 3, 2, 1, 3):
        device.send(request(Operation.WRITE, 0x1200 + number, write(number, number), 0))
    assert await device.answers() == [(0x1200 + number, done, 1) for number in (2, 3, 2, 1, 3)]
    device.send(request(Operation.READ, 0x1204, np.array([3, 1], np.uint32).tobytes(), 2))
    assert await device.answers() == [(0x1204, done, 3)]
    for number in (1, 2, 3, 4, 0):  # the first two are acknowledged, and the hello
        device.send(request(Operation.READ if number == 4 else Operation.WRITE, 0x1200 + number, write(number, 99), 0))
    assert await device.answers() == [(0x1203, done, 1), (0x1204, done, 3)]
    assert device.accesses == [(1, 1, 1), (1, 2, 2), (1, 3, 3), (0, 1, 0), (0, 2, 0), (0, 3, 0)]
    device.send(request(Operation.WRITE, 0x5605, write(9, 9), 4))
    assert await device.answers() == [(0x5605, Status.NUMBER, 0)], "of another session"
    device.send(request(Operation.WRITE, 0x1205, write(5, 5), 0x77))  # acknowledges what cannot be
    device.send(request(Operation.WRITE, 0x1203, write(3, 99), 0x77))
    assert await device.answers() == [(0x1205, done, 1), (0x1203, done, 1)]
    await device.hello(0x1201)
    device.send(request(Operation.WRITE, 0x1203, write(3, 3), 0x01))
    device.send(request(Operation.WRITE, 0x1202, write(2, 4), 0x01))
    assert await device.answers() == [(0x1202, done, 1)]
    assert device.accesses[-1] == (1, 2, 4)


@cocotb.test()
async def memories_that_are_full(dut: Any) -> None:
    """What finds no room for its frame or its response is dropped, until room is made by acknowledgements."""
    device, p = Window(dut, 8, share=1, bus=1), bench_parameters()
    await device.start()
    await device.hello(0)
    whole = np.array([device.words, 0], np.uint32).tobytes()
    fit = p["words"] // device.words
    for number in range(1, fit + 2):
        device.send(request(Operation.READ, number, whole, 0))
        assert await device.answers() == ([(number, Status.DONE, device.words)] if number <= fit else [])
    device.send(request(Operation.READ, fit + 1, whole, 1))
    assert await device.answers() == [(fit + 1, Status.DONE, device.words)]
    device.send(request(Operation.WRITE, fit + 2, write(3, 4), 1))  # whose response needs none
    assert await device.answers() == [(fit + 2, Status.DONE, 1)]
    number = await _kept_at_most(device, fit + 2, p["outstanding"])
    # While one is carried out, only so many others find room.
    device.accesses.clear()
    long = device.words - HEAD_WORDS - 1
    body = np.concatenate([np.array([long - 2, 7], np.uint32), np.arange(long - 2, dtype=np.uint32)]).tobytes()
    device.takes(0)
    for later in range(1, 2 * fit):
        device.send(request(Operation.WRITE, number + later, body, number))
    for _ in range(8 * 4 * device.words * fit):
        await device.cycle()
    device.takes(1)
    held = len(await device.answers())
    assert held == fit
    assert len(device.accesses) == held * (long - 2)


async def _kept_at_most(device: Window, last: int, outstanding: int) -> int:
    """From 1 on all are acknowledged but for the largest kept; returns the last number that is carried out."""
    device.send(request(Operation.WRITE, last + 1, write(3, 4), last))
    assert await device.answers() == [(last + 1, Status.DONE, 1)]
    for number in range(last + 2, last + outstanding + 2):
        device.send(request(Operation.WRITE, number, write(3, 4), last))
        assert await device.answers() == ([(number, Status.DONE, 1)] if number <= last + outstanding else [])
    return last + outstanding


@cocotb.test()
async def a_host_of_an_earlier_version(dut: Any) -> None:
    """It is served one request at a time, its numbers of eight bits."""
    device, done = Window(dut, 9), Status.DONE
    await device.start()
    for version, said in ((0, FIRST_WINDOWED - 2), (FIRST_WINDOWED - 1, FIRST_WINDOWED - 1)):
        frame = await device.hello(254, version)
        assert [int(word) for word in frame.words[:4]] == [said, device.words, device.words, device.log_bytes]
        assert len(frame.words) == 8
        device.accesses.clear()
        for number in (255, 0, 0, 1):
            device.send(request(Operation.WRITE, number, write(number, 5)))
            assert await device.answers() == [(number, done, 1)]
        assert device.accesses == [(1, 255, 5), (1, 0, 5), (1, 1, 5)]
        for number in (0, 3):
            device.send(request(Operation.WRITE, number, write(number, 5)))
            assert await device.answers() == [(number, Status.NUMBER, 0)]
        assert len(device.accesses) == 3


@cocotb.test()
async def cycles_of_accesses(dut: Any) -> None:
    """One for each access, and some for each segment and request."""
    device = Window(dut, 12, share=1, bus=1)
    await device.start()
    await device.hello(0)
    count = device.words - 3 - HEAD_WORDS - 2
    data = np.arange(count, dtype=np.uint32)
    for number, (operation, kind) in enumerate(((Operation.WRITE, 0), (Operation.WRITE, 2), (Operation.READ, 0)), start=1):
        accesses = count * 32 // element_bits(kind)
        head = np.array([accesses | kind << 24, 7], np.uint32)
        device.accesses.clear()
        body = [head, data] if operation == Operation.WRITE else [head]
        device.send(request(operation, number, np.concatenate(body).tobytes(), number - 1))
        cycles = 0
        while not device.bench.read("accepted"):
            cycles += device.bench.read("holding")
            await device.cycle()
        assert (await device.frame()).value == accesses == len(device.accesses)
        assert cycles <= WINDOW_CYCLES + SEGMENT_CYCLES + accesses, (operation, kind, cycles, accesses)
