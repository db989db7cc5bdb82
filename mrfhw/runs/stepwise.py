"""Chains of a problem that are advanced some sweeps at a time, looked at between them, stopped, and gone on with."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from types import TracebackType
from typing import Any, Self

import numpy as np

from mrfhw.analysis.convergence import energy_rhat
from mrfhw.analysis.solution import Solution
from mrfhw.backends import plan as backends
from mrfhw.backends.session import ActiveRun, BaseSession, Pauses
from mrfhw.field.given import short
from mrfhw.field.problem import ProblemError, Run
from mrfhw.field.result import Result
from mrfhw.field.state import RunState
from mrfhw.runs.longer import longer, may_go_on
from mrfhw.runs.sampling import Recorder

__all__ = ["Callback", "Chains", "Look", "up_to"]


@dataclass(frozen=True, eq=False)
class Look:
    """A chain between two sweeps.

    chain: which, from 0.
    sweeps: finished ones.
    total: of the run, at its end.
    labels: (H, W) uint8, the sample; a copy.
    energy: of these labels, `mrfhw.samplers.field_energy.FieldEnergy`.
    """

    chain: int
    sweeps: int
    total: int
    labels: np.ndarray
    energy: float
    energies: Callable[[], np.ndarray | None] = field(repr=False, default=lambda: None)

    @cached_property
    def rhat(self) -> float | None:
        """R-hat of the energies of all chains up to here, after the burn-in; None where there are too few sweeps for one, or the
        chains do not run side by side. Computed when it is asked for: it takes milliseconds, and more as the run grows."""
        return energy_rhat(self.energies())


Callback = Callable[[Look], object]  # anything true ends the run


def up_to(run: Run, sweeps: int) -> Run:
    """A run that was ended after so many sweeps, 1 at least; where that is within its burn-in, all but the last."""
    sweeps = max(1, sweeps)
    return dataclasses.replace(run, sweeps=sweeps, burn_in=min(run.burn_in, sweeps - 1))


def _asked(value: Any) -> bool:
    """Whether what a callback returned asks for the end. Raises ProblemError for what is neither true nor false."""
    try:
        return bool(value)
    except ValueError:
        raise ProblemError(f"callback gave {short(repr(value))}; what is true ends the run: give True or False") from None


class Chains:
    """`chains` chains of the plan's problem, as of `Run.of_chain`; a context manager.

    In this process and without windows all chains run side by side, `every` sweeps each in turn; elsewhere one after the other.
    However often a run is paused or gone on with, its bits are those of one run of all its sweeps.
    sweeps: asked for so far; `reached`: done by every chain that has begun. stopped: whether a callback has ended them.
    """

    def __init__(self, plan: backends.Plan, run: Run, chains: int, most: int = 0):
        """most: as of `mrfhw.runs.sampling.sample`, of `until_agreed`."""
        if chains < 1:
            raise ProblemError(f"chains is {chains}; a run has at least 1: give more")
        self.plan, self.run, self.most, self.sweeps = plan, run, most, 0
        self.recorder = Recorder(plan.problem, run.seed, run.sweeps)
        self._states: list[RunState | None] = [None] * chains
        self._results: list[Result] = []
        self._session: BaseSession | None = None
        self._asked, self._given_up = 0, False
        self.stopped = False
        self._side_by_side = plan.windows is None and plan.kind.shows_sweeps and chains > 1
        for _ in range(chains):
            self.recorder.begin()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let the machine go."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def advance(self, sweeps: int, every: int, callback: Callback | None = None) -> None:
        """So many sweeps more of every chain. Where the callback ended it, chains may stand at unlike sweeps or have not begun.

        Raises ProblemError where no sweep would be counted, and for a grid in windows whose last round was cut short.
        """
        if every < 1:
            raise ProblemError(f"every is {every}; a callback comes after so many sweeps: give 1 or more")
        if self.plan.windows is not None and self.sweeps % self.plan.visit:
            raise ProblemError(f"the run has {self.sweeps} sweeps; a picture in windows goes on after whole rounds of "
                               f"{self.plan.visit}: run a multiple of them, or choose another visit")
        total = self._asked = self.sweeps + sweeps
        before = list(self._states), list(self._results), [len(chain) for chain in self.recorder.looks]
        try:
            self._advance(total, every, callback)
        except BaseException:  # as if it had not begun: a chain that has ended is done again, with the same bits
            self._states, self._results, lengths = before
            self.recorder.shorten(lengths)
            raise

    def until_agreed(self, every: int, callback: Callback | None = None) -> None:
        """The whole run, and where the chains do not agree then, longer ones, as `mrfhw.runs.longer` has them.

        Of a longer one that the callback ends, what there is is the run before.
        """
        self.advance(self.run.sweeps, every, callback)
        while not self.stopped and may_go_on(self.plan, self.run, self.most):
            further = longer(self.run, self.recorder.trace(self.run.burn_in), self.most)
            if further is None:
                break
            before = self.run, self.sweeps, list(self._states), list(self._results), [len(looks) for looks in self.recorder.looks]
            self.run = further
            self.recorder.expect(further.sweeps)
            self._states = [None if state is None else state.uncounted() for state in self._states]
            self.advance(further.sweeps - self.sweeps, every, callback)
            if self.stopped:
                self.run, self.sweeps, self._states, self._results, lengths = before
                self.recorder.shorten(lengths)
                self._given_up = True

    def _advance(self, total: int, every: int, callback: Callback | None) -> None:
        if self._session is None:
            self._session = self.plan.open(total * len(self._states))
        run = dataclasses.replace(self.run, sweeps=total)
        pending = [_Chain(self, self._session, number, run, every if callback is not None else None, state)
                   for number, state in enumerate(self._states)]
        groups = [pending] if self._side_by_side else [[chain] for chain in pending]
        self.stopped = False
        for group in groups:
            while not self.stopped and any(not chain.finished for chain in group):
                for chain in group:
                    if not self.stopped and not chain.finished:
                        chain.advance()
                        self.stopped = callback is not None and _asked(callback(self._look(chain, total)))
            for chain in group:
                if chain.active is not None:  # results are fetched in the order of the runs
                    self._states[chain.number] = chain.active.state()
                    if chain.finished:
                        self._keep(chain.number, chain.active.result())
            if self.stopped:
                break
        self.sweeps = total
        for number, state in enumerate(self._states):
            if state is not None and state.sweeps < total:
                self._keep(number, self._cut(number, state))

    def _keep(self, number: int, result: Result) -> None:
        self._results[number:number + 1] = [result]

    def _cut(self, number: int, state: RunState) -> Result:
        """The result of a chain that was ended: that of a run of so many sweeps."""
        assert self._session is not None
        return self.plan.begin(self._session, up_to(self.run, state.sweeps).of_chain(number), state=state).result()

    def _look(self, chain: _Chain, total: int) -> Look:
        assert chain.active is not None
        labels = np.array(chain.active.last)
        lengths = [len(looks) for looks in self.recorder.looks]

        def energies() -> np.ndarray | None:
            return self.recorder.energies(self.run.burn_in, lengths) if self._side_by_side else None

        sweeps = chain.active.sweeps
        energy = (self.recorder.energy_after(sweeps, labels, chain.number) if self.plan.windows is None  # which stop within a sweep
                  else self.recorder.energy(labels))
        return Look(chain.number, sweeps, total, labels, energy, energies)

    @property
    def reached(self) -> int:
        """Sweeps that every chain with a result has done."""
        return min((state.sweeps for state in self._states if state is not None), default=0)

    def solution(self) -> Solution:
        """What there is: of chains that were ended, up to where they stand."""
        return Solution(results=list(self._results), trace=self.recorder.trace(self.run.burn_in),
                        asked=self._asked if self.stopped else None, given_up=self._given_up)


class _Chain:
    """A chain on its way to its next pause."""

    def __init__(self, chains: Chains, session: BaseSession, number: int, run: Run, every: int | None, state: RunState | None):
        self.number = number
        self.active: ActiveRun | None = None
        self._chains, self._session, self._state = chains, session, state
        self._run = run.of_chain(number)
        self._pauses = None if every is None else Pauses(sweeps=every)

    @property
    def finished(self) -> bool:
        return self.active is not None and self.active.finished

    def advance(self) -> None:
        if self.active is None:
            if self._pauses is not None:
                self._pauses.restart(0 if self._state is None else self._state.sweeps)
            self.active = self._chains.plan.begin(
                self._session, self._run, state=self._state, pauses=self._pauses,
                observe=lambda sweeps, labels, energy: self._chains.recorder.look(sweeps, labels, energy, self.number))
        else:
            if self._pauses is not None:
                self._pauses.restart(self.active.sweeps)
            self.active.advance()
