"""A tuning from the question to the answer: estimates, then truths while the budget lasts, and a record to go on with."""

from __future__ import annotations

import json
import math
import statistics
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from mrfhw import __version__
from mrfhw.cost.seconds import Delays
from mrfhw.fpga.board import Board
from mrfhw.system.errors import ProblemError
from mrfhw.system.files import staged, write_files
from mrfhw.tuning import truth
from mrfhw.tuning.estimates import Estimate, Estimates, Limits
from mrfhw.tuning.job import Job
from mrfhw.tuning.points import Point, add_point, points_of
from mrfhw.tuning.search import front, order, searched
from mrfhw.tuning.space import Choice, Space

__all__ = ["RECORD", "Asked", "Tuned", "Tuner", "read_asked"]

RECORD = "tune.json"
POINTS = "points"  # folder of the truths of a tuning, beside its record
SHORTLIST = 40  # choices that truths are asked about
SEARCH_MOST = 10_000  # choices that are looked at
ASTRAY = 0.01  # of a device's cells that an estimate may be off before choices are searched again
WORTH = 0.01  # of the best seconds: what a truth must promise to be asked for
PLACED_TRIES = 4  # choices that are placed and routed for each that is asked for, where some do not meet their clocks or fail
UNSURE = {"ice40": 0.04, "ecp5": 0.06, "gowin": 0.12}  # deviation of estimates of cells, where no truths say more


@dataclass(frozen=True)
class Asked:
    """What a tuning is asked for. board_name: of the board, or its file. budget_s: seconds of truths; placed: how many choices of
    the front are placed and routed, within it. fixed: values by name."""

    board: Board
    board_name: str
    job: Job
    delays: Delays
    limits: Limits
    budget_s: float
    placed: int
    fixed: dict[str, str]

    @property
    def record(self) -> dict[str, Any]:
        return {"board": self.board_name, "job": self.job.said, "field": self.job.problem.digest, "delay_s": self.delays.seconds,
                "deviation": self.limits.deviation, "fixed": self.fixed}


@dataclass
class Tuned:
    """A choice with what is known of it. truths: points by level."""

    estimate: Estimate
    truths: dict[str, Point] = field(default_factory=dict)

    @property
    def choice(self) -> Choice:
        return self.estimate.choice

    @property
    def marked(self) -> str:
        """The best truth that there is of it."""
        return next((level for level in reversed(truth.LEVELS) if level in self.truths and level != "gates"), "estimated")

    @property
    def seconds(self) -> float:
        """Simulated, or else estimated; infinite where it cannot do the job."""
        point = self.truths.get("simulated")
        return self.estimate.seconds if point is None else float(point.options["run_s"])

    @property
    def logic(self) -> int:
        return self._cells("logic", self.estimate.logic[0])

    def _cells(self, kind: str, estimated: int) -> int:
        """Of a kind, by the best truth that has it."""
        return next((point.cells[kind] for level in reversed(truth.LEVELS)
                     if (point := self.truths.get(level)) is not None and kind in point.cells), estimated)

    @property
    def fits_truly(self) -> bool:
        """Whether its cells are known."""
        return "synthesized" in self.truths or "placed" in self.truths

    @property
    def refused(self) -> str | None:
        """Why tools say that it cannot be, in one line."""
        there = {"logic": self.estimate.logic[1], "ram": self.estimate.ram[1], "dsp": self.estimate.dsp[1]}
        for level, point in self.truths.items():
            if point.failure:
                return f"{level}: {point.failure}"
            for kind, most in there.items():
                if point.cells.get(kind, 0) > most:
                    return f"{level}: {point.cells[kind]} {kind}, and the device has {most}"
        return None

    def record(self, board: Board, name: str) -> dict[str, Any]:
        """Ready for JSON; what cannot do the job has no seconds."""
        estimate, placed = self.estimate, self.truths.get("placed")
        able = estimate.time is not None
        return {"marked": self.marked, "seconds": self.seconds if able else None,
                "estimated_seconds": estimate.seconds if able else None, "cells": self.logic, "cells_there": estimate.logic[1],
                "ram": self._cells("ram", estimate.ram[0]), "ram_there": estimate.ram[1],
                "dsp": self._cells("dsp", estimate.dsp[0]), "deviation": estimate.deviation, "clock_hz": self.choice.clock_hz,
                "placed_clock_hz": None if placed is None else placed.clock_hz,
                "build": self.choice.build_line(board, name), "binds": estimate.binds, "refused": self.refused,
                "options": self.choice.options, "parameters": self.choice.config.to_dict(),
                "parts": None if estimate.time is None else estimate.time.record}


