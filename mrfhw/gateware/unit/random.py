"""The random-number generator of a lane."""

from __future__ import annotations

from amaranth import Cat, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.contexts import chosen, context_ports, name_of, of_context
from mrfhw.gateware.common.pipeline import delayed
from mrfhw.machine.latency import Latency

__all__ = ["WORDS", "Random"]

WORDS = 4


class Random(wiring.Component):
    """xorshift128 (Marsaglia, 2003) with a sum of two state words as output.

    The state is four words x, y, z, w. A step shifts w ^ (w >> 19) ^ t ^ (t >> 8), t = x ^ (x << 11), in
    behind w. The output is the top `bits` of (w + y) mod 2^32: the sum hides the step's linearity.
    `step` and `output` of `mrfhw.samplers.random_kernel` are its twins.

    contexts: states that it has. context: the one that `advance` steps; bus_context: the one that is loaded and rotated, with
    several. advance: step. load: shift `load_data` in instead (four loads set x, y, z, w). rotate: shift x in
    instead (four rotations restore the state). At most one of them at a time and state.
    value: uniform integer of `bits` bits, `Latency.random` cycles after the advance that made it.
    word: the state word w; `Latency.random_word` cycles after a rotation it is the former x. Throughput: one operation per cycle.
    The state after reset is not useful: load a state that is not all zero.
    """

    def __init__(self, bits: int, latency: Latency | None = None, contexts: int = 1):
        if not 1 <= bits <= 32:
            raise ValueError(f"bits is {bits}; a step gives 1 to 32: give a number between them")
        self.bits, self.contexts, stages = bits, contexts, latency or Latency()
        stages.exactly("random_word", 1, "a generator's state")
        self._beyond = stages.beyond("random", 2, "a generator, with its state and the sum of two words of it,")
        super().__init__({"advance": In(1), "load": In(1), "rotate": In(1), "load_data": In(32),
                          "value": Out(bits), "word": Out(32), **context_ports(contexts)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        n, states = self.contexts, list[tuple[Signal, ...]]()
        for k in range(n):
            x, y, z, w = (Signal(32, name=name_of(name, k, n), reset_less=True) for name in "xyzw")
            t = Signal(32, name=name_of("t", k, n))
            m.d.comb += t.eq(x ^ Cat(Const(0, 11), x[:21]))
            step = w ^ (w >> 19) ^ t ^ (t >> 8)
            advance, load, rotate = self.advance, self.load, self.rotate
            if n > 1:
                advance = of_context(self.advance, self.context, k, n)
                load, rotate = (of_context(here, self.bus_context, k, n) for here in (self.load, self.rotate))
            with m.If(advance | load | rotate):
                m.d.sync += [x.eq(y), y.eq(z), z.eq(w), w.eq(step)]
                with m.If(load):
                    m.d.sync += w.eq(self.load_data)
                with m.Elif(rotate):
                    m.d.sync += w.eq(x)
            states.append((w, y))
        runs, read = (self.context, delayed(m, self.bus_context, 1, "read_context")) if n > 1 else (None, None)
        words = [w for w, _ in states]
        total = Signal(32)
        m.d.comb += [total.eq(chosen(words, runs) + chosen([y for _, y in states], runs)), self.word.eq(chosen(words, read))]
        m.d.sync += self.value.eq(delayed(m, total[32 - self.bits:], self._beyond, "value"))
        return m
