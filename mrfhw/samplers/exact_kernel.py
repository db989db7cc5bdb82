"""The compiled loops of `mrfhw.samplers.exact`."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from mrfhw.samplers.sites_kernel import U, site_energies
from mrfhw.system.numba_alone import njit

__all__ = ["count_labels", "float_cdf"]

Int = Any  # a Python or NumPy integer


@njit(nogil=True)
def float_cdf(sites: np.ndarray, stride: Int, temperature: float, weights: np.ndarray, singles: np.ndarray, doubles: np.ndarray,
              edges: np.ndarray, flags: np.ndarray, labels: np.ndarray, uniforms: np.ndarray) -> None:
    """Draw each of `sites` (n,): the first label whose running sum of weights exceeds uniform x total.

    weights: exp(-d / T) of the energies d above the least; above the table it is computed. singles: (n, L). doubles,
    edges: as in `site_energies`. flags, labels: (H x W,). uniforms: (n,) float64.
    """
    count = singles.shape[1]
    energy, running = np.empty(count, np.int64), np.empty(count)
    for n in range(len(sites)):
        site = U(sites[n])
        site_energies(energy, singles, U(n), doubles, edges, flags[site], labels, site, U(stride), U(count), 0, 0, False)
        least, total = energy.min(), 0.0
        for label in range(count):
            above = energy[label] - least
            total += weights[above] if above < len(weights) else math.exp(above / -temperature)
            running[label] = total
        target, label = uniforms[n] * total, 0
        while label < count - 1 and running[label] <= target:  # rounding may leave no sum above it
            label += 1
        labels[site] = label


@njit(nogil=True)
def count_labels(counts: np.ndarray, sites: np.ndarray, labels: np.ndarray) -> None:
    """Add the labels (H x W,) of `sites` (n,) to counts (H x W, L)."""
    for n in range(len(sites)):
        counts[sites[n], labels[sites[n]]] += 1
