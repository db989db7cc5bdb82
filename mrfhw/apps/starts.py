"""First labels that shorten the burn-in."""

from __future__ import annotations

import numpy as np

from mrfhw.field.energy import singleton_energy
from mrfhw.field.problem import Problem

__all__ = ["BOX", "box_start", "box_sum"]

BOX = 9  # rows and columns of sites whose singletons are added


def box_sum(values: np.ndarray, size: int) -> np.ndarray:
    """Sums over size x size values around each, int64 (H, W); size is odd. Beyond the edges the nearest value stands."""
    half = size // 2
    total = np.pad(values, half, mode="edge").astype(np.int64)
    for axis in (0, 1):
        below = np.cumsum(total, axis)
        below = np.concatenate([np.zeros_like(below[:1] if axis == 0 else below[:, :1]), below], axis)
        total = below[size:] - below[:-size] if axis == 0 else below[:, size:] - below[:, :-size]
    return total


def box_start(problem: Problem, size: int = BOX) -> np.ndarray:
    """Labels, uint8 (H, W), of the least sum of the singletons of a label over size x size sites, the lowest on ties."""
    label = np.zeros(problem.shape, np.uint8)
    least = box_sum(singleton_energy(problem, 0), size)
    for other in range(1, problem.labels):
        sums = box_sum(singleton_energy(problem, other), size)
        better = sums < least
        label[better], least[better] = other, sums[better]
    return label
