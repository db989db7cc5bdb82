"""RaceSampler and CdfSampler: the label drawn, its cycle and that it holds until the next one.

Every input is right in the cycles that the interface names and random in all others, so that a sampler
that looks a cycle early or late draws something else. Uniforms are given `Latency.random` cycles after `advance`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import cocotb
import numpy as np

from mrfhw.gateware.unit.samplers import sampler
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.samplers import Cdf, Race
from mrfhw.samplers.random import lane_states
from sim.support.fields import Bench
from sim.support.operands import random_temperature
from sim.support.references import Twin, cdf_label, cdf_sums, draw, race_label
from sim.support.runner import bench_config


@dataclass
class Draw:
    """A site to draw: its energies, coefficient T and uniforms, the label expected, idle cycles before it."""

    energies: list[int]
    temperature: int
    uniforms: list[int]
    expected: int
    pause: int = 0


class Player:
    """Plays draws on a sampler, cycle by cycle."""

    def __init__(self, dut: Any, rng: np.random.Generator):
        self.config, self.rng = bench_config(), rng
        self.race = isinstance(self.config.sampler, Race)
        self.bench = Bench(dut, sampler(self.config))

    def _garbage(self) -> dict[str, Any]:
        c, rng = self.config, self.rng
        uniform_bits = c.sampler.uniform_bits
        return {"first": int(rng.integers(2)), "last": int(rng.integers(2)), "label": int(rng.integers(c.max_labels)),
                "energies": rng.integers(c.energy_max + 1, size=c.lanes).tolist(),
                "temperature": int(rng.integers(1 << c.temperature_bits)),
                "uniforms": rng.integers(1 << uniform_bits, size=c.lanes).tolist(), "valid": 0,
                **({"used": int(rng.integers(1 << c.lanes))} if c.lanes > 1 else {}),
                "soon": 0 if self.race else int(rng.integers(2))}

    def _schedule(self, draws: list[Draw]) -> tuple[list[dict[str, Any]], dict[int, int]]:
        """Inputs by cycle, without uniforms, and the results by the cycle in which they appear."""
        inputs: dict[int, dict[str, Any]] = {}
        results: dict[int, int] = {}
        stages = self.config.latency
        now = stages.race_lead
        for site in draws:
            lanes, slots = self.config.lanes, self.config.slots(len(site.energies))
            now += site.pause
            last = now + slots - 1
            for slot in range(slots):
                mine = site.energies[slot * lanes:][:lanes]
                inputs.setdefault(now + slot - stages.race_lead, {})["soon"] = 1
                several = {"used": (1 << len(mine)) - 1} if lanes > 1 else {}
                others = self.rng.integers(self.config.energy_max + 1, size=lanes - len(mine)).tolist()
                inputs.setdefault(now + slot, {}).update(valid=1, first=int(slot == 0), last=int(slot == slots - 1),
                                                         label=slot * lanes, energies=[*mine, *others], **several)
                use = now + slot + stages.coefficient_use(self.config.sampler.name, slots) - stages.energy
                inputs.setdefault(use, {})["temperature"] = site.temperature
            results[last + stages.draw(self.config.sampler.name, slots, self.config.lane_bits)] = site.expected
            now = last + 1
        return [{**self._garbage(), **inputs.get(t, {})} for t in range(max(results) + 4)], results

    def _numbers(self, site: Draw) -> list[list[int]]:
        """The lanes' numbers of each step of the generators; those of lanes without a label are at random."""
        lanes, top = self.config.lanes, 1 << self.config.sampler.uniform_bits
        slots = [site.uniforms[first:first + lanes] for first in range(0, len(site.uniforms), lanes)]
        return [[*numbers, *self.rng.integers(top, size=lanes - len(numbers)).tolist()] for numbers in slots]

    async def play(self, draws: list[Draw]) -> None:
        """Reset, play, and compare `result` in every cycle from the first draw on."""
        await self.bench.start()
        inputs, results = self._schedule(draws)
        uniforms = [numbers for site in draws for numbers in self._numbers(site)]
        due: dict[int, list[int]] = {}
        shown: int | None = None
        for t, values in enumerate(inputs):
            if t in due:
                values["uniforms"] = due.pop(t)
            await self.bench.cycle(**values)
            if self.race:
                self.bench.expect("advance", values["soon"], after=0)
            if self.bench.read("advance"):
                assert uniforms, f"cycle {t}: the generator steps more often than it should"
                due[t + self.config.latency.random] = uniforms.pop(0)
            shown = results.get(t, shown)
            if shown is not None:
                self.bench.expect("result", shown, after=0)
        assert not uniforms, f"{len(uniforms)} steps of the generator are missing"
        await self.bench.finish(len(draws))


def _spaced(config: Config, counts: list[int], rng: np.random.Generator) -> list[int]:
    """Idle cycles before each site: often none; room for the passes where the number of labels falls."""
    out = []
    for before, labels in zip([2, *counts], counts, strict=False):
        room = 3 * before if labels < before and isinstance(config.sampler, Cdf) else 0
        out.append(room + (0 if rng.random() < 0.6 else int(rng.integers(1, 2 * labels))))
    return out


def _directed(config: Config, energies: list[int], temperature: int, uniforms: list[int]) -> Draw:
    if isinstance(config.sampler, Race):
        expected = race_label(config, energies, temperature, uniforms)
    else:
        uniforms = uniforms[:1]
        expected = cdf_label(config, energies, temperature, uniforms[0])
    return Draw(energies, temperature, uniforms, expected)


