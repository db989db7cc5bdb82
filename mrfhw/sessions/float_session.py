"""The float64 reference as a session."""

from __future__ import annotations

import time

from mrfhw.field.problem import Problem, Run
from mrfhw.field.result import Result
from mrfhw.field.state import RunState
from mrfhw.machine.config import Config
from mrfhw.model.exact import Chain, FloatTables
from mrfhw.placement.placement import Placement
from mrfhw.sessions.sampler_run import SamplerRun
from mrfhw.sessions.session import BaseSession, Fresh, Observe, Pauses, Progress

__all__ = ["FloatSession"]


class FloatRun(SamplerRun[Chain]):
    """A chain; see `mrfhw.sessions.session.ActiveRun`."""

    def result(self) -> Result:
        return self.sampler.result(self._wall)


class FloatSession(BaseSession):
    """See `mrfhw.sessions.session.Session`. config: the machine whose temperatures are taken and whose words problems must fit."""

    backend = "float"
    shows_sweeps = True
    keeps_generators = False
    any_size = True

    def __init__(self, config: Config):
        self.config = config
        self._tables: FloatTables | None = None  # of the last problem

    @classmethod
    def open(cls, backend: str, config: Config, cycles: int) -> FloatSession:
        return cls(config)

    def begin(self, problem: Problem | Placement, run: Run, *, fresh: Fresh = True, state: RunState | None = None,
              progress: Progress | None = None, observe: Observe | None = None, pauses: Pauses | None = None) -> FloatRun:
        began = time.perf_counter()
        problem = problem.problem if isinstance(problem, Placement) else problem
        if self._tables is None or self._tables.problem is not problem:
            self._tables = FloatTables(problem, self.config)
        chain = Chain(problem, run, config=self.config, tables=self._tables)
        if state is not None:
            chain.restore(state)
        before = 0.0 if state is None else state.so_far.wall_seconds
        active = FloatRun(chain, before + time.perf_counter() - began, progress, observe, pauses)
        active.advance()
        return active
