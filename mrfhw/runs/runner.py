"""One runner: a request or a list of them, prepared, stepped, kept, gone on with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from mrfhw.analysis.convergence import more_helps
from mrfhw.analysis.solution import Solution
from mrfhw.analysis.trace import Trace
from mrfhw.backends.plan import Plan
from mrfhw.field.given import short
from mrfhw.jobs.job import Job
from mrfhw.jobs.label_scale import LabelScale
from mrfhw.runs.chains import Callback, Chains, Watch, visit_of
from mrfhw.runs.checkpoint import Checkpoint, Keeping
from mrfhw.runs.first import prepared
from mrfhw.runs.request import Request, counted
from mrfhw.system.errors import ProblemError

__all__ = ["EVERY", "Runner", "Solved", "check_callback"]

EVERY = 10  # sweeps from one call of a callback to the next

Judge = Callable[[Trace, float, LabelScale], bool]  # of `mrfhw.runs.longer`, told what the labels stand for


@dataclass(frozen=True, kw_only=True, eq=False)
class Solved:
    """What a request has come to.

    request: what was asked.
    job: the field that was sampled, with the run that was done.
    solution: its chains.
    """

    request: Request
    job: Job
    solution: Solution


class Runner:
    """Requests, one after the other; a context manager. Nothing is read, opened or sampled before `prepare` or `step`.

        with Runner(requests) as runner:
            while runner.step(100):
                print(runner.number, runner.state().length)
        solved = runner.result()

    requests: a Request or several. callback, every: a function of a Look, called after so many sweeps of each chain; anything true
    ends the request under way.
    keeping: the checkpoint files, or what gives them for the number of a request.
    add_up: of chains whose histograms need not be told apart keep their sum alone.
    watch: who is told how it gets on. judge: who says whether chains do not agree, and more sweeps
    help.

    number: of the request under way, from 0; how many there are when all have ended.
    """

    def __init__(self, requests: Request | Sequence[Request], *, callback: Callback | None = None, every: int = EVERY,
                 keeping: Keeping | Callable[[int], Keeping] | None = None, add_up: bool = False, watch: Watch | None = None,
                 judge: Judge = more_helps):
        self.requests = [requests] if isinstance(requests, Request) else list(requests)
        self._every = counted("every", every)
        check_callback(callback)
        self._callback, self._keeping, self._add_up = callback, keeping, add_up
        self._watch, self._judge = watch or Watch(), judge
        self._solved: list[Solved] = []
        self._job: Job | None = None
        self._chains: Chains | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let the machine go."""
        if self._chains is not None:
            self._chains.close()

    @property
    def number(self) -> int:
        return len(self._solved)

    def prepare(self) -> Job:
        """The job of the request under way: pictures are read, all is checked, nothing is sampled. Raises ProblemError."""
        if self._job is None:
            self._job = self.requests[self.number].job()
        return self._job

    def _begun(self) -> Chains:
        """The chains of the request under way, when what comes first has been sampled."""
        job, request = self.prepare(), self.requests[self.number]
        if self._chains is None:
            job = self._job = prepared(request.backend, job, request.visit, self._watch.first)
            chains: int = job.settings["chains"]
            visit = visit_of(job.config, job.run, chains, job.most_sweeps) if request.visit is None else request.visit
            keeping = self._keeping(self.number) if callable(self._keeping) else self._keeping
            self._chains = Chains(Plan.of(request.backend, job.config, job.problem, visit), job.run, chains, most=job.most_sweeps,
                                  add_up=self._add_up, judge=lambda trace, times: self._judge(trace, times, job.scale),
                                  watch=self._watch, keeping=keeping)
        return self._chains

    def step(self, sweeps: int | None = None) -> bool:
        """At most so many sweeps more of the chains that are under way, of the request under way, None: all that are left of it.
        Whether there is more to do. Raises ProblemError."""
        if self.number == len(self.requests):
            return False
        chains = self._begun()
        at_end = chains.step(sweeps, self._every, self._callback)
        while sweeps is None and not at_end:
            at_end = chains.step(None, self._every, self._callback)
        if at_end:
            assert self._job is not None
            chains.close()
            self._solved.append(Solved(request=self.requests[self.number], job=self._job.of_run(chains.done),
                                       solution=chains.solution()))
            self._job = self._chains = None
        return self.number < len(self.requests)

    def state(self) -> Checkpoint:
        """Where the chains of the request under way stand, as it can be saved and gone on from."""
        return self._begun().state()

    def result(self) -> list[Solved]:
        """What all requests have come to; does what is left to do."""
        while self.step():
            pass
        return self._solved


def check_callback(callback: Any) -> None:
    """A function, or None. Raises ProblemError."""
    if callback is not None and not callable(callback):
        raise ProblemError(f"callback is {short(repr(callback))}; it is a function of a Look: give one, or None")
