"""The two colours of a field's sites: those of one have no neighbours of their own, and are drawn at once."""

from __future__ import annotations

import numpy as np

__all__ = ["COLOURS", "colours"]

COLOURS = (0, 1)  # of a sweep, in order: black sites (row + column even), then white ones


def colours(shape: tuple[int, int]) -> np.ndarray:
    """(H, W) uint8: the colour of each site."""
    rows, cols = (np.arange(size) % len(COLOURS) for size in shape)
    return np.bitwise_xor.outer(rows.astype(np.uint8), cols.astype(np.uint8))
