"""What the chains in software have in common."""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from mrfhw.field.initial import initial_labels
from mrfhw.field.problem import Problem, ProblemError, Run
from mrfhw.field.result import Result
from mrfhw.field.state import RunState
from mrfhw.field.state_check import Holds, Stands, check_state
from mrfhw.samplers.sites import FieldSites
from mrfhw.system.large_arrays import copied, zeros

__all__ = ["FieldChain"]


class FieldChain:
    """A `mrfhw.samplers.chain.Sampler` of a field in software; a class of it says its `name`, `tables_type` and `_own_state`, and
    how `sweep` draws.

    name: in `mrfhw.samplers.chain.CHAINS` and in results.
    tables_type: the problem checked and in tables, for one chain after the other.
    tables: of that type.
    problem: the field.
    run: sweeps, burn-in, seed and what is estimated.
    sweeps: done so far.
    initial: (H, W) uint8, the labels before the first sweep.
    labels: (H, W) uint8, the sample.
    energy: None, it is not followed.
    """

    name: ClassVar[str]
    tables_type: ClassVar[type[FieldSites]] = FieldSites

    def __init__(self, problem: Problem, run: Run, *, tables: Any = None, threads: int | None = None):
        """Raises ProblemError for what the sampler's arithmetic does not hold.

        problem: the field.
        run: sweeps, burn-in, seed and what is estimated.
        tables: those of another chain of the problem; None to make them.
        threads: as of `mrfhw.system.threads.threads_of`, to make tables.
        """
        self.tables = self.tables_type(problem, threads) if tables is None else tables
        self.problem, self.run, self.sweeps = problem, run, 0
        self.initial = initial_labels(problem, run)
        self.labels = np.ascontiguousarray(self.initial).copy()
        self._counts = zeros((*problem.shape, problem.labels if run.estimate == "mode" else 0), self._count_type(run))
        self._sums = np.zeros((*problem.shape, 2 if run.estimate == "mean" else 0), np.int64)
        self._temperatures = self.temperatures()

    @classmethod
    def options(cls, text: str) -> dict[str, Any]:
        """What the constructor takes besides, of the text behind the question mark of a backend's name. Raises ProblemError."""
        if text:
            raise ProblemError(f"backend is {f'{cls.name}?{text}'!r}; {cls.name} takes no options: give {cls.name}")
        return {}

    @classmethod
    def identity(cls, **options: Any) -> str:
        """What runs have in common that go on from each other's states.

        options: those of `options`.
        """
        return cls.name

    @staticmethod
    def _count_type(run: Run) -> type[np.unsignedinteger[Any]]:
        return np.uint32

    def temperatures(self) -> Iterator[float]:
        """T of sweep 0, 1, 2, ... without end, in the units of energies."""
        return self.problem.schedule.temperatures()

    def sweep(self) -> None:
        """Update every site once: black, then white; and count it, where the run counts it."""
        raise NotImplementedError

    @property
    def sample(self) -> np.ndarray:
        """(H, W) uint8, a copy."""
        return self.labels.copy()

    @property
    def energy(self) -> int | None:
        return None

    def _settle(self) -> None:
        """Bring counts and sums up to the last sweep, where that has not been done."""

    @property
    def counts(self) -> np.ndarray | None:
        """(H, W, L) unsigned, the histogram so far, in which later sweeps go on; None where the run's estimate is not the mode."""
        if not self._counts.size:
            return None
        self._settle()
        return self._counts

    @property
    def sums(self) -> np.ndarray | None:
        """(H, W, 2) int64, the sums of labels and their numbers so far, in which later sweeps go on; None where the run's estimate
        is not the mean."""
        if not self._sums.size:
            return None
        self._settle()
        return self._sums

    @property
    def label_evaluations(self) -> int:
        """Energies of labels that were needed so far, or would have been without shortcuts."""
        return self.problem.labels * self.tables.drawn * self.sweeps

    def result(self, wall: float) -> Result:
        """The result of the chain so far, after `wall` seconds; no messages, cycles or lanes."""
        return Result(backend=self.name, counts=self.counts, sums=self.sums, last=self.sample, initial=self.initial,
                      wall_seconds=wall, label_evaluations=self.label_evaluations)

    def state(self, wall: float = 0.0, counted: bool = True) -> RunState:
        """After `wall` seconds, as a copy that later sweeps do not change; without what was counted, `RunState.uncounted`."""
        found = self.result(wall)
        if counted:
            found = dataclasses.replace(found, counts=copied(found.counts), sums=copied(found.sums))
        state = RunState(sweeps=self.sweeps, so_far=found, **self._own_state())
        return state if counted else state.uncounted()

    def _own_state(self) -> dict[str, Any]:
        """The fields of `RunState` that say where random numbers go on, and what the sampler alone knows; copies."""
        raise NotImplementedError

    def _stands(self) -> Stands:
        """What the sampler takes from a state: what is its own, as it is now; a class of it may bound its numbers."""
        own = self._own_state()
        generators = own.get("generators")
        return Stands(None if generators is None else len(generators), "random" in own,
                      more={name: Holds(array.shape) for name, array in own.get("more", {}).items()})

    def restore(self, state: RunState) -> None:
        """Continue from the state of a chain with the same problem and run; a class of it takes what is its own.

        Raises ProblemError for what is no such state.
        """
        check_state(state, self.problem, self.run, self._stands())
        found = state.so_far
        self.initial, self.sweeps = found.initial, state.sweeps
        self.labels[...] = found.last
        if found.counts is not None:
            self._counts[...] = found.counts
        if found.sums is not None:
            self._sums[...] = found.sums
        self._temperatures = itertools.islice(self.temperatures(), state.sweeps, None)
