"""Bytes lost, repeated, cut and changed between host and board: nothing is lost, nothing is done twice, nothing hangs.

The board is the generated machine with its bridge and UART, compiled. The long run:
pytest tests/host/test_link_faults.py --faults 2000
"""

from __future__ import annotations

import itertools
import time
from collections import Counter, deque
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mrfhw.host.links import Link, LinkError, SimLink, open_link
from mrfhw.host.remote import RemoteBackend
from mrfhw.host.remote_chip import RemoteChip
from mrfhw.host.requests import PATIENCE, Limits, Requests
from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.registers import Region
from sim.support.faulty_link import KINDS, FaultyLink
from support.boards import TINY, TINY_OPTIONS, Board, assert_equals_model, board, tiny_problem
from support.breaking import Breaking, Broken

UNMODIFIED_DRIVER_OVER = pytest.mark.claim("BoardTop",
    "the unmodified driver over two wires gives the model's labels, histogram, LMem and messages, faults or not (more cases: make "
    "long)")

RATES = (1e-4, 5e-4, 1e-3, 3e-3)  # faults a byte


class Held(FaultyLink):
    """Faults on a link that stays open."""

    def close(self) -> None:
        pass


@pytest.fixture(scope="module", params=[1, 8], ids=["one request", "eight requests"])
def sim(request) -> Iterator[SimLink]:
    # About a serial port at its usual speed, and fewer cycles to wait for what is lost.
    link = SimLink(TINY, rate=400_000, outstanding=request.param)
    yield link
    link.close()


@pytest.mark.claim("Bridge",
    "the bus sees each access once and in order, the host all of the log, under lost, repeated, cut and changed bytes")
@pytest.mark.claim("WindowBridge",
    "the bus sees each access once and in order, the host all of the log, under lost, repeated, cut and changed bytes")
