"""Children of a process whose model has used its threads."""

from __future__ import annotations

import multiprocessing

import numpy as np
import pytest

from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.machine.config import Config
from mrfhw.twin import machine

SECONDS = 60  # many times what the child takes
CONFIG = Config(mesh_rows=3, mesh_cols=4, spus=4)
RUN = Run(sweeps=4, burn_in=1, seed=4)


def field() -> Problem:
    rng = np.random.default_rng(5)
    return Problem(labels=9, singleton1=rng.integers(0, 40, (21, 30)), constants=np.arange(9) * 4, beta=4,
                   schedule=Schedule.constant(6.0))


def solve_there(ended):
    ended.put(int(machine.solve(CONFIG, field(), RUN, threads=3).counts[..., 1].sum()))


@pytest.mark.slow
@pytest.mark.claim("model", "a forked child has threads of its own")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # of fork beside threads, which is what is tested
def test_a_forked_child_has_threads_of_its_own(monkeypatch):
    monkeypatch.setattr(machine, "_WORTH_A_THREAD", 1)
    here = int(machine.solve(CONFIG, field(), RUN, threads=3).counts[..., 1].sum())
    context = multiprocessing.get_context("fork")
    ended = context.SimpleQueue()
    child = context.Process(target=solve_there, args=(ended,))
    child.start()
    child.join(SECONDS)
    hung = child.is_alive()
    if hung:
        child.kill()
        child.join()
    assert not hung
    assert child.exitcode == 0
    assert ended.get() == here
    # The parent's are as they were.
    assert int(machine.solve(CONFIG, field(), RUN, threads=3).counts[..., 1].sum()) == here
