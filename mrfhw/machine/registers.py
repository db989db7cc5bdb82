"""Registers, tables and memories on a machine's bus, with the registers' widths and fields: one table for gateware, driver and
documents.

Addresses count 32-bit words. Below `TILE_BASE_TABLE` + tiles lie the registers and tables of the machine;
where a machine's tiles lie is in `mrfhw.machine.address_map`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import IntEnum

from mrfhw.machine.address_space import REGION_BITS
from mrfhw.machine.bits import bits_for
from mrfhw.machine.numbers import BUS_BITS, COUNTER_BITS, Numbers
from mrfhw.machine.words import Field

__all__ = [
    "CONTROL",
    "CONTROL_BITS",
    "DIGEST_REGISTERS",
    "DIGITS",
    "DOUBLETON_CODES",
    "MODE",
    "MODE_BITS",
    "REGISTERS",
    "STATUS",
    "STATUS_BITS",
    "Bits",
    "Region",
    "Register",
    "Temperature",
    "mode_fields",
    "places",
    "register",
    "register_bits",
    "sentences",
]

IDENTITY = int.from_bytes(b"MRFH", "big")
DIGITS = 32  # hexadecimal, of a circuit's digest, that the registers hold
DIGEST_REGISTERS = tuple(f"digest_{word}" for word in range(DIGITS // 8))
INTERFACE_VERSION = 12  # raised with every change of a circuit (rtl_out/golden/history.json)

TEMPERATURE_TABLE = 0x400
LABEL_TABLE = 0x800
TILE_BASE_TABLE = 0x1000


class Temperature(IntEnum):
    """Values of temperature_mode."""

    CONSTANT = 0
    GEOMETRIC = 1
    TABLE = 2


@dataclass(frozen=True)
class Bits:
    """A field of a register that holds several.

    low: its lowest bit.
    text: its meaning.
    values: what its values are called, where it has more than two.
    lacking: whether a machine does without it.
    """

    low: int
    text: str
    values: tuple[str, ...] = ()
    lacking: Callable[[Numbers], bool] = lambda c: False

    @property
    def width(self) -> int:
        """Bits that its values need."""
        return bits_for(max(2, len(self.values)))

    @property
    def sentence(self) -> str:
        """Its bits and its meaning."""
        place = f"Bit {self.low}" if self.width == 1 else f"Bits {self.low + self.width - 1}:{self.low}"
        named = ": " + ", ".join(f"{code} {name}" for code, name in enumerate(self.values)) if self.values else ""
        return f"{place} {self.text}{named}."


CONTROL = {"start": Bits(0, "start: from sweep 0"), "resume": Bits(1, "resume: from the sweep reached"),
           "stop": Bits(2, "stop after this sweep")}
STATUS = {"running": Bits(0, "running: labels are being drawn"), "busy": Bits(1, "busy: running, or the log is not yet empty")}
MODE = {
    "squared": Bits(0, "squared singleton"), "constant": Bits(1, "one singleton-2 constant a label"),
    "doubleton": Bits(2, "doubleton", ("absolute", "squared", "potts", "table"), lambda c: c.doubletons == "table"),
    "squared_2": Bits(4, "squared singleton of the second channel", lacking=lambda c: len(c.channel_bits) < 2),
    "squared_3": Bits(5, "squared singleton of the third channel", lacking=lambda c: len(c.channel_bits) < 3),
    "hamming": Bits(6, "the first channel's singleton is the number of unlike bits", lacking=lambda c: c.distance != "both"),
    "mirrored": Bits(7, "of machines with several lanes or subsets: singleton-2 words of a tile's row lie from right to left",
                     lacking=lambda c: not c.holds_reach),
    "unary": Bits(8, "of the same: singleton-2 words are costs, a word of each lane for a site and slot",
                  lacking=lambda c: not c.holds_reach),
    "sums": Bits(9, "LMem entries hold sums of the counted labels, and no messages are sent"),
}


def places(fields: Mapping[str, Bits]) -> dict[str, int]:
    """The lowest bit of each field, by name."""
    return {name: field.low for name, field in fields.items()}


def sentences(fields: Mapping[str, Bits]) -> str:
    """What a register's text says of its fields."""
    return " ".join(field.sentence for field in fields.values())


