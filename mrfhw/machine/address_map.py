"""Where a machine's memories lie on its bus."""

from __future__ import annotations

from dataclasses import dataclass

from mrfhw.machine.address_widths import AddressWidths
from mrfhw.machine.registers import Region

__all__ = ["AddressMap"]


@dataclass(frozen=True)
class AddressMap(AddressWidths):
    """Where a machine's tiles lie on its bus. Addresses count 32-bit words."""

    def tile(self, tile: int, region: Region, offset: int = 0) -> int:
        """Word address in a memory of one tile."""
        return 1 << self.tiles_bit | ((tile << self.region_bits | region) << self.offset_bits) + offset

    def broadcast(self, region: Region, offset: int = 0) -> int:
        """Word address, for writes, in the same memory of all tiles."""
        return self.tile(0, region, offset) | 1 << self.broadcast_bit
