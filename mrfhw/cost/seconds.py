"""Seconds of a run on a machine behind a link: loading, sweeps, log, looks at the run and the answer, round trips included."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, fields
from itertools import chain
from typing import Any

import numpy as np

from mrfhw.cost.asked import Asking, Steps
from mrfhw.cost.estimate import Cycles
from mrfhw.cost.exchange import Exchange, Log, Wire
from mrfhw.cost.links import BoardLink
from mrfhw.field.problem import Problem, Run
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.fields import Fields
from mrfhw.placement.placement import Placement

__all__ = ["NO_DELAYS", "RUN_SWEEPS", "Delays", "RunTime", "dealt", "read_out"]

RUN_SWEEPS = 200  # of a run whose answer is read out

CONNECTING = 2  # requests of a host that opens a board: a hello, and what circuit it is
MANY = 1000  # after which they are as long as they can be


@dataclass(frozen=True)
class Delays:
    """What a link adds to the time that bytes take.

    seconds: under way, each way. piece_bytes: that the host takes together.
    """

    seconds: float = 0.0
    piece_bytes: int = 0


NO_DELAYS = Delays()


@dataclass(frozen=True)
class RunTime:
    """Seconds of a run on a board that is open, in the order in which they pass.

    settle_s: to find the board at rest. load_s: to load the problem. run_s: from its start until the host knows of its end; of
    them machine_s are sweeps, and the rest waits for the log and for the host's looks. read_s: to read the answer. log_s: for what
    is left of the log. log_bytes: of all log. requests: that are answered.
    """

    settle_s: float
    load_s: float
    run_s: float
    read_s: float
    log_s: float
    machine_s: float
    log_bytes: float
    requests: int

    @classmethod
    def of_visits(cls, visits: Iterable[tuple[RunTime, int]]) -> RunTime:
        """Of visits to windows one after the other, and how many of each."""
        each = list(visits)
        return cls(**{one.name: sum(getattr(time, one.name) * count for time, count in each) for one in fields(cls)})

    @property
    def seconds(self) -> float:
        return self.settle_s + self.load_s + self.run_s + self.read_s + self.log_s

    def of_chains(self, chains: int, machine: Fields) -> float:
        """Seconds of so many chains that take as long, dealt out to a machine's clusters or contexts."""
        return dealt(self.seconds, self.load_s + self.read_s, chains, machine)

    @property
    def record(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"seconds": self.seconds, **{one.name: getattr(self, one.name) for one in fields(self)}}

    @property
    def said(self) -> str:
        """The parts in words."""
        return (f"{self.load_s:.3g} s to load, {self.machine_s:.3g} s of sweeps, {self.run_s - self.machine_s + self.log_s:.3g} s "
                f"until log and end are known, {self.read_s:.3g} s to read; {self.requests} requests")

    @property
    def binds(self) -> str:
        """What takes most of the time, in words."""
        waits = self.run_s - self.machine_s
        parts = {"round trips and bytes to load": self.load_s, "the machine's sweeps": self.machine_s,
                 "the log through the link" if self.log_bytes > 64 else "the host's looks at the run": waits + self.log_s,
                 "round trips and bytes to read": self.read_s, "finding the board at rest": self.settle_s}
        return max(parts, key=lambda name: parts[name])

    @classmethod
    def of(cls, config: Config, problem: Problem, run: Run, link: BoardLink, clock_hz: float, messages: float = 0.0,
           delays: Delays = NO_DELAYS, link_hz: float | None = None, first: bool = True) -> RunTime:
        """Of a problem that the machine holds whole. Raises ProblemError for another.

        clock_hz: the machine's.
        messages: of the log of a run for the mode, all counted sweeps together (`mrfhw.cost.traffic`); a run of another estimate
            has none.
        link_hz: the link's clock; None: the machine's.
        first: of a host that has just opened the board; else of one that has had many answers of it.
        """
        cycles = Cycles.of(Derived.of(config), problem, run)
        steps = Steps.of(cycles.placement, link.datagrams)
        return cls.of_placed(cycles, steps, run, link, clock_hz, messages, delays, link_hz, first)

    @classmethod
    def of_placed(cls, cycles: Cycles, steps: Steps, run: Run, link: BoardLink, clock_hz: float, messages: float = 0.0,
                  delays: Delays = NO_DELAYS, link_hz: float | None = None, first: bool = True) -> RunTime:
        """The same of a placed problem, whose accesses are known, for another run of it.

        steps: of a run whose answer has as many words.
        """
        p = cycles.placement
        config, link_hz = p.config, link_hz or clock_hz
        exchange = Exchange(Wire.of(link, link_hz, delays.seconds, delays.piece_bytes))
        asking = Asking(*link.largest, lambda: (CONNECTING if first else MANY) + exchange.answered)
        marks, reading, machine = [0.0], 0.0, 0.0

        def ask(*calls: Any) -> None:
            for call in calls:
                exchange.ask(asking.of(call))

        def post(calls: Sequence[Any]) -> None:
            exchange.ask(chain.from_iterable(map(asking.of, calls)))

        if first:
            ask(*steps.settle)
        marks.append(exchange.now)
        post(steps.load)
        marks.append(exchange.now)
        sweep_s = cycles.sweep / clock_hz
        done, left_s, sent, lines = 0, 0.0, 0.0, config.line_bits / 8
        pieces = list(_pieces(p, run))
        for number, end in enumerate(pieces):
            if number:
                post(steps.clear)
            if len(pieces) > 1:
                ask(*steps.limit)
            ask(*steps.start)
            size = messages / config.line_messages * lines if run.estimate == "mode" else 0.0
            work = cycles.of_sweeps(end - done) / clock_hz
            log = Log(link.log_bytes, link.memory.bytes if link.memory else 0, max(0, run.counts_from - done) * sweep_s, work, size,
                      config.packers * lines)
            exchange.run(log, next(asking.of(steps.look[0])))
            ask(*steps.count)
            began = exchange.now
            ask(*steps.read)
            reading += exchange.now - began
            began = exchange.now
            exchange.take()
            left_s += exchange.now - began
            done, machine, sent = end, machine + work, sent + size + log.last
        running = exchange.now - marks[2] - reading - left_s
        return cls(marks[1], marks[2] - marks[1], running, reading, left_s, machine, sent, exchange.requests)


