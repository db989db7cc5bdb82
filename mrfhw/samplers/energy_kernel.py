"""The compiled loops of the data's energies: E_singleton of labels at sites, its sums over boxes, and the energy of a field."""

from __future__ import annotations

from typing import Any

import numpy as np

from mrfhw.field.terms import SINGLETONS
from mrfhw.system.numba_alone import njit

__all__ = ["field_energy", "fill_singles", "least_of_rows"]

SQUARED, HAMMING = (SINGLETONS.index(name) for name in ("squared", "hamming"))  # the loops' codes of E_singleton
U = np.uint64
Int = Any  # a Python or NumPy integer


@njit(inline="always")
def channel_energy(first: Int, second: Int, kind: int, most: int) -> Int:
    """E_singleton of one channel (`mrfhw.field.terms.Channel`). kind: index in SINGLETONS. most: its limit, negative for none."""
    energy = np.int64(first) ^ np.int64(second) if kind == HAMMING else abs(np.int64(first) - np.int64(second))
    if kind == SQUARED:
        energy *= energy
    elif kind == HAMMING:
        bits = np.uint64(energy)  # the ones of each 2, then 4, then 8 of them, then all
        bits -= bits >> U(1) & U(0x5555555555555555)
        bits = (bits & U(0x3333333333333333)) + (bits >> U(2) & U(0x3333333333333333))
        bits = bits + (bits >> U(4)) & U(0x0f0f0f0f0f0f0f0f)
        energy = np.int64(bits * U(0x0101010101010101) >> U(56))
    return energy if most < 0 else min(energy, most)


@njit(nogil=True)
def fill_singles(singles: np.ndarray, sites: np.ndarray, stride: Int, chosen: np.ndarray, shape: tuple[int, int], s1: np.ndarray,
                 s2: np.ndarray, offsets: np.ndarray, constants: np.ndarray, unary: np.ndarray, observed: np.ndarray,
                 shown: np.ndarray, channels: np.ndarray, out_of_range: int) -> None:
    """singles (n, L): alpha E_singleton of each of `sites` (n,), flat indices on a grid of `stride` columns.

    Rows of sites that are none (-1) or outside the image are left. chosen: (n,) the one label of each site that is wanted,
    with singles (n, 1); or of size 0 for all. shape: (H, W). s1: (H, W, C) int32. s2: (H2, W2, C) int32, moved by offsets (L, 2)
    int64; of size 0 with constants (L, C) int32. unary: (H, W, L) int32, or of size 0 with s1. observed: (H, W) bool, or of size 0
    for all; shown: (H2, W2), the same of s2. channels: (C, 3) int64, of each its alpha, its kind and its limit.
    """
    rows, cols = shape
    row, start = 0, 0  # most sites lie in the row of the one before, and a division is slow
    for n in range(len(sites)):
        if sites[n] < 0:
            continue
        if not start <= sites[n] < start + stride:
            row = sites[n] // stride
            start = row * stride
        col = sites[n] - start
        if row >= rows or col >= cols:
            continue
        seen = observed.size == 0 or observed[row, col]
        first = np.int64(chosen[n]) if chosen.size > 0 else 0
        for at in range(singles.shape[1]):
            label, energy = first + at, np.int64(0)
            if seen and unary.size > 0:
                energy = channels[0, 0] * channel_energy(unary[row, col, label], 0, channels[0, 1], channels[0, 2])
            elif seen and s2.size == 0:
                for c in range(len(channels)):
                    energy += channels[c, 0] * channel_energy(s1[row, col, c], constants[label, c], channels[c, 1], channels[c, 2])
            elif seen:
                r, q = row + offsets[label, 0], col + offsets[label, 1]
                if 0 <= r < s2.shape[0] and 0 <= q < s2.shape[1] and (shown.size == 0 or shown[r, q]):
                    for c in range(len(channels)):
                        energy += channels[c, 0] * channel_energy(s1[row, col, c], s2[r, q, c], channels[c, 1], channels[c, 2])
                else:
                    energy = channels[0, 0] * out_of_range
            singles[n, at] = energy


@njit(nogil=True)
def _distances(energies: np.ndarray, one: np.ndarray, other: np.ndarray, alpha: int, most: int) -> None:
    """energies (n,): alpha times the Hamming distance of one and other (n,), up to `most`, in vector instructions."""
    for at in range(len(energies)):
        energies[at] = alpha * min(channel_energy(one[at], other[at], HAMMING, -1), most)


