"""Assignments of least interval: a worked example, every assignment of small graphs, instances that keep what is promised."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrfhw.planning.graph import Crossing, Edge, Graph, Resources, Stage
from mrfhw.planning.heuristics import all_on, clusters, earliest_finish, round_robin
from mrfhw.planning.loads import Loads, stage_numbers
from mrfhw.planning.program import assign, assignment_of, instances, optimum
from mrfhw.system.errors import ProblemError

LEAST = pytest.mark.claim("planning", "plans have the least interval: that of a published example, and of every assignment of "
                          "small graphs; no stage's instances are lost")

ONE_EACH = Resources({"processor": 1, "board": 1}, {"link": 1})


def crossings(seconds: float, back: float | None = None) -> dict[tuple[str, str], Crossing]:
    return {("processor", "board"): Crossing({"link": seconds}),
            ("board", "processor"): Crossing({"link": seconds if back is None else back})}


def five() -> Graph:
    """Stages A to E in a row, with B on the processor."""
    times = {"A": (20, 5), "B": (15, None), "C": (50, 30), "D": (45, 15), "E": (10, 25)}
    return Graph(tuple(Stage(name, {"processor": here} if there is None else {"processor": here, "board": there})
                       for name, (here, there) in times.items()),
                 tuple(Edge(one, other, crossings(seconds))
                       for one, other, seconds in zip("ABCD", "BCDE", (25, 40, 5, 5), strict=True)))


def interval(on_processor: str) -> float:
    return assignment_of(five(), ONE_EACH, {name: "processor" if name in on_processor else "board" for name in "ABCDE"}).interval


@LEAST
def test_five_stages_in_a_row() -> None:
    """All that can be on the board: 75 of it. Each stage where it is quickest: 70 of the link. The best: 45 of all three."""
    assert interval("B") == 75
    assert all_on(five(), ONE_EACH, "board").interval == 75
    assert interval("BE") == 70
    assert assignment_of(five(), ONE_EACH, dict(zip("ABCDE", ["board", "processor", "board", "board", "processor"],
                                                    strict=True))).decides == "link"
    best = assign(five(), ONE_EACH)
    assert {name for name, kind in best.where.items() if kind == "processor"} == set("ABE")
    assert best.interval == optimum(five(), ONE_EACH).interval == 45
    assert best.proven
    assert best.bounds == {"processor": 45, "board": 45, "link": 45}
    assert best.steps == {"A": 0, "B": 1, "C": 3, "D": 4, "E": 6}
    assert best.latency == 7 * 45
    grown = clusters(five(), ONE_EACH, "processor", "board")
    assert 45 <= grown.interval <= 70


@LEAST
def test_conversions_are_paid_and_take_a_step() -> None:
    """A stage that reads ahead keeps its elements in order, the others want them shuffled: the board shuffles."""
    shuffle = Crossing({"link": 1}, 3, "board")
    graph = Graph((Stage("A", {"processor": 9, "board": 1}), Stage("B", {"processor": 9, "board": 1})),
                  (Edge("A", "B", {("processor", "board"): shuffle, ("board", "board"): Crossing({}, 2, "board")}),))
    found = Loads(graph, ONE_EACH, {"A": "processor", "B": "board"})
    assert found.bounds == {"link": 1, "processor": 9, "board": 4}
    assert Loads(graph, ONE_EACH, {"A": "board", "B": "board"}).bounds == {"link": 0, "processor": 0, "board": 4}
    assert stage_numbers(graph, {"A": "processor", "B": "board"})["B"] == 3
    assert stage_numbers(graph, {"A": "board", "B": "board"})["B"] == 2
    assert stage_numbers(graph, {"A": "board", "B": "processor"})["B"] == 2
    assert stage_numbers(graph, {"A": "processor", "B": "processor"})["B"] == 1
    assert assign(graph, ONE_EACH).interval == optimum(graph, ONE_EACH).interval == 4


@st.composite
def small(draw: st.DrawFn) -> tuple[Graph, Resources]:
    """A graph of at most six stages, on processors and one or two kinds of boards."""
    kinds = ["processor", "board", "other"][:draw(st.integers(2, 3))]
    time = st.integers(0, 30)
    stages = []
    for number in range(draw(st.integers(1, 6))):
        own = {kind: draw(time) for kind in kinds if draw(st.integers(0, 3))} or {"processor": draw(time)}
        stages.append(Stage(f"s{number}", own, stateful=draw(st.integers(0, 4)) == 0))
    edges = []
    for one in range(len(stages)):
        for other in range(one + 1, len(stages)):
            if draw(st.booleans()):
                edges.append(Edge(f"s{one}", f"s{other}", {
                    (here, there): Crossing({f"link {kind}": draw(time) for kind in {here, there} - {"processor"}},
                                            draw(st.integers(0, 9)), draw(st.sampled_from(kinds)))
                    for here in kinds for there in kinds if here != there or draw(st.integers(0, 3)) == 0}))
    counts = {kind: draw(st.integers(1, 3)) for kind in kinds}
    return Graph(tuple(stages), tuple(edges)), Resources(counts, {f"link {kind}": 1 for kind in kinds[1:]})


@LEAST
@pytest.mark.slow
@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(small())
def test_the_program_against_every_assignment(drawn: tuple[Graph, Resources]) -> None:
    graph, resources = drawn
    best, found = optimum(graph, resources), assign(graph, resources)
    assert found.interval == pytest.approx(best.interval, rel=1e-5, abs=1e-6)
    assert max(found.steps.values()) <= max(best.steps.values())
    others = [clusters(graph, resources, "processor", kind) for kind in list(resources.kinds)[1:]]
    others += [all_on(graph, resources, kind) for kind in resources.kinds]
    others += [round_robin(graph, resources), earliest_finish(graph, resources)]
    for other in others:
        assert all(kind in graph.by_name[name].times for name, kind in other.where.items())
        assert other.interval >= best.interval * (1 - 1e-6)


@LEAST
@settings(max_examples=60, deadline=None, derandomize=True, database=None)
@given(small())
def test_moved_loads_are_those_of_a_new_count(drawn: tuple[Graph, Resources]) -> None:
    graph, resources = drawn
    loads = Loads(graph, resources, all_on(graph, resources, "processor").where)
    for name, stage in graph.by_name.items():
        for kind in stage.times:
            if kind in resources.kinds:
                loads.move(name, kind)
                assert loads.bounds == pytest.approx(Loads(graph, resources, loads.where).bounds, abs=1e-6)


@LEAST
@settings(max_examples=25, deadline=None, derandomize=True, database=None)
@given(small())
def test_instances_are_all_placed(drawn: tuple[Graph, Resources]) -> None:
    graph, resources = drawn
    found = optimum(graph, resources)
    shared = instances(graph, resources, found, 2.0)
    for name, kind in found.where.items():
        places = [unit.get(name, 0) for unit in shared.placed[kind]]
        assert sum(places) == shared.repeat * graph.firings[name]
        assert len(places) == resources.kinds[kind]
        if graph.by_name[name].stateful:
            assert sum(place > 0 for place in places) == 1
    assert shared.interval >= found.interval * (1 - 1e-6)


@LEAST
def test_as_many_iterations_as_units_reach_the_bound() -> None:
    graph = Graph((Stage("A", {"processor": 3}), Stage("B", {"processor": 1})), (Edge("A", "B"),))
    resources = Resources({"processor": 3})
    found = instances(graph, resources, assign(graph, resources))
    assert (found.repeat, found.interval) == (3, pytest.approx(4 / 3))
    alone = Graph((Stage("A", {"processor": 3}, stateful=True), Stage("B", {"processor": 1})), (Edge("A", "B"),))
    assert assign(alone, resources).decides == "stage A"
    assert instances(alone, resources, assign(alone, resources)).interval == 3


def test_wrong_resources_are_one_line() -> None:
    with pytest.raises(ProblemError, match="is there 0 times"):
        Resources({"processor": 0})
    graph = Graph((Stage("A", {"board": 1}), Stage("B", {"processor": 1, "board": 1})), (Edge("A", "B", crossings(1)),))
    with pytest.raises(ProblemError, match="stage A runs on board"):
        assign(graph, Resources({"processor": 1}))
    with pytest.raises(ProblemError, match="takes the link 'link'"):
        assign(graph, Resources({"processor": 1, "board": 1}))
