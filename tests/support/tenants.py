"""Tenants of a machine that holds several problems: runs one after the other at a place, each compared with the model's."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

import numpy as np

from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.field.result import Result, first_difference
from mrfhw.machine.config import Config
from mrfhw.simulation.chip import ChipBackend
from mrfhw.twin.machine import solve

__all__ = ["Tenant", "fields", "same_but_stalls"]


def field(rng: np.random.Generator) -> tuple[Problem, Run]:
    """A field of random size, data and temperature."""
    shape, labels = (int(rng.integers(2, 9)), int(rng.integers(3, 17))), int(rng.integers(2, 9))
    problem = Problem(labels=labels, singleton1=rng.integers(0, 64, shape), constants=rng.integers(0, 64, labels),
                      observed=rng.random(shape) < 0.9, clamped=rng.random(shape) < 0.1,
                      doubleton=str(rng.choice(["absolute", "potts"])), beta=int(rng.integers(1, 8)),
                      schedule=Schedule.constant(float(np.exp(rng.uniform(1, 5.2)))))
    sweeps = int(rng.integers(1, 40))
    estimate = str(rng.choice(["mode", "mode", "mode", "mean", "last"]))
    burn_in = 0 if estimate == "last" else int(rng.integers(0, sweeps))
    return problem, Run(sweeps=sweeps, burn_in=burn_in, seed=int(rng.integers(1000)), estimate=estimate)


def fields(rng: np.random.Generator) -> list[tuple[Problem, Run]]:
    """One to three of them."""
    return [field(rng) for _ in range(rng.integers(1, 4))]


def same_but_stalls(found: Result, wanted: Result) -> None:
    assert found.cycles - found.stall_cycles == wanted.cycles - wanted.stall_cycles > 0
    found = dataclasses.replace(found, cycles=wanted.cycles, stall_cycles=wanted.stall_cycles)
    assert first_difference(wanted, found) is None, first_difference(wanted, found)


class Tenant:
    """Runs one after the other at a place, each after a while of accesses to its registers.

    one: the machine that the place is. fields: what is run.
    """

    def __init__(self, place: ChipBackend, one: Config, fields: Sequence[tuple[Problem, Run]], rng: np.random.Generator):
        self.runs = [(place.prepare(problem, run), problem, run) for problem, run in fields]
        self.place, self.one, self.waits = place, one, rng.integers(0, 300, len(self.runs))

    def steps(self) -> Iterator[None]:
        for (active, problem, run), wait in zip(self.runs, self.waits, strict=True):
            for number in range(wait):
                self.place.driver.get("status")
                if number % 8 == 0:
                    yield
            yield from active.steps()
            same_but_stalls(active.result(), solve(self.one, problem, run))
