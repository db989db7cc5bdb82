"""Links that break and are made again: nothing is lost, nothing is done twice, and what does not come back is given up."""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
import pytest

from mrfhw.backends import plan as backends
from mrfhw.backends.model import ModelBackend
from mrfhw.backends.windows import WindowPlan, sweep_windows
from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.host import connect
from mrfhw.host.links import LinkError, TcpLink, open_link
from mrfhw.host.reconnecting import LONGEST_PAUSE, Reconnecting
from mrfhw.host.remote import RemoteBackend
from support.boards import TINY, TINY_OPTIONS, Board, Waiting, assert_equals_model, board, tiny_problem
from support.plugs import Plug

LINK_BREAKS_MADE = pytest.mark.claim("link",
    "a link that breaks is made again and the run goes on, in windows or not: nothing lost, nothing done twice, given up in time "
    "(more cases: make long)")


@pytest.fixture(scope="module")
def remote() -> Iterator[Board]:
    with board("tcp://127.0.0.1:0", *TINY_OPTIONS, "--outstanding", "8") as found:
        yield found


def wide_problem(seed: int) -> tuple[Problem, Run]:
    """Six windows of `TINY` and more."""
    rng = np.random.default_rng(seed)
    shape, labels = (int(rng.integers(14, 19)), int(rng.integers(33, 40))), 6
    problem = Problem(labels=labels, singleton1=rng.integers(0, 16, shape), constants=rng.integers(0, 16, labels),
                      schedule=Schedule.geometric(20.0, 0.9, 4.0))
    return problem, Run(sweeps=9, burn_in=3, seed=seed)


def random_cuts(seed: int, least: int, most: int, number: int) -> list[tuple[int, float]]:
    rng = np.random.default_rng(seed)
    return [(int(rng.integers(least, most)), float(rng.uniform(0, 0.3))) for _ in range(number)]


@pytest.mark.slow
@LINK_BREAKS_MADE
@pytest.mark.parametrize("kind", ["tcp", "pty"])
@pytest.mark.parametrize("seed", [1, pytest.param(2, marks=pytest.mark.long)])
def test_windows_through_a_plug_that_is_pulled(remote, tmp_path, kind, seed) -> None:
    """Anywhere in loading, running and reading, again and again; also before the log of a visit is here."""
    problem, run = wide_problem(seed)
    wanted = backends.solve("model", TINY, problem, run, visit=3)
    with Plug(remote.address, tmp_path / "port" if kind == "pty" else None, random_cuts(seed, 100, 5000, 12)) as plug:
        found = backends.solve(plug.address, TINY, problem, run, visit=3)
        # Two cuts between which nothing was sent are one to the host.
        assert 3 < found.reconnections <= plug.pulled
    assert found.visits == wanted.visits > 12
    assert np.array_equal(found.counts, wanted.counts)
    assert np.array_equal(found.last, wanted.last)
    assert found.log_messages == wanted.log_messages
    assert found.cycles - found.stall_cycles == wanted.cycles - wanted.stall_cycles


@pytest.mark.slow
@LINK_BREAKS_MADE
@pytest.mark.parametrize("kind", ["tcp", "pty"])
def test_one_run_through_a_plug_that_is_pulled(remote, tmp_path, kind) -> None:
    made = 0
    for seed in range(4):
        problem, run = tiny_problem(seed + 80, sweeps=200)
        with Plug(remote.address, tmp_path / "port" if kind == "pty" else None, random_cuts(seed, 50, 3000, 6)) as plug:
            with connect(plug.address, TINY) as session:
                result = session.solve(problem, run)
            assert_equals_model(result, TINY, problem, run)
            assert result.reconnections <= plug.pulled
            made += result.reconnections
    assert made > 4


@pytest.mark.slow
@LINK_BREAKS_MADE
def test_no_reconnecting_where_none_is_wanted(remote) -> None:
    problem, run = tiny_problem(5, sweeps=4000)
    with Plug(remote.address, cuts=[(3000, 0.1)]) as plug, connect(f"{plug.address}?reconnect=0", TINY) as session:
        with pytest.raises(LinkError, match=r"^the link to tcp://\S+ broke \(the other end closed it\): see that the board is on"):
            session.solve(problem, run)
        assert session.requests.link.reconnections == 0
        while not plug.put > plug.pulled > 0:
            time.sleep(0.01)
        assert_equals_model(session.resume(), TINY, problem, run)


@pytest.mark.slow
@pytest.mark.claim("link",
    "log comes at 80 % of the wire's rate with 1 ms of delay each way, and (make long) beside the loading of the next window")
def test_logs_that_come_while_the_next_problem_is_loaded(remote) -> None:
    """Three runs are begun before the first result is asked for; each has its own log."""
    with connect(remote.address, TINY) as session:
        model = ModelBackend(TINY)
        problems = [tiny_problem(seed + 20, sweeps=30) for seed in range(5)]
        begun = [session.begin(problem, run, fresh=not number) for number, (problem, run) in enumerate(problems)]
        assert session._unread
        for number in (2, 0, 1, 4, 3):  # in any order
            found = begun[number].result()
            problem, run = problems[number]
            assert np.array_equal(found.last, begun[number].last)
            if number == 0:
                assert_equals_model(found, TINY, problem, run)
        for number, (problem, run) in enumerate(problems):
            wanted = model.solve(problem, run, fresh=not number)
            found = begun[number].result()
            assert np.array_equal(found.counts, wanted.counts)
            assert sorted(map(tuple, found.messages)) == sorted(map(tuple, wanted.messages))
        dropped = session.begin(*tiny_problem(9, sweeps=30))
        session.settle()
        if dropped.log is None:
            with pytest.raises(LinkError, match=r"^the log of this run was dropped: solve the problem again$"):
                dropped.result()