def dealt(chain_s: float, bus_s: float, chains: int, machine: Fields) -> float:
    """Seconds of so many chains that are dealt out to a machine's clusters or contexts. While one sweeps, the others' windows are
    loaded and read, one after the other, as that goes over one bus; contexts sweep one after the other, too.

    chain_s: of a chain alone. bus_s: of them to load and to read.
    """
    of_tiles = chains * (chain_s - bus_s) if machine.contexts > 1 else 0.0
    return max(-(-chains // machine.seats) * chain_s, chains * bus_s, of_tiles)


def _pieces(p: Placement, run: Run) -> list[int]:
    """The sweeps at which a run stops: its end, and before it wherever LMem can hold no larger sums."""
    if run.estimate != "mean":
        return [run.sweeps]
    most = p.config.sum_sweeps(p.problem.labels)
    return [*range(run.burn_in + most, run.sweeps, most), run.sweeps]


def read_out(config: Config, link: BoardLink, clock_hz: float, link_hz: float | None = None) -> float:
    """Label evaluations a second of a run of `RUN_SWEEPS` sweeps for the mean of a field as large as the machine, from its loading
    to its answer. Arguments as of `RunTime.of`."""
    c = Derived.of(config)
    shape = c.mesh_rows * c.tile_rows, c.mesh_cols * c.tile_cols
    problem = Problem(labels=c.max_labels, singleton1=np.zeros(shape, np.int64), constants=np.zeros(c.max_labels, np.int64),
                      singleton=c.singletons[0], tau=c.doubleton_max)
    cycles = Cycles.of(c, problem, Run(sweeps=RUN_SWEEPS, estimate="mean"))
    steps = Steps.of(cycles.placement, link.datagrams)
    time = RunTime.of_placed(cycles, steps, cycles.placement.run, link, clock_hz, link_hz=link_hz)
    return RUN_SWEEPS * cycles.placement.order.label_evaluations(problem.sites, 1) / time.seconds
