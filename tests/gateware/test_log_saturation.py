"""The log network saturated on purpose, on the compiled chip: stalls are counted, nothing is lost, nothing changes."""

from __future__ import annotations

import numpy as np
import pytest

from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.field.result import Result, first_difference
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.samplers import Race
from mrfhw.placement.placement import Placement
from mrfhw.simulation.chip import CompiledChip, run_placed
from mrfhw.twin.machine import solve

pytestmark = pytest.mark.tools

# Mesh, fan-in of the hubs and lanes a tile, by levels of the tree.
MACHINES = {
    "no-hub": (0, {"mesh_rows": 1, "mesh_cols": 1, "spus": 4, "lmem_banks": 4}),
    "one-level": (1, {"mesh_rows": 2, "mesh_cols": 2, "spus": 2, "lmem_banks": 4}),
    "two-levels": (2, {"mesh_rows": 2, "mesh_cols": 4, "spus": 4, "lmem_banks": 1}),
    "two-levels-cdf": (2, {"mesh_rows": 2, "mesh_cols": 2, "hub_fan_in": 2, "spus": 4, "lmem_banks": 4, "sampler": "cdf"}),
}


def machine(name: str) -> Config:
    levels, shape = MACHINES[name]
    config = Derived(**{"tile_rows": 16, "tile_cols": 16, "label_bits": 3, "data_bits": 2, "counter_bits": 1, "hub_depth": 1,
                        "hub_fan_in": 4, "line_bits": 64, "temperature_table": 2,
                        "s2_words": 16, "sampler": Race(uniform_bits=8), **shape})
    assert config.tree_levels == levels
    return config


def hot_field(config: Config, labels: int) -> Placement:
    """Nearly every draw changes the label and evicts a pair: high temperature, no singleton, counters of one bit."""
    shape = (config.mesh_rows * config.tile_rows - 1, config.mesh_cols * config.tile_cols)
    schedule = Schedule.constant(200.0 if isinstance(config.sampler, Race) else 60.0)
    problem = Problem(labels=labels, singleton1=np.zeros(shape, np.int64), constants=np.zeros(labels, np.int64),
                      schedule=schedule)
    return Placement(config, problem, Run(sweeps=12, burn_in=1, seed=5))


def same_results(found: Result, wanted: Result) -> None:
    """All but the stalls."""
    assert found.messages is not None
    assert found.messages_counted == len(found.messages)
    unstalled = [(r.cycles or 0) - (r.stall_cycles or 0) for r in (found, wanted)]
    assert unstalled[0] == unstalled[1] > 0
    found.cycles, found.stall_cycles = wanted.cycles, wanted.stall_cycles
    assert first_difference(wanted, found) is None, first_difference(wanted, found)
    assert (found.counts.sum(-1) == 11).all()


@pytest.mark.claim("log", "a saturated log stalls, loses nothing and changes no result")
@pytest.mark.parametrize("name", ["no-hub", pytest.param("two-levels-cdf", marks=pytest.mark.long)])
def test_log_seldom_taken(name: str) -> None:
    """In one cycle of 6, of 32 and of 64, at random, on one chip."""
    config = machine(name)
    placement = hot_field(config, 8)
    wanted = solve(config, placement.problem, placement.run)
    assert wanted.messages is not None
    assert len(wanted.messages) > 0.7 * placement.problem.sites * 10
    stalls = []
    for of_256 in (42, 8, 4):
        with CompiledChip(config, (of_256, 7), quick=True) as chip:
            found = run_placed(chip, placement, patience=20_000_000)
        stalls.append(found.stall_cycles)
        same_results(found, wanted)
    assert 0 < stalls[0] < stalls[1] < stalls[2]


@pytest.mark.claim("log", "stall cycles under internal saturation equal the model's, whatever ran before")
@pytest.mark.parametrize("name", [
    pytest.param(name, marks=[pytest.mark.long] if name != "two-levels" else [])
    for name, (levels, _) in MACHINES.items() if levels])
def test_more_messages_than_the_network_carries(name: str) -> None:
    """An always-ready log, but one message a cycle at the root at most: the model has the stalls to the cycle."""
    config = machine(name)
    placement = hot_field(config, 4)
    wanted = solve(config, placement.problem, placement.run)
    assert wanted.stall_cycles
    with CompiledChip(config, quick=True) as chip:
        for number in range(2):  # the second run's stalls must not depend on the first
            found = run_placed(chip, placement, patience=20_000_000)
            assert found.stall_cycles == wanted.stall_cycles, number
            assert first_difference(wanted, found) is None, first_difference(wanted, found)
    same_results(found, wanted)
