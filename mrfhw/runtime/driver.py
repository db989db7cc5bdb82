"""Drives a machine over its bus: load a problem, run it, read the result back.

The same steps for every chip: one that is simulated and one on a board differ only in their `Chip`.
"""

from __future__ import annotations

from typing import Protocol

import numpy as np

from mrfhw.config import PRESETS, Config
from mrfhw.model.random import lane_states
from mrfhw.placement import Placement
from mrfhw.problem import ProblemError
from mrfhw.registers import (
    CONTROL_BITS,
    DOUBLETON_CODES,
    IDENTITY,
    INTERFACE_VERSION,
    LABEL_TABLE,
    LABEL_TABLE_WORDS,
    MODE_BITS,
    REGISTERS,
    STATUS_BITS,
    TEMPERATURE_TABLE,
    TILE_BASE_TABLE,
    AddressMap,
    LabelWord,
    LmemWord,
    Region,
    Temperature,
    register,
)
from mrfhw.temperature import coefficient, geometric_registers

__all__ = ["COUNTERS", "Chip", "ChipError", "Driver", "transfer_cycles", "unpack_lines"]

COUNTERS = ("cycles", "stall_cycles", "gap_cycles", "label_cycles", "messages", "lines")  # registers of 64 bits


class ChipError(ProblemError):
    """The chip is not the one expected, or did not answer. One line: what, and what to do."""


class Chip(Protocol):
    """A bus to a chip. Addresses and data are uint32 arrays of equal length; write order is kept."""

    def write(self, addresses: np.ndarray, data: np.ndarray) -> None: ...

    def read(self, addresses: np.ndarray) -> np.ndarray: ...


class _Counter:
    """A `Chip` that counts the cycles of its bus: reads are taken as those of tiles."""

    def __init__(self, config: Config):
        self.config, self.cycles = config, 0

    def write(self, addresses: np.ndarray, data: np.ndarray) -> None:
        self.cycles += len(addresses) * self.config.bus_write_cycles

    def read(self, addresses: np.ndarray) -> np.ndarray:
        self.cycles += len(addresses) * self.config.bus_read_cycles
        return np.zeros(len(addresses), np.uint32)


def transfer_cycles(placement: Placement, generators: bool = True) -> tuple[int, int]:
    """(loading, reading): bus cycles to load a placed problem and to read its LMem back, one access after the other."""
    counter = _Counter(placement.config)
    driver = Driver(placement.config, counter)
    driver.load(placement, generators)
    loading = counter.cycles
    driver.lmem(placement)
    return loading, counter.cycles - loading


