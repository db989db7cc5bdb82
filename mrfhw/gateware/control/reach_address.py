"""Singleton-2 addresses of a label slot in tiles that hold all words that their sites reach."""

from __future__ import annotations

from amaranth import Cat, Module, Mux, Shape, Signal, Value, unsigned
from amaranth.lib.wiring import In

from mrfhw.gateware.common.pipeline import delayed
from mrfhw.gateware.control.slot_address import SlotAddress
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.words import LabelWord, label_entry

__all__ = ["ReachAddress", "reach_table"]

READ = ((LabelWord.WRAP, "column"), (LabelWord.DELTA, "plain"))  # words of a slot and what is taken of them


def reach_table(config: Config) -> dict[LabelWord, Shape]:
    """The words of a slot in the label table, each with a memory of its own: columns, and words from the row's first."""
    words = label_entry(Derived.of(config))
    return {word: unsigned(words[word][name].bits) for word, name in READ}


class ReachAddress(SlotAddress):
    """Addresses of the singleton-2 words of a site and a slot, whose lanes read neighbouring words.

    base: address of the row's first word. mirrored: a row's words lie from right to left. unary: they are costs, in each bank one
    for a site and slot. The label table has the columns of `LabelWord.WRAP` and the words of `LabelWord.DELTA` from a site to the
    slot's first word (`mrfhw.placement.reach`).
    """

    def __init__(self, config: Config):
        super().__init__(config, {"base": In(Derived.of(config).s2_address_bits), "mirrored": In(1), "unary": In(1)})

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c, address = self.config, self.config.s2_address_bits
        columns, words = (self._table(m, word, reach_table(c)[word], self.table_data[label_entry(c)[word][name].low:])
                          for word, name in READ)

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
