"""What a placed problem needs in a machine's tables and memories, whatever its run: words and their addresses on the bus."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.address_space import LABEL_TABLE_WORDS
from mrfhw.machine.derived import Derived
from mrfhw.machine.registers import LABEL_TABLE, TILE_BASE_TABLE, Region
from mrfhw.machine.words import LabelWord, label_entry
from mrfhw.placement.placement import Placement

__all__ = ["Contents", "Rows", "SiteAddresses", "Words", "fixed"]

T = TypeVar("T")

SHAPES = 64  # of windows in a memory whose addresses are kept


class Words(NamedTuple):
    """Words to be written. addresses, data: (n,) uint32. memory: each address comes once, and their order does not matter."""

    addresses: np.ndarray
    data: np.ndarray
    memory: bool

    @property
    def size(self) -> int:
        """Bytes of them here."""
        return self.addresses.nbytes + self.data.nbytes


class Contents:
    """Of a problem's tables, `tables`, and of what lies in the tiles and may come after the temperatures, `tiles`."""

    def __init__(self, tables: list[Words], tiles: list[Words]):
        self.tables, self.tiles = tables, tiles

    @property
    def addresses(self) -> np.ndarray:
        """(n,) of all words."""
        return np.concatenate([words.addresses for words in (*self.tables, *self.tiles)])

    @classmethod
    def of(cls, p: Placement, sites: SiteAddresses, short: bool, most: int) -> Contents:
        """Of a placed problem. short: short words are sent as short elements, so that S1 and edges gain nothing together. most:
        banks whose words go one by one; those of more are words of rows. Kept with it where it has room."""
        name = f"contents_{short}_{most}"
        found: Contents | None = p.derived.get(name)
        if found is None:
            found = cls(_tables(p, sites.map), _tiles(p, sites, short, most))
            if sum(words.size for words in (*found.tables, *found.tiles)) <= p.room:
                p.derived[name] = found
        return found


class SiteAddresses:
    """Bus addresses of sites' words, kept for the next load of as many rows and columns of a machine's tiles."""

    def __init__(self, map: AddressMap):
        self.map = map
        self._kept: dict[tuple[object, ...], Any] = {}

    def of(self, p: Placement, region: Region) -> np.ndarray:
        """(n,) of a memory, by tile, row and column; in LMem of the first words of their entries."""
        return self.kept(p, region, lambda: fixed(self._made(p, region)))

    def label_rows(self, p: Placement) -> Rows:
        """Where labels of several banks lie in a word, of sites by tile, row and column."""

        def make() -> Rows:
            _, row, col = _places(p)
            bank, address = (np.broadcast_to(values, row.shape).reshape(len(row), -1) for values in p.label_address(row, col))
            return Rows(p.config, self.map, Region.LMEM_ROW, bank, address)

        return self.kept(p, Region.LMEM_ROW, make)

    def kept(self, p: Placement, name: object, make: Callable[[], T]) -> T:
        """What was made by that name for a problem of this shape; nobody writes to it."""
        key = p.tile_rows, p.tile_cols, name
        if key not in self._kept:
            if len(self._kept) >= SHAPES:
                self._kept.clear()
            self._kept[key] = make()
        found: T = self._kept[key]
        return found

    def _made(self, p: Placement, region: Region) -> np.ndarray:
        tile, row, col = _places(p)
        if region == Region.LMEM:
            bank, address = p.label_address(row, col)
            offset = ((bank << p.config.lmem_address_bits) + address) << 1
        else:
            offset = p.site_address(row, col)
        return self.map.tile(tile, region, offset)


def _places(p: Placement) -> list[np.ndarray]:
    """Tile, row and column of each site, (tile, row, column) each."""
    return list(np.meshgrid(np.arange(p.config.spes), np.arange(p.tile_rows), np.arange(p.tile_cols), indexing="ij"))


def fixed(values: np.ndarray) -> np.ndarray:
    """(n,) uint32 of them, to which nobody writes: what was made of such an array may be kept for it."""
    found = np.array(values, np.uint32).ravel()
    found.setflags(write=False)
    return found


def _words(addresses: np.ndarray, data: np.ndarray, memory: bool = False) -> Words:
    return Words(fixed(addresses), fixed(data), memory)


