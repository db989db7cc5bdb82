"""Everything that a field may have beside one grey value: the compiled RTL equals the model on random machines and problems."""

from __future__ import annotations

import numpy as np
import pytest

from mrfhw.simulation.chip import CompiledChip
from support.comparing import compare
from support.random_fields import random_field, random_field_machine

SEEDS = (1, 2, 3)  # the first is in every test run


@pytest.mark.tools
@pytest.mark.claim("DoubletonTable", "each lane gets the entry of its label and each neighbour's, either way round")
@pytest.mark.claim("field",
    "the RTL equals the model in all of them, alone and mixed: random machines (33 more by make long), the energy pipeline on "
    "Icarus")
@pytest.mark.parametrize("seed", [
    SEEDS[0], *(pytest.param(seed, marks=pytest.mark.long) for seed in (*SEEDS[1:], 0, *range(10, 40)))])
def test_rtl_equals_model(seed: int, request: pytest.FixtureRequest) -> None:
    rng = np.random.default_rng(seed)
    config = random_field_machine(rng)
    with CompiledChip(config, quick=True) as chip:
        for _ in range(request.config.getoption("--problems")):
            compare(chip, random_field(rng, config))
