"""What a placed problem needs in a machine's tables and memories, whatever its run: words and their addresses on the bus."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.address_space import LABEL_TABLE_WORDS
from mrfhw.machine.registers import LABEL_TABLE, TILE_BASE_TABLE, Region
from mrfhw.machine.words import LabelWord, label_entry
from mrfhw.placement.placement import Placement

__all__ = ["Contents", "SiteAddresses", "Words", "fixed", "rows_of_banks"]

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
    def of(cls, p: Placement, sites: SiteAddresses, short: bool) -> Contents:
        """Of a placed problem. short: as short elements words of single sites are sent, so that none hold several. Kept with it
        where it has room."""
        name = "contents" + "_short" * short
        found: Contents | None = p.derived.get(name)
        if found is None:
            found = cls(_tables(p, sites.map), _tiles(p, sites, short))
            if sum(words.size for words in (*found.tables, *found.tiles)) <= p.room:
                p.derived[name] = found
        return found


class SiteAddresses:
    """Bus addresses of sites' words, kept for the next load of as many rows and columns of a machine's tiles."""

    def __init__(self, map: AddressMap):
        self.map = map
        self._kept: dict[tuple[object, ...], np.ndarray] = {}

    def of(self, p: Placement, region: Region) -> np.ndarray:
        """(n,) of a memory, by tile, row and column; in LMem of the first words of their entries."""
        return self.kept(p, region, lambda: self._made(p, region))

    def kept(self, p: Placement, name: object, make: Callable[[], np.ndarray]) -> np.ndarray:
        """What was made by that name for a problem of this shape; nobody writes to it."""
        key = p.tile_rows, p.tile_cols, name
        if key not in self._kept:
            if len(self._kept) >= SHAPES:
                self._kept.clear()
            self._kept[key] = fixed(make())
        return self._kept[key]

    def _made(self, p: Placement, region: Region) -> np.ndarray:
        tile, row, col = np.meshgrid(np.arange(p.config.spes), np.arange(p.tile_rows), np.arange(p.tile_cols), indexing="ij")
        if region == Region.LMEM:
            bank, address = p.label_address(row, col)
            offset = ((bank << p.config.lmem_address_bits) + address) << 1
        else:
            offset = p.site_address(row, col)
        return self.map.tile(tile, region, offset)


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


def _tiles(p: Placement, sites: SiteAddresses, short: bool) -> list[Words]:
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
        region = Region.S2
        if c.s2_row_words > 1 and not short:
            region = Region.S2_ROW
            tile, bank, address, words = rows_of_banks(bank, address, words, c.s2_row_words, c.datum_bits + 1,
                                                       (c.s2_banks, c.s2_bank_depth))
        else:
            tile = np.broadcast_to(np.arange(c.spes)[:, None], words.shape)
        found.append(_words(sites.map.tile(tile, region, (bank << c.s2_address_bits) + address), words, True))
    return found


def rows_of_banks(bank: np.ndarray, address: np.ndarray, words: np.ndarray, many: int, bits: int,
                  depth: tuple[int, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """(tile, first bank, address, word) of words of `many` banks side by side, `bits` each; 0 where a bank has none.

    bank, address, words: (tiles, n). depth: banks, and words of each.
    """
    groups = -(-depth[0] // many)
    place = (np.arange(len(words))[:, None] * groups + bank // many) * depth[1] + address
    found, there = np.zeros((2, len(words) * groups * depth[1]), np.uint32)
    for number in range(many):
        mine = bank % many == number
        found[place[mine]] |= words[mine].astype(np.uint32) << np.uint32(number * bits)
        there[place[mine]] = 1
    at = np.flatnonzero(there)
    tile, group = np.divmod(at // depth[1], groups)
    return tile, group * many, at % depth[1], found[at]
