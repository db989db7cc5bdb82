"""Both samplers under Icarus, and the benches' draws against the model's."""

from __future__ import annotations

import numpy as np
import pytest

from mrfhw.gateware.unit.samplers import sampler
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.samplers import Cdf, Race
from sim.support.references import Twin, cdf_label, draw, race_label
from sim.support.runner import run_bench
from support.long import cases

pytestmark = [
    pytest.mark.claim(
        "RaceSampler", "Gumbel-max exactly Latency.draw cycles after the last label, lowest on ties, one generator step a label"),
    pytest.mark.claim("CdfSampler",
        "Equations 3.2-3.4, both floors, exactly Latency.draw cycles after the last label, one generator step a site"),
]

MACHINES = {
    "race": {"sampler": "race"},
    "race-4-lanes": {"lanes": 4, "label_bits": 4},
    # Where noise is short, the highest score of a label is near that of a lane without one.
    "race-4-lanes-cold": {"lanes": 4, "label_bits": 4, "energy_bits": 16, "temperature_bits": 12},
    "race-segments": {"sampler": Race(uniform_bits=14, segments=8), "label_bits": 4},
    "race-coarse": {"sampler": Race(uniform_bits=8, fraction_bits=4), "label_bits": 3, "energy_bits": 8, "temperature_bits": 12},
    "cdf-integer": {"sampler": Cdf(floor="integer")},
    "cdf-power-of-two": {"sampler": Cdf(floor="power_of_two", probability_bits=8), "energy_bits": 8},
    "cdf-coarse": {"sampler": Cdf(probability_bits=4, uniform_bits=8, exponent_fraction_bits=3), "label_bits": 3, "energy_bits": 16,
                   "temperature_bits": 16},
}


LONG = ("race-segments", "cdf-coarse")  # under Icarus


@pytest.mark.tools
@pytest.mark.parametrize("machine", cases(MACHINES, LONG.__contains__))
def test_sampler(machine: str) -> None:
    config = Config.preset("smallest", **MACHINES[machine])
    assert run_bench(sampler(config), "sampler", "sim.benches.bench_samplers") == 4


@pytest.mark.parametrize("machine", MACHINES)
def test_references_draw_as_the_model(machine: str) -> None:
    """The draws from given uniforms, stated once more for the benches, and the model's are one function."""
    config, rng = Derived.preset("smallest", **MACHINES[machine]), np.random.default_rng(6)
    for _ in range(500):
        labels = int(rng.integers(2, config.max_labels + 1))
        spread = int(rng.choice([0, 3, 100, config.energy_max]))
        energies = [int(e) for e in rng.integers(0, min(spread, config.energy_max) + 1, labels)]
        temperature = int(rng.integers(1 << config.temperature_bits) >> rng.integers(config.temperature_bits))
        state = [int(w) for w in rng.integers(0, 1 << 32, 4)]
        twin = Twin(state)
        if isinstance(config.sampler, Race):
            mine = race_label(config, energies, temperature, [twin.next(config.sampler.uniform_bits) for _ in energies])
        else:
            mine = cdf_label(config, energies, temperature, twin.next(config.sampler.uniform_bits))
        assert mine == draw(config, energies, temperature, Twin(state))
