"""Where a machine's memories lie on its bus."""

from __future__ import annotations

from typing import overload

import numpy as np

from mrfhw.machine.address_widths import AddressWidths
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.registers import Region

__all__ = ["AddressMap"]


class AddressMap(AddressWidths):
    """Where a cluster's tiles lie on its bus. Addresses count 32-bit words from the cluster's first one (`cluster`)."""

    def __init__(self, config: Config):
        super().__init__(Derived.of(config))

    @overload
    def tile(self, tile: int, region: Region, offset: int = 0) -> int: ...

    @overload
    def tile(self, tile: np.ndarray, region: Region, offset: int | np.ndarray = 0) -> np.ndarray: ...

    def tile(self, tile: int | np.ndarray, region: Region, offset: int | np.ndarray = 0) -> int | np.ndarray:
        """Word address in a memory of one tile; of arrays, each word's."""
        return 1 << self.tiles_bit | ((tile << self.region_bits | region) << self.offset_bits) + offset

    def broadcast(self, region: Region, offset: int = 0) -> int:
        """Word address, for writes, in the same memory of all tiles."""
        return self.tile(0, region, offset) | 1 << self.broadcast_bit

    def generators(self) -> np.ndarray:
        """(generators,) word addresses of the generators. The four words of a state are written and read through one address."""
        c = self.config
        tile, generator = np.divmod(np.arange(c.generators), c.tile_generators)
        return self.tile(tile, Region.RANDOM, generator)
