"""Runs that die after some of their checkpoints and are taken up, beside those that do not."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mrfhw.analysis.solution import Solution
from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.field.result import first_difference
from mrfhw.machine.config import Config
from mrfhw.runs.chains import sample
from mrfhw.runs.checkpoint import Checkpoint, Keeping, pauses_of

SCHEDULES = {"constant": Schedule.constant(8.0), "geometric": Schedule.geometric(30.0, 0.9, 2.0),
             "table": Schedule.of_table((9.0, 5.0, 2.5), 3)}


def whole(schedule: str) -> Problem:
    """A grid that SMALL holds; rows of tiles and strides of tables that no pause divides."""
    rng = np.random.default_rng(8)
    return Problem(labels=6, singleton1=rng.integers(0, 64, (13, 15)), constants=np.arange(0, 60, 10), beta=3, tau=3,
                   clamped=rng.random((13, 15)) < 0.1, schedule=SCHEDULES[schedule])


class Stop(Exception):
    """The process dies, as far as a test in one process can have it."""


def in_pieces(backend: str, config: Config, problem: Problem, run: Run, path: Path, stops: list[int], every: str,
              chains: int = 1, **options: Any) -> tuple[Solution, int]:
    """The solution of a run that dies after the checkpoints of the numbers `stops`, one after the other; and how many were."""
    written, kept = 0, Checkpoint.save

    def save(self: Checkpoint, where: Path) -> None:
        nonlocal written
        kept(self, where)
        written += 1
        if written in stops:
            raise Stop

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Checkpoint, "save", save)
        for turn in itertools.count():
            keeping = Keeping(path, pauses_of(every), path if turn else None)
            with contextlib.suppress(Stop):
                return sample(backend, config, problem, run, chains=chains, keeping=keeping, **options), turn


def assert_same(found: Solution, wanted: Solution, cycles: bool) -> None:
    assert len(found.results) == len(wanted.results)
    for one, other in zip(found.results, wanted.results, strict=True):
        if not cycles:
            # Each pause and each taking up costs a chip the filling of its pipeline.
            one = dataclasses.replace(one, cycles=other.cycles, stall_cycles=other.stall_cycles, gap_cycles=other.gap_cycles)
        assert first_difference(one, other) is None
        assert np.array_equal(one.initial, other.initial)
        assert one.label_evaluations == other.label_evaluations
        if cycles:
            assert one == other
    assert (found.trace is None) == (wanted.trace is None)
    if found.trace is not None and wanted.trace is not None:
        for name in ("sweeps", "energy", "sites", "labels"):
            assert np.array_equal(getattr(found.trace, name), getattr(wanted.trace, name)), name


def small_problem(cols: int = 16) -> Problem:
    """For `TINY`, which it fills with 16 columns."""
    return Problem(labels=5, singleton1=np.random.default_rng(5).integers(0, 16, (8, cols)), constants=np.arange(5) * 3,
                   schedule=Schedule.of_table((20.0, 9.0, 4.0), 2))
