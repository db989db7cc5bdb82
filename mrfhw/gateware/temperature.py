"""The temperature schedule in hardware."""

from __future__ import annotations

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrfhw.config import Config, bits_for
from mrfhw.gateware.memories import UnguardedMemory
from mrfhw.registers import Temperature

__all__ = ["TemperatureSchedule"]


class TemperatureSchedule(wiring.Component):
    """Coefficient of the current sweep; `mrfhw.temperature.coefficients` gives the same numbers.

    load: back to sweep 0; its value stands one cycle later, two for the table. step: on to the next sweep;
    the new value stands `ratio` bits + 2 cycles later (a product by shift and add; two for the table),
    which is shorter than any sweep.
    mode, start, ratio, limit, stride, last: registers. table_*: writes of the table.
    value: the coefficient.
    """

    def __init__(self, config: Config):
        self.config = config
        self.ratio_bits = config.ratio_bits
        width = config.temperature_bits
        super().__init__({
            "load": In(1), "step": In(1), "mode": In(2), "start": In(width), "ratio": In(self.ratio_bits),
            "limit": In(width), "stride": In(32), "last": In(bits_for(config.temperature_table)),
            "table_write": In(1), "table_address": In(bits_for(config.temperature_table)), "table_data": In(width),
            "value": Out(width),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c = self.config
        width, guard = c.temperature_bits, c.temperature_guard_bits
        m.submodules.table = table = UnguardedMemory(
            shape=width, depth=c.temperature_table, unused="the table is written between runs and read during them")
        write, read = table.write_port(), table.read_port()
        index, held_for = Signal.like(self.last), Signal(32)
        m.d.comb += [write.addr.eq(self.table_address), write.data.eq(self.table_data), write.en.eq(self.table_write),
                     read.addr.eq(index)]
        held = Signal(width + guard)
        # `high` is the product's upper part; its lower part moves into `factor` as the factor's bits leave it.
        high, factor = Signal(width + guard), Signal(self.ratio_bits)
        count = Signal(range(self.ratio_bits + 2))
        with m.If(self.load):
            m.d.sync += [held.eq(Cat(Signal(guard, name="guard"), self.start)), index.eq(0), held_for.eq(1), count.eq(0)]
        with m.Elif(self.step):
            m.d.sync += [high.eq(0), factor.eq(self.ratio), count.eq(self.ratio_bits + 1)]
            with m.If(held_for == self.stride):
                m.d.sync += [held_for.eq(1), index.eq(Mux(index == self.last, index, index + 1))]
            with m.Else():
                m.d.sync += held_for.eq(held_for + 1)
        with m.Elif(count > 1):
            # The factor's lowest bit first.
            total = Signal(width + guard + 1)
            m.d.comb += total.eq(high + Mux(factor[0], held, 0))
            m.d.sync += [Cat(factor, high).eq(Cat(factor[1:], total)), count.eq(count - 1)]
        with m.Elif(count == 1):
            scaled, limit = Signal(width + guard + 2), Signal(width + guard + 2)
            m.d.comb += [scaled.eq(Cat(factor, high) >> c.ratio_fraction_bits),
                         limit.eq(Cat(Signal(guard, name="low"), self.limit))]
            beyond = scaled < limit if c.sampler == "race" else scaled > limit
            m.d.sync += count.eq(0)
            with m.If(self.mode == Temperature.GEOMETRIC):
                m.d.sync += held.eq(Mux(beyond, limit, scaled))
        m.d.comb += self.value.eq(Mux(self.mode == Temperature.TABLE, read.data, held >> guard))
        return m
