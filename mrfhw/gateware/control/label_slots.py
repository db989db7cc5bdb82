"""The labels of the current group, and their singleton-2 words."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Module, Mux, Signal, Value
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.pipeline import delayed
from mrfhw.gateware.control.label_data import LabelData
from mrfhw.gateware.control.label_table import join_label_table
from mrfhw.gateware.control.ops import LABEL_MEMORY, operations
from mrfhw.gateware.control.reach_address import ReachAddress
from mrfhw.gateware.control.run import GroupOfSites, TableWrites, problem_registers
from mrfhw.gateware.control.singleton_address import SingletonAddress
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived

__all__ = ["LabelSlots"]


class LabelSlots(wiring.Component):
    """Issues the singleton-2 addresses of each label slot, and the label itself when its singleton-2 word is at the tile.

    labelling, slot, group: the current slot and its group. tables: writes of the label table. label_cycle: this slot has a
    label.
    singleton, columns, rows, swap, label: the operations; each leaves `Latency.scheduler` plus its own cycles after its slot.
    columns, rows: where words come from other tiles. With subsets, whose tiles choose the slots: place, in place of singleton.
    """

    def __init__(self, config: Config):
        config = Derived.of(config)
        self.config = config
        self._names = [name for name in operations(config) if name not in LABEL_MEMORY]
        super().__init__({
            "registers": In(problem_registers(config)), "labelling": In(1), "slot": In(range(config.interval(config.max_labels))),
            "group": In(GroupOfSites(config)), "tables": In(TableWrites()), "label_cycle": Out(1),
            **{name: Out(operations(config)[name]) for name in self._names},
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c, row, r = self.config, self.group.row, self.registers
        unit = None if c.subset_slots else self._address(m)
        table = None if c.subset_slots else self._label_data(m)
        first = Signal()
        last = Signal()
        m.d.comb += [
            self.label_cycle.eq(self.labelling & (self.slot < r.slots)), first.eq(self.label_cycle & (self.slot == 0)),
            last.eq(self.label_cycle & (self.slot + 1 == r.slots)),
        ]
        flags = Cat(self.label_cycle, first, last)
        odd = row.row[0] ^ self.group.white
        if unit is None or table is None:
            self._place(m, odd)
            self._flags(m, flags)
            return m
        m.d.comb += [
            unit.slot.eq(self.slot), unit.group.eq(self.group.group), unit.odd.eq(odd), unit.groups.eq(r.tile_groups),
        ]
        join_label_table(m, unit, self.tables.label, self.tables.address, self.tables.data)
        # Each operation waits until the cycle in which the tile takes it.
        directions = ((self.columns, ("left", "right")), (self.rows, ("up", "down"))) if not c.holds_reach else ()
        for port, names in ((self.singleton, ("first", "second", "rotate")), *directions):
            layout: Any = port.shape()
            wait = c.latency.scheduler - unit.latency + layout.cycle
            m.d.comb += [port[name].eq(delayed(m, getattr(unit, name), wait, name)) for name in names]
        self._labels(m, table, flags)
        return m

    def _address(self, m: Module) -> SingletonAddress | ReachAddress:
        """What finds the singleton-2 words of a slot, with its site's row."""
        row, r = self.group.row, self.registers
        if not self.config.holds_reach:
            m.submodules.singleton_address = own = SingletonAddress(self.config)
            m.d.comb += [own.row.eq(row.row), own.site.eq(row.site)]
            return own
        m.submodules.reach_address = reach = ReachAddress(self.config)
        m.d.comb += [reach.base.eq(row.second), reach.mirrored.eq(r.mirrored), reach.unary.eq(r.unary)]
        return reach

    def _label_data(self, m: Module) -> LabelData:
        m.submodules.label_data = table = LabelData(self.config)
        join_label_table(m, table, self.tables.label, self.tables.address, self.tables.data)
        return table

    def _place(self, m: Module, odd: Value) -> None:
        """Where the words of the site's slots lie, when the tile has chosen them."""
        stages, r, group = self.config.latency, self.registers, self.group.group
        place = Signal(self.place.shape(), name="place_now")
        m.d.comb += [place.group.eq(Mux(r.mirrored, r.tile_groups - group - 1, group)), place.odd.eq(odd ^ r.mirrored),
                     place.base.eq(self.group.row.second),
                     self.place.eq(delayed(m, place, stages.scheduler + stages.slot_cycle, "place", reset_less=True))]

    def _flags(self, m: Module, flags: Value) -> list[Any]:
        """The flags of a slot, by the cycles since; the operations that are made of them alone."""
        stages = self.config.latency
        wait = stages.scheduler + stages.label_cycle
        taps: list[Any] = [flags]
        for cycle in range(wait):
            taps.append(delayed(m, taps[-1], 1, f"flags_{cycle}"))
        m.d.comb += [self.swap.enable.eq(taps[wait - stages.current][1]),
                     Cat(self.label.enable, self.label.first, self.label.last).eq(taps[wait])]
        return taps

    def _labels(self, m: Module, table: LabelData, flags: Value) -> None:
        port = self.label
        taps = self._flags(m, flags)
        # Slots come in order, so a counter here replaces a delay line.
        slot = Signal(self.config.label_bits)
        before = Signal(self.config.label_bits)
        m.d.sync += before.eq(slot)
        m.d.comb += [
            slot.eq(Mux(taps[len(taps) - 1 - table.latency][1], 0, before + 1)), table.slot.eq(slot),
            port.label.eq(table.label), port.constants.eq(table.constants),
        ]
        if self.config.vector_bits:
            m.d.comb += port.vectors.eq(table.vectors)
        if self.config.lanes > 1:
            m.d.comb += [port.used.eq(table.used), port.slot.eq(delayed(m, before, table.latency - 1, "slot"))]
