"""The doubleton as a table of two labels."""

from __future__ import annotations

from amaranth import Cat, Module, Mux, Signal, Value, unsigned
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.memories import UnguardedMemory
from mrfhw.gateware.control.ops import KINDS, neighbour
from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived

__all__ = ["DoubletonTable"]


class DoubletonTable(wiring.Component):
    """Entries of the doubleton table for a site's labels, a memory of two ports for each two neighbours.

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
            "write": In(1), "address": In(AddressMap(config).pairwise_bits),
            "data": In(config.pairwise_lanes * config.pairwise_bits),
        })

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c = self.config
        write_address, parts = self.address, 1
        if c.lanes > 1:
            parts, bits = c.lanes // c.pairwise_lanes, AddressMap(c).pairwise_part_bits
            write_address = self.address[bits:-1]
        for name, comes_first in (("after", True), ("before", False)):
            m.submodules[name] = memory = UnguardedMemory(
                shape=unsigned(c.lanes * c.pairwise_bits), depth=1 << c.label_bits + c.pairwise_slot_bits,
                unused="a table is written while its problem does not run")
            here = self.write if c.lanes == 1 else self.write & (self.address[-1] == (not comes_first))
            write = memory.write_port(granularity=len(self.data))
            address = Signal(len(write.addr), name=f"address_{name}")
            around = [index for index, kind in enumerate(KINDS) if (kind in ("up", "left")) == comes_first]
            for number, index in enumerate(around):
                read = memory.read_port()
                entry = self._entry(self.neighbours[index].word.label, comes_first)
                if number == 0:  # shares its port, and so the address, with the writes
                    m.d.comb += [address.eq(Mux(self.write, write_address, entry)), read.addr.eq(address)]
                else:
                    m.d.comb += read.addr.eq(entry)
                for lane in range(c.lanes):
                    m.d.comb += self.entries[lane][index].eq(read.data.word_select(lane, c.pairwise_bits))
            m.d.comb += [write.addr.eq(address), write.data.eq(self.data.replicate(parts)),
                         write.en.eq(Cat(here & (self.address[:bits] == n) for n in range(parts)) if c.lanes > 1 else here)]
        return m

    def _entry(self, other: Value, comes_first: bool) -> Value:
        """Address of the entries of a neighbour's label."""
        c = self.config
        if c.lanes > 1:
            return Cat(self.label[:c.pairwise_slot_bits], other)
        return Cat(self.label, other) if comes_first else Cat(other, self.label)
