"""What the kernels do, in NumPy: all sites of a colour at once. For tests, and for who reads them."""

from __future__ import annotations

import itertools
import math

import numpy as np

from mrfhw.samplers.gpu.source import PROPOSED
from mrfhw.samplers.gpu.tables import GpuTables, weight_table

__all__ = ["draw", "draw_of_subsets", "philox"]

MULTIPLIERS, STEPS, ROUNDS = (0xD2511F53, 0xCD9E8D57), (0x9E3779B9, 0xBB67AE85), 10  # Philox4x32-10
_MASK = np.uint64(0xFFFFFFFF)


def philox(counter: tuple[np.ndarray, ...], key: tuple[int, int]) -> tuple[np.ndarray, ...]:
    """Four words uint32 of counters, (n,) each, and a key: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, Parallel Random Numbers: As
    Easy as 1, 2, 3, SC 2011)."""
    c0, c1, c2, c3 = (np.asarray(word, np.uint64) for word in counter)
    keys = list(key)
    for _ in range(ROUNDS):
        first, second = c0 * np.uint64(MULTIPLIERS[0]), c2 * np.uint64(MULTIPLIERS[1])
        c0, c1, c2, c3 = ((second >> np.uint64(32)) ^ c1 ^ np.uint64(keys[0]), second & _MASK,
                          (first >> np.uint64(32)) ^ c3 ^ np.uint64(keys[1]), first & _MASK)
        keys = [(word + step) & int(_MASK) for word, step in zip(keys, STEPS, strict=True)]
    return tuple(word.astype(np.uint32) for word in (c0, c1, c2, c3))


def _sites(tables: GpuTables, colour: int) -> tuple[np.ndarray, np.ndarray]:
    rows, columns = tables.problem.shape
    row, column = np.nonzero((np.add.outer(np.arange(rows), np.arange(columns)) % 2 == colour) & (tables.clamped == 0))
    return row, column


def _energies(tables: GpuTables, labels: np.ndarray, colour: int, row: np.ndarray, column: np.ndarray) -> np.ndarray:
    """(n, L) int64, of sites of a colour."""
    (rows, columns), number = tables.problem.shape, tables.problem.labels
    energy = tables.singles[colour][:, row, column // 2].T.astype(np.int64)
    around = np.full((rows + 2, columns + 2), number)
    around[1:-1, 1:-1] = labels
    weights = tables.edges[row * columns + column] if tables.edges.size else np.ones((len(row), 4), np.int64)
    after = len(tables.doubles) - 1
    for way, (side, down, right) in enumerate(((0, 0, 1), (after, 2, 1), (0, 1, 0), (after, 1, 2))):
        energy += weights[:, way, None] * tables.doubles[side][around[row + down, column + right]].astype(np.int64)
    return energy


def draw(tables: GpuTables, labels: np.ndarray, colour: int, sweep: int, temperature: float, key: tuple[int, int],
         cutoff: float = math.inf) -> np.ndarray:
    """Update a colour's sites of labels (H, W) uint8; where more than one label had a weight, (H, W) bool.

    cutoff: as of `weight_table`.
    """
    several, problem = np.zeros(tables.problem.shape, bool), tables.problem
    row, column = _sites(tables, colour)
    if not len(row):
        return several
    site, energy = row * problem.shape[1] + column, _energies(tables, labels, colour, row, column)
    table = weight_table(temperature, problem.labels, tables.bound, cutoff)
    weight = table[np.minimum(energy - energy.min(1, keepdims=True), len(table) - 1)].astype(np.uint64)
    zeros = np.zeros(len(site), np.uint64)
    word = philox((site, np.full(len(site), sweep), zeros, zeros), key)[0].astype(np.uint64)
    point = (word * weight.sum(1)) >> np.uint64(32)
    labels[row, column] = (point[:, None] >= np.cumsum(weight, 1)[:, :-1]).sum(1)
    several[row, column] = (weight > 0).sum(1) > 1
    return several


def draw_of_subsets(tables: GpuTables, labels: np.ndarray, colour: int, sweep: int, temperature: float, key: tuple[int, int],
                    subset: int) -> None:
    """Update a colour's sites of labels (H, W) uint8, each among `subset` labels; a site at a time, in Python's whole numbers."""
    (rows, columns), number = tables.problem.shape, tables.problem.labels
    row, column = _sites(tables, colour)
    if not len(row):
        return
    energies, table = _energies(tables, labels, colour, row, column), weight_table(temperature, number, tables.bound)
    new = []
    for y, x, energy in zip(row.tolist(), column.tolist(), energies.tolist(), strict=True):
        beside = [int(labels[v, u]) for v, u in ((y - 1, x), (y + 1, x), (y, x - 1), (y, x + 1))
                  if 0 <= v < rows and 0 <= u < columns]
        words = [int(word) for block in range(subset // 4 + 1)
                 for word in philox((y * columns + x, sweep, block, 0), key)]  # type: ignore[arg-type]
        slots = [int(labels[y, x])]
        for word in words[2:subset + 1]:
            low = (word << 1) & 0xFFFFFFFF
            near = beside[((low & ~7) * len(beside)) >> 32] + (word & 3 == 3) - (word & 3 == 2) if beside else 0
            slots.append(min(max(near, 0), number - 1) if word >> 31 and beside else (low * number) >> 32)
        proposals = [min(max(of + step, 0), number - 1) for of in beside for step in (0, 0, 1, -1)]
        least = min(energy[slot] for slot in slots)
        parts = [int(table[min(energy[slot] - least, len(table) - 1)])
                 * (PROPOSED // (4 * len(beside) + number * proposals.count(slot)) if beside else PROPOSED) for slot in slots]
        point = (sum(parts) * ((words[0] << 32) | words[1])) >> 64
        new.append(slots[sum(point >= running for running in itertools.accumulate(parts[:-1]))])
    labels[row, column] = new
