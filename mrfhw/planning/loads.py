"""How long each resource works in an iteration, of one assignment of stages to kinds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Self

from mrfhw.planning.graph import Crossing, Edge, Graph, Resources

__all__ = ["Loads", "stage_numbers", "steps"]

_NOTHING = Crossing()


class Loads:
    """The load of each resource under an assignment, kept up as stages are moved.

    where: the kind of each stage, by name. bounds, interval: see there.
    """

    def __init__(self, graph: Graph, resources: Resources, where: Mapping[str, str]):
        self.graph, self.where = graph, dict(where)
        self._counts = {**resources.links, **resources.kinds}
        self._busy = dict.fromkeys(self._counts, 0.0)
        self._touching: dict[str, list[Edge]] = {stage.name: [] for stage in graph.stages}
        for edge in graph.edges:
            for name in {edge.source, edge.target}:
                self._touching[name].append(edge)
        for stage in graph.stages:
            self._add_stage(stage.name, 1)
        for edge in graph.edges:
            self._add_edge(edge, 1)

    def _add_stage(self, name: str, sign: int) -> None:
        kind = self.where[name]
        self._busy[kind] += sign * self.graph.firings[name] * self.graph.by_name[name].times[kind]

    def _add_edge(self, edge: Edge, sign: int) -> None:
        crossing = edge.crossings.get((self.where[edge.source], self.where[edge.target]), _NOTHING)
        for link, seconds in crossing.carried.items():
            self._busy[link] += sign * seconds
        if crossing.converting:
            self._busy[crossing.paid_by] += sign * crossing.converting

    def move(self, name: str, kind: str) -> Self:
        """Have a stage on another kind."""
        for edge in self._touching[name]:
            self._add_edge(edge, -1)
        self._add_stage(name, -1)
        self.where[name] = kind
        self._add_stage(name, 1)
        for edge in self._touching[name]:
            self._add_edge(edge, 1)
        return self

    def interval_with(self, name: str, kind: str) -> float:
        """The interval if a stage were on another kind."""
        before = self.where[name]
        found = self.move(name, kind).interval
        self.move(name, before)
        return found

    @property
    def bounds(self) -> dict[str, float]:
        """Time from one iteration to the next that each resource needs at least, its work shared evenly among its units; and each
        stateful stage, by "stage NAME"."""
        found = {name: max(busy, 0.0) / self._counts[name] for name, busy in self._busy.items()}
        for stage in self.graph.stages:
            if stage.stateful:
                found[f"stage {stage.name}"] = self.graph.firings[stage.name] * stage.times[self.where[stage.name]]
        return found

    @property
    def interval(self) -> float:
        """The largest of the bounds."""
        return max(self.bounds.values())


def stage_numbers(graph: Graph, where: Mapping[str, str]) -> dict[str, int]:
    """In which step of the pipeline each stage works on an iteration, from 0.

    What another stage gives is there a step later; one more where it is carried to another kind, and one more where it is
    converted.
    """
    found: dict[str, int] = {}
    for name in graph.order:
        found[name] = max((found[edge.source] + steps(edge, where[edge.source], where[name])
                           for edge in graph.edges if edge.target == name and not edge.tokens), default=0)
    return found


def steps(edge: Edge, here: str, there: str) -> int:
    """From the step of an edge's source to that of its target, at least."""
    return 1 + (here != there) + (edge.crossings.get((here, there), _NOTHING).converting > 0)
