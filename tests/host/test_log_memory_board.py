"""A board whose log passes through a memory, to the host's own driver."""

from __future__ import annotations

import pytest

from mrfhw.host.links import SimLink
from mrfhw.host.remote import RemoteBackend
from mrfhw.machine.derived import Derived
from mrfhw.placement.placement import Placement
from support.boards import TINY, assert_equals_model, tiny_problem

SMALL_RING = 64  # bytes between memory and link, so that the log waits in the memory


@pytest.mark.parametrize("memory_bytes", [1 << 8, pytest.param(1 << 14, marks=pytest.mark.long)])
def test_the_log_waits_in_memory(memory_bytes: int) -> None:
    """Problem after problem: the model's results; a memory that holds a run's log keeps the machine from stalling."""
    def link() -> SimLink:
        return SimLink(TINY, quick=True, log_bytes=SMALL_RING, memory_bytes=memory_bytes)

    stalls = 0
    with RemoteBackend(TINY, link) as session:
        for seed in range(3):
            problem, run = tiny_problem(seed, 100)
            result = session.solve(problem, run)
            stalled = result.stall_cycles
            model = assert_equals_model(result, TINY, problem, run)
            assert 1 << 9 < len(model.messages) * Derived.of(TINY).message_bits // 8 < 1 << 14
            stalls += stalled - model.stall_cycles
    assert (stalls == 0) == (memory_bytes == 1 << 14), stalls


def test_what_is_left_of_a_run_is_dropped() -> None:
    """A session that is left in the middle; the next one settles first, though its log is still in the memory."""
    links = [SimLink(TINY, quick=True, log_bytes=SMALL_RING, memory_bytes=1 << 14)]
    problem, run = tiny_problem(4, 60)
    session = RemoteBackend(TINY, lambda: links[0])
    session.driver.load(Placement(TINY, problem, run))
    session.driver.start()
    links[0].board.run(50_000, 50_000)
    with RemoteBackend(TINY, lambda: links[0]) as again:
        other, other_run = tiny_problem(5)
        assert_equals_model(again.solve(other, other_run), TINY, other, other_run)
