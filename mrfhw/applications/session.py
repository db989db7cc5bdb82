"""A problem on a machine, sampled some sweeps at a time."""

from __future__ import annotations

import dataclasses
import os
from types import TracebackType
from typing import Any, Self

import numpy as np

from mrfhw.applications.answer import Answer
from mrfhw.backends.plan import Plan
from mrfhw.backends.registry import AUTO
from mrfhw.field.given import NUMBER_MAX, whole_number
from mrfhw.field.problem import Problem, ProblemError, Run
from mrfhw.runs.chains import Callback, Chains, visit_of
from mrfhw.runs.request import Machine, Request, counted
from mrfhw.runs.runner import EVERY, check_callback

__all__ = ["Session"]


class Session:
    """Sample a problem some sweeps at a time; a context manager.

        with mrfhw.Session(problem, burn_in=100) as session:
            answer = session.continue_(200)
            while not answer.converged and session.sweeps < 2000:
                answer = session.continue_(200)

    The bits are those of one run of as many sweeps: `continue_(200)` twice gives what `mrfhw.solve(problem, sweeps=400,
    burn_in=100)` does, labels, counts and cycles; where the problem is larger than the machine, with the same `visit`.
    """

    def __init__(self, problem: Problem | str | os.PathLike[str], *, burn_in: int, seed: int | None = None, chains: int = 2,
                 initial: str | np.ndarray | None = None, machine: Machine = None,
                 backend: str = AUTO, visit: int | None = None,
                 **options: Any):
        """Check what is to be sampled.

        problem: a Problem or the path of a saved one.
        burn_in: sweeps that do not count.
        seed: of the first chain; the next one has seed + 1, so that runs to be compared need seeds at least `chains` apart.
        initial: labels to start from, "random", "minimum" or (H, W) whole numbers. Both are a saved problem's own by default, or
            else 0 and "random".
        machine: a Config, a manifest.json or the name of a preset; by default one that holds the problem.
        backend: as of `mrfhw.stereo`.
        visit: sweeps of a window at a time, where the problem is larger than the machine; `continue_` then takes whole multiples of
            it.
        options: single parameters of the machine, such as spes=4.
        Raises ProblemError or ConfigError in one line.
        """
        burn_in = whole_number("burn_in", burn_in, 0, NUMBER_MAX, "give the sweeps that do not count")
        if "sweeps" in options:
            raise ProblemError(f"sweeps is {options['sweeps']}; a session is told of its sweeps by continue_: leave sweeps out")
        if "most_sweeps" in options:
            raise ProblemError(f"most_sweeps is {options['most_sweeps']}; a session goes on by continue_: leave most_sweeps out")
        request = Request("problem", file=problem, sweeps=burn_in + 1, burn_in=burn_in, seed=seed, initial=initial, chains=chains,
                          machine=machine, backend=backend, visit=visit, **options)
        self._job = job = request.job(("chains", "machine", "backend", "visit"))
        chains = job.settings["chains"]
        self.visit = visit_of(job.config, Run(sweeps=max(2 * burn_in, 100), burn_in=burn_in), chains) if visit is None else visit
        self._job = dataclasses.replace(job, settings={**job.settings, "visit": self.visit})
        self._chains = Chains(Plan.of(request.backend, job.config, job.problem, self.visit), job.run, chains)
        self._ended = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let the machine go; the session cannot go on."""
        self._ended = self._ended or "was closed"
        self._chains.close()

    @property
    def sweeps(self) -> int:
        """Sweeps done so far."""
        return self._chains.reached

    def continue_(self, sweeps: int, *, callback: Callback | None = None, every: int = EVERY) -> Answer:
        """So many sweeps more, and the answer of all of them.

        callback, every: as of `mrfhw.solve`; a run that a callback ended cannot go on.
        Raises ProblemError.
        """
        if self._ended:
            raise ProblemError(f"the session {self._ended}, and cannot go on: begin another one")
        sweeps = whole_number("sweeps", sweeps, 1, NUMBER_MAX, "give at least one")
        if self._chains.sweeps + sweeps <= self._job.run.burn_in:
            raise ProblemError(f"sweeps is {sweeps} after {self._chains.sweeps}, and the burn-in {self._job.run.burn_in}; at "
                               "least one sweep must count: give more")
        every = counted("every", every)
        check_callback(callback)
        self._chains.extend(sweeps, every, callback)
        if self._chains.stopped:
            self._ended = "was ended by its callback"
        return Answer(self._job.of_run(self._chains.done), self._chains.solution())
