"""What a job samples before its own field."""

from __future__ import annotations

import dataclasses

from mrfhw.backends import plan as backends
from mrfhw.backends.session import Progress
from mrfhw.jobs.job import START_FOUND, Job, energy_settings

__all__ = ["first_sweeps", "prepared"]


def first_sweeps(job: Job) -> int:
    """Sweeps of what comes first, all runs added."""
    return 0 if job.first is None else sum(run.sweeps for _, run in job.first.runs)


def prepared(backend: str, job: Job, visit: int | None = None, progress: Progress | None = None) -> Job:
    """The job when what comes first has been sampled by the backend. progress: called with the number of finished sweeps."""
    if job.first is None:
        return job
    results, finished = [], 0
    for problem, run in job.first.runs:
        def advance(done: int, before: int = finished) -> None:
            if progress is not None:
                progress(before + done)

        results.append(backends.solve(backend, job.machine, problem, run, advance, visit=visit))
        finished += run.sweeps
    changes = job.first.then(results)
    for result in results:
        result.counts = result.sums = None  # as large as the field's own, and not needed any more
    changed = dataclasses.replace(job, **changes, first=None, prior=tuple(results))
    start = {} if changed.run.initial is job.run.initial else {"initial": START_FOUND}
    return dataclasses.replace(changed, settings={**job.settings, **energy_settings(changed.problem), **start})
