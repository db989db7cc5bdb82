"""One runner: a request or a list of them, prepared, stepped, kept, gone on with."""

from __future__ import annotations

import contextlib
import dataclasses
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from types import TracebackType
from typing import Any, Self

from mrfhw.analysis.convergence import more_helps
from mrfhw.analysis.solution import Solution
from mrfhw.analysis.trace import Trace
from mrfhw.backends.backend import Backend, Steps, at_once, together
from mrfhw.backends.plan import Plan
from mrfhw.backends.registry import backend_type
from mrfhw.field.given import short
from mrfhw.field.problem import Run
from mrfhw.jobs.job import Job
from mrfhw.jobs.label_scale import LabelScale
from mrfhw.runs.chains import Callback, Chains, Look, Watch, up_to, visit_of
from mrfhw.runs.checkpoint import Checkpoint, Keeping
from mrfhw.runs.first import Turn, prepared
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


@dataclass(frozen=True, kw_only=True, eq=False)
class _Field:
    """A field that was sampled. run: that was done. checkpoint: of its end."""

    run: Run
    solution: Solution
    checkpoint: Checkpoint


def _together(fields: list[_Field]) -> Solution:
    """The solution of all fields of a job."""
    first, *others = [dataclasses.replace(one.solution, done=one.run) for one in fields]
    ended = [one for one in (first, *others) if one.asked is not None]
    return dataclasses.replace(first, beside=tuple(others), asked=ended[0].asked if ended else None,
                               given_up=any(one.given_up for one in ended))


class _Share(Watch):
    """Tells another of a field as of a part of all fields."""

    def __init__(self, whole: Watch, number: int, fields: int):
        self._whole, self._number, self._fields = whole, number, fields

    def sweeps(self, done: int, total: int) -> None:
        self._whole.sweeps(self._number * total + done, self._fields * total)

    def going_on(self, run: Run) -> None:
        self._whole.going_on(run)


class _OneOfSeveral(Watch):
    """Tells another of one of several requests that are done at once, as of their sum.

    told: what each of them has told last, finished sweeps and all, to which it adds itself.
    """

    def __init__(self, whole: Watch, told: list[tuple[int, int]]):
        self._whole, self._told, self._place = whole, told, len(told)
        told.append((0, 0))

    def sweeps(self, done: int, total: int) -> None:
        self._told[self._place] = done, total
        self._whole.sweeps(sum(one for one, _ in self._told), sum(of_one or total for _, of_one in self._told))

    def going_on(self, run: Run) -> None:
        self._whole.going_on(run)


