"""Assignments without a solver: near the program's on graphs of stream programs' sizes, and better than plain ones."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from mrfhw.planning.graph import Crossing, Edge, Graph, Resources, Stage
from mrfhw.planning.heuristics import clusters
from mrfhw.planning.program import assign
from studies.plan_graphs import RESOURCES, SIZES, compared, graphs

NEAR = pytest.mark.claim("planning", "clusters come within 10 % of the integer program on average, and nearer than every plain "
                         "assignment")


@NEAR
@pytest.mark.slow
def test_clusters_are_near_the_program() -> None:
    found = [compared(graph, 1.0)[2] for graph in graphs(21)]
    means = {name: np.mean([one[name] for one in found]) for name in found[0]}
    assert means["clusters"] < 10
    assert means["clusters"] < 0.3 * min(mean for name, mean in means.items() if name != "clusters")


def test_made_up_graphs_are_what_they_are_said_to_be() -> None:
    for graph, stages in zip(graphs(3), SIZES, strict=True):
        assert len(graph.stages) == stages
        assert set(graph.firings.values()) == {1}
        assert all("processor" in stage.times for stage in graph.stages)


@NEAR
def test_clusters_leave_what_cannot_move() -> None:
    graph = graphs(4)[0]
    found = clusters(graph, RESOURCES, "processor", "accelerator")
    assert {name for name, stage in graph.by_name.items() if "accelerator" not in stage.times} <= {
        name for name, kind in found.where.items() if kind == "processor"}
    assert found.interval >= assign(graph, RESOURCES, 2.0).bounds["link"]


def row(times: dict[str, tuple[float, float]], carried: list[float]) -> Graph:
    """Stages in a row, with times on a processor and on an accelerator, and what a link takes between them."""
    stages = tuple(Stage(name, {"processor": here, "accelerator": there}) for name, (here, there) in times.items())
    return Graph(stages, tuple(Edge(one, other, {pair: Crossing({"link": seconds}) for pair in (("processor", "accelerator"),
                                                                                               ("accelerator", "processor"))})
                               for (one, other), seconds in zip(pairwise(times), carried, strict=True)))


ONE_EACH = Resources({"processor": 1, "accelerator": 1}, {"link": 1})


@NEAR
def test_a_cluster_takes_neighbours_along() -> None:
    """B gains most and cannot go without C, from which the link would take too long."""
    graph = row({"B": (5, 30), "C": (30, 30), "D": (90, 30)}, [500, 1])
    found = clusters(graph, ONE_EACH, "processor", "accelerator", coverage=0.01)  # a single cluster
    assert {name for name, kind in found.where.items() if kind == "processor"} == {"B", "C"}
    assert found.interval == assign(graph, ONE_EACH).interval == 35


@NEAR
def test_clusters_apart_are_fused() -> None:
    """A and E go, and what lies between stays: no cluster of neighbours has both."""
    graph = row({"A": (5, 30), "B": (200, 20), "C": (200, 20), "D": (200, 20), "E": (5, 30)}, [1, 1, 1, 1])
    found = clusters(graph, ONE_EACH, "processor", "accelerator")
    assert {name for name, kind in found.where.items() if kind == "processor"} == {"A", "E"}
    assert found.interval == 60
