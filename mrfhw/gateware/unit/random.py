"""The random-number generator of a lane."""

from __future__ import annotations

from amaranth import Cat, Const, Module, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.pipeline import delayed
from mrfhw.machine.latency import Latency

__all__ = ["WORDS", "Random"]

WORDS = 4


class Random(wiring.Component):
    """xorshift128 (Marsaglia, 2003) with a sum of two state words as output.

    The state is four words x, y, z, w. A step shifts w ^ (w >> 19) ^ t ^ (t >> 8), t = x ^ (x << 11), in
    behind w. The output is the top `bits` of (w + y) mod 2^32: the sum hides the step's linearity.
    `step` and `output` of `mrfhw.samplers.random_kernel` are its twins.

    advance: step. load: shift `load_data` in instead (four loads set x, y, z, w). rotate: shift x in
    instead (four rotations restore the state). At most one of them at a time.
    value: uniform integer of `bits` bits, `Latency.random` cycles after the advance that made it.
    word: the state word w; `Latency.random_word` cycles after a rotation it is the former x. Throughput: one operation per cycle.
    The state after reset is not useful: load a state that is not all zero.
    """

    def __init__(self, bits: int, latency: Latency | None = None):
        if not 1 <= bits <= 32:
            raise ValueError(f"bits is {bits}; a step gives 1 to 32: give a number between them")
        self.bits, stages = bits, latency or Latency()
        stages.exactly("random_word", 1, "a generator's state")
        self._beyond = stages.beyond("random", 2, "a generator, with its state and the sum of two words of it,")
        super().__init__({"advance": In(1), "load": In(1), "rotate": In(1), "load_data": In(32),
                          "value": Out(bits), "word": Out(32)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        x, y, z, w = (Signal(32, name=n, reset_less=True) for n in "xyzw")
        t = Signal(32)
        m.d.comb += t.eq(x ^ Cat(Const(0, 11), x[:21]))
        step = w ^ (w >> 19) ^ t ^ (t >> 8)
        with m.If(self.advance | self.load | self.rotate):
            m.d.sync += [x.eq(y), y.eq(z), z.eq(w), w.eq(step)]
            with m.If(self.load):
                m.d.sync += w.eq(self.load_data)
            with m.Elif(self.rotate):
                m.d.sync += w.eq(x)
        total = Signal(32)
        m.d.comb += [total.eq(w + y), self.word.eq(w)]
        m.d.sync += self.value.eq(delayed(m, total[32 - self.bits:], self._beyond, "value"))
        return m
