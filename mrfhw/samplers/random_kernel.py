"""The compiled generator of uniform numbers, Marsaglia's xorshift128; where its streams start: `mrfhw.samplers.random`."""

from __future__ import annotations

from typing import Any

import numpy as np

from mrfhw.samplers.random import SHIFTS
from mrfhw.system.numba_alone import njit

__all__ = ["output", "step"]

Int = Any  # a Python or NumPy integer
_X, _T, _W = map(np.uint32, SHIFTS)


@njit(inline="always")
def step(state: np.ndarray, lane: Int) -> None:
    """One step of lane `lane` of a (lanes, 4) uint32 state."""
    x = state[lane, 0]
    w = state[lane, 3]
    t = x ^ np.uint32(x << _X)  # numba widens shifts to 64 bits
    state[lane, 0] = state[lane, 1]
    state[lane, 1] = state[lane, 2]
    state[lane, 2] = w
    state[lane, 3] = w ^ (w >> _W) ^ t ^ (t >> _T)


@njit(inline="always")
def output(state: np.ndarray, lane: Int, bits: int) -> int:
    """The value that goes with a state: the top `bits` of (w + y) mod 2^32."""
    total = np.uint32(state[lane, 3] + state[lane, 1])
    return int(np.int64(total) >> (32 - bits))
