"""Policies on small instances, cycle by cycle, and what holds of any: every visit once, one bus, no part used twice at a time."""

from __future__ import annotations

import random
from collections import Counter
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrfhw.sharing.greedy import Adaptive
from mrfhw.sharing.jobs import WHOLE, Job, Part, Visit
from mrfhw.sharing.policies import Clusters, Contexts, Sequential, WeightedFair
from mrfhw.sharing.policy import Chip, Policy, Progress, Start
from mrfhw.sharing.simulation import Trace, simulate
from mrfhw.system.errors import ProblemError

BY_HAND = pytest.mark.claim("sharing", "each policy loads, runs and reads what was worked out by hand, cycle by cycle")
CONSERVED = pytest.mark.claim("sharing", "every visit runs once, after the chain's last one was read; the bus, a part's units and "
                              "a context's memories are never used twice at a time")
SHARES = pytest.mark.claim("sharing", "owners that always wait have their shares within 5 %")
REFUSED = pytest.mark.claim("sharing", "weights, parts and jobs that are none are one line")

CONTEXT, HALF, QUARTER = Part(1, 1, 2), Part(1, 2), Part(1, 4)


def job(load: int, run: int, read: int, part: Part, *, visits: int = 1, chains: int = 1, **options: object) -> Job:
    """One whose visits are alike."""
    return Job("job", {part: ((Visit(load, run, read),) * visits,) * chains}, **options)  # type: ignore[arg-type]


def lines(jobs: list[Job], policy: Policy) -> list[str]:
    trace = simulate(jobs, policy)
    check(trace, policy)
    return [str(step) for step in trace.steps]


@BY_HAND
def test_sequential() -> None:
    assert lines([job(2, 5, 1, WHOLE, chains=2), job(2, 5, 1, WHOLE, arrival=3)], Sequential()) == [
        "job 0 chain 0 visit 0 on 0/0: load 0-2 run 2-7 read 7-8",
        "job 0 chain 1 visit 0 on 0/0: load 8-10 run 10-15 read 15-16",
        "job 1 chain 0 visit 0 on 0/0: load 16-18 run 18-23 read 23-24"]


@BY_HAND
def test_contexts_take_turns() -> None:
    """While one runs the other is read and loaded; the third is loaded where the first was read."""
    assert lines([job(2, 5, 1, CONTEXT) for _ in range(3)], Contexts()) == [
        "job 0 chain 0 visit 0 on 0/0: load 0-2 run 2-7 read 7-8",
        "job 1 chain 0 visit 0 on 0/1: load 2-4 run 7-12 read 12-13",
        "job 2 chain 0 visit 0 on 0/0: load 8-10 run 12-17 read 17-18"]


@BY_HAND
def test_windows_of_a_chain_leave_the_other_context_to_another_job() -> None:
    """A window begins from what its chain's last one gave, chains of a job need not wait."""
    assert lines([job(2, 5, 1, CONTEXT, visits=2), job(2, 5, 1, CONTEXT)], Contexts()) == [
        "job 0 chain 0 visit 0 on 0/0: load 0-2 run 2-7 read 7-8",
        "job 1 chain 0 visit 0 on 0/1: load 2-4 run 7-12 read 12-13",
        "job 0 chain 0 visit 1 on 0/0: load 8-10 run 12-17 read 17-18"]
    assert lines([job(2, 5, 1, CONTEXT, visits=2)], Contexts())[1].endswith("load 8-10 run 10-15 read 15-16")
    assert lines([job(2, 5, 1, CONTEXT, chains=2)], Contexts())[1].endswith("load 2-4 run 7-12 read 12-13")


@BY_HAND
def test_halves() -> None:
    """The third is loaded as soon as the first was read; the second is read after that."""
    assert lines([job(2, 10, 1, HALF) for _ in range(3)], Clusters(2)) == [
        "job 0 chain 0 visit 0 on 0/0: load 0-2 run 2-12 read 12-13",
        "job 1 chain 0 visit 0 on 1/0: load 2-4 run 4-14 read 15-16",
        "job 2 chain 0 visit 0 on 0/0: load 13-15 run 15-25 read 25-26"]


