"""What the stages of a request take on this computer's processors, measured."""

from __future__ import annotations

import os
import statistics
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from mrfhw.analysis.answer import analyse
from mrfhw.report.outputs import write_outputs
from mrfhw.runs.request import Request
from mrfhw.runs.runner import Runner
from mrfhw.system.parts import part, timed
from mrfhw.system.workers import in_workers

__all__ = ["STAGES", "Profile", "Timed", "profiled"]

# A run's stages in their order, and what they are. "then" is the end of "first", from its samples to the field.
STAGES = {"read": "read the pictures, make the field", "range": "find the range of labels", "first": "sample what comes first",
          "sample": "sample the field", "analyse": "estimate, uncertainty, convergence", "write": "files"}
THEN = "then"


@dataclass(frozen=True)
class Timed:
    """One run. seconds: of each stage that it has, and of THEN. sweeps: of each chain that was sampled. process: that did it.
    busy: its processor seconds."""

    seconds: dict[str, float]
    sweeps: int
    process: int
    busy: float


@dataclass(frozen=True)
class Profile:
    """seconds: medians of each stage, one processor each. runs: they are of. at_once: processes that ran side by side. then:
    seconds of THEN. busy: processor seconds of a run, in the median, which other programs change little."""

    seconds: dict[str, float]
    sweeps: int
    runs: int
    at_once: int
    then: float = 0.0
    busy: float = 0.0


def once(task: tuple[Request, bool, bool]) -> Timed:
    """One run of a request, in this process, whose answer is written and thrown away. task: with whether there is a page, and
    whether samples are traced, of which convergence is computed."""
    request, page, traced = task
    began = time.process_time()
    with timed() as parts, tempfile.TemporaryDirectory() as folder:
        with part("read"), Runner(request, add_up=True, traced=traced) as runner:
            runner.prepare()
            with part("sampling"):
                (found,) = runner.result()
        with part("analyse"):
            analysis = analyse(found.job, found.solution)
            assert not traced or analysis.convergences is not None
        with part("write"):
            write_outputs(Path(folder) / "out", found.job, found.solution, page=page, analysis=analysis)
    sampling = parts.pop("sampling")
    parts["sample"] = sampling - parts.get("first", 0.0)
    parts["read"] -= sampling + parts.get("range", 0.0)
    return Timed(parts, found.job.run.sweeps, os.getpid(), time.process_time() - began)


def profiled(request: Request, at_once: int, runs: int, page: bool = True, traced: bool = True,
             ended: Callable[[int, int], object] = lambda done, total: None) -> Profile:
    """The medians of so many runs in each of so many processes of one thread that work side by side, as those of a batch do.

    The first run of a process, which imports and compiles, does not count. page: with figures and report.html.
    traced: as of `Runner`. ended: called with the runs that have ended and all of them. Raises what a run raises.
    """
    counted: list[Timed] = []
    warm: set[int] = set()
    total = at_once * (runs + 1)
    for done, (_, outcome) in enumerate(in_workers(once, [(request, page, traced)] * total, at_once), 1):
        if isinstance(outcome, BaseException):
            raise outcome
        if outcome.process in warm:
            counted.append(outcome)
        warm.add(outcome.process)
        ended(done, total)
    seconds = {name: statistics.median(one.seconds[name] for one in counted) for name in counted[0].seconds}
    then = seconds.pop(THEN, 0.0)
    return Profile({name: seconds[name] for name in STAGES if name in seconds}, counted[0].sweeps, len(counted), at_once, then,
                   statistics.median(one.busy for one in counted))
