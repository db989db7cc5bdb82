"""Several independent chains of a problem by one backend."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from mrfhw.analysis.convergence import apart, least_looks
from mrfhw.analysis.solution import Solution
from mrfhw.analysis.trace import Trace
from mrfhw.backends import plan as backends
from mrfhw.backends.session import Progress, Session
from mrfhw.field.problem import Problem, ProblemError, Run
from mrfhw.field.result import Result
from mrfhw.field.state import RunState
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.runs.checkpoint import Checkpoint, Keeping, Looks
from mrfhw.runs.longer import Judge, longer, may_go_on
from mrfhw.samplers.field_energy import FieldEnergy
from mrfhw.system.files import check_writable
from mrfhw.system.large_arrays import as_type
from mrfhw.system.threads import threads_of

__all__ = ["TRACED_SITES", "Recorder", "sample", "visit_of"]

TRACED_SITES = 256  # sites whose labels are kept at every look
GoingOn = Callable[[Run], object]
MOST_LOOKS = 1 << 15  # at a chain, of half a kilobyte each; of longer runs not every sweep is looked at


class Recorder:
    """Records the energy and the labels of some sites of every chain, at each look.

    sweeps: of a chain; of more than MOST_LOOKS not each is looked at.
    """

    def __init__(self, problem: Problem, seed: int, sweeps: int = 1):
        self.expect(sweeps)
        drawn = np.arange(problem.sites) if problem.clamped is None else np.flatnonzero(~problem.clamped)
        rng = np.random.Generator(np.random.PCG64([seed, 3]))
        chosen = rng.choice(drawn, min(TRACED_SITES, len(drawn)), replace=False)
        self.sites = np.stack(np.divmod(np.sort(chosen), problem.shape[1]), 1)
        self._energy = FieldEnergy(problem)
        self.looks: list[Looks] = []

    def expect(self, sweeps: int) -> None:
        """Look so seldom from now on that a chain of so many sweeps has MOST_LOOKS."""
        self._every = -(-sweeps // MOST_LOOKS)

    def begin(self) -> None:
        """Another chain."""
        self.looks.append([])

    def energy(self, labels: np.ndarray) -> float:
        """The field's energy of labels (H, W)."""
        return float(self._energy(labels))

    def energy_after(self, sweeps: int, labels: np.ndarray, chain: int) -> float:
        """Of a chain's labels after so many sweeps: the last look's, where that is it."""
        seen = self.looks[chain][-1:]
        return seen[0][1] if seen and seen[0][0] == sweeps else self.energy(labels)

    def look(self, sweeps: int, labels: np.ndarray, energy: int | None = None, chain: int = -1) -> None:
        """Of a chain, by default the one that was begun last. energy: that of the labels, where it is known."""
        seen = self.looks[chain]
        if seen and sweeps < seen[-1][0] + self._every:
            return
        found = self.energy(labels) if energy is None else float(energy)
        seen.append((sweeps, found, labels[self.sites[:, 0], self.sites[:, 1]]))

    def shorten(self, lengths: list[int]) -> None:
        """Forget all but the first looks of each chain."""
        for chain, length in zip(self.looks, lengths, strict=True):
            del chain[length:]

    def energies(self, burn_in: int, lengths: list[int]) -> np.ndarray:
        """(chains, n) float64: after the burn-in, of the first `lengths` looks of each chain, as far as all of them have come."""
        least = min(lengths)
        return np.array([[energy for sweeps, energy, _ in chain[:least] if sweeps > burn_in] for chain in self.looks])

    def trace(self, burn_in: int) -> Trace | None:
        """Of all chains that were looked at, as far as all of them have come; None where there was no look."""
        seen = [chain for chain in self.looks if chain]
        if not seen:
            return None
        looks = [chain[:min(map(len, seen))] for chain in seen]
        return Trace(
            sweeps=np.array([sweeps for sweeps, _, _ in looks[0]], np.int64), burn_in=burn_in,
            energy=np.array([[energy for _, energy, _ in chain] for chain in looks]), sites=self.sites,
            labels=np.array([[labels for _, _, labels in chain] for chain in looks], np.uint8))


