"""A board that several tenants share visit by visit: who is loaded next is a policy's choice, and each one's bits are its own.

A tenant's chains have seats. A seat is a `Backend` of which runs are prepared as of any other; what they do on the board waits
until the policy gives the seat a place, a cluster of the machine, for one visit: a window's, or some sweeps of a field that the
machine holds whole. When another seat has that place next, the state of the one before is kept here, so that nothing of it is lost
(`tests/sharing/test_shared_board.py` compares with runs alone).
"""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Generator, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mrfhw.backends.backend import ActiveRun, Backend, Fresh, Observe, Pauses, Progress
from mrfhw.backends.windows import WindowPlan, WindowRun
from mrfhw.cost.estimate import Cycles
from mrfhw.field.problem import Problem, Run
from mrfhw.field.result import Result
from mrfhw.field.state import RunState
from mrfhw.host.links import LinkError
from mrfhw.placement.placement import Placement, place
from mrfhw.placement.windows import VISIT
from mrfhw.sharing.jobs import Job, Part, Visit
from mrfhw.sharing.policy import Chip, Policy, Start
from mrfhw.sharing.policy import Progress as Reached
from mrfhw.system.errors import ProblemError

__all__ = ["PausesOf", "Seat", "SharedBoard", "Tenant"]

PAUSE = 0.2  # seconds between looks whether the board is to be closed, while nobody has work for it


class PausesOf(Pauses):
    """Those of another, or none; a class of it has more. own: the other's."""

    def __init__(self, own: Pauses | None = None):
        super().__init__()
        self.own = own

    def restart(self, sweeps: int) -> None:
        if self.own is not None:
            self.own.restart(sweeps)

    def now(self, sweeps: int) -> bool:
        return self.own is not None and self.own.now(sweeps)

    def limit(self, total: int) -> int:
        return total if self.own is None else self.own.limit(total)


class _Turn(PausesOf):
    """The pauses of a tenant's run, and the end of its turn. until: the sweep at which that ends."""

    until = 0

    def now(self, sweeps: int) -> bool:
        return sweeps >= self.until or super().now(sweeps)

    def limit(self, total: int) -> int:
        return super().limit(min(total, self.until))


@dataclass(eq=False)
class _Place:
    """A cluster of the machine. holds: whose visit was the last, where the machine still has it."""

    backend: Backend
    holds: SeatRun | None = None


@dataclass(eq=False)
class Tenant:
    """Who shares the board. number: of its job, which is another's after it has gone. seats: of its chains. cycles: of the visits
    that it has had, loading and reading included."""

    number: int
    seats: list[Seat] = field(default_factory=list)
    working: int = 0  # runs that are being advanced
    cycles: int = 0
    gone: bool = False


class _Chip(Chip):
    """What a policy sees of the board: visits that wait, by job and chain."""

    def __init__(self) -> None:
        super().__init__([])
        self.waiting: dict[tuple[int, int], SeatRun] = {}

    def ready(self, job: int, part: Part) -> Iterator[int]:
        return iter(sorted(chain for number, chain in self.waiting if number == job))

    def next_visit(self, start: Start, part: Part) -> Visit:
        return self.waiting[start.job, start.chain].cycles


class Seat(Backend):
    """A session of a tenant's chain with the board."""

    def __init__(self, board: SharedBoard, tenant: Tenant):
        self.board, self.tenant, self.chain = board, tenant, len(tenant.seats)
        self.generators: np.ndarray | None = None  # after its last visit, when another has had its place since
        self.lost: Exception | None = None  # what was raised when they were to be kept
        tenant.seats.append(self)

    def prepare(self, problem: Problem | Placement, run: Run, *, fresh: Fresh = True, state: RunState | None = None,
                progress: Progress | None = None, observe: Observe | None = None, pauses: Pauses | None = None) -> ActiveRun:
        return SeatRun(self, place(self.board.config, problem, run), fresh, state, progress, pauses)

    def check(self) -> None:
        """Raise what has gone wrong with it."""
        if self.lost is not None:
            error, self.lost = self.lost, None
            raise error

    def windows(self, plan: WindowPlan, run: Run, visit: int, **others: Any) -> ActiveRun:
        """A run window by window; see `WindowRun`."""
        return WindowRun(self, plan, run, visit, **others)


