"""Policies that leave a machine as it is built: who of those that wait is loaded next, into which part of the chip."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mrfhw.field.given import whole_number
from mrfhw.sharing.jobs import Job, Visit
from mrfhw.sharing.policy import Chip, Policy, Start
from mrfhw.system.errors import ProblemError

__all__ = ["Clusters", "Contexts", "Sequential", "WeightedFair"]

MOST = 64  # clusters, and contexts
NAMES = {2: "halves", 4: "quarters"}


class Fixed(Policy):
    """Parts of fixed size, each of which takes the next visit of the first job that has one ready. A job with several chains may
    be in several parts."""

    def __init__(self, name: str, units: int = 1, contexts: int = 1):
        self.name = name
        self.units = whole_number("clusters", units, 1, MOST, "give one of them")
        self.contexts = whole_number("contexts", contexts, 1, MOST, "give one of them")

    def order(self, chip: Chip) -> Iterable[int]:
        """Open jobs, the one first that is first served."""
        return chip.open

    def choose(self, chip: Chip) -> Start | None:
        # A unit that holds fewer contexts than others is the sooner idle.
        held = [sum((unit, context) in chip.taken for context in range(self.contexts)) for unit in range(self.units)]
        unit = min(range(self.units), key=held.__getitem__)
        if held[unit] == self.contexts:
            return None
        context = next(context for context in range(self.contexts) if (unit, context) not in chip.taken)
        for job in self.order(chip):
            for chain in chip.ready(job, self.part()):
                return Start(job, chain, (unit,), context)
        return None


class Sequential(Fixed):
    """One visit on the whole chip at a time, one job after the other: a machine as it is built today, and its driver."""

    def __init__(self) -> None:
        super().__init__("sequential")


class Contexts(Fixed):
    """Two visits hold a half of each tile's memories each and take turns: one is loaded or read while the other runs.

    Needs memories of two contexts, with an address bit that says which one runs, and a bus that reaches the other one meanwhile;
    the units, and so every bit of a run, stay those of the mesh. Jobs come in the order of their arrival.
    """

    def __init__(self, contexts: int = 2):
        super().__init__("contexts", contexts=contexts)


class Clusters(Fixed):
    """The chip as so many machines, each with an equal part of the mesh, behind one bus.

    Needs a scheduler for each cluster, and no links between them. Bits are those of the smaller mesh: the same for every run on a
    cluster, others than those of the whole chip. `contexts` of each tile's memories may take turns in each cluster.
    """

    def __init__(self, clusters: int, contexts: int = 1):
        name = NAMES.get(clusters, f"{clusters} clusters")
        super().__init__(name if contexts == 1 else f"{name}, contexts", clusters, contexts)


class WeightedFair(Fixed):
    """Owners with visits ready share the chip by their weights: the one is next that has had the least for its weight.

    It works on the same machines as `Sequential`, `Contexts` and `Clusters`, by their units and contexts: a job is preempted only
    between visits, where its state is read anyway, so that its bits stay. What an owner has had are all cycles of its visits,
    loading and reading included, counted where a visit begins. An owner that comes, or comes back, begins where the least of those
    present stands: it can save up nothing. An owner's jobs come in the order of their arrival, and have one weight.
    """

    def __init__(self, clusters: int = 1, contexts: int = 2):
        super().__init__("weighted fair", clusters, contexts)
        self._had: dict[str, float] = {}
        self._stands = 0.0  # the least at which one that is alone has been served

    def check(self, jobs: Sequence[Job]) -> None:
        super().check(jobs)
        weights: dict[str, float] = {}
        for job in jobs:
            if weights.setdefault(job.owner, job.weight) != job.weight:
                raise ProblemError(f"weight is {job.weight:g} for job {job.name!r} of owner {job.owner!r}; the owner has "
                                   f"{weights[job.owner]:g} for another: give all jobs of an owner one weight")

    def begin(self, chip: Chip) -> None:
        self._had, self._stands = {}, 0.0

    def arrived(self, chip: Chip, job: int) -> None:
        owner = chip.jobs[job].owner
        others = {chip.jobs[one].owner for one in chip.open if one != job}
        if owner not in others:
            self._had[owner] = max(self._had.get(owner, 0.0), min((self._had[one] for one in others), default=self._stands))

    def order(self, chip: Chip) -> Iterable[int]:
        return sorted(chip.open, key=lambda job: self._had[chip.jobs[job].owner])  # stable: the order of arrival within an owner

    def started(self, chip: Chip, start: Start, visit: Visit) -> None:
        job = chip.jobs[start.job]
        self._stands = max(self._stands, self._had[job.owner])
        self._had[job.owner] += visit.cycles / job.weight
