"""The doubleton as a table of two labels."""

from __future__ import annotations

from amaranth import Cat, Module, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.memories import UnguardedMemory
from mrfhw.gateware.control.ops import KINDS, neighbour
from mrfhw.machine.address_widths import AddressWidths
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived

__all__ = ["DoubletonTable"]


class DoubletonTable(wiring.Component):
    """Entries of the doubleton table for a site's labels, a memory for each neighbour.

    label: the label, with one lane; the slot's number, with several. neighbours: see EnergyPipeline. entries[lane][neighbour]: a
    cycle later. write, address, data: an entry, at {label to the left or above, label to the right or below} with one lane; those
    of `Derived.pairwise_lanes` lanes side by side, at {whether the site's own label comes first, the neighbour's label, slot,
    which lanes} with several.
    """

    def __init__(self, config: Config):
        config = Derived.of(config)
        self.config = config
        super().__init__({
            "label": In(config.label_bits), "neighbours": In(data.ArrayLayout(neighbour(config), len(KINDS))),
            "entries": Out(data.ArrayLayout(data.ArrayLayout(config.pairwise_bits, len(KINDS)), config.lanes)),
            "write": In(1), "address": In(AddressWidths(config).pairwise_bits),
            "data": In(config.pairwise_lanes * config.pairwise_bits),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c = self.config
        slot = self.label[:c.pairwise_slot_bits]
        for index, kind in enumerate(KINDS):
            other, comes_first = self.neighbours[index].word.label, kind in ("up", "left")
            m.submodules[kind] = memory = UnguardedMemory(
                shape=unsigned(c.lanes * c.pairwise_bits), depth=1 << c.label_bits + c.pairwise_slot_bits,
                unused="the table is written between runs and read during them")
            read = memory.read_port()
            if c.lanes == 1:
                write = memory.write_port()
                m.d.comb += [write.addr.eq(self.address), write.data.eq(self.data), write.en.eq(self.write),
                             read.addr.eq(Cat(self.label, other) if comes_first else Cat(other, self.label))]
            else:
                write = memory.write_port(granularity=len(self.data))
                here = self.write & (self.address[-1] == (not comes_first))
                parts, bits = c.lanes // c.pairwise_lanes, AddressWidths(c).pairwise_part_bits
                m.d.comb += [write.addr.eq(self.address[bits:-1]), write.data.eq(self.data.replicate(parts)),
                             write.en.eq(Cat(here & (self.address[:bits] == n) for n in range(parts))),
                             read.addr.eq(Cat(slot, other))]
            for lane in range(c.lanes):
                m.d.comb += self.entries[lane][index].eq(read.data[lane * c.pairwise_bits:(lane + 1) * c.pairwise_bits])
        return m
