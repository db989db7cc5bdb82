"""UartReceiver and UartTransmitter: bytes to the wire and back, bit by bit, and under what a wire does to them."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np

from mrfhw.gateware.link.uart import UartReceiver, UartTransmitter
from sim.support.fields import Bench
from sim.support.runner import bench_parameters
from sim.support.streams import Rhythm


def wire(values: list[int], divisor: float, pauses: list[int]) -> list[int]:
    """Levels by cycle of bytes with pauses (cycles) after each; a bit takes `divisor` cycles, not always a whole number."""
    levels = []
    for value, pause in zip(values, pauses, strict=True):
        bits = [0, *(value >> i & 1 for i in range(8)), 1]
        levels += [bits[int(cycle / divisor)] for cycle in range(int(10 * divisor))] + [1] * pause
    return levels


class Receiver:
    """A receiver; what it gives."""

    def __init__(self, dut: Any):
        self.divisor = bench_parameters()["divisor"]
        self.bench, self.found = Bench(dut, UartReceiver(self.divisor)), list[int]()

    async def start(self) -> None:
        await self.bench.start()
        await self.rest()  # the reset held the wire low
        self.found.clear()

    async def drive(self, levels: list[int]) -> None:
        for level in levels:
            await self.bench.cycle(rx=level)
            if self.bench.read("bytes_valid"):
                self.found.append(self.bench.read("bytes_payload"))

    async def rest(self) -> None:
        await self.drive([1] * 12 * self.divisor)


def receives(test: Any) -> Any:
    return cocotb.test(skip=bench_parameters()["part"] != "receiver")(test)


def sends(test: Any) -> Any:
    return cocotb.test(skip=bench_parameters()["part"] != "transmitter")(test)


@receives
async def every_byte_without_a_pause(dut: Any) -> None:
    receiver = Receiver(dut)
    await receiver.start()
    values = [int(v) for v in np.random.default_rng(1).permutation(256)]
    await receiver.drive(wire(values, receiver.divisor, [0] * 256))
    await receiver.rest()
    assert receiver.found == values


@receives
async def a_sender_that_is_slow_or_fast(dut: Any) -> None:
    """By 3 % from a divisor of 16 on, 2 % from 8 on; bytes follow one another at random."""
    receiver = Receiver(dut)
    share = 0.03 if receiver.divisor >= 16 else 0.02 if receiver.divisor >= 8 else 0
    rng = np.random.default_rng(2)
    await receiver.start()
    for rate in (1 - share, 1 + share):
        values = [int(v) for v in rng.integers(0, 256, 60)]
        pauses = [int(p) for p in rng.integers(1, 3 * receiver.divisor, 60) * (rng.random(60) < 0.5) + 1]
        receiver.found.clear()
        await receiver.drive(wire(values, receiver.divisor * rate, pauses))
        await receiver.rest()
        assert receiver.found == values, rate


@receives
async def spikes_of_a_cycle(dut: Any) -> None:
    """One in each bit outvoted, and one at rest: no start."""
    receiver = Receiver(dut)
    await receiver.start()
    rng, d = np.random.default_rng(3), receiver.divisor
    for at in range(1, d):
        value = int(rng.integers(256))
        levels = [1] * 2 * d + wire([value], d, [d])
        for bit in range(1, 9):
            levels[2 * d + bit * d + at] ^= 1
        levels[d // 2] = 0 if d >= 8 else 1
        receiver.found.clear()
        await receiver.drive(levels)
        await receiver.rest()
        assert receiver.found == [value], at


@receives
async def a_byte_without_a_stop_bit(dut: Any) -> None:
    """Dropped; the next one after a rest is read, and a wire held low gives nothing."""
    receiver = Receiver(dut)
    await receiver.start()
    broken = wire([0x55], receiver.divisor, [0])
    await receiver.drive([*broken[:-receiver.divisor], *[0] * receiver.divisor])
    await receiver.rest()
    assert receiver.found == []
    await receiver.drive([0] * 40 * receiver.divisor)
    await receiver.rest()
    assert receiver.found == []
    await receiver.drive(wire([0xA7], receiver.divisor, [0]))
    await receiver.rest()
    assert receiver.found == [0xA7]


async def _send(dut: Any, offer: float) -> None:
    divisor = bench_parameters()["divisor"]
    bench, rng = Bench(dut, UartTransmitter(divisor)), np.random.default_rng(4)
    await bench.start()
    values, levels, taken = [int(v) for v in rng.integers(0, 256, 40)], list[int](), list[int]()
    rhythm, offered, queue = Rhythm(rng, offer, 5 * divisor), False, list(values)
    for _ in range(40 * 40 * divisor):
        offered = bool(queue) and (offered or rhythm())
        await bench.cycle(bytes_valid=int(offered), bytes_payload=queue[0] if offered else 0xFF)
        levels.append(bench.read("tx"))
        if offered and bench.read("bytes_ready"):
            taken.append(len(levels) - 1)
            queue.pop(0)
            offered = False
        if not queue and len(levels) - taken[-1] > 12 * divisor:
            break
    for number, at in enumerate(taken):
        until = taken[number + 1] if number + 1 < len(taken) else len(levels) - 1
        assert until - at >= 10 * divisor
        # The start bit stands a cycle after the byte is taken; nothing but 1 follows the stop bit.
        assert levels[at + 1:until + 1] == wire([values[number]], divisor, [until - at - 10 * divisor]), number
    assert len(taken) == len(values)
    assert levels[0] == 1
    if offer == 1:
        assert set(np.diff(taken)) <= {10 * divisor, 10 * divisor + 1}


@sends
async def bits_without_a_pause(dut: Any) -> None:
    await _send(dut, 1)


@sends
async def bits_with_pauses(dut: Any) -> None:
    await _send(dut, 0.3)