def _edges(config: Config, labels: int) -> list[Draw]:
    """Ties, extremes of energy, temperature and uniform; L sites each."""
    config = Derived.of(config)
    top, t_top = config.energy_max, (1 << config.temperature_bits) - 1
    u_top = (1 << config.sampler.uniform_bits) - 1
    half = labels // 2
    profiles = [[0] * labels, [top] * labels, [top] * (labels - 1) + [0], [0] + [top] * (labels - 1),
                [top] * half + [top - 1] * (labels - half), [min(i, top) for i in range(labels)],
                [top - min(i, top) for i in range(labels)], [7] * half + [5] + [5] * (labels - half - 1)]
    sites = []
    for energies in profiles:
        for temperature in (0, 1, 1 << config.temperature_fraction_bits, t_top):
            for u in (0, u_top // 2, u_top):
                sites.append(_directed(config, energies, temperature, [u] * labels))
    # One uniform apart from the others: the race's winner is where it stands.
    for place in range(labels):
        for low, high in ((0, u_top), (u_top // 2, u_top // 2 + 1), (u_top, 0)):
            uniforms = [high if i == place else low for i in range(labels)]
            for temperature in (1 << config.temperature_fraction_bits, t_top):
                sites.append(_directed(config, [top // 2] * labels, temperature, uniforms))
    return sites


def _close_race(config: Config, rng: np.random.Generator) -> list[Draw]:
    """Two labels whose scores differ by less than an energy step, either way; up to the greatest products."""
    config = Derived.of(config)
    race = config.sampler
    assert isinstance(race, Race)
    u_top, t_top, sites = (1 << race.uniform_bits) - 1, (1 << config.temperature_bits) - 1, []
    for i in range(300):
        temperature = t_top - int(rng.integers(4)) if i % 3 else int(rng.integers(t_top) >> rng.integers(config.temperature_bits))
        uniforms = [int(u) for u in u_top - (rng.integers(0, u_top + 1, 2) >> rng.integers(0, race.uniform_bits, 2))]
        noise = (race.gumbel_table[uniforms] * temperature) >> config.temperature_fraction_bits
        gap = int(noise[1] - noise[0]) >> race.fraction_bits
        if abs(gap) + 2 > config.energy_max:
            continue
        base = int(rng.integers(max(0, -gap), config.energy_max + 1 - max(0, gap + 1)))
        for step in (0, 1):
            sites.append(_directed(config, [base, base + gap + step], temperature, uniforms))
    return sites


def _close_cdf(config: Config, rng: np.random.Generator) -> list[Draw]:
    """The least uniform number that draws past a label, and the greatest that does not."""
    config = Derived.of(config)
    sites = []
    for _ in range(80):
        spread = int(rng.choice([4, 64, config.energy_max]))
        energies = [int(e) for e in rng.integers(0, spread + 1, 4)]
        temperature = random_temperature(config, rng, energies)
        sums = cdf_sums(config, energies, temperature)
        bound = -(-int(sums[rng.integers(3)] << config.sampler.uniform_bits) // int(sums[-1]))
        sites += [_directed(config, energies, temperature, [u]) for u in (bound - 1, bound)
                  if 0 <= u < 1 << config.sampler.uniform_bits]
    return sites


@cocotb.test()
async def close(dut: Any) -> None:
    """Draws that the last bit of a score or of a running sum decides."""
    rng = np.random.default_rng(4)
    player = Player(dut, rng)
    sites = _close_race(player.config, rng) if player.race else _close_cdf(player.config, rng)
    assert len(sites) >= 100
    await player.play(sites)


@cocotb.test()
async def edges(dut: Any) -> None:
    """Two and few labels back to back."""
    player = Player(dut, np.random.default_rng(1))
    for labels in (2, 3, 4):
        await player.play(_edges(player.config, labels))


@cocotb.test()
async def longest(dut: Any) -> None:
    """The most labels, one after the other: minimum first, last and in between; all equal; T zero and greatest."""
    rng = np.random.default_rng(2)
    player = Player(dut, rng)
    c, sites = player.config, _edges(player.config, player.config.max_labels)
    picked = [sites[i] for i in rng.permutation(len(sites))[:8]]
    await player.play([*picked, _directed(c, [0] * c.max_labels, 0, [(1 << 8) - 1] * c.max_labels)])


@cocotb.test()
async def random_sites(dut: Any) -> None:
    """Random sites of 2 to the most labels with random pauses, against the model and its generator."""
    rng = np.random.default_rng(3)
    player = Player(dut, rng)
    config = player.config
    lengths = sorted({2, 3, 4, 5, config.max_labels // 2, config.max_labels - 1, config.max_labels} - {0, 1})
    lengths = [n for n in lengths if n <= config.max_labels]
    counts = [int(n) for n in rng.permutation(lengths) for _ in range(6)]
    twin = Twin([int(w) for w in lane_states(5, 2)[1]])
    bits = config.sampler.uniform_bits
    sites = []
    for labels, pause in zip(counts, _spaced(config, counts, rng), strict=True):
        spread = int(rng.choice([1, 8, 64, config.energy_max]))
        energies = [int(e) for e in np.minimum(rng.integers(0, 64) + rng.integers(0, spread + 1, labels), config.energy_max)]
        temperature = random_temperature(config, rng, energies)
        replay = Twin(twin.words)
        uniforms = [replay.next(bits) for _ in range(labels if isinstance(config.sampler, Race) else 1)]
        expected = draw(config, energies, temperature, twin)
        sites.append(Draw(energies, temperature, uniforms, expected, pause))
    await player.play(sites)