@njit(nogil=True)
def _energies_of_row(energies: np.ndarray, row: int, chosen: np.ndarray, shape: tuple[int, int], s1: np.ndarray, s2: np.ndarray,
                     offsets: np.ndarray, constants: np.ndarray, unary: np.ndarray, observed: np.ndarray, shown: np.ndarray,
                     channels: np.ndarray, out_of_range: int) -> None:
    """energies (W,): alpha E_singleton of a row's sites for the label that `chosen` (W,) holds throughout; as `fill_singles`."""
    cols = shape[1]
    if (unary.size > 0 or s2.size == 0 or observed.size > 0 or shown.size > 0 or len(channels) > 1
            or channels[0, 1] != HAMMING):
        fill_singles(energies.reshape(-1, 1), np.arange(row * cols, (row + 1) * cols), cols, chosen, shape, s1, s2, offsets,
                     constants, unary, observed, shown, channels, out_of_range)
        return
    there, along = row + offsets[chosen[0], 0], offsets[chosen[0], 1]
    begin = min(cols, max(0, -along)) if 0 <= there < len(s2) else cols
    end = max(begin, min(cols, s2.shape[1] - along)) if 0 <= there < len(s2) else cols
    energies[:begin] = energies[end:] = channels[0, 0] * out_of_range
    most = channels[0, 2] if channels[0, 2] >= 0 else 64  # bits
    # One channel: as rows of words side by side.
    one, other = s1.reshape(len(s1), -1), s2.reshape(len(s2), -1)
    _distances(energies[begin:end], one[row, begin:end], other[there, begin + along:end + along], channels[0, 0], most)


@njit(nogil=True)
def least_of_rows(out: np.ndarray, least: np.ndarray, first: int, last: int, labels: int, window: np.ndarray,
                  shape: tuple[int, int], s1: np.ndarray, s2: np.ndarray, offsets: np.ndarray,
                  constants: np.ndarray, unary: np.ndarray, observed: np.ndarray, shown: np.ndarray, channels: np.ndarray,
                  out_of_range: int) -> None:
    """Labels of the least sum of singletons over a box around each site, of the rows from `first` to before `last`.

    out (H, W): the label, the lowest on ties, and least (H, W): its sum, where that is below what stands there. window: (rows and
    columns of a box, W), for the singletons of a box's rows. The rest as of `fill_singles`.
    """
    rows, cols = shape
    size, half = len(window), len(window) // 2
    sums = np.empty(cols + 2 * half, window.dtype)  # of the box's rows by column, with the edges' once more for each beyond
    steps, totals = np.zeros(cols, window.dtype), np.empty(cols, window.dtype)
    chosen = np.empty(cols, np.uint16)
    for label in range(labels):
        chosen[:], sums[:] = label, 0
        for newest in range(first - half, last + half):
            at = (newest - first + half) % size
            energies, inner = window[at], sums[half:half + cols]
            if newest - half > first:  # the box is full, and leaves its uppermost row
                inner -= energies
            _energies_of_row(energies, min(max(newest, 0), rows - 1), chosen, shape, s1, s2, offsets, constants, unary, observed,
                             shown, channels, out_of_range)
            inner += energies
            if newest - half < first:
                continue
            sums[:half], sums[half + cols:] = inner[0], inner[-1]
            total = sums[:size].sum()
            for col in range(cols - 1):
                steps[col] = sums[col + size] - sums[col]
            for col in range(cols):
                totals[col] = total
                total += steps[col]
            lowest, found = least[newest - half], out[newest - half]
            for col in range(cols):
                if totals[col] < lowest[col]:
                    lowest[col], found[col] = totals[col], label


@njit(nogil=True)
def field_energy(labels: np.ndarray, singles: np.ndarray, doubles: np.ndarray, edges: np.ndarray) -> Int:
    """Energy of a configuration (H, W) uint8: each site's alpha E_singleton, each edge's beta E_doubleton once; int64.

    singles: (H x W, 1) int64, of the sites' own labels. doubles, edges: as in `site_energies`, int64.
    """
    rows, cols = labels.shape
    total = singles.sum()
    weight = np.int64(1)
    for row in range(rows):
        for col in range(cols):
            label = labels[row, col]
            if col > 0:
                if edges.size > 0:
                    weight = edges[row * cols + col, 2]
                total += weight * doubles[0, labels[row, col - 1], label]
            if row > 0:
                if edges.size > 0:
                    weight = edges[row * cols + col, 0]
                total += weight * doubles[0, labels[row - 1, col], label]
    return total
