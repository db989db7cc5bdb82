"""The integer program: which kind of resource runs each stage, and which unit each of its instances."""

from __future__ import annotations

import itertools
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mrfhw.planning.graph import Graph, Resources
from mrfhw.planning.loads import Loads, stage_numbers, steps
from mrfhw.system.errors import ProblemError

__all__ = ["TIME_LIMIT", "Assignment", "Instances", "Rows", "assign", "assignment_of", "instances", "optimum"]

TIME_LIMIT = 10.0  # seconds of the solver, for each program
_CLOSE = 1e-6  # relative: intervals that are the same to the solver
GAP = 0.005  # relative, from a bound that no instances reach exactly


@dataclass(frozen=True)
class Assignment:
    """Where stages run, and what follows.

    where: the kind of each stage. bounds: of `Loads`. proven: whether no assignment has a smaller interval; None where nobody has
        asked. steps: of `stage_numbers`.
    """

    where: Mapping[str, str]
    bounds: Mapping[str, float]
    steps: Mapping[str, int]
    proven: bool | None = None

    @property
    def interval(self) -> float:
        return max(self.bounds.values())

    @property
    def decides(self) -> str:
        """The resource, or "stage NAME", whose bound is the interval."""
        return max(self.bounds, key=lambda name: self.bounds[name])

    @property
    def latency(self) -> float:
        """From an iteration's begin to its end, in steps of an interval each."""
        return (max(self.steps.values()) + 1) * self.interval


@dataclass(frozen=True)
class Instances:
    """How instances share the units of their kinds.

    repeat: iterations of the graph that are done together. interval: from one iteration to the next on average.
    placed: by kind, of each unit how many instances of each stage it runs in `repeat` iterations.
    """

    repeat: int
    interval: float
    placed: Mapping[str, tuple[Mapping[str, int], ...]]


class Rows:
    """Linear constraints and bounds of a program for `scipy.optimize.milp`, whose variables are named by anything hashable."""

    def __init__(self) -> None:
        self.names: dict[Any, int] = {}
        self._low: list[float] = []
        self._high: list[float] = []
        self._whole: list[int] = []
        self._entries: tuple[list[int], list[int], list[float]] = ([], [], [])
        self._limits: list[tuple[float, float]] = []

    def variable(self, name: Any, low: float = 0.0, high: float = np.inf, whole: bool = False) -> None:
        self.names[name] = len(self.names)
        self._low.append(low)
        self._high.append(high)
        self._whole.append(int(whole))

    def row(self, terms: Mapping[Any, float], low: float = -np.inf, high: float = np.inf) -> None:
        """low <= sum of factor x variable <= high."""
        rows, cols, values = self._entries
        for name, factor in terms.items():
            rows.append(len(self._limits))
            cols.append(self.names[name])
            values.append(factor)
        self._limits.append((low, high))

    def least(self, cost: Mapping[Any, float], seconds: float, gap: float = 0.0) -> tuple[dict[Any, float] | None, bool]:
        """Values of the variables of least cost, None where none were found in time, and whether they are proven the least.
        Raises ProblemError without SciPy."""
        try:
            from scipy.optimize import Bounds, LinearConstraint, milp
            from scipy.sparse import csr_array
        except ImportError:
            raise ProblemError('scipy is missing, which makes plans: pip install "mrfhw[apps]"') from None
        costs = np.zeros(len(self.names))
        for name, factor in cost.items():
            costs[self.names[name]] = factor
        rows, cols, values = self._entries
        matrix = csr_array((values, (rows, cols)), shape=(len(self._limits), len(self.names)))
        low, high = np.array(self._limits, float).reshape(-1, 2).T
        found = milp(costs, integrality=self._whole, bounds=Bounds(self._low, self._high),
                     constraints=LinearConstraint(matrix, low, high), options={"time_limit": seconds, "mip_rel_gap": gap})
        if found.x is None:
            return None, False
        return dict(zip(self.names, found.x.tolist(), strict=True)), found.status == 0


def _allowed(graph: Graph, resources: Resources) -> dict[str, list[str]]:
    return {stage.name: [kind for kind in resources.kinds if kind in stage.times] for stage in graph.stages}


