"""LabelSwitch: neighbours' words from the tile itself or from across an edge. Combinational."""

from __future__ import annotations

from itertools import product
from typing import Any

import cocotb
import numpy as np

from mrfhw.gateware.control.ops import KINDS, Direction
from mrfhw.gateware.tile.labels import LabelSwitch
from sim.support.fields import Bench
from sim.support.runner import bench_config

# The tile that a kind of neighbour lies in beyond the edge, and the one that needs this tile's word of the kind.
BEYOND = {"up": "north", "down": "south", "left": "west", "right": "east"}
NEEDED_BY = {"up": "south", "down": "north", "left": "east", "right": "west"}


class Switch:
    def __init__(self, dut: Any, seed: int):
        self.config, self.rng = bench_config(), np.random.default_rng(seed)
        self.bench = Bench(dut, LabelSwitch(self.config))

    def word(self) -> dict[str, int]:
        return {"label": int(self.rng.integers(self.config.max_labels)), "exists": int(self.rng.integers(2))}

    async def one_bank(self, source: Direction) -> None:
        """A word a cycle: the tile's own goes to all sides, the chosen one comes from `source`."""
        own, sides = self.word(), {side: self.word() for side in BEYOND.values()}
        await self.bench.cycle(words=[own], source=int(source), **sides)
        chosen = own if source is Direction.LOCAL else sides[BEYOND[source.name.lower()]]
        self.bench.expect("chosen", [chosen], after=0)
        for side in sides:
            self.bench.expect(f"to_{side}", own, after=0)

    async def four_banks(self, up_bank: int, left_bank: int, cross: int) -> None:
        """Four words a cycle: each kind from its bank, or from the next tile where `cross` says so."""
        words, sides = [self.word() for _ in range(4)], {side: self.word() for side in BEYOND.values()}
        await self.bench.cycle(words=words, up_bank=up_bank, left_bank=left_bank, cross=cross, **sides)
        own = {"up": words[up_bank], "down": words[up_bank ^ 1], "left": words[left_bank], "right": words[left_bank ^ 1]}
        self.bench.expect("chosen", [sides[BEYOND[kind]] if cross >> i & 1 else own[kind] for i, kind in enumerate(KINDS)],
                          after=0)
        for kind, side in NEEDED_BY.items():
            self.bench.expect(f"to_{side}", own[kind], after=0)


@cocotb.test()
async def every_selection(dut: Any) -> None:
    """Every source, or every pair of banks with every set of crossings, several times with random words."""
    switch = Switch(dut, 1)
    await switch.bench.start()
    for _ in range(20 if switch.config.lmem_banks == 1 else 3):
        if switch.config.lmem_banks == 1:
            for source in Direction:
                await switch.one_bank(source)
        else:
            for selection in product(range(4), range(4), range(16)):
                await switch.four_banks(*selection)
    await switch.bench.finish(5 * 20 * len(Direction) if switch.config.lmem_banks == 1 else 5 * 3 * 256)
