"""The bit-exact model as a machine that runs one problem after the other."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from mrfhw.config import Config
from mrfhw.model.machine import Machine, complete
from mrfhw.placement import Placement
from mrfhw.problem import Problem, Run
from mrfhw.result import Result
from mrfhw.runtime.driver import transfer_cycles

__all__ = ["ModelSession"]


class ModelSession:
    """See `mrfhw.runtime.windows.Session`. Result.extra has the cycles that a chip of `config` would need for its
    transfers; wall_seconds includes loading the model."""

    def __init__(self, config: Config):
        self.config = config
        self._generators: np.ndarray | None = None
        self._transfers: dict[tuple[object, ...], tuple[int, int]] = {}

    def solve(self, problem: Problem, run: Run, *, fresh: bool = True, progress: Callable[[int], object] | None = None,
              observe: Callable[[int, np.ndarray], object] | None = None) -> Result:
        """Run a problem that fits. progress, observe: called after each sweep, the latter with the labels (H, W) too.

        Raises ProblemError where the problem does not fit the machine.
        """
        began = time.perf_counter()
        machine = Machine(self.config, problem, run, random=None if fresh else self._generators)
        result = complete(machine, progress, observe)
        result.wall_seconds = time.perf_counter() - began
        self._generators = machine.random
        loading, reading = self._transfer(machine.placement, fresh)
        result.extra |= {"loading_cycles": loading, "reading_cycles": reading, "replication": machine.placement.replication}
        return result

    def _transfer(self, placement: Placement, fresh: bool) -> tuple[int, int]:
        """Only the sizes of what is loaded matter, so windows of one shape are counted once."""
        problem = placement.problem
        key = (problem.shape, problem.labels, placement.replication, len(problem.schedule.table), fresh)
        if key not in self._transfers:
            self._transfers[key] = transfer_cycles(placement, fresh)
        return self._transfers[key]
