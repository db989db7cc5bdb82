"""S2Switch: the word of the tile itself or of any of its eight neighbours, one group of lanes a cycle.

In cycle t the words and the columns' direction, `Latency.s2_columns` later `across`, the northern and southern tiles' and
the rows' direction, `Latency.s2_rows` after that the words chosen.
"""

from __future__ import annotations

from itertools import product
from typing import Any

import cocotb
import numpy as np

from mrfhw.gateware.tile.singleton import S2Switch
from sim.support.fields import Bench
from sim.support.runner import bench_config

COLUMNS = {"here": 0, "east": 1, "west": 2}  # values of `left` and `right`
ROWS = {"here": (0, 0), "north": (1, 0), "south": (0, 1)}  # values of `up` and `down`
Words = list[dict[str, int]]


class Switch:
    """The component; each step is a cycle of a pipeline that is always full."""

    def __init__(self, dut: Any, seed: int):
        self.config, self.rng = bench_config(), np.random.default_rng(seed)
        self.bench = Bench(dut, S2Switch(self.config))
        self.across: Words | None = None

    def words(self) -> Words:
        return [{"value": int(self.rng.integers(self.config.data_max + 1)), "flag": int(self.rng.integers(2))}
                for _ in range(self.config.s2_banks)]

    async def step(self, left: str, right: str, second: int, row: str) -> None:
        """left, right, second: of the group that enters; row: of the group before it."""
        own = {side: self.words() for side in ("here", "west", "east")}
        rows = {side: self.words() for side in ("north", "south")}
        up, down = ROWS[row]
        await self.bench.cycle(words=own["here"], west=own["west"], east=own["east"], left=COLUMNS[left],
                               right=COLUMNS[right], second=second, north=rows["north"], south=rows["south"], up=up, down=down)
        if self.across is not None:
            self.bench.expect("chosen", rows.get(row, self.across), after=self.config.latency.s2_rows)
        self.across = [own[right if second >> lane & 1 else left][lane] for lane in range(self.config.s2_banks)]
        self.bench.expect("across", self.across, after=self.config.latency.s2_columns)


@cocotb.test()
async def nine_tiles(dut: Any) -> None:
    """Every direction of the columns before and beyond an edge, every set of lanes beyond it, every row."""
    switch = Switch(dut, 1)
    await switch.bench.start()
    # Of many lanes, those beyond an edge are the last ones.
    banks = switch.config.s2_banks
    beyond = range(1 << banks) if banks <= 4 else [(1 << banks) - (1 << lane) for lane in range(banks + 1)]
    cases = list(product(COLUMNS, COLUMNS, beyond, ROWS))
    for case in cases:
        await switch.step(*case)
    await switch.bench.finish(2 * len(cases) - 1)


@cocotb.test()
async def random_groups(dut: Any) -> None:
    """Directions that change every cycle."""
    switch = Switch(dut, 2)
    await switch.bench.start()
    pick = switch.rng.choice
    for _ in range(400):
        second = int(switch.rng.integers(1 << switch.config.s2_banks))
        await switch.step(str(pick(list(COLUMNS))), str(pick(list(COLUMNS))), second, str(pick(list(ROWS))))
    await switch.bench.finish(2 * 400 - 1)
