"""A sampling unit: generator, energy pipeline and sampler of one lane (Figure 3.4)."""

from __future__ import annotations

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrfhw.config import ENERGY_LATENCY, Config
from mrfhw.gateware.energy import EnergyPipeline
from mrfhw.gateware.ops import datum, neighbour, parameters, vector
from mrfhw.gateware.random import Random
from mrfhw.gateware.samplers import sampler

__all__ = ["Spu"]


class Spu(wiring.Component):
    """Draws a label for a site whose labels are streamed in, one a cycle, 0 to L-1 without a pause.

    s1, neighbours: as for EnergyPipeline, held while the site's labels enter. s2, label, vector: of the
    label of this cycle. valid, first, last: a label is there; it is the site's first, last.
    parameters.temperature: see RaceSampler, CdfSampler.
    random_load, random_rotate, random_data, random_word: the generator's state, while no label is in flight.
    result: the label, `Config.spu_latency(L)` cycles after the first label, held until the next one
    (race: 11 + L; cdf: 19 + 3 L). Initiation interval L.
    """

    def __init__(self, config: Config):
        self.config = config
        super().__init__({
            "valid": In(1), "first": In(1), "last": In(1), "label": In(config.label_bits),
            "vector": In(vector(config)), "s1": In(datum(config)), "s2": In(datum(config)),
            "neighbours": In(data.ArrayLayout(neighbour(config), 4)), "parameters": In(parameters(config)),
            "random_load": In(1), "random_rotate": In(1), "random_data": In(32), "random_word": Out(32),
            "result": Out(config.label_bits),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c = self.config
        m.submodules.energy = energy = EnergyPipeline(c)
        m.submodules.sampler = draw = sampler(c)
        m.submodules.random = random = Random(draw.uniform_bits)
        m.d.comb += [
            energy.s1.eq(self.s1), energy.s2.eq(self.s2), energy.label.eq(self.label), energy.vector.eq(self.vector),
            energy.neighbours.eq(self.neighbours), energy.parameters.eq(self.parameters),
        ]
        flags = Cat(self.valid, self.first, self.last)
        for cycle in range(1, ENERGY_LATENCY + 1):
            delayed = Signal.like(flags, name=f"flags_{cycle}", init=0)
            m.d.sync += delayed.eq(flags)
            if cycle == ENERGY_LATENCY:
                # Labels come in order: counted anew, not carried along.
                m.d.sync += draw.label.eq(Mux(flags[1], 0, draw.label + 1))
            flags = delayed
            if cycle == ENERGY_LATENCY - draw.lead:
                m.d.comb += draw.soon.eq(flags[0])
        m.d.comb += [
            Cat(draw.valid, draw.first, draw.last).eq(flags), draw.energy.eq(energy.energy),
            draw.temperature.eq(self.parameters.temperature), draw.uniform.eq(random.value),
            random.advance.eq(draw.advance), random.load.eq(self.random_load), random.rotate.eq(self.random_rotate),
            random.load_data.eq(self.random_data), self.random_word.eq(random.word), self.result.eq(draw.result),
        ]
        return m
