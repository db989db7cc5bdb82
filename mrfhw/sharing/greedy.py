"""Parts of the chip that are resized while jobs come and go, as published for multi-tenant GPUs: for comparison alone.

A service hears of jobs that come and of jobs that begin their last visit, asks the others how far they are, and gives each a
part of the chip so that the longest remaining time is short (Algorithm 2, Equation 5.1). Thread blocks are visits here, and what is
allocated are equal parts of the mesh. None of our machines can be resized so: a field's bits depend on the mesh that it is run on,
and a job that is resized between visits would go on with others. The simulation plans with it as if that did not matter, which is
the most that resizing could gain.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction

from mrfhw.field.given import whole_number
from mrfhw.sharing.jobs import Job, Visit
from mrfhw.sharing.policy import Chip, Start, Waits
from mrfhw.system.errors import ProblemError

__all__ = ["Adaptive", "Kernel", "Message", "Service", "allocate", "pruned", "remaining"]

MOST_UNITS = 64

Configurations = tuple[tuple[int, int], ...]  # (units, cycles in isolation), units ascending


def pruned(profile: Sequence[tuple[int, int]]) -> Configurations:
    """(units, cycles) by units, without those that take no fewer cycles than another with fewer units."""
    kept: list[tuple[int, int]] = []
    for units, cycles in sorted(profile):
        if not kept or cycles < kept[-1][1]:
            kept.append((units, cycles))
    return tuple(kept)


def remaining(cycles: int, visits: int, done: int) -> Fraction:
    """Equation 5.1: of `cycles` in isolation, what the visits that are left take."""
    return Fraction(cycles * (visits - done), visits)


@dataclass(frozen=True)
class Kernel:
    """What the service knows of a job. configurations: pruned. visits: in all; done: of them."""

    name: str
    configurations: Configurations
    visits: int
    done: int = 0


def allocate(kernels: Sequence[Kernel], capacity: int) -> list[int]:
    """Algorithm 2: units of each kernel, in the order given.

    All begin with the least. The one with the most remaining time has its next configuration as long as all fit the capacity; where
    they do not, or where it has the last, it keeps what it has. Where even the least do not fit, they stand, and jobs wait for
    room.
    """
    chosen = [0] * len(kernels)

    def left(number: int) -> Fraction:
        kernel = kernels[number]
        return remaining(kernel.configurations[chosen[number]][1], kernel.visits, kernel.done)

    def units() -> list[int]:
        return [kernel.configurations[at][0] for kernel, at in zip(kernels, chosen, strict=True)]

    order = sorted(range(len(kernels)), key=left, reverse=True)
    marked = 0
    while marked < len(order):  # published with <=, which looks at one more than there are
        first = order[marked]
        if chosen[first] + 1 == len(kernels[first].configurations):
            marked += 1
            continue
        chosen[first] += 1
        if sum(units()) <= capacity:
            order[marked:] = sorted(order[marked:], key=left, reverse=True)
        else:
            chosen[first] -= 1
            marked += 1
    return units()


@dataclass(frozen=True)
class Message:
    """What goes between service and jobs. kind: "request" and "last", a job's last visit begins, come to the service; "query", how
    many visits are done, and "send", so many units, come from it. number: what is answered or sent; 0 of what has none."""

    cycle: int
    kind: str
    name: str
    number: int = 0

    def __str__(self) -> str:
        return f"{self.cycle} {self.kind} {self.name}" + (f" {self.number}" if self.kind in ("query", "send") else "")


class Service:
    """Who has how many units. Messages wait in a queue; all that are there are answered together.

    capacity: units of the chip. log: every message, in order.
    """

    def __init__(self, capacity: int):
        self.capacity = whole_number("units", capacity, 1, MOST_UNITS, "give one of them")
        self.log: list[Message] = []
        self._waiting: list[tuple[str, Kernel]] = []
        self._kernels: dict[str, Kernel] = {}

    @property
    def waiting(self) -> bool:
        """Whether there are messages to answer."""
        return bool(self._waiting)

    def request(self, cycle: int, kernel: Kernel) -> None:
        """A job wants to run."""
        self.log.append(Message(cycle, "request", kernel.name))
        self._waiting.append(("request", kernel))

    def last(self, cycle: int, name: str) -> None:
        """A job begins its last visit: nothing can change for it, and what it has will be free."""
        self.log.append(Message(cycle, "last", name))
        self._waiting.append(("last", self._kernels[name]))

    def answer(self, cycle: int, progress: Callable[[str], int]) -> dict[str, int]:
        """Units of each job that goes on, by name, which are sent. progress: asked of the jobs that sent no message."""
        new, self._waiting = self._waiting, []
        for kind, kernel in new:
            if kind == "last":
                del self._kernels[kernel.name]
        for name, kernel in self._kernels.items():
            done = progress(name)
            self.log.append(Message(cycle, "query", name, done))
            self._kernels[name] = Kernel(name, kernel.configurations, kernel.visits, done)
        self._kernels |= {kernel.name: kernel for kind, kernel in new if kind == "request"}
        sent = dict(zip(self._kernels, allocate(list(self._kernels.values()), self.capacity), strict=True))
        self.log += [Message(cycle, "send", name, units) for name, units in sent.items()]
        return sent


class Adaptive(Waits):
    """The published greedy policy with visits for thread blocks and equal parts of the mesh for resources, for comparison alone.

    A job has one visit under way. A new size holds from its next visit on; where there is not room for it yet, a job goes on with
    the size of its last visit or begins with the one that it was sent before, and else waits.

    units: parts of the mesh. answering: cycles from the first message that waits to the answer. service: of the last simulation,
    with its log.
    """

    name = "adaptive"

    def __init__(self, units: int = 8, answering: int = 0):
        self.service = Service(units)
        self.units = self.service.capacity
        self.answering = whole_number("answering", answering, 0, 2**62, "give one of them")
        self._sizes: dict[int, int] = {}
        self._smaller: dict[int, set[int]] = {}  # of each job, what it was sent before and has run with last
        self._due: int | None = None

    def check(self, jobs: Sequence[Job]) -> None:
        for job in jobs:
            shapes = {tuple(map(len, job.chains(self.part(units)))) for units in range(1, self.units + 1)}
            if len(shapes) > 1:
                raise ProblemError(f"job {job.name!r} has other visits on other parts; a job that is resized has the same on all: "
                                   "give another policy")

    def begin(self, chip: Chip) -> None:
        self.service, self._due = Service(self.units), None
        self._sizes, self._smaller = {}, {}

    def arrived(self, chip: Chip, job: int) -> None:
        one = chip.jobs[job]
        profile = pruned([(units, one.alone(self.part(units))) for units in range(1, self.units + 1)])
        self.service.request(chip.now, Kernel(str(job), profile, one.visits(self.part())))

    def wake(self, chip: Chip) -> int | None:
        if self._due is None and self.service.waiting:
            self._due = chip.now + self.answering
        if self._due is not None and chip.now >= self._due:
            sent = self.service.answer(chip.now, lambda name: chip.open[int(name)].done)
            for job, size in self._sizes.items():
                self._smaller.setdefault(job, set()).add(size)
            self._sizes = {int(name): units for name, units in sent.items()}
            self._due = None
        return self._due

    def choose(self, chip: Chip) -> Start | None:
        free = [unit for unit in range(self.units) if (unit, 0) not in chip.taken]
        for job, size in self._sizes.items():
            if chip.open[job].under_way:
                continue
            some = [one for one in (size, *self._smaller.get(job, ())) if one <= min(size, len(free))]
            if some:
                chain = next(chip.ready(job, self.part(max(some))))
                return Start(job, chain, tuple(free[:max(some)]))
        return None

    def started(self, chip: Chip, start: Start, visit: Visit) -> None:
        self._smaller[start.job] = {len(start.units)}
        if sum(chip.open[start.job].begun) == chip.jobs[start.job].visits(self.part()):
            del self._sizes[start.job]
            self.service.last(chip.now, str(start.job))
