"""How wide a machine's bus addresses are. `mrfhw.machine.address_map` has the addresses themselves."""

from __future__ import annotations

from dataclasses import dataclass

from mrfhw.machine.address_space import GLOBAL_WORDS, LABEL_TABLE_WORDS, REGION_BITS
from mrfhw.machine.bits import bits_for
from mrfhw.machine.numbers import Numbers

__all__ = ["AddressWidths"]


@dataclass(frozen=True)
class AddressWidths:
    """The fields of a word address, each as the number of its bits."""

    config: Numbers

    @property
    def bank_bits(self) -> int:
        """Number of a bank of S2Mem."""
        return (self.config.s2_banks - 1).bit_length()

    @property
    def lmem_bank_bits(self) -> int:
        return (self.config.lmem_banks - 1).bit_length()

    @property
    def offset_bits(self) -> int:
        """Word address within a memory of a tile."""
        c = self.config
        return max(c.site_address_bits, c.s2_address_bits + self.bank_bits, c.lmem_address_bits + self.lmem_bank_bits + 1,
                   self.pairwise_bits if c.pairwise_bits else c.label_bits, self.label_table_bits if c.subset_slots else 0)

    @property
    def label_table_bits(self) -> int:
        """Word of a label table in a tile."""
        return self.config.label_bits + bits_for(LABEL_TABLE_WORDS)

    @property
    def pairwise_bits(self) -> int:
        """Word of the doubleton tables: two labels; or which of two tables, a label, a slot and the lanes' part of it."""
        c = self.config
        return 2 * c.label_bits if c.lanes == 1 else 1 + c.label_bits + c.pairwise_slot_bits + self.pairwise_part_bits

    @property
    def pairwise_part_bits(self) -> int:
        """Which lanes of a slot: `Derived.pairwise_lanes` of them a word."""
        c = self.config
        return (c.lanes // c.pairwise_lanes).bit_length() - 1

    @property
    def region_bits(self) -> int:
        return REGION_BITS

    @property
    def tile_bits(self) -> int:
        """Digits of a tile's number, one a level of the control tree."""
        return self.config.tree_levels * bits_for(self.config.hub_fan_in)

    @property
    def broadcast_bit(self) -> int:
        return self.offset_bits + self.region_bits + self.tile_bits

    @property
    def tiles_bit(self) -> int:
        """The address bit that tells tile memories from registers."""
        return max(self.broadcast_bit + 1, bits_for(GLOBAL_WORDS))

    @property
    def address_bits(self) -> int:
        """Width of an address of a cluster's words: registers, tables and tile memories."""
        return self.tiles_bit + 1

    @property
    def cluster_bits(self) -> int:
        """Number of a cluster, or of a context, above the address of its words."""
        return (self.config.seats - 1).bit_length()

    @property
    def bus_bits(self) -> int:
        """Width of the bus address, in words."""
        return self.address_bits + self.cluster_bits

    def cluster(self, number: int) -> int:
        """Word address of the first word of a cluster, or of a context."""
        return number << self.address_bits
