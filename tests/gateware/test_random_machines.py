"""Machines of random structure: the compiled RTL equals the model, label by label of every sweep.

A run of n sweeps is compared after every one of them, by its last labels, histogram, messages and cycles.
The long run: pytest tests/gateware/test_random_machines.py --machines 48 --problems 200
"""

from __future__ import annotations

import numpy as np
import pytest

from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.samplers import Cdf
from mrfhw.simulation.chip import CompiledChip
from support.comparing import compare, prefixes
from support.random_problems import random_config, random_placement, with_estimates

pytestmark = pytest.mark.claim("machine",
    "random machines and problems: RTL and model have the same labels after every sweep, LMem, histogram, messages and cycles")

# Seeds whose machines between them have both samplers, every S, both bank counts, meshes of 0 to 2 tree levels.
SEEDS = (2, 9, 12, 16, 18, 21)


def seeds(count: int) -> list[int]:
    return [*SEEDS, *(s for s in range(100, 100 + max(0, count - len(SEEDS))))][:count]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "machine_seed" in metafunc.fixturenames:
        metafunc.parametrize("machine_seed", seeds(metafunc.config.getoption("--machines")))


@pytest.mark.tools
@pytest.mark.claim("runtime",
    "runs for the mean keep sums and runs for the last sample nothing; RTL, board and model are equal, however long and "
    "interrupted (more cases: make long)")
def test_rtl_equals_model(machine_seed: int, request: pytest.FixtureRequest) -> None:
    rng = np.random.default_rng(machine_seed)
    config = random_config(rng)
    with CompiledChip(config, quick=True) as chip:
        for number in range(request.config.getoption("--problems")):
            placement = with_estimates(random_placement(rng, config))
            # Every tenth problem after each of its sweeps, the others at the end: a label once wrong stays in the
            # histogram, and the last labels follow from all before them.
            for part in prefixes(placement) if number % 10 == 0 else [placement]:
                compare(chip, part)


def test_machines_cover_the_structures() -> None:
    configs = [Derived.of(random_config(np.random.default_rng(seed))) for seed in SEEDS]

    def values(name: str) -> set[object]:
        return {getattr(c, name) for c in configs}

    assert {c.sampler.name for c in configs} == {"cdf", "race"}
    assert values("spus") == {1, 2, 4}
    assert values("lmem_banks") == {1, 4}
    assert values("hub_fan_in") == {2, 4}
    assert {0, 1, 2} <= values("tree_levels")
    assert {c.sampler.floor for c in configs if isinstance(c.sampler, Cdf)} == {"power_of_two", "integer"}
    assert any(isinstance(c, Config) and c.mesh_rows != c.mesh_cols for c in configs)