class SeatRun:
    """See `mrfhw.backends.backend.ActiveRun`. place: that it was given."""

    def __init__(self, seat: Seat, placement: Placement, fresh: Fresh, state: RunState | None, progress: Progress | None,
                 pauses: Pauses | None):
        self.seat = seat
        self.place: _Place | None = None
        self._placement, self._fresh, self._state, self._progress = placement, fresh, state, progress
        self._turn = _Turn(pauses)
        self.sweeps = 0 if state is None else state.sweeps
        self._inner: ActiveRun | None = None

    @property
    def finished(self) -> bool:
        return self.sweeps >= self._placement.run.sweeps

    @property
    def last(self) -> np.ndarray:
        return self.result().last if self._inner is None or self._state is not None else self._inner.last

    @property
    def cycles(self) -> Visit:
        """Of its next visit."""
        p = self._placement
        if "visit_cycles" not in p.derived:
            cycles = Cycles.of(p.config, p.problem, p.run)
            p.derived["visit_cycles"] = cycles.loading, cycles.of_sweeps(0), cycles.sweep, cycles.reading
        load, ends, sweep, read = p.derived["visit_cycles"]
        return Visit(load, ends + sweep * max(1, self._end - self.sweeps), read)

    @property
    def _end(self) -> int:
        """Of its turn, in sweeps."""
        return min(self.sweeps + self.seat.board.turn, self._placement.run.sweeps)

    def advance(self) -> None:
        raise RuntimeError("a seat's run is advanced by the board, in steps")

    def steps(self) -> Iterator[None]:
        own = self._turn.own
        while True:
            yield from self._visit()
            if self.finished or (own is not None and own.now(self.sweeps)):
                return

    def _visit(self) -> Iterator[None]:
        seat = self.seat
        yield from seat.board.granted(self)
        seat.check()
        at = self.place
        assert at is not None
        before, at.holds = at.holds, None  # nothing is known of it after an error
        try:
            if before is not self:
                if before is not None and before.seat is not seat and not before.seat.tenant.gone:
                    before.keep()
                seat.board.keep_elsewhere(seat)
                seat.check()
                fresh = self._fresh
                if fresh is False and (before is None or before.seat is not seat):
                    kept, seat.generators = seat.generators, None
                    if kept is None:
                        raise ProblemError("the board has lost what it had of this run: run it again")
                    fresh = kept
                self._inner = at.backend.prepare(self._placement, self._placement.run, fresh=fresh, state=self._state,
                                                 progress=self._progress, pauses=self._turn)
                self._state = None
            self._turn.until = self._end
            assert self._inner is not None
            yield from self._inner.steps()
            self.sweeps, at.holds = self._inner.sweeps, self
        finally:
            self.place = None
            seat.board.released(self, at)

    def keep(self) -> None:
        """Another has its place from now on. What goes wrong here is told to whose seat it is."""
        assert self._inner is not None
        try:
            self._state = self._inner.state()
        except LinkError:
            raise
        except Exception as error:
            self.seat.lost = error
        else:
            self.seat.generators = self._state.generators

    def state(self, counted: bool = True) -> RunState:
        if self._state is not None:
            return self._state if counted else self._state.uncounted()
        assert self._inner is not None
        return self._inner.state(counted)

    def result(self) -> Result:
        if self._state is not None:
            return self._state.so_far
        assert self._inner is not None
        return self._inner.result()


