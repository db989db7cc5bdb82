"""Machines at the ends of their parameters, compiled and compared with the model."""

from __future__ import annotations

import numpy as np
import pytest

from mrfhw.field.result import first_difference
from mrfhw.machine.config import Config
from mrfhw.machine.samplers import Cdf, Race
from mrfhw.simulation.chip import CompiledChip, run_placed
from mrfhw.twin import machine
from support.random_problems import random_placement

MACHINES = {
    "two labels of one bit, wide fan-in": dict(
        mesh_rows=1, mesh_cols=5, spus=1, tile_rows=2, tile_cols=4, label_bits=1, data_bits=1, counter_bits=1, hub_fan_in=16,
        vector_bits=2, energy_bits=4, weight_bits=1, line_bits=32, temperature_table=2),
    "large table, words not a multiple of the banks": dict(
        mesh_rows=2, mesh_cols=1, spus=4, tile_rows=4, tile_cols=8, label_bits=3,
        sampler=Race(uniform_bits=14, fraction_bits=8), temperature_bits=24, s2_words=97, hub_fan_in=8, line_bits=72,
        counter_bits=16),
    "narrow cdf": dict(
        mesh_rows=3, mesh_cols=1, spus=2, tile_rows=6, tile_cols=4, label_bits=3,
        sampler=Cdf(probability_bits=2, floor="power_of_two", exponent_fraction_bits=1, uniform_bits=8), temperature_bits=12,
        energy_bits=20, weight_bits=12, data_bits=8, vector_bits=6, hub_fan_in=2, line_bits=40),
    "wide cdf": dict(
        mesh_rows=1, mesh_cols=1, spus=2, tile_rows=4, tile_cols=8, lmem_banks=4, label_bits=6,
        sampler=Cdf(probability_bits=16, exponent_fraction_bits=8, uniform_bits=24), temperature_bits=24, line_bits=4096),
}


LONG = ("narrow cdf", "wide cdf", "large table, words not a multiple of the banks")


@pytest.mark.tools
@pytest.mark.claim("machine", "machines at the ends of their parameters: RTL equals model (more cases: make long)")
@pytest.mark.parametrize("name", [
    pytest.param(name, marks=[pytest.mark.long] if name in LONG else []) for name in MACHINES])
def test_rtl_equals_model(name: str):
    config = Config(**MACHINES[name])  # type: ignore[arg-type]
    rng = np.random.default_rng(len(name))
    with CompiledChip(config, quick=True) as chip:
        for _ in range(25):
            placement = random_placement(rng, config)
            wanted = machine.solve(config, placement.problem, placement.run)
            difference = first_difference(run_placed(chip, placement, patience=10_000_000), wanted)
            assert difference is None, f"{difference}\n{placement.problem}\n{placement.run}"
