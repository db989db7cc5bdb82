"""The scheduler under Icarus, and its timetable against the model's cycle counts."""

from __future__ import annotations

import numpy as np
import pytest

from mrfhw.gateware.control.scheduler import Scheduler
from mrfhw.machine.config import Config
from mrfhw.placement.placement import Placement
from mrfhw.twin.machine import solve
from sim.support.recorder import placements_to_text
from sim.support.runner import run_bench
from sim.support.timetable import Timetable
from support.random_problems import random_placement

ORDER_ADDRESSES_DELAYS = pytest.mark.claim(
    "Scheduler", "order, addresses, delays, overlap, stalls, stop and resume, counters, cycle by cycle")

# A lane each, banks, tile, sampler: one port and four, colours that overlap and that do not.
CONFIGS = {
    "1-lane": {"spus": 1, "tile_rows": 8, "tile_cols": 6, "sampler": "race"},
    "1-lane-4-banks": {"spus": 1, "tile_rows": 8, "tile_cols": 8, "lmem_banks": 4, "sampler": "race"},
    "4-lanes-a-site": {"spus": 1, "lanes": 4, "tile_rows": 8, "tile_cols": 8, "lmem_banks": 4, "sampler": "race"},
    "2-lanes": {"spus": 2, "tile_rows": 16, "tile_cols": 12, "sampler": "race"},
    "2-lanes-4-banks": {"spus": 2, "tile_rows": 12, "tile_cols": 12, "lmem_banks": 4, "sampler": "cdf"},
    "4-lanes": {"spus": 4, "tile_rows": 6, "tile_cols": 16, "sampler": "cdf"},
    "4-lanes-4-banks": {"spus": 4, "tile_rows": 16, "tile_cols": 16, "lmem_banks": 4, "sampler": "race"},
}


def small_config(name: str) -> Config:
    return Config(mesh_rows=2, mesh_cols=2, label_bits=3, temperature_table=4, s2_words=4096, line_bits=64, **CONFIGS[name])


def small_placements(config: Config, seed: int, count: int) -> list[Placement]:
    """Random problems of a few hundred cycles; one that lets colours overlap among them, if the tile does."""
    rng, found = np.random.default_rng(seed), []
    while len(found) < count:
        p = random_placement(rng, config)
        if p.run.sweeps <= 3 and Timetable(p, 0, p.run.sweeps).cycles <= 800 and (found or p.overlap or config.tile_rows <= 8):
            found.append(p)
    return found


@ORDER_ADDRESSES_DELAYS
def test_some_overlap_and_some_do_not() -> None:
    overlaps = [p.overlap for name in CONFIGS for p in small_placements(small_config(name), 1, 4)]
    assert 4 <= sum(overlaps) <= len(overlaps) - 4


@pytest.mark.tools
@pytest.mark.claim("RowPointer",
    "order of sweeps, colours, rows and groups; burn-in; sweeps counted in the cycle in which their last label is in LMem")
@pytest.mark.claim("GroupStates",
    "an interval a group, stalls between groups, a wait for the labels where colours do not overlap, stop and resume")
@pytest.mark.claim(
    "WriteBacks", "a lane a slot, Config.commit_delay(L) slots after a group's first label; the end marker after the last")
@pytest.mark.claim("LabelMemoryOperations",
    "fetches beside the write-backs, one bank and four; every operation in the cycle in which a tile takes it")
@pytest.mark.claim("LabelSlots",
    "labels in order with their vectors, constants and singleton-2 words, each in the cycle in which a tile takes it")
@pytest.mark.claim("SweepTemperature", "the coefficient changes in the one cycle in which a sweep's first label needs it")
@ORDER_ADDRESSES_DELAYS
@pytest.mark.parametrize("name", ["1-lane", "4-lanes-4-banks", "4-lanes-a-site", *(
    pytest.param(name, marks=pytest.mark.long) for name in ("1-lane-4-banks", "2-lanes", "2-lanes-4-banks", "4-lanes"))])
def test_scheduler(name: str) -> None:
    config = small_config(name)
    placements = small_placements(config, 1, 4)
    run_bench(Scheduler(config), "scheduler", "sim.benches.bench_scheduler",
                      {"seed": 1, "placements": placements_to_text(placements)})


@pytest.mark.claim("Scheduler", "the scheduler's timetable takes the model's cycles")
@pytest.mark.parametrize("name", CONFIGS)
def test_timetable_takes_the_cycles_of_the_model(name: str) -> None:
    config = small_config(name)
    for p in small_placements(config, 2, 4):
        result, table = solve(config, p.problem, p.run), Timetable(p, 0, p.run.sweeps)
        assert table.cycles + (result.stall_cycles or 0) == result.cycles
        assert table.state.count("gap") == result.gap_cycles
