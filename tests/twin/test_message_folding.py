"""Runs with more messages than are kept: the histogram is the same."""

from __future__ import annotations

import numpy as np
import pytest

from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.machine.config import Config
from mrfhw.system import large_arrays
from mrfhw.twin import machine

CONFIG = Config(mesh_rows=1, mesh_cols=2, spus=2, tile_rows=16, tile_cols=16, counter_bits=2)


@pytest.mark.claim("model", "a run with more messages than are kept has the same histogram")
@pytest.mark.parametrize("largest", [large_arrays.LARGE, 0])
def test_folded_messages_are_counted(monkeypatch, largest):
    """Into a histogram in memory, and into one in a file."""
    monkeypatch.setattr(large_arrays, "LARGE", largest)
    rng = np.random.default_rng(2)
    problem = Problem(labels=5, singleton1=rng.integers(0, 30, (14, 27)), constants=np.arange(5) * 7, schedule=Schedule.constant(9))
    run = Run(sweeps=20, burn_in=3, seed=4)
    kept = machine.solve(CONFIG, problem, run)
    assert kept.messages is not None
    monkeypatch.setattr(machine, "_KEPT", len(kept.messages) // 3)
    folded = machine.solve(CONFIG, problem, run)
    assert folded.messages is None
    assert folded.log_messages == kept.log_messages == len(kept.messages)
    assert np.array_equal(folded.counts, kept.counts)
