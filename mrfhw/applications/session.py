"""A problem on a machine, sampled some sweeps at a time."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable, Mapping
from types import TracebackType
from typing import Any, Self

import numpy as np

from mrfhw.applications.answer import Answer
from mrfhw.applications.field.job import TASK
from mrfhw.backends.plan import BACKENDS, Plan, check_useful
from mrfhw.field.given import NUMBER_MAX, short, whole_number
from mrfhw.field.problem import Problem, ProblemError, Run
from mrfhw.jobs.job import Job
from mrfhw.machine.config import PRESETS, Config
from mrfhw.machine.manifest import AUTO, chosen_backend
from mrfhw.runs.sampling import visit_of
from mrfhw.runs.stepwise import Callback, Chains, up_to

__all__ = ["BESIDE", "EVERY", "Machine", "Session", "backend_of", "check_callback", "counted", "counted_or_none", "machine_options",
           "sampled"]

Machine = Config | str | os.PathLike[str] | None  # itself, the path of a manifest, or the name of a preset
BESIDE = ("chains", "machine", "backend", "visit")  # what a session takes beside the options of a field
EVERY = 10  # sweeps from one call of a callback to the next


def sampled(job: Job, backend: str, chains: int | None, visit: int | None, callback: Callback | None, every: int,
            answer: type[Answer]) -> Any:
    """The answer of a job whose first runs are done."""
    chains = job.chains if chains is None else chains
    job = dataclasses.replace(job, settings={**job.settings, "chains": chains, "visit": visit})
    visit = visit_of(job.machine, job.run, chains, job.most_sweeps) if visit is None else visit
    with Chains(Plan.of(backend, job.machine, job.problem, visit), job.run, chains, job.most_sweeps) as running:
        running.until_agreed(every, callback)
        return answer(_cut(job, running), running.solution())


def _cut(job: Job, running: Chains) -> Job:
    """The job with the run that its chains have done, as far as all of them have come."""
    return job.of_run(up_to(running.run, running.reached))


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
        chains, visit = counted("chains", chains), counted_or_none("visit", visit)
        backend = backend_of(backend, machine, visit, options)
        notes = check_useful(backend, options, visit)
        burn_in = whole_number("burn_in", burn_in, 0, NUMBER_MAX, "give the sweeps that do not count")
        if "sweeps" in options:
            raise ProblemError(f"sweeps is {options['sweeps']}; a session is told of its sweeps by continue_: leave sweeps out")
        if "most_sweeps" in options:
            raise ProblemError(f"most_sweeps is {options['most_sweeps']}; a session goes on by continue_: leave most_sweeps out")
        job = TASK.job_of({"file": problem, "sweeps": burn_in + 1, "burn_in": burn_in, "seed": seed, "initial": initial,
                           **machine_options(machine, backend, options), **options}, backend, BESIDE)
        visit = visit_of(job.machine, Run(sweeps=max(2 * burn_in, 100), burn_in=burn_in), chains) if visit is None else visit
        self._job = dataclasses.replace(job, settings={**job.settings, "chains": chains, "visit": visit},
                                        notes=(*job.notes, *notes))
        self._chains = Chains(Plan.of(backend, job.machine, job.problem, visit), job.run, chains)
        self._ended = ""
        self.visit = visit

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
        self._chains.advance(sweeps, every, callback)
        if self._chains.stopped:
            self._ended = "was ended by its callback"
        return Answer(_cut(self._job, self._chains), self._chains.solution())


def counted(name: str, value: Any) -> int:
    """`value` as a whole number of at least 1. Raises ProblemError."""
    return whole_number(name, value, 1, NUMBER_MAX, "give a whole number of at least 1")


def counted_or_none(name: str, value: Any) -> int | None:
    """The same where None is a default."""
    return None if value is None else counted(name, value)


def check_callback(callback: Any) -> None:
    """A function, or None. Raises ProblemError."""
    if callback is not None and not callable(callback):
        raise ProblemError(f"callback is {short(repr(callback))}; it is a function of a Look: give one, or None")


def backend_of(backend: Any, machine: Machine, visit: int | None, given: Iterable[str]) -> str:
    """The backend that is meant where these options, this machine and these visits are given. Raises ProblemError for no name."""
    if not isinstance(backend, str):
        raise ProblemError(f"backend is {short(repr(backend))}; it is {', '.join(BACKENDS)} or the address of a board: give "
                           "one of them")
    given = [*given, *(["machine"] if machine is not None else []), *(["visit"] if visit is not None else [])]
    return chosen_backend(backend, given)


def machine_options(machine: Any, backend: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a machine that is given as a Config, by a manifest's path or a preset's name, or that a board is known to be
    where no options of a machine are given. Raises ProblemError for anything else."""
    if machine is None and "://" in backend:
        from mrfhw.host.identity import machine_at

        machine = machine_at(backend, options)
    if machine is None:
        return {}
    if isinstance(machine, str) and machine in PRESETS:
        if options.get("preset", machine) != machine:
            raise ProblemError(f"machine is {machine} and preset is {options['preset']}: drop one of the two")
        return {"preset": machine}
    if not isinstance(machine, (Config, str, os.PathLike)):
        raise ProblemError(f"machine is {short(repr(machine))}; it is a Config, the path of a manifest.json or one of "
                           f"{', '.join(PRESETS)}: give one of them")
    return {"machine": machine}
