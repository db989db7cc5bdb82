"""The temperature schedule in hardware."""

from __future__ import annotations

from amaranth import Cat, Module, Mux, Signal
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.memories import UnguardedMemory
from mrfhw.gateware.common.pipeline import delayed
from mrfhw.gateware.control.run import TableWrites, problem_registers
from mrfhw.machine.bits import bits_for
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.registers import Temperature
from mrfhw.machine.samplers import Race

__all__ = ["SweepTemperature", "TemperatureSchedule"]


class TemperatureSchedule(wiring.Component):
    """Coefficient of the current sweep; `mrfhw.placement.temperature.coefficients` gives the same numbers.

    load: back to sweep 0; its value is valid one cycle later (two for the table). step: to the next sweep; the new value is valid
    after `step_cycles` (a product by shift and add, and a comparison) or, for the table, two cycles. Both are shorter than any
    sweep; a step comes two cycles or more after the load and after the step before.
    mode, start, ratio, limit, stride, last: registers. table_*: writes of the table.
    value: the coefficient.
    """

    def __init__(self, config: Config):
        config = Derived.of(config)
        self.config = config
        self.ratio_bits = config.ratio_bits
        self.step_cycles = self.ratio_bits + 3
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
        write = table.write_port()
        read = table.read_port()
        index = Signal.like(self.last)
        held_for = Signal(32)
        held_long = Signal()  # as long as the stride; a comparison of 32 bits, far from the tiles, in a cycle of its own
        m.d.comb += [write.addr.eq(self.table_address), write.data.eq(self.table_data), write.en.eq(self.table_write),
                     read.addr.eq(index)]
        m.d.sync += held_long.eq(held_for == self.stride)
        held = Signal(width + guard)
        # `high` is the product's upper part; its lower part moves into `factor` as the factor's bits leave it.
        high = Signal(width + guard)
        factor = Signal(self.ratio_bits)
        count = Signal(range(self.step_cycles))
        scaled = Signal(width + guard + 2)
        limit = Signal(width + guard + 2)
        m.d.comb += [scaled.eq(Cat(factor, high) >> c.ratio_fraction_bits),
                     limit.eq(Cat(Signal(guard, name="low"), self.limit))]
        beyond = Signal()  # of the finished product, in a cycle of its own
        m.d.sync += beyond.eq(scaled < limit if isinstance(c.sampler, Race) else scaled > limit)
        with m.If(self.load):
            m.d.sync += [held.eq(Cat(Signal(guard, name="guard"), self.start)), index.eq(0), held_for.eq(1), count.eq(0)]
        with m.Elif(self.step):
            m.d.sync += [high.eq(0), factor.eq(self.ratio), count.eq(self.step_cycles - 1)]
            with m.If(held_long):
                m.d.sync += [held_for.eq(1), index.eq(Mux(index == self.last, index, index + 1))]
            with m.Else():
                m.d.sync += held_for.eq(held_for + 1)
        with m.Elif(count > 2):
            # The factor's lowest bit first.
            total = Signal(width + guard + 1)
            m.d.comb += total.eq(high + Mux(factor[0], held, 0))
            m.d.sync += [Cat(factor, high).eq(Cat(factor[1:], total)), count.eq(count - 1)]
        with m.Elif(count != 0):
            m.d.sync += count.eq(count - 1)
            with m.If((count == 1) & (self.mode == Temperature.GEOMETRIC)):
                m.d.sync += held.eq(Mux(beyond, limit, scaled))
        m.d.comb += self.value.eq(Mux(self.mode == Temperature.TABLE, read.data, held >> guard))
        return m


class SweepTemperature(wiring.Component):
    """The coefficient at the tiles, which changes when the first label of a sweep needs it.

    load: a run begins at sweep 0. sweep: the first label slot of a sweep; the sweep's coefficient reaches the tiles
    `Derived.temperature_delay(L)` cycles after they take that slot. registers: constant during a run. tables: writes of the table.
    """

    def __init__(self, config: Config):
        config = Derived.of(config)
        self.config = config
        self._beyond = config.latency.beyond("coefficient", 2, "the sweep's coefficient, with a count and a register,")
        super().__init__({"registers": In(problem_registers(config)), "load": In(1), "sweep": In(1), "tables": In(TableWrites()),
                          "value": Out(config.temperature_bits)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c, r = self.config, self.registers
        # The delay is linear in L.
        base, slope = c.temperature_delay(0), c.temperature_delay(1) - c.temperature_delay(0)
        bits = bits_for(c.latency.scheduler + c.temperature_delay(c.max_labels))
        left = Signal(bits)
        delay = Signal(bits)
        armed = Signal()
        value = Signal(c.temperature_bits)
        m.d.sync += delay.eq(base + c.latency.scheduler - c.latency.coefficient + slope * r.slots)
        m.submodules.schedule = schedule = TemperatureSchedule(c)
        reached = armed & (left == 0)
        m.d.comb += [
            schedule.load.eq(self.load), schedule.step.eq(reached), schedule.mode.eq(r.temperature_mode),
            schedule.start.eq(r.temperature), schedule.ratio.eq(r.temperature_ratio),
            schedule.limit.eq(r.temperature_limit), schedule.stride.eq(r.temperature_stride),
            schedule.last.eq(r.temperature_last), schedule.table_write.eq(self.tables.temperature),
            schedule.table_address.eq(self.tables.address), schedule.table_data.eq(self.tables.data),
            self.value.eq(delayed(m, value, self._beyond, "coefficient")),
        ]
        with m.If(self.sweep):
            m.d.sync += [left.eq(delay), armed.eq(1)]
        with m.Elif(reached):
            m.d.sync += [armed.eq(0), value.eq(schedule.value)]
        with m.Else():
            m.d.sync += left.eq(left - 1)
        return m
