"""Words of a machine as named bit fields: places, widths and meanings, each stated here and nowhere else.

The log's message, a site's entry in the label memory, and an entry of the label table. Gateware, driver, readout, C header,
testbench, register map and diagnosis take them from here; the registers' own are in `mrfhw.machine.registers`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import IntEnum
from typing import TypeVar

import numpy as np

from mrfhw.machine.bits import bits_for
from mrfhw.machine.numbers import Numbers

__all__ = ["EDGES", "ENTRY_FLAGS", "LABEL_WORD_TEXT", "LMEM_WORDS", "SUM", "Field", "LabelWord", "LmemWord", "as_whole_entry",
           "entry_words", "label_entry", "log_message", "row_entry", "side_by_side", "whole_entry"]

Word = TypeVar("Word", int, np.ndarray)
Name = TypeVar("Name", str, int)


@dataclass(frozen=True)
class Field:
    """A bit field of a word.

    low: its lowest bit.
    bits: its width; 0 of a field that the machine does not have.
    """

    low: int
    bits: int

    @property
    def end(self) -> int:
        """The bit after its highest."""
        return self.low + self.bits

    @property
    def mask(self) -> int:
        """Its largest value."""
        return (1 << self.bits) - 1

    def of(self, word: Word) -> Word:
        """Its value in words."""
        return word >> self.low & self.mask


def side_by_side(widths: Mapping[Name, int]) -> dict[Name, Field]:
    """Fields of these widths, the first from bit 0 on."""
    fields, low = dict[Name, Field](), 0
    for name, bits in widths.items():
        fields[name] = Field(low, bits)
        low += bits
    return fields


# -- the log


def log_message(c: Numbers) -> dict[str, Field]:
    """A message of a log line (Figure 3.9b): how often a site's label was drawn, the label, the site's raster index.

    A line has `line_messages` of them side by side, the first from bit 0 on. A count of 0 is no message: the rest of a last line.
    """
    return side_by_side({"count": c.counter_bits, "label": c.label_bits, "address": c.raster_bits})


# -- the label memory


class LmemWord(IntEnum):
    """Lowest bits of the fields of the two words of an LMem entry; word 0 is the current label's.

    Writing word 1 holds it; writing word 0 stores the entry with the word held, which is then empty.
    """

    LABEL = 0
    EXISTS = 8
    CLAMPED = 9
    COUNT = 16


LMEM_WORDS = 2  # of an entry
ENTRY_FLAGS = ("exists", "clamped")  # fields of word 0 alone: the site is one of the image; its label is not drawn
# Where the sum of a site's labels lies, where a run's estimate is the mean: (word, field), the lowest bits first.
SUM = ((0, "count"), (1, "label"), (1, "count"))


def entry_words(c: Numbers) -> tuple[dict[str, Field], dict[str, Field]]:
    """The words of an LMem entry: the current label and its count with the site's flags, the label before and its count.

    A count of 0 is that of an empty pair, whose label means nothing. In the memory the fields lie side by side in this order.
    """
    label, count = Field(LmemWord.LABEL, c.label_bits), Field(LmemWord.COUNT, c.counter_bits)
    return ({"label": label, "exists": Field(LmemWord.EXISTS, 1), "clamped": Field(LmemWord.CLAMPED, 1), "count": count},
            {"label": label, "count": count})



def whole_entry(c: Numbers) -> tuple[dict[str, Field], dict[str, Field]]:
    """As of `entry_words`, of an entry that is read as one word of `Region.LMEM_ROW`: as it lies in the memory."""
    names = [(word, name) for word, fields in enumerate(entry_words(c)) for name in fields]
    widths = [fields[name].bits for fields in entry_words(c) for name in fields]
    places = side_by_side(dict(enumerate(widths)))
    found = dict[str, Field](), dict[str, Field]()
    for number, (word, name) in enumerate(names):
        found[word][name] = places[number]
    return found


def as_whole_entry(c: Numbers, first: Word, second: Word) -> Word:
    """The two words of an entry as the one word of `whole_entry`."""
    moved = [(fields[name].of(word) << place.low) for word, fields, places in zip((first, second), entry_words(c), whole_entry(c),
                                                                                 strict=True) for name, place in places.items()]
    found = moved[0]
    for one in moved[1:]:
        found = found | one
    return found


EDGES = ("up", "down", "left", "right")  # of a site, whose weights lie side by side in this order


def row_entry(c: Numbers) -> dict[str, Field]:
    """An entry in a word of `Region.LMEM_ROW`, which has those of `lmem_row_entries` banks side by side; their counts become 0."""
    return side_by_side({"label": c.label_bits, **dict.fromkeys(ENTRY_FLAGS, 1)})


# -- the label table


class LabelWord(IntEnum):
    """Words of an entry of the label table: by slot the singleton-2 offset table and the labels, by label its own data."""

    WRAP = 0
    CONSTANT = 1
    DELTA = 2  # where words come from other tiles two of them, by columns of tiles
    SUBSET = 4
    GROUP = 5
    DIRECTION = 6
    VECTOR = 7


WRAP_COLUMN = DELTA_WRAPPED = 16
GROUP_COUNT = SUBSET_OTHERS = 8
SUBSET_WEIGHT = 17
LABEL_WORD_TEXT = {
    LabelWord.WRAP: "by slot: from bit 0 on the row of a tile from which a site's word is another tile's, "
                    f"from bit {WRAP_COLUMN} on the column",
    LabelWord.CONSTANT: "by label: its datum, channels side by side from bit 0 on",
    LabelWord.DELTA: "by slot: what is added to a site's address in S2; where words come from other tiles there are two of these "
                     f"words, by columns of tiles, and from bit {DELTA_WRAPPED} on what is added where the row wraps",
    LabelWord.SUBSET: "where the machine has them: by label its slot; by number of neighbours' slots, from bit "
                      f"{SUBSET_OTHERS} on the other slots (0: every slot is evaluated), and from bit {SUBSET_WEIGHT} on the "
                      "logarithm of their weight",
    LabelWord.GROUP: f"by slot: its first label; from bit {GROUP_COUNT} on how many labels",
    LabelWord.DIRECTION: "by slot: row without and with wrap, column without and with wrap, two bits each from bit 0 on, signed",
    LabelWord.VECTOR: "by label: u from bit 0 on, v from bit `vector` on",
}


def label_entry(c: Numbers) -> dict[LabelWord, dict[str, Field]]:
    """The fields of each word of an entry of the label table; their meanings are in LABEL_WORD_TEXT."""
    reach = c.holds_reach
    row, column = (0, c.s2_address_bits + c.lane_bits) if reach else (bits_for(c.tile_rows + 1), bits_for(c.tile_cols + 1))
    return {
        LabelWord.WRAP: {"row": Field(0, row), "column": Field(WRAP_COLUMN, column)},
        LabelWord.CONSTANT: {"datum": Field(0, c.datum_bits)},
        LabelWord.DELTA: {"plain": Field(0, c.s2_address_bits), "wrapped": Field(DELTA_WRAPPED, 0 if reach else c.s2_address_bits)},
        LabelWord.SUBSET: {"slot": Field(0, c.label_bits), "others": Field(SUBSET_OTHERS, c.label_bits + 1),
                           "weight": Field(SUBSET_WEIGHT, c.subset_weight_bits)},
        LabelWord.GROUP: {"first": Field(0, c.label_bits), "count": Field(GROUP_COUNT, bits_for(c.lanes + 1))},
        LabelWord.DIRECTION: side_by_side(dict.fromkeys(("row", "row_wrapped", "column", "column_wrapped"), 2)),
        LabelWord.VECTOR: side_by_side({"u": c.vector_bits, "v": c.vector_bits}),
    }
