"""The compiled loop of `mrfhw.samplers.events`."""

from __future__ import annotations

from typing import Any

import numpy as np

from mrfhw.samplers.sites_kernel import DOWN, LEFT, RIGHT, UP, U, site_energies
from mrfhw.system.numba_alone import njit

__all__ = ["sweep_active"]

Int = Any  # a Python or NumPy integer


@njit(nogil=True)
def sweep_active(sites: np.ndarray, stride: Int, weights: np.ndarray, least_weight: float, singles: np.ndarray, doubles: np.ndarray,
                 edges: np.ndarray, flags: np.ndarray, labels: np.ndarray, uniforms: np.ndarray, regions: np.ndarray,
                 active: np.ndarray, own: np.ndarray, others: np.ndarray) -> tuple[int, int]:
    """Draw those of `sites` (n,) whose region is `active`; returns how many that were, and how many of them changed their label.

    weights: exp(-d / T) of the energies d above the least, the last 0. least_weight: labels of this weight or less are not drawn.
    singles: (n, L). doubles, edges: as in `site_energies`. flags, labels: (H x W,). uniforms: (n,) float64.
    regions: (H x W,) the number of each site's region. active, own, others: (regions,) uint8: to be drawn now; and, set here, in
    this colour's next turn, because a site has more than one label left, and in the other colour's, because a neighbour changed.
    """
    count = singles.shape[1]
    energy, running = np.empty(count, np.int64), np.empty(count)
    drawn, changes = 0, 0
    for n in range(len(sites)):
        site = U(sites[n])
        if not active[regions[site]]:
            continue
        drawn += 1
        site_energies(energy, singles, U(n), doubles, edges, flags[site], labels, site, U(stride), U(count), 0, 0, False)
        least, total, left = energy.min(), 0.0, 0
        for label in range(count):
            weight = weights[min(energy[label] - least, len(weights) - 1)]
            if weight > least_weight:
                total += weight
                left += 1
            running[label] = total
        target, new = uniforms[n] * total, 0
        while new < count - 1 and running[new] <= target:
            new += 1
        if left > 1:
            own[regions[site]] = 1
        if new != labels[site]:
            changes += 1
            labels[site] = new
            if flags[site] & UP:
                others[regions[site - U(stride)]] = 1
            if flags[site] & DOWN:
                others[regions[site + U(stride)]] = 1
            if flags[site] & LEFT:
                others[regions[site - U(1)]] = 1
            if flags[site] & RIGHT:
                others[regions[site + U(1)]] = 1
    return drawn, changes
