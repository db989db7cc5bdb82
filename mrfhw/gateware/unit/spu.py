"""A sampling unit: generators, energy pipelines and sampler of the lanes of one site (Figure 3.4)."""

from __future__ import annotations

from amaranth import Cat, Module, Mux
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.contexts import chosen, join_contexts, name_of, of_context
from mrfhw.gateware.common.pipeline import delayed
from mrfhw.gateware.control.ops import datum, edges, neighbour, parameters, vector
from mrfhw.gateware.unit.doubleton_table import DoubletonTable
from mrfhw.gateware.unit.energy import EnergyPipeline
from mrfhw.gateware.unit.random import Random
from mrfhw.gateware.unit.samplers import sampler
from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.bits import bits_for
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived

__all__ = ["Spu"]


class Spu(wiring.Component):
    """Draws a label for a site whose labels are streamed in, one a lane and cycle, 0 to L-1 without a pause.

    s1, neighbours, edges: as for EnergyPipeline, constant while the site's labels enter. pairwise_*: see DoubletonTable.
    label: of lane 0 in this cycle; lane k has label + k. s2, vectors: of each lane's label.
    valid: this cycle has labels; first, last: they are the site's first or last ones. With several lanes: used, those that
    have a label; slot, the slot's number, for the doubleton table. weight: with subsets, of the slot (`mrfhw.placement.subsets`).
    parameters.temperature: see RaceSampler, CdfSampler.
    random_load, random_rotate, random_data, random_words: the generators' states, while no label is in flight. With several
    contexts that of `parameters` is the one that runs, and bus_context the one whose states and doubletons are written and read.
    result: the label, `Derived.spu_latency` cycles after the site's first slot, held until the next one.
    Initiation interval: the site's slots.
    """

    def __init__(self, config: Config):
        config = Derived.of(config)
        self.config = config
        pairwise = {"pairwise_write": In(1), "pairwise_address": In(AddressMap(config).pairwise_bits),
                    "pairwise_data": In(config.pairwise_lanes * config.pairwise_bits)}
        super().__init__({
            "valid": In(1), "first": In(1), "last": In(1), "label": In(config.label_bits),
            **({"used": In(config.lanes), "slot": In(config.label_bits)} if config.lanes > 1 else {}),
            **({"vectors": In(data.ArrayLayout(vector(config), config.lanes))} if config.vector_bits else {}),
            "s1": In(datum(config)),
            "s2": In(data.ArrayLayout(datum(config), config.lanes)),
            "neighbours": In(data.ArrayLayout(neighbour(config), 4)), "parameters": In(parameters(config)),
            **({"weight": In(config.subset_weight_bits)} if config.subset_slots else {}),
            "random_load": In(config.lane_generators), "random_rotate": In(config.lane_generators), "random_data": In(32),
            "random_words": Out(data.ArrayLayout(32, config.lane_generators)), "result": Out(config.label_bits),
            **({"edges": In(edges(config))} if config.edge_bits else {}), **(pairwise if config.pairwise_bits else {}),
            **({"bus_context": In(bits_for(config.contexts))} if config.contexts > 1 else {}),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c = self.config
        m.submodules.sampler = draw = sampler(c)
        self._energies(m, draw.energies)
        for number in range(c.lane_generators):
            name = f"random_{number}" if c.lane_generators > 1 else "random"
            m.submodules[name] = random = Random(c.numbers_a_step * draw.uniform_bits, c.latency, c.contexts)
            if c.contexts > 1:
                join_contexts(m, random, self.parameters.context, self.bus_context)
            m.d.comb += [random.advance.eq(draw.advance), random.load.eq(self.random_load[number]),
                         random.rotate.eq(self.random_rotate[number]), random.load_data.eq(self.random_data),
                         self.random_words[number].eq(random.word)]
            # The first of two lanes has the top bits.
            for part in range(c.numbers_a_step):
                low = (c.numbers_a_step - 1 - part) * draw.uniform_bits
                m.d.comb += draw.uniforms[number * c.numbers_a_step + part].eq(random.value[low:low + draw.uniform_bits])
        # valid, first and last are delayed until `soon`, `lead` cycles before the energy, and from there until the energy.
        ahead = delayed(m, Cat(self.valid, self.first, self.last), c.latency.energy - draw.lead, "ahead")
        before = delayed(m, ahead, draw.lead - 1, "flags")
        flags = delayed(m, before, 1, "flags_last")
        m.d.comb += [draw.soon.eq(ahead[0]), Cat(draw.valid, draw.first, draw.last).eq(flags),
                     draw.temperature.eq(self.parameters.temperature), self.result.eq(draw.result)]
        if c.lanes == 1 and not c.subset_slots:
            # Labels come in order, so a counter replaces a delay line of labels.
            m.d.sync += draw.label.eq(Mux(before[1], 0, draw.label + 1))
        else:
            m.d.comb += draw.label.eq(delayed(m, self.label, c.latency.energy, "label", reset_less=True))
        if c.lanes > 1:
            m.d.comb += draw.used.eq(delayed(m, self.used, c.latency.energy, "used", reset_less=True))
        if c.subset_slots:
            before = c.latency.coefficient_use(c.sampler.name, 1)
            m.d.comb += draw.weight.eq(delayed(m, self.weight, before, "weight", reset_less=True))
        return m

    def _energies(self, m: Module, energies: data.View) -> None:
        """A pipeline for each lane, behind one doubleton table."""
        c = self.config
        runs, bus = (self.parameters.context, self.bus_context) if c.contexts > 1 else (None, None)
        tables = list[DoubletonTable]()
        for k in range(c.contexts if c.pairwise_bits else 0):
            m.submodules[name_of("doubleton_table", k, c.contexts)] = table = DoubletonTable(c)
            tables.append(table)
            m.d.comb += [table.label.eq(self.label if c.lanes == 1 else self.slot), table.neighbours.eq(self.neighbours),
                         table.write.eq(of_context(self.pairwise_write, bus, k, c.contexts)),
                         table.address.eq(self.pairwise_address), table.data.eq(self.pairwise_data)]
        for lane in range(c.lanes):
            m.submodules[f"energy_pipeline_{lane}" if c.lanes > 1 else "energy_pipeline"] = energy = EnergyPipeline(c)
            m.d.comb += [
                energy.s1.eq(self.s1), energy.s2.eq(self.s2[lane]), energy.label.eq(self.label + lane),
                energy.neighbours.eq(self.neighbours), energy.parameters.eq(self.parameters), energies[lane].eq(energy.energy),
            ]
            if c.vector_bits:
                m.d.comb += energy.vector.eq(self.vectors[lane])
            if c.edge_bits:
                m.d.comb += energy.edges.eq(self.edges)
            if c.pairwise_bits:
                m.d.comb += energy.entries.eq(chosen([table.entries[lane] for table in tables], runs))
