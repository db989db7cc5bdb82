"""A run of a sampler in this process, as an active run of a session."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Generic, TypeVar

import numpy as np

from mrfhw.backends.backend import Observe, Pauses, Progress
from mrfhw.field.state import RunState
from mrfhw.samplers.chain import Sampler, advance

__all__ = ["SamplerRun"]

S = TypeVar("S", bound=Sampler)


class SamplerRun(Generic[S]):
    """See `mrfhw.backends.backend.ActiveRun`; a class of it adds `result`. before: seconds that the run has taken already."""

    def __init__(self, sampler: S, before: float, progress: Progress | None, observe: Observe | None, pauses: Pauses | None):
        self.sampler, self._progress, self._observe, self._pauses = sampler, progress, observe, pauses
        self._wall = before

    @property
    def sweeps(self) -> int:
        return self.sampler.sweeps

    @property
    def finished(self) -> bool:
        return self.sampler.sweeps >= self.sampler.run.sweeps

    @property
    def last(self) -> np.ndarray:
        return self.sampler.sample

    def advance(self) -> None:
        began = time.perf_counter()
        advance(self.sampler, self._progress, self._observe, None if self._pauses is None else self._pauses.now)
        self._wall += time.perf_counter() - began

    def steps(self) -> Iterator[None]:
        self.advance()
        yield from ()

    def state(self, counted: bool = True) -> RunState:
        return self.sampler.state(self._wall, counted)
