"""Spu against the model: a unit with its own generators, from operands to the label drawn.

The result is compared in every cycle: it changes `Derived.spu_latency` cycles after a site's first
slot and holds until the next. The temperature is right only in the cycles in which the sampler uses it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import cocotb
import numpy as np

from mrfhw.gateware.unit.random import WORDS
from mrfhw.gateware.unit.spu import Spu
from mrfhw.machine.samplers import Race
from mrfhw.samplers.random import lane_states
from sim.support.fields import Bench
from sim.support.operands import SiteSource, random_parameters, random_temperature
from sim.support.references import UnitTwin, draw, site_energies
from sim.support.runner import bench_config


@dataclass
class Plan:
    """Inputs, temperatures and results by cycle."""

    inputs: dict[int, dict[str, Any]] = field(default_factory=dict)
    temperature: dict[int, int] = field(default_factory=dict)
    results: dict[int, int] = field(default_factory=dict)
    end: int = 0


class Unit:
    """The component, the twins of its generators and the parameters in force."""

    def __init__(self, dut: Any, rng: np.random.Generator):
        self.config, self.rng = bench_config(), rng
        self.race = isinstance(self.config.sampler, Race)
        self.bench = Bench(dut, Spu(self.config))
        self.twin = UnitTwin(self.config, [[0] * WORDS] * self.config.unit_generators)

    async def load(self, states: list[list[int]]) -> None:
        for number, state in enumerate(states):
            for word in state:
                await self.bench.cycle(random_load=1 << number, random_data=word)
        await self.bench.cycle(random_load=0)
        self.twin = UnitTwin(self.config, states)

    async def check_state(self) -> None:
        """Read the states by rotation, all at once; they stay as they were."""
        words = [generator.words for generator in self.twin.generators]
        for several in zip(*words, strict=True):
            await self.bench.cycle(random_rotate=(1 << len(words)) - 1)
            self.bench.expect("random_words", list(several), after=1)
        await self.bench.cycle(random_rotate=0)

    def plan(self, parameters: dict[str, int], labels: int, sites: int) -> Plan:
        """Sites of one L with random pauses, about half of them back to back."""
        c, rng, plan, now = self.config, self.rng, Plan(), 0
        source = SiteSource(c, rng)
        slots = c.slots(labels)
        latency, use = c.spu_latency(slots), c.latency.coefficient_use(c.sampler.name, slots)
        for _ in range(sites):
            now += 0 if rng.random() < 0.5 else int(rng.integers(1, slots + 3))
            site = source.site(labels)
            energies = site_energies(c, parameters, site.s1, site.s2, site.words, site.vectors, site.edges)
            temperature = random_temperature(c, rng, energies)
            for slot, operands in enumerate(site.slots(c.lanes)):
                plan.inputs[now + slot] = {**operands, "valid": 1, "first": int(slot == 0), "last": int(slot == slots - 1)}
                plan.temperature[now + slot + use] = temperature
            plan.results[now + latency] = (self.twin.race(energies, temperature) if self.race
                                           else draw(c, energies, temperature, self.twin.generators[0]))
            now += slots
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
    unit = Unit(dut, np.random.default_rng(4))
    await unit.bench.start()
    most = unit.config.max_labels
    await unit.load(lane_states(11, 2 + unit.config.unit_generators)[2:].tolist())
    for labels, sites in ((2, 24), (3, 12), (most, 4), (5, 8), (2, 8), (most // 2 + 1, 4), (most - 1, 4), (4, 12)):
        parameters = random_parameters(unit.config, unit.rng)
        await unit.bench.cycle(parameters=parameters)
        await unit.play(parameters, unit.plan(parameters, labels, sites))
        await unit.check_state()
    await unit.bench.finish(76)


@cocotb.test()
async def flat_energy(dut: Any) -> None:
    """alpha = beta = 0: every label as likely as another; which one is the generator's alone."""
    unit = Unit(dut, np.random.default_rng(5))
    await unit.bench.start()
    await unit.load([[n, 2, 3, 4] for n in range(unit.config.unit_generators)])
    parameters = {**random_parameters(unit.config, unit.rng), "alpha": 0, "beta": 0}
    await unit.bench.cycle(parameters=parameters)
    await unit.play(parameters, unit.plan(parameters, 4, 40))
    await unit.check_state()
    await unit.bench.finish(40)
