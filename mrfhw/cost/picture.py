"""Seconds of a whole picture on a machine behind a link: loads, sweeps, log and answers of all its windows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import numpy as np

from mrfhw.cost.asked import Steps
from mrfhw.cost.estimate import Cycles
from mrfhw.cost.links import BoardLink
from mrfhw.cost.seconds import NO_DELAYS, Delays, RunTime, dealt
from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.fields import Fields
from mrfhw.machine.words import LMEM_WORDS
from mrfhw.placement.fit import check_fits
from mrfhw.placement.placement import Placement
from mrfhw.placement.temperature import realized_limits
from mrfhw.placement.windows import VISIT, WindowPlan

__all__ = ["CHAINS", "PICTURE", "RUN", "PictureTime", "Visits", "stereo_field"]

PICTURE = "2 x 500 sweeps of 450x375 pixels and 64 labels"  # the pair teddy, as `mrfhw run stereo --labels 64` samples it last
SHAPE, LABELS, CHAINS, RUN = (375, 450), 64, 2, Run(sweeps=500, burn_in=250)
# Effective samples of a site a sweep, of the middle one of those that move: ess_per_sweep in the report of `mrfhw run stereo LEFT
# RIGHT --labels 64 --backend cpu --seed 1` of teddy. A machine that evaluates all labels draws from the same distributions.
EFFECTIVE_A_SWEEP = 0.72
# Of them, by lanes and slots of a subset (docs/measured.md: teddy by `python -m studies.subsets`).
EFFECTIVE_SHARES = {(4, 4): 0.94, (2, 4): 0.86}


@dataclass(frozen=True)
class Visits:
    """What one chain takes of a machine that holds its field whole or one window at a time.

    shapes: cycles of a window of each shape, and how many windows have it.
    pieces: the run of each visit to a window.
    cycles: of all visits, without stalls of the log.
    loaded, read: bytes over a link, without heads of frames. Each visit counts as a whole load, though a driver leaves out words
        that the machine holds.
    evaluations: of labels in one sweep of the field.
    """

    shapes: tuple[tuple[Cycles, int], ...]
    pieces: tuple[Run, ...]
    cycles: int
    loaded: int
    read: int
    evaluations: int

    @classmethod
    def of(cls, plan: WindowPlan, run: Run, visit: int) -> Visits:
        """Of a chain with `visit` sweeps of a window at a time. Raises ProblemError for what no window fits."""
        problems = ([plan.problem] if len(plan.windows) == 1 else [placed.problem for placed in plan.placements])
        whole, rest = divmod(run.sweeps, visit)
        sweeps = [run.sweeps] if len(problems) == 1 else [visit] * whole + [rest] * (rest > 0)
        of_shape = {problem.shape: problem for problem in problems}
        counts = Counter(problem.shape for problem in problems)
        shapes = tuple((Cycles.of(plan.config, of_shape[shape], Run(sweeps=max(sweeps), seed=run.seed)), count)
                       for shape, count in counts.items())
        # Of a visit whose labels are not counted the last labels alone are read.
        pieces = tuple(Run(sweeps=each, burn_in=max(0, run.counts_from - (end - each)), estimate=run.estimate)
                       if end > run.counts_from else Run(sweeps=each, estimate="last")
                       for each, end in zip(sweeps, accumulate(sweeps), strict=True))
        entries = sum(1 if piece.estimate == "last" else LMEM_WORDS for piece in pieces)
        return cls(shapes, pieces, sum(count * cycles.of_sweeps(each) for cycles, count in shapes for each in sweeps),
                   sum(count * len(pieces) * cycles.link_bytes[0] for cycles, count in shapes),
                   sum(count * entries * cycles.link_bytes[1] for cycles, count in shapes) // LMEM_WORDS,
                   shapes[0][0].placement.order.label_evaluations(plan.problem.sites, 1))

    @property
    def windows(self) -> int:
        return sum(count for _, count in self.shapes)

    @property
    def visits(self) -> int:
        """Of each window."""
        return len(self.pieces)

    def times(self, link: BoardLink, clock_hz: float, messages: float, delays: Delays, link_hz: float | None,
              steps_of: Callable[[Placement, bool], Steps] = Steps.of) -> Iterator[tuple[RunTime, int]]:
        """The seconds of visits, and how many take so many.

        messages: of the log of one counted sweep of the field. steps_of: the accesses of a placed window.
        """
        sites = sum(count * cycles.placement.problem.unclamped_sites for cycles, count in self.shapes)
        alike = Counter((piece.sweeps, piece.counted, piece.estimate) for piece in self.pieces)
        for cycles, count in self.shapes:
            share = messages * cycles.placement.problem.unclamped_sites / sites
            for of in dict.fromkeys(estimate for *_, estimate in alike):
                steps = steps_of(_with_run(cycles, Run(sweeps=1, estimate=of)).placement, link.datagrams)
                for (sweeps, counted, estimate), pieces in alike.items():
                    if estimate == of:
                        run = Run(sweeps=sweeps, burn_in=sweeps - counted if counted else 0, estimate=estimate)
                        yield RunTime.of_placed(cycles, steps, run, link, clock_hz, share * counted, delays, link_hz,
                                                False), count * pieces


def _effective(config: Config) -> float | None:
    """Samples of a site a sweep; None where they were not measured."""
    if not config.subset_slots:
        return EFFECTIVE_A_SWEEP
    share = EFFECTIVE_SHARES.get((config.lanes, config.subset_slots))
    return None if share is None else share * EFFECTIVE_A_SWEEP


def _with_run(cycles: Cycles, run: Run) -> Cycles:
    """The same field with another run."""
    return Cycles.of(cycles.placement.config, cycles.placement.problem, run)


@dataclass(frozen=True)
class PictureTime:
    """Seconds of a picture: the machine's cycles at its clock, and what its link carries.

    windows: that a cluster holds one at a time, of each chain.
    visits: loads of a window, of all windows and chains.
    machine_s: of the cycles, without stalls, one chain after the other.
    waiting_s: for the log, and for the host's looks at the runs.
    log_s: of the link, to carry the log; None where it is not known, and not counted.
    loading_s, reading_s: the field's words in and the answer's out, with the requests' round trips.
    buffered: the log waits in a memory outside the FPGA, so that the machine does not stall.
    machine: to whose clusters or contexts the chains are dealt out; what is above is of one chain after the other.
    effective: samples of a site a sweep; None where that is not known.
    """

    windows: int
    visits: int
    machine_s: float
    waiting_s: float
    log_s: float | None
    loading_s: float
    reading_s: float
    buffered: bool
    machine: Fields
    effective: float | None

    @classmethod
    def of(cls, config: Config, clock_hz: float, link: BoardLink, log_bytes: float | None, delays: Delays = NO_DELAYS,
           link_hz: float | None = None) -> PictureTime:
        """Of `PICTURE`. Raises ProblemError where it or a window of it does not fit the machine.

        clock_hz: that the machine really has.
        log_bytes: of each label evaluation that is counted (`mrfhw.cost.rates.Workload`); None where that is not known.
        link_hz: the link's clock; None: the machine's.
        """
        config, problem = Derived.of(config), stereo_field(config)
        check_fits(config, problem)
        found = Visits.of(WindowPlan(config, problem), RUN, min(VISIT, config.temperature_table))
        a_sweep = found.evaluations * (log_bytes or 0.0)
        times = list(found.times(link, clock_hz, a_sweep / (config.line_bits / 8) * config.line_messages, delays, link_hz))
        chain = RunTime.of_visits(times)
        buffered = link.memory is not None
        if buffered:  # what is left of a visit's log comes while the next one is loaded and swept
            chain = replace(chain, log_s=0.0)
        log = None if log_bytes is None else CHAINS * a_sweep * RUN.counted / link.bytes_per_s
        return cls(found.windows, CHAINS * found.windows * found.visits, CHAINS * chain.machine_s,
                   CHAINS * (chain.run_s - chain.machine_s + chain.log_s), log, CHAINS * chain.load_s, CHAINS * chain.read_s,
                   buffered, config, _effective(config))

    @property
    def seconds(self) -> float:
        """Of the picture. Where a memory holds the log, it comes while windows are loaded and swept, and answers wait for the link
        that carries it."""
        bus = self.loading_s + self.reading_s
        steps = dealt((bus + self.machine_s + self.waiting_s) / CHAINS, bus / CHAINS, CHAINS, self.machine)
        return max(steps, (self.log_s or 0.0) + self.reading_s) if self.buffered else steps

    @property
    def effective_per_s(self) -> float | None:
        """Effective samples of a site a second; None where it is not known how many a sweep is worth."""
        return None if self.effective is None else self.effective * CHAINS * RUN.sweeps / self.seconds

    def said(self, clock_hz: float) -> str:
        """In one line. clock_hz: the machine's."""
        parts = [f"{self.loading_s:.3g} s to load {self.visits} windows", f"{self.machine_s:.3g} s to sample",
                 f"{self.waiting_s:.3g} s of waits"]
        parts += [] if self.log_s is None else [f"{self.log_s:.3g} s of log at the same time"]
        worth = "" if self.effective_per_s is None else f"; {self.effective_per_s:.3g} effective samples of a site a second"
        return (f"{PICTURE}: {self.seconds:.3g} s at {clock_hz / 1e6:g} MHz ({', '.join(parts)}, {self.reading_s:.3g} s to read"
                + (f", on {self.machine.clusters} clusters at a time" if self.machine.clusters > 1 else "")
                + (f", in {self.machine.contexts} contexts by turns" if self.machine.contexts > 1 else "")
                + (", the log of a histogram not counted" if self.log_s is None else "") + f"){worth}")

    @property
    def record(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"picture": PICTURE, "picture_s": self.seconds, "windows": self.windows, "visits": self.visits,
                "machine_s": self.machine_s, "waiting_s": self.waiting_s, "log_s": self.log_s, "loading_s": self.loading_s,
                "reading_s": self.reading_s, "clusters": self.machine.clusters, "contexts": self.machine.contexts,
                "effective_samples_per_s": self.effective_per_s}


def stereo_field(config: Config) -> Problem:
    """A field like that of a stereo pair, for its size and its reach: all its data are 0."""
    c = Derived.of(config)
    coldest, hottest = realized_limits(c, 0)
    blank = np.zeros(SHAPE, np.int64)
    return Problem(labels=LABELS, singleton1=blank, singleton2=blank,
                   offsets=np.stack([np.zeros(LABELS, np.int64), -np.arange(LABELS)], 1),
                   singleton=c.singletons[0], tau=min(2, c.doubleton_max), edges=np.ones((*SHAPE, 2), int) if c.edge_bits else None,
                   schedule=Schedule.constant(min(max(2.0, coldest), hottest)))
