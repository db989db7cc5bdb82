"""The samplers in software (`mrfhw.samplers.chain.CHAINS`), which have no machine."""

from __future__ import annotations

import time
from typing import Any

from mrfhw.backends.backend import Backend, Fresh, Observe, Pauses, Progress
from mrfhw.backends.sampler_run import SamplerRun
from mrfhw.field.problem import Problem, Run
from mrfhw.field.result import Result
from mrfhw.field.state import RunState
from mrfhw.machine.config import Config
from mrfhw.placement.placement import Placement
from mrfhw.samplers.chain import chain_type
from mrfhw.samplers.field_chain import FieldChain

__all__ = ["SoftwareBackend"]


class ChainRun(SamplerRun[FieldChain]):
    """A chain; see `mrfhw.backends.backend.ActiveRun`."""

    def result(self) -> Result:
        return self.sampler.result(self._wall)


class SoftwareBackend(Backend):
    """See `mrfhw.backends.backend.Backend`."""

    shows_sweeps = True
    keeps_generators = False
    software = True
    _run_type = ChainRun

    def __init__(self, backend: str):
        """backend: a name of CHAINS, with its options behind a question mark. Raises ProblemError for others."""
        self._type, self._options = chain_type(backend)
        self.backend = self._type.name
        self._tables: Any = None  # of the last problem

    def _chain(self, problem: Problem, run: Run) -> FieldChain:
        return self._type(problem, run, tables=self._tables, **self._options)

    @classmethod
    def open(cls, backend: str, config: Config | None, cycles: int) -> SoftwareBackend:
        return cls(backend)

    @classmethod
    def identity(cls, backend: str) -> str:
        kind, options = chain_type(backend)
        return kind.identity(**options)

    def prepare(self, problem: Problem | Placement, run: Run, *, fresh: Fresh = True, state: RunState | None = None,
                progress: Progress | None = None, observe: Observe | None = None, pauses: Pauses | None = None) -> ChainRun:
        began = time.perf_counter()
        problem = problem.problem if isinstance(problem, Placement) else problem
        if self._tables is None or self._tables.problem is not problem:
            self._tables = self._type.tables_type(problem)
        chain = self._chain(problem, run)
        if state is not None:
            chain.restore(state)
        before = 0.0 if state is None else state.so_far.wall_seconds
        return self._run_type(chain, before + time.perf_counter() - began, progress, observe, pauses)
