"""Records the words that the driver writes for a placed problem, so that a bench can load exactly these."""

from __future__ import annotations

import base64
import pickle
from collections.abc import Sequence

import numpy as np

from mrfhw.driver.driver import Driver
from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.address_space import GLOBAL_WORDS
from mrfhw.machine.registers import (
    LABEL_TABLE,
    REGISTERS,
    TEMPERATURE_TABLE,
    TILE_BASE_TABLE,
    Region,
)
from mrfhw.machine.words import LmemWord
from mrfhw.placement.placement import Placement

__all__ = ["Load", "Recorder", "placements_from_text", "placements_to_text"]


class Recorder:
    """A `mrfhw.driver.driver.Chip` that keeps what is written; reads give zeros."""

    def __init__(self) -> None:
        self.writes: list[tuple[int, int]] = []

    def write(self, addresses: np.ndarray, data: np.ndarray) -> None:
        self.writes += zip(map(int, addresses), map(int, data), strict=True)

    def read(self, addresses: np.ndarray) -> np.ndarray:
        return np.zeros(len(addresses), np.uint32)


class Load:
    """The writes of `Driver.load`, in order, and by where they go.

    writes: (address, word). registers: by name. label_table, temperature_table, tile_base: (index, word); the first tile's, where
    tiles have a label table.
    tile(number): (region, offset, word) in order, broadcast writes among them.
    """

    def __init__(self, placement: Placement):
        self.map = AddressMap(placement.config)
        recorder = Recorder()
        Driver(placement.config, recorder).load(placement)
        self.writes = recorder.writes
        names = list(REGISTERS)
        self.registers = {names[a]: word for a, word in self.writes if a < len(names)}
        self.label_table = self._between(LABEL_TABLE, TILE_BASE_TABLE) or list(self.memory(0, Region.LABELS).items())
        self.temperature_table = self._between(TEMPERATURE_TABLE, LABEL_TABLE)
        self.tile_base = self._between(TILE_BASE_TABLE, GLOBAL_WORDS)

    def _between(self, low: int, high: int) -> list[tuple[int, int]]:
        return [(address - low, word) for address, word in self.writes if low <= address < high]

    def tile(self, number: int) -> list[tuple[Region, int, int]]:
        """(region, offset, word) of the writes that reach a tile."""
        m, found = self.map, []
        for address, word in self.writes:
            if address >> m.tiles_bit:
                place = (address & ((1 << m.broadcast_bit) - 1)) >> m.offset_bits
                if address >> m.broadcast_bit & 1 or place >> m.region_bits == number:
                    region = Region(place & ((1 << m.region_bits) - 1))
                    found.append((region, address & ((1 << m.offset_bits) - 1), word))
        return found

    def memory(self, number: int, region: Region) -> dict[int, int]:
        """A tile's memory after the load: word by offset."""
        return {offset: word for written in self.tile(number) for where, offset, word in self._plain(*written) if where is region}

    def _plain(self, region: Region, offset: int, word: int) -> list[tuple[Region, int, int]]:
        """A write as those of a word of one memory each."""
        c = self.map.config
        datum = c.datum_bits + 1
        if region is Region.SITE:
            return [(Region.S1, offset, word & (1 << datum) - 1), (Region.EDGES, offset, word >> datum)]
        if region is Region.S2_ROW:
            places = range(min(c.s2_row_words, c.s2_banks - (offset >> c.s2_address_bits)))
            return [(Region.S2, offset + (place << c.s2_address_bits), word >> place * datum & (1 << datum) - 1)
                    for place in places]
        if region is Region.LMEM_ROW:
            entries = [word >> place * c.lmem_row_bits for place in range(c.lmem_row_entries)]
            return [(Region.LMEM, offset + (place << c.lmem_address_bits + 1),
                     entry & c.max_labels - 1 | (entry >> c.label_bits & 3) << LmemWord.EXISTS)
                    for place, entry in enumerate(entries)]
        return [(region, offset, word)]


def placements_to_text(placements: Sequence[Placement]) -> str:
    """Placements as text, to be handed to a bench among its parameters."""
    return base64.b64encode(pickle.dumps([(p.config, p.problem, p.run) for p in placements])).decode()


def placements_from_text(text: str) -> list[Placement]:
    """The inverse of `placements_to_text`."""
    return [Placement(*parts) for parts in pickle.loads(base64.b64decode(text))]
