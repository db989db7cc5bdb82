"""Singleton-2 addresses of a label slot, from the offset table (Section 3.3.3)."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from amaranth import Array, Cat, Const, Module, Mux, ShapeLike, Signal, Value, signed
from amaranth.lib import data
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.pipeline import delayed
from mrfhw.gateware.control.slot_address import SlotAddress
from mrfhw.machine.bits import bits_for
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.memory_words import WRAPS
from mrfhw.machine.words import Field, LabelWord, label_entry

__all__ = ["SingletonAddress", "offset_table"]


def offset_table(config: Config) -> dict[int, ShapeLike]:
    """The words of a slot in the label table by `mrfhw.machine.words.LabelWord`; each word has a memory of its own."""
    words = label_entry(Derived.of(config))
    wrap, delta = words[LabelWord.WRAP], data.ArrayLayout(words[LabelWord.DELTA]["plain"].bits, len(words[LabelWord.DELTA]))
    return {LabelWord.WRAP: data.StructLayout({"row_threshold": wrap["row"].bits, "column": wrap["column"].bits}),
            **{LabelWord.DELTA + wrap: delta for wrap in range(WRAPS)},
            LabelWord.DIRECTION: data.ArrayLayout(signed(2), 2 + WRAPS)}


class SingletonAddress(SlotAddress):
    """Addresses and directions of the singleton-2 words of a group of S sites and one label, of units with a lane each.

    row, site: local row, S1Mem address of the row's first site. left, right, up, down: see S2Switch.

    A slot's offset is added to the site's position. If the sum passes the tile's last row or column it
    wraps, and the word comes from the next tile. The table has a bank address and directions for each of the cases.
    A row's words lie in units of two words a bank.
    """

    def __init__(self, config: Config):
        config = Derived.of(config)
        self.row_bits, self.col_bits = bits_for(config.tile_rows + 1), bits_for(config.tile_cols + 1)
        super().__init__(config, {"row": In(self.row_bits), "site": In(config.site_address_bits),
                                  "left": Out(2), "right": Out(2), "up": Out(1), "down": Out(1)})

    def _tables(self, m: Module) -> dict[int, Any]:
        """The outputs of the table's memories, by word."""
        words = label_entry(self.config)

        def packed(fields: Iterable[Field]) -> Value:
            return Cat(self.table_data[field.low:field.end] for field in fields)

        delta = packed(words[LabelWord.DELTA].values())
        values: dict[int, Value] = {LabelWord.WRAP: packed(words[LabelWord.WRAP].values()), LabelWord.DIRECTION: self.table_data}
        return {int(word): self._table(m, word, shape, values.get(word, delta))
                for word, shape in offset_table(self.config).items()}

    def _place(self, m: Module) -> tuple[Value, Value, Value]:
        """Of a slot: local column of its first site in the memory, bank address of the row's first word, units a row."""
        c = self.config
        unit_bits = (c.spus - 1).bit_length()
        return Cat(self.odd, Const(0, unit_bits), self.group), self.site << 1 >> unit_bits, self.groups

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c = self.config
        table = self._tables(m)

        # Stage 1, beside the table's read.
        column, base, units = (Signal(shape, name=f"{name}_1", reset_less=True) for name, shape in (
            ("column", self.col_bits), ("base", c.s2_address_bits), ("units", self.col_bits)))
        row = Signal.like(self.row, name="row_1", reset_less=True)
        m.d.sync += [row.eq(self.row), *(held.eq(value) for held, value in zip((column, base, units), self._place(m), strict=True))]
        row, column, base, units = (delayed(m, held, self._more, held.name, reset_less=True) for held in (row, column, base, units))

        # Stage 2: which edges the offset passes.
        step_bits, bank_bits = (c.s2_step - 1).bit_length(), (c.s2_banks - 1).bit_length()
        place = Signal(self.col_bits + 1)
        unit = Signal(self.col_bits + 1)
        m.d.comb += [place.eq(table[LabelWord.WRAP].column + column), unit.eq(place >> step_bits + bank_bits)]
        row_wraps = Signal(reset_less=True)
        wraps_first, wraps_second = (Signal(range(WRAPS), name=name, reset_less=True) for name in ("wraps_first", "wraps_second"))
        partial = Signal.like(self.first, name="partial", reset_less=True)
        rotate = Signal.like(self.rotate, name="rotate_2", reset_less=True)
        deltas = [Signal(2 * c.s2_address_bits, name=f"delta_{wrap}", reset_less=True) for wrap in range(WRAPS)]
        sides = [Signal(2, name=f"side_{i}", reset_less=True) for i in range(2 + WRAPS)]
        m.d.sync += [
            row_wraps.eq(row >= table[LabelWord.WRAP].row_threshold), wraps_first.eq(unit >= units),
            wraps_second.eq(unit + 1 >= units),
            partial.eq(base + (unit << step_bits) + place[:step_bits]),
            *(d.eq(table[LabelWord.DELTA + wrap]) for wrap, d in enumerate(deltas)),
            *(s.eq(table[LabelWord.DIRECTION][i]) for i, s in enumerate(sides)),
        ]
        if bank_bits:
            m.d.sync += rotate.eq(place[step_bits:])

        # Stage 3. A direction of -1 is up or left, 1 is down or right.
        def address(wrapped: Signal, ahead: int) -> object:
            chosen = Array(deltas)[wrapped]
            return partial + ahead + Mux(row_wraps, chosen[c.s2_address_bits:], chosen[:c.s2_address_bits])

        vertical = Mux(row_wraps, sides[1], sides[0])
        m.d.sync += [
            self.first.eq(address(wraps_first, 0)), self.second.eq(address(wraps_second, c.s2_step)), self.rotate.eq(rotate),
            self.up.eq(vertical == 0b11), self.down.eq(vertical == 0b01),
        ]
        for side, wrapped in ((self.left, wraps_first), (self.right, wraps_second)):
            horizontal = Array(sides[2:])[wrapped]
            m.d.sync += [side[1].eq(horizontal == 0b11), side[0].eq(horizontal == 0b01)]
        return m
