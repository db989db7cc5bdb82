"""What the kernels do, in NumPy: all sites of a colour at once. For tests, and for who reads them."""

from __future__ import annotations

import math

import numpy as np

from mrfhw.samplers.gpu.tables import GpuTables, weight_table

__all__ = ["draw", "philox"]

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


def draw(tables: GpuTables, labels: np.ndarray, colour: int, sweep: int, temperature: float, key: tuple[int, int],
         cutoff: float = math.inf) -> np.ndarray:
    """Update a colour's sites of labels (H, W) uint8; where more than one label had a weight, (H, W) bool.

    cutoff: as of `weight_table`.
    """
    several = np.zeros(tables.problem.shape, bool)
    problem = tables.problem
    (rows, columns), number = problem.shape, problem.labels
    row, column = np.nonzero((np.add.outer(np.arange(rows), np.arange(columns)) % 2 == colour) & (tables.clamped == 0))
    if not len(row):
        return several
    site = row * columns + column
    energy = tables.singles[colour][:, row, column // 2].T.astype(np.int64)
    around = np.full((rows + 2, columns + 2), number)
    around[1:-1, 1:-1] = labels
    weights = tables.edges[site] if tables.edges.size else np.ones((len(site), 4), np.int64)
    after = len(tables.doubles) - 1
    for way, (side, down, right) in enumerate(((0, 0, 1), (after, 2, 1), (0, 1, 0), (after, 1, 2))):
        energy += weights[:, way, None] * tables.doubles[side][around[row + down, column + right]].astype(np.int64)
    table = weight_table(temperature, number, tables.bound, cutoff)
    weight = table[np.minimum(energy - energy.min(1, keepdims=True), len(table) - 1)].astype(np.uint64)
    zeros = np.zeros(len(site), np.uint64)
    word = philox((site, np.full(len(site), sweep), zeros, zeros), key)[0].astype(np.uint64)
    point = (word * weight.sum(1)) >> np.uint64(32)
    labels[row, column] = (point[:, None] >= np.cumsum(weight, 1)[:, :-1]).sum(1)
    several[row, column] = (weight > 0).sum(1) > 1
    return several
