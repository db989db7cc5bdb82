"""Energy of a label from its singleton data and its neighbours' labels (Equation 3.1)."""

from __future__ import annotations

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.pipeline import delayed
from mrfhw.gateware.control.ops import datum, neighbour, parameters, vector
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.registers import DOUBLETON_CODES

__all__ = ["EnergyPipeline"]


class EnergyPipeline(wiring.Component):
    """E = min(E_max, (alpha E_singleton + beta sum E_doubleton) >> shift), one label a cycle.

    s1: the site's datum, flag = observed (else E_singleton = 0). s2: the label's datum, flag = inside
    the second image (else E_singleton = out_of_range). label, vector: the label and its 2-D vector.
    neighbours: four labels with their vectors; one that does not exist adds nothing.
    s1 and neighbours must be constant while the site's labels enter, parameters during a run.

    energy follows its operands by `Latency.energy` cycles; registers that the drawing does not show lie behind the products.

    ::

        |s1-s2| -> square -> select ------------------> x alpha -+
        |l-x|, l!=x, |u-u'| |v-v'| -> squares -> min tau -> sum -> x beta -> add -> shift, cap
    """

    def __init__(self, config: Config):
        config = Derived.of(config)
        self.config = config
        self._beyond = config.latency.beyond("energy", 9, "the energy pipeline")
        super().__init__({
            "s1": In(datum(config)), "s2": In(datum(config)), "label": In(config.label_bits),
            "vector": In(vector(config)), "neighbours": In(data.ArrayLayout(neighbour(config), 4)),
            "parameters": In(parameters(config)), "energy": Out(config.energy_bits),
        })

    def _singleton(self, m: Module) -> Signal:
        """E_singleton four cycles after its operands."""
        c, p = self.config, self.parameters
        distance, flags = Signal(c.data_bits, reset_less=True), Signal(2, reset_less=True)
        value, flags_2 = Signal(c.singleton_bits, reset_less=True), Signal(2, reset_less=True)
        chosen, held = (Signal(c.singleton_bits, reset_less=True) for _ in range(2))
        s2 = Mux(p.constant, Cat(self.s2.value, 1), Cat(self.s2.value, self.s2.flag))
        m.d.sync += [
            distance.eq(Mux(self.s1.value > self.s2.value, self.s1.value - self.s2.value, self.s2.value - self.s1.value)),
            flags.eq(Cat(s2[c.data_bits], self.s1.flag)),
            value.eq(Mux(p.squared, distance * distance, distance)),
            flags_2.eq(flags),
            chosen.eq(Mux(flags_2[1], Mux(flags_2[0], value, p.out_of_range), 0)),
            held.eq(chosen),
        ]
        return held

    def _doubleton(self, m: Module, index: int) -> Signal:
        """One neighbour's E_doubleton three cycles after its operands."""
        c, p, n = self.config, self.parameters, self.neighbours[index]

        def distance(a: object, b: object, bits: int) -> Signal:
            result = Signal(bits, reset_less=True)
            m.d.sync += result.eq(Mux(a > b, a - b, b - a))  # type: ignore[operator]
            return result

        gap = distance(self.label, n.word.label, c.label_bits)
        du, dv = (distance(self.vector[k], n.vector[k], c.vector_bits) for k in ("u", "v"))
        exists, exists_2 = Signal(reset_less=True), Signal(reset_less=True)
        raw, out = (Signal(c.doubleton_bits, reset_less=True) for _ in range(2))
        m.d.sync += [exists.eq(n.word.exists), exists_2.eq(exists)]
        squares = [self._square(m, d) for d in (du, dv)]
        with m.Switch(p.doubleton):
            with m.Case(DOUBLETON_CODES["squared"]):
                m.d.sync += raw.eq(squares[0] + squares[1])
            with m.Case(DOUBLETON_CODES["potts"]):
                m.d.sync += raw.eq(gap.any())
            with m.Default():
                m.d.sync += raw.eq(gap)
        m.d.sync += out.eq(Mux(exists_2, Mux(raw > p.tau, p.tau, raw), 0))
        return out

    def _square(self, m: Module, value: Signal) -> Signal:
        """value^2 as a table: a few bits are not worth a DSP block."""
        result = Signal(2 * len(value))
        with m.Switch(value):
            for i in range(1 << len(value)):
                with m.Case(i):
                    m.d.comb += result.eq(i * i)
        return result

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c, p = self.config, self.parameters
        singleton = self._singleton(m)
        up, down, left, right = (self._doubleton(m, i) for i in range(4))
        pairs = [Signal(c.doubleton_bits + 1, reset_less=True) for _ in range(2)]
        doubletons = Signal(c.doubleton_bits + 2, reset_less=True)
        singleton_2 = Signal.like(singleton)
        m.d.sync += [pairs[0].eq(up + down), pairs[1].eq(left + right), doubletons.eq(pairs[0] + pairs[1]),
                     singleton_2.eq(singleton)]
        # Two registers behind each product, so that a DSP block takes both.
        weighted = [(singleton_2, p.alpha), (doubletons, p.beta)]
        products = [[Signal(len(a) + c.weight_bits, reset_less=True) for _ in range(2)] for a, _ in weighted]
        for (a, weight), (first, second) in zip(weighted, products, strict=True):
            m.d.sync += [first.eq(a * weight), second.eq(delayed(m, first, self._beyond, "product", reset_less=True))]
        total = Signal(max(len(q[0]) for q in products) + 1, reset_less=True)
        shifted = Signal.like(total)
        m.d.comb += shifted.eq(total >> p.shift)
        m.d.sync += [total.eq(products[0][1] + products[1][1]),
                     self.energy.eq(Mux(shifted > c.energy_max, c.energy_max, shifted))]
        return m


