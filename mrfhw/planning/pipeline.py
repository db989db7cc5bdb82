"""A request's stages as a graph, the plan that it has, and why a board has none of them.

A picture that is sampled on a board is so wholly: what comes first and its field are sampled by one machine, whose bits both have.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

from mrfhw.planning.graph import Crossing, Edge, Graph, Resources, Stage
from mrfhw.planning.heuristics import BASELINES, clusters
from mrfhw.planning.predicted import OnBoard
from mrfhw.planning.profile import STAGES, Profile
from mrfhw.planning.program import TIME_LIMIT, Assignment, Instances, assign, assignment_of, instances

__all__ = ["PROCESSOR", "Planned", "graph_of", "link_of", "planned"]

PROCESSOR = "processor"


def link_of(board: str) -> str:
    """The name of a board's link."""
    return f"link of {board}"


def graph_of(profile: Profile, boards: Mapping[str, Mapping[str, OnBoard]], in_order: bool = False) -> Graph:
    """The stages of a profile in a row. boards: by name, the stages that they may take.

    in_order: of a video, each of whose frames is sampled when the frame before was.
    """
    names = [name for name in STAGES if name in profile.seconds]
    stages = [Stage(name, {PROCESSOR: profile.seconds[name],
                           **{board: found[name].held for board, found in boards.items() if name in found}},
                    in_order and name == "sample") for name in names]
    edges = []
    for source, target in pairwise(names):
        crossings = {}
        for here in (PROCESSOR, *(board for board, found in boards.items() if source in found)):
            for there in (PROCESSOR, *(board for board, found in boards.items() if target in found)):
                carried: dict[str, float] = {}
                converting = 0.0
                if here != PROCESSOR:
                    carried[link_of(here)] = boards[here][source].reading
                    converting += profile.then if source == "first" else 0.0
                if there != PROCESSOR:
                    carried[link_of(there)] = carried.get(link_of(there), 0.0) + boards[there][target].loading
                    converting += boards[there][target].packing
                if carried:
                    crossings[here, there] = Crossing(carried, converting, PROCESSOR)
        edges.append(Edge(source, target, crossings))
    return Graph(tuple(stages), tuple(edges))


def _joined(graph: Graph) -> Graph:
    """The graph in which what comes first is a part of "sample", if a board may take it."""
    first, sample = graph.by_name.get("first"), graph.by_name["sample"]
    if first is None or set(first.times) == {PROCESSOR}:
        return graph
    within = next(edge for edge in graph.edges if (edge.source, edge.target) == ("first", "sample"))
    stages = [replace(stage, times={kind: seconds + first.times[kind] for kind, seconds in sample.times.items()
                                     if kind in first.times})
              if stage is sample else stage for stage in graph.stages if stage is not first]
    edges = []
    for edge in graph.edges:
        if edge.target == "first":
            both = {(here, there): _sum(crossing, within.crossings.get((there, there)))
                    for (here, there), crossing in edge.crossings.items()}
            edges.append(replace(edge, target="sample", crossings=both))
        elif edge is not within:
            edges.append(edge)
    return Graph(tuple(stages), tuple(edges))


def _sum(one: Crossing, other: Crossing | None) -> Crossing:
    if other is None:
        return one
    links = {*one.carried, *other.carried}
    return Crossing({link: one.carried.get(link, 0.0) + other.carried.get(link, 0.0) for link in links},
                    one.converting + other.converting, one.paid_by)


@dataclass(frozen=True)
class Planned:
    """graph, resources: that were planned for. best: the assignment. shared: its instances. baselines: intervals of others, by
    name. idle: why a board has no stage, by its name."""

    graph: Graph
    resources: Resources
    best: Assignment
    shared: Instances
    baselines: Mapping[str, float]
    idle: Mapping[str, str] = field(default_factory=dict)

    @property
    def record(self) -> dict[str, Any]:
        """For a file of JSON."""
        best, shared = self.best, self.shared
        return {
            "interval_seconds": shared.interval, "pictures_per_second": 1 / shared.interval if shared.interval else None,
            "bound_seconds": best.interval, "decides": best.decides, "bounds_seconds": dict(best.bounds),
            "proven": best.proven, "steps": max(best.steps.values()) + 1,
            "resources": dict(self.resources.kinds), "links": dict(self.resources.links),
            "pictures_together": shared.repeat,
            "stages": [{"name": stage.name, "on": best.where[stage.name], "step": best.steps[stage.name],
                        "seconds": dict(stage.times),
                        "instances": [unit.get(stage.name, 0) for unit in shared.placed[best.where[stage.name]]]}
                       for stage in self.graph.stages],
            "baselines": {name: {"interval_seconds": interval} for name, interval in self.baselines.items()},
            "idle": dict(self.idle)}


def planned(graph: Graph, resources: Resources, seconds: float = TIME_LIMIT, unfit: Mapping[str, str] | None = None) -> Planned:
    """The plan of a request's graph.

    seconds: of the solver, for each program. unfit: boards that take no stage, with the reason.
    """
    whole, graph = graph, _joined(graph)
    best = assign(graph, resources, seconds)
    boards = [kind for kind in resources.kinds if kind != PROCESSOR]
    for board in boards:
        grown = clusters(graph, resources, PROCESSOR, board)
        if grown.interval < best.interval * (1 - 1e-6):  # where the solver's time was short
            best = assignment_of(graph, resources, grown.where, False)
    away = max(boards, key=lambda board: sum(board in stage.times for stage in graph.stages), default=None)
    baselines, others = {}, {}
    for name, of in BASELINES.items():
        if away is None and name != "all on {home}":
            continue
        name = name.format(home="processors", away="boards")
        others[name] = of(graph, resources, PROCESSOR, away or PROCESSOR)
        baselines[name] = instances(graph, resources, others[name], 1.0).interval
    idle = dict(unfit or {})
    for board in boards:
        if board not in best.where.values():
            idle[board] = _why_idle(graph, resources, best, board, seconds)
    found = _spread(whole, resources, best)
    shared = instances(whole, resources, found, seconds)
    if shared.interval > min(baselines.values()):  # where the solver's time was short
        other = _spread(whole, resources, others[min(baselines, key=baselines.__getitem__)])
        shared, found = min((shared, found), (instances(whole, resources, other, seconds), other), key=lambda one: one[0].interval)
    return Planned(whole, resources, found, shared, baselines, idle)


def _spread(whole: Graph, resources: Resources, found: Assignment) -> Assignment:
    """Of all stages, from that of joined ones."""
    where = {stage.name: found.where[stage.name if stage.name in found.where else "sample"] for stage in whole.stages}
    return assignment_of(whole, resources, where, found.proven)


def _why_idle(graph: Graph, resources: Resources, best: Assignment, board: str, seconds: float) -> str:
    """What decides where a stage is on the board nevertheless."""
    tried = {stage.name: assign(graph, resources, seconds, {stage.name: [board]}) for stage in graph.stages if board in stage.times}
    if not tried:
        return "no stage runs there"
    name = min(tried, key=lambda one: tried[one].interval)
    found = tried[name]
    if found.interval <= best.interval * (1 + 1e-6):
        return (f"with {name} there a picture comes every {found.interval:.3g} s as well, which {best.decides} decides, in "
                f"{max(found.steps.values()) + 1} steps instead of {max(best.steps.values()) + 1}")
    return (f"with {name} there a picture would come every {found.interval:.3g} s, which {found.decides} decides, and without "
            f"every {best.interval:.3g} s")