def _tables(p: Placement, amap: AddressMap) -> list[Words]:
    c, problem = p.config, p.problem
    rows = problem.labels if p.subsets is None else max(problem.labels, len(p.subsets.others))
    table = np.zeros((rows, LABEL_TABLE_WORDS), np.int64)
    u, v = np.zeros((2, problem.labels), np.int64) if problem.vectors is None else (
        np.asarray(problem.vectors).T & (1 << c.vector_bits) - 1)
    words = label_entry(c)
    table[:problem.labels, LabelWord.VECTOR] = u | v << words[LabelWord.VECTOR]["v"].low
    for slot, entry in enumerate(p.label_entries):
        table[slot, LabelWord.WRAP] = entry.row_threshold | entry.column << words[LabelWord.WRAP]["column"].low
        for wraps, (delta, wrapped) in enumerate(entry.deltas):
            table[slot, LabelWord.DELTA + wraps] = delta | wrapped << words[LabelWord.DELTA]["wrapped"].low
        directions = zip(words[LabelWord.DIRECTION].values(), (*entry.row_directions, *entry.column_directions), strict=False)
        table[slot, LabelWord.DIRECTION] = sum((d & field.mask) << field.low for field, d in directions)
    groups = p.label_groups
    table[:groups.slots, LabelWord.GROUP] = np.array(groups.firsts) | groups.counts << words[LabelWord.GROUP]["count"].low
    if problem.constants is not None:
        table[:problem.labels, LabelWord.CONSTANT] = p.words(problem.constants)
    if p.subsets is not None:
        entries = len(p.subsets.others)
        fields = words[LabelWord.SUBSET]
        table[:problem.labels, LabelWord.SUBSET] = p.subsets.slot
        table[:entries, LabelWord.SUBSET] |= (p.subsets.others << fields["others"].low
                                              | p.subsets.weights << fields["weight"].low)
    where = LABEL_TABLE if p.subsets is None else amap.broadcast(Region.LABELS)  # beside what needs it
    found = [_words(where + np.arange(table.size), table)]
    if c.vector_bits:
        found.append(_words(amap.broadcast(Region.VECTORS) + np.arange(problem.labels), u | v << 16))
    if p.has_table:
        found.append(_words(amap.broadcast(Region.PAIRWISE) + p.pairwise_offsets, p.pairwise_entries))
    return found


def _tiles(p: Placement, sites: SiteAddresses, short: bool, most: int) -> list[Words]:
    c = p.config
    found = [_words(TILE_BASE_TABLE + np.arange(c.spes), p.tile_base)]
    if c.s1_has_edges and not short:
        found.append(_words(sites.of(p, Region.SITE), p.s1_words | p.edge_words << np.uint32(c.datum_bits + 1)))
    else:
        found.append(Words(sites.of(p, Region.S1), fixed(p.s1_words), True))
        if c.edge_bits:
            found.append(Words(sites.of(p, Region.EDGES), fixed(p.edge_words), True))
    loads = list(p.s2_loads())
    if loads:
        bank, address, words = (np.concatenate([np.broadcast_to(load[n], load[2].shape).reshape(c.spes, -1) for load in loads], 1)
                                for n in range(3))
        if c.s2_row_words > most:
            rows = Rows(c, sites.map, Region.S2_ROW, bank, address)
            found.append(Words(rows.addresses, fixed(rows.words(words, c.datum_bits + 1)), True))
        else:
            tile = np.broadcast_to(np.arange(c.spes)[:, None], words.shape)
            found.append(_words(sites.map.tile(tile, Region.S2, (bank << c.s2_address_bits) + address), words, True))
    return found


class Rows:
    """Words of a bus that hold those of several banks side by side.

    addresses: (n,) uint32, fixed.
    sources: (banks, n) which of the banks' words, from 1, each part is; 0 where a bank has none.
    """

    def __init__(self, c: Derived, amap: AddressMap, region: Region, bank: np.ndarray, address: np.ndarray):
        """bank, address: (tiles, m) of the banks' words, in their order."""
        many, depth, banks, shift = ((c.s2_row_words, c.s2_bank_depth, c.s2_banks, 0) if region == Region.S2_ROW else
                                     (c.lmem_row_entries, 1 << c.lmem_address_bits, c.lmem_banks, 1))
        groups = -(-banks // many)
        place = (np.arange(len(bank))[:, None] * groups + bank // many) * depth + address
        found = np.zeros((many, len(bank) * groups * depth), np.int32)
        found[bank % many, place] = np.arange(1, bank.size + 1).reshape(bank.shape)
        at = np.flatnonzero(found.any(0))
        tile, group = np.divmod(at // depth, groups)
        low = c.lmem_address_bits if region == Region.LMEM_ROW else c.s2_address_bits
        self.addresses = fixed(amap.tile(tile, region, ((group * many << low) + at % depth) << shift))
        self.sources = found[:, at]
        self.sources.setflags(write=False)

    def words(self, parts: np.ndarray, bits: int) -> np.ndarray:
        """(n,) uint32 of the banks' words (m,), so many bits each."""
        padded = np.concatenate([np.zeros(1, np.uint32), parts.astype(np.uint32, copy=False).ravel()])
        found = padded[self.sources[0]]
        for number in range(1, len(self.sources)):
            found |= padded[self.sources[number]] << np.uint32(number * bits)
        return found
