"""How often a graph can begin on like processors, and the elements that its edges then have to hold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mrfhw.planning.graph import Edge, Graph
from mrfhw.planning.program import TIME_LIMIT, Rows
from mrfhw.system.errors import ProblemError

__all__ = ["Schedule", "abreast", "recurrence_bound", "resource_bound", "schedule", "unrolling"]


def _time(graph: Graph, name: str) -> float:
    times = set(graph.by_name[name].times.values())
    if len(times) > 1:
        raise ProblemError(f"stage {name} has several times; processors are all alike here: give one")
    return float(times.pop())


def resource_bound(graph: Graph, processors: int) -> float:
    """Time from one iteration to the next that so many processors need for the work of all firings."""
    return sum(graph.firings[stage.name] * _time(graph, stage.name) for stage in graph.stages) / processors


def recurrence_bound(graph: Graph) -> float:
    """The same that the cycles need, however many processors there are: of each its stages' times by the iterations that its tokens
    reach. 0 without cycles. Of graphs whose stages fire once in an iteration."""
    if set(graph.firings.values()) - {1}:
        raise ProblemError("stages fire more than once in an iteration; the bound of cycles is that of single firings: give such a "
                           "graph")
    rows = Rows()
    rows.variable("interval")
    for stage in graph.stages:
        rows.variable(stage.name)
    for edge in graph.edges:
        terms: dict[Any, float] = {"interval": edge.tokens // edge.pop}
        if edge.source != edge.target:
            terms |= {edge.target: 1, edge.source: -1}
        rows.row(terms, low=_time(graph, edge.source))
    found, _ = rows.least({"interval": 1}, TIME_LIMIT)
    if found is None:
        raise ProblemError("a cycle has fewer tokens than one firing takes: give its edges more")
    return found["interval"]


def unrolling(graph: Graph, bound: float) -> int:
    """Iterations that are done together where none of a stage's firings may go on into the next interval: the fewest for which
    no firing is longer than `bound` for each of them."""
    return max(1, math.ceil(max(_time(graph, stage.name) for stage in graph.stages) / bound - 1e-9))


def abreast(graph: Graph, copies: int) -> dict[tuple[str, str], int]:
    """Elements on each edge where every stage fires for so many iterations at a time, one stage after the other."""
    return {(edge.source, edge.target): max(edge.tokens, copies * graph.firings[edge.source] * edge.push) for edge in graph.edges}


@dataclass(frozen=True)
class Schedule:
    """A pipeline on like processors, all of which wait for each other at the end of an interval.

    interval: of `repeat` iterations. places: the processor of each instance, by stage and number. steps: in which interval, from 0,
    a stage works on what began in interval 0. held: elements on each edge, by source and target.
    """

    interval: float
    repeat: int
    places: Mapping[tuple[str, int], int]
    steps: Mapping[str, int]
    held: Mapping[tuple[str, str], int]

    @property
    def elements(self) -> int:
        """On all edges."""
        return sum(self.held.values())


def _needs(edge: Edge, number: int, sources: int) -> list[tuple[int, int]]:
    """(instance of the source, iterations before) of what an instance of the target takes."""
    first, last = number * edge.pop - edge.tokens, (number + 1) * edge.pop - 1 - edge.tokens
    firings = range(first // edge.push, last // edge.push + 1)
    return [(firing % sources, -(firing // sources)) for firing in firings]


def schedule(graph: Graph, processors: int, repeat: int, interval: float, seconds: float = TIME_LIMIT) -> Schedule | None:
    """The schedule of an interval that holds the fewest elements; None where there is none, or none was found in time.

    repeat: iterations of the graph in an interval. What an instance gives is there in the same interval for the others of its
    processor, and in the next for all.
    """
    rows = Rows()
    counts = {name: repeat * number for name, number in graph.firings.items()}
    units = range(processors)
    for name, count in counts.items():
        rows.variable(("step", name), high=len(counts) + 1, whole=True)
        for number in range(count):
            for unit in units:
                rows.variable((name, number, unit), high=1, whole=True)
            rows.row({(name, number, unit): 1 for unit in units}, 1, 1)
    for unit in units:
        rows.row({(name, number, unit): _time(graph, name) for name, count in counts.items() for number in range(count)},
                 high=interval)
    first = graph.order[0]
    rows.row({(first, 0, 0): 1}, 1, 1)  # processors are alike
    cost: dict[Any, float] = {}
    for place, edge in enumerate(graph.edges):
        if edge.source == edge.target:
            continue
        apart = ("apart", place)
        rows.variable(apart, high=1)
        least = math.inf
        for number in range(counts[edge.target]):
            for source, before in _needs(edge, number, counts[edge.source]):
                least = min(least, before)
                for unit in units:
                    rows.row({apart: 1, (edge.source, source, unit): -1, (edge.target, number, unit): 1}, low=0)
        rows.row({("step", edge.target): 1, ("step", edge.source): -1, apart: -1}, low=-least)
        given = counts[edge.source] * edge.push
        for end, sign in ((edge.target, 1), (edge.source, -1)):
            cost["step", end] = cost.get(("step", end), 0.0) + sign * given
    # Where edges cancel out, steps are as early as they can be.
    for name in counts:
        cost["step", name] = cost.get(("step", name), 0.0) + 1e-3
    found, _ = rows.least(cost, seconds)
    if found is None:
        return None
    steps = {name: round(found["step", name]) for name in counts}
    held = {
        (edge.source, edge.target): edge.tokens + (1 + steps[edge.target] - steps[edge.source]) * counts[edge.source] * edge.push
        for edge in graph.edges}
    places = {(name, number): max(units, key=lambda unit: found[name, number, unit])
              for name, count in counts.items() for number in range(count)}
    return Schedule(interval, repeat, places, steps, held)