@BY_HAND
def test_quarters_read_before_they_load() -> None:
    """Cluster 3 is free all the time; the readings of 0 and 1 come first where they wait for the bus with a loading."""
    assert lines([job(2, 3, 1, QUARTER) for _ in range(4)], Clusters(4)) == [
        "job 0 chain 0 visit 0 on 0/0: load 0-2 run 2-5 read 6-7",
        "job 1 chain 0 visit 0 on 1/0: load 2-4 run 4-7 read 7-8",
        "job 2 chain 0 visit 0 on 2/0: load 4-6 run 6-9 read 10-11",
        "job 3 chain 0 visit 0 on 0/0: load 8-10 run 10-13 read 13-14"]


@BY_HAND
def test_contexts_of_clusters_fill_the_idle_cluster_first() -> None:
    both = Part(1, 2, 2)
    places = [line.split(" on ")[1].split(":")[0] for line in lines([job(1, 20, 1, both) for _ in range(4)], Clusters(2, 2))]
    assert places == ["0/0", "1/0", "0/1", "1/1"]


def order(jobs: list[Job], policy: Policy) -> str:
    """The owners of the visits as they were loaded."""
    trace = simulate(jobs, policy)
    check(trace, policy)
    return "".join(jobs[step.job].owner for step in trace.steps)


@BY_HAND
def test_weighted_fair() -> None:
    """x has 5 a visit for its weight, y 10: both 10 after x y x, where x, who came first, is next."""
    jobs = [job(1, 8, 1, WHOLE, chains=6, owner="x", weight=2), job(1, 8, 1, WHOLE, chains=3, owner="y", weight=1)]
    assert order(jobs, WeightedFair(contexts=1)) == "xyxxyxxyx"


@BY_HAND
def test_who_comes_late_has_saved_up_nothing() -> None:
    """y comes while the third of x runs, and begins where x stands."""
    jobs = [job(1, 8, 1, WHOLE, chains=6, owner="x"), job(1, 8, 1, WHOLE, chains=3, owner="y", arrival=25)]
    assert order(jobs, WeightedFair(contexts=1)) == "xxx" + "xyxyxy"


@BY_HAND
def test_an_owner_s_jobs_share_its_share() -> None:
    """Two jobs of x have together what the one of y has."""
    one = dict(part=WHOLE, chains=4)
    jobs = [job(1, 8, 1, owner="x", **one), job(1, 8, 1, owner="x", **one), job(1, 8, 1, owner="y", **one)]  # type: ignore[arg-type]
    assert order(jobs, WeightedFair(contexts=1)) == "xyxyxyxyxxxx"


