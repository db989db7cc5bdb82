"""The compiled loops of the reproductions: a label memory of any size, and what was seen of labels.

They stand in one file because numba's cache notices changes of a function's own file alone.
"""

from __future__ import annotations

import numpy as np

from mrfhw.system.numba_alone import njit

__all__ = ["observe", "write_sweep"]


@njit()
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


@njit()
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
