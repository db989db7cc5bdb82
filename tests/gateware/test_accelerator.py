"""A mesh of 2 x 2 tiles under Icarus, driven over its bus."""

from __future__ import annotations

import numpy as np
import pytest

from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.gateware.mesh.accelerator import Accelerator
from mrfhw.machine.config import Config
from mrfhw.machine.samplers import Race
from mrfhw.placement.placement import Placement
from mrfhw.twin.machine import solve
from sim.support.recorder import placements_to_text
from sim.support.runner import run_bench
from sim.support.timetable import Timetable
from support.random_problems import random_placement

MACHINES = {
    "race-1-lane": {"sampler": Race(uniform_bits=8), "spus": 1, "lmem_banks": 1, "tile_rows": 4, "tile_cols": 4},
    "cdf-2-lanes-4-banks": {"sampler": "cdf", "spus": 2, "lmem_banks": 4, "tile_rows": 4, "tile_cols": 4},
}


SHORT = {"race-1-lane": ("log_always_ready", "stop_and_resume")}
LONG = {"race-1-lane": ("random_bus_idle_and_log_ready", "stress_log_seldom_taken"),
        "cdf-2-lanes-4-banks": ("log_always_ready", "random_bus_idle_and_log_ready", "stop_and_resume", "stress_log_seldom_taken")}


def placements(config: Config, count: int) -> list[Placement]:
    """Random problems that use more than one tile, with a second image, and send messages."""
    rng, found = np.random.default_rng(9), []
    while len(found) < count:
        p = random_placement(rng, config)
        many = p.problem.shape[0] > p.tile_rows and p.problem.shape[1] > p.tile_cols and p.problem.offsets is not None
        if many and Timetable(p, 0, p.run.sweeps).cycles < 500:
            result = solve(config, p.problem, p.run)
            if result.messages is not None and len(result.messages) > 5:
                found.append(p)
    return found


def crossing(config: Config) -> Placement:
    """Offsets to all sides: each tile needs pixels of its neighbours, diagonal ones too, and labels across edges."""
    rng = np.random.default_rng(10)
    shape = (config.mesh_rows * config.tile_rows, config.mesh_cols * config.tile_cols)
    offsets = np.array([(0, 0), (-3, -3), (3, 3), (2, -3), (-2, 3), (-3, 0), (0, 3)])
    problem = Problem(labels=7, singleton1=rng.integers(0, 16, shape), singleton2=rng.integers(0, 16, shape), offsets=offsets,
                      alpha=3, beta=4, tau=3, out_of_range=9, schedule=Schedule.constant(12.0))
    return Placement(config, problem, Run(sweeps=2, seed=11))


def hot(config: Config, sweeps: int) -> Placement:
    """Every draw evicts: many labels, no energy to speak of."""
    shape = (config.mesh_rows * config.tile_rows, config.mesh_cols * config.tile_cols - 1)
    problem = Problem(labels=8, singleton1=np.zeros(shape, np.int64), constants=np.arange(8),
                      schedule=Schedule.geometric(100.0, 0.9, 50.0))
    return Placement(config, problem, Run(sweeps=sweeps, seed=4))


@pytest.mark.tools
@pytest.mark.claim("Cluster",
    "scheduler, mesh, parameters and end marker: a run over its ports equals the model; busy until the marker is taken")
@pytest.mark.claim("Accelerator",
    "a 2x2 mesh in Icarus over its own bus and log equals the model in labels, histogram, messages and cycles, under pauses")
@pytest.mark.parametrize(("name", "tests"), [
    *SHORT.items(), *(pytest.param(*item, marks=pytest.mark.long) for item in LONG.items())])
def test_accelerator(name: str, tests: tuple[str, ...]) -> None:
    config = Config(mesh_rows=2, mesh_cols=2, label_bits=3, data_bits=4, counter_bits=1, temperature_table=4, hub_depth=1,
                    hub_fan_in=4, s2_words=256, line_bits=64, **MACHINES[name])
    run_bench(Accelerator(config), "accelerator", "sim.benches.bench_accelerator",
              {"placements": placements_to_text([crossing(config), *placements(config, 1)]),
               "chain": placements_to_text([hot(config, 2)]), "hot": placements_to_text([hot(config, 4)])},
              testcase=tests)
