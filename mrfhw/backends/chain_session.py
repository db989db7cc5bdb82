"""Sessions of samplers that have no machine: float64's reference, the processor's vectors, and event-driven sampling."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Protocol
from urllib.parse import parse_qsl

from mrfhw.backends.sampler_run import SamplerRun
from mrfhw.backends.session import BaseSession, Fresh, Observe, Pauses, Progress
from mrfhw.field.problem import Problem, ProblemError, Run
from mrfhw.field.result import Result
from mrfhw.field.state import RunState
from mrfhw.machine.config import Config
from mrfhw.placement.placement import Placement
from mrfhw.samplers.cpu import CpuChain, CpuTables
from mrfhw.samplers.events import EventChain, Skipping
from mrfhw.samplers.exact import Chain, FloatTables, RasterSites
from mrfhw.samplers.sweeps import Sampler

__all__ = ["ChainSession", "CpuSession", "EventSession", "FloatSession"]


class _Chain(Sampler, Protocol):
    def restore(self, state: RunState) -> None: ...

    def result(self, wall: float) -> Result: ...


class ChainRun(SamplerRun[_Chain]):
    """A chain; see `mrfhw.backends.session.ActiveRun`."""

    def result(self) -> Result:
        return self.sampler.result(self._wall)


class ChainSession(BaseSession):
    """See `mrfhw.backends.session.Session`. config: the machine whose temperatures are taken and whose words problems must fit."""

    shows_sweeps = True
    keeps_generators = False
    any_size = True
    tables_type: Callable[[Problem, Config], RasterSites]
    chain_type: Callable[..., _Chain]

    def __init__(self, config: Config):
        self.config = config
        self._tables: RasterSites | None = None  # of the last problem

    @classmethod
    def open(cls, backend: str, config: Config, cycles: int) -> ChainSession:
        return cls(config)

    def begin(self, problem: Problem | Placement, run: Run, *, fresh: Fresh = True, state: RunState | None = None,
              progress: Progress | None = None, observe: Observe | None = None, pauses: Pauses | None = None) -> ChainRun:
        began = time.perf_counter()
        problem = problem.problem if isinstance(problem, Placement) else problem
        if self._tables is None or self._tables.problem is not problem:
            self._tables = self.tables_type(problem, self.config)
        chain = self.chain_type(problem, run, config=self.config, tables=self._tables)
        if state is not None:
            chain.restore(state)
        before = 0.0 if state is None else state.so_far.wall_seconds
        active = ChainRun(chain, before + time.perf_counter() - began, progress, observe, pauses)
        active.advance()
        return active


class FloatSession(ChainSession):
    """The float64 reference."""

    backend = "float"
    tables_type, chain_type = FloatTables, Chain


class CpuSession(ChainSession):
    """The same law by the processor's vectors."""

    backend = "cpu"
    tables_type, chain_type = CpuTables, CpuChain


def _skipping(backend: str) -> Skipping:
    """What "events" or "events?cutoff=8&region=8x8" says. Raises ProblemError."""
    def wrong(what: str) -> ProblemError:
        return ProblemError(f"backend is {backend!r}; {what}: give such as {EventSession.backend}?cutoff=8&region=8x8")

    found: dict[str, float | tuple[int, int]] = {}
    for name, text in parse_qsl(backend.partition("?")[2], keep_blank_values=True):
        if name not in ("cutoff", "region") or name in found:
            raise wrong(f"it has one cutoff and one region, and no other {name!r}")
        try:
            if name == "cutoff":
                found[name] = float(text)
            else:
                rows, columns = text.split("x")
                found[name] = int(rows), int(columns)
        except ValueError:
            raise wrong(f"{name} is {text!r}, no {'number' if name == 'cutoff' else 'rows and columns'}") from None
    return Skipping(**found)  # type: ignore[arg-type]


class EventSession(ChainSession):
    """Event-driven sampling, of optimizations alone: no histogram and no mean comes of samples of another distribution."""

    backend = "events"
    tables_type = FloatTables

    def __init__(self, config: Config, skipping: Skipping):
        super().__init__(config)
        self.chain_type = partial(EventChain, skipping=skipping)

    @classmethod
    def open(cls, backend: str, config: Config, cycles: int) -> EventSession:
        return cls(config, _skipping(backend))

    @classmethod
    def identity(cls, backend: str) -> str:
        skipping = _skipping(backend)
        return f"{cls.backend}?cutoff={skipping.cutoff!r}&region={skipping.region[0]}x{skipping.region[1]}"