class SharedBoard:
    """A board and those who share it. One thread drives it, `serve`; tenants come, hand in work and leave from any other.

    lost: what was raised when the link to the board was gone for good.
    backend: the board; each of its clusters is a place. policy: of as many units as it has places, and one context. turn: sweeps
    of a field that the machine holds whole, until another may have its place.
    """

    def __init__(self, backend: Backend, policy: Policy, turn: int = VISIT):
        places = backend.places
        if policy.units != len(places) or policy.contexts != 1:
            raise ProblemError(f"policy {policy.name} is for {policy.units} clusters with {policy.contexts} contexts; the board "
                               f"has {len(places)} with 1: give another policy or board")
        self.config, self.policy, self.turn = backend.config, policy, turn  # type: ignore[attr-defined]
        self._backend, self._places = backend, [_Place(one) for one in places]
        self._chip, self._tenants = _Chip(), list[Tenant]()
        self._free: list[int] = []  # numbers of tenants that have gone
        self._work = queue.SimpleQueue[Callable[[], object]]()
        self._active: list[tuple[Generator[None, None, Any], Callable[[Any, BaseException | None], object]]] = []
        self._closing = threading.Event()
        self.lost: LinkError | None = None
        self._over, self._giving_up = threading.Event(), threading.RLock()
        policy.begin(self._chip)

    # -- from any thread

    def tenant(self, owner: str, weight: float = 1.0) -> Tenant:
        """Somebody who shares the board from now on. Raises ProblemError for a weight that is none, or not that of its owner."""
        found: queue.SimpleQueue[Tenant | ProblemError] = queue.SimpleQueue()

        def come() -> None:
            try:
                found.put(self._come(owner, weight))
            except ProblemError as error:
                found.put(error)

        self._hand_in(come)
        one = found.get()
        if isinstance(one, ProblemError):
            raise one
        return one

    def leave(self, tenant: Tenant) -> None:
        """It has gone, or goes when the turn is over that it has."""

        def go() -> None:
            tenant.gone = True
            self._forget(tenant)

        self._hand_in(go)

    def do(self, steps: Callable[[], Generator[None, None, Any]], then: Callable[[Any, BaseException | None], object],
           tenant: Tenant | None = None) -> None:
        """Have steps done; then: called with what they come to, or what they raise. tenant: for whom the board works meanwhile."""

        def begin() -> None:
            if tenant is not None:
                if tenant.gone:
                    then(None, ProblemError("this program has left the board: connect again"))
                    return
                self._begin(tenant)

            def ended(found: Any, error: BaseException | None) -> None:
                if tenant is not None:
                    self._end(tenant)
                then(found, error)

            self._active.append((steps(), ended))

        self._hand_in(begin)

    def close(self) -> None:
        """End `serve`."""
        self._closing.set()

    # -- in the board's thread

    def serve(self) -> None:
        """Do what is handed in, until `close`, or until the board is `lost`, which all are told who wait for it."""
        while not self._closing.is_set() and self.lost is None:
            self._take(wait=not self._active)
            for one in list(self._active):
                self._step(one)
            self._choose()
        self._over.set()
        self._give_up()

    def _hand_in(self, work: Callable[[], object]) -> None:
        self._work.put(work)
        if self._over.is_set():
            self._give_up()

    def _give_up(self) -> None:
        """Tell all who wait that the board is shared no longer."""
        with self._giving_up:
            self._take(wait=False)
            active, self._active = self._active, []
        for _, ended in active:
            ended(None, self.lost or ProblemError("the board is no longer shared: give another"))

    def _take(self, wait: bool) -> None:
        while True:
            try:
                work = self._work.get(timeout=PAUSE) if wait else self._work.get_nowait()
            except queue.Empty:
                return
            work()
            wait = False

    def _step(self, one: tuple[Generator[None, None, Any], Callable[[Any, BaseException | None], object]]) -> None:
        steps, ended = one
        try:
            next(steps)
        except StopIteration as end:
            self._active.remove(one)
            ended(end.value, None)
        except Exception as error:  # of this tenant's run; who asked for it is told
            self._active.remove(one)
            ended(None, error)
            if isinstance(error, LinkError):
                self.lost = self.lost or error

    def _come(self, owner: str, weight: float) -> Tenant:
        job = Job(owner, {self.policy.part(): ((Visit(0, 1, 0),),)}, owner=owner, weight=weight)
        self.policy.check([*(self._chip.jobs[one.number] for one in self._tenants if one.working), job])
        jobs = list(self._chip.jobs)
        number = self._free.pop() if self._free else len(jobs)
        jobs[number:number + 1] = [job]
        self._tenants[number:number + 1] = [Tenant(number)]
        self._chip.jobs = jobs
        return self._tenants[number]

    def _forget(self, tenant: Tenant) -> None:
        if tenant.gone and not tenant.working:
            self._free.append(tenant.number)

    def _begin(self, tenant: Tenant) -> None:
        tenant.working += 1
        if tenant.working == 1:
            self._chip.open[tenant.number] = Reached([], [])
            self.policy.arrived(self._chip, tenant.number)

    def _end(self, tenant: Tenant) -> None:
        tenant.working -= 1
        if not tenant.working:
            del self._chip.open[tenant.number]
            self._forget(tenant)

    def granted(self, run: SeatRun) -> Iterator[None]:
        """Wait until the policy gives the run a place."""
        seat = run.seat
        key = seat.tenant.number, seat.chain
        self._chip.waiting[key] = run
        try:
            while run.place is None:
                yield
        finally:
            self._chip.waiting.pop(key, None)

    def released(self, run: SeatRun, at: _Place) -> None:
        """A visit is read."""
        tenant = run.seat.tenant
        self._chip.taken.discard((self._places.index(at), 0))
        self.policy.read(self._chip, tenant.number)

    def keep_elsewhere(self, seat: Seat) -> None:
        """Whatever is a seat's at other places is kept here."""
        for at in self._places:
            if at.holds is not None and at.holds.seat is seat:
                at.holds.keep()
                at.holds = None

    def _choose(self) -> None:
        chip, policy = self._chip, self.policy
        while (start := policy.choose(chip)) is not None:
            unit, = start.units
            visit = chip.next_visit(start, policy.part())
            run = chip.waiting.pop((start.job, start.chain))
            chip.taken.add((unit, start.context))
            run.place = self._places[unit]
            self._tenants[start.job].cycles += visit.cycles
            policy.started(chip, start, visit)
