"""A tile under Icarus."""

from __future__ import annotations

import numpy as np
import pytest

from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.gateware.tile.spe import Spe
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.samplers import Race
from mrfhw.placement.placement import Placement
from mrfhw.twin.machine import solve
from sim.support.recorder import placements_to_text
from sim.support.runner import run_bench
from sim.support.timetable import Timetable
from support.long import cases
from support.random_problems import random_placement

SHAPES = {
    "1-lane-race": {"spus": 1, "tile_rows": 6, "tile_cols": 6, "sampler": Race(uniform_bits=8)},
    "2-lanes-4-banks-cdf": {"spus": 2, "tile_rows": 8, "tile_cols": 8, "lmem_banks": 4, "sampler": "cdf"},
    "2-lanes-cdf": {"spus": 2, "tile_rows": 6, "tile_cols": 8, "sampler": "cdf"},
    "4-lanes-a-site-4-banks": {"spus": 1, "lanes": 4, "tile_rows": 8, "tile_cols": 8, "lmem_banks": 4, "pairwise_bits": 3,
                               "doubletons": "table", "vector_bits": 0, "sampler": Race(uniform_bits=8)},
    "4-lanes-4-banks-race": {"spus": 4, "tile_rows": 8, "tile_cols": 8, "lmem_banks": 4, "sampler": Race(uniform_bits=8)},
}


def random_placements(config: Config, count: int) -> list[Placement]:
    """Problems of a few hundred cycles that send messages."""
    rng, found = np.random.default_rng(6), []
    while len(found) < count:
        p = random_placement(rng, config)
        if p.problem.sites > 4 and Timetable(p, 0, p.run.sweeps).cycles < 700:
            messages = solve(config, p.problem, p.run).messages
            if messages is not None and len(messages) > 3:
                found.append(p)
    return found


def hot_placement(config: Derived) -> Placement:
    """A field that sends about as many messages as it draws; as many in all as the FIFO holds at most."""
    shape = (config.tile_rows, config.tile_cols)
    for seed in range(200):
        clamped = np.random.default_rng(seed).random(shape) < (0.4 if seed < 100 else 0.9)
        problem = Problem(labels=8, singleton1=np.zeros(shape, np.int64), constants=np.arange(8), clamped=clamped,
                          schedule=Schedule.constant(100.0))
        p = Placement(config, problem, Run(sweeps=3 + seed % 3, seed=seed))
        messages = solve(config, problem, p.run).messages
        if messages is not None and config.log_depth - config.log_reserve + 2 < len(messages) + 1 <= config.log_depth:
            return p
    raise AssertionError("no such problem")


@pytest.mark.tools
@pytest.mark.claim("Spe", "tile memories over the bus; one tile under a run equals the model; stall threshold")
@pytest.mark.parametrize("name", cases(SHAPES, lambda name: name != "4-lanes-a-site-4-banks"))
def test_spe(name: str) -> None:
    config = Derived(mesh_rows=1, mesh_cols=1, label_bits=3, data_bits=4, counter_bits=2, temperature_table=4, hub_depth=1,
                    s2_words=512, line_bits=64, **SHAPES[name])
    run_bench(Spe(config), "spe", "sim.benches.bench_spe",
                      {"placements": placements_to_text(random_placements(config, 3)),
                       "full": placements_to_text([hot_placement(config)])})
