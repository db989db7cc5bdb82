"""Energies along paths of sites (compiled)."""

from __future__ import annotations

import numpy as np

from mrfhw.system.numba_alone import njit

__all__ = ["add_paths"]


@njit(nogil=True)
def add_paths(sums: np.ndarray, own: np.ndarray, states: np.ndarray, weights: np.ndarray, offsets: np.ndarray, costs: np.ndarray,
              far: np.floating, first: int, last: int, line_stride: int, steps: int, stride: int) -> None:
    """The least energies with which paths, one of each line from `first` to before `last`, come to each site with each label.

    Line i has `steps` sites; its site n is i * line_stride + n * stride, or backwards for a negative stride, of a block whose data
    lie site by site: own (sites, L), the singletons; sums (sites, L), to which the energies are added where there are any (size
    0: none); weights (sites,), of the edge to the site before, 0 where there is none. states (lines, L): the energies at the site
    before the first, and then at the last one, each site's less the least of the one before, so that they stay small.
    offsets (K,), costs (K, L): the doubleton of label l with label l + offset. far: of l with all other labels, no less than any.
    """
    labels = states.shape[1]
    found = np.empty(labels, states.dtype)
    for line in range(first, last):
        before = states[line]
        at = line * line_stride + (0 if stride > 0 else -(steps - 1) * stride)
        for _ in range(steps):
            weight, least = weights[at], before[0]
            for label in range(labels):
                least = min(least, before[label])
            found[:] = least + weight * far
            for k in range(len(offsets)):
                low, high = max(0, -offsets[k]), min(labels, labels - offsets[k])
                ours, theirs, cost = found[low:high], before[low + offsets[k]:high + offsets[k]], costs[k, low:high]
                for label in range(len(ours)):  # of slices from 0, as vector instructions take them
                    energy = theirs[label] + weight * cost[label]
                    ours[label] = energy if energy < ours[label] else ours[label]
            single = own[at]
            for label in range(labels):
                before[label] = found[label] - least + single[label]
            if sums.size > 0:
                total = sums[at]
                for label in range(labels):
                    total[label] += before[label]
            at += stride
