"""What the log's network says that its state holds is what it holds, at any moment."""

from __future__ import annotations

import numpy as np
import pytest

from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.field.state_check import check_array
from mrfhw.machine.config import Config
from mrfhw.twin.machine import Machine


@pytest.mark.claim("checkpoints", "the state of the log's network is within the limits that it is checked by")
@pytest.mark.parametrize("counter_bits", [1, 3])
def test_a_state_is_within_its_own_limits(counter_bits: int) -> None:
    config = Config(mesh_rows=1, mesh_cols=2, tile_rows=8, tile_cols=8, spus=2, counter_bits=counter_bits, s2_words=256)
    problem = Problem(labels=4, unary=np.random.default_rng(1).integers(0, 9, (8, 14, 4)), alpha=1, beta=1,
                      schedule=Schedule.constant(9.0))
    machine = Machine(config, problem, Run(sweeps=9))
    for _ in range(9):
        machine.sweep()
        state, holds = machine.timing.state(), machine.timing.holds()
        assert state.keys() == holds.keys()
        for name, array in state.items():
            check_array(name, array, holds[name])
            if holds[name].least == 0 and array.size:
                with pytest.raises(ValueError, match=name):
                    check_array(name, array.astype(np.int64) - int(array.max()) - 1, holds[name])
