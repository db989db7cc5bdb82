"""Random machines whose lanes share a site, and problems with labels in neighbouring columns."""

from __future__ import annotations

import dataclasses

import numpy as np

from mrfhw.field.problem import ProblemError
from mrfhw.machine.config import Config
from mrfhw.machine.samplers import Race
from mrfhw.placement.placement import Placement
from support.random_fields import random_field, random_field_machine

__all__ = ["lane_placement", "random_lane_machine", "random_subset_machine"]


def random_lane_machine(rng: np.random.Generator, lanes: int) -> Config:
    """A machine of random structure with so many lanes a unit."""
    plain = random_field_machine(rng)
    label_bits = max(plain.label_bits, (lanes - 1).bit_length())
    rows, cols = min(plain.tile_rows, 12), max(lanes, 4) * int(rng.integers(1, 3))
    words = rows * cols * int(rng.choice([8, 32]))
    uniform, segments = ((8, 1), (12, 1), (12, 4), (14, 8))[rng.integers(4)]
    if plain.pairwise_bits and rng.random() < 0.5:
        plain = dataclasses.replace(plain, doubletons="table", vector_bits=0)
    return dataclasses.replace(
        plain, spus=1, lanes=lanes, label_bits=min(label_bits, 7), tile_rows=rows, tile_cols=cols, s2_words=min(words, 1 << 16),
        vector_bits=int(rng.choice([0, plain.vector_bits])), shift_bits=int(rng.choice([0, 2, 4])),
        sampler=Race(uniform_bits=uniform, fraction_bits=int(rng.choice([4, 6])), segments=segments))


def random_subset_machine(rng: np.random.Generator, lanes: int) -> Config:
    """A machine of random structure with so many lanes a unit, which evaluates subsets of a site's slots."""
    plain = random_lane_machine(rng, lanes)
    bits = max(plain.label_bits, lanes.bit_length() + int(rng.integers(1, 3)))
    most = (1 << bits) // lanes - 1
    return dataclasses.replace(plain, label_bits=bits, lmem_banks=4, tile_rows=plain.tile_rows + -plain.tile_rows % 4,
                               subset_slots=int(rng.integers(2, min(most, 9) + 1)))


def _in_columns(rng: np.random.Generator, placement: Placement) -> Placement:
    """The same problem with offsets that follow one another in a row, or in the rows of a window."""
    problem = placement.problem
    labels = np.arange(problem.labels)
    step, width = int(rng.choice([1, -1])), int(rng.choice([3, 7, 256]))
    first = rng.integers(-8, 9, 2)
    offsets = first + np.stack([labels // width, step * (labels % width)], 1)
    return Placement(placement.config, dataclasses.replace(problem, offsets=offsets), placement.run)


def lane_placement(rng: np.random.Generator, config: Config) -> Placement:
    """A random problem that fits `config`, placed; most second images are read in neighbouring columns."""
    while True:
        try:
            found = random_field(rng, config)
            return _in_columns(rng, found) if found.problem.offsets is not None and rng.random() < 0.8 else found
        except ProblemError as error:
            # Only limits that a random draw may meet.
            if not any(words in str(error) for words in ("slots", "labels reach", "costs", "beyond the")):
                raise