CONTROL_BITS, STATUS_BITS, MODE_BITS = map(places, (CONTROL, STATUS, MODE))
DOUBLETON_CODES = {name: code for code, name in enumerate(MODE["doubleton"].values)}


def mode_fields(c: Numbers) -> dict[str, Field]:
    """The fields of the mode register that a machine has."""
    return {name: Field(field.low, field.width) for name, field in MODE.items() if not field.lacking(c)}


@dataclass(frozen=True)
class Register:
    """A register.

    name: as C header and documents have it.
    index: its word address.
    access: "r", "w" or "rw".
    text: its meaning.
    bits: its width in a machine; 0 where the machine does not have it.
    reset: what it reads after reset, but for those that never change.
    """

    name: str
    index: int
    access: str
    text: str
    bits: Callable[[Numbers], int] = lambda c: BUS_BITS
    reset: int = 0


def _word(c: Numbers) -> int:
    return BUS_BITS


def _high(c: Numbers) -> int:
    return COUNTER_BITS - BUS_BITS


def _channel(number: int, bits: Callable[[Numbers], int]) -> Callable[[Numbers], int]:
    """The width of a register of a channel, the first being 0."""
    return lambda c: bits(c) if len(c.channel_bits) > number else 0


def _cap(number: int) -> Callable[[Numbers], int]:
    return _channel(number, lambda c: c.channel_singleton_bits(number) if c.singleton_cap else 0)


