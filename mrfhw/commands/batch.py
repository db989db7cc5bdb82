"""`mrfhw batch`: many runs, several at a time in processes that stay warm, each in a folder of its own."""

from __future__ import annotations

import contextlib
import io
import os
import time
from dataclasses import dataclass
from pathlib import Path

import click
from tqdm import tqdm  # type: ignore[import-untyped,unused-ignore]

from mrfhw.commands.applications import run
from mrfhw.commands.folder import Folder
from mrfhw.commands.job_lines import JobLine, of_file, of_folder
from mrfhw.commands.journal import Ended, Journal
from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.report.batch_page import page
from mrfhw.system.errors import ProblemError
from mrfhw.system.files import check_writable, replaced
from mrfhw.system.processors import processors
from mrfhw.system.workers import in_workers

__all__ = ["command"]

JOURNAL, INDEX = "batch.jsonl", "index.html"
_PAGE_EVERY = 2.0  # seconds from one writing of the page to the next


@dataclass(frozen=True)
class _Work:
    """What a worker does: the words of `mrfhw run`, in which folder, and where the files go."""

    words: tuple[str, ...]
    base: Path
    output: Path


def _perform(work: _Work) -> tuple[int, str, float, float]:
    """Exit status, what was printed, seconds and processor seconds of `mrfhw run` in this process."""
    os.chdir(work.base)
    said, began, busy, code = io.StringIO(), time.perf_counter(), time.process_time(), 0
    with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
        try:
            run.main([*work.words, "-o", str(work.output)], prog_name="mrfhw run")
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
    return code, said.getvalue().strip(), time.perf_counter() - began, time.process_time() - busy


@click.command("batch", cls=OneLineCommand)
@click.argument("manifest", type=click.Path(path_type=Path))
@click.option("--each", metavar="LINE", help="MANIFEST is a folder, and LINE what is run for each of its files that the first word "
              "with a * names, such as 'stereo *_left.png *_right.png --labels 24'.")
@click.option("-o", "--output", type=Folder(), default=Path("out") / "batch", show_default=True, metavar="DIR",
              help="Directory for the jobs' folders and index.html; made where it is missing.")
@click.option("--workers", type=int, metavar="N", help="Runs at a time, of one thread each.  [default: one for each processor]")
@click.option("--no-report", is_flag=True, help="Write numbers and arrays alone, without figures and pages of the runs.")
@click.option("--resume", is_flag=True, help="Leave out the jobs that have ended well with the same words and files.")
def command(manifest: Path, each: str | None, output: Path, workers: int | None, no_report: bool, resume: bool) -> None:
    """Run each line of MANIFEST as `mrfhw run` would, such as stereo LEFT RIGHT --labels 24.

    Paths are relative to MANIFEST. Each job's files are in a folder of its own, with the bits that mrfhw run gives; what fails
    is one line, and the others go on. index.html shows all of them, batch.jsonl lists what has ended.
    """
    if workers is not None and workers < 1:
        raise ProblemError(f"workers is {workers}; at least one run is done at a time: give 1 or more")
    if manifest.is_dir() != (each is not None):
        raise ProblemError(f"{manifest} is a folder, and nothing says what is run for its files: give --each, or a file of jobs"
                           if each is None else f"{manifest} is no folder, and --each is for one: give a folder, or leave it out")
    jobs = of_file(manifest) if each is None else of_folder(manifest, each)
    check_writable(output)
    output = output.absolute()
    with Journal(output / JOURNAL, resume) as journal:
        failed = _run_all(jobs, output, journal, workers or processors(), ("--no-report",) if no_report else ())
    done = len(jobs) - failed
    click.echo(f"{done} of {len(jobs)} jobs are done" + (f", {failed} failed" if failed else "") + f": {output / INDEX}")
    click.get_current_context().exit(1 if failed else 0)


def _run_all(jobs: list[JobLine], output: Path, journal: Journal, workers: int, more: tuple[str, ...]) -> int:
    """Run what has not ended; how many jobs have failed."""
    digests = {job.name: job.digest for job in jobs}
    kept = {job.name for job in jobs if _is_done(journal.ended.get(job.name), digests[job.name], output)}
    left = [job for job in jobs if job.name not in kept]
    failed, written = 0, 0.0
    work = [_Work((*job.words, *(word for word in more if word not in job.words)), job.base, output / job.name) for job in left]
    with tqdm(total=len(jobs), initial=len(kept), desc="batch", unit="job", leave=False, disable=None) as bar:
        for number, outcome in in_workers(_perform, work, min(workers, max(1, len(work)))):
            job = left[number]
            code, said, seconds, busy = (1, str(outcome), 0.0, 0.0) if isinstance(outcome, BaseException) else outcome
            one = Ended(job.name, list(job.words), digests[job.name], code, said, seconds, busy)
            journal.add(one)
            failed += code != 0
            bar.update()
            tqdm.write(one.line)
            if time.monotonic() > written + _PAGE_EVERY:
                _write_page(output, journal, len(jobs))
                written = time.monotonic()
    _write_page(output, journal, len(jobs))
    return failed


def _is_done(ended: Ended | None, digest: str, output: Path) -> bool:
    return ended is not None and ended.code == 0 and ended.digest == digest and (output / ended.name / "report.json").is_file()


def _write_page(output: Path, journal: Journal, jobs: int) -> None:
    with replaced(output / INDEX) as file:
        file.write(page(journal.reports(), jobs).encode())
