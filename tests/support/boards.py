"""Simulated boards as programs of their own, and small problems for them."""

from __future__ import annotations

import contextlib
import os
import select
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.field.result import Result, first_difference
from mrfhw.host.remote import RemoteBackend
from mrfhw.machine.config import Config
from mrfhw.twin import machine

__all__ = ["TINY", "TINY_OPTIONS", "Board", "Waiting", "assert_equals_model", "assert_runs_equal_model", "board", "tiny_problem"]

TINY_FIELDS = {"mesh_rows": 1, "mesh_cols": 2, "spus": 1, "tile_rows": 8, "tile_cols": 8, "label_bits": 3, "data_bits": 4,
               "counter_bits": 2, "line_bits": 64, "temperature_table": 4, "gumbel_uniform_bits": 8}
TINY = Config().changed(**TINY_FIELDS)
TINY_OPTIONS = ("--mesh", "1x2", *(word for name, value in TINY_FIELDS.items() if not name.startswith("mesh")
                                   for word in (f"--{name.replace('_', '-')}", str(value))))


class Waiting:
    """A board whose runs wait for their logs."""

    def __init__(self, session: RemoteBackend):
        self.session, self.config = session, session.config

    def prepare(self, problem: Problem, run: Run, **options: Any) -> Any:
        prepared = self.session.prepare(problem, run, **options)
        steps = prepared.steps

        def to_the_end() -> Iterator[None]:
            yield from steps()
            self.session.read(prepared)

        prepared.steps = to_the_end
        return prepared


@dataclass
class Board:
    """address: as it printed it."""

    process: subprocess.Popen[str]
    address: str

    def end(self, number: int = signal.SIGINT) -> str:
        """What it says when it is told to end by a signal."""
        self.process.send_signal(number)
        return self.process.communicate(timeout=20)[0]


@contextlib.contextmanager
def board(listen: str, *options: str) -> Iterator[Board]:
    """`mrfhw board` as a program of its own, ready to be connected to."""
    process = subprocess.Popen([sys.executable, "-m", "mrfhw", "board", "--listen", listen, *options], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ, "PYTHONUNBUFFERED": "1"})
    try:
        assert process.stdout is not None
        assert select.select([process.stdout], [], [], 300)[0], "the board does not say where it is"
        line = process.stdout.readline()
        assert line.startswith("board at "), line
        yield Board(process, line.split()[2])
    finally:
        if process.poll() is None:
            process.kill()
        process.communicate()


def tiny_problem(seed: int, sweeps: int = 0) -> tuple[Problem, Run]:
    """A field of random data for `TINY`, of random size."""
    rng = np.random.default_rng(seed)
    shape = (int(rng.integers(3, 9)), int(rng.integers(3, 17)))
    labels = int(rng.integers(2, 9))
    problem = Problem(labels=labels, singleton1=rng.integers(0, 16, shape), constants=rng.integers(0, 16, labels),
                      schedule=Schedule.constant(float(rng.uniform(2, 30))))
    sweeps = sweeps or int(rng.integers(2, 40))
    return problem, Run(sweeps=sweeps, burn_in=int(rng.integers(0, sweeps)), seed=seed)


def assert_equals_model(found: Result, config: Config, problem: Problem, run: Run) -> Result:
    """All but the stalls, which a link adds to; returns the model's."""
    wanted = machine.solve(config, problem, run)
    assert (found.cycles or 0) - (found.stall_cycles or 0) == (wanted.cycles or 0) - (wanted.stall_cycles or 0) > 0
    found.cycles, found.stall_cycles = wanted.cycles, wanted.stall_cycles
    difference = first_difference(found, wanted)
    assert difference is None, difference
    return wanted


def assert_runs_equal_model(session: RemoteBackend, config: Config, sweeps: int, messages: int) -> None:
    """Problem after problem, each of more than so many messages; the machine's cycles are its own, however long the link takes."""
    for seed in range(4):
        problem, run = tiny_problem(seed, sweeps)
        model = assert_equals_model(session.solve(problem, run), config, problem, run)
        assert len(model.messages) > messages
