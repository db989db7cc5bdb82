"""Random against its twin, in every cycle: `word` is w, `value` goes with the state `Latency.random` cycles after its step.

Parameter `bits`: of the value.
"""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np

from mrfhw.gateware.unit.random import WORDS, Random
from mrfhw.machine.latency import Latency
from mrfhw.samplers.random import lane_states
from sim.support.fields import Bench
from sim.support.references import Twin
from sim.support.runner import bench_parameters

EDGES = [[0, 0, 0, 1], [1, 0, 0, 0], [0xFFFFFFFF] * WORDS, [0, 0x80000000, 0, 0x80000000], [0] * WORDS]


class Generator:
    """The component and its twin, one operation a cycle."""

    def __init__(self, dut: Any):
        self.bits = bench_parameters()["bits"]
        self.bench, self.twin = Bench(dut, Random(self.bits)), Twin([0] * WORDS)
        self.idle = {"advance": 0, "load": 0, "rotate": 0}

    async def do(self, **operation: int) -> None:
        await self.bench.cycle(**{**self.idle, **operation})
        words = self.twin.words
        if operation.get("load"):
            self.twin = Twin([*words[1:], operation["load_data"]])
        elif operation.get("rotate"):
            self.twin = Twin([*words[1:], words[0]])
        elif operation.get("advance"):
            self.twin.step()
        self.bench.expect("word", self.twin.words[-1], after=Latency().random_word)
        self.bench.expect("value", self.twin.value(self.bits), after=Latency().random)

    async def start(self, state: list[int]) -> None:
        """Reset, then load a state; from then on every cycle is checked."""
        await self.bench.start()
        for word in state:
            await self.bench.cycle(**{**self.idle, "load": 1, "load_data": word})
        self.twin = Twin(state)
        await self.bench.cycle(**self.idle)


@cocotb.test()
async def edge_states(dut: Any) -> None:
    """From all zeros, all ones and single bits: 40 steps without a pause."""
    for state in EDGES:
        generator = Generator(dut)
        await generator.start(state)
        for _ in range(40):
            await generator.do(advance=1)
        await generator.do()
        await generator.bench.finish(2 * 41)


@cocotb.test()
async def rotation(dut: Any) -> None:
    """Four rotations show x, y, z, w in `word` and restore the state."""
    generator = Generator(dut)
    state = [0x01234567, 0x89ABCDEF, 0xDEADBEEF, 0x0BADF00D]
    await generator.start(state)
    seen = []
    for _ in range(WORDS):
        await generator.do(rotate=1)
        await generator.do()
        seen.append(generator.bench.read("word"))
    assert seen == state
    assert generator.twin.words == state
    for _ in range(8):
        await generator.do(advance=1)
    await generator.bench.finish(2 * 16)


@cocotb.test()
async def lanes_with_pauses(dut: Any) -> None:
    """The streams of three lanes, steps, loads and rotations with random pauses between them."""
    rng = np.random.default_rng(1)
    for state in lane_states(7, 3):
        generator = Generator(dut)
        await generator.start([int(w) for w in state])
        for _ in range(400):
            match rng.integers(20):
                case 0:
                    await generator.do(load=1, load_data=int(rng.integers(1 << 32)))
                case 1:
                    await generator.do(rotate=1)
                case pick:
                    await generator.do(advance=int(pick < 14), load_data=int(rng.integers(1 << 32)))
        await generator.bench.finish(2 * 400)