def unpack_lines(config: Config, lines: np.ndarray) -> np.ndarray:
    """(n, line_bits / 8) uint8 log lines, little-endian, to (m, 3) int64 (address, label, count) without padding."""
    bits = np.unpackbits(lines.reshape(-1, config.line_bits // 8), axis=1, bitorder="little")
    used = bits[:, :config.line_messages * config.message_bits].reshape(-1, config.message_bits).astype(np.int64)
    fields, at = [], 0
    for width in (config.counter_bits, config.label_bits, config.raster_bits):
        fields.append(used[:, at:at + width] @ (1 << np.arange(width, dtype=np.int64)))
        at += width
    messages = np.stack(fields[::-1], 1) if len(used) else np.empty((0, 3), np.int64)
    return messages[messages[:, 2] > 0]


class Driver:
    """Loads, starts and reads one chip of `config`."""

    def __init__(self, config: Config, chip: Chip):
        self.config, self.chip, self.map = config, chip, AddressMap(config)

    # -- registers

    def set(self, **values: int) -> None:
        """Write registers by name, in order."""
        self.chip.write(np.array([register(n) for n in values], np.uint32), np.array(list(values.values()), np.uint32))

    def get(self, *names: str) -> list[int]:
        """Read registers by name; a counter's `_low` and `_high` are joined under its own name."""
        wanted = [n if n in REGISTERS else f"{n}_low" for n in names]
        highs = [n for n in names if n not in REGISTERS]
        words = self.chip.read(np.array([register(n) for n in wanted] + [register(f"{n}_high") for n in highs], np.uint32))
        values = [int(w) for w in words[:len(names)]]
        for name, high in zip(highs, words[len(names):], strict=True):
            values[names.index(name)] += int(high) << 32
        return values

    def counters(self) -> dict[str, int]:
        """What the chip counted in the run, by the names of its counters."""
        return dict(zip(COUNTERS, self.get(*COUNTERS), strict=True))

    def check(self) -> None:
        """Raise ChipError unless the chip was generated from this configuration."""
        identity, version, *digest = self.get("identity", "version", *(f"digest_{i}" for i in range(4)))
        if identity != IDENTITY:
            raise ChipError(f"the identity register reads {identity:#010x}, not {IDENTITY:#010x}: no such chip on this link")
        if version != INTERFACE_VERSION:
            raise ChipError(f"the chip has interface version {version}; this driver has {INTERFACE_VERSION}: build the chip again")
        found = "".join(f"{d:08x}" for d in digest)
        if found != self.config.digest[:32]:
            known = next((name for name in PRESETS if Config.preset(name).digest.startswith(found)), None)
            raise ChipError(f"the chip's configuration is {found}, not {self.config.digest[:32]}: give the parameters that "
                            f"the chip was built with{f', --preset {known}' if known else ''}, or build it again")

    # -- load

    def load(self, placement: Placement, generators: bool = True) -> None:
        """Write all memories, tables and registers of a placed problem. Without `generators` those go on where they are."""
        self._load_registers(placement)
        self._load_tables(placement)
        self._load_sites(placement)
        if not generators:
            return
        states = lane_states(placement.run.seed, self.config.lanes)
        lanes = np.arange(self.config.lanes)
        addresses = self._tile_addresses(lanes // self.config.spus, Region.RANDOM, lanes % self.config.spus)
        self._write(np.repeat(addresses, 4), states.ravel())

    def _write(self, addresses: np.ndarray, data: np.ndarray) -> None:
        self.chip.write(np.ascontiguousarray(addresses, np.uint32).ravel(), np.ascontiguousarray(data, np.uint32).ravel())

    def _tile_addresses(self, tile: np.ndarray, region: Region, offset: np.ndarray) -> np.ndarray:
        a = self.map
        return (1 << a.tiles_bit) + (((tile << a.region_bits) | region) << a.offset_bits) + offset

    def _load_registers(self, p: Placement) -> None:
        c, problem = self.config, p.problem
        rows, half = p.tile_rows, p.tile_cols // 2
        one = c.lmem_banks == 1
        schedule, shift = problem.schedule, problem.energy_shift
        ratio, limit = (geometric_registers(c, schedule, shift) if schedule.kind == "geometric" else (0, 0))
        mode = {"constant": Temperature.CONSTANT, "geometric": Temperature.GEOMETRIC, "table": Temperature.TABLE}
        self.set(
            labels=problem.labels, tile_rows=rows, tile_groups=p.groups_per_row,
            label_stride=half if one else half // 2, label_wrap=(rows - 1) * half if one else (rows - 1) // 2 * (half // 2),
            site_stride=half, raster_stride=problem.shape[1], overlap=int(p.overlap), sweeps=p.run.sweeps,
            burn_in=p.run.burn_in, alpha=problem.alpha, beta=problem.beta,
            tau=(1 << c.doubleton_bits) - 1 if problem.tau is None else problem.tau, energy_shift=shift,
            out_of_range=problem.out_of_range,
            mode=(problem.singleton == "squared") << MODE_BITS["squared"]
            | (problem.constants is not None) << MODE_BITS["constant"]
            | DOUBLETON_CODES[problem.doubleton] << MODE_BITS["doubleton"],
            temperature=0 if schedule.kind == "table" else coefficient(c, schedule.start, shift),
            temperature_mode=mode[schedule.kind], temperature_ratio=ratio, temperature_limit=limit,
            temperature_stride=schedule.stride, temperature_last=max(0, len(schedule.table) - 1))

    def _load_tables(self, p: Placement) -> None:
        c, problem = self.config, p.problem
        component = (1 << c.vector_bits) - 1
        vectors = np.zeros((problem.labels, 2), np.int64) if problem.vectors is None else np.asarray(problem.vectors)
        constants = np.zeros(problem.labels, np.int64) if problem.constants is None else problem.constants
        table = np.zeros((problem.labels, LABEL_TABLE_WORDS), np.int64)
        for label, entry in enumerate(p.label_entries):
            table[label, LabelWord.ROW_THRESHOLD] = entry.row_threshold
            table[label, LabelWord.COLUMN] = entry.column
            table[label, LabelWord.DELTA:LabelWord.DELTA + 4] = entry.deltas
            directions = (*entry.row_directions, *entry.column_directions)
            table[label, LabelWord.DIRECTION] = sum((d & 3) << 2 * i for i, d in enumerate(directions))
        packed = (vectors[:, 0] & component) | (vectors[:, 1] & component) << c.vector_bits
        table[:, LabelWord.DATA] = packed | constants.astype(np.int64) << 2 * c.vector_bits
        self._write(LABEL_TABLE + np.arange(table.size), table.ravel())
        self._write(self.map.broadcast(Region.VECTORS) + np.arange(problem.labels),
                    (vectors[:, 0] & component) | (vectors[:, 1] & component) << 16)
        if problem.schedule.table:
            values = [coefficient(c, t, problem.energy_shift) for t in problem.schedule.table]
            self._write(TEMPERATURE_TABLE + np.arange(len(values)), np.array(values))
        self._write(TILE_BASE_TABLE + np.arange(c.spes), p.tile_base)

    def _load_sites(self, p: Placement) -> None:
        c = self.config
        tile, row, col = np.meshgrid(np.arange(c.spes), np.arange(p.tile_rows), np.arange(p.tile_cols), indexing="ij")
        s1 = p.tiles(p.pad(p.problem.singleton1.astype(np.uint32))) | p.tiles(p.observed).astype(np.uint32) << c.data_bits
        self._write(self._tile_addresses(tile, Region.S1, p.site_address(row, col)), s1)
        for index, patch in enumerate(p.patches):
            bank, address = p.s2_address(row, col)
            offset = (bank << c.s2_address_bits) + address + index * p.patch_words
            self._write(self._tile_addresses(tile, Region.S2, offset), p.s2_patch(patch))
        word = (p.tiles(p.pad(p.initial)).astype(np.uint32) << LmemWord.LABEL
                | p.tiles(p.exists).astype(np.uint32) << LmemWord.EXISTS
                | p.tiles(p.clamped).astype(np.uint32) << LmemWord.CLAMPED)
        self._write(self._label_addresses(p, tile, row, col), word)

    def _label_addresses(self, p: Placement, tile: np.ndarray, row: np.ndarray, col: np.ndarray) -> np.ndarray:
        """Bus addresses of the first word of sites' LMem entries."""
        bank, address = p.label_address(row, col)
        return self._tile_addresses(tile, Region.LMEM, ((bank << self.config.lmem_address_bits) + address) << 1)

    # -- run

    def start(self, resume: bool = False) -> None:
        """Begin at sweep 0, or go on from the sweep reached."""
        self.set(control=1 << CONTROL_BITS["resume" if resume else "start"])

    @property
    def busy(self) -> bool:
        return bool(self.get("status")[0] >> STATUS_BITS["busy"] & 1)

    # -- read

    def lmem(self, p: Placement) -> np.ndarray:
        """(H, W, 4) int32, LMem of the image's sites: current label and count, the other label and count."""
        c = self.config
        tile, row, col = np.meshgrid(np.arange(c.spes), np.arange(p.tile_rows), np.arange(p.tile_cols), indexing="ij")
        first = self._label_addresses(p, tile, row, col)
        words = self.chip.read(np.ascontiguousarray(np.stack([first, first + 1], -1), np.uint32).ravel())
        words = words.reshape(*first.shape, 2).astype(np.int32)
        label = words >> LmemWord.LABEL & (c.max_labels - 1)
        count = words >> LmemWord.COUNT & c.count_max
        return np.stack([p.untile(field[..., i]) for i in (0, 1) for field in (label, count)], -1)
