"""The energy pipeline under Icarus."""

from __future__ import annotations

import dataclasses

import pytest
from amaranth.back import verilog

from mrfhw.gateware.unit.energy import EnergyPipeline
from mrfhw.machine.config import Config
from sim.support.runner import run_bench
from support.long import cases

MACHINES = {
    "default": {},
    # Energies that saturate at 15: both sides of the limit are met often.
    "narrow": {"label_bits": 2, "data_bits": 2, "energy_bits": 4, "weight_bits": 2, "vector_bits": 2},
    "wide": {"label_bits": 5, "data_bits": 8, "energy_bits": 20, "weight_bits": 12, "vector_bits": 6},
    "descriptors": {"label_bits": 3, "data_bits": 31, "distance": "hamming", "singleton_cap": 1, "edge_bits": 4},
    "three channels, table": {"label_bits": 3, "data_bits": 8, "data_bits_2": 5, "data_bits_3": 3, "distance": "both",
                              "singleton_cap": 1, "edge_bits": 2, "pairwise_bits": 6, "energy_bits": 16},
    "a table alone": {"label_bits": 3, "data_bits": 8, "distance": "hamming", "singleton_cap": 1, "edge_bits": 2,
                      "doubletons": "table", "pairwise_bits": 2, "vector_bits": 0, "shift_bits": 0, "weight_bits": 4},
    "two channels, 256 labels": {"label_bits": 8, "data_bits": 4, "data_bits_2": 8, "pairwise_bits": 3},
}


@pytest.mark.claim("EnergyPipeline", "registers for the run's parameters are there where they are declared, and nowhere else")
@pytest.mark.parametrize("stages", [0, 1])
def test_parameters_have_their_registers(stages: int) -> None:
    config = Config.preset("smallest")
    pipeline = EnergyPipeline(config.with_latency(dataclasses.replace(config.latency, parameters=stages)))
    assert ("parameters_held" in verilog.convert(pipeline, emit_src=False)) == bool(stages)


LONG = ("wide", "descriptors")  # what the others have in part


@pytest.mark.tools
@pytest.mark.claim("EnergyPipeline",
    "E(l) of Equation 3.1 exactly Latency.energy cycles after its operands; all functions, saturation, truncation, unobserved, out"
    " of range, missing neighbours")
@pytest.mark.claim("field",
    "the RTL equals the model in all of them, alone and mixed: random machines (33 more by make long), the energy pipeline on "
    "Icarus")
@pytest.mark.parametrize("machine", cases(MACHINES, LONG.__contains__))
def test_energy(machine: str) -> None:
    config = Config.preset("smallest", **MACHINES[machine])
    assert run_bench(EnergyPipeline(config), "energy_pipeline", "sim.benches.bench_energy") == 2
