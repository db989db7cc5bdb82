"""Chains on an OpenCL device, as many side by side in its launches as it is asked for."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from typing import cast

import numpy as np

from mrfhw.backends.software import ChainRun, SoftwareBackend
from mrfhw.field.problem import Problem, Run
from mrfhw.samplers.gpu.chain import Choice, GpuChain
from mrfhw.samplers.gpu.device import Device, of_name
from mrfhw.samplers.gpu.group import TOGETHER, Group
from mrfhw.samplers.gpu.paths import device_paths

__all__ = ["GpuBackend"]


class GpuRun(ChainRun):
    """A chain that waits for the others of its group before the device is asked for anything."""

    def steps(self) -> Iterator[None]:
        chain = cast(GpuChain, self.sampler)
        while not self.finished:
            began = time.perf_counter()
            chain.sweep()
            self._wall += time.perf_counter() - began
            if self._observe is not None or len(chain.pending) >= TOGETHER:
                yield  # until all have been asked for as much
            if self._observe is not None:
                began = time.perf_counter()
                self._observe(chain.sweeps, chain.sample, chain.energy)
                self._wall += time.perf_counter() - began
                yield  # until all have been looked at
            if self._progress is not None:
                self._progress(chain.sweeps)
            if self._pauses is not None and self._pauses.now(chain.sweeps):
                break


class GpuBackend(SoftwareBackend):
    """See `mrfhw.backends.backend.Backend`; its places hold chains that are drawn in the same launches."""

    _run_type = GpuRun

    def __init__(self, backend: str):
        super().__init__(backend)
        self._name, self._group = backend, Group()

    @classmethod
    def path_labels(cls, backend: str, problem: Problem, stiffness: int) -> np.ndarray:
        """On the device, of a field that it holds."""
        found = device_paths(cls.device(backend), problem, stiffness)
        return super().path_labels(backend, problem, stiffness) if found is None else found

    @classmethod
    def device(cls, backend: str) -> Device:
        return of_name(Choice.of(backend.partition("?")[2]).device)

    @property
    def places(self) -> Sequence[GpuBackend]:
        return [self] * self._options["choice"].together

    def beside(self) -> GpuBackend:
        found = GpuBackend(self._name)
        found._group = self._group
        return found

    def _chain(self, problem: Problem, run: Run) -> GpuChain:
        return GpuChain(problem, run, tables=self._tables, group=self._group, **self._options)
