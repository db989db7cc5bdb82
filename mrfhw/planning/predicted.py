"""What the stages of a request take on a board, predicted from cycles, its clock and its link's bytes. Nothing is run there."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from mrfhw.backends.plan import Plan
from mrfhw.cost.links import BoardLink
from mrfhw.cost.picture import Visits
from mrfhw.cost.workload import workload
from mrfhw.driver.driver import Driver, NoChip
from mrfhw.field.problem import Problem, Run
from mrfhw.jobs.job import Job
from mrfhw.machine.config import Config
from mrfhw.placement.windows import WindowPlan
from mrfhw.runs.chains import visit_of

__all__ = ["Board", "OnBoard", "on_board"]


@dataclass(frozen=True)
class Board:
    """A board that may take stages. name: as it was given. clock_hz: of its machine. link: to it."""

    name: str
    config: Config
    clock_hz: float
    link: BoardLink


@dataclass(frozen=True)
class OnBoard:
    """Seconds of a stage.

    running: of the machine, or of the log that it waits for. loading, reading: of the link, the field's words in, and out those of
    the answer and its log. packing: of a processor, to lay the field out. log: of the link, what of `reading` comes while the
    machine runs.
    """

    running: float
    loading: float
    reading: float
    packing: float
    log: float = 0.0

    @property
    def held(self) -> float:
        """Seconds from the first word to the last: a field is laid out, loaded, sampled and read one after the other."""
        return self.packing + self.loading + self.running + self.reading - self.log


def _chain(board: Board, problem: Problem, run: Run, visit: int) -> OnBoard:
    """Of one chain, whole or window by window. Raises ProblemError for what the machine does not take."""
    plan = Plan.of("model", board.config, problem, visit)
    windows = WindowPlan(board.config, problem) if plan.windows is None else plan.windows
    found = Visits.of(windows, run, visit)
    packing = 0.0
    for cycles, count in found.shapes:
        driver = Driver(board.config, NoChip())
        driver.load(cycles.placement)
        began = time.perf_counter()  # what comes first once is done: a driver and a placement stay from picture to picture
        driver.load(cycles.placement)
        packing += count * found.visits * (time.perf_counter() - began)
    log = 0.0
    if run.estimate == "mode":
        largest = max((cycles.placement.problem for cycles, _ in found.shapes), key=lambda window: window.sites)
        log = workload(board.config, largest).log_bytes_per_evaluation * found.evaluations * (run.sweeps - run.burn_in)
    link = board.link.bytes_per_s
    return OnBoard(max(found.cycles / board.clock_hz, log / link), found.loaded / link, (found.read + log) / link,
                   packing, log / link)


def on_board(board: Board, job: Job, chains: int, sweeps: int, visit: int | None) -> dict[str, OnBoard]:
    """Seconds of "sample", and of "first" where something is sampled first, of `job`'s fields with chains of so many sweeps.

    Each visit of a window is counted as a whole load, though a driver leaves out words that the machine holds; the log is that of a
    run from random labels (`mrfhw.cost.workload`). Raises ProblemError for a field that the machine does not take.
    """
    if visit is None:
        visit = visit_of(job.config, job.run, chains, job.most_sweeps)
    counted = max(1, round(sweeps * job.run.after_burn_in / job.run.sweeps))
    run = Run(sweeps=sweeps, burn_in=sweeps - counted, seed=job.run.seed, estimate=job.run.estimate)
    found = {"sample": _sum([_chain(board, problem, run, visit) for problem in job.problems], chains)}
    if job.first is not None and job.first.runs:
        found["first"] = _sum([_chain(board, problem, one, visit) for problem, one in job.first.runs], 1)
    return found


def _sum(parts: list[OnBoard], times: int) -> OnBoard:
    names = ("running", "loading", "reading", "packing", "log")
    return OnBoard(*(times * math.fsum(getattr(one, name) for one in parts) for name in names))
