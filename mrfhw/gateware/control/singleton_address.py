"""Singleton-2 addresses of a label slot, from the offset table (Section 3.3.3)."""

from __future__ import annotations

from typing import Any

from amaranth import Array, Cat, Module, Mux, ShapeLike, Signal, signed
from amaranth.lib import data, wiring
from amaranth.lib.wiring import In, Out

from mrfhw.gateware.common.memories import UnguardedMemory
from mrfhw.gateware.common.pipeline import delayed
from mrfhw.gateware.control.ops import vector
from mrfhw.gateware.control.run import group_bits
from mrfhw.machine.bits import bits_for
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.registers import LABEL_TABLE_WORDS, WRAP_COLUMN, LabelWord

__all__ = ["SingletonAddress", "label_table"]


def label_table(config: Config) -> dict[int, ShapeLike]:
    """The words of a label in the label table by `registers.LabelWord`; each word has a memory of its own."""
    c = Derived.of(config)
    wrap = data.StructLayout({"row_threshold": bits_for(c.tile_rows + 1), "column": bits_for(c.tile_cols + 1)})
    shapes: dict[int, ShapeLike] = {LabelWord.WRAP: wrap, LabelWord.CONSTANT: c.datum_bits}
    return shapes | {LabelWord.DELTA + i: c.s2_address_bits for i in range(4)} | {
        LabelWord.DIRECTION: data.ArrayLayout(signed(2), 4),
        LabelWord.VECTOR: vector(c)}


class SingletonAddress(wiring.Component):
    """Addresses and directions of the singleton-2 words of a group of S sites and one label.

    label, row, group, odd, base: the slot: label, local row, group in the row, parity of the sites'
    columns, S2Mem bank address of the group's first pair of columns. groups: groups a row.
    `STAGES` cycles later: first, second, rotate (see S2Mem), left, right (see S2Switch), up, down. One slot a cycle.
    data_label: a label; its vector and constant follow `Latency.label_data` cycles later. It may belong to another slot.
    table_*: writes of the label table, `LABEL_TABLE_WORDS` words a label (`registers.LabelWord`).

    A label's offset is added to the site's position. If the sum passes the tile's last row or column it
    wraps, and the word comes from the next tile. The table has a bank address and directions for each of the four cases.
    """

    STAGES = 3  # table, edges, addresses

    def __init__(self, config: Config):
        config = Derived.of(config)
        self.config = config
        self.row_bits, self.col_bits = bits_for(config.tile_rows + 1), bits_for(config.tile_cols + 1)
        self.group_bits = group_bits(config)
        address = config.s2_address_bits
        super().__init__({
            "label": In(config.label_bits), "row": In(self.row_bits), "group": In(self.group_bits), "odd": In(1),
            "base": In(address), "groups": In(self.group_bits),
            "data_label": In(config.label_bits), "vector": Out(vector(config)), "constant": Out(config.datum_bits),
            "first": Out(address), "second": Out(address), "rotate": Out(bits_for(config.spus)),
            "left": Out(2), "right": Out(2), "up": Out(1), "down": Out(1),
            "table_write": In(1), "table_address": In(config.label_bits + bits_for(LABEL_TABLE_WORDS)),
            "table_data": In(32),
        })

    def _table(self, m: Module) -> dict[int, Any]:
        """The outputs of the table's memories, by word."""
        c = self.config
        wrap = Cat(self.table_data[:self.row_bits], self.table_data[WRAP_COLUMN:WRAP_COLUMN + self.col_bits])
        word_bits = bits_for(LABEL_TABLE_WORDS)
        outputs = {}
        for word, shape in label_table(c).items():
            m.submodules[f"table_{word}"] = memory = UnguardedMemory(
                shape=shape, depth=c.max_labels, unused="the table is written between runs and read during them")
            write = memory.write_port()
            read = memory.read_port()
            m.d.comb += [
                write.addr.eq(self.table_address >> word_bits),
                data.View(shape, write.data).as_value().eq(wrap) if word == LabelWord.WRAP else write.data.eq(self.table_data),
                write.en.eq(self.table_write & (self.table_address[:word_bits] == word)),
                read.addr.eq(self.data_label if word in (LabelWord.VECTOR, LabelWord.CONSTANT) else self.label),
            ]
            outputs[int(word)] = read.data
        return outputs

    def elaborate(self, platform: object) -> Module:
        m = Module()
        c = self.config
        table = self._table(m)
        stages = c.latency.label_data - 1
        m.d.comb += [self.vector.eq(delayed(m, table[LabelWord.VECTOR], stages, "own_vector")),
                     self.constant.eq(delayed(m, table[LabelWord.CONSTANT], stages, "own_constant"))]

        # Stage 1, beside the table's read.
        row, group, odd, base = (Signal.like(s, name=f"{s.name}_1", reset_less=True)
                                 for s in (self.row, self.group, self.odd, self.base))
        m.d.sync += [row.eq(self.row), group.eq(self.group), odd.eq(self.odd), base.eq(self.base)]

        # Stage 2: which edges the offset passes.
        bank_bits = (c.spus - 1).bit_length()
        column = Signal(self.col_bits + 1)
        place = Signal(self.group_bits + 1)
        m.d.comb += [column.eq(table[LabelWord.WRAP].column + odd), place.eq(group + (column >> (1 + bank_bits)))]
        row_wraps, wraps_first, wraps_second = (Signal(name=name, reset_less=True)
                                                for name in ("row_wraps", "wraps_first", "wraps_second"))
        partial = Signal.like(self.base, reset_less=True)
        rotate = Signal.like(self.rotate, name="rotate_2", reset_less=True)
        deltas = [Signal.like(self.base, name=f"delta_{i}", reset_less=True) for i in range(4)]
        sides = [Signal(2, name=f"side_{i}", reset_less=True) for i in range(4)]
        m.d.sync += [
            row_wraps.eq(row >= table[LabelWord.WRAP].row_threshold), wraps_first.eq(place >= self.groups),
            wraps_second.eq(place + 1 >= self.groups),
            partial.eq(base + ((column >> (1 + bank_bits)) << 1) + column[0]),
            *(d.eq(table[LabelWord.DELTA + i]) for i, d in enumerate(deltas)),
            *(s.eq(table[LabelWord.DIRECTION][i]) for i, s in enumerate(sides)),
        ]
        if bank_bits:
            m.d.sync += rotate.eq(column[1:1 + bank_bits])

        # Stage 3. A direction of -1 is up or left, 1 is down or right.
        def address(wraps: Signal, ahead: int) -> object:
            return partial + ahead + Array(deltas)[(row_wraps << 1) | wraps]

        vertical = Mux(row_wraps, sides[1], sides[0])
        m.d.sync += [
            self.first.eq(address(wraps_first, 0)), self.second.eq(address(wraps_second, 2)), self.rotate.eq(rotate),
            self.up.eq(vertical == 0b11), self.down.eq(vertical == 0b01),
        ]
        for side, wraps in ((self.left, wraps_first), (self.right, wraps_second)):
            horizontal = Mux(wraps, sides[3], sides[2])
            m.d.sync += [side[1].eq(horizontal == 0b11), side[0].eq(horizontal == 0b01)]
        return m