class Tuner:
    """Asks estimates for a shortlist, and tools for truths about it, until nothing better is expected or the budget is spent.

    folder: of the record and of the truths; None: nothing is written. store: of points that are known already, only read.
    say: is told of each step.
    """

    def __init__(self, asked: Asked, folder: Path | None, store: Path, say: Callable[[str], object]):
        self.asked, self.folder, self.say = asked, folder, say
        self._own = None if folder is None else folder / POINTS
        own = list(points_of(self._own, [asked.board.family])) if self._own is not None and self._own.is_dir() else []
        self.points = [*points_of(store, [asked.board.family]), *own]
        self.spent = sum(one.seconds or 0.0 for one in own)
        self.space = Space(asked.board, asked.job, asked.fixed)
        self.estimates = Estimates(asked.board, asked.job, asked.limits, asked.delays, self.points,
                                   ASTRAY if asked.budget_s > 0 else 0.0)
        self.found: list[Tuned] = []
        self.preset = self._known(self._of_preset())

    def _of_preset(self) -> Estimate:
        found = self.estimates.of(self.space.preset)
        if found.time is None and "job" not in found.broken:
            found = replace(found, time=self.estimates.seconds(self.space.preset))
        return found

    def _known(self, estimate: Estimate) -> Tuned:
        tuned = Tuned(estimate)
        for level in truth.LEVELS:
            for point in self.points:
                if truth.matches(point, estimate.choice, self.asked.board, level) and self._of_this_job(point):
                    tuned.truths[level] = point
        return tuned

    def _of_this_job(self, point: Point) -> bool:
        options = point.options
        return point.truth != "simulated" or (options.get("job") == self.asked.job.said
                                              and options.get("delay") == self.asked.delays.seconds)

    def run(self) -> list[Tuned]:
        """The front, the fastest first; empty where tools refuse all of the shortlist. Raises ProblemError where nothing keeps the
        limits, and where tools are to be asked and cannot be."""
        if self.asked.budget_s > 0:
            self._check_budget()
        self.say(f"searching for {self.asked.job.said} on {self.asked.board.name}")
        self.found = self._shortlist()
        if self.asked.budget_s > 0:
            self._ask_tools()
        self.write()
        return self.front

    def _shortlist(self) -> list[Tuned]:
        """The choices that truths are asked about. Raises ProblemError where none keeps the limits."""
        found = searched(self.space, self.estimates, SEARCH_MOST, self.say)
        short = {one.choice: one for one in [*front(found, SHORTLIST), *sorted(found, key=order)[:SHORTLIST]]}
        return [self._known(one) for one in short.values()]

    def _search_again(self, one: Tuned) -> None:
        """Where the truth of a choice says that it takes other cells than was estimated: choices that were passed over may fit, and
        others not. Those that tools have tried stay, with what is estimated now."""
        before, now, device = one.estimate.logic[0], one.logic, self.estimates.device
        if abs(now - before) <= ASTRAY * device.lut:
            return
        self.say(f"it takes {now:,} cells, not about {before:,}: searching again")
        self.estimates = self.estimates.with_points(self.points)
        estimates = self.estimates
        tried = [replace(one, estimate=estimates.of(one.choice)) for one in self.found if one.truths]
        try:
            new = self._shortlist()
        except ProblemError as error:
            self.say(f"{error}")
            new = []
        known = {one.choice for one in tried}
        self.found = [*tried, *(one for one in new if one.choice not in known)]

    @property
    def front(self) -> list[Tuned]:
        """Of what no truth refuses. An estimate of a few cells less hides none whose cells are known."""
        kept = {one.choice: one for one in self.found if one.refused is None}
        as_known = [replace(one.estimate, logic=(one.logic, one.estimate.logic[1])) for one in kept.values()]
        sure = [one for one in as_known if kept[one.choice].fits_truly]
        fit = [one for one in as_known if one.logic[0] <= one.logic[1]]
        shown = {one.choice: kept[one.choice] for one in [*front(sure), *front(fit)]}
        return sorted(shown.values(), key=lambda one: one.seconds)

    # -- truths

    def _usual(self, level: str) -> float:
        """Seconds that a truth takes, the median of those of the family."""
        took = [one.seconds for one in self.points if one.truth == level and one.seconds and one.board]
        return statistics.median(took) if took else truth.USUAL_SECONDS[level]

    def _chance(self, tuned: Tuned) -> float:
        """That it fits, as far as the errors of estimates say."""
        if tuned.fits_truly:
            return 1.0
        used, there = tuned.estimate.logic
        board = self.asked.board
        errors = [one.logic / self.estimates.logic_of(one.config, one.options.get("words"), 0) - 1 for one in self.points
                  if one.board == board.name and one.logic is not None and truth.of_present(one, board.at_once)]
        deviation = (statistics.pstdev(errors) if len(errors) > 3 else 0.0) or UNSURE.get(self.asked.board.family, 0.1)
        return 0.5 * (1 + math.erf((there / used - 1) / (deviation * math.sqrt(2))))

    def _next(self) -> tuple[Tuned, str] | None:
        """The choice and level whose truth is worth most: what it may gain on the best that is true, by the seconds until its cells
        are known. So a choice whose memories were found to fit is synthesized before another's memories are looked at."""
        true = [one.seconds for one in self.found if one.refused is None and one.fits_truly]
        if self.preset.estimate.fits:
            true.append(self.preset.seconds)
        best = min(true, default=max((one.estimate.seconds for one in self.found), default=math.inf))
        worth: list[tuple[float, int, str]] = []
        for number, one in enumerate(self.found):
            gain = (best - one.estimate.seconds) / best
            if one.refused is None and not one.fits_truly and (gain > WORTH or not true):
                gain = max(gain, WORTH)
                tight = one.estimate.ram[0] > 0.9 * one.estimate.ram[1]
                levels = [*(["gates"] if tight and "gates" not in one.truths else []), "synthesized"]
                worth.append((gain * self._chance(one) / sum(map(self._usual, levels)), -number, levels[0]))
        if worth:
            _, number, level = max(worth)
            return self.found[-number], level
        tried = [one.truths["placed"].failure for one in self.found if "placed" in one.truths]
        wanted = tried.count(None) < self.asked.placed and len(tried) < PLACED_TRIES * self.asked.placed
        for one in self.front:
            if one.fits_truly:
                if wanted and "placed" not in one.truths:
                    return one, "placed"
                if "simulated" not in one.truths:
                    return one, "simulated"
        return None

    def _check_budget(self) -> None:
        truth.check_tools(self.asked.board, self.asked.placed > 0)
        least = min(self._usual(level) for level in truth.LEVELS)
        if self.asked.budget_s < least:
            raise ProblemError(f"budget is {self.asked.budget_s:.0f} s; the cheapest truth takes {least:.0f} s: give more, or "
                               "--budget 0h for estimates and the store alone")

    def _ask_tools(self) -> None:
        while (step := self._next()) is not None:
            one, level = step
            if self.spent + self._usual(level) > self.asked.budget_s:
                self.say(f"the budget is spent: {self.spent:.0f} s, and {level} takes {self._usual(level):.0f} s more")
                return
            self.say(f"{level}: {one.choice.build_line(self.asked.board, self.asked.board_name)}")
            point = self._ask(one.choice, level)
            one.truths[level] = point
            self.spent += point.seconds or 0.0
            self.points.append(point)
            if self._own is not None:
                add_point(point, self._own)
            self.say(f"  {point.failure or ', '.join(f'{count} {kind}' for kind, count in point.cells.items()) or point.options}")
            self._search_again(one)
            self.write()

    def measure(self, number: int, store: Path) -> None:
        """Synthesize so many choices whose cells are not known, from the fastest on, and add them to a store of points."""
        for one in [one for one in self.found if not one.fits_truly][:number]:
            self.say(f"synthesized: {one.choice.build_line(self.asked.board, self.asked.board_name)}")
            one.truths["synthesized"] = point = self._ask(one.choice, "synthesized")
            add_point(point, store)
            self.points.append(point)
            self.say(f"  {point.failure or ', '.join(f'{count} {kind}' for kind, count in point.cells.items())}")
        self.write()

    def _ask(self, choice: Choice, level: str) -> Point:
        board = self.asked.board
        if level == "gates":
            return truth.gates(choice, board)
        if level == "synthesized":
            return truth.synthesized(choice, board)
        if level == "placed":
            return truth.placed(choice, board, seeds=3)
        return truth.simulated(choice, board, self.asked.job, self.asked.delays)

    # -- the record

    @property
    def record(self) -> dict[str, Any]:
        board, name = self.asked.board, self.asked.board_name
        preset = self.preset.record(board, name)
        return {"mrfhw": __version__, "asked": self.asked.record, "link_cells": self.estimates.link_cells, "spent_s": self.spent,
                "looked_at": len(self.estimates.looked_at),
                "preset": {**preset, "misses": [said for _, said in self.preset.estimate.broken.values()]},
                "front": [one.record(board, name) for one in self.front],
                "refused": [one.record(board, name) for one in self.found if one.refused]}

    def write(self) -> None:
        """tune.json, whole or not at all."""
        if self.folder is not None:
            with staged(self.folder) as scratch:
                write_files(scratch, {RECORD: json.dumps(self.record, indent=1) + "\n"})


def read_asked(folder: Path) -> dict[str, Any]:
    """What a tuning in a folder was asked for. Raises ProblemError."""
    path = folder / RECORD
    try:
        found = json.loads(path.read_bytes())["asked"]
    except FileNotFoundError:
        raise ProblemError(f"{folder} has no {RECORD}; there is nothing to go on with: leave --resume out") from None
    except (ValueError, KeyError, TypeError, RecursionError):
        found = None
    if not isinstance(found, dict):
        raise ProblemError(f"{path} is damaged: leave --resume out, and give another -o")
    return found
