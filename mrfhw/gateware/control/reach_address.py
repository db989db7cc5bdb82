"""Singleton-2 addresses of a label slot in tiles that hold all words that their sites reach."""

from __future__ import annotations

from typing import Any

from amaranth import Cat, Module, Mux, Shape, Signal, Value, unsigned
from amaranth.lib import wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.memories import UnguardedMemory
from mrfhw.gateware.common.pipeline import delayed
from mrfhw.gateware.control.run import group_bits
from mrfhw.machine.bits import bits_for
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.registers import LABEL_TABLE_WORDS, WRAP_COLUMN, LabelWord

__all__ = ["ReachAddress", "reach_table"]


def reach_table(config: Config) -> dict[LabelWord, Shape]:
    """The words of a slot in the label table, each with a memory of its own: columns, and words from the row's first."""
    c = Derived.of(config)
    return {LabelWord.WRAP: unsigned(c.s2_address_bits + c.lane_bits), LabelWord.DELTA: unsigned(c.s2_address_bits)}


class ReachAddress(wiring.Component):
    """Addresses of the singleton-2 words of a site and a slot, whose lanes read neighbouring words.

    slot, group, odd, base: the slot's number, the site's group in its row, parity of its column, address of its row's first word.
    groups: groups a row. mirrored: a row's words lie from right to left. unary: they are costs, in each bank one for a site and
    slot. `latency` cycles later: first, second, rotate (see S2Mem). One slot a cycle.
    table_*: writes of the label table, `LABEL_TABLE_WORDS` words an entry: the columns of `LabelWord.WRAP` and the words of
    `LabelWord.DELTA` from a site to the slot's first word (`mrfhw.placement.reach`).
    """

    STAGES = 3  # table, sums, addresses; and one more behind the table, if the scheduler has it

    def __init__(self, config: Config):
        config = Derived.of(config)
        self.config = config
        self._more = min(1, config.latency.beyond("scheduler", self.STAGES, "the scheduler's singleton-2 addresses"))
        self.latency = self.STAGES + self._more
        self.group_bits = group_bits(config)
        address = config.s2_address_bits
        super().__init__({
            "slot": In(config.label_bits), "group": In(self.group_bits), "odd": In(1), "base": In(address),
            "groups": In(self.group_bits), "mirrored": In(1), "unary": In(1),
            "first": Out(address), "second": Out(address), "rotate": Out(config.lane_bits),
            "table_write": In(1), "table_address": In(config.label_bits + bits_for(LABEL_TABLE_WORDS)), "table_data": In(32),
        })

    def _table(self, m: Module, word: LabelWord, low: int) -> Any:
        """The output of a word's memory for a slot; of the bus word the bits from `low` on."""
        word_bits = bits_for(LABEL_TABLE_WORDS)
        m.submodules[f"table_{word}"] = memory = UnguardedMemory(
            shape=reach_table(self.config)[word], depth=self.config.max_labels,
            unused="the table is written between runs and read during them")
        write, read = memory.write_port(), memory.read_port()
        m.d.comb += [write.addr.eq(self.table_address >> word_bits), write.data.eq(self.table_data[low:]),
                     write.en.eq(self.table_write & (self.table_address[:word_bits] == word)), read.addr.eq(self.slot)]
        return delayed(m, read.data, self._more, f"table_{word}", reset_less=True)

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c, address = self.config, self.config.s2_address_bits
        columns, words = self._table(m, LabelWord.WRAP, WRAP_COLUMN), self._table(m, LabelWord.DELTA, 0)

        # Stage 1, beside the table's read: the site's column, from the right where words are mirrored.
        column = Signal(self.group_bits + 1, reset_less=True)
        base = Signal(address, name="base_1", reset_less=True)
        m.d.sync += [base.eq(self.base), column.eq(Cat(self.odd ^ self.mirrored, Mux(
            self.mirrored, (self.groups - self.group - 1)[:self.group_bits], self.group)))]
        column, base = (delayed(m, held, self._more, held.name, reset_less=True) for held in (column, base))

        # Stage 2: the first lane's column, and the row's first word.
        place = Signal(len(columns), reset_less=True)
        row = Signal(address, reset_less=True)
        m.d.sync += [place.eq(columns + column), row.eq(base + words)]

        # Stage 3. A site's costs have a word of their own, which no lane shares.
        word: Value = Mux(self.unary, place, place >> c.lane_bits)
        m.d.sync += [self.first.eq(row + word), self.second.eq(row + word + 1),
                     self.rotate.eq(Mux(self.unary, 0, place[:c.lane_bits]))]
        return m
