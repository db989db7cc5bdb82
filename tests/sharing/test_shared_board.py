"""A board that programs share: bits are those of a board alone, whoever has it in between; shares go by weights."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from mrfhw.backends.backend import Pauses
from mrfhw.backends.plan import solve
from mrfhw.backends.registry import backend_type
from mrfhw.cli import main
from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.field.result import Result
from mrfhw.host.links import LinkError
from mrfhw.machine.config import Config, ConfigError
from mrfhw.runs.chains import sample
from mrfhw.runs.checkpoint import Keeping
from mrfhw.sharing.board import Seat, SharedBoard
from mrfhw.sharing.policies import Clusters, Contexts, WeightedFair
from mrfhw.sharing.policy import Policy
from mrfhw.sharing.serving import listening
from mrfhw.system.errors import ProblemError
from support.boards import TINY, TINY_OPTIONS, board
from support.refusals import assert_one_line

SHARED = pytest.mark.claim(
    "sharing", "runs on a board that several programs share have the bits of a board alone, and shares go by weights")


def field(rows: int, cols: int, seed: int = 1, schedule: Schedule | None = None) -> Problem:
    rng = np.random.default_rng(seed)
    return Problem(labels=5, singleton1=rng.integers(0, 16, (rows, cols)), constants=rng.integers(0, 16, 5),
                   schedule=schedule or Schedule.constant(8.0))


WHOLE, WINDOWS = (8, 16), (20, 24)


@contextlib.contextmanager
def shared(path: Path, config: Config, policy: Policy, turn: int = 20, chip: str = "rtl") -> Iterator[SharedBoard]:
    """A compiled chip, or a compiled board with its link, driven by a thread."""
    with backend_type(chip).open(chip, config, 10_000_000) as backend:
        board = SharedBoard(backend, policy, turn)
        with listening(board, path):
            thread = threading.Thread(target=board.serve)
            thread.start()
            try:
                yield board
            finally:
                board.close()
                thread.join()


def equal(one: Result, other: Result) -> None:
    assert np.array_equal(one.last, other.last)
    for name in ("counts", "sums"):
        mine, others = getattr(one, name), getattr(other, name)
        assert (mine is None) == (others is None)
        assert mine is None or np.array_equal(mine, others)
    assert (one.messages_counted, one.visits) == (other.messages_counted, other.visits)


@SHARED
@pytest.mark.parametrize(("chip", "several", "policy"), [
    ("rtl", {}, "fair"), ("rtl", {"clusters": 2}, "in order"), ("rtl", {"contexts": 2}, "fair"),
    pytest.param("sim://", {"clusters": 2}, "fair", marks=pytest.mark.slow)])
def test_bits_are_those_of_a_board_alone(tmp_path: Path, chip: str, several: dict[str, int], policy: str) -> None:
    """Fields that it holds whole and in windows, histograms and sums, a changing temperature, all at once."""
    config = TINY.changed(**several)
    cooling = Schedule.geometric(20.0, 0.9, 4.0)
    asked = [(field(*WHOLE), Run(sweeps=65, burn_in=10, seed=1)), (field(*WINDOWS, 2), Run(sweeps=45, burn_in=5, seed=2)),
             (field(*WHOLE, 3), Run(sweeps=50, burn_in=5, seed=3, estimate="mean")),
             (field(*WINDOWS, 4, cooling), Run(sweeps=30, burn_in=25, seed=4)), (field(*WINDOWS, 5), Run(sweeps=25, seed=5))]
    made = Clusters(config.seats) if policy == "in order" else WeightedFair(config.seats, contexts=1)
    path = tmp_path / "board"
    with shared(path, config, made, 7, chip) as having, ThreadPoolExecutor(len(asked)) as pool:
        address = f"shared://{path}"
        found = list(pool.map(lambda one: solve(f"{address}?owner={one[1].seed}", config, *one, visit=4), asked))
        assert [tenant.working for tenant in having._tenants] == [0] * len(asked)
    for one, result in zip(asked, found, strict=True):
        equal(result, solve("model", TINY, *one, visit=4))


@SHARED
def test_chains_and_checkpoints(tmp_path: Path) -> None:
    """Chains of a run side by side on clusters, stopped and gone on with, while another has the board as well."""
    config, path, kept = TINY.changed(clusters=2), tmp_path / "board", tmp_path / "kept.npz"
    problem, run = field(*WINDOWS, 7), Run(sweeps=60, burn_in=20, seed=3)
    wanted = sample("model", TINY, problem, run, chains=2, visit=10, traced=False).results
    with shared(path, config, WeightedFair(2, contexts=1)), ThreadPoolExecutor(1) as pool:
        address = f"shared://{path}"
        beside = pool.submit(solve, f"{address}?owner=other", config, field(*WHOLE, 8), Run(sweeps=400, seed=5))
        found = sample(address, config, problem, run, chains=2, visit=10, traced=False,
                       keeping=Keeping(path=kept, pauses=Pauses(sweeps=20))).results
        assert kept.exists()
        again = sample(address, config, problem, run, chains=2, visit=10, traced=False, keeping=Keeping(resume=kept)).results
        equal(beside.result(), solve("model", TINY, field(*WHOLE, 8), Run(sweeps=400, seed=5)))
    for results in (found, again):
        for one, other in zip(results, wanted, strict=True):
            equal(one, other)


@SHARED
@pytest.mark.parametrize("weights", [(1, 1), (3, 1)])
def test_shares_go_by_weights(tmp_path: Path, weights: tuple[int, int]) -> None:
    """Of the cycles that both have had when the first is done; each has more than it can get."""
    path = tmp_path / "board"
    with shared(path, TINY, WeightedFair(1, contexts=1)) as having, ThreadPoolExecutor(2) as pool:
        seen: list[tuple[int, ...]] = []
        ended = threading.Event()

        def one(number: int) -> None:
            def told(sweeps: int, labels: np.ndarray, energy: float | None) -> None:
                if len(having._tenants) == 2 and not ended.is_set():
                    seen.append(tuple(tenant.cycles for tenant in having._tenants))

            solve(f"shared://{path}?owner={number}&weight={weights[number]}", TINY, field(*WINDOWS, number),
                  Run(sweeps=240, seed=1, estimate="last"), observe=told, visit=20)
            ended.set()

        list(pool.map(one, (0, 1)))
        owners = [having._chip.jobs[tenant.number].owner for tenant in having._tenants]
    first, last = np.array(seen[2]), np.array(seen[-1])
    had = dict(zip(owners, last - first, strict=True))
    assert had["0"] / (had["0"] + had["1"]) == pytest.approx(weights[0] / sum(weights), abs=0.05)


@SHARED
def test_a_program_that_goes_and_one_that_asks_wrongly(tmp_path: Path) -> None:
    """The others notice nothing."""
    path = tmp_path / "board"
    with shared(path, TINY, WeightedFair(1, contexts=1)) as having, ThreadPoolExecutor(2) as pool:
        address = f"shared://{path}"

        def die(sweeps: int) -> None:
            raise RuntimeError("killed")

        def killed() -> None:
            with pytest.raises(RuntimeError, match="killed"):
                solve(address, TINY, field(*WINDOWS), Run(sweeps=4000, seed=1), progress=die, visit=10)

        dying = pool.submit(killed)
        run = Run(sweeps=200, burn_in=10, seed=6)
        equal(solve(f"{address}?owner=other", TINY, field(*WHOLE, 6), run), solve("model", TINY, field(*WHOLE, 6), run))
        dying.result()
        for number in range(6):  # those that come have the numbers of those that went
            solve(f"{address}?owner={number}", TINY, field(*WHOLE, 6), Run(sweeps=2, seed=1))
        assert len(having._tenants) <= 5
        with pytest.raises(ConfigError, match="the shared board has another machine than the one that is asked for"):
            solve(address, TINY.changed(counter_bits=3), field(*WHOLE), run)
        having.tenant("a", 1.0).working = 1
        with pytest.raises(ProblemError, match=r"weight is 2 for job 'a' of owner 'a'; the owner has 1 for another"):
            having.tenant("a", 2.0)
    with pytest.raises(LinkError, match=r"no board is shared at .*: see that mrfhw share runs"):
        solve(address, TINY, field(*WHOLE), run)


@SHARED
@pytest.mark.slow
def test_a_board_that_is_lost(tmp_path: Path) -> None:
    """Whoever waits for it is told."""
    path, began = tmp_path / "board", threading.Semaphore(0)

    def one(number: int) -> str:
        with pytest.raises(LinkError) as raised:
            solve(f"shared://{path}?owner={number}", TINY, field(*WHOLE, number), Run(sweeps=1_000_000, estimate="last"),
                  progress=lambda sweeps: began.release())
        return str(raised.value)

    with board("tcp://127.0.0.1:0", *TINY_OPTIONS) as real, ThreadPoolExecutor(2) as pool:
        address = f"{real.address}?reconnect=0&patience=4"
        with shared(path, TINY, WeightedFair(1, contexts=1), chip=address):
            running = [pool.submit(one, number) for number in (0, 1)]
            assert began.acquire(timeout=60)
            real.process.kill()
            said = [each.result(timeout=60) for each in running]
    assert all("127.0.0.1" in line and "\n" not in line for line in said)


def test_policies_that_a_board_cannot_follow() -> None:
    class _Of:
        places = (object(),)
        config = TINY

    for policy, says in ((Contexts(), "is for 1 clusters with 2 contexts; the board has 1 with 1"), (Clusters(2), "is for 2")):
        with pytest.raises(ProblemError, match=says):
            SharedBoard(_Of(), policy)  # type: ignore[arg-type]
    assert Seat.software is False


@pytest.mark.parametrize(("words", "says"), [
    (["cpu", "x"], "board is cpu; programs that want it have one each"),
    (["shared:///x", "x"], "board is shared:///x, which is shared already"),
    (["rtl", "x", "--turn", "0"], "turn is 0; a program has at least one sweep at a time"),
    (["rtl", "/" + 100 * "x"], "/x+ has 101 bytes; a socket's path has 100 at most"),
    (["serial:///dev/nothing", "x"], "there is no port /dev/nothing"),
])
def test_wrong_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str], says: str) -> None:
    monkeypatch.chdir(tmp_path)
    assert_one_line(CliRunner().invoke(main, ["share", *words]), says)
    assert not list(tmp_path.iterdir())
