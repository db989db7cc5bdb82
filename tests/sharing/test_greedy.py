"""The greedy policy as published: the example scenario's messages, its allocation, and what waits is answered together."""

from __future__ import annotations

import itertools
from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrfhw.sharing.greedy import Adaptive, Kernel, Service, allocate, pruned, remaining
from mrfhw.sharing.jobs import Job, Part, Visit
from mrfhw.sharing.simulation import simulate

SCENARIO = pytest.mark.claim("sharing", "of the published scenario of two kernels the same are asked and told the same, in "
                               "order")
ALGORITHM = pytest.mark.claim("sharing", "Algorithm 2 gives what was worked out by hand, never more than there is, and leaves "
                              "nothing that the longest could take")

# Cycles on 1 to 6 units; a sixth does not help A.
A, B = (6000, 3000, 2000, 1500, 1200, 1200), (3600, 1800, 1200, 900, 720, 600)


def profile(cycles: tuple[int, ...]) -> tuple[tuple[int, int], ...]:
    return pruned(list(enumerate(cycles, 1)))


def job(cycles: tuple[int, ...], visits: int, arrival: int = 0) -> Job:
    """Visits that are alike and take the bus no time."""
    return Job("job", {Part(units, 6): ((Visit(0, whole // visits, 0),) * visits,)
                       for units, whole in enumerate(cycles, 1)}, arrival)


@SCENARIO
def test_the_service_in_the_published_scenario() -> None:
    """A comes and has five; B comes, A is asked, both have three; B begins its last block, A is asked and has five; A its last."""
    service = Service(6)
    asked = {"A": 4}
    service.request(1, Kernel("A", profile(A), 20))
    assert service.answer(1, asked.__getitem__) == {"A": 5}
    service.request(2, Kernel("B", profile(B), 12))
    assert service.answer(4, asked.__getitem__) == {"A": 3, "B": 3}
    asked["A"] = 16
    service.last(5, "B")
    assert service.answer(5, asked.__getitem__) == {"A": 5}
    service.last(7, "A")
    assert service.answer(7, asked.__getitem__) == {}
    assert [str(message) for message in service.log] == [
        "1 request A", "1 send A 5", "2 request B", "4 query A 4", "4 send A 3", "4 send B 3", "5 last B", "5 query A 16",
        "5 send A 5", "7 last A"]


@SCENARIO
def test_the_scenario_on_a_chip() -> None:
    """Sizes hold from the next visit on: B waits until A's visit of five has ended, A grows where B's last one has."""
    policy = Adaptive(6)
    trace = simulate([job(A, 20), job(B, 12, arrival=245)], policy)
    assert [str(message) for message in policy.service.log] == [
        "0 request 0", "0 send 0 5", "245 request 1", "245 query 0 4", "245 send 0 3", "245 send 1 3", "1400 last 1",
        "1400 query 0 16", "1400 send 0 5", "1620 last 0"]
    runs = [(step.job, step.run, len(step.units)) for step in trace.steps]
    assert runs[:5] == [(0, (60 * n, 60 * n + 60), 5) for n in range(5)]
    assert runs[5:29] == [(which, (begin, begin + 100), 3) for begin in range(300, 1500, 100) for which in (0, 1)]
    assert runs[29:] == [(0, (begin, begin + 60), 5) for begin in (1500, 1560, 1620)]
    assert trace.finished == (1680, 1500)


@SCENARIO
@pytest.mark.parametrize(("second", "answering", "log"), [
    (0, 0, ["0 request 0", "0 request 1", "0 send 0 4", "0 send 1 2"]),
    (30, 50, ["0 request 0", "30 request 1", "50 send 0 4", "50 send 1 2"]),
    (30, 0, ["0 request 0", "0 send 0 5", "30 request 1", "30 query 0 0", "30 send 0 4", "30 send 1 2"]),
])
def test_messages_that_wait_are_answered_together(second: int, answering: int, log: list[str]) -> None:
    """A 6000, 3000; B 3600, 1800; A 3000, 2000, 1500 with four of six; B's third would be the seventh."""
    policy = Adaptive(6, answering)
    simulate([job(A, 20), job(B, 12, arrival=second)], policy)
    assert [str(message) for message in policy.service.log[:len(log)]] == log


@SCENARIO
def test_a_job_whose_loading_waited_begins_with_what_it_was_sent() -> None:
    """Both are sent three; the first begins its only visit, so that the second is sent all, and begins with the three that are
    free."""
    policy = Adaptive(6)
    trace = simulate([job(B, 1), job(B, 1)], policy)
    assert [str(message) for message in policy.service.log] == [
        "0 request 0", "0 request 1", "0 send 0 3", "0 send 1 3", "0 last 0", "0 query 1 0",
        "0 send 1 6", "0 last 1"]
    assert [(step.units, step.run) for step in trace.steps] == [((0, 1, 2), (0, 1200)), ((3, 4, 5), (0, 1200))]


def test_configurations_that_are_no_faster_with_more_are_pruned() -> None:
    assert pruned([(5, 7), (1, 10), (2, 12), (3, 8), (4, 8)]) == ((1, 10), (3, 8), (5, 7))


def test_remaining_time() -> None:
    """Equation 5.1."""
    assert remaining(1200, 20, 8) == 720
    assert remaining(10, 3, 1) == Fraction(20, 3)
    assert remaining(10, 3, 3) == 0


@ALGORITHM
@pytest.mark.parametrize(("kernels", "capacity", "units"), [
    ([], 4, []),
    ([Kernel("A", ((1, 90), (2, 50), (4, 30)), 1)], 8, [4]),  # all that it can use
    ([Kernel("A", ((1, 90), (2, 50), (4, 30)), 1)], 3, [2]),  # its next does not fit
    # A 90 -> 50; B 80 -> 45; A 50 -> 30 with 4 of 6; B's next would be 7.
    ([Kernel("A", ((1, 90), (2, 50), (4, 30)), 1), Kernel("B", ((1, 80), (2, 45), (3, 20)), 1)], 6, [4, 2]),
    # The longest cannot have its next, which takes five; another can have its own.
    ([Kernel("A", ((1, 90), (6, 10)), 1), Kernel("B", ((1, 20), (2, 10)), 1)], 6, [1, 2]),
    # What is done counts: B has a tenth left.
    ([Kernel("A", ((1, 90), (2, 50)), 10), Kernel("B", ((1, 200), (2, 100)), 10, 9)], 3, [2, 1]),
    ([Kernel(name, ((1, 9), (2, 5)), 1) for name in "ABC"], 2, [1, 1, 1]),  # no room: the least, and they wait
])
def test_allocation_by_hand(kernels: list[Kernel], capacity: int, units: list[int]) -> None:
    assert allocate(kernels, capacity) == units


@st.composite
def kernels(draw: st.DrawFn) -> list[Kernel]:
    found = []
    for _ in range(draw(st.integers(1, 4))):
        points = draw(st.lists(st.tuples(st.integers(2, 6), st.integers(1, 50)), max_size=4, unique_by=lambda point: point[0]))
        visits = draw(st.integers(1, 5))
        found.append(Kernel("", pruned([(1, draw(st.integers(20, 60))), *points]), visits, draw(st.integers(0, visits - 1))))
    return found


@ALGORITHM
@settings(max_examples=200, deadline=None, derandomize=True, database=None)
@given(kernels(), st.integers(4, 16))
def test_no_kernel_could_have_its_next_configuration(some: list[Kernel], capacity: int) -> None:
    """What is given fits; each next configuration would not, beside what the others have. The longest remaining time is no longer
    than with the least."""
    given_units = allocate(some, capacity)
    assert sum(given_units) <= capacity

    def longest(units: list[int]) -> Fraction:
        return max(remaining(dict(one.configurations)[size], one.visits, one.done) for one, size in zip(some, units, strict=True))

    for kernel, size in zip(some, given_units, strict=True):
        after = next((units for units, _ in kernel.configurations if units > size), None)
        assert after is None or sum(given_units) - size + after > capacity
    assert longest(given_units) <= longest([1] * len(some))


@ALGORITHM
def test_one_configuration_at_a_time_is_the_least_maximum_where_units_are_alike() -> None:
    """Against all allocations, of kernels that each take one unit more at a time."""
    some = [Kernel("A", profile(A), 20, 4), Kernel("B", profile(B), 12), Kernel("C", profile((2000, 1500, 1000, 900, 800, 700)), 4)]

    def longest(units: tuple[int, ...]) -> Fraction:
        return max(remaining(dict(one.configurations)[size], one.visits, one.done) for one, size in zip(some, units, strict=True))

    for capacity in range(3, 13):
        every = itertools.product(*([units for units, _ in one.configurations] for one in some))
        least = min(longest(units) for units in every if sum(units) <= capacity)
        assert longest(tuple(allocate(some, capacity))) == least
