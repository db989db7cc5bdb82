"""Which slots a tile chooses, under Icarus."""

from __future__ import annotations

import numpy as np
import pytest

from mrfhw.field.problem import Problem, Run
from mrfhw.gateware.tile.subset_choice import SubsetChoice
from mrfhw.machine.config import Config
from mrfhw.placement.placement import Placement
from sim.support.recorder import placements_to_text
from sim.support.runner import run_bench


@pytest.mark.tools
@pytest.mark.claim("SubsetChoice",
    "a subset's slots are those of the neighbours' labels and others that are drawn, with their weights, in the cycles stated")
@pytest.mark.parametrize(("lanes", "subset_slots", "label_bits"), [
    (1, 6, 6), (2, 2, 4), (4, 4, 5), (1, 8, 5),
    *(pytest.param(*sizes, marks=pytest.mark.long) for sizes in ((4, 3, 4), (2, 6, 5)))])
def test_subset_choice(lanes: int, subset_slots: int, label_bits: int) -> None:
    config = Config.preset("smallest", lanes=lanes, subset_slots=subset_slots, label_bits=label_bits, lmem_banks=4, s2_words=2048)
    pixels = np.zeros((16, 16), np.int64)
    window = np.array([(row, col) for row in range(-1, 2) for col in range(-1, 2)])
    problems = [Problem(labels=labels, singleton1=pixels, constants=np.zeros(labels, np.int64))
                for labels in (1 << label_bits, (1 << label_bits) - 1, lanes * subset_slots)]
    problems.append(Problem(labels=9, singleton1=pixels, singleton2=pixels, offsets=window))  # slots of unlike numbers of labels
    run_bench(SubsetChoice(config), "subset_choice", "sim.benches.bench_subset_choice",
              {"placements": placements_to_text([Placement(config, problem, Run(sweeps=1)) for problem in problems])})
