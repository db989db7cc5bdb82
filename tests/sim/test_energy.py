"""The energy pipeline under Icarus."""

from __future__ import annotations

import pytest

from mrfhw.gateware.unit.energy import EnergyPipeline
from mrfhw.machine.config import Config
from mrfhw.sim.support.runner import run_bench

MACHINES = {
    "default": {},
    # Energies that saturate at 15: both sides of the limit are met often.
    "narrow": {"label_bits": 2, "data_bits": 2, "energy_bits": 4, "weight_bits": 2, "vector_bits": 2},
    "wide": {"label_bits": 5, "data_bits": 8, "energy_bits": 20, "weight_bits": 12, "vector_bits": 6},
}


@pytest.mark.parametrize("machine", MACHINES)
def test_energy(machine: str) -> None:
    config = Config.preset("smallest", **MACHINES[machine])
    assert run_bench(EnergyPipeline(config), "energy_pipeline", "mrfhw.sim.benches.bench_energy") == 2
