"""How fast a link of 3 Mbaud is used, on its own clock: the compiled board's UART, and a USB adapter's latency each way."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from mrfhw.backends.windows import WindowPlan, sweep_windows
from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.host.links import SimLink
from mrfhw.host.remote import RemoteBackend
from mrfhw.machine.derived import Derived
from mrfhw.simulation.board import DIVISOR
from sim.support.delayed_link import DelayedLink
from support.boards import TINY, Waiting, assert_equals_model

pytestmark = pytest.mark.claim("link",
    "log comes at 80 % of the wire's rate with 1 ms of delay each way, and (make long) beside the loading of the next window")

BAUD = 3_000_000
WIRE = BAUD / 10  # bytes a second: 8N1
LATENCY = 0.001


def linked(log_bytes: int = 2048, latency: float = LATENCY) -> DelayedLink:
    return DelayedLink(SimLink(TINY, log_bytes=log_bytes, rate=DIVISOR * BAUD), latency)


def field(rows: int, cols: int) -> Problem:
    rng = np.random.default_rng(1)
    return Problem(labels=8, singleton1=rng.integers(0, 16, (rows, cols)), constants=rng.integers(0, 16, 8),
                   schedule=Schedule.constant(20.0))


@pytest.mark.parametrize(("log_bytes", "latency", "share"), [
    (2048, LATENCY, 0.8),
    pytest.param(8192, 4 * LATENCY, 0.7, marks=pytest.mark.long)])
def test_the_log_fills_the_wire(log_bytes, latency, share) -> None:
    """Of a machine that logs far more than the wire takes."""
    link, problem, run = linked(log_bytes, latency), field(8, 16), Run(sweeps=500, burn_in=0, seed=1)
    with RemoteBackend(TINY, lambda: link) as session:
        session.solve(problem, Run(sweeps=100, burn_in=0))  # frames grow with clean answers
        begun = session._wait
        times = []

        def timed(one) -> Iterator[None]:
            times.append(link.clock())
            yield from begun(one)

        session._wait = timed
        result = session.solve(problem, run)
        seconds = link.clock() - times[0]
        size = result.messages_counted * TINY.line_bits // 8 // Derived.of(TINY).line_messages
        assert size > 50_000
        assert size / seconds > share * WIRE, f"{size / seconds:.0f} bytes a second"
        assert_equals_model(result, TINY, problem, run)


@pytest.mark.long
def test_the_next_window_is_loaded_while_the_log_comes() -> None:
    """With a log memory that holds a visit's log."""
    problem, run = field(16, 28), Run(sweeps=60, burn_in=0, seed=1)
    plan, seconds, results = WindowPlan(TINY, problem), [], []

    for overlapping in (False, True):
        link = linked(1 << 16, 0)
        with RemoteBackend(TINY, lambda link=link: link) as session:
            began = link.clock()
            results.append(sweep_windows(session if overlapping else Waiting(session), plan, run, 60))
            seconds.append(link.clock() - began)
    assert np.array_equal(results[0].counts, results[1].counts)
    assert seconds[1] < 0.9 * seconds[0], seconds
