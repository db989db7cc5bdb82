"""Assignments without a solver: clusters that are grown and fused, and four plain ones to compare with."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import cycle

from mrfhw.planning.graph import Crossing, Graph, Resources
from mrfhw.planning.loads import Loads
from mrfhw.planning.program import Assignment, assignment_of

__all__ = ["BASELINES", "COVERAGE", "all_on", "clusters", "earliest_finish", "round_robin"]

COVERAGE = 2.5  # clusters are grown until they have so many stages for each stage of the graph, counted as often as they come


def all_on(graph: Graph, resources: Resources, kind: str) -> Assignment:
    """Every stage that can be on a kind is there, the others on the first kind that they can have."""
    return assignment_of(graph, resources, _all_on(graph, resources, kind))


def _all_on(graph: Graph, resources: Resources, kind: str) -> dict[str, str]:
    return {stage.name: kind if kind in stage.times else next(one for one in resources.kinds if one in stage.times)
            for stage in graph.stages}


def round_robin(graph: Graph, resources: Resources) -> Assignment:
    """Stages in their order on one kind after the other, each on the next that it can have."""
    turns, where = cycle(resources.kinds), {}
    for name in graph.order:
        where[name] = next(kind for kind in turns if kind in graph.by_name[name].times)
    return assignment_of(graph, resources, where)


def earliest_finish(graph: Graph, resources: Resources) -> Assignment:
    """Stages in their order, each where one iteration alone would have it end first."""
    free = {kind: [0.0] * count for kind, count in resources.kinds.items()}
    links = {link: [0.0] * count for link, count in resources.links.items()}
    ended: dict[str, float] = {}
    where: dict[str, str] = {}
    for name in graph.order:
        found = []
        for kind in resources.kinds:
            if kind in graph.by_name[name].times:
                ready = 0.0
                for edge in graph.edges:
                    if edge.target == name and not edge.tokens:
                        crossing = edge.crossings.get((where[edge.source], kind), Crossing())
                        there = ended[edge.source]
                        for link, seconds in crossing.carried.items():
                            there = max(there, min(links[link])) + seconds
                        ready = max(ready, there + crossing.converting)
                begin = max(ready, min(free[kind]))
                found.append((begin + graph.firings[name] * graph.by_name[name].times[kind], kind))
        ended[name], where[name] = min(found, key=lambda one: one[0])
        units = free[where[name]]
        units[units.index(min(units))] = ended[name]
        for edge in graph.edges:
            if edge.target == name and not edge.tokens:
                crossing = edge.crossings.get((where[edge.source], where[name]), Crossing())
                there = ended[edge.source]
                for link, seconds in crossing.carried.items():
                    line = links[link]
                    there = max(there, min(line)) + seconds
                    line[line.index(min(line))] = there
    return assignment_of(graph, resources, where)


def clusters(graph: Graph, resources: Resources, home: str, away: str, coverage: float = COVERAGE) -> Assignment:
    """Stages that gain most at home are moved there, with neighbours that save crossings; all others that can be are away.

    Clusters are grown from each stage in the order of its gain, along the best predecessors and then the best successors while the
    interval falls, and then fused by twos while that makes it smaller.
    """
    if home not in resources.kinds or away not in resources.kinds:
        return all_on(graph, resources, home if home in resources.kinds else away)
    start = _all_on(graph, resources, away)
    movable = [stage.name for stage in graph.stages if start[stage.name] == away and home in stage.times]
    if not movable:
        return assignment_of(graph, resources, start)
    times = {name: graph.by_name[name].times for name in movable}
    gain = {name: of[away] / of[home] if of[home] else float("inf") for name, of in times.items()}
    order = sorted(movable, key=lambda name: -gain[name])
    grown: list[frozenset[str]] = []
    covered = 0
    for root in order:
        if covered >= coverage * len(graph.stages):
            break
        grown.append(_grown(graph, Loads(graph, resources, start), root, set(movable), home))
        covered += len(grown[-1])
    best = _fused(grown, order, lambda: Loads(graph, resources, start), home)
    return assignment_of(graph, resources, start | dict.fromkeys(best, home))


def _grown(graph: Graph, loads: Loads, root: str, movable: set[str], home: str) -> frozenset[str]:
    before: dict[str, list[str]] = {name: [] for name in graph.by_name}
    behind: dict[str, list[str]] = {name: [] for name in graph.by_name}
    for edge in graph.edges:
        before[edge.target].append(edge.source)
        behind[edge.source].append(edge.target)
    cluster = {root}
    loads.move(root, home)
    open_: list[tuple[str, dict[str, list[str]]]] = [(root, behind), (root, before)]
    while open_:
        name, neighbours = open_.pop()
        near = [other for other in neighbours[name] if other in movable - cluster]
        best = min(near, key=lambda other: loads.interval_with(other, home), default=None)
        if best is not None and loads.interval_with(best, home) < loads.interval:
            cluster.add(best)
            loads.move(best, home)
            open_ += [(best, behind), (best, before)]
    return frozenset(cluster)


def _fused(grown: Sequence[frozenset[str]], order: Sequence[str], start: Callable[[], Loads], home: str) -> frozenset[str]:
    """The best of the clusters, after they were fused by twos as long as that helps."""
    rank = {name: number for number, name in enumerate(order)}
    known: dict[frozenset[str], tuple[frozenset[str], float]] = {}

    def interval(cluster: frozenset[str]) -> float:
        loads = start()
        for name in cluster:
            loads.move(name, home)
        return loads.interval

    def fusion(both: frozenset[str]) -> tuple[frozenset[str], float]:
        """Of two clusters' stages in the order of their gain those that make the interval smaller."""
        if both not in known:
            loads, least, kept = start(), float("inf"), set()
            for name in sorted(both, key=lambda name: rank[name]):
                if (found := loads.interval_with(name, home)) < least:
                    loads.move(name, home)
                    kept.add(name)
                    least = found
            known[both] = frozenset(kept), least
        return known[both]

    found = {cluster: interval(cluster) for cluster in grown}
    again = True
    while again:
        again, in_order = False, sorted(found, key=lambda cluster: found[cluster])
        for number, one in enumerate(in_order):
            others = [(fusion(one | other), other) for other in in_order[number + 1:]]
            (fused, least), other = min(others, key=lambda pair: pair[0][1], default=((one, found[one]), one))
            if least < found[one]:
                del found[one], found[other]
                found[fused] = least
                again = True
                break
    return min(found, key=lambda cluster: found[cluster])


BASELINES: dict[str, Callable[[Graph, Resources, str, str], Assignment]] = {
    "all on {home}": lambda graph, resources, home, away: all_on(graph, resources, home),
    "all on {away}": lambda graph, resources, home, away: all_on(graph, resources, away),
    "round robin": lambda graph, resources, home, away: round_robin(graph, resources),
    "earliest finish": lambda graph, resources, home, away: earliest_finish(graph, resources),
}
