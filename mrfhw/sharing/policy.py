"""What a policy decides: which visit is loaded next, and where. The same calls come from the simulation and from a board."""

from __future__ import annotations

import abc
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from mrfhw.sharing.jobs import Job, Part, Visit

__all__ = ["Chip", "Policy", "Progress", "Start", "Waits"]


@dataclass(frozen=True)
class Start:
    """A chain's next visit is to be loaded. job: its number. units: that it takes of the mesh. context: of those units."""

    job: int
    chain: int
    units: tuple[int, ...]
    context: int = 0


@dataclass
class Progress:
    """How far a job is that has arrived and has not finished. begun, read: by chain, visits whose loading has begun, and that were
    read."""

    begun: list[int]
    read: list[int]

    @property
    def done(self) -> int:
        """Visits that were read."""
        return sum(self.read)

    @property
    def under_way(self) -> int:
        """Visits that have begun and were not read yet."""
        return sum(self.begun) - self.done


@dataclass
class Chip:
    """What a policy sees, and does not change.

    jobs: all by number. now: the cycle. open: jobs that have arrived and have not finished, in the order of arrival.
    taken: (unit, context) of visits under way.
    """

    jobs: Sequence[Job]
    now: int = 0
    open: dict[int, Progress] = field(default_factory=dict)
    taken: set[tuple[int, int]] = field(default_factory=set)

    def ready(self, job: int, part: Part) -> Iterator[int]:
        """Chains of an open job whose next visit may be loaded: there is one, and the chain's last one was read."""
        progress = self.open[job]
        for chain, visits in enumerate(self.jobs[job].chains(part)):
            if progress.begun[chain] == progress.read[chain] < len(visits):
                yield chain

    def next_visit(self, start: Start, part: Part) -> Visit:
        """The visit that a start is of."""
        return self.jobs[start.job].chains(part)[start.chain][self.open[start.job].begun[start.chain]]


class Policy(abc.ABC):
    """Who is loaded next. It is asked when the bus is free and nothing waits to be read.

    name: for tables. units: equal parts of the mesh that a visit takes one or some of. contexts: equal parts of each tile's
    memories; units run one of their contexts at a time. An object serves one simulation, or one board, at a time: `begin` forgets
    the last one.
    """

    name: str
    units: int = 1
    contexts: int = 1

    def part(self, units: int = 1) -> Part:
        """So many units, and one of their contexts."""
        return Part(units, self.units, self.contexts)

    def check(self, jobs: Sequence[Job]) -> None:
        """Raise ProblemError for jobs that it cannot take."""
        for job in jobs:
            job.chains(self.part())

    def begin(self, chip: Chip) -> None:  # noqa: B027  # most have nothing to prepare
        """The chip is empty; jobs are known, and none has arrived."""

    def arrived(self, chip: Chip, job: int) -> None:  # noqa: B027
        """A job waits from now on."""

    @abc.abstractmethod
    def choose(self, chip: Chip) -> Start | None:
        """What is loaded now; None for nothing until something changes."""

    def started(self, chip: Chip, start: Start, visit: Visit) -> None:  # noqa: B027
        """What it chose is being loaded."""

    def read(self, chip: Chip, job: int) -> None:  # noqa: B027
        """A visit of a job was read, its last one perhaps; the job is open no more then."""


class Waits(Policy):
    """A policy that has something to do at a later cycle, whatever happens on the chip."""

    @abc.abstractmethod
    def wake(self, chip: Chip) -> int | None:
        """Called whenever something happened, after it: does what is due. The next cycle at which to be called; None for none."""
