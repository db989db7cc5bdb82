"""LabelUpdate against Algorithm 1 and against sums, and what they add up to: histogram and sum; any number of stages."""

from __future__ import annotations

from collections import Counter
from itertools import product
from typing import Any

import cocotb
import numpy as np

from mrfhw.gateware.tile.labels import LabelUpdate
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from sim.support.fields import Bench
from sim.support.references import added_label, algorithm_1
from sim.support.runner import bench_config

FIELDS = ("mrp_label", "exists", "clamped", "mrp_count", "lrp_label", "lrp_count")


class Update:
    """The component beside its reference."""

    def __init__(self, dut: Any):
        self.config = bench_config()
        self.bench = Bench(dut, LabelUpdate(self.config))
        self.junk = np.random.default_rng(3)

    async def enter(self, entry: dict[str, int], label: int, counted: bool, sums: int) -> None:
        """Inputs of one write, then those of others until its outputs are there."""
        await self.bench.cycle(entry=entry, label=label, counted=int(counted), sums=sums)
        for _ in range(self.config.latency.update):
            other = {name: int(self.junk.integers(2)) for name in FIELDS}
            await self.bench.cycle(entry=other, label=int(self.junk.integers(Derived.of(self.config).max_labels)),
                                   counted=int(self.junk.integers(2)), sums=int(self.junk.integers(2)))

    async def add(self, entry: dict[str, int], label: int, counted: bool) -> dict[str, int]:
        """Compare one write of a run of sums; returns the new entry as the component has it."""
        await self.enter(entry, label, counted, 1)
        self.bench.expect("updated", added_label(entry, label, counted, self.config.label_bits, self.config.counter_bits), after=0)
        self.bench.expect("send", 0, after=0)
        return self.bench.read("updated")

    async def write(self, entry: dict[str, int], label: int, counted: bool) -> tuple[dict[str, int], tuple[int, int] | None]:
        """Compare one write; returns the new entry and the message, (label, count), as the component has them."""
        await self.enter(entry, label, counted, 0)
        after, message = algorithm_1(entry, label, counted, self.config.count_max)
        self.bench.expect("updated", after, after=0)
        self.bench.expect("send", int(message is not None), after=0)
        if message is None:
            return self.bench.read("updated"), None
        self.bench.expect("send_label", message[0], after=0)
        self.bench.expect("send_count", message[1], after=0)
        return self.bench.read("updated"), (self.bench.read("send_label"), self.bench.read("send_count"))


def _edges(config: Config) -> list[tuple[dict[str, int], int, bool]]:
    """Counts empty, 1, one below full and full on both pairs; the label new, held and held before."""
    config = Derived.of(config)
    full = config.count_max
    labels = (0, 1, config.max_labels - 1)
    counts = sorted({0, 1, full - 1, full})
    return [(dict(zip(FIELDS, (mrp, exists, clamped, mrp_count, lrp, lrp_count), strict=True)), label, bool(counted))
            for mrp, lrp, label in product(labels, repeat=3) for mrp_count, lrp_count in product(counts, repeat=2)
            for exists, clamped, counted in ((1, 0, 1), (1, 0, 0), (0, 0, 1), (1, 1, 1), (0, 1, 0))]


@cocotb.test()
async def edges(dut: Any) -> None:
    update = Update(dut)
    await update.bench.start()
    cases = _edges(update.config)
    for entry, label, counted in cases:
        await update.write(entry, label, counted)
        await update.add(entry, label, counted)
    await update.bench.finish(4 * len(cases))


@cocotb.test()
async def exhaustive(dut: Any) -> None:
    """Every entry, label and phase, where the machine's words are at most two bits; random ones otherwise."""
    update = Update(dut)
    await update.bench.start()
    c = update.config
    sizes = (c.max_labels, 2, 2, c.count_max + 1, c.max_labels, c.count_max + 1, c.max_labels, 2)
    every = int(np.prod(sizes)) <= 1 << 13
    rng = np.random.default_rng(1)
    cases = product(*map(range, sizes)) if every else (tuple(int(rng.integers(n)) for n in sizes) for _ in range(1000))
    for case in cases:
        entry = dict(zip(FIELDS, case[:6], strict=True))
        await update.write(entry, case[6], bool(case[7]))
        await update.add(entry, case[6], bool(case[7]))
    await update.bench.finish(4 * (int(np.prod(sizes)) if every else 1000))


@cocotb.test()
async def histogram(dut: Any) -> None:
    """A site's chain through the component: messages and what is left are the counted labels, exactly."""
    update = Update(dut)
    await update.bench.start()
    c, rng = update.config, np.random.default_rng(2)
    for burn_in, spread in ((0, 1), (3, 2), (0, 3), (20, c.max_labels)):
        entry = {**dict.fromkeys(FIELDS, 0), "exists": 1, "mrp_label": int(rng.integers(c.max_labels))}
        drawn: Counter[int] = Counter()
        told: Counter[int] = Counter()
        for sweep in range(300 if spread < 3 else 100):
            label = int(rng.integers(min(spread, c.max_labels)))
            entry, message = await update.write(entry, label, sweep >= burn_in)
            assert entry["mrp_label"] == label
            drawn[label] += sweep >= burn_in
            if message:
                assert message[1] > 0, "an empty pair was sent"
                told[message[0]] += message[1]
        for pair in ("mrp", "lrp"):
            told[entry[f"{pair}_label"]] += entry[f"{pair}_count"]
        assert +told == +drawn
    await update.bench.finish(1000)


@cocotb.test()
async def total(dut: Any) -> None:
    """A site's chain of as many largest labels as an entry holds the sum of: the sum is exact, and one label more wraps."""
    update = Update(dut)
    await update.bench.start()
    c = Derived.of(update.config)
    most, label, left = 1 << c.sum_bits, c.max_labels - 1, 3 * (c.max_labels - 1)
    for start in (0, most - left - label):
        entry = {**dict.fromkeys(FIELDS, 0), "exists": 1}
        for name, at, width in (("mrp_count", 0, c.counter_bits), ("lrp_label", c.counter_bits, c.label_bits),
                                ("lrp_count", c.counter_bits + c.label_bits, c.counter_bits)):
            entry[name] = start >> at & (1 << width) - 1
        for sweep in range(5):
            entry = await update.add(entry, label, sweep > 0)
            found = (entry["mrp_count"] | entry["lrp_label"] << c.counter_bits
                     | entry["lrp_count"] << c.counter_bits + c.label_bits)
            assert found == (start + sweep * label) % most
    await update.bench.finish(20)
