"""What a job samples before its own field."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable

from mrfhw.backends import plan as backends
from mrfhw.jobs.job import START_FOUND, First, Job, energy_settings
from mrfhw.system.parts import part

__all__ = ["Turn", "prepared"]

Turn = Callable[[], contextlib.AbstractContextManager[None]]  # within which a machine is sampled on


def prepared(backend: str, job: Job, visit: int | None = None, progress: Callable[[int, int], object] | None = None,
             turn: Turn = contextlib.nullcontext) -> Job:
    """The job when what comes first has been sampled by the backend. progress: called with finished sweeps and how many
    there are. turn: within which it is sampled."""
    if job.first is None:
        return job
    with part("first"):
        return _prepared(backend, job, job.first, visit, progress, turn)


def _prepared(backend: str, job: Job, first: First, visit: int | None, progress: Callable[[int, int], object] | None,
              turn: Turn) -> Job:
    results, finished, total = [], 0, sum(run.sweeps for _, run in first.runs)
    with turn() if first.runs else contextlib.nullcontext():
        for problem, run in first.runs:
            def advance(done: int, before: int = finished) -> None:
                if progress is not None:
                    progress(before + done, total)

            results.append(backends.solve(backend, job.config, problem, run, advance, visit=visit))
            finished += run.sweeps
    with part("then"):
        changes = first.then(results)
    for result in results:
        result.counts = result.sums = None  # as large as the field's own, and not needed any more
    changed = dataclasses.replace(job, **changes, first=None, prior=tuple(results))
    start = {} if changed.run.initial is job.run.initial else {"initial": START_FOUND}
    return dataclasses.replace(changed, settings={**job.settings, **energy_settings(changed.problem), **start})
