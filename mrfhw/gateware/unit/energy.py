"""Energy of a label from its singleton data and its neighbours' labels (Equation 3.1)."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Const, Module, Mux, Signal, Value
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.pipeline import delayed
from mrfhw.gateware.common.products import product
from mrfhw.gateware.control.ops import KINDS, datum, edges, neighbour, parameters, vector
from mrfhw.machine.bits import bits_for, of_channel
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.registers import DOUBLETON_CODES

__all__ = ["EnergyPipeline"]


class EnergyPipeline(wiring.Component):
    """E = min(E_max, (sum alpha E_singleton + beta sum w E_doubleton) >> shift), one label a cycle.

    s1: the site's datum, flag = observed (else E_singleton = 0). s2: the label's datum, flag = inside
    the second image (else E_singleton = out_of_range in the first channel, 0 in the others). label, vector: the label and its 2-D
    vector. neighbours: four labels with their vectors; one that does not exist adds nothing. edges: their weights w.
    entries: of the doubleton table, each neighbour's, a cycle after the other operands.
    s1, neighbours and edges must be constant while the site's labels enter, parameters during a run and
    `Latency.parameters` cycles before it.

    energy follows its operands by `Latency.energy` cycles; registers that the drawing does not show lie behind the products.

    ::

        |s1-s2| -> square -> select, limit -----------> x alpha -+      a channel
        s1^s2 -> ones ----^                                      |
        |l-x|, l!=x, |u-u'| |v-v'| -> squares -> min tau -> x w, sum -> x beta -> add -> shift, cap
        entries of the table ------------^          (and nothing else where `doubletons` is table)
    """

    def __init__(self, config: Config):
        config = Derived.of(config)
        self.config = config
        self._spare = config.lanes > 1  # a tile then has many pipelines, and a device few block multipliers
        self._beyond = config.latency.beyond("energy", 9, "the energy pipeline")
        super().__init__({
            "s1": In(datum(config)), "s2": In(datum(config)), "label": In(config.label_bits),
            **({"vector": In(vector(config))} if config.vector_bits else {}),
            "neighbours": In(data.ArrayLayout(neighbour(config), len(KINDS))),
            "parameters": In(parameters(config)), "energy": Out(config.energy_bits),
            **({"edges": In(edges(config))} if config.edge_bits else {}),
            **({"entries": In(data.ArrayLayout(config.pairwise_bits, len(KINDS)))} if config.pairwise_bits else {}),
        })

    def _parameters(self, m: Module) -> Any:
        """The run's parameters, in registers of this pipeline's where there are to be such."""
        if not self.config.latency.parameters:
            return self.parameters
        fields = {name: getattr(self.parameters, name) for name in self.parameters.shape().members if name != "temperature"}
        kept = Signal(data.StructLayout({name: len(field) for name, field in fields.items()}), name="parameters_now")
        m.d.comb += [kept[name].eq(field) for name, field in fields.items()]
        return delayed(m, kept, self.config.latency.parameters, "parameters_held", reset_less=True, own=True)

    def _singleton(self, m: Module, channel: int, flags: Signal) -> Signal:
        """E_singleton of a channel four cycles after its operands. flags: inside and observed, two cycles after them."""
        c, p = self.config, self._held
        low, bits, width = sum(c.channel_bits[:channel]), c.channel_bits[channel], c.channel_singleton_bits(channel)
        first, second = (word.value[low:low + bits] for word in (self.s1, self.s2))
        value, chosen, held = (Signal(width, name=of_channel(name, channel), reset_less=True)
                               for name in ("value", "chosen", "held"))
        kinds = c.channel_singletons(channel)
        found: Value = Const(0, width)
        if "absolute" in kinds:
            distance = Signal(bits, name=of_channel("distance", channel), reset_less=True)
            m.d.sync += distance.eq(Mux(first > second, first - second, second - first))
            found = Mux(p[of_channel("squared", channel)], distance * distance, distance)
        if "hamming" in kinds:
            unlike = Signal(bits, name=of_channel("unlike", channel), reset_less=True)
            m.d.sync += unlike.eq(first ^ second)
            ones = sum((unlike[bit] for bit in range(bits)), Const(0, 1))
            found = Mux(p.hamming, ones, found) if "absolute" in kinds else ones
        limit = p[of_channel("singleton_max", channel)] if c.singleton_cap else None
        limited = value if limit is None else Mux(value > limit, limit, value)
        outside = Const(0, 1) if channel else p.out_of_range
        m.d.sync += [value.eq(found), chosen.eq(Mux(flags[1], Mux(flags[0], limited, outside), 0)), held.eq(chosen)]
        return held

    def _flags(self, m: Module) -> Signal:
        """Whether the datum lies inside the second image, and whether the site is observed, two cycles after the operands."""
        first, second = (Signal(2, name=name, reset_less=True) for name in ("flags", "flags_2"))
        m.d.sync += [first.eq(Cat(self.s2.flag | self._held.constant, self.s1.flag)), second.eq(first)]
        return second

    def _doubleton(self, m: Module, index: int) -> Signal:
        """One neighbour's E_doubleton three cycles after its operands."""
        c, p, n, kind = self.config, self._held, self.neighbours[index], KINDS[index]
        exists, exists_2 = (Signal(name=f"{name}_{kind}", reset_less=True) for name in ("exists", "exists_2"))
        raw, out = (Signal(c.doubleton_bits, name=f"{name}_{kind}", reset_less=True) for name in ("raw", "doubleton"))
        m.d.sync += [exists.eq(n.word.exists), exists_2.eq(exists)]
        if c.doubletons == "table":
            m.d.sync += [raw.eq(self.entries[index]), out.eq(Mux(exists_2, raw, 0))]
            return out

        def distance(a: Value, b: Value, bits: int, name: str) -> Signal:
            result = Signal(bits, name=f"{name}_{kind}", reset_less=True)
            m.d.sync += result.eq(Mux(a > b, a - b, b - a))
            return result

        gap = distance(self.label, n.word.label, c.label_bits, "gap")
        squares = [self._square(m, distance(self.vector[k], n.vector[k], c.vector_bits, f"d{k}")) for k in ("u", "v")
                   ] if c.vector_bits else []
        with m.Switch(p.doubleton):
            if squares:
                with m.Case(DOUBLETON_CODES["squared"]):
                    m.d.sync += raw.eq(squares[0] + squares[1])
            with m.Case(DOUBLETON_CODES["potts"]):
                m.d.sync += raw.eq(gap.any())
            if c.pairwise_bits:
                with m.Case(DOUBLETON_CODES["table"]):
                    m.d.sync += raw.eq(self.entries[index])
            with m.Default():
                m.d.sync += raw.eq(gap)
        m.d.sync += out.eq(Mux(exists_2, Mux(raw > p.tau, p.tau, raw), 0))
        return out

    def _square(self, m: Module, value: Signal) -> Signal:
        """value^2 as a table: a few bits are not worth a DSP block."""
        result = Signal(2 * len(value), name=f"{value.name}_squared")
        with m.Switch(value):
            for i in range(1 << len(value)):
                with m.Case(i):
                    m.d.comb += result.eq(i * i)
        return result

    def _doubletons(self, m: Module) -> Signal:
        """The sum of the neighbours' weighted E_doubleton, five cycles after the operands."""
        c = self.config
        terms: list[Value] = [self._doubleton(m, index) for index in range(len(KINDS))]
        if c.edge_bits:
            weights = delayed(m, self.edges, 3, "weights", reset_less=True)
            terms = [product(term, weights[index], self._spare) for index, term in enumerate(terms)]
        pairs = [Signal(len(terms[0]) + 1, name=f"pair_{i}", reset_less=True) for i in range(2)]
        total = Signal(len(terms[0]) + 2, name="doubletons", reset_less=True)
        m.d.sync += [pairs[0].eq(terms[0] + terms[1]), pairs[1].eq(terms[2] + terms[3]), total.eq(pairs[0] + pairs[1])]
        return total

    def elaborate(self, platform: object) -> Module:
        m = Module()
        self._held = self._parameters(m)
        c, p = self.config, self._held
        flags = self._flags(m)
        weighted = []
        for channel in range(len(c.channel_bits)):
            single = self._singleton(m, channel, flags)
            later = Signal.like(single, name=f"singleton_{channel}", reset_less=True)
            m.d.sync += later.eq(single)
            weighted.append((later, p[of_channel("alpha", channel)]))
        weighted.append((self._doubletons(m), p.beta))
        # Two registers behind each product, so that a DSP block takes both.
        products = [[Signal(len(a) + c.weight_bits, name=f"{a.name}_{name}", reset_less=True) for name in ("product", "weighted")]
                    for a, _ in weighted]
        for (a, weight), (first, second) in zip(weighted, products, strict=True):
            m.d.sync += [first.eq(product(a, weight, self._spare)),
                         second.eq(delayed(m, first, self._beyond, "product", reset_less=True))]
        total = Signal(max(len(q[0]) for q in products) + bits_for(len(products)), reset_less=True)
        shifted = Signal.like(total)
        m.d.comb += shifted.eq(total >> p.shift if c.shift_bits else total)
        m.d.sync += [total.eq(sum((second for _, second in products[1:]), products[0][1])),
                     self.energy.eq(Mux(shifted > c.energy_max, c.energy_max, shifted))]
        return m
