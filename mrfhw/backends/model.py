"""The bit-exact model as a machine that runs one problem after the other."""

from __future__ import annotations

import time

import numpy as np

from mrfhw.backends.backend import Backend, Fresh, Observe, Pauses, Progress
from mrfhw.backends.sampler_run import SamplerRun
from mrfhw.driver.driver import Driver, NoChip
from mrfhw.field.problem import Problem, Run
from mrfhw.field.result import Result
from mrfhw.field.state import RunState
from mrfhw.machine.config import Config
from mrfhw.placement.placement import Placement
from mrfhw.twin.machine import Machine, outcome

__all__ = ["ModelBackend"]


class ModelRun(SamplerRun[Machine]):
    """A run on the model; see `mrfhw.backends.backend.ActiveRun`."""

    def __init__(self, machine: Machine, transfers: tuple[int, int], before: float, progress: Progress | None,
                 observe: Observe | None, pauses: Pauses | None):
        super().__init__(machine, before, progress, observe, pauses)
        self._transfers = transfers
        self._outcome: Result | None = None

    def result(self) -> Result:
        if self._outcome is None:
            self.sampler.timing.finish()
            result = self._outcome = outcome(self.sampler, self._wall)
            result.loading_cycles, result.reading_cycles = self._transfers
            result.replication = self.sampler.placement.replication
        return self._outcome


class ModelBackend(Backend):
    """See `mrfhw.backends.backend.Backend`. Results have the cycles that a chip of `config` would need for its transfers, a run
    that was taken up again those of one load; wall_seconds includes loading the model."""

    backend = "model"
    shows_sweeps = True

    def __init__(self, config: Config):
        self.config = config
        self._generators: np.ndarray | None = None
        self._driver = Driver(config, NoChip())

    @classmethod
    def open(cls, backend: str, config: Config, cycles: int) -> ModelBackend:
        return cls(config)

    def prepare(self, problem: Problem | Placement, run: Run, *, fresh: Fresh = True, state: RunState | None = None,
                progress: Progress | None = None, observe: Observe | None = None, pauses: Pauses | None = None) -> ModelRun:
        began = time.perf_counter()
        states = self._generators if fresh is False else None if fresh is True else fresh
        machine = Machine(self.config, problem, run, random=states)
        if state is not None:
            machine.restore(state)
        self._generators = machine.random  # which the run steps
        before = 0.0 if state is None else state.so_far.wall_seconds
        loading = self._driver.load(machine.placement, fresh is not False)
        transfers = loading, self._driver.reading_cycles(machine.placement)
        return ModelRun(machine, transfers, before + time.perf_counter() - began, progress, observe, pauses)