@settings(max_examples=40, deadline=None, derandomize=True, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(seed=st.integers(0, 2**32), rate=st.sampled_from((0.0, 1e-3, 3e-3, 1e-2)),
       work=st.lists(st.tuples(st.booleans(), st.integers(1, 24)), min_size=1, max_size=12))
def test_accesses_are_carried_out_once(sim, seed, rate, work):
    """A generator's port: a write shifts a word in, a read turns the four words. Once too often or too seldom shows."""
    chip = RemoteChip(greeted(Held(sim, seed, rate)))
    rng = np.random.default_rng(seed)
    address = AddressMap(TINY).tile(1, Region.RANDOM)
    words = deque([1, 2, 3, 4], 4)
    chip.write(np.full(4, address, np.uint32), np.array(words, np.uint32))
    for write, count in work:
        addresses = np.full(count, address, np.uint32)
        if write:
            data = rng.integers(0, 1 << 32, count, np.uint32)
            chip.write(addresses, data)
            words.extend(int(word) for word in data)
        else:
            expected = []
            for _ in range(count):
                expected.append(words[0])
                words.rotate(-1)
            assert chip.read(addresses).tolist() == expected


def greeted(link: Link) -> Requests:
    """A greeting's number is random, so that faults are never quite the same: at one a hundred bytes 2 % of the greetings are lost
    for longer than a board is waited for, all of at least 25 in 50 simulated seconds less often than once in a million runs."""
    requests = Requests(link, Limits().patient(10 * PATIENCE))
    requests.hello()
    return requests


@pytest.mark.claim(
    "FrameReceiver", "frames with the right CRC and no others, whatever comes between; too long ones are dropped")
def test_garbage_before_and_between(sim):
    rng = np.random.default_rng(3)
    for number in range(20):
        sim.send(rng.integers(0, 256, int(rng.integers(1, 3000)), np.uint8).tobytes())
        chip = RemoteChip(greeted(Held(sim, number, 0)))
        assert chip.read(np.arange(2, dtype=np.uint32))[0] == int.from_bytes(b"MRFH", "big")


@UNMODIFIED_DRIVER_OVER
@pytest.mark.claim(
    "LinkedMachine", "the same machine behind two wires and behind a PHY's gives the model's answer (more cases: make long)")
def test_runs_in_one_process(sim):
    for seed in range(10):
        problem, run = tiny_problem(1000 + seed)
        with RemoteBackend(TINY, lambda: Held(sim, seed, RATES[seed % len(RATES)])) as session:  # noqa: B023
            assert_equals_model(session.solve(problem, run), TINY, problem, run)


@pytest.fixture(scope="module", params=[("pty", 8), *(pytest.param(one, marks=pytest.mark.long) for one in (
    ("pty", 1), ("tcp://127.0.0.1:0", 8)))], ids=lambda one: f"{one[0][:3]} {one[1]}")
def remote(request) -> Iterator[Board]:
    listen, outstanding = request.param
    with board(listen, *TINY_OPTIONS, "--outstanding", str(outstanding)) as found:
        yield found


@pytest.mark.slow
@UNMODIFIED_DRIVER_OVER
def test_runs_under_faults(remote, request):
    """Over a pseudo-terminal and over TCP, half of them each; every result is the model's, and every request is answered in time.

    pytest -rP shows the figures.
    """
    faults: Counter[str] = Counter()
    totals: Counter[str] = Counter()
    runs, longest_run, longest_request = request.config.getoption("--faults") // 2, 0.0, 0.0
    for seed in range(runs):
        problem, run = tiny_problem(seed)
        links: list[FaultyLink] = []

        def faulty(seed: int = seed, links: list[FaultyLink] = links) -> FaultyLink:
            links.append(FaultyLink(open_link(remote.address, TINY), seed, RATES[seed % len(RATES)]))
            return links[-1]

        began = time.monotonic()
        with RemoteBackend(TINY, faulty) as session:
            result = session.solve(problem, run)
            longest_request = max(longest_request, session.requests.longest)
        longest_run = max(longest_run, time.monotonic() - began)
        assert_equals_model(result, TINY, problem, run)
        assert len(links) == 1, "the link was made again"
        faults.update(links[0].faults)
        totals.update({name: getattr(result, name) for name in ("repeated_requests", "damaged_frames")})
    print(f"{remote.address.split(':')[0]}: {runs} runs, all the model's; faults {dict(faults)}, {dict(totals)}; "
          f"longest run {longest_run:.1f} s, longest request {longest_request:.1f} s")
    assert faults.total() > 0
    assert set(faults) == set(KINDS) or runs < 100
    assert longest_request < Limits().request


@pytest.mark.slow
@pytest.mark.claim("link", "a run goes on after its link broke, as often as it breaks, and nothing of its log is lost")
def test_resume_goes_on_with_the_run(remote):
    """The link breaks again and again, anywhere from loading to the end; the result is still the model's."""
    resumed = 0
    for seed in range(6):
        problem, run = tiny_problem(seed + 50, sweeps=300)
        pieces = itertools.chain([1 << 20], itertools.count(700 + 331 * seed, 900))
        session = RemoteBackend(TINY, lambda: Breaking(open_link(remote.address, TINY), next(pieces)), Limits(reconnect=0))  # noqa: B023
        session._link.link.after = 150 + 77 * seed
        result = None
        while result is None:
            try:
                result = session.solve(problem, run) if session._running is None else session.resume()
            except Broken:
                resumed += 1
        session.close()
        assert_equals_model(result, TINY, problem, run)
        with pytest.raises(LinkError, match=r"^no run is under way on the board: solve the problem again$"):
            session.resume()
    assert resumed > 12


@pytest.mark.slow
@pytest.mark.claim("link",
    "a link that breaks is made again and the run goes on, in windows or not: nothing lost, nothing done twice, given up in time "
    "(more cases: make long)")
def test_a_start_whose_answer_is_lost_is_one_start(remote, monkeypatch):
    """The run is over before the link is back, and has logged nothing: only the start's own number tells that it was."""
    problem, run = tiny_problem(3, sweeps=1)
    with RemoteBackend(TINY, lambda: Breaking(open_link(remote.address, TINY), 1 << 30), Limits(reconnect=0)) as session:
        start = session.driver.start

        def cut(resume: bool = False) -> None:
            session._link.link.after = 0
            start(resume)

        monkeypatch.setattr(session.driver, "start", cut)
        with pytest.raises(Broken):
            session.solve(problem, run)
        monkeypatch.undo()
        time.sleep(0.5)
        assert_equals_model(session.resume(), TINY, problem, run)
