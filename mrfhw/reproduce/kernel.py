"""The compiled loops of the reproductions: a label memory of any size, what was seen of labels, a float64 sweep.

They stand in one file because numba's cache notices changes of a function's own file alone.
"""

from __future__ import annotations

import numba
import numpy as np

__all__ = ["count_labels", "float_colour", "observe", "write_sweep"]


@numba.njit(cache=True)
def write_sweep(drawn: np.ndarray, least_frequent: bool, count_max: int, labels: np.ndarray, counts: np.ndarray) -> int:
    """Write one draw of every site to a memory of n pairs a site; returns the number of messages.

    drawn: (sites,) uint8. labels, counts: (sites, n) uint8 and uint16, each site's pairs from the most to the least
    recently picked; a count of 0 is an empty pair, and those are last.
    A label that is held moves to the front and counts one more; at `count_max` it sends that and starts at 1 again.
    Another label takes the place of the last pair or, with `least_frequent`, of the least count (the least recently
    picked on ties), which is sent unless it is empty. With two pairs and the last one replaced: Algorithm 1.
    """
    sites, ways = labels.shape
    sent = 0
    for site in range(sites):
        new = drawn[site]
        if labels[site, 0] == new and counts[site, 0] > 0:
            place = 0
        else:
            place = ways
            for way in range(1, ways):
                if labels[site, way] == new and counts[site, way] > 0:
                    place = way
                    break
        if place < ways:
            count = counts[site, place] + 1
            if count > count_max:
                sent += 1
                count = 1
        else:
            place = ways - 1
            if least_frequent:
                for way in range(ways - 2, -1, -1):
                    if counts[site, way] < counts[site, place]:
                        place = way
            if counts[site, place] > 0:
                sent += 1
            count = 1
        for way in range(place, 0, -1):
            labels[site, way] = labels[site, way - 1]
            counts[site, way] = counts[site, way - 1]
        labels[site, 0] = new
        counts[site, 0] = count
    return sent


@numba.njit(cache=True)
def observe(drawn: np.ndarray, before: np.ndarray, seen: np.ndarray, counted: bool) -> int:
    """Sites whose label changed; with `counted`, each site's label is marked in its word of `seen`.

    drawn, before: (sites,) uint8; `before` becomes `drawn`. seen: (sites,) uint64, bit l for label l.
    """
    changed = 0
    for site in range(len(drawn)):
        if drawn[site] != before[site]:
            changed += 1
            before[site] = drawn[site]
        if counted:
            seen[site] |= np.uint64(1) << np.uint64(drawn[site])
    return changed


@numba.njit(cache=True)
def count_labels(drawn: np.ndarray, counts: np.ndarray) -> None:
    """Add one draw of every site to its histogram; drawn: (sites,) uint8, counts: (sites, L) uint16."""
    for site in range(len(drawn)):
        counts[site, drawn[site]] += 1


@numba.njit(cache=True)
def float_colour(parity: int, labels: np.ndarray, singles: np.ndarray, doubles: np.ndarray, weights: np.ndarray,
                 uniforms: np.ndarray) -> None:
    """Update the sites of one colour in float64, in raster order.

    labels: (H, W) uint8, changed. singles: (H, W, L) int32, alpha E_singleton. doubles: (L, L) int32, beta E_doubleton
    by neighbour, label. weights: exp(-E / T) for the differences E = 0, 1, 2, ... of energies, 0 beyond. uniforms: one
    for each site of the colour. The label drawn is the first whose running sum exceeds the uniform times the total.
    """
    rows, cols, count = singles.shape
    energy = np.empty(count, np.int32)
    sums = np.empty(count, np.float64)
    drawn = 0
    for row in range(rows):
        for col in range((row + parity) & 1, cols, 2):
            energy[:] = singles[row, col]
            if row > 0:
                energy += doubles[labels[row - 1, col]]
            if row + 1 < rows:
                energy += doubles[labels[row + 1, col]]
            if col > 0:
                energy += doubles[labels[row, col - 1]]
            if col + 1 < cols:
                energy += doubles[labels[row, col + 1]]
            least = energy[0]
            for label in range(1, count):
                least = min(least, energy[label])
            total = 0.0
            for label in range(count):
                above = energy[label] - least
                if above < len(weights):
                    total += weights[above]
                sums[label] = total
            threshold = uniforms[drawn] * total
            drawn += 1
            for label in range(count):
                if sums[label] > threshold:
                    labels[row, col] = label
                    break