def assignment_of(graph: Graph, resources: Resources, where: Mapping[str, str], proven: bool | None = None) -> Assignment:
    """The assignment of stages to these kinds."""
    return Assignment(dict(where), Loads(graph, resources, where).bounds, stage_numbers(graph, where), proven)


def _rows(graph: Graph, resources: Resources, allowed: Mapping[str, list[str]]) -> Rows:
    """The program of assignments: (stage, kind) is 1 where the stage is there, "interval" at least every bound."""
    rows, unit = Rows(), _unit(graph, allowed)
    rows.variable("interval")
    load: dict[str, dict[Any, float]] = {name: {} for name in (*resources.kinds, *resources.links)}
    for name, kinds in allowed.items():
        own = {}
        for kind in kinds:
            rows.variable((name, kind), high=1, whole=True)
            own[name, kind] = graph.firings[name] * graph.by_name[name].times[kind] / unit
            load[kind][name, kind] = own[name, kind]
        rows.row({(name, kind): 1 for kind in kinds}, 1, 1)
        if graph.by_name[name].stateful:
            rows.row({**own, "interval": -1}, high=0)
    for number, edge in enumerate(graph.edges):
        for (here, there), crossing in edge.crossings.items():
            if here not in allowed[edge.source] or there not in allowed[edge.target] or edge.source == edge.target:
                continue
            if crossing.carried or crossing.converting:
                crossed = (number, here, there)
                rows.variable(crossed)
                rows.row({(edge.source, here): 1, (edge.target, there): 1, crossed: -1}, high=1)
                for link, carried in crossing.carried.items():
                    load[link][crossed] = carried / unit
                if crossing.converting:
                    load[crossing.paid_by][crossed] = crossing.converting / unit
    for name, terms in load.items():
        if terms:
            rows.row({**terms, "interval": -{**resources.kinds, **resources.links}[name]}, high=0)
    return rows


def _unit(graph: Graph, allowed: Mapping[str, list[str]]) -> float:
    """The time that the program counts in, so that its numbers are near 1 whatever the graph's unit is."""
    longest = max((graph.by_name[name].times[kind] for name, kinds in allowed.items() for kind in kinds), default=0.0)
    return longest or 1.0


def assign(graph: Graph, resources: Resources, seconds: float = TIME_LIMIT,
           only: Mapping[str, Collection[str]] | None = None) -> Assignment:
    """The assignment of the least interval, and of those the one of the fewest steps.

    seconds: of the solver, for each of the two; what it has then is taken, and `proven` says whether it is the least.
    only: kinds that some stages are to have. Raises ProblemError where a stage has no kind, or no time was left to find anything.
    """
    graph.check(resources)
    allowed = _allowed(graph, resources)
    for name, kinds in (only or {}).items():
        allowed[name] = [kind for kind in allowed[name] if kind in kinds]
    rows = _rows(graph, resources, allowed)
    found, proven = rows.least({"interval": 1}, seconds)
    if found is None:
        raise ProblemError(f"no plan was found in {seconds:g} s: give the solver more time")
    best = assignment_of(graph, resources, _where(found, allowed), proven)
    # Of the assignments that are as good, the one of the fewest steps.
    unit = _unit(graph, allowed)
    rows.row({"interval": 1}, high=best.interval / unit * (1 + _CLOSE))
    rows.variable("last")
    for name in allowed:
        rows.variable(("step", name))
        rows.row({"last": 1, ("step", name): -1}, low=0)
    for edge in graph.edges:
        if not edge.tokens:
            for here, there in itertools.product(allowed[edge.source], allowed[edge.target]):
                more = steps(edge, here, there) - 1
                rows.row({("step", edge.target): 1, ("step", edge.source): -1, (edge.source, here): -more,
                          (edge.target, there): -more}, low=1 - more)
    found, _ = rows.least({"last": 1}, seconds)
    if found is None:
        return best
    other = assignment_of(graph, resources, _where(found, allowed), proven)
    shorter = max(other.steps.values()) < max(best.steps.values())
    return other if shorter and other.interval <= best.interval * (1 + 2 * _CLOSE) else best


