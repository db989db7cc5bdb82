"""The streams of generators: the state that each starts from. A step of one is `mrfhw.samplers.random_kernel.step`.

It does without numba, which a host of boards need not import.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

__all__ = ["JUMP_LOG2", "SHIFTS", "lane_states"]

JUMP_LOG2 = 64  # steps between the streams of two generators
SHIFTS = (11, 8, 19)  # of x to the left, of what comes of that to the right, and of w
_MASK = 0xFFFFFFFF


def _step_word(state: int) -> int:
    """One step on the 128 bits x + y 2^32 + z 2^64 + w 2^96."""
    x, w = state & _MASK, state >> 96
    t = (x ^ (x << SHIFTS[0])) & _MASK
    return (state >> 32) | ((w ^ (w >> SHIFTS[2]) ^ t ^ (t >> SHIFTS[1])) << 96)


def _apply(columns: list[int], state: int) -> int:
    """A linear map, given by the images of the 128 unit vectors, applied to `state`."""
    out, bit = 0, 0
    while state:
        if state & 1:
            out ^= columns[bit]
        state >>= 1
        bit += 1
    return out


@lru_cache(maxsize=1)
def _jump() -> list[int]:
    """The map of 2^JUMP_LOG2 steps."""
    columns = [_step_word(1 << i) for i in range(128)]
    for _ in range(JUMP_LOG2):
        columns = [_apply(columns, c) for c in columns]
    return columns


def lane_states(seed: int, generators: int) -> np.ndarray:
    """(generators, 4) uint32: the state x, y, z, w that each generator starts from.

    That of the first comes from NumPy's SeedSequence([seed, 0]); each further one is 2^64 steps on, so that
    streams of up to 2^64 draws do not overlap.
    """
    words = [int(w) for w in np.random.SeedSequence([seed, 0]).generate_state(4)]
    state = sum(w << 32 * i for i, w in enumerate(words)) or 1
    out = np.empty((generators, 4), np.uint32)
    for number in range(generators):
        out[number] = [state >> 32 * i & _MASK for i in range(4)]
        if number + 1 < generators:
            state = _apply(_jump(), state)
    return out
