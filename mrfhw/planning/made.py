"""A plan for the pictures of a request: profiled on this computer's processors, predicted of boards."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mrfhw.jobs.job import Job
from mrfhw.machine.config import ConfigError
from mrfhw.machine.derived import Derived
from mrfhw.planning.graph import Resources
from mrfhw.planning.pipeline import PROCESSOR, Planned, graph_of, link_of, planned
from mrfhw.planning.predicted import Board, OnBoard, on_board
from mrfhw.planning.profile import Profile
from mrfhw.runs.request import Request
from mrfhw.system.errors import ProblemError
from mrfhw.system.processors import processors

__all__ = ["Kind", "Made", "kinds_of", "made"]


@dataclass(frozen=True)
class Kind:
    """Boards that are alike. board: one of them. units: what each is called, a board's name or its address."""

    board: Board
    units: tuple[str, ...]

    @property
    def digest(self) -> str:
        """Of the machine's parameters."""
        return Derived.of(self.board.config).digest


def kinds_of(boards: Sequence[Board]) -> dict[str, Kind]:
    """Boards of one machine, clock and link together, by their names."""
    alike: dict[Any, list[Board]] = {}
    for board in boards:
        alike.setdefault((Derived.of(board.config).digest, board.clock_hz, board.link), []).append(board)
    return {" and ".join(dict.fromkeys(one.name for one in found)): Kind(found[0], tuple(one.name for one in found))
            for found in alike.values()}


@dataclass(frozen=True)
class Made:
    """request: whose pictures it is for. plan, profile: what it is, and what it rests on. kinds: boards by name, those among them
    that take no stage. alone: seconds of one picture by itself."""

    request: Request
    plan: Planned
    profile: Profile
    kinds: Mapping[str, Kind]
    alone: float

    @property
    def under_way(self) -> int:
        """Pictures at once: as many as begin while one is done, and one that waits for each board."""
        on = self.plan.best.where["sample"]
        waiting = 0 if on == PROCESSOR else self.plan.resources.kinds[on]
        interval = self.plan.shared.interval
        return max(1, math.ceil(self.alone / interval * (1 - 1e-9)) if interval else 1) + waiting

    @property
    def record(self) -> dict[str, Any]:
        """For a file of JSON."""
        rests = {PROCESSOR: f"medians of {self.profile.runs} runs, {self.profile.at_once} at once, profiled on this computer"}
        rests |= {name: f"predicted: cycles at {kind.board.clock_hz / 1e6:g} MHz, its link" for name, kind in self.kinds.items()
                  if name in self.plan.resources.kinds}
        return {**self.plan.record, "application": self.request.application, "sweeps": self.profile.sweeps, "rests_on": rests,
                "alone_seconds": self.alone, "under_way": self.under_way,
                "boards": {name: {"units": list(kind.units), "machine": kind.digest} for name, kind in self.kinds.items()}}


def made(request: Request, kinds: Mapping[str, Kind], profile: Callable[[], Profile], *, visit: int | None = None,
         in_order: bool = False) -> Made:
    """The plan for pictures such as those of a request that `cpu` samples.

    kinds: boards that may take stages. profile: measures the request's stages, when all that can be wrong with it was looked at.
    visit: as of `Request`, on boards. in_order: of a video (`graph_of`). Raises ProblemError or ConfigError.
    """
    job = request.job()
    jobs: dict[str, Job] = {}
    unfit: dict[str, str] = {}
    for name, kind in kinds.items():
        try:
            jobs[name] = request.with_options(backend="model", machine=kind.board.config, visit=visit).job()
            _check_same(job, jobs[name])
        except (ProblemError, ConfigError) as error:
            unfit[name] = str(error)
    measured = profile()
    on_boards: dict[str, dict[str, OnBoard]] = {}
    for name in [name for name in kinds if name not in unfit]:
        try:
            on_boards[name] = on_board(kinds[name].board, jobs[name], jobs[name].settings["chains"], measured.sweeps, visit)
        except (ProblemError, ConfigError) as error:
            unfit[name] = str(error)
    resources = Resources({PROCESSOR: processors(), **{name: len(kinds[name].units) for name in on_boards}},
                          {link_of(name): len(kinds[name].units) for name in on_boards})
    plan = planned(graph_of(measured, on_boards, in_order), resources, unfit=unfit)
    where = plan.best.where
    alone = sum(stage.times[where[stage.name]] for stage in plan.graph.stages)
    return Made(request, plan, measured, kinds, alone + (measured.then if where.get("first", PROCESSOR) != PROCESSOR else 0.0))


def _check_same(job: Job, of_board: Job) -> None:
    """Raise ProblemError where a board's machine would sample another field than the processors do."""
    one, other = job.problem.singleton, of_board.problem.singleton
    if one != other or (job.first is None) != (of_board.first is None):
        raise ProblemError(f"its machine's field has {other} costs, and that of the processors {one} ones: give --data, or a "
                           "machine for these")
