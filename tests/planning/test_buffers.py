"""Bounds, unrolling and buffers of stages on like processors, by worked examples that can be done by hand."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrfhw.planning.buffers import abreast, recurrence_bound, resource_bound, schedule, unrolling
from mrfhw.planning.graph import Edge, Graph, Stage
from mrfhw.system.errors import ProblemError

EXAMPLES = pytest.mark.claim("planning", "bounds, unrolling and buffers are those of published worked examples")

DELAYS = {"A": 3, "B": 1, "C": 2, "D": 2}
FORKED = Graph(tuple(Stage(name, {"processor": time}) for name, time in DELAYS.items()),
               (Edge("A", "B"), Edge("A", "C"), Edge("B", "D"), Edge("C", "D"), Edge("D", "A", tokens=4)))


@EXAMPLES
def test_a_loop_of_four_stages_on_four_processors() -> None:
    least = resource_bound(FORKED, 4)
    assert least == 2
    assert recurrence_bound(FORKED) == pytest.approx(7 / 4)
    assert math.ceil(recurrence_bound(FORKED)) == 2
    other = Graph(FORKED.stages, tuple(edge for edge in FORKED.edges if "C" not in (edge.source, edge.target)))
    assert recurrence_bound(other) == pytest.approx(6 / 4)
    repeat = unrolling(FORKED, max(least, math.ceil(recurrence_bound(FORKED))))
    assert (repeat, repeat * least) == (2, 4)


@EXAMPLES
def test_a_pipeline_holds_16_elements_where_firing_abreast_holds_20() -> None:
    found = schedule(FORKED, 4, 2, 4)
    assert found is not None
    assert found.held == {("A", "B"): 2, ("A", "C"): 4, ("B", "D"): 4, ("C", "D"): 2, ("D", "A"): 4}
    assert found.elements == 16
    assert sum(abreast(FORKED, 4).values()) == 20
    assert schedule(FORKED, 4, 2, 3) is None  # 16 of work on 4 processors
    assert schedule(FORKED, 4, 1, 2) is None  # A is longer
    loads = [sum(DELAYS[name] for (name, _), place in found.places.items() if place == unit) for unit in range(4)]
    assert loads == [4, 4, 4, 4]


@EXAMPLES
@pytest.mark.parametrize(("threads", "delay", "firings", "interval"), [(128, 32, 2, 32), (256, 40, 4, 52)])
def test_rates_say_how_often_stages_fire(threads: int, delay: int, firings: int, interval: int) -> None:
    graph = Graph((Stage("A", {"processor": delay}), Stage("B", {"processor": 16})), (Edge("A", "B", push=2 * threads, pop=128),))
    assert graph.firings == {"A": 1, "B": firings}
    assert resource_bound(graph, 2) == interval
    assert interval / firings <= 16  # by work, the second is the better one: 13


@EXAMPLES
def test_what_a_firing_takes_across_rates() -> None:
    """2 given and 3 taken: the first firing of the target needs both first firings of the source."""
    graph = Graph((Stage("A", {"processor": 1}), Stage("B", {"processor": 1})), (Edge("A", "B", push=2, pop=3),))
    assert graph.firings == {"A": 3, "B": 2}
    apart = schedule(graph, 5, 1, 1)
    together = schedule(graph, 1, 1, 5)
    assert apart is not None
    assert together is not None
    assert (apart.steps["B"], together.steps["B"]) == (1, 0)
    assert (apart.elements, together.elements) == (12, 6)


@EXAMPLES
@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(st.data())
def test_schedules_keep_what_stages_need(data: st.DataObject) -> None:
    """Every instance finds what it takes: of its own interval on the same processor, of those before anywhere."""
    count, processors = data.draw(st.integers(2, 4)), data.draw(st.integers(1, 3))
    stages = tuple(Stage(f"s{number}", {"processor": data.draw(st.integers(1, 4))}) for number in range(count))
    edges = tuple(Edge(f"s{one}", f"s{other}") for one in range(count) for other in range(one + 1, count)
                  if data.draw(st.booleans()))
    graph = Graph(stages, edges)
    interval = max(math.ceil(2 * resource_bound(graph, processors)), *(stage.times["processor"] for stage in stages)) + 4
    found = schedule(graph, processors, 2, interval)
    assert found is not None
    for edge in edges:
        for number in range(2):
            same = found.places[edge.source, number] == found.places[edge.target, number]
            assert found.steps[edge.target] - found.steps[edge.source] >= (0 if same else 1)
    for unit in range(processors):
        assert sum(graph.by_name[name].times["processor"] for (name, _), place in found.places.items() if place == unit) <= interval


def test_wrong_graphs_are_one_line() -> None:
    loop = replace(FORKED, edges=(*FORKED.edges[:-1], Edge("D", "A", tokens=1, pop=2, push=2)))
    with pytest.raises(ProblemError, match="fewer tokens than one firing takes"):
        recurrence_bound(loop)
    for stages, edges, said in (
            ((), (Edge("A", "B"),), "there is no stage A"),
            ((Stage("A", {}),), (), "has no times"),
            ((Stage("A", {"p": math.nan}),), (), "takes nan on p"),
            ((Stage("A", {"p": 1}), Stage("A", {"p": 1})), (), "two stages are called A"),
            ((Stage("A", {"p": 1}), Stage("B", {"p": 1})), (Edge("A", "B"), Edge("B", "A")), "wait for each other"),
            ((Stage("A", {"p": 1}), Stage("B", {"p": 1})), (Edge("A", "B", push=2), Edge("A", "B")), "no numbers of firings"),
            ((Stage("A", {"p": 1}), Stage("B", {"p": 1})), (Edge("A", "B", push=0),), "rates are at least 1")):
        with pytest.raises(ProblemError, match=said):
            Graph(stages, edges)
