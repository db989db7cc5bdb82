"""Messages of a log, from labels that were drawn."""

from __future__ import annotations

import numpy as np
import pytest

from mrfhw.cost.traffic import drawn_labels, messages
from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.machine.config import Config
from mrfhw.twin.machine import Machine

CLAIM = pytest.mark.claim("costs", "the messages of a run's log are those of the model, and of longer runs near them")


def field() -> Problem:
    rng = np.random.default_rng(3)
    return Problem(labels=6, singleton1=rng.integers(0, 16, (16, 16)), constants=rng.integers(0, 16, 6),
                   schedule=Schedule.constant(12.0))


@CLAIM
@pytest.mark.parametrize("counter_bits", [2, 4, 6])
def test_as_many_as_the_model_sends(counter_bits: int) -> None:
    config = Config(mesh_rows=1, mesh_cols=1, tile_rows=16, tile_cols=16, counter_bits=counter_bits)
    labels = drawn_labels(config, field())
    assert labels.shape == (31, 256)
    for sweeps, close in ((50, 0), (60, 0), (400, 0.05)):
        machine = Machine(config, field(), Run(sweeps=sweeps, burn_in=30))
        for _ in range(sweeps):
            machine.sweep()
        machine.timing.finish()
        assert messages(labels, counter_bits, sweeps - 30) == pytest.approx(machine.log_messages, rel=close, abs=0)
