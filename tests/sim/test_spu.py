"""A whole sampling unit under Icarus."""

from __future__ import annotations

import pytest

from mrfhw.config import Config
from mrfhw.gateware.spu import Spu
from mrfhw.sim.runner import run_bench

MACHINES = {
    "race": {"sampler": "race"},
    "cdf-integer": {"sampler": "cdf", "probability_floor": "integer", "label_bits": 5},
    "cdf-power-of-two": {"sampler": "cdf", "probability_floor": "power_of_two", "energy_bits": 8, "probability_bits": 8},
}


@pytest.mark.parametrize("machine", MACHINES)
def test_spu(machine: str) -> None:
    assert run_bench(Spu(Config.preset("smallest", **MACHINES[machine])), "spu", "mrfhw.sim.benches.bench_spu") == 2
