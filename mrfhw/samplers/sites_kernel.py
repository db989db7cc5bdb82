"""Flags of sites, their neighbours' labels, and the energies of a site's labels (compiled).

Indices are unsigned (`U`) in inner loops, because numba tests signed ones for being negative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mrfhw.system.numba_alone import njit

__all__ = ["CLAMPED", "DOWN", "EXISTS", "LEFT", "RIGHT", "UP", "U", "around", "fill_flags", "site_energies"]

EXISTS, CLAMPED, UP, DOWN, LEFT, RIGHT = (1 << bit for bit in range(6))  # flags of a site; the last four: its neighbours
U = np.uint64
Int = Any  # a Python or NumPy integer


@njit()
def fill_flags(flags: np.ndarray, rows: int, cols: Int) -> None:
    """Add to flags (padded) which neighbours of the image's sites exist."""
    for row in range(rows):
        for col in range(cols):
            flags[row, col] |= ((UP if row > 0 else 0) | (DOWN if row + 1 < rows else 0) | (LEFT if col > 0 else 0)
                                | (RIGHT if col + 1 < cols else 0))


@njit(inline="always")
def around(labels: np.ndarray, flags: Int, site: Int, stride: Int, none: Int) -> tuple[Int, Int, Int, Int]:
    """Labels of the neighbours above, below, to the left and to the right; `none` for one that does not exist."""
    return (np.uint64(labels[site - stride]) if flags & UP else none, np.uint64(labels[site + stride]) if flags & DOWN else none,
            np.uint64(labels[site - U(1)]) if flags & LEFT else none, np.uint64(labels[site + U(1)]) if flags & RIGHT else none)


@njit(inline="always")
def site_energies(energy: np.ndarray, singles: np.ndarray, at: Int, doubles: np.ndarray, edges: np.ndarray, flags: Int,
                  labels: np.ndarray, site: Int, stride: Int, none: Int, shift: Int, e_max: Int, narrow: bool) -> None:
    """E(l) of the site with flat index `site` (Equation 3.1), its labels side by side.

    energy: (L,), of the type of singles or wider. at: its row of singles. doubles: (1 or 2, L + 1, L) beta E_doubleton by the
    neighbour's label and the site's: of the neighbour above or to the left, and of the other two where they differ. The last row,
    `none`, is zeros, for a neighbour that does not exist. edges: (sites, 4) weights of the edges up, down, left and right, or of
    size 0 where all are 1. narrow: shift and e_max change something.
    """
    up, down, left, right = around(labels, flags, site, stride, none)
    after = U(doubles.shape[0] - 1)
    if edges.size > 0:
        above, below = energy.dtype.type(edges[site, 0]), energy.dtype.type(edges[site, 1])
        before, behind = energy.dtype.type(edges[site, 2]), energy.dtype.type(edges[site, 3])
        for label in range(none):
            energy[label] = (singles[at, label] + above * doubles[0, up, label] + below * doubles[after, down, label]
                             + before * doubles[0, left, label] + behind * doubles[after, right, label])
    else:
        for label in range(none):
            energy[label] = (singles[at, label] + doubles[0, up, label] + doubles[after, down, label] + doubles[0, left, label]
                             + doubles[after, right, label])
    if narrow:
        for label in range(none):
            energy[label] = min(energy[label] >> shift, e_max)