class Scripted:
    """A link that says what it is told to. Each piece is bytes or an error."""

    name, check, reconnections, datagrams = "script", "the script", 0, False

    def __init__(self, *pieces: bytes | LinkError):
        self.pieces = list(pieces)
        self.now = 100.0

    def send(self, data: bytes) -> None:
        self.receive(0)

    def receive(self, seconds: float) -> bytes:
        self.now += seconds
        piece = self.pieces.pop(0) if self.pieces else b""
        if isinstance(piece, LinkError):
            raise piece
        return piece

    def clock(self) -> float:
        return self.now

    def close(self) -> None: ...


class Time:
    """Real time that passes when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 0.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now += seconds

    def real(self) -> float:
        return self.now


def reconnecting(seconds: float, *opened: Scripted | LinkError) -> tuple[Reconnecting, Time]:
    clock, left = Time(), list(opened)

    def open_() -> Scripted:
        link = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(link, LinkError):
            raise link
        return link

    return Reconnecting(open_, seconds, clock.sleep, clock.real), clock


BROKE, GONE = LinkError("it broke", "plug it in"), LinkError("there is no port", "name one")


def test_the_clock_stands_still_meanwhile() -> None:
    second = Scripted(b"two")
    second.now = 7.0
    link, clock = reconnecting(10, Scripted(b"one", BROKE), GONE, GONE, second)
    assert link.receive(1) == b"one"
    assert link.receive(2) == b""
    assert link.clock() == pytest.approx(103)
    assert link.receive(4) == b"two"
    assert link.clock() == pytest.approx(107)
    assert link.reconnections == 1
    assert clock.now == pytest.approx(sum(clock.slept)) == pytest.approx(0.1 + 0.2 + 0.4)


def test_a_long_break_is_no_silence_of_the_board() -> None:
    """The links' own clocks go on with real time, as those of ports do."""
    class Real(Scripted):
        def clock(self) -> float:
            return clock.now

    link, clock = reconnecting(30, Real(BROKE), *[GONE] * 12, Real(b"here"))
    assert link.receive(1) == b""
    assert clock.now > 10
    assert link.clock() == pytest.approx(0)
    clock.now += 3
    assert link.clock() == pytest.approx(3)
    assert link.receive(1) == b"here"


@LINK_BREAKS_MADE
def test_a_link_that_stays_away_is_given_up() -> None:
    for call in (lambda link: link.receive(1), lambda link: link.send(b"x")):
        link, clock = reconnecting(10, Scripted(BROKE), GONE)
        with pytest.raises(LinkError, match=r"^it broke and was not back within 10 s \(there is no port\): plug it in$"):
            call(link)
        assert clock.now == pytest.approx(10)
        assert max(clock.slept) <= LONGEST_PAUSE


@LINK_BREAKS_MADE
def test_a_link_that_breaks_whenever_it_is_made_is_given_up() -> None:
    class Useless(Scripted):
        def receive(self, seconds: float) -> bytes:
            raise BROKE

    link, clock = reconnecting(10, Useless())
    with pytest.raises(LinkError, match=r"^it broke and was not back within 10 s: plug it in$"):
        list(iter(lambda: link.receive(1), None))
    assert clock.now == pytest.approx(10)
    assert link.reconnections < 15


def test_bytes_begin_the_patience_anew() -> None:
    link, clock = reconnecting(1, *(Scripted(b"x", BROKE) for _ in range(30)), Scripted(b"end"))
    while link.receive(0) != b"end":
        pass
    assert link.reconnections == 30
    assert clock.slept == pytest.approx([0.1] * 30)


def test_the_address_says_how_long() -> None:
    with pytest.raises(LinkError, match=r"^reconnect is 'soon'; it must be a number of seconds from 0 on: give how long "):
        open_link("tcp://127.0.0.1:1?reconnect=soon", TINY)
    for text in ("-1", "nan", "inf", ""):
        with pytest.raises(LinkError, match=f"^reconnect is '{text}'"):
            connect(f"serial:///dev/missing?baud=9600&reconnect={text}", TINY)


@pytest.mark.slow
def test_windows_without_overlap_are_the_same(remote) -> None:
    """A session that only solves, and one whose logs come later."""
    problem, run = wide_problem(4)
    plan = WindowPlan(TINY, problem)

    found = []
    for overlapping in (True, False):
        with RemoteBackend(TINY, lambda: TcpLink("127.0.0.1", int(remote.address.rsplit(":", 1)[1]))) as session:
            found.append(sweep_windows(session if overlapping else Waiting(session), plan, run, 3))
    assert np.array_equal(found[0].counts, found[1].counts)
    assert np.array_equal(found[0].last, found[1].last)