def _where(found: Mapping[Any, float], allowed: Mapping[str, list[str]]) -> dict[str, str]:
    return {name: max(kinds, key=lambda kind: found[name, kind]) for name, kinds in allowed.items()}


def optimum(graph: Graph, resources: Resources) -> Assignment:
    """The same by trying every assignment, for graphs of few stages."""
    graph.check(resources)
    allowed = _allowed(graph, resources)
    every = (assignment_of(graph, resources, dict(zip(allowed, kinds, strict=True)), True)
             for kinds in itertools.product(*allowed.values()))
    return min(every, key=lambda one: (one.interval, max(one.steps.values())))


def instances(graph: Graph, resources: Resources, assignment: Assignment, seconds: float = TIME_LIMIT) -> Instances:
    """The instances of an assignment's stages shared among the units of each kind.

    Iterations are done together, as few as come within GAP of the assignment's bound; as many as there are units reach it, since
    each unit then does the whole of one. Stateful stages stay on one unit.
    """
    aim, most = assignment.interval, math.lcm(*resources.kinds.values())
    best: Instances | None = None
    for repeat in range(1, most + 1):
        placed, longest = {}, 0.0
        for kind, count in resources.kinds.items():
            shared, load = _shared(graph, resources, assignment, kind, count, repeat, seconds / 10 if repeat < most else seconds)
            placed[kind], longest = shared, max(longest, load)
        others = max((bound for name, bound in assignment.bounds.items() if name not in resources.kinds), default=0.0)
        found = Instances(repeat, max(longest / repeat, others), placed)
        if best is None or found.interval < best.interval * (1 - _CLOSE):
            best = found
        if best.interval <= aim * (1 + GAP):
            break
    assert best is not None
    return best


def _shared(graph: Graph, resources: Resources, assignment: Assignment, kind: str, count: int, repeat: int,
            seconds: float) -> tuple[tuple[dict[str, int], ...], float]:
    """How many instances of each stage each unit of a kind runs, and the longest unit's work."""
    own = [stage for stage in graph.stages if assignment.where[stage.name] == kind]
    # Conversions can be cut: each unit has an equal share.
    converting = repeat * sum(
        crossing.converting for edge in graph.edges if (crossing := edge.crossings.get(
            (assignment.where[edge.source], assignment.where[edge.target]))) and crossing.paid_by == kind) / count
    if not own:
        return tuple({} for _ in range(count)), converting
    unit = max(stage.times[kind] for stage in own) or 1.0
    rows = Rows()
    rows.variable("longest")
    for place in range(count):
        for stage in own:
            rows.variable((stage.name, place), high=repeat * graph.firings[stage.name], whole=True)
        rows.row({"longest": 1, **{(stage.name, place): -stage.times[kind] / unit for stage in own}}, low=0)
    for stage in own:
        wanted = repeat * graph.firings[stage.name]
        rows.row({(stage.name, place): 1 for place in range(count)}, wanted, wanted)
        if stage.stateful:
            for place in range(count):
                rows.variable(("all", stage.name, place), high=1, whole=True)
                rows.row({(stage.name, place): 1, ("all", stage.name, place): -wanted}, 0, 0)
    found, _ = rows.least({"longest": 1}, seconds, GAP / 4)
    shared: tuple[dict[str, int], ...]
    if found is None:  # no time: one after the other, to the unit that has least
        shared = tuple({} for _ in range(count))
        work = [0.0] * count
        for stage in sorted(own, key=lambda stage: -stage.times[kind]):
            left, together = repeat * graph.firings[stage.name], 1
            together = left if stage.stateful else together
            for _ in range(left // together):
                place = work.index(min(work))
                shared[place][stage.name] = shared[place].get(stage.name, 0) + together
                work[place] += together * stage.times[kind]
    else:
        shared = tuple({stage.name: number for stage in own if (number := round(found[stage.name, place]))}
                       for place in range(count))
    longest = max(sum(number * graph.by_name[name].times[kind] for name, number in one.items()) for one in shared)
    return shared, longest + converting
