"""A whole sampling unit under Icarus."""

from __future__ import annotations

import pytest

from mrfhw.gateware.unit.spu import Spu
from mrfhw.machine.config import Config
from mrfhw.machine.samplers import Cdf
from sim.support.runner import run_bench
from support.long import cases

MACHINES = {
    "race": {"sampler": "race"},
    "race-2-lanes": {"lanes": 2, "label_bits": 4},
    "race-8-lanes": {"lanes": 8, "edge_bits": 2, "label_bits": 5},
    "cdf-integer": {"sampler": Cdf(floor="integer"), "label_bits": 5},
    "cdf-power-of-two": {"sampler": Cdf(floor="power_of_two", probability_bits=8), "energy_bits": 8},
}


LONG = ("race-2-lanes", "cdf-power-of-two")


@pytest.mark.tools
@pytest.mark.claim(
    "Spu", "the model's label Config.spu_latency(L) cycles after the first label, interval L, under random pauses")
@pytest.mark.parametrize("machine", cases(MACHINES, LONG.__contains__))
def test_spu(machine: str) -> None:
    assert run_bench(Spu(Config.preset("smallest", **MACHINES[machine])), "spu", "sim.benches.bench_spu") == 2
