"""The slots of a tile that chooses them: labels, singleton-2 addresses and weights, each when its part takes it."""

from __future__ import annotations

from typing import Any

from amaranth import Module, Signal
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.contexts import join_contexts
from mrfhw.gateware.common.pipeline import delayed
from mrfhw.gateware.control.label_data import LabelData, label_latency
from mrfhw.gateware.control.label_table import join_label_table, label_table_ports
from mrfhw.gateware.control.ops import LabelSlot, SingletonRead, SitePlace, SlotStrobe, label_word
from mrfhw.gateware.control.reach_address import ReachAddress
from mrfhw.gateware.tile.subset_choice import SubsetChoice
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.latency import NEIGHBOURS, LatencyError

__all__ = ["SubsetSlots"]


class SubsetSlots(wiring.Component):
    """Chooses a site's slots and looks up what the scheduler sends to tiles that do not choose.

    swap, neighbours: the collected neighbours of a site become current (Prefetch). own_fetch, own: its own label is at the switch.
    place, flags: the scheduler's operations of the site and of its slots. unary: as ReachAddress takes it.
    singleton, label, weight: of a slot, each `Latency` cycles after the swap: singleton_cycle and label_cycle for the other two.
    table_*, random_*: see SubsetChoice; the table's other words are ReachAddress' and LabelData's.
    """

    def __init__(self, config: Config):
        config = Derived.of(config)
        self.config, stages = config, config.latency
        self._wait, known = stages.label_cycle - stages.slot_cycle, label_latency(config)
        if known > self._wait:
            raise LatencyError(f"label_group + label_data is {known}; the labels of a slot are wanted {self._wait} cycles after it "
                               f"is chosen: declare {self._wait} or less together")
        super().__init__({
            "swap": In(1), "neighbours": In(data.ArrayLayout(label_word(config), NEIGHBOURS)), "own_fetch": In(1),
            "own": In(config.label_bits), "place": In(SitePlace(config)), "flags": In(SlotStrobe(config)), "unary": In(1),
            "singleton": Out(SingletonRead(config)), "label": Out(LabelSlot(config)), "weight": Out(config.subset_weight_bits),
            **label_table_ports(config),
            "random_load": In(1), "random_rotate": In(1), "random_data": In(32), "random_word": Out(32),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c, stages = self.config, self.config.latency
        m.submodules.choice = choice = SubsetChoice(c)
        m.submodules.reach_address = reach = ReachAddress(c)
        m.submodules.label_data = table = LabelData(c)
        units: tuple[Any, ...] = (choice, reach, table)
        for unit in units:
            join_label_table(m, unit, self.table_write, self.table_address, self.table_data)
            if c.contexts > 1:
                join_contexts(m, unit, self.context, self.bus_context)
        own = Signal(c.label_bits, name="own_label", reset_less=True)
        with m.If(self.own_fetch):
            m.d.sync += own.eq(self.own)
        before = stages.swap - 1
        m.d.comb += [
            choice.start.eq(delayed(m, self.swap, before, "start")),
            choice.neighbours.eq(delayed(m, self.neighbours, before, "neighbours", reset_less=True)),
            choice.own.eq(delayed(m, own, stages.vector_read - 1 + before, "own", reset_less=True)),
            choice.random_load.eq(self.random_load), choice.random_rotate.eq(self.random_rotate),
            choice.random_data.eq(self.random_data), self.random_word.eq(choice.random_word),
            reach.slot.eq(choice.slot), reach.group.eq(self.place.group), reach.odd.eq(self.place.odd),
            reach.base.eq(self.place.base), reach.unary.eq(self.unary),
            *(self.singleton[name].eq(delayed(m, getattr(reach, name), stages.slot_address - reach.latency, name))
              for name in ("first", "second", "rotate")),
        ]
        wait, label = self._wait, self.label
        m.d.comb += [
            table.slot.eq(delayed(m, choice.slot, wait - table.latency, "slot", reset_less=True)),
            label.enable.eq(self.flags.enable), label.first.eq(self.flags.first), label.last.eq(self.flags.last),
            label.label.eq(table.label), *([label.used.eq(table.used)] if c.lanes > 1 else []), label.constants.eq(table.constants),
        ]
        if c.lanes > 1:
            m.d.comb += label.slot.eq(delayed(m, table.slot, table.latency, "slot_of_label", reset_less=True))
        m.d.comb += self.weight.eq(delayed(m, choice.weight, wait, "weight", reset_less=True))
        if c.vector_bits:
            m.d.comb += label.vectors.eq(table.vectors)
        return m
