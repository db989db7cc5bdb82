"""The temperature schedule under Icarus."""

from __future__ import annotations

import numpy as np
import pytest

from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.gateware.control.temperature import TemperatureSchedule
from mrfhw.machine.config import Config
from mrfhw.placement.placement import Placement
from sim.support.recorder import placements_to_text
from sim.support.runner import run_bench

SCHEDULES = (
    Schedule.constant(7.5),
    Schedule.geometric(30.0, 0.7, 2.0),  # meets its limit after eight sweeps
    Schedule.geometric(4.0, 0.999, 1.0),  # a step is less than one unit of the coefficient
    Schedule.geometric(25.0, 0.26, 24.0),  # limit at once
    Schedule.geometric(6.0, 1.0, 6.0),  # the ratio's and the limit's ends
    Schedule.of_table((9.0, 3.5, 20.0, 1.0)),  # the whole table, not monotonic
    Schedule.of_table((12.0, 5.0), 3),
    Schedule.of_table((2.0,), 2),
)


@pytest.mark.tools
@pytest.mark.claim(
    "TemperatureSchedule", "equals its reference sweep by sweep: constant, geometric, table, stride, limits; exact latency")
@pytest.mark.parametrize(("sampler", "shift"), [("race", 0), ("cdf", 2)])
def test_temperature(sampler: str, shift: int) -> None:
    config = Config(mesh_rows=1, mesh_cols=1, spus=1, tile_rows=2, tile_cols=2, sampler=sampler, temperature_table=4,
                    temperature_bits=18 if shift else 24, line_bits=64)
    placements = [Placement(config, Problem(labels=2, singleton1=np.zeros((2, 2), np.int64), constants=np.array([0, 1]),
                                            energy_shift=shift, schedule=schedule), Run(sweeps=1)) for schedule in SCHEDULES]
    run_bench(TemperatureSchedule(config), "temperature", "sim.benches.bench_temperature",
                      {"placements": placements_to_text(placements), "sweeps": 11})