def _identity(plan: backends.Plan, run: Run, chains: int, traced: bool, most: int) -> dict[str, Any]:
    """The identity of a checkpoint: everything that must be equal to continue from it."""
    return {"problem": plan.problem.digest, "run": run.digest, "machine": Derived.of(plan.config).digest,
            "backend": plan.kind.identity(plan.backend), "chains": chains, "traced": traced,
            "most_sweeps": most if most > run.sweeps else None, "visit": None if plan.windows is None else plan.visit}


class _Chains:
    """Chains of a problem, one after the other, saved to checkpoints if wanted.

    Where they do not agree at the end of their run, and `most` sweeps are more, all of them go on with a longer one.
    """

    def __init__(self, plan: backends.Plan, run: Run, chains: int, recorder: Recorder | None, progress: Progress | None,
                 keeping: Keeping, add_up: bool, most: int, going_on: GoingOn | None, judge: Judge):
        self.add_up = add_up and keeping.path is None and keeping.resume is None
        self.total: np.ndarray | None = None
        self.plan, self.run, self.chains, self.recorder = plan, run, chains, recorder
        self.progress, self.keeping, self.most, self.going_on, self.judge = progress, keeping, most, going_on, judge
        self.identity = _identity(plan, run, chains, recorder is not None, most)
        self.results: list[Result] = []
        self._state: RunState | None = None
        self._begun: list[RunState] = []  # of each chain where its run goes on from an earlier one
        self._ended: list[RunState] = []  # of each finished chain, without what it counted
        if keeping.path is not None:
            check_writable(keeping.path.parent)
        if keeping.resume is not None:
            found = Checkpoint.load(keeping.resume)
            found.check(keeping.resume, self.identity)
            self.results, self._state = found.results, found.state
            self._begun, self._ended = found.begun, found.ended
            if found.length is not None:
                sweeps, burn_in = found.length
                self.run = dataclasses.replace(run, sweeps=sweeps, burn_in=burn_in)
                if self.run != run:
                    self._expect()
            if recorder is not None:
                recorder.looks = found.looks

    def _expect(self) -> None:
        """The run has become a longer one."""
        if self.recorder is not None:
            self.recorder.expect(self.run.sweeps)
        if self.going_on is not None:
            self.going_on(self.run)

    def _keep(self, state: RunState | None) -> None:
        if self.keeping.path is not None:
            looks = [] if self.recorder is None else self.recorder.looks
            Checkpoint(identity=self.identity, results=self.results, looks=looks, state=state, begun=self._begun, ended=self._ended,
                       length=(self.run.sweeps, self.run.burn_in)).save(self.keeping.path)

    def all(self) -> list[Result]:
        further = self._longer()
        if further is None and len(self.results) == self.chains:
            return self.results
        with self.plan.open(self.chains * self.run.sweeps) as session:
            while True:
                if further is not None:
                    self._go_on(further)
                self._finish(session)
                further = self._longer()
                if further is None:
                    return self.results

    def _finish(self, session: Session) -> None:
        """All chains, to the end of the run."""
        while len(self.results) < self.chains:
            self.results.append(self._one(session, len(self.results)))
            self._keep(None)
            if self.add_up:
                self._add()

    def _longer(self) -> Run | None:
        """What the finished chains go on with, where they do not agree."""
        if len(self._ended) < self.chains or self.recorder is None:
            return None
        return longer(self.run, self.recorder.trace(self.run.burn_in), self.most, self.judge)

    def _go_on(self, run: Run) -> None:
        """Begin a longer run where the finished chains stand; what they counted is given up."""
        self.run, self._begun, self._ended, self.results, self.total = run, self._ended, [], [], None
        self._expect()

    def _add(self) -> None:
        """Count the last chain's histogram into the total, and let it go. The total has no more bytes than it needs."""
        last = self.results[-1]
        if last.counts is None:
            return
        if self.total is None:
            self.total = as_type(last.counts, np.min_scalar_type(self.chains * self.run.after_burn_in))
        else:
            np.add(self.total, last.counts, out=self.total, casting="unsafe")
        last.counts = None

    def _one(self, session: Session, chain: int) -> Result:
        begun = self._begun[chain] if self._begun else None
        first = 0 if begun is None else begun.sweeps

        def advance(done: int) -> None:
            if self.progress is not None:
                self.progress(self.chains * first + chain * (self.run.sweeps - first) + done - first)

        recorder, pauses, state = self.recorder, self.keeping.pauses, self._state or begun
        self._state = None
        if recorder is not None and len(recorder.looks) == chain:
            recorder.begin()
        if pauses is not None:
            pauses.restart(0 if state is None else state.sweeps)
        active = self.plan.begin(session, self.run.of_chain(chain), state=state, progress=advance, pauses=pauses,
                                 observe=None if recorder is None else partial(recorder.look, chain=chain))
        while not active.finished:
            self._keep(active.state())
            assert pauses is not None
            pauses.restart(active.sweeps)
            active.advance()
        if may_go_on(self.plan, self.run, self.most):
            self._ended.append(active.state(counted=False))
        return active.result()