class Runner:
    """Requests, one after the other; a context manager. Where a backend draws those of several together, `result` has as many at
    once as it has places for their chains. Nothing is read, opened or sampled before `prepare` or `step`.

        with Runner(requests) as runner:
            while runner.step(100):
                print(runner.number, runner.state().length)
        solved = runner.result()

    requests: a Request or several. callback, every: a function of a Look, called after so many sweeps of each chain; anything true
    ends the request under way: of a job of several fields, those after the one that it ended get as many sweeps as that had.
    keeping: the checkpoint files, or what gives them for the number of a request.
    add_up: of chains whose histograms need not be told apart keep their sum alone. traced: whether sites and energies are watched,
    of which diagnostics are made and chains go on.
    watch: who is told how it gets on. judge: who says whether chains do not agree, and more sweeps help.
    turn: within which a backend is opened, samples and is closed, where a request is done whole.
    beside: whose runs these are sampled together with.

    number: of the request under way, from 0; how many there are when all have ended.
    """

    def __init__(self, requests: Request | Sequence[Request], *, callback: Callback | None = None, every: int = EVERY,
                 keeping: Keeping | Callable[[int], Keeping] | None = None, add_up: bool = False, watch: Watch | None = None,
                 judge: Judge = more_helps, traced: bool = True, turn: Turn = contextlib.nullcontext,
                 beside: Backend | None = None):
        self._beside = beside
        self.requests = [requests] if isinstance(requests, Request) else list(requests)
        self._every = counted("every", every)
        check_callback(callback)
        self._callback, self._keeping, self._add_up, self._traced = callback, keeping, add_up, traced
        self._watch, self._judge, self._turn = watch or Watch(), judge, turn
        self._solved: list[Solved] = []
        self._job: Job | None = None
        self._plans: list[Plan] = []  # of the fields of the job under way
        self._done: list[_Field] = []  # of those that are sampled
        self._whole: Checkpoint | None = None  # that a job of several fields goes on from
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

    def ready(self) -> Job:
        """`prepare`, with what comes first sampled. Raises ProblemError."""
        job = self.prepare()
        if job.first is not None:
            request = self.requests[self.number]
            job = self._job = prepared(request.backend, job, request.visit, self._watch.first, self._turn)
        return job

    def replace_run(self, run: Run) -> None:
        """Sample the request under way, of which nothing but what comes first is sampled yet, by another run."""
        self._job = dataclasses.replace(self.prepare(), run=run)

    def _begun(self) -> Chains:
        """The chains of the request under way, when what comes first has been sampled."""
        if self._chains is None:
            job, request = self.ready(), self.requests[self.number]
            keeping = (self._keeping(self.number) if callable(self._keeping) else self._keeping) or Keeping()
            chains: int = job.settings["chains"]
            if not self._plans:
                visit = visit_of(job.config, job.run, chains, job.most_sweeps) if request.visit is None else request.visit
                self._plans = [Plan.of(request.backend, job.config, problem, visit) for problem in job.problems]
                if len(self._plans) > 1 and keeping.resume is not None:
                    self._whole = Checkpoint.load(keeping.resume, partial(self._check_fits, keeping.resume))
            run, most, watch, number = job.run, job.most_sweeps, self._watch, len(self._done)
            scale = job.scale if job.fields is None else job.fields.scales[number]
            if len(self._plans) > 1:
                keeping = keeping.of_field(number, self._whole, [one.checkpoint for one in self._done])
                watch = _Share(watch, number, len(self._plans))
                run, most = next(((up_to(run, min(run.sweeps, one.run.sweeps)), 0) for one in self._done if one.solution.asked),
                                 (run, most))
            self._chains = Chains(self._plans[number], run, chains, most=most, traced=self._traced, add_up=self._add_up,
                                  judge=lambda trace, times: self._judge(trace, times, scale), watch=watch, keeping=keeping,
                                  beside=self._beside)
        return self._chains

    def _check_fits(self, path: object, whole: Checkpoint) -> None:
        """Raise ProblemError where a checkpoint's fields are not those of the job under way."""
        parts = [*whole.before, whole]
        if len(parts) > len(self._plans):
            raise ProblemError(f"{path} has {len(parts)} fields; the run has {len(self._plans)}: give the options that it was "
                               "written with, or leave resume out")
        assert self._job is not None
        for plan, one in zip(self._plans, parts, strict=False):
            one.check_shapes(path, plan.problem, self._job.run)

    def _callback_of_field(self) -> Callback | None:
        """The callback, which is told of the field; None where it has ended a field before."""
        number, callback = len(self._done), self._callback
        if callback is None or any(one.solution.asked for one in self._done):
            return None

        def told(look: Look) -> object:
            return callback(dataclasses.replace(look, part=number))

        return told if number else callback

    def step(self, sweeps: int | None = None) -> bool:
        """At most so many sweeps more of the chains that are under way, of the request under way, None: all that are left of it.
        Whether there is more to do. Raises ProblemError."""
        if self.number == len(self.requests):
            return False
        if sweeps is not None:
            self._step(sweeps)
            return self.number < len(self.requests)
        self.ready()
        with self._turn(), contextlib.ExitStack() as held:
            held.callback(self.close)
            number = self.number
            while self.number == number:
                self._step(None)
        return self.number < len(self.requests)

    def _step(self, sweeps: int | None) -> None:
        """Of the field under way; None: to its end."""
        chains, callback = self._begun(), self._callback_of_field()
        at_end = chains.step(sweeps, self._every, callback)
        while sweeps is None and not at_end:
            at_end = chains.step(None, self._every, callback)
        if at_end:
            self._end(chains)

    def _end(self, chains: Chains) -> None:
        """Take what the chains of a field have come to, and where it was the last one, of the request."""
        assert self._job is not None
        chains.close()
        end = dataclasses.replace(chains.state(), before=())
        self._done.append(_Field(run=chains.done, solution=chains.solution(), checkpoint=end))
        self._chains = None
        if len(self._done) < len(self._plans):
            return
        runs = sorted((one.run for one in self._done), key=lambda run: run.sweeps)
        solution = _together(self._done) if len(self._done) > 1 else self._done[0].solution
        job = self._job.of_run(runs[-1] if solution.asked is None else runs[0])
        self._solved.append(Solved(request=self.requests[self.number], job=job, solution=solution))
        self._job, self._plans, self._done, self._whole = None, [], [], None

    # -- several at once

    def rounds(self) -> Steps[None]:
        """All of the request under way; gives others their turns that are sampled together with it."""
        self.ready()
        number = self.number
        with contextlib.ExitStack() as held:
            held.callback(self.close)
            while self.number == number:
                chains = self._begun()
                yield from chains.rounds(self._every)
                self._end(chains)

    def _together(self) -> None:
        """Those that are left, as many at once as the backend has places for their chains, where it draws several together."""
        left = self.requests[self.number:]
        name = left[0].backend if left else ""
        alike = self._callback is None and self._keeping is None and len({one.backend for one in left}) == 1 and len(left) > 1
        if not alike or not (kind := backend_type(name)).software:
            return
        with kind.open(name, None, 0) as shared:
            if shared.beside() is None:
                return
            waiting = deque(self._beside_others(one, shared) for one in left)
            while waiting:
                self._some_at_once(waiting, len(shared.places))

    def _beside_others(self, request: Request, shared: Backend) -> Runner:
        """Of one of the requests, sampled together with others."""
        return Runner(request, every=self._every, add_up=self._add_up, judge=self._judge, traced=self._traced, turn=self._turn,
                      beside=shared)

    def _some_at_once(self, waiting: deque[Runner], places: int) -> None:
        """As many of them as there are places for their chains, from the first on, which always is."""
        told, runners = list[tuple[int, int]](), list[Runner]()
        with contextlib.ExitStack() as held:
            while waiting and (not runners or waiting[0].prepare().settings["chains"] <= places):
                runner = held.enter_context(waiting.popleft())
                places -= int(runner.prepare().settings["chains"])
                runner._watch = _OneOfSeveral(self._watch, told)
                runners.append(runner)
            at_once(together([runner.rounds() for runner in runners]))
        for runner in runners:
            self._solved += runner._solved

    def state(self) -> Checkpoint:
        """Where the chains of the request under way stand, as it can be saved and gone on from."""
        return self._begun().state()

    def result(self) -> list[Solved]:
        """What all requests have come to; does what is left to do."""
        if self._job is None:
            self._together()
        while self.step():
            pass
        return self._solved


def check_callback(callback: Any) -> None:
    """A function, or None. Raises ProblemError."""
    if callback is not None and not callable(callback):
        raise ProblemError(f"callback is {short(repr(callback))}; it is a function of a Look: give one, or None")
