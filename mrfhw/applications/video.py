"""Frames of a video, one after the other: a frame starts from its own paths, and where it is hidden from the frame before.

A worker prepares a frame while the one before is sampled elsewhere, and waits for its labels alone.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any

import numpy as np

from mrfhw.applications.answer import Answer, answer_of
from mrfhw.applications.two_ways import hidden_from
from mrfhw.jobs.job import Job
from mrfhw.planning.lanes import Lanes, held
from mrfhw.runs.first import Turn
from mrfhw.runs.request import Request
from mrfhw.runs.runner import Runner
from mrfhw.system.errors import ProblemError
from mrfhw.system.workers import Worker, driven

__all__ = ["SWEEPS", "Done", "Link", "Then", "at_once", "goes_on", "in_order", "labels_for_all", "some_of"]

ASKED = 5  # frames whose pictures say which labels serve all
SWEEPS = 40  # of a frame by default, of which half are counted (docs/measured.md)

Then = Callable[[Answer, int], Any]  # what is done with a frame's answer and its number, in the frame's process


def some_of(count: int) -> list[int]:
    """The frames of so many, from 0, whose pictures say which labels serve all: the first, the last and some between."""
    return sorted(set(np.linspace(0, count - 1, min(count, ASKED)).astype(int).tolist()))


def goes_on(job: Job) -> bool:
    """Whether a frame that is prepared has use for the labels of the frame before."""
    return "occluded" in job.maps and not isinstance(job.run.initial, str)


def labels_for_all(jobs: list[Job]) -> dict[str, Any]:
    """The options by which one set of labels serves all frames, from the jobs of some; none where they are given, or are never
    found from pictures."""
    app = jobs[0].application
    return app.for_all(jobs) if app.for_all is not None and jobs[0].labels_found else {}


@dataclass(frozen=True)
class Done:
    """A frame that is done. what: it was made to. seconds: from its begin, with waiting. processor_seconds: of its process."""

    what: Any
    seconds: float
    processor_seconds: float


@dataclass
class _Held:
    """What a worker has of its frame from one task to the next. begun: seconds, and those of the processor."""

    runner: Runner | None = None
    answer: Answer | None = None
    begun: tuple[float, float] = (0.0, 0.0)


_frame = _Held()


def _begin(what: tuple[Request, tuple[int, int], bool]) -> bool:
    """Read and prepare a frame of so many rows and columns, which may take a board by turns; whether it has use for the labels of
    the frame before."""
    request, shape, by_turns = what
    _frame.begun = time.perf_counter(), time.process_time()
    _frame.runner = Runner(request, traced=False, turn=held if by_turns else contextlib.nullcontext)
    found = _frame.runner.prepare().problem.shape
    if found != shape:
        raise ProblemError(f"the frame has {found[1]}x{found[0]} pixels; the first one has {shape[1]}x{shape[0]}: give frames of "
                           "one size")
    return goes_on(_frame.runner.ready())


def _sample(before: np.ndarray | None) -> np.ndarray:
    """The labels (H, W) of the frame that was prepared. before: those of the frame before, None for none."""
    assert _frame.runner is not None
    if before is not None:
        job = _frame.runner.prepare()
        _frame.runner.replace_run(hidden_from(job.run, job.maps["occluded"], before))
    solved, = _frame.runner.result()
    _frame.runner, _frame.answer = None, answer_of(solved)
    return _frame.answer.labels


def _finish(task: tuple[Then, int]) -> Done:
    then, number = task
    answer, _frame.answer = _frame.answer, None
    assert answer is not None
    what, (began, busy) = then(answer, number), _frame.begun
    return Done(what, time.perf_counter() - began, time.process_time() - busy)


@dataclass(frozen=True, eq=False)
class Link:
    """A frame in its place.

    number: of the frame, from 1.
    request: of it, with labels that serve all frames.
    opens: whether it does not follow the frame before, but starts from `before`: labels (H, W), None for its own pictures alone.
    """

    number: int
    request: Request
    opens: bool = False
    before: np.ndarray | None = None


def in_order(links: Iterable[Link], shape: tuple[int, int], then: Then, workers: int,
             lanes: Lanes | None = None) -> Generator[tuple[int, Done | Exception], None, None]:
    """(number, what `then` makes of its answer) of each frame, in their order; of a frame that fails the exception.

    links: each is taken when one of so many processes is free for it.
    shape: rows and columns of every frame.
    then: done in the frame's process, with the number of the frame; it and what it gives can be pickled.
    lanes: boards that sample the frames; None for the requests' own backends.

    A frame after one that failed starts from its own paths alone. The bits are those of `mrfhw.run` with `before`, the labels of
    the frame before, whatever the number of workers. When the iterator is closed, all processes are.
    """
    numbers: list[int] = []

    def chained() -> Iterator[tuple[Link, Future[Any], Future[Any]]]:
        """Each frame with what will have the labels of the frame before, and what will have its own."""
        former: Future[np.ndarray | None] = Future()
        former.set_result(None)
        for link in links:
            if link.opens:
                former = Future()
                former.set_result(link.before)
            own: Future[np.ndarray | None] = Future()
            numbers.append(link.number)
            yield link, former, own
            former = own

    def done(worker: Worker, task: tuple[Link, Future[Any], Future[Any]]) -> Done:
        link, former, own = task
        found = None

        def sampled(request: Request, working: Turn, told: Callable[[Any], Any] | None) -> Any:
            with working():
                needs = worker.done(_begin, (request, shape, told is not None), told)
            before = former.result() if needs else None
            with working():
                return worker.done(_sample, before, told)

        try:
            found = (sampled(link.request, contextlib.nullcontext, None) if lanes is None else
                     lanes.done(lambda board, turns: sampled(lanes.request(link.request, board), turns.working, turns.told)))
        finally:
            own.set_result(found)
        with contextlib.nullcontext() if lanes is None else lanes.working():
            finished: Done = worker.done(_finish, (then, link.number))
        return finished

    early, next_one = dict[int, Any](), 0
    with contextlib.closing(driven(done, chained(), workers)) as outcomes:
        for place, outcome in outcomes:
            early[place] = outcome
            while next_one in early:
                # What cannot be read any more is no link.
                yield (numbers[next_one] if next_one < len(numbers) else sum(numbers[-1:]) + 1), early.pop(next_one)
                next_one += 1


def at_once(link: Link, shape: tuple[int, int], then: Then) -> tuple[np.ndarray, Done]:
    """Labels (H, W) of a frame, and what `then` makes of its answer, in this process; it starts from `link.before`."""
    needs = _begin((link.request, shape, False))
    labels = _sample(link.before if needs else None)
    return labels, _finish((then, link.number))
