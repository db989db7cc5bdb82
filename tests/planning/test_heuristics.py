"""Assignments without a solver: near the program's on graphs of stream programs' sizes, and better than plain ones."""

from __future__ import annotations

import numpy as np
import pytest

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
