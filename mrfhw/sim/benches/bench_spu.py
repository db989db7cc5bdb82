"""Spu against the model: a lane with its own generator, from operands to the label drawn.

The result is compared in every cycle: it changes `Derived.spu_latency(L)` cycles after a site's first
label and holds until the next. The temperature is right only in the cycles in which the sampler uses it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import cocotb
import numpy as np

from mrfhw.gateware.unit.random import WORDS
from mrfhw.gateware.unit.spu import Spu
from mrfhw.machine.samplers import Race
from mrfhw.model.random import lane_states
from mrfhw.sim.support.fields import Bench
from mrfhw.sim.support.operands import SiteSource, random_parameters, random_temperature
from mrfhw.sim.support.references import Twin, draw, site_energies
from mrfhw.sim.support.runner import bench_config


@dataclass
class Plan:
    """Inputs, temperatures and results by cycle."""

    inputs: dict[int, dict[str, Any]] = field(default_factory=dict)
    temperature: dict[int, int] = field(default_factory=dict)
    results: dict[int, int] = field(default_factory=dict)
    end: int = 0


class Lane:
    """The component, its twin generator and the parameters in force."""

    def __init__(self, dut: Any, rng: np.random.Generator):
        self.config, self.rng = bench_config(), rng
        self.race = isinstance(self.config.sampler, Race)
        self.bench = Bench(dut, Spu(self.config))
        self.twin = Twin([0] * WORDS)

    async def load(self, state: list[int]) -> None:
        for word in state:
            await self.bench.cycle(random_load=1, random_data=word)
        await self.bench.cycle(random_load=0)
        self.twin = Twin(state)

    async def check_state(self) -> None:
        """Read the state by rotation; it stays as it was."""
        for word in self.twin.words:
            await self.bench.cycle(random_rotate=1)
            self.bench.expect("random_word", word, after=1)
        await self.bench.cycle(random_rotate=0)

    def plan(self, parameters: dict[str, int], labels: int, sites: int) -> Plan:
        """Sites of one L with random pauses, about half of them back to back."""
        c, rng, plan, now = self.config, self.rng, Plan(), 0
        source = SiteSource(c, rng)
        latency, use = c.spu_latency(labels), c.latency.coefficient_use(c.sampler.name, labels)
        for _ in range(sites):
            now += 0 if rng.random() < 0.5 else int(rng.integers(1, labels + 3))
            site = source.site(labels)
            energies = site_energies(c, parameters, site.s1, site.s2, site.words, site.vectors, site.edges)
            temperature = random_temperature(c, rng, energies)
            for label, operands in enumerate(site.labels()):
                plan.inputs[now + label] = {**operands, "valid": 1, "first": int(label == 0), "last": int(label == labels - 1)}
                plan.temperature[now + label + use] = temperature
            plan.results[now + latency] = draw(c, energies, temperature, self.twin)
            now += labels
        plan.end = max(plan.results) + 3
        return plan

    async def play(self, parameters: dict[str, int], plan: Plan) -> None:
        shown: int | None = None
        for t in range(plan.end):
            other = int(self.rng.integers(1 << self.config.temperature_bits))
            values = plan.inputs.get(t, {"valid": 0, "first": int(self.rng.integers(2)), "last": int(self.rng.integers(2))})
            await self.bench.cycle(**values, parameters={**parameters, "temperature": plan.temperature.get(t, other)})
            shown = plan.results.get(t, shown)
            if shown is not None:
                self.bench.expect("result", shown, after=0)


@cocotb.test()
async def chains(dut: Any) -> None:
    """Runs of 2 to the most labels, each with its own parameters; the generator's state after each."""
    lane = Lane(dut, np.random.default_rng(4))
    await lane.bench.start()
    most = lane.config.max_labels
    await lane.load([int(w) for w in lane_states(11, 3)[2]])
    for labels, sites in ((2, 24), (3, 12), (most, 4), (5, 8), (2, 8), (most // 2 + 1, 4), (most - 1, 4), (4, 12)):
        parameters = random_parameters(lane.config, lane.rng)
        await lane.bench.cycle(parameters=parameters)
        await lane.play(parameters, lane.plan(parameters, labels, sites))
        await lane.check_state()
    await lane.bench.finish(76)


@cocotb.test()
async def flat_energy(dut: Any) -> None:
    """alpha = beta = 0: every label as likely as another; which one is the generator's alone."""
    lane = Lane(dut, np.random.default_rng(5))
    await lane.bench.start()
    await lane.load([1, 2, 3, 4])
    parameters = {**random_parameters(lane.config, lane.rng), "alpha": 0, "beta": 0}
    await lane.bench.cycle(parameters=parameters)
    await lane.play(parameters, lane.plan(parameters, 4, 40))
    await lane.check_state()
    await lane.bench.finish(40)
