"""What the stages of a request take on a board, predicted from cycles, its clock and its link's bytes. Nothing is run there."""

from __future__ import annotations

import math
import time
from collections import Counter
from dataclasses import dataclass

from mrfhw.backends.plan import Plan
from mrfhw.cost.estimate import Cycles
from mrfhw.cost.links import BoardLink
from mrfhw.cost.workload import workload
from mrfhw.driver.driver import Driver, NoChip
from mrfhw.field.problem import Problem, Run
from mrfhw.jobs.job import Job
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.numbers import BUS_BITS
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
    the answer and its log. packing: of a processor, to lay the field out.
    """

    running: float
    loading: float
    reading: float
    packing: float


def _chain(board: Board, problem: Problem, run: Run, visit: int) -> OnBoard:
    """Of one chain, whole or window by window. Raises ProblemError for what the machine does not take."""
    plan = Plan.of("model", board.config, problem, visit)
    windows = [problem] if plan.windows is None else [placed.problem for placed in plan.windows.placements]
    pieces = [run.sweeps]
    if plan.windows is not None:
        whole, rest = divmod(run.sweeps, visit)
        pieces = [visit] * whole + [rest] * (rest > 0)
    config = Derived.of(board.config)
    shapes = Counter(window.shape for window in windows)
    of_shape = {window.shape: window for window in windows}
    cycles, loaded, read, packing = 0, 0.0, 0.0, 0.0
    for shape, count in shapes.items():
        piece = Run(sweeps=max(pieces), seed=run.seed)
        found = Cycles.of(board.config, of_shape[shape], piece)
        loading, reading = found.loading, found.reading
        driver = Driver(board.config, NoChip())
        driver.load(found.placement)
        began = time.perf_counter()  # what comes first once is done: a driver and a placement stay from picture to picture
        driver.load(found.placement)
        packing += count * len(pieces) * (time.perf_counter() - began)
        cycles += count * sum(found.of_sweeps(sweeps) for sweeps in pieces)
        loaded += count * len(pieces) * loading / config.bus_write_cycles
        read += count * len(pieces) * reading / config.bus_read_cycles
    log = 0.0
    if run.estimate == "mode":
        work = workload(board.config, max(windows, key=lambda window: window.sites))
        log = work.log_bytes_per_evaluation * work.evaluated * problem.sites * (run.sweeps - run.burn_in)
    link, word = board.link.bytes_per_s, BUS_BITS / 8
    return OnBoard(max(cycles / board.clock_hz, log / link), loaded * word / link, (read * word + log) / link, packing)


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
    names = ("running", "loading", "reading", "packing")
    return OnBoard(*(times * math.fsum(getattr(one, name) for one in parts) for name in names))
