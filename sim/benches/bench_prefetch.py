"""Prefetch: the neighbours and singleton 1 of the next S sites, while the current ones hold still.

`current` and `current_s1` are compared in every cycle: they change in the cycle after a swap, to all
words fetched two or more cycles before it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import cocotb
import numpy as np

from mrfhw.gateware.tile.labels import Prefetch
from sim.support.fields import Bench
from sim.support.runner import bench_config

SITE = 4  # neighbours of a site


@dataclass
class Group:
    """S sites: cycles of their word fetches, of their S1 fetches and of the swap, with the data."""

    fetches: list[int]
    s1_fetches: list[int]
    swap: int
    words: list[list[dict[str, int]]] = field(default_factory=list)  # lane, kind
    s1: list[dict[str, Any]] = field(default_factory=list)


class Fetcher:
    """The component, its vector table and a plan of groups."""

    def __init__(self, dut: Any, seed: int):
        self.config, self.rng = bench_config(), np.random.default_rng(seed)
        self.bench = Bench(dut, Prefetch(self.config))
        self.banks, self.spus = self.config.lmem_banks, self.config.spus
        self.table: list[dict[str, int]] = []

    def word(self) -> dict[str, int]:
        top = self.config.max_labels
        return {"label": int(self.rng.choice([0, top - 1, int(self.rng.integers(top))])), "exists": int(self.rng.integers(2))}

    def datum(self) -> dict[str, Any]:
        word = {"value": int(self.rng.integers(1 << self.config.datum_bits)), "flag": int(self.rng.integers(2))}
        most = 1 << self.config.edge_bits
        return {"datum": word, **({"edges": [int(n) for n in self.rng.integers(0, most, 4)]} if most > 1 else {})}

    async def fill(self) -> None:
        """Reset and write the vector table."""
        await self.bench.start()
        reach = 1 << (self.config.vector_bits - 1)
        values = self.rng.integers(-reach, reach, (self.config.max_labels, 2))
        values[0], values[-1] = -reach, reach - 1
        self.table = [{"u": int(u), "v": int(v)} for u, v in values]
        for label in self.rng.permutation(len(self.table)):
            await self.bench.cycle(vector_write=1, vector_label=label, vector_data=self.table[label])
        await self.bench.cycle(vector_write=0)

    def plan(self, groups: int, pause: int) -> list[Group]:
        """Groups one after the other: the first words enter with the swap of the group before, or up to `pause` later."""
        need = self.spus * (SITE if self.banks == 1 else 1)
        plan, start, stages = [], 0, self.config.latency
        for _ in range(groups):
            def spread(count: int, start: int = start) -> list[int]:
                gaps = self.rng.integers(0, pause + 1, count)
                return [start + i + int(gaps[:i + 1].sum()) for i in range(count)]

            fetches, s1_fetches = spread(need), spread(self.spus)
            entered = max(fetches[-1] + stages.vector_read, s1_fetches[-1] + stages.s1_read)
            swap = entered + 1 + int(self.rng.integers(0, pause + 1))
            words = [[self.word() for _ in range(SITE)] for _ in range(self.spus)]
            plan.append(Group(fetches, s1_fetches, swap, words, [self.datum() for _ in range(self.spus)]))
            start = swap - min(stages.vector_read, stages.s1_read)  # in the chain from the cycle of the swap on
        return plan

    def inputs(self, plan: list[Group]) -> list[dict[str, Any]]:
        """Ports by cycle; words and data are random where none is fetched."""
        end = plan[-1].swap + self.config.latency.swap + 3
        cycles: list[dict[str, Any]] = [
            {"fetch": 0, "s1_fetch": 0, "swap": 0, "words": [self.word() for _ in range(self.banks)], "s1_word": self.datum()}
            for _ in range(end)]
        for group in plan:
            flat = [word for lane in group.words for word in lane]
            for i, t in enumerate(group.fetches):
                cycles[t].update(fetch=1, words=flat[self.banks * i:self.banks * (i + 1)])
            for t, datum in zip(group.s1_fetches, group.s1, strict=True):
                cycles[t]["s1_fetch"] = 1
                cycles[t + self.config.latency.s1_read]["s1_word"] = datum
            cycles[group.swap]["swap"] = 1
        return cycles

    async def play(self, plan: list[Group]) -> None:
        swaps = {group.swap: group for group in plan}
        held: Group | None = None
        for t, values in enumerate(self.inputs(plan)):
            await self.bench.cycle(**values)
            if held is not None:
                sites = [[{"word": word, "vector": self.table[word["label"]]} for word in lane] for lane in held.words]
                self.bench.expect("current", sites, after=0)
                self.bench.expect("current_s1", held.s1, after=0)
            held = swaps.get(t + 1 - self.config.latency.swap, held)


@cocotb.test()
async def back_to_back(dut: Any) -> None:
    """A word every cycle, and swaps as close as that allows."""
    fetcher = Fetcher(dut, 1)
    await fetcher.fill()
    await fetcher.play(fetcher.plan(25, 0))
    await fetcher.bench.finish(2 * 25)


@cocotb.test()
async def with_pauses(dut: Any) -> None:
    """Words, singleton 1 and swaps with random pauses, each on its own."""
    fetcher = Fetcher(dut, 2)
    await fetcher.fill()
    await fetcher.play(fetcher.plan(15, 3))
    await fetcher.bench.finish(2 * 15)
