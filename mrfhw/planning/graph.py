"""Stages with their times on each kind of resource, and what it takes to hand on what passes between them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property

from mrfhw.system.errors import ProblemError

__all__ = ["Crossing", "Edge", "Graph", "Resources", "Stage"]


@dataclass(frozen=True)
class Stage:
    """A stage of a pipeline.

    times: of one firing by kind of resource, in seconds or any other unit that the whole graph has; kinds that it lacks cannot run
        the stage.
    stateful: each firing needs the one before to have ended, so that all of them run on one unit.
    """

    name: str
    times: Mapping[str, float]
    stateful: bool = False


@dataclass(frozen=True)
class Crossing:
    """What an edge takes where its ends are on certain kinds, of all that passes in one iteration.

    carried: time of each link that carries it.
    converting: time of a unit of kind `paid_by`, to bring what passes into another form.
    """

    carried: Mapping[str, float] = field(default_factory=dict)
    converting: float = 0.0
    paid_by: str = ""


@dataclass(frozen=True)
class Edge:
    """From a stage to one that needs what it gives.

    crossings: by the kinds of its source and its target; kinds that are not named take nothing.
    push, pop: elements that a firing of the source gives, and one of the target takes. tokens: elements that are there before.
    """

    source: str
    target: str
    crossings: Mapping[tuple[str, str], Crossing] = field(default_factory=dict)
    push: int = 1
    pop: int = 1
    tokens: int = 0


@dataclass(frozen=True)
class Resources:
    """What there is. kinds: how many units of each kind, such as processors. links: how many of each link."""

    kinds: Mapping[str, int]
    links: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for name, count in (*self.kinds.items(), *self.links.items()):
            if count < 1:
                raise ProblemError(f"{name} is there {count} times; a plan takes what is there once at least: leave it out")


@dataclass(frozen=True)
class Graph:
    """Stages and the edges between them. Raises ProblemError for a graph that cannot run.

    Edges without tokens make no cycle; the others go back to the iteration before.
    """

    stages: tuple[Stage, ...]
    edges: tuple[Edge, ...] = ()

    def __post_init__(self) -> None:
        names = [stage.name for stage in self.stages]
        for name in names:
            if names.count(name) > 1:
                raise ProblemError(f"two stages are called {name}: give each a name of its own")
        for stage in self.stages:
            if not stage.times:
                raise ProblemError(f"stage {stage.name} has no times; something must run it: give its time on a kind of resource")
            for kind, seconds in stage.times.items():
                if not (math.isfinite(seconds) and seconds >= 0):
                    raise ProblemError(f"stage {stage.name} takes {seconds} on {kind}; a time is a finite number of at least 0: "
                                       "give one")
        for edge in self.edges:
            for end in (edge.source, edge.target):
                if end not in names:
                    raise ProblemError(f"an edge goes from {edge.source} to {edge.target}, and there is no stage {end}: give its "
                                       "ends the names of stages")
            if min(edge.push, edge.pop) < 1 or edge.tokens < 0:
                raise ProblemError(f"the edge from {edge.source} to {edge.target} has push {edge.push}, pop {edge.pop} and tokens "
                                   f"{edge.tokens}; rates are at least 1, tokens at least 0: give such numbers")
        assert self.order is not None
        assert self.firings is not None

    @cached_property
    def by_name(self) -> dict[str, Stage]:
        return {stage.name: stage for stage in self.stages}

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The stages' names, each behind those that it needs of its own iteration."""
        left = {stage.name: {edge.source for edge in self.edges if edge.target == stage.name and not edge.tokens}
                for stage in self.stages}
        found: list[str] = []
        while left:
            ready = [name for name, needs in left.items() if needs.isdisjoint(left)]
            if not ready:
                raise ProblemError(f"stages {', '.join(left)} wait for each other: give an edge of a cycle tokens")
            found += ready
            for name in ready:
                del left[name]
        return tuple(found)

    @cached_property
    def firings(self) -> dict[str, int]:
        """How often each stage fires in one iteration, the least whole numbers by which as much is taken as given."""
        rates: dict[str, Fraction] = {}
        for stage in self.stages:
            if stage.name in rates:
                continue
            rates[stage.name], open_, part = Fraction(1), [stage.name], [stage.name]
            while open_:
                name = open_.pop()
                for edge in self.edges:
                    for here, there, factor in ((edge.source, edge.target, Fraction(edge.push, edge.pop)),
                                                (edge.target, edge.source, Fraction(edge.pop, edge.push))):
                        if here == name and there not in rates:
                            rates[there] = rates[name] * factor
                            open_.append(there)
                            part.append(there)
            scale = Fraction(math.lcm(*(rates[name].denominator for name in part)))
            common = math.gcd(*(int(rates[name] * scale) for name in part))
            for name in part:
                rates[name] *= scale / common
        for edge in self.edges:
            if rates[edge.source] * edge.push != rates[edge.target] * edge.pop:
                raise ProblemError(f"on the edge from {edge.source} to {edge.target} no numbers of firings give as much as is "
                                   "taken: give other rates")
        return {name: int(rate) for name, rate in rates.items()}

    def check(self, resources: Resources) -> None:
        """Raise ProblemError where a stage has no kind of these, or a crossing no link or payer."""
        for stage in self.stages:
            if not set(stage.times) & set(resources.kinds):
                raise ProblemError(f"stage {stage.name} runs on {', '.join(stage.times)}, and there is "
                                   f"{', '.join(resources.kinds)} alone: give a resource that runs it")
        for edge in self.edges:
            for (here, there), crossing in edge.crossings.items():
                if {here, there} <= set(resources.kinds):
                    for link in crossing.carried:
                        if link not in resources.links:
                            raise ProblemError(f"the edge from {edge.source} to {edge.target} takes the link {link!r}, which is "
                                               "not there: give it among the links")
                    if crossing.converting and crossing.paid_by not in resources.kinds:
                        raise ProblemError(f"the edge from {edge.source} to {edge.target} is converted by {crossing.paid_by!r}, "
                                           "which is not there: give one of the kinds")
