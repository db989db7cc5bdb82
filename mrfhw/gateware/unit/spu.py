"""A sampling unit: generator, energy pipeline and sampler of one lane (Figure 3.4)."""

from __future__ import annotations

from amaranth import Cat, Module, Mux
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.pipeline import delayed
from mrfhw.gateware.control.ops import datum, neighbour, parameters, vector
from mrfhw.gateware.unit.energy import EnergyPipeline, energy_inputs
from mrfhw.gateware.unit.random import Random
from mrfhw.gateware.unit.samplers import sampler
from mrfhw.machine.config import Config

__all__ = ["Spu"]


class Spu(wiring.Component):
    """Draws a label for a site whose labels are streamed in, one a cycle, 0 to L-1 without a pause.

    s1, neighbours, edges, pairwise_*: as for EnergyPipeline, the first three constant while the site's labels enter.
    s2, label, vector: of the label of this cycle. valid: this cycle has a label; first, last: it is the site's first or last one.
    parameters.temperature: see RaceSampler, CdfSampler.
    random_load, random_rotate, random_data, random_word: the generator's state, while no label is in flight.
    result: the label, `Derived.spu_latency(L)` cycles after the first label, held until the next one.
    Initiation interval L.
    """

    def __init__(self, config: Config):
        self.config = config
        super().__init__({
            "valid": In(1), "first": In(1), "last": In(1), "label": In(config.label_bits),
            "vector": In(vector(config)), "s1": In(datum(config)), "s2": In(datum(config)),
            "neighbours": In(data.ArrayLayout(neighbour(config), 4)), "parameters": In(parameters(config)),
            "random_load": In(1), "random_rotate": In(1), "random_data": In(32), "random_word": Out(32),
            "result": Out(config.label_bits), **energy_inputs(config),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c = self.config
        m.submodules.energy_pipeline = energy = EnergyPipeline(c)
        m.submodules.sampler = draw = sampler(c)
        m.submodules.random = random = Random(draw.uniform_bits, c.latency)
        m.d.comb += [
            energy.s1.eq(self.s1), energy.s2.eq(self.s2), energy.label.eq(self.label), energy.vector.eq(self.vector),
            energy.neighbours.eq(self.neighbours), energy.parameters.eq(self.parameters),
            *(getattr(energy, name).eq(getattr(self, name)) for name in energy_inputs(c)),
        ]
        # valid, first and last are delayed until `soon`, `lead` cycles before the energy, and from there until the energy.
        ahead = delayed(m, Cat(self.valid, self.first, self.last), c.latency.energy - draw.lead, "ahead")
        before = delayed(m, ahead, draw.lead - 1, "flags")
        flags = delayed(m, before, 1, "flags_last")
        # Labels come in order, so a counter replaces a delay line of labels.
        m.d.sync += draw.label.eq(Mux(before[1], 0, draw.label + 1))
        m.d.comb += draw.soon.eq(ahead[0])
        m.d.comb += [
            Cat(draw.valid, draw.first, draw.last).eq(flags), draw.energy.eq(energy.energy),
            draw.temperature.eq(self.parameters.temperature), draw.uniform.eq(random.value),
            random.advance.eq(draw.advance), random.load.eq(self.random_load), random.rotate.eq(self.random_rotate),
            random.load_data.eq(self.random_data), self.random_word.eq(random.word), self.result.eq(draw.result),
        ]
        return m
