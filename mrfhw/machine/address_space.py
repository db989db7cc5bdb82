"""What the words of a bus address are kept for, whatever the machine."""

from __future__ import annotations

__all__ = ["ADDRESS_LIMIT", "GLOBAL_WORDS", "LABEL_TABLE_WORDS", "REGION_BITS"]

ADDRESS_LIMIT = 30  # bits of a word address, so that a byte address has 32
GLOBAL_WORDS = 0x2000  # for the registers and tables of the machine
LABEL_TABLE_WORDS = 8  # of an entry
REGION_BITS = 4  # number of a tile's memory
