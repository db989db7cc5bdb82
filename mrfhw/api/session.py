"""A problem on a machine, sampled some sweeps at a time."""

from __future__ import annotations

import dataclasses
import os
from types import TracebackType
from typing import Any, Self

import numpy as np

from mrfhw.api.answer import Answer
from mrfhw.apps.job import Job
from mrfhw.field.problem import Problem, ProblemError, Run
from mrfhw.jobs.problem import TASK
from mrfhw.machine.config import Config
from mrfhw.sessions.backends import Plan
from mrfhw.sessions.sampling import visit_of
from mrfhw.sessions.stepwise import Callback, Chains

__all__ = ["EVERY", "Session", "sampled"]

EVERY = 10  # sweeps from one call of a callback to the next


def sampled(job: Job, backend: str, chains: int | None, visit: int | None, callback: Callback | None, every: int,
            answer: type[Answer]) -> Any:
    """The answer of a job whose first runs are done."""
    if chains is None:
        chains = 1 if job.annealing else 2
    job = dataclasses.replace(job, settings={**job.settings, "chains": chains, "visit": visit})
    visit = visit_of(job.config, job.run, chains) if visit is None else visit
    with Chains(Plan.of(backend, job.config, job.problem, visit), job.run, chains) as running:
        ended = running.advance(job.run.sweeps, every, callback)
        return answer(_cut(job, running), running.solution(), stopped=not ended)


def _cut(job: Job, running: Chains) -> Job:
    """The job with the run that its chains have done, as far as all of them have come."""
    sweeps = running.reached
    burn_in = min(job.run.burn_in, max(0, sweeps - 1))
    return dataclasses.replace(job, run=dataclasses.replace(job.run, sweeps=max(1, sweeps), burn_in=burn_in))


class Session:
    """Sample a problem some sweeps at a time; a context manager.

        with mrfhw.Session(problem, burn_in=100) as session:
            answer = session.continue_(200)
            while not answer.converged and session.sweeps < 2000:
                answer = session.continue_(200)

    The bits are those of one run of as many sweeps: `continue_(200)` twice gives what `mrfhw.solve(problem, sweeps=400,
    burn_in=100)` does, labels, counts and cycles.
    """

    def __init__(self, problem: Problem, *, burn_in: int, seed: int = 0, chains: int = 2, initial: str | np.ndarray = "random",
                 machine: Config | str | os.PathLike[str] | None = None, backend: str = "model", visit: int | None = None,
                 **options: Any):
        """problem: what is sampled. burn_in: sweeps that do not count. seed: of the first chain; the next one has seed + 1.
        initial: labels to start from, "random", "minimum" or (H, W) whole numbers. machine: a Config, a manifest.json or the
        name of a preset; by default one that holds the problem. backend: "float", "model", "rtl" or the address of a board.
        visit: sweeps of a window at a time, where the problem is larger than the machine; `continue_` then takes whole
        multiples of it. options: single parameters of the machine, such as spes=4.
        Raises ProblemError or ConfigError in one line.
        """
        self._job = TASK.job_of({"file": problem, "sweeps": burn_in + 1, "burn_in": burn_in, "seed": seed, "initial": initial,
                                 **machine_options(machine, backend), **options})
        visit = visit_of(self._job.config, Run(sweeps=max(2 * burn_in, 100), burn_in=burn_in), chains) if visit is None else visit
        self._chains = Chains(Plan.of(backend, self._job.config, problem, visit), self._job.run, chains)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let the machine go."""
        self._chains.close()

    @property
    def sweeps(self) -> int:
        """Sweeps done so far."""
        return self._chains.reached

    def continue_(self, sweeps: int, *, callback: Callback | None = None, every: int = EVERY) -> Answer:
        """So many sweeps more, and the answer of all of them. callback, every: as of `mrfhw.solve`; a run that a callback ended
        cannot go on. Raises ProblemError."""
        if sweeps < 1 or self._chains.sweeps + sweeps <= self._job.run.burn_in:
            raise ProblemError(f"sweeps is {sweeps} after {self._chains.sweeps}, and the burn-in {self._job.run.burn_in}; at "
                               "least one sweep must count: give more")
        ended = self._chains.advance(sweeps, every, callback)
        return Answer(_cut(self._job, self._chains), self._chains.solution(), stopped=not ended)


def machine_options(machine: Config | str | os.PathLike[str] | None, backend: str) -> dict[str, Any]:
    """The options of a machine that is given as a Config, by a manifest's path or a preset's name, or that a board is known to
    be."""
    from mrfhw.machine.config import PRESETS

    if machine is None and "://" in backend:
        from mrfhw.host.identity import machine_at

        machine = machine_at(backend) or Config()
    if machine is None:
        return {}
    return {"preset": machine} if isinstance(machine, str) and machine in PRESETS else {"machine": machine}
