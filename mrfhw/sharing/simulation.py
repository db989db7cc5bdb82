"""A chip that several jobs share, simulated in whole cycles: one bus, units that run, and memories that hold what is loaded."""

from __future__ import annotations

import heapq
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from mrfhw.sharing.jobs import WHOLE, Job, Part, Visit
from mrfhw.sharing.policy import Chip, Policy, Progress, Start, Waits
from mrfhw.system.errors import ProblemError

__all__ = ["Span", "Step", "Trace", "simulate"]

Span = tuple[int, int]  # cycles, the first and the one after the last


@dataclass(frozen=True)
class Step:
    """What was done for a visit. units, context: where. load, read: on the bus. run: in the units; between them it waits."""

    job: int
    chain: int
    visit: int
    units: tuple[int, ...]
    context: int
    load: Span
    run: Span
    read: Span

    def __str__(self) -> str:
        spans = " ".join(f"{name} {begin}-{end}" for name, (begin, end) in
                         (("load", self.load), ("run", self.run), ("read", self.read)))
        return f"job {self.job} chain {self.chain} visit {self.visit} on {','.join(map(str, self.units))}/{self.context}: {spans}"


@dataclass(frozen=True)
class Trace:
    """What happened. jobs: as they were given. steps: in the order in which visits were loaded. finished: of each job, the cycle
    after its last reading."""

    jobs: tuple[Job, ...]
    steps: tuple[Step, ...]
    finished: tuple[int, ...]

    @property
    def makespan(self) -> int:
        """Cycles from the first arrival until all jobs have finished."""
        return max(self.finished) - min(job.arrival for job in self.jobs)

    def turnarounds(self, part: Part = WHOLE) -> tuple[float, ...]:
        """Of each job, cycles from arrival to finish by those that it takes alone on a part."""
        return tuple((end - job.arrival) / job.alone(part) for job, end in zip(self.jobs, self.finished, strict=True))

    @property
    def mean_turnaround(self) -> float:
        """The average of `turnarounds`, normalized by the whole chip."""
        return fmean(self.turnarounds())


@dataclass
class _Visit:
    """A visit under way."""

    start: Start
    number: int
    cycles: Visit
    load: Span
    run: Span = (0, 0)


def simulate(jobs: Sequence[Job], policy: Policy) -> Trace:
    """All jobs from their arrivals to their ends. Raises ProblemError for no jobs, and for jobs that the policy cannot take.

    The bus carries a whole load or read after the other, reads first, the longest waiting of them first. A visit holds its
    contexts from the first cycle of its loading to the last of its reading, and its units while it runs; loaded visits run in the
    order of their loading, as soon as all their units are idle.
    """
    if not jobs:
        raise ProblemError("jobs are 0; a chip is shared by 1 at least: give some")
    policy.check(jobs)
    return _Simulation(jobs, policy).done()


class _Simulation:
    def __init__(self, jobs: Sequence[Job], policy: Policy):
        self._policy, self._chip = policy, Chip(tuple(jobs))
        self._events: list[tuple[int, int, str, int | _Visit | None]] = []
        self._count = 0  # of events, which orders those of a cycle
        self._bus_free = True
        self._running: set[int] = set()
        self._loaded: list[_Visit] = []
        self._to_read: deque[_Visit] = deque()
        self._steps: list[Step] = []
        self._finished = [0] * len(jobs)
        self._woken: int | None = None

    def _at(self, cycle: int, kind: str, of: int | _Visit | None = None) -> None:
        heapq.heappush(self._events, (cycle, self._count, kind, of))
        self._count += 1

    def done(self) -> Trace:
        chip, policy = self._chip, self._policy
        policy.begin(chip)
        for number in sorted(range(len(chip.jobs)), key=lambda number: chip.jobs[number].arrival):
            self._at(chip.jobs[number].arrival, "arrival", number)
        while self._events:
            chip.now = self._events[0][0]
            while self._events and self._events[0][0] == chip.now:
                _, _, kind, of = heapq.heappop(self._events)
                getattr(self, f"_{kind}")(of)
            self._go_on()
        if chip.open:
            raise RuntimeError(f"policy {policy.name} left {len(chip.open)} jobs waiting for ever")
        self._steps.sort(key=lambda step: step.load)
        return Trace(tuple(chip.jobs), tuple(self._steps), tuple(self._finished))

    # -- what happens

    def _arrival(self, job: int) -> None:
        chains = self._chip.jobs[job].chains(self._policy.part())
        self._chip.open[job] = Progress([0] * len(chains), [0] * len(chains))
        self._policy.arrived(self._chip, job)

    def _woke(self, _: None) -> None:
        self._woken = None

    def _end_of_load(self, visit: _Visit) -> None:
        self._bus_free = True
        self._loaded.append(visit)

    def _end_of_run(self, visit: _Visit) -> None:
        self._running -= set(visit.start.units)
        self._to_read.append(visit)

    def _end_of_read(self, visit: _Visit) -> None:
        self._bus_free = True
        chip, start, now = self._chip, visit.start, self._chip.now
        chip.taken -= {(unit, start.context) for unit in start.units}
        progress = chip.open[start.job]
        progress.read[start.chain] += 1
        self._steps.append(Step(start.job, start.chain, visit.number, start.units, start.context, visit.load, visit.run,
                                (now - visit.cycles.read, now)))
        part = self._policy.part(len(start.units))
        if progress.done == chip.jobs[start.job].visits(part):
            del chip.open[start.job]
            self._finished[start.job] = now
        self._policy.read(chip, start.job)

    # -- what is begun

    def _go_on(self) -> None:
        policy, chip = self._policy, self._chip
        for visit in list(self._loaded):
            if self._running.isdisjoint(visit.start.units):
                self._loaded.remove(visit)
                self._running |= set(visit.start.units)
                visit.run = chip.now, chip.now + visit.cycles.run
                self._at(visit.run[1], "end_of_run", visit)
        self._wake()
        if self._bus_free and self._to_read:
            visit = self._to_read.popleft()
            self._bus_free = False
            self._at(chip.now + visit.cycles.read, "end_of_read", visit)
        elif self._bus_free:
            start = policy.choose(chip)
            if start is not None:
                self._load(start)
                self._wake()

    def _wake(self) -> None:
        if isinstance(self._policy, Waits):
            due = self._policy.wake(self._chip)
            if due is not None and due != self._woken:
                self._woken = due
                self._at(due, "woke")

    def _load(self, start: Start) -> None:
        chip, policy = self._chip, self._policy
        part = policy.part(len(start.units))
        places = {(unit, start.context) for unit in start.units}
        assert len(places) == len(start.units), "a unit is given twice"
        assert places.isdisjoint(chip.taken), "what is taken is given again"
        assert all(0 <= unit < policy.units for unit in start.units), "there is no such unit"
        assert 0 <= start.context < policy.contexts, "there is no such context"
        assert start.chain in chip.ready(start.job, part), "a visit begins before the chain's last one was read"
        cycles = chip.next_visit(start, part)
        progress = chip.open[start.job]
        visit = _Visit(start, progress.begun[start.chain], cycles, (chip.now, chip.now + cycles.load))
        chip.taken |= places
        progress.begun[start.chain] += 1
        self._bus_free = False
        self._at(visit.load[1], "end_of_load", visit)
        policy.started(chip, start, cycles)