_TABLE: tuple[tuple[str, str, Callable[[Numbers], int], str], ...] = (
    ("identity", "r", _word, 'The four letters "MRFH", first in the top byte.'),
    ("version", "r", _word, "Version of the circuit and of this address map."),
    ("digest_0", "r", _word, "Bits 127:96 of the first half of the circuit's digest."),
    ("digest_1", "r", _word, "Bits 95:64."),
    ("digest_2", "r", _word, "Bits 63:32."),
    ("digest_3", "r", _word, "Bits 31:0."),
    ("control", "w", lambda c: len(CONTROL),
     sentences(CONTROL) + " Start and resume do nothing while busy; a run that has no sweep left ends at once."),
    ("status", "r", lambda c: len(STATUS), sentences(STATUS)),
    ("slots", "rw", lambda c: c.label_bits + 1,
     "Slots of a visit to a site: L, or with several lanes the number of label groups, at most those of a subset."),
    ("tile_rows", "rw", lambda c: bits_for(c.tile_rows + 1), "Rows of each tile used by the problem."),
    ("tile_groups", "rw", lambda c: c.group_bits, "Groups a row: columns of each tile / (2 x spus)."),
    ("label_stride", "rw", lambda c: c.lmem_address_bits,
     "LMem address step from a row to the next (of a pair of rows with 4 banks)."),
    ("label_wrap", "rw", lambda c: c.lmem_address_bits, "LMem address step of a tile's last row."),
    ("site_stride", "rw", lambda c: c.site_address_bits, "S1Mem address step from a row to the next."),
    ("raster_stride", "rw", lambda c: bits_for(c.mesh_cols * c.tile_cols + 1), "Columns of the image."),
    ("overlap", "rw", lambda c: 1, "1: a colour starts while the other's last groups are in flight."),
    ("sweeps", "rw", _word, "Sweeps at which the run ends, burn-in included."),
    ("burn_in", "rw", _word, "Sweeps before labels are counted."),
    ("alpha", "rw", lambda c: c.weight_bits, "Weight of the singleton (Equation 3.1)."),
    ("beta", "rw", lambda c: c.weight_bits, "Weight of the doubletons (Equation 3.1)."),
    ("tau", "rw", lambda c: c.doubleton_bits if c.doubletons == "functions" else 0, "Truncation of each doubleton."),
    ("energy_shift", "rw", lambda c: c.shift_bits, "Bits dropped from the weighted sum."),
    ("out_of_range", "rw", lambda c: c.singleton_bits, "E_singleton where the second image has no pixel."),
    ("mode", "rw", lambda c: max(field.end for field in mode_fields(c).values()), sentences(MODE)),
    ("temperature", "rw", lambda c: c.temperature_bits, "Coefficient of sweep 0: T (race) or log2(e)/T (cdf), fixed point."),
    ("temperature_mode", "rw", lambda c: bits_for(len(Temperature)),
     ", ".join(f"{mode.value} {mode.name.lower()}" for mode in Temperature) + "."),
    ("temperature_ratio", "rw", lambda c: c.ratio_bits, "Geometric: factor a sweep, fixed point (ratio_fraction_bits)."),
    ("temperature_limit", "rw", lambda c: c.temperature_bits, "Geometric: coefficient that is not passed."),
    ("temperature_stride", "rw", _word, "Table: sweeps an entry."),
    ("temperature_last", "rw", lambda c: bits_for(c.temperature_table), "Table: index of the last entry, which holds."),
    ("sweep", "r", _word, "Sweeps finished."),
    ("cycles_low", "r", _word, "Cycles from start until the last write-back has settled. Read counters while not running."),
    ("cycles_high", "r", _high, ""),
    ("label_cycles_low", "r", _word, "Slots in which labels were evaluated, one a lane."),
    ("label_cycles_high", "r", _high, ""),
    ("gap_cycles_low", "r", _word, "Cycles between colours, and at start and end, without labels."),
    ("gap_cycles_high", "r", _high, ""),
    ("stall_cycles_low", "r", _word, "Cycles waiting for the log."),
    ("stall_cycles_high", "r", _high, ""),
    ("messages_low", "r", _word, "Log messages packed."),
    ("messages_high", "r", _high, ""),
    ("lines", "r", _word, "Log index: lines sent."),
    ("alpha_2", "rw", _channel(1, lambda c: c.weight_bits), "Weight of the second channel's singleton."),
    ("alpha_3", "rw", _channel(2, lambda c: c.weight_bits), "Weight of the third channel's singleton."),
    ("singleton_max", "rw", _cap(0), "Limit of the first channel's E_singleton."),
    ("singleton_max_2", "rw", _cap(1), "Limit of the second channel's."),
    ("singleton_max_3", "rw", _cap(2), "Limit of the third channel's."),
    ("s2_stride", "rw", lambda c: c.s2_address_bits if c.holds_reach else 0,
     "Several lanes or subsets: singleton-2 words of a lane from a row of a tile's sites to the next."),
)

REGISTERS: dict[str, Register] = {
    name: Register(name, i, access, text, bits) for i, (name, access, bits, text) in enumerate(_TABLE)
}


def register_bits(c: Numbers, *names: str) -> dict[str, int]:
    """The widths of these registers and fields of the mode register, by name, of those that the machine has."""
    modes = {name: field.bits for name, field in mode_fields(c).items()}
    widths = {name: REGISTERS[name].bits(c) if name in REGISTERS else modes.get(name, 0) for name in names}
    return {name: bits for name, bits in widths.items() if bits}


class Region(IntEnum):
    """Memories of a tile."""

    S1 = 0
    S2 = 1
    LMEM = 2
    RANDOM = 3
    VECTORS = 4
    EDGES = 5
    PAIRWISE = 6
    LABELS = 7  # the label table of machines with subsets, whose tiles choose their slots; word as in the table
    S2_ROW = 8  # S2, of several banks at once
    LMEM_ROW = 9  # LMem, of several banks at once
    SITE = 10  # S1 and the weights of the edges together


assert len(Region) <= 1 << REGION_BITS


def register(name: str) -> int:
    """Word address of a register."""
    return REGISTERS[name].index
