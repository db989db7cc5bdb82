"""A Wishbone classic master in front of a pipelined slave: each access reaches it once, and its answer is the next one."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from sim.support.fields import Bench

PORTS = {"cyc": In(1), "stb": In(1), "stall": In(1), "ack": In(1), "err": In(1), "request": Out(1)}


class System:
    """A master that holds stb until its answer, and a slave that takes requests in a share of the cycles and answers after up to
    `slowest` of them; requests: cycles in which it took one."""

    def __init__(self, dut: Any, seed: int, takes: float, slowest: int):
        self.rng, self.takes, self.slowest = np.random.default_rng(seed), takes, slowest
        self.bench = Bench(dut, wiring.PureInterface(wiring.Signature(PORTS)))  # type: ignore[arg-type]
        self.requests: list[int] = []
        self._due: dict[int, bool] = {}

    async def cycle(self, stb: bool) -> bool | None:
        """One cycle; whether the slave acknowledged in it, None for no answer."""
        answer = self._due.pop(self.bench.now + 1, None)
        stall = self.rng.random() >= self.takes
        await self.bench.cycle(cyc=stb, stb=stb, stall=stall, ack=answer is True, err=answer is False)
        if self.bench.read("request") and not stall:
            assert not self._due, "a request before the answer to the last one"
            self.requests.append(self.bench.now)
            self._due[self.bench.now + int(self.rng.integers(1, self.slowest + 1))] = bool(self.rng.random() < 0.8)
        return answer

    async def accesses(self, number: int, idle: float) -> None:
        """One after the other; idle: share of those that do not follow the last answer at once."""
        for done in range(number):
            while self.rng.random() < idle:
                assert await self.cycle(False) is None
            began = self.bench.now + 1
            while await self.cycle(True) is None:
                assert self.bench.now - began < 200, "no answer"
            assert len(self.requests) == done + 1
            assert self.requests[-1] >= began
        for _ in range(10):
            assert await self.cycle(False) is None
        assert len(self.requests) == number


@cocotb.test(timeout_time=200, timeout_unit="us")
async def each_access_once(dut: Any) -> None:
    for seed, (takes, slowest, idle) in enumerate(((1, 1, 0), (1, 4, 0), (0.3, 1, 0), (0.5, 6, 0.3))):
        system = System(dut, seed, takes, slowest)
        await system.bench.start()
        await system.accesses(150, idle)
        if (takes, slowest, idle) == (1, 1, 0):
            assert system.requests == list(range(0, 300, 2)), "an access without a pause takes the slave's cycles and one"


@cocotb.test(timeout_time=200, timeout_unit="us")
async def reset_forgets_a_request(dut: Any) -> None:
    system = System(dut, 9, 1, 1000)
    await system.bench.start()
    for _ in range(3):
        await system.cycle(True)
    assert system.requests == [0]
    # The machine has forgotten it too; the master, which has not, asks again.
    dut.rst.value = 1
    system._due.clear()
    await system.cycle(True)
    dut.rst.value = 0
    await system.cycle(True)
    assert system.requests == [0, 3]
