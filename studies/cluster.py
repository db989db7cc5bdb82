"""What a job more costs on a Dask cluster, beside as many local processes: jobs that do nothing, and runs of a tiny field.

python -m studies.cluster [--jobs 40 --workers 1 --rounds 5]

The cluster is on this computer. A round does all jobs by local processes and then on the cluster; the lines are medians of the
rounds, in milliseconds a job and worker, from the end of the first job to that of the last. Other work there changes them.
"""

from __future__ import annotations

import statistics
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import click
import numpy as np

from mrfhw.commands.batch import Work, board, perform, received, sent_work
from mrfhw.commands.elsewhere import perform_elsewhere
from mrfhw.commands.job_lines import JobLine
from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.field.problem import Problem
from mrfhw.field.schedule import Schedule
from mrfhw.system.cluster import Cluster
from mrfhw.system.workers import in_workers


def nothing(number: int) -> int:
    """A job that is over at once."""
    return number


def _milliseconds(outcomes: Iterable[tuple[int, Any]], jobs: int, workers: int, done: Callable[[int, Any], Any]) -> float:
    """Of a job and worker; the time until the first outcome, in which a process may start, is left out."""
    began = 0.0
    for number, outcome in outcomes:
        outcome = done(number, outcome)
        if isinstance(outcome, BaseException) or getattr(outcome, "code", 0):
            raise click.ClickException(f"job {number}: {outcome}")
        began = began or time.perf_counter()
    return 1e3 * (time.perf_counter() - began) * workers / (jobs - 1)


def measured(folder: Path, jobs: int, workers: int, rounds: int) -> list[tuple[str, list[float], list[float]]]:
    """(what, milliseconds of local processes, of the cluster) for each kind of job."""
    import distributed

    from studies.cluster import nothing as importable  # by the processes, which have another __main__

    Problem(labels=3, unary=np.random.default_rng(1).integers(0, 9, (6, 7, 3)), alpha=1, beta=2,
            schedule=Schedule.constant(3.0)).save(folder / "field.npz")
    words = ("problem", "field.npz", "--sweeps", "20", "--no-report")
    work = [Work(JobLine(number, words, folder), (), folder / str(number)) for number in range(jobs)]
    found: list[tuple[str, list[float], list[float]]] = [("nothing", [], []), ("a tiny field", [], [])]
    with (distributed.LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as local,
          Cluster(local.scheduler_address) as cluster):
        for number in range(rounds + 1):
            ways = [(in_workers(importable, range(jobs), workers), cluster.outcomes(importable, range(jobs)), _as_it_is),
                    (in_workers(perform, work, workers),
                     cluster.outcomes(perform_elsewhere, work, packed=sent_work, needs=board),
                     lambda number, outcome: received(work[number], outcome))]
            for (_, here, there), (by_processes, by_cluster, done) in zip(found, ways, strict=True):
                took = (_milliseconds(by_processes, jobs, workers, _as_it_is), _milliseconds(by_cluster, jobs, workers, done))
                if number:  # the first round warms up
                    here.append(took[0])
                    there.append(took[1])
    return found


def _as_it_is(number: int, outcome: Any) -> Any:
    return outcome


@click.command(cls=OneLineCommand)
@click.option("--jobs", type=click.IntRange(2), default=40, show_default=True, help="Of each kind in a round.")
@click.option("--workers", type=click.IntRange(1), default=1, show_default=True, help="At a time.")
@click.option("--rounds", type=click.IntRange(1), default=5, show_default=True, help="After one that warms up.")
def main(jobs: int, workers: int, rounds: int) -> None:
    """Measure what a job more costs on a cluster."""
    warnings.simplefilter("ignore", ResourceWarning)
    with tempfile.TemporaryDirectory() as folder:
        for what, here, there in measured(Path(folder), jobs, workers, rounds):
            own, other = statistics.median(here), statistics.median(there)
            click.echo(f"{what}: {own:.1f} ms a job by processes, {other:.1f} ms on a cluster: {other - own:.1f} ms more "
                       f"(medians of {rounds})")


if __name__ == "__main__":
    main()
