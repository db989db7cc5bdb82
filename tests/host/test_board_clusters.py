"""Several clusters of a board behind one link: runs side by side, each the model's of a machine of its own."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest

from mrfhw.backends.backend import Pauses, advance_together
from mrfhw.driver.driver import ChipError
from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.host.diagnosis import diagnose
from mrfhw.host.links import SimEthernetLink, SimLink, open_link
from mrfhw.host.remote import RemoteBackend, connect
from mrfhw.host.requests import Limits
from mrfhw.runs.chains import sample
from sim.support.faulty_link import FaultyLink
from support.boards import TINY, TINY_OPTIONS, assert_equals_model, board, tiny_problem
from support.breaking import Breaking, Broken

pytestmark = [
    pytest.mark.tools, pytest.mark.slow, pytest.mark.claim("clusters",
        "runs side by side behind one link, of one that loses and damages bytes and of one that breaks: each the model's, chains "
        "with the bits of one cluster (other links: make long)")]
TWO = TINY.changed(clusters=2)
CONTEXTS = TINY.changed(contexts=2)
LINKS = {
    "serial": lambda: SimLink(TWO, quick=True), "two clocks": lambda: SimLink(TWO, quick=True, two_clocks=True),
    "log memory": lambda: SimLink(TWO, quick=True, memory_bytes=4096), "window": lambda: SimLink(TWO, quick=True, outstanding=8),
    "faulty": lambda: FaultyLink(SimLink(TWO, quick=True), 3, 0.002), "ethernet": lambda: SimEthernetLink(TWO, quick=True),
    "contexts": lambda: SimLink(CONTEXTS, quick=True),
    "contexts, faulty": lambda: FaultyLink(SimLink(CONTEXTS, quick=True), 4, 0.002),
}
SOON = ("serial", "faulty", "contexts")


@pytest.fixture(scope="module")
def remote() -> Iterator[str]:
    with board("tcp://127.0.0.1:0", *TINY_OPTIONS, "--clusters", "2") as found:
        yield found.address


@pytest.mark.parametrize("link", [pytest.param(name, marks=[] if name in SOON else [pytest.mark.long]) for name in LINKS])
def test_runs_side_by_side(link: str) -> None:
    """Pairs of runs of unlike lengths, one of them now and then after the other has begun."""
    with RemoteBackend(CONTEXTS if "contexts" in link else TWO, LINKS[link]) as session:
        for seed in range(0, 6, 2):
            problems = [tiny_problem(seed + k) for k in range(2)]
            active = [place.prepare(*problem) for place, problem in zip(session.places, problems, strict=True)]
            first = active[seed // 2 % 2].steps()
            for _ in range(seed % 4):
                next(first, None)

            class Begun:
                def __init__(self, steps):
                    self.steps = lambda: steps

            advance_together([Begun(first), active[1 - seed // 2 % 2]])  # type: ignore[list-item]
            for one, problem in zip(active, problems, strict=True):
                assert_equals_model(one.result(), TINY, *problem)


def test_chains_side_by_side() -> None:
    """Whole and in windows: the runs of one cluster, in less of the link's time."""
    rng = np.random.default_rng(2)
    for shape, visit in (((8, 16), None), ((10, 20), 20)):
        problem = Problem(labels=5, singleton1=rng.integers(0, 16, shape), constants=rng.integers(0, 16, 5),
                          schedule=Schedule.constant(12.0))
        run = Run(sweeps=40, burn_in=10, seed=4)
        wanted = sample("model", TINY, problem, run, chains=3, visit=visit)
        found = sample("sim://?quick=1", TWO, problem, run, chains=3, visit=visit)
        for one, other in zip(found.results, wanted.results, strict=True):
            assert np.array_equal(one.last, other.last)
            assert np.array_equal(one.counts, other.counts)
            assert one.cycles - one.stall_cycles == other.cycles - other.stall_cycles


def test_a_state_is_gone_on_with_beside_a_run() -> None:
    """On the other cluster, whose log of the sweeps before is dropped while its neighbour's comes."""
    problem, run = tiny_problem(5, sweeps=40)
    pauses = Pauses(sweeps=17)
    with connect("sim://?quick=1", TWO) as session:
        paused = session.places[0].prepare(problem, run, pauses=pauses)
        paused.advance()
        assert (paused.sweeps, paused.finished) == (17, False)
        state = paused.state()
        beside, other = tiny_problem(6, sweeps=300)
        neighbour, again = session.places[0].prepare(beside, other), session.places[1].prepare(problem, run, state=state)
        advance_together([neighbour, again])
        assert_equals_model(neighbour.result(), TINY, beside, other)
        with connect("sim://?quick=1", TINY) as alone:
            wanted = alone.solve(problem, run)
        assert np.array_equal(again.result().counts, wanted.counts)
        assert np.array_equal(again.result().last, wanted.last)


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_runs_go_on_after_the_link_broke(remote: str, order: tuple[int, int]) -> None:
    """Anywhere from loading to the end, again and again, whichever is resumed first; and the next ones after them."""
    broken = 0
    for seed in range(3):
        problems = [tiny_problem(seed + 30 * k, sweeps=200) for k in range(2)]
        pieces = itertools.chain([1 << 20], itertools.count(600 + 331 * seed, 900))
        session = RemoteBackend(TWO, lambda: Breaking(open_link(remote, TWO), next(pieces)), Limits(reconnect=0))  # noqa: B023
        session._link.link.after = 100 + 250 * seed
        active = [place.prepare(*problem) for place, problem in zip(session.places, problems, strict=True)]
        results: dict[int, object] = {}
        try:
            advance_together(active)
        except Broken:
            broken += 1
        for k in order:
            while k not in results:
                try:
                    running = session.places[k]._running
                    results[k] = (session.places[k].solve(*problems[k]) if running is None else session.places[k].resume())
                except Broken:
                    broken += 1
        for k, problem in enumerate(problems):
            assert_equals_model(results[k], TINY, *problem)
        session.close()
    assert broken > 5


def test_diagnose_looks_at_each_cluster(remote: str) -> None:
    checks = list(diagnose(remote, TWO, every=16))
    assert all(check.passed for check in checks), checks
    parts = [[check.part for check in checks if check.part.startswith(f"cluster {k}: ")] for k in range(2)]
    assert [part.replace("0", "1", 1) for part in parts[0]] == parts[1]
    assert len(checks) == 1 + 2 * len(parts[0])


def test_another_number_of_clusters_is_refused(remote: str) -> None:
    """A board of two is none of one, or of four."""
    for clusters in (1, 4):
        with pytest.raises(ChipError, match=r"^the chip's circuit is [0-9a-f]+, not [0-9a-f]+: give the parameters that the chip"):
            connect(remote, TINY.changed(clusters=clusters))
