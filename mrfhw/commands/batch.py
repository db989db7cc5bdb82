"""`mrfhw batch`: many runs, several at a time in processes that stay warm, each in a folder of its own."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Generator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import click
from tqdm import tqdm  # type: ignore[import-untyped,unused-ignore]

from mrfhw.commands.cluster import CLUSTER, check_cluster, say_above_bar
from mrfhw.commands.elsewhere import Parcel, Returned, perform_elsewhere, sent
from mrfhw.commands.folder import Folder
from mrfhw.commands.job_lines import JobLine, of_file, of_folder
from mrfhw.commands.journal import Ended, Journal
from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.commands.performed import InTurn, Performed, performed
from mrfhw.commands.planned import PLAN, PlanOptions, followed, planned_requests
from mrfhw.jobs.registry import application
from mrfhw.machine.config import ConfigError
from mrfhw.planning.lanes import Turns
from mrfhw.planning.orders import Orders
from mrfhw.report.batch_page import page
from mrfhw.report.outputs import files_of, write_received
from mrfhw.report.targets import check_folder
from mrfhw.runs.request import Request
from mrfhw.system.cluster import Cluster
from mrfhw.system.errors import ProblemError
from mrfhw.system.files import check_writable, replaced, said
from mrfhw.system.processors import processors
from mrfhw.system.workers import Worker, driven, in_workers

__all__ = ["Work", "board", "command", "perform", "received", "sent_work"]

JOURNAL, INDEX = "batch.jsonl", "index.html"
_PAGE_EVERY = 2.0  # seconds from one writing of the page to the next


@dataclass(frozen=True)
class Work:
    """What a worker does: a job with more words, and where its files go. on: words of who samples it."""

    job: JobLine
    more: tuple[str, ...]
    output: Path
    on: tuple[str, ...] = ()

    @property
    def words(self) -> tuple[str, ...]:
        return (*self.job.words, *(word for word in self.more if word not in self.job.words), *self.on)


def perform(work: Work) -> Performed:
    return performed(work.words, work.job.base, work.output)


def _perform_in_turn(work: Work) -> Performed:
    return performed(work.words, work.job.base, work.output, InTurn())


def sent_work(work: Work) -> Parcel:
    """What goes to a cluster. Raises ProblemError and OSError for a job whose answer could not be written."""
    app = application(work.job.words[0])
    check_folder(work.output, files_of(app), work.job.files)
    return sent(work.job, work.more, work.output)


def board(work: Work) -> str | None:
    return work.job.board


def received(work: Work, outcome: Any) -> Any:
    """What a job on a cluster has come to, when its files are here."""
    if not isinstance(outcome, Returned):
        return outcome
    if outcome.performed.code == 0:
        try:
            write_received(work.output, outcome.files, application(work.job.words[0]), work.job.files)
        except (ProblemError, OSError) as error:
            return error
    return outcome.performed


@click.command("batch", cls=OneLineCommand)
@click.argument("manifest", type=click.Path(path_type=Path))
@click.option("--each", metavar="LINE", help="MANIFEST is a folder, and LINE what is run for each of its files that the first word "
              "with a * names, such as 'stereo *_left.png *_right.png --labels 24'.")
@click.option("-o", "--output", type=Folder(), default=Path("out") / "batch", show_default=True, metavar="DIR",
              help="Directory for the jobs' folders and index.html; made where it is missing.")
@click.option("--workers", type=int, metavar="N", help="Runs at a time, of one thread each.  [default: one for each processor]")
@CLUSTER
@PLAN[0]
@PLAN[1]
@PLAN[2]
@click.option("--machine", type=click.Path(path_type=Path), metavar="MANIFEST", help="The manifest.json of the boards' machine, "
              "where it was not generated on this computer.")
@click.option("--no-report", is_flag=True, help="Write numbers and arrays alone, without figures and pages of the runs.")
@click.option("--resume", is_flag=True, help="Leave out the jobs that have ended well with the same words and files.")
def command(manifest: Path, each: str | None, output: Path, workers: int | None, cluster: str | None, plan: str | None,
            boards: tuple[str, ...], clock: float | None, machine: Path | None, no_report: bool, resume: bool) -> None:
    """Run each line of MANIFEST as `mrfhw run` would, such as stereo LEFT RIGHT --labels 24.

    Paths are relative to MANIFEST. Each job's files are in a folder of its own, with the bits that mrfhw run gives; what fails
    is one line, and the others go on. index.html shows all of them, batch.jsonl lists what has ended. With --plan pictures are
    sampled where a plan has them sampled, such as on boards while processors do the rest of others.
    """
    if workers is not None and workers < 1:
        raise ProblemError(f"workers is {workers}; at least one run is done at a time: give 1 or more")
    check_cluster(cluster, workers)
    options = PlanOptions(plan, boards, clock, machine)
    options.check(workers=workers, cluster=cluster)
    if manifest.is_dir() != (each is not None):
        raise ProblemError(f"{manifest} is a folder, and nothing says what is run for its files: give --each, or a file of jobs"
                           if each is None else f"{manifest} is no folder, and --each is for one: give a folder, or leave it out")
    jobs = of_file(manifest) if each is None else of_folder(manifest, each)
    check_writable(output)
    output = output.absolute()
    orders = options.orders(lambda: _first(jobs), page=not no_report)
    if orders is not None:
        list(planned_requests(map(_named, jobs), orders))
    with contextlib.ExitStack() as held:
        there = None if cluster is None else held.enter_context(Cluster(cluster, say_above_bar))
        journal = held.enter_context(Journal(output / JOURNAL, resume))
        where = there or orders or workers or processors()
        failed = _run_all(jobs, output, journal, where, ("--no-report",) if no_report else (),
                          options.machine_file(orders, output))
    done = len(jobs) - failed
    click.echo(f"{done} of {len(jobs)} jobs are done" + (f", {failed} failed" if failed else "") + f": {output / INDEX}")
    click.get_current_context().exit(1 if failed else 0)


def _first(jobs: list[JobLine]) -> Request:
    """What the first job asks whose files can be read. Raises ProblemError where none of them can."""
    wrong: Exception | None = None
    for request in planned_requests(map(_named, jobs), None):
        try:
            request.job()
            return request
        except (ProblemError, ConfigError) as error:
            wrong = wrong or error
    raise ProblemError(f"no job can be planned for, {wrong}" if wrong else "no job can be planned for: leave plan out to see why")


def _named(job: JobLine) -> tuple[str, tuple[str, ...], Path]:
    return f"job {job.number}", job.words, job.base


def _run_all(jobs: list[JobLine], output: Path, journal: Journal, where: int | Cluster | Orders, more: tuple[str, ...],
             machine: Path | None) -> int:
    """Run what has not ended, in so many processes, on a cluster or as a plan says; how many jobs have failed. machine: manifest of
    the boards'."""
    orders = where if isinstance(where, Orders) else None
    digests = {job.name: job.digest if orders is None else orders.digest(job.digest) for job in jobs}
    kept = {job.name for job in jobs if _is_done(journal.ended.get(job.name), digests[job.name], output)}
    left = [job for job in jobs if job.name not in kept]
    failed, written = 0, 0.0
    work = [Work(job, more, output / job.name, ("--backend", "cpu") if orders is not None else ()) for job in left]
    with (followed(orders) as measured,
          tqdm(total=len(jobs), initial=len(kept), desc="batch", unit="job", leave=False, disable=None) as bar,
          contextlib.closing(_outcomes(work, where, machine)) as outcomes):
        for number, outcome in outcomes:
            job = left[number]
            found = Performed(1, said(outcome) if isinstance(outcome, OSError) else str(outcome), 0.0, 0.0) if isinstance(
                outcome, BaseException) else outcome
            one = Ended(job.name, list(job.words), digests[job.name], found.code, found.said, found.seconds,
                        found.processor_seconds)
            journal.add(one)
            failed += found.code != 0
            measured.ended()
            bar.update()
            tqdm.write(one.line)
            if time.monotonic() > written + _PAGE_EVERY:
                _write_page(output, journal, len(jobs))
                written = time.monotonic()
    _write_page(output, journal, len(jobs))
    return failed


