"""Seconds of a run by the model of costs, beside compiled boards on their own clocks."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from mrfhw.backends.backend import advance_together
from mrfhw.backends.windows import WindowPlan, WindowRun, sweep_windows
from mrfhw.cost.links import BoardLink
from mrfhw.cost.picture import Visits
from mrfhw.cost.seconds import Delays, RunTime
from mrfhw.driver.driver import Driver
from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.field.result import Result
from mrfhw.host.links import Link, SimEthernetLink, SimLink
from mrfhw.host.remote import RemoteBackend
from mrfhw.host.remote_chip import RemoteChip
from mrfhw.host.requests import Requests
from mrfhw.machine.config import Config
from mrfhw.machine.link_protocol import DATAGRAM_WORDS, ETHERNET_LOG_BYTES, ethernet_words
from mrfhw.placement.placement import place
from mrfhw.simulation.board import CompiledBoard
from mrfhw.simulation.compiled import LINK_HZ
from sim.support.delayed_link import DelayedLink

pytestmark = pytest.mark.claim("costs", "seconds of a run are those of the compiled board, within 10 %")
CLOCK, BAUD, WORDS, RING = 12_000_000, 1_000_000, 32, 256  # of the iCEBreaker
SERIAL = Config.preset("icebreaker")
WIRED = Config.preset("tang-nano-9k").changed(line_bits=64)
WINDOWED = 128  # words of the memories of one with several requests outstanding
LARGE = Config().changed(mesh_rows=1, mesh_cols=2, spus=1, tile_rows=64, tile_cols=64, label_bits=4, data_bits=8, counter_bits=4,
                         line_bits=64, temperature_table=4)
PIECE = 10  # bytes that a simulated serial line gives at a time


class _Serial(SimLink):
    """A compiled board with the iCEBreaker's clock and memories, or others."""

    def __init__(self, words: int = WORDS, outstanding: int = 1) -> None:
        self.rate, self.board = CLOCK, CompiledBoard(SERIAL, CLOCK // BAUD, words, RING, outstanding=outstanding)


def field(rows: int, cols: int, labels: int) -> Problem:
    """Of which some sites keep their label and some do not."""
    rng = np.random.default_rng(1)
    data = np.repeat(np.repeat(rng.integers(0, 16, (rows // 4, cols // 4)), 4, 0), 4, 1) + rng.integers(0, 8, (rows, cols))
    return Problem(labels=labels, singleton1=data, constants=np.arange(labels) * (23 // labels), tau=2, beta=2,
                   schedule=Schedule.constant(6.0))


def solved(config: Config, link: Link, problem: Problem, run: Run) -> tuple[Result, float]:
    with RemoteBackend(config, lambda: link) as session:
        began = link.clock()
        return session.solve(problem, run), link.clock() - began


@pytest.mark.parametrize("delay", [0.0, 0.001, 0.004])
@pytest.mark.parametrize("estimate", ["mode", "mean"])
@pytest.mark.parametrize("kind", ["serial", "ethernet"])
def test_seconds_of_a_run(kind: str, estimate: str, delay: float) -> None:
    serial = kind == "serial"
    config, problem = (SERIAL, field(16, 32, 8)) if serial else (WIRED, field(32, 32, 16))
    run = Run(sweeps=40, burn_in=10, seed=1, estimate=estimate)
    link: Link = _Serial() if serial else SimEthernetLink(config, rate=LINK_HZ)
    result, seconds = solved(config, DelayedLink(link, delay), problem, run)
    board = (BoardLink("serial", BAUD, WORDS, log_bytes=RING) if serial
             else BoardLink("ethernet", words=DATAGRAM_WORDS, log_bytes=ETHERNET_LOG_BYTES))
    found = RunTime.of(config, problem, run, board, CLOCK if serial else LINK_HZ, result.messages_counted or 0,
                       Delays(delay, piece_bytes=PIECE if serial else 0))
    assert estimate == "mean" or (result.messages_counted or 0) > 500
    assert found.seconds == pytest.approx(seconds, rel=0.1)
    assert found.machine_s == pytest.approx((result.cycles - result.stall_cycles) / (CLOCK if serial else LINK_HZ), rel=0.01)


@pytest.mark.parametrize("estimate", ["mode", "mean"])
@pytest.mark.parametrize(("kind", "outstanding", "delay"), [
    ("serial", 8, 0.0), ("serial", 8, 0.001), ("ethernet", 32, 0.0), ("ethernet", 32, 0.001), ("ethernet", 4, 0.001)])
def test_seconds_with_several_requests_outstanding(kind: str, outstanding: int, delay: float, estimate: str) -> None:
    """Phases as well, as a load's requests are under way together and all else waits."""
    serial = kind == "serial"
    config, problem = (SERIAL, field(16, 32, 8)) if serial else (WIRED, field(32, 32, 16))
    run = Run(sweeps=40, burn_in=10, seed=1, estimate=estimate)
    link = _Serial(WINDOWED, outstanding) if serial else SimEthernetLink(config, rate=LINK_HZ, outstanding=outstanding)
    words = (WINDOWED, WINDOWED) if serial else ethernet_words(outstanding)
    board = (BoardLink("serial", BAUD, WINDOWED, log_bytes=RING, outstanding=outstanding) if serial
             else BoardLink("ethernet", words=words[0], response_words=words[1], log_bytes=ETHERNET_LOG_BYTES,
                            outstanding=outstanding))
    result, seconds = solved(config, DelayedLink(link, delay), problem, run)
    found = RunTime.of(config, problem, run, board, CLOCK if serial else LINK_HZ, result.messages_counted or 0,
                       Delays(delay, piece_bytes=PIECE if serial else 0))
    assert found.seconds == pytest.approx(seconds, rel=0.1)


@pytest.mark.parametrize("outstanding", [4, 32])
@pytest.mark.parametrize("delay", [0.0, 0.001])
def test_seconds_of_a_visit(outstanding: int, delay: float) -> None:
    """Loading and reading by themselves, on a machine large enough that its requests do not fit the board at once."""
    config, problem = LARGE, field(64, 128, 16)
    link = DelayedLink(SimEthernetLink(config, rate=LINK_HZ, outstanding=outstanding), delay)
    p = place(config, problem, Run(sweeps=40))
    requests = Requests(link)
    requests.hello()
    driver = Driver(config, RemoteChip(requests))
    for _ in range(2):  # frames grow with clean answers
        seconds = []
        for step in (driver.load, driver.lmem):
            began = link.clock()
            step(p)
            seconds.append(link.clock() - began)
    words = ethernet_words(outstanding)
    board = BoardLink("ethernet", words=words[0], response_words=words[1], log_bytes=ETHERNET_LOG_BYTES, outstanding=outstanding)
    found = RunTime.of(config, problem, p.run, board, LINK_HZ, 0.0, Delays(delay), first=False)
    assert found.load_s == pytest.approx(seconds[0], rel=0.1)
    assert found.read_s == pytest.approx(seconds[1], rel=0.1)


@pytest.mark.parametrize("estimate", ["mode", "mean"])
def test_seconds_of_windows(estimate: str) -> None:
    """Of a field that the machine holds a window at a time; words that it holds from another window are loaded all the same."""
    problem, run = field(24, 48, 8), Run(sweeps=40, burn_in=20, seed=1, estimate=estimate)
    link, plan = DelayedLink(_Serial(), 0.001), WindowPlan(SERIAL, problem)
    assert len(plan.windows) == 4
    with RemoteBackend(SERIAL, lambda: link) as session:
        began = link.clock()
        result = sweep_windows(session, plan, run, 20)
        seconds = link.clock() - began
    messages = (result.messages_counted or 0) / 20
    visits = Visits.of(plan, run, 20).times(BoardLink("serial", BAUD, WORDS, log_bytes=RING), CLOCK, messages,
                                            Delays(0.001, piece_bytes=PIECE), None)
    assert RunTime.of_visits(visits).seconds == pytest.approx(seconds, rel=0.15)


@pytest.mark.parametrize("several", ["clusters", "contexts"])
@pytest.mark.parametrize("sweeps", [40, 400])
def test_seconds_of_chains_side_by_side(sweeps: int, several: str) -> None:
    """One's windows are loaded and read while the other sweeps: with few sweeps the bus is what both wait for, and with many
    contexts wait for the tiles."""
    config = SERIAL.changed(**{several: 2})
    problem, run = field(24, 48, 8), Run(sweeps=sweeps, burn_in=sweeps // 2, seed=1, estimate="mean")
    link, plan = _Serial(), WindowPlan(config, problem)
    link.board.close()
    link.board = CompiledBoard(config, CLOCK // BAUD, WORDS, RING)
    with RemoteBackend(config, lambda: link) as session:
        began = link.clock()
        runs = [WindowRun(place, plan, dataclasses.replace(run, seed=seed), sweeps // 2)
                for seed, place in enumerate(session.places)]
        advance_together(runs)
        results = [one.result() for one in runs]
        seconds = link.clock() - began
    assert all(result.sums is not None for result in results)
    visits = Visits.of(plan, run, sweeps // 2).times(BoardLink("serial", BAUD, WORDS, log_bytes=RING), CLOCK, 0,
                                                     Delays(piece_bytes=PIECE), None)
    chain = RunTime.of_visits(visits)
    assert (chain.of_chains(2, config) > 1.01 * chain.seconds) == (sweeps == 40 or several == "contexts")
    assert chain.of_chains(2, config) < 1.8 * chain.seconds
    assert chain.of_chains(2, config) == pytest.approx(seconds, rel=0.15)


def test_a_mean_whose_sums_are_read_on_the_way() -> None:
    """LMem holds the sums of few sweeps: the answer is read and cleared some times."""
    config = SERIAL.changed(counter_bits=2)
    problem, run = field(16, 32, 8), Run(sweeps=200, burn_in=20, seed=1, estimate="mean")
    link = _Serial()
    link.board.close()
    link.board = CompiledBoard(config, CLOCK // BAUD, WORDS, RING)
    _, seconds = solved(config, DelayedLink(link, 0.001), problem, run)
    found = RunTime.of(config, problem, run, BoardLink("serial", BAUD, WORDS, log_bytes=RING), CLOCK, 0,
                       Delays(0.001, piece_bytes=PIECE))
    assert found.seconds == pytest.approx(seconds, rel=0.1)
    assert found.read_s > 0.1
