"""Chains of a field: prepared, advanced some sweeps at a time, looked at, kept, stopped, and gone on with."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import takewhile
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import numpy as np

from mrfhw.analysis.convergence import energy_rhat, least_looks, more_helps
from mrfhw.analysis.solution import Solution, histograms_apart
from mrfhw.backends.backend import ActiveRun, Backend, Pauses, Steps, at_once, together
from mrfhw.backends.plan import VISIT, Plan
from mrfhw.field.given import short
from mrfhw.field.problem import Problem, ProblemError, Run
from mrfhw.field.result import Result
from mrfhw.field.state import RunState
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.runs.checkpoint import Checkpoint, Keeping
from mrfhw.runs.longer import Judge, longer, may_go_on
from mrfhw.runs.recorder import Recorder
from mrfhw.system.files import check_writable, remove_part
from mrfhw.system.large_arrays import as_type
from mrfhw.system.threads import threads_of

__all__ = ["Callback", "Chains", "Look", "Watch", "sample", "up_to", "visit_of"]


@dataclass(frozen=True, eq=False)
class Look:
    """A chain between two sweeps.

    chain: which, from 0.
    sweeps: finished ones.
    total: sweeps at the end.
    labels: (H, W) uint8, the sample; a copy.
    energy: of these labels, `mrfhw.samplers.field_energy.FieldEnergy`.
    part: which field, from 0, of a job that has several.
    """

    chain: int
    sweeps: int
    total: int
    labels: np.ndarray
    energy: float
    energies: Callable[[], np.ndarray | None] = field(repr=False, default=lambda: None)
    part: int = 0

    @cached_property
    def rhat(self) -> float | None:
        """R-hat of the energies of all chains up to here, after the burn-in; None where there are too few sweeps for one, or the
        chains do not run side by side. Computed when it is asked for: it takes milliseconds, and more as the run grows."""
        return energy_rhat(self.energies())


Callback = Callable[[Look], object]  # anything true ends the run


class Watch:
    """Who is told how a run gets on; a class of it says what it does then."""

    def first(self, done: int, total: int) -> None:
        """So many sweeps are done of so many, of what is sampled before the field itself."""

    def sweeps(self, done: int, total: int) -> None:
        """So many sweeps are done of so many, those of all chains added."""

    def going_on(self, run: Run) -> None:
        """The chains did not agree, and go on to this longer run."""


def _asked(value: Any) -> bool:
    """Whether what a callback returned asks for the end. Raises ProblemError for what is neither true nor false."""
    try:
        return bool(value)
    except ValueError:
        raise ProblemError(f"callback gave {short(repr(value))}; what is true ends the run: give True or False") from None


def _check_every(every: int) -> None:
    if every < 1:
        raise ProblemError(f"every is {every}; a callback comes after so many sweeps: give 1 or more")


def up_to(run: Run, sweeps: int) -> Run:
    """A run that was ended after so many sweeps, 1 at least; where that is within its burn-in, all but the last."""
    sweeps = max(1, sweeps)
    return dataclasses.replace(run, sweeps=sweeps, burn_in=min(run.burn_in, sweeps - 1))


def visit_of(config: Config | None, run: Run, chains: int, most: int = 0) -> int:
    """Sweeps of a window at a time by default: few enough for the convergence of the chains to be seen, and of a run that may go on
    a part of its sweeps, where one is more than half as many. most: as of `Chains`."""
    # One look more, as the burn-in may end within a round.
    held = VISIT if config is None else config.temperature_table
    visit = max(1, min(VISIT, held, run.after_burn_in // (least_looks(chains) + 1)))
    parts = [] if most <= run.sweeps else [number for number in range(visit // 2 + 1, visit + 1) if run.sweeps % number == 0]
    return max(parts, default=visit)


class _Stops(Pauses):
    """When a chain pauses: to be looked at, to be kept, and where a step ends.

    looked, kept: the pauses of the first two; None where there are none.
    target: the sweep at which a step ends, or None.
    """

    def __init__(self, every: int | None, kept: Pauses | None):
        super().__init__()
        self.looked, self.kept = Pauses(sweeps=every), kept
        self.target: int | None = None

    @property
    def _all(self) -> list[Pauses]:
        return [self.looked] if self.kept is None else [self.looked, self.kept]

    def restart(self, sweeps: int) -> None:
        for pauses in self._all:
            pauses.restart(sweeps)

    def now(self, sweeps: int) -> bool:
        return (self.target is not None and sweeps >= self.target) or any(pauses.now(sweeps) for pauses in self._all)

    def limit(self, total: int) -> int:
        return min(pauses.limit(total if self.target is None else min(total, self.target)) for pauses in self._all)


class _Chain:
    """One chain.

    done: its finished sweeps.
    start: where it goes on from; None at its beginning, and where it is at its end.
    begun: where it stood when a longer run began.
    ended: where it stood at the end of the run, without what it counted, for a longer one.
    result: what it has given, at the end of what was asked for.
    place: which of the backend's `places` it is at.
    """

    def __init__(self, number: int):
        self.number, self.done, self.place = number, 0, 0
        self.start: RunState | None = None
        self.begun: RunState | None = None
        self.ended: RunState | None = None
        self.result: Result | None = None
        self.active: ActiveRun | None = None
        self.stops = _Stops(None, None)

    def go_on_from(self, state: RunState | None) -> None:
        """Its next piece begins at a state."""
        self.start, self.active, self.result = state, None, None
        self.done = 0 if state is None else state.sweeps

    @property
    def stands(self) -> RunState | None:
        """The state of a chain that is under way; None where it has not begun the run."""
        if self.active is not None:
            return self.active.state()
        return None if self.start is self.begun else self.start


class Chains:
    """`chains` chains of the plan's problem, as of `Run.of_chain`; a context manager. Nothing is opened or sampled before `step`.

    However often a run is paused, kept and gone on with, its bits are those of one run of all its sweeps. Chains run one after the
    other, or as many side by side as the backend has places; where a callback looks at them, nothing is kept and the grid is whole
    and in this process, all run side by side.

    plan: the field and who samples it.
    run: how long each chain is sampled.
    most: where the chains do not agree after the run's sweeps and more help, `finish` goes on to twice as many, and so on up to
    `most`, each time with all sweeps before as burn-in; labels and histogram are those of such a run from the start. Backends that
    show no sweeps cannot tell.
    traced: whether energies and labels are looked at, where the backend shows its labels.
    add_up: keep no chain's own histogram, but their sum, where nothing is kept in a file.
    judge: who says whether chains do not agree, and more sweeps help.
    watch: who is told how it gets on.
    keeping: the checkpoint files to write and to go on from.
    beside: whose runs these chains are sampled together with (`Backend.beside`).

    sweeps: asked for so far.
    stopped: whether a callback has ended it.
    Raises ProblemError for what the backend cannot run, and for a checkpoint of something else.
    """

    def __init__(self, plan: Plan, run: Run, chains: int = 1, *, most: int = 0, traced: bool = True, add_up: bool = False,
                 judge: Judge = more_helps, watch: Watch | None = None, keeping: Keeping | None = None,
                 beside: Backend | None = None):
        if chains < 1:
            raise ProblemError(f"chains is {chains}; a run has at least 1: give more")
        threads_of(None)  # what is wrong with it is said before the run, not by what is made of its answer
        self.plan, self.run, self.asked, self.most, self.sweeps = plan, run, run, most, 0
        self.keeping, self.watch, self._judge = keeping or Keeping(), watch or Watch(), judge
        self._beside = beside
        self._add_up = add_up and self.keeping.path is None and self.keeping.resume is None
        self._extended = False
        self.recorder = Recorder(plan.problem, run.seed, run.sweeps) if traced else None
        self._chains = [_Chain(number) for number in range(chains)]
        self._total: np.ndarray | None = None  # of the chains that have ended, and how far they are apart
        self._apart: np.ndarray | None = None
        self._backend: Backend | None = None
        self._wanted, self._given_up = 0, False
        self._before: tuple[Any, ...] | None = None  # what there was before a longer run
        self._turns: Iterator[int] | None = None  # of the run under way
        self._left: int | None = None  # sweeps of the step under way
        self.stopped = False
        for path in filter(None, (self.keeping.path, self.keeping.resume)):
            remove_part(Path(path))
        if self.keeping.path is not None:
            check_writable(self.keeping.path.parent)
        if self.keeping.resume is not None:
            if self.keeping.found is not None:
                self._check_fits(self.keeping.found)
            self._restore(self.keeping.found or Checkpoint.load(self.keeping.resume, self._check_fits))

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let the machine go."""
        if self._backend is not None:
            self._backend.close()
            self._backend = None

    # -- checkpoints

    @property
    def identity(self) -> dict[str, Any]:
        """Everything that must be equal to go on from a checkpoint."""
        plan, most = self.plan, self.most
        return {"problem": plan.problem.digest, "run": self.asked.digest,
                "machine": "none" if plan.config is None else Derived.of(plan.config).digest,
                "backend": plan.kind.identity(plan.backend), "chains": len(self._chains), "traced": self.recorder is not None,
                "most_sweeps": most if most > self.asked.sweeps else None, "visit": None if plan.windows is None else plan.visit}

    def state(self) -> Checkpoint:
        """Where all chains stand, as it can be saved and gone on from."""
        stand = [chain.stands for chain in self._chains if chain.result is None]
        under_way = list(takewhile(lambda state: state is not None, stand))
        return Checkpoint(
            identity=self.identity, results=[chain.result for chain in self._chains if chain.result is not None],
            looks=[] if self.recorder is None else self.recorder.looks, state=under_way[0] if under_way else None,
            beside=[state for state in under_way[1:] if state is not None],
            begun=[chain.begun for chain in self._chains if chain.begun is not None],
            ended=[chain.ended for chain in self._chains if chain.ended is not None], length=(self.run.sweeps, self.run.burn_in),
            before=self.keeping.before)

    def _check_fits(self, found: Checkpoint) -> None:
        found.check(self.keeping.resume, self.identity)
        found.check_shapes(self.keeping.resume, self.plan.problem, self.asked)

    def _restore(self, found: Checkpoint) -> None:
        if found.length is not None:
            sweeps, burn_in = found.length
            self.run = dataclasses.replace(self.run, sweeps=sweeps, burn_in=burn_in)
        found.check_contents(self.keeping.resume, self.plan.problem, self.run, max(self.asked.sweeps, self.most),
                             None if self.recorder is None else len(self.recorder.sites))
        for chain, state in zip(self._chains, found.begun, strict=False):
            chain.begun = state
            chain.go_on_from(state)
        for chain, state in zip(self._chains, found.ended, strict=False):
            chain.ended = state
        for chain, result in zip(self._chains, found.results, strict=False):
            chain.result, chain.done = result, self.run.sweeps
        for chain, stands in zip(self._chains[len(found.results):], [found.state, *found.beside], strict=False):
            if stands is not None:
                chain.go_on_from(stands)
        if self.recorder is not None:
            self.recorder.looks = found.looks
            self.recorder.expect(self.run.sweeps)
        if self.run != self.asked:
            self.watch.going_on(self.run)

    def _save(self) -> None:
        if self.keeping.path is not None:
            self.state().save(self.keeping.path)

    # -- sampling

    def finish(self, every: int = 1, callback: Callback | None = None) -> None:
        """The whole run, and where the chains do not agree then, longer ones; see `step`."""
        at_once(self.rounds(every, callback))

    def rounds(self, every: int = 1, callback: Callback | None = None) -> Steps[None]:
        """`finish`, which gives others their turns whose chains are sampled with these."""
        while not (yield from self._stepping(None, every, callback)):
            pass

    def step(self, sweeps: int | None, every: int = 1, callback: Callback | None = None) -> bool:
        """At most so many sweeps more of the chains that are under way, None: all that are left of the run.

        Returns whether the run is at its end, and where its chains do not agree, the longer ones that follow.

        every: sweeps of a chain from one call of the callback to the next.
        callback: looks at a chain between two sweeps; what it returns may end the run. Of a longer run that it ends, what there is
        is the run before.
        """
        return at_once(self._stepping(sweeps, every, callback))

    def _stepping(self, sweeps: int | None, every: int, callback: Callback | None) -> Steps[bool]:
        if self._turns is None:
            _check_every(every)
            self._turns = self._in_turns(self.run, every, callback)
        self._left = sweeps
        for advanced in self._turns:
            if not advanced:
                yield
            elif self._left is not None:
                self._left -= advanced
                if self._left <= 0:
                    return False
        self._turns = None
        if self.stopped:
            if self._before is not None:
                self._go_back()
            return True
        further = self._further()
        if further is None:
            return True
        if callback is not None:
            self._before = (self.run, self.sweeps, self._total, self._apart, [chain.result for chain in self._chains],
                            [chain.ended for chain in self._chains], [] if self.recorder is None else self.recorder.lengths)
        self._go_on(further)
        return False

    def _go_back(self) -> None:
        """To the run before the one that the callback has ended."""
        assert self._before is not None
        self.run, self.sweeps, self._total, self._apart, results, states, lengths = self._before
        for chain, result, state in zip(self._chains, results, states, strict=True):
            chain.go_on_from(state)
            chain.result = result
        if self.recorder is not None:
            self.recorder.shorten(lengths)
        self._given_up = True

    def _further(self) -> Run | None:
        """What the finished chains go on with, where they do not agree."""
        seen = self.recorder is not None and all(chain.ended is not None for chain in self._chains)
        if self.recorder is None or not seen or not may_go_on(self.plan, self.run, self.most):
            return None
        return longer(self.run, self.recorder.trace(self.run.burn_in), self.most, self._judge)

    def _go_on(self, run: Run) -> None:
        """Begin a longer run where the finished chains stand; what they counted is given up."""
        self.run, self._total, self._apart = run, None, None
        for chain in self._chains:
            chain.begun, chain.ended = chain.ended, None
            chain.go_on_from(chain.begun)
        if self.recorder is not None:
            self.recorder.expect(run.sweeps)
        self.watch.going_on(run)

    def extend(self, sweeps: int, every: int, callback: Callback | None) -> None:
        """So many sweeps more of every chain, as of a run of all of them. Where the callback ended it, chains may stand at unlike
        sweeps or have not begun. Arguments as of `step`.

        Raises ProblemError for a grid in windows whose last round was cut short.
        """
        _check_every(every)
        if self.plan.windows is not None and self.sweeps % self.plan.visit:
            raise ProblemError(f"the run has {self.sweeps} sweeps; a picture in windows goes on after whole rounds of "
                               f"{self.plan.visit}: run a multiple of them, or choose another visit")
        before = [(chain.start, chain.result) for chain in self._chains], [] if self.recorder is None else self.recorder.lengths
        self._extended, self._left = True, None
        try:
            for _ in self._in_turns(dataclasses.replace(self.run, sweeps=self.sweeps + sweeps), every, callback):
                pass
        except BaseException:  # as if it had not begun: a chain that has ended is done again, with the same bits
            for chain, (start, result) in zip(self._chains, before[0], strict=True):
                chain.go_on_from(start)
                chain.result = result
            if self.recorder is not None:
                self.recorder.shorten(before[1])
            raise

    def _in_turns(self, run: Run, every: int, callback: Callback | None) -> Iterator[int]:
        """All chains to the end of a run, or until the callback ends it. Gives, whenever each chain of a group has had its turn, by
        how many sweeps they have come on."""
        total = self._wanted = run.sweeps
        self.stopped = False
        pending = [chain for chain in self._chains if chain.result is None or chain.done < total]
        for chain in pending:
            chain.result = None
        side_by_side = (callback is not None and self.keeping.path is None and self.plan.windows is None
                        and self.plan.kind.shows_sweeps and len(self._chains) > 1)
        if side_by_side and self.recorder is not None:
            self.recorder.begin(len(self._chains) - 1)
        places = 1 if side_by_side or not pending else self._places(run)
        for group in [pending] if side_by_side else [pending[at:at + places] for at in range(0, len(pending), places)]:
            for number, chain in enumerate(group):
                chain.place = 0 if side_by_side else number
            while not self.stopped and any(chain.done < total for chain in group):
                before = [chain.done for chain in group]
                for chains in [[chain] for chain in group] if side_by_side else [group]:
                    left = [chain for chain in chains if chain.done < total]
                    if left and not self.stopped:
                        yield from self._pieces(left, run, every, callback, side_by_side)
                yield max(chain.done - one for chain, one in zip(group, before, strict=True))
            for chain in group:
                self._end(chain, run)
            if self.stopped:
                break
        self.sweeps = total
        for chain in pending:
            if chain.result is None and chain.start is not None and chain.done:
                self._cut(chain)

    def _places(self, run: Run) -> int:
        """How many chains the machine holds at once."""
        several = self.plan.kind.software or (self.plan.config is not None and self.plan.config.seats > 1)
        return len(self._opened(run).places) if several else 1

    def _pieces(self, chains: list[_Chain], run: Run, every: int, callback: Callback | None, side_by_side: bool) -> Iterator[int]:
        """Chains on to their next pauses, each at a place of its own; these are kept or looked at. Gives 0 where others that are
        sampled with them may go on."""
        for chain in chains:
            if chain.active is None:
                self._prepare(chain, run, every, callback)
            chain.stops.target = None if self._left is None else chain.done + self._left
        for _ in together([chain.active.steps() for chain in chains if chain.active is not None]):
            yield 0
        for chain in chains:
            assert chain.active is not None
            chain.done = chain.active.sweeps
        kept = self.keeping.pauses if self.keeping.path is not None else None
        if kept is not None and any(kept.now(chain.done) and not chain.active.finished for chain in chains if chain.active):
            self._save()
            kept.restart(max(chain.done for chain in chains))
        for chain in chains:
            assert chain.active is not None
            if callback is not None and not self.stopped and (chain.active.finished or chain.stops.looked.now(chain.done)):
                chain.stops.looked.restart(chain.done)
                self.stopped = _asked(callback(self._look(chain, run.sweeps, side_by_side)))

    def _prepare(self, chain: _Chain, run: Run, every: int, callback: Callback | None) -> None:
        """A run of the chain, from where it stands."""
        if self.recorder is not None:
            self.recorder.begin(chain.number)
        chain.stops = _Stops(every if callback is not None else None,
                             self.keeping.pauses if self.keeping.path is not None else None)
        chain.stops.restart(chain.done)
        pausing = callback is not None or chain.stops.kept is not None or self._left is not None
        chain.active = self.plan.prepare(
            self._opened(run).places[chain.place], run.of_chain(chain.number), state=chain.start,
            pauses=chain.stops if pausing else None, progress=partial(self._told, chain, run.sweeps),
            observe=None if self.recorder is None else partial(self.recorder.look, chain=chain.number))

    def _told(self, chain: _Chain, total: int, done: int) -> None:
        others = sum(one.done for one in self._chains if one is not chain)
        self.watch.sweeps(others + done, total * len(self._chains))

    def _end(self, chain: _Chain, run: Run) -> None:
        """Take what a chain gives that is at its end, or where it was ended."""
        active, chain.active = chain.active, None
        if active is None:
            return
        if not active.finished:
            chain.start = active.state()
            return
        chain.start = active.state() if self._extended else None
        if may_go_on(self.plan, run, self.most):
            chain.ended = active.state(counted=False)
        chain.result = active.result()
        self._save()
        if self._add_up:
            self._add(chain.result)

    def _add(self, result: Result) -> None:
        """Count a chain's histogram into the total, and let it go. The total has no more bytes than it needs."""
        if result.counts is None:
            return
        if self._total is None:
            self._total = as_type(result.counts, np.min_scalar_type(len(self._chains) * self.run.after_burn_in))
        else:
            apart = histograms_apart(self._total, result.counts)
            self._apart = apart if self._apart is None else np.maximum(self._apart, apart)
            np.add(self._total, result.counts, out=self._total, casting="unsafe")
        result.counts = None

    def _look(self, chain: _Chain, total: int, side_by_side: bool) -> Look:
        assert chain.active is not None
        labels, recorder = np.array(chain.active.last), self.recorder
        assert recorder is not None
        lengths = recorder.lengths

        def energies() -> np.ndarray | None:
            return recorder.energies(self.run.burn_in, lengths) if side_by_side else None

        energy = (recorder.energy_after(chain.done, labels, chain.number) if self.plan.windows is None  # which stop within a sweep
                  else recorder.energy(labels))
        return Look(chain.number, chain.done, total, labels, energy, energies)

    def _opened(self, run: Run) -> Backend:
        if self._backend is None:
            beside = None if self._beside is None else self._beside.beside()
            self._backend = beside or self.plan.open(run.sweeps * len(self._chains))
        return self._backend

    def _cut(self, chain: _Chain) -> None:
        """The result of a chain that was ended: that of a run of so many sweeps."""
        assert chain.start is not None
        run = up_to(self.run, chain.start.sweeps).of_chain(chain.number)
        active = self.plan.prepare(self._opened(run), run, state=chain.start)
        active.advance()
        chain.result = active.result()

    @property
    def reached(self) -> int:
        """Sweeps that every chain with a result has done."""
        return min((chain.done for chain in self._chains if chain.result is not None), default=0)

    @property
    def done(self) -> Run:
        """The run that the chains have done, as far as all of them have come."""
        return up_to(self.run, self.reached)

    def solution(self) -> Solution:
        """What there is: of chains that were ended, up to where they stand."""
        return Solution(results=[chain.result for chain in self._chains if chain.result is not None],
                        trace=None if self.recorder is None else self.recorder.trace(self.run.burn_in), total=self._total,
                        total_apart=self._apart, asked=self._wanted if self.stopped else None, given_up=self._given_up,
                        longer=None if self.run == self.asked else self.run)


def sample(backend: str, config: Config | None, problem: Problem, run: Run, *, chains: int = 1, visit: int | None = None,
           traced: bool = True, keeping: Keeping | None = None, add_up: bool = False, most: int = 0, judge: Judge = more_helps,
           watch: Watch | None = None) -> Solution:
    """Run `chains` chains of `problem` by a backend; see `Chains`.

    visit: sweeps of a window at a time where the image is larger than the machine; None for `visit_of`.
    """
    visit = visit_of(config, run, chains, most) if visit is None else visit
    with Chains(Plan.of(backend, config, problem, visit), run, chains, most=most, traced=traced, add_up=add_up, judge=judge,
                watch=watch, keeping=keeping) as running:
        running.finish()
        return running.solution()