def _outcomes(work: list[Work], where: int | Cluster | Orders, machine: Path | None) -> Generator[tuple[int, Any], None, None]:
    """(number, Performed or what was raised) of each as they end."""
    if isinstance(where, Orders):
        if (lanes := where.lanes(say_above_bar)) is None:
            where = where.under_way
        else:
            def on_board(worker: Worker, one: Work) -> Any:
                def sampled(board: str, turns: Turns) -> Any:
                    with turns.working():
                        there = replace(one, on=("--backend", board, "--machine", str(machine)))
                        return worker.done(_perform_in_turn, there, turns.told)

                return lanes.done(sampled)

            yield from driven(on_board, work, min(where.under_way, max(1, len(work))))
            return
    if isinstance(where, int):
        yield from in_workers(perform, work, min(where, max(1, len(work))))
        return
    for number, outcome in where.outcomes(perform_elsewhere, work, packed=sent_work, needs=board):
        yield number, received(work[number], outcome)


def _is_done(ended: Ended | None, digest: str, output: Path) -> bool:
    return ended is not None and ended.code == 0 and ended.digest == digest and (output / ended.name / "report.json").is_file()


def _write_page(output: Path, journal: Journal, jobs: int) -> None:
    with replaced(output / INDEX) as file:
        file.write(page(journal.reports(), jobs).encode())