@SHARES
@pytest.mark.parametrize("policy", [WeightedFair(contexts=1), WeightedFair(), WeightedFair(clusters=4, contexts=1)])
@pytest.mark.parametrize("seed", range(3))
def test_shares(policy: WeightedFair, seed: int) -> None:
    """Of the cycles of visits that began while all still waited; an owner's visits take up to 60 to 500 cycles."""
    draw = random.Random(seed)
    weights = {"a": 1.0, "b": 2.0, "c": 5.0}
    jobs = []
    for owner, weight in weights.items():
        largest = draw.randint(10, 400)
        for _ in range(4):
            chains = tuple(tuple(Visit(draw.randint(1, 50), draw.randint(1, largest), draw.randint(1, 50)) for _ in range(20))
                           for _ in range(20))
            jobs.append(Job(owner, {policy.part(): chains}, owner=owner, weight=weight))
    steps = simulate(jobs, policy).steps
    begun = {owner: [step.load[0] for step in steps if jobs[step.job].owner == owner] for owner in weights}
    until = min(loads[len(loads) * 9 // 10] for loads in begun.values())
    had: Counter[str] = Counter()
    for step in steps:
        if step.load[0] < until:
            one = jobs[step.job]
            had[one.owner] += one.chains(policy.part())[step.chain][step.visit].cycles
    whole, all_weights = sum(had.values()), sum(weights.values())
    for owner, weight in weights.items():
        assert had[owner] / whole == pytest.approx(weight / all_weights, rel=0.05)


# -- what holds of any


def apart(spans: list[tuple[int, int]]) -> bool:
    """Whether no two spans have a cycle in common."""
    some = sorted(span for span in spans if span[0] < span[1])
    return all(one[1] <= other[0] for one, other in pairwise(some))


def check(trace: Trace, policy: Policy) -> None:
    """Everything that was said of a trace, from its steps alone."""
    jobs, steps = trace.jobs, trace.steps
    parts = {(step.job, len(step.units)) for step in steps}
    wanted = Counter((number, chain, visit) for number, one in enumerate(jobs)
                     for chain, visits in enumerate(one.chains(policy.part(next(size for which, size in parts if which == number))))
                     for visit in range(len(visits)))
    assert Counter((step.job, step.chain, step.visit) for step in steps) == wanted
    ends: dict[tuple[int, int, int], int] = {(step.job, step.chain, step.visit): step.read[1] for step in steps}
    for step in steps:
        cycles = jobs[step.job].chains(policy.part(len(step.units)))[step.chain][step.visit]
        for (begin, end), long in ((step.load, cycles.load), (step.run, cycles.run), (step.read, cycles.read)):
            assert end - begin == long
        assert jobs[step.job].arrival <= step.load[0]
        assert step.load[1] <= step.run[0]
        assert step.run[1] <= step.read[0]
        assert step.visit == 0 or ends[step.job, step.chain, step.visit - 1] <= step.load[0]
    assert apart([span for step in steps for span in (step.load, step.read)])
    for unit in range(policy.units):
        held = [step for step in steps if unit in step.units]
        assert apart([step.run for step in held])
        for context in range(policy.contexts):
            assert apart([(step.load[0], step.read[1]) for step in held if step.context == context])
    assert trace.finished == tuple(max(step.read[1] for step in steps if step.job == number) for number in range(len(jobs)))


POLICIES = [Sequential(), Contexts(), Contexts(3), Clusters(2), Clusters(4), Clusters(2, 2), WeightedFair(), WeightedFair(4, 1),
            Adaptive(4), Adaptive(5, answering=7)]


@st.composite
def some_jobs(draw: st.DrawFn, policy: Policy) -> list[Job]:
    """One to six, with owners, that come at once or later; a part of so many units takes about its share of the time."""
    jobs = []
    for _ in range(draw(st.integers(1, 6))):
        counts = draw(st.lists(st.integers(1, 3), min_size=1, max_size=3))
        sizes = [[draw(st.tuples(st.integers(0, 9), st.integers(1, 40), st.integers(0, 9))) for _ in range(count)]
                 for count in counts]
        profile = {policy.part(units): tuple(tuple(Visit(load, -(-run // units), read) for load, run, read in chain)
                                             for chain in sizes) for units in range(1, policy.units + 1)}
        owner = draw(st.sampled_from("xyz"))
        jobs.append(Job("job", profile, arrival=draw(st.integers(0, 60)), owner=owner, weight={"x": 1, "y": 2, "z": 0.5}[owner]))
    return jobs


@CONSERVED
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: f"{policy.name} {policy.units} {policy.contexts}")
@settings(max_examples=40, deadline=None, derandomize=True, database=None)
@given(st.data())
def test_nothing_is_lost_or_used_twice(policy: Policy, data: st.DataObject) -> None:
    jobs = data.draw(some_jobs(policy))
    trace = simulate(jobs, policy)
    check(trace, policy)
    assert simulate(jobs, policy) == trace  # nothing is left of the last one


@CONSERVED
def test_a_chip_is_never_idle_while_something_can_be_done() -> None:
    """Sequential takes the sum of all, whatever the order."""
    jobs = [job(3, 10 + n, 2, WHOLE, visits=1 + n % 2, chains=1 + n % 3) for n in range(5)]
    trace = simulate(jobs, Sequential())
    assert trace.makespan == sum(one.alone() for one in jobs)
    assert trace.turnarounds()[0] == 1
    assert trace.mean_turnaround == pytest.approx(sum(trace.turnarounds()) / 5)


# -- wrong input


@REFUSED
@pytest.mark.parametrize("weight", [0, -1, float("nan"), float("inf"), "much"])
def test_weights(weight: object) -> None:
    with pytest.raises(ProblemError, match=r"^weight is [^\n]*; it must be a finite number above 0: give such as 1$"):
        job(1, 1, 1, WHOLE, weight=weight)


@REFUSED
@pytest.mark.parametrize(("wrong", "said"), [
    (lambda: simulate([], Sequential()), "jobs are 0; a chip is shared by 1 at least: give some"),
    (lambda: Job("teddy", {WHOLE: ()}), "job 'teddy' has a chain of 0 visits; there is 1 at least: leave the job out, or give its "
     "visits"),
    (lambda: Job("teddy", {WHOLE: ((),)}), "job 'teddy' has a chain of 0 visits; there is 1 at least: leave the job out, or give "
     "its visits"),
    (lambda: Job("teddy", {}), "job 'teddy' has a chain of 0 visits; there is 1 at least: leave the job out, or give its visits"),
    (lambda: job(1, 1, 1, WHOLE, arrival=-1), "arrival is -1; a job arrives at a whole cycle from 0 on: give one of them"),
    (lambda: Visit(1, 0, 1), "run is 0; a visit takes whole cycles of it, 1 at least: give so many"),
    (lambda: Visit(-1, 1, 1), "load is -1; a visit takes whole cycles of it, 0 at least: give so many"),
    (lambda: Visit(1, 1, 2.5), "read is 2.5; a visit takes whole cycles of it, 0 at least: give so many"),  # type: ignore[arg-type]
    (lambda: Part(3, 2), "units is 3; a part is 1 to 2 of 2 units: give one of them"),
    (lambda: Part(1, 0), "of is 0; a chip is in 1 to 1024 parts: give one of them"),
    (lambda: Clusters(0), "clusters is 0; the limits are 1 to 64: give one of them"),
    (lambda: Contexts(0), "contexts is 0; the limits are 1 to 64: give one of them"),
    (lambda: Adaptive(0), "units is 0; the limits are 1 to 64: give one of them"),
    (lambda: simulate([job(1, 1, 1, WHOLE)], Clusters(2)), "job 'job' has no cycles for 1/2 of the mesh; it has those for the "
     "whole mesh: give them with the job, or another policy"),
    (lambda: simulate([job(1, 1, 1, CONTEXT, owner="x"), job(1, 1, 1, CONTEXT, owner="x", weight=2)], WeightedFair()),
     "weight is 2 for job 'job' of owner 'x'; the owner has 1 for another: give all jobs of an owner one weight"),
    (lambda: simulate([Job("job", {Part(1, 2): ((Visit(1, 1, 1),) * 2,), WHOLE: ((Visit(1, 1, 1),),)})], Adaptive(2)),
     "job 'job' has other visits on other parts; a job that is resized has the same on all: give another policy"),
])
def test_what_is_refused(wrong: object, said: str) -> None:
    with pytest.raises(ProblemError) as raised:
        wrong()  # type: ignore[operator]
    assert str(raised.value) == said


def test_equal_parts_are_equal() -> None:
    assert Part(2, 4) == HALF
    assert Part(8, 8) == WHOLE
    assert str(Part(3, 8, 2)) == "3/8 of the mesh with 1/2 of the memories"


def test_an_owner_that_was_alone_owes_nothing_to_one_that_comes() -> None:
    """Who comes while nobody is there begins where the last one stood."""
    policy, visit = WeightedFair(1, contexts=1), Visit(1, 98, 1)
    chip = Chip([Job(name, {WHOLE: ((visit,),)}, owner=name) for name in "ab"])
    policy.begin(chip)
    for number, times in ((0, 10), (1, 0)):
        chip.open = {number: Progress([0], [0])}
        policy.arrived(chip, number)
        for _ in range(times):
            policy.started(chip, Start(number, 0, (0,)), visit)
    chip.open = {1: Progress([0], [0]), 0: Progress([0], [0])}
    policy.arrived(chip, 0)
    taken = []
    for _ in range(6):
        taken.append(next(iter(policy.order(chip))))
        policy.started(chip, Start(taken[-1], 0, (0,)), visit)
    assert 2 <= taken.count(0) <= 4
