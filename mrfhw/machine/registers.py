"""Registers, tables and memories on a machine's bus: one table for gateware, driver and documents.

Addresses count 32-bit words. Below `TILE_BASE_TABLE` + tiles lie the registers and tables of the machine;
where a machine's tiles lie is in `mrfhw.machine.address_map`.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

from mrfhw.machine.address_space import REGION_BITS

__all__ = [
    "CONTROL_BITS",
    "DELTA_WRAPPED",
    "DIGITS",
    "GROUP_LANES",
    "LMEM_WORDS",
    "MODE_BITS",
    "MODE_WIDTHS",
    "REGISTERS",
    "STATUS_BITS",
    "SUBSET_OTHERS",
    "SUBSET_WEIGHT",
    "LmemWord",
    "Region",
    "Register",
    "Temperature",
    "register",
]

IDENTITY = int.from_bytes(b"MRFH", "big")
DIGITS = 32  # hexadecimal, of a circuit's digest, that the registers hold
INTERFACE_VERSION = 11  # raised with every change of a circuit (rtl_out/golden/history.json)

TEMPERATURE_TABLE = 0x400
LABEL_TABLE = 0x800
TILE_BASE_TABLE = 0x1000


@dataclass(frozen=True)
class Register:
    """A register: word index, access ("r", "w" or "rw"), meaning."""

    name: str
    index: int
    access: str
    text: str


_TABLE: tuple[tuple[str, str, str], ...] = (
    ("identity", "r", 'The four letters "MRFH", first in the top byte.'),
    ("version", "r", "Version of the circuit and of this address map."),
    ("digest_0", "r", "Bits 127:96 of the first half of the circuit's digest."),
    ("digest_1", "r", "Bits 95:64."),
    ("digest_2", "r", "Bits 63:32."),
    ("digest_3", "r", "Bits 31:0."),
    ("control", "w", "Bit 0 start: from sweep 0. Bit 1 resume: from the sweep reached. Bit 2 stop after this sweep. "
                     "Start and resume do nothing while busy; a run that has no sweep left ends at once."),
    ("status", "r", "Bit 0 running: labels are being drawn. Bit 1 busy: running, or the log is not yet empty."),
    ("slots", "rw", "Slots of a visit to a site: L, or with several lanes the number of label groups, at most those of a subset."),
    ("tile_rows", "rw", "Rows of each tile used by the problem."),
    ("tile_groups", "rw", "Groups a row: columns of each tile / (2 x spus)."),
    ("label_stride", "rw", "LMem address step from a row to the next (of a pair of rows with 4 banks)."),
    ("label_wrap", "rw", "LMem address step of a tile's last row."),
    ("site_stride", "rw", "S1Mem address step from a row to the next."),
    ("raster_stride", "rw", "Columns of the image."),
    ("overlap", "rw", "1: a colour starts while the other's last groups are in flight."),
    ("sweeps", "rw", "Sweeps at which the run ends, burn-in included."),
    ("burn_in", "rw", "Sweeps before labels are counted."),
    ("alpha", "rw", "Weight of the singleton (Equation 3.1)."),
    ("beta", "rw", "Weight of the doubletons (Equation 3.1)."),
    ("tau", "rw", "Truncation of each doubleton."),
    ("energy_shift", "rw", "Bits dropped from the weighted sum."),
    ("out_of_range", "rw", "E_singleton where the second image has no pixel."),
    ("mode", "rw", "Bit 0 squared singleton. Bit 1 one singleton-2 constant a label. Bits 3:2 doubleton: "
                   "0 absolute, 1 squared, 2 Potts, 3 table. Bits 5:4 squared singleton of the second and the third channel. Bit 6 "
                   "the first channel's singleton is the number of unlike bits. Machines with several lanes or subsets: bit 7 "
                   "singleton-2 words of a tile's row lie from right to left. Bit 8 they are costs, a word of each lane for a "
                   "site and slot. Bit 9 LMem entries hold sums of the counted labels, and no messages are sent."),
    ("temperature", "rw", "Coefficient of sweep 0: T (race) or log2(e)/T (cdf), fixed point."),
    ("temperature_mode", "rw", "0 constant, 1 geometric, 2 table."),
    ("temperature_ratio", "rw", "Geometric: factor a sweep, fixed point (ratio_fraction_bits)."),
    ("temperature_limit", "rw", "Geometric: coefficient that is not passed."),
    ("temperature_stride", "rw", "Table: sweeps an entry."),
    ("temperature_last", "rw", "Table: index of the last entry, which holds."),
    ("sweep", "r", "Sweeps finished."),
    ("cycles_low", "r", "Cycles from start until the last write-back has settled. Read counters while not running."),
    ("cycles_high", "r", ""),
    ("label_cycles_low", "r", "Slots in which labels were evaluated, one a lane."),
    ("label_cycles_high", "r", ""),
    ("gap_cycles_low", "r", "Cycles between colours, and at start and end, without labels."),
    ("gap_cycles_high", "r", ""),
    ("stall_cycles_low", "r", "Cycles waiting for the log."),
    ("stall_cycles_high", "r", ""),
    ("messages_low", "r", "Log messages packed."),
    ("messages_high", "r", ""),
    ("lines", "r", "Log index: lines sent."),
    ("alpha_2", "rw", "Weight of the second channel's singleton."),
    ("alpha_3", "rw", "Weight of the third channel's singleton."),
    ("singleton_max", "rw", "Limit of the first channel's E_singleton."),
    ("singleton_max_2", "rw", "Limit of the second channel's."),
    ("singleton_max_3", "rw", "Limit of the third channel's."),
    ("s2_stride", "rw", "Several lanes or subsets: singleton-2 words of a lane from a row of a tile's sites to the next."),
)

REGISTERS: dict[str, Register] = {
    name: Register(name, i, access, text) for i, (name, access, text) in enumerate(_TABLE)
}

CONTROL_BITS = {"start": 0, "resume": 1, "stop": 2}
STATUS_BITS = {"running": 0, "busy": 1}
MODE_BITS = {"squared": 0, "constant": 1, "doubleton": 2, "squared_2": 4, "squared_3": 5, "hamming": 6, "mirrored": 7,
             "unary": 8, "sums": 9}
MODE_WIDTHS = {"doubleton": 2}  # of fields that have more than one bit
DOUBLETON_CODES = {"absolute": 0, "squared": 1, "potts": 2, "table": 3}


class Temperature(IntEnum):
    """Values of temperature_mode."""

    CONSTANT = 0
    GEOMETRIC = 1
    TABLE = 2


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


assert len(Region) <= 1 << REGION_BITS


class LabelWord(IntEnum):
    """Words of an entry of the label table: by slot the singleton-2 offset table and the labels, by label its own data."""

    WRAP = 0  # row threshold, where words come from other tiles; and from bit WRAP_COLUMN on the column
    CONSTANT = 1  # by label
    DELTA = 2  # where words come from other tiles two of them, by columns of tiles; where the row wraps, from bit DELTA_WRAPPED on
    SUBSET = 4  # machines with subsets: by label its slot; by number m of neighbours' slots, from bit SUBSET_OTHERS on the others
    # (0 where every slot is evaluated), and from bit SUBSET_WEIGHT on the logarithm of their weight
    GROUP = 5  # first label, and from bit GROUP_LANES on the number of labels
    DIRECTION = 6  # words from other tiles, two bits for each: rows, unwrapped and wrapped; columns, by columns of tiles
    VECTOR = 7  # by label


WRAP_COLUMN = 16
DELTA_WRAPPED = 16
GROUP_LANES = 8
SUBSET_OTHERS = 8
SUBSET_WEIGHT = 17


class LmemWord(IntEnum):
    """Lowest bits of the fields of the two words of an LMem entry; word 0 is the current label's.

    Writing word 1 holds it; writing word 0 stores the entry with the word held, which is then empty.
    """

    LABEL = 0
    EXISTS = 8
    CLAMPED = 9
    COUNT = 16


LMEM_WORDS = 2  # of an entry


def register(name: str) -> int:
    """Word address of a register."""
    return REGISTERS[name].index
