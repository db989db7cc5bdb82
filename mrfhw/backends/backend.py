"""What all backends have in common: a backend that is opened, the runs that it prepares, and pauses of a run."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator, Iterable, Iterator, Sequence
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar

import numpy as np

from mrfhw.field.problem import Problem, ProblemError, Run
from mrfhw.field.result import Result
from mrfhw.field.state import RunState
from mrfhw.placement.placement import Placement
from mrfhw.samplers.chain import Observe
from mrfhw.samplers.gpu.device import Device

__all__ = ["ActiveRun", "Backend", "Fresh", "Observe", "Pauses", "Progress", "Steps", "advance_together", "at_once", "together"]

T = TypeVar("T")

Fresh = bool | np.ndarray  # where a run's generators start
Progress = Callable[[int], object]  # called with the number of finished sweeps
Steps = Generator[None, None, T]  # what is done bit by bit, and what it comes to


def at_once(steps: Steps[T]) -> T:
    """All steps, one after the other."""
    while True:
        try:
            next(steps)
        except StopIteration as end:
            found: T = end.value
            return found


class Pauses:
    """When a run pauses, so that its state can be kept: every so many seconds or sweeps."""

    def __init__(self, *, seconds: float | None = None, sweeps: int | None = None):
        if sweeps is not None and sweeps < 1:
            raise ProblemError(f"checkpoint-every is {sweeps} sweeps; a run pauses between sweeps: give 1 or more")
        if seconds is not None and not seconds >= 0:
            raise ProblemError(f"checkpoint-every is {seconds:g} s; it must be a number of seconds: give 0 or more")
        self._seconds, self._sweeps = seconds, sweeps
        self._since, self._from = time.monotonic(), 0

    def restart(self, sweeps: int) -> None:
        """The next pause is counted from now, when `sweeps` are done."""
        self._since, self._from = time.monotonic(), sweeps

    def now(self, sweeps: int) -> bool:
        """Whether a run that has done `sweeps` should pause."""
        if self._sweeps is not None:
            return sweeps >= self._from + self._sweeps
        return self._seconds is not None and time.monotonic() - self._since >= self._seconds

    def limit(self, total: int) -> int:
        """The sweep, at most `total`, at which a machine that counts its sweeps pauses by itself."""
        return total if self._sweeps is None else min(total, self._from + self._sweeps)


class ActiveRun(Protocol):
    """A run of a backend, made by `Backend.prepare`: it pauses between two sweeps, and samples in `advance` alone."""

    @property
    def sweeps(self) -> int:
        """Finished sweeps; of a grid in windows, those of whole rounds."""

    @property
    def finished(self) -> bool:
        """Whether it is at its end."""

    @property
    def last(self) -> np.ndarray:
        """(H, W) uint8, the last sample."""

    def advance(self) -> None:
        """Go on to the next pause or the end."""

    def steps(self) -> Iterator[None]:
        """`advance`, bit by bit: gives whenever it waits for a machine, which may hold other runs beside this one."""

    def state(self, counted: bool = True) -> RunState:
        """The state of a run that has been advanced, as a copy; without what it counted, `RunState.uncounted`. Also of a finished
        run, until its backend prepares another one."""

    def result(self) -> Result:
        """The result of a finished run; waits for log that has not arrived yet. Results are fetched in the order of the runs."""


def advance_together(runs: Iterable[ActiveRun]) -> None:
    """Each run to its next pause or end, side by side as far as their machines are beside each other (`Backend.places`)."""
    at_once(together([run.steps() for run in runs]))


def together(steps: Iterable[Iterator[None]]) -> Steps[None]:
    """All of them, a step of each in turn; after each turn others may have theirs."""
    under_way = list(steps)
    while under_way := [one for one in under_way if next(one, under_way) is not under_way]:
        yield


class Backend:
    """Who samples fields, opened once for one run after the other. A context manager.

    backend: its name in results.
    shows_sweeps: whether `observe` is called after each sweep.
    keeps_generators: whether a run without `fresh` continues with the random numbers of the run before, as windows need it.
    software: whether there is no machine, and grids of any size are sampled without windows.
    """

    backend = "board"
    shows_sweeps = False
    keeps_generators = True
    software = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let the machine go."""

    @property
    def places(self) -> Sequence[Backend]:
        """Sessions with the machine's clusters, each of which holds a run of its own: this one first. They end with this one."""
        return [self]

    def beside(self) -> Self | None:
        """Another one, whose runs are sampled together with those of this one; None where there is no such thing."""
        return None

    @classmethod
    def open(cls, backend: str, config: Any, cycles: int) -> Self:
        """The backend of that name or address, ready to prepare runs.

        config: the machine, a Config; software takes None, too.
        cycles: expected number of cycles, from which a simulation chooses between a fast compilation and a fast simulation.
        """
        raise NotImplementedError

    @classmethod
    def machine_at(cls, backend: str, given: Collection[str] = ()) -> Any:
        """The machine, a Config, at an address, where that can be told; None where not, and where options of a machine are among
        those that are `given`. Raises LinkError where nothing answers."""
        return None

    @classmethod
    def identity(cls, backend: str) -> str:
        """What a run by the backend of that name or address has to have in common with its checkpoints."""
        return cls.backend

    @classmethod
    def path_labels(cls, backend: str, problem: Problem, stiffness: int) -> np.ndarray:
        """(H, W) uint8, of `mrfhw.samplers.path_start`: first labels of a field for the backend of that name or address."""
        from mrfhw.samplers.path_start import path_start  # compiled loops, which who drives a board need not load

        return path_start(problem, stiffness)

    @classmethod
    def device(cls, backend: str) -> Device | None:
        """What works out answers of that backend's runs as well as sampling them; None for the processor alone."""
        return None

    def prepare(self, problem: Problem | Placement, run: Run, *, fresh: Fresh = True, state: RunState | None = None,
                progress: Progress | None = None, observe: Observe | None = None, pauses: Pauses | None = None) -> ActiveRun:
        """A run of a problem that fits, of which nothing has been sampled. One that is placed already is not placed anew.

        fresh: generators start from the run's seed; False: where the last run left them; (lanes, 4) uint32: from these states.
        state: go on from there instead.
        progress: called with the number of finished sweeps.
        observe: see `Observe`; called where the backend shows its sweeps.
        pauses: when `advance` returns before the end.
        Raises ProblemError where the problem does not fit.
        """
        raise NotImplementedError

    def windows(self, plan: Any, run: Run, visit: int, *, state: RunState | None = None, progress: Progress | None = None,
                observe: Observe | None = None, pauses: Pauses | None = None) -> ActiveRun | None:
        """A run of a `WindowPlan` window by window, of a backend that takes all visits together; None: one after the other."""
        return None

    def begin(self, problem: Problem | Placement, run: Run, *, fresh: Fresh = True, state: RunState | None = None,
              progress: Progress | None = None, observe: Observe | None = None, pauses: Pauses | None = None) -> ActiveRun:
        """`prepare`, and the first `advance`."""
        active = self.prepare(problem, run, fresh=fresh, state=state, progress=progress, observe=observe, pauses=pauses)
        active.advance()
        return active

    def solve(self, problem: Problem | Placement, run: Run, *, fresh: Fresh = True, progress: Progress | None = None,
              observe: Observe | None = None) -> Result:
        """The result of a problem that fits; see `prepare`."""
        return self.begin(problem, run, fresh=fresh, progress=progress, observe=observe).result()
