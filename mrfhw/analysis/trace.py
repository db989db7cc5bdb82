"""How chains moved: the energy and some sites' labels, sweep by sweep."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Trace"]


@dataclass(frozen=True, kw_only=True)
class Trace:
    """What was seen of every chain while it ran.

    sweeps: (n,) int64, the number of finished sweeps at each look. burn_in: sweeps that do not count.
    energy: (chains, n) float64, the total energy of the labels (alpha E_singleton of sites, beta E_doubleton of edges).
    sites: (m, 2) int64, the (row, column) of the sampled unclamped sites. labels: (chains, n, m) uint8.
    """

    sweeps: np.ndarray
    burn_in: int
    energy: np.ndarray
    sites: np.ndarray
    labels: np.ndarray

    @property
    def counted(self) -> np.ndarray:
        """(n,) bool: the looks after the burn-in."""
        return self.sweeps > self.burn_in
