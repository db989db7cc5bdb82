"""The generator's twin and its streams."""

from __future__ import annotations

import numpy as np
import pytest

from mrfhw.samplers import random as twin
from mrfhw.samplers.random_kernel import output, step

VALUE_WORD_EQUAL = pytest.mark.claim(
    "Random", "value and word equal the twin every cycle, under pauses, loads and rotations; published values; jumps")


def steps(state: list[int], count: int) -> list[int]:
    """Marsaglia's xorshift128 on plain integers: the state after `count` steps."""
    x, y, z, w = state
    for _ in range(count):
        t = (x ^ (x << 11)) & 0xFFFFFFFF
        x, y, z, w = y, z, w, w ^ (w >> 19) ^ t ^ (t >> 8)
    return [x, y, z, w]


@VALUE_WORD_EQUAL
def test_known_values():
    """The published seed's first outputs (Marsaglia 2003, xor128): 3701687786, 458299110, 2500872618."""
    state = np.array([[123456789, 362436069, 521288629, 88675123]], np.uint32)
    seen = []
    for _ in range(3):
        step(state, 0)
        seen.append(int(state[0, 3]))
    assert seen == [3701687786, 458299110, 2500872618]


def test_step_and_output_against_plain_integers():
    state = twin.lane_states(5, 3)
    for lane in range(3):
        plain = [int(v) for v in state[lane]]
        for _ in range(100):
            step(state, lane)
            plain = steps(plain, 1)
            assert [int(v) for v in state[lane]] == plain
            assert output(state, lane, 12) == (plain[3] + plain[1] & 0xFFFFFFFF) >> 20


@VALUE_WORD_EQUAL
def test_jump_is_the_step_applied_that_often():
    """The jump map is the step's map squared JUMP_LOG2 times: checked where few squarings can be stepped."""
    columns = [twin._step_word(1 << i) for i in range(128)]
    for log2 in range(1, 9):
        columns = [twin._apply(columns, c) for c in columns]
        start = 0x0123456789ABCDEF_FEDCBA9876543210_0F1E2D3C4B5A6978 % (1 << 128)
        words = [start >> 32 * i & 0xFFFFFFFF for i in range(4)]
        expected = sum(w << 32 * i for i, w in enumerate(steps(words, 1 << log2)))
        assert twin._apply(columns, start) == expected
    states = twin.lane_states(1, 3).astype(object)
    as_word = [sum(int(w) << 32 * i for i, w in enumerate(s)) for s in states]
    assert twin._apply(twin._jump(), as_word[0]) == as_word[1]
    assert twin._apply(twin._jump(), as_word[1]) == as_word[2]


def test_seeds_and_lanes_differ():
    states = np.concatenate([twin.lane_states(seed, 64) for seed in range(4)])
    assert len(np.unique(states, axis=0)) == 256