def visit_of(config: Config, run: Run, chains: int, most: int = 0) -> int:
    """Sweeps of a window at a time by default: few enough for the convergence of the chains to be seen, and of a run that may go on
    a part of its sweeps, where one is more than half as many. most: as of `sample`."""
    # One look more, as the burn-in may end within a round.
    visit = max(1, min(backends.VISIT, config.temperature_table, run.after_burn_in // (least_looks(chains) + 1)))
    parts = [] if most <= run.sweeps else [number for number in range(visit // 2 + 1, visit + 1) if run.sweeps % number == 0]
    return max(parts, default=visit)


def sample(backend: str, config: Config, problem: Problem, run: Run, *, chains: int = 1, visit: int | None = None,
           traced: bool = True, progress: Progress | None = None, keeping: Keeping | None = None, add_up: bool = False,
           most: int = 0, going_on: GoingOn | None = None, judge: Judge = apart) -> Solution:
    """Run `chains` chains of `problem`, as of `Run.of_chain`.

    most: where the energies of the chains do not agree after the run's sweeps, they go on to twice as many, and so on up to `most`,
    each time with all sweeps before as burn-in (`Solution.longer`); labels and histogram are those of such a run from the start.
    Backends that show no sweeps cannot tell. going_on: called with each longer run. judge: who says whether chains do not agree.

    visit: sweeps of a window at a time where the image is larger than the machine; None for what `backends.solve` takes,
    or fewer where the convergence of the chains needs more looks at them. traced: keep a Trace, where the
    backend shows its labels. progress: called with the number of finished sweeps, those of all chains added.
    keeping: the checkpoint files to write and to continue from. add_up: keep no chain's own histogram, but their sum, where there
    are no checkpoints.
    Raises ProblemError for what the backend cannot run, and for a checkpoint of something else.
    """
    if chains < 1:
        raise ProblemError(f"chains is {chains}; a run has at least 1: give more")
    threads_of(None)  # what is wrong with it is said before the run, not by what is made of its answer
    visit = visit_of(config, run, chains, most) if visit is None else visit
    plan = backends.Plan.of(backend, config, problem, visit)
    recorder = Recorder(problem, run.seed, run.sweeps) if traced else None
    running = _Chains(plan, run, chains, recorder, progress, keeping or Keeping(), add_up, most, going_on, judge)
    results = running.all()
    return Solution(results=results, trace=None if recorder is None else recorder.trace(running.run.burn_in), total=running.total,
                    longer=None if running.run == run else running.run)
