"""Writes the generator's output, packed at the bits used a step, to standard output without end.

For a battery: python -m studies.random_bits --bits 12 | dieharder -a -g 200
"""

from __future__ import annotations

import argparse
import sys

import numba
import numpy as np

from mrfhw.samplers.random import lane_states
from mrfhw.samplers.random_kernel import output, step

STEPS = 1 << 20


@numba.njit
def fill(state: np.ndarray, lanes: int, bits: int, out: np.ndarray) -> None:
    """Pack STEPS values of `bits` bits, lanes in turn, lowest bit first, into bytes."""
    held, filled, at = 0, 0, 0
    for i in range(STEPS):
        lane = i % lanes
        step(state, lane)
        held |= output(state, lane, bits) << filled
        filled += bits
        while filled >= 8:
            out[at] = held & 255
            held >>= 8
            filled -= 8
            at += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bits", type=int, default=12, help="bits of a step, from the top (race 12, cdf 18)")
    parser.add_argument("--lanes", type=int, default=1, help="streams, interleaved value by value")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    state = lane_states(options.seed, options.lanes)
    out = np.empty(STEPS * options.bits // 8, np.uint8)
    try:
        while True:
            fill(state, options.lanes, options.bits, out)
            sys.stdout.buffer.write(out)
    except BrokenPipeError:
        sys.stderr.close()


if __name__ == "__main__":
    main()
