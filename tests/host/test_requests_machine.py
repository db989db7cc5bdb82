"""Requests and log at a board of the reference, under whatever a link, a board or another host may do, in counted time.

    pytest --long tests/host/test_requests_machine.py                            # 200 hostile boards, half of them in datagrams
    pytest --long tests/host/test_requests_machine.py --hostile-boards 2000

Nothing is carried out twice; the log comes once, in order and whole; no more is granted than the ring holds, and nothing of it is
freed that has not come; no request is larger than the board said, and every wait ends in a stated time, with one line where the
board is gone. FAULTS shows that the test can fail: each is a change of one place of `mrfhw/host/requests.py`, which some short run
of the machine finds. The reference has one request outstanding; boards with more are among those of test_hostile_board.py. When a
request is sent again is tested in test_requests.py.
"""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import HealthCheck, Phase, seed, settings
from hypothesis.stateful import run_state_machine_as_test

from support.long import cases
from support.requests_machine import loaded, machine_of

ONCE = pytest.mark.claim("link",
    "requests are carried out once and in order, log comes once and whole, credits and waits keep their bounds: random hosts, "
    "losses, delays, restarts and other hosts against the reference of a board (more cases: make long)")

WIRES = pytest.mark.parametrize("datagrams", [False, True], ids=["stream", "datagrams"])
SHORT = settings(max_examples=40, stateful_step_count=20, deadline=None, derandomize=True, database=None, print_blob=False,
                 suppress_health_check=list(HealthCheck))


@ONCE
@pytest.mark.slow
@WIRES
def test_requests(datagrams: bool) -> None:
    with loaded("requests") as module:
        run_state_machine_as_test(machine_of(module, datagrams), settings=SHORT)


@ONCE
@pytest.mark.long
@WIRES
def test_many_hostile_boards(datagrams: bool, request: pytest.FixtureRequest) -> None:
    """Each loses, doubles, delays, damages, is started again, or is taken over by another host, in up to 50 steps."""
    boards = request.config.getoption("--hostile-boards") // 2
    with loaded("requests") as module:
        run_state_machine_as_test(seed(boards)(machine_of(module, datagrams)),
                                  settings=settings(SHORT, max_examples=boards, stateful_step_count=50, derandomize=False))


def swap(old: str, new: str) -> Callable[[str], str]:
    def change(source: str) -> str:
        assert source.count(old) == 1, f"{source.count(old)} of {old}"
        return source.replace(old, new)

    return change


# What is put in, and in which words; the first is found in datagrams alone, as streams keep their order.
FAULTS = {
    "frames kept beyond a gap overlap": ("            if known < len(body):\n                self._append(body[known:])",
                                         "            if known < len(body):\n                self._append(body)"),
    "kept frames are not taken": ("            self._append(frame.body[known:])\n            self._take_early()",
                                  "            self._append(frame.body[known:])"),
    "log from the ring's end is refused": ("<= self.greeting.log_bytes", "< self.greeting.log_bytes"),
    "a whole ring of log is refused": ("possible = (end - self._credited)", "possible = 1 + (end - self._credited)"),
    "the smaller of two credits": ("granted = max(granted, ahead)", "granted = min(granted, ahead)"),
    "credit where the last one was": ("exchange.value = self.position", "exchange.value = self.ended"),
    "gaps are half the numbers away": ("if known >= 1 << 31:\n            if", "if known >= 1 << 32:\n            if"),
    "a gap is not asked for": ("flags, due = REWIND if self._gap else 0, self.outstanding", "flags, due = 0, self.outstanding"),
    "silence is never given up": ("if now >= self._heard + first.silence or now", "if now"),
    "log that is announced is awaited since for ever": (" or not self.outstanding or not due:", " or not self.outstanding:"),
    "an end that is rounded": ("if now >= self._heard + first.silence or", "if now - self._heard >= first.silence or"),
    "more is granted than there is": ("granted = min(max(64, short), ring)", "granted = max(64, short)"),
}
QUICK = ("the smaller of two credits", "more is granted than there is", "kept frames are not taken")


@pytest.mark.slow
@pytest.mark.parametrize("name", cases(FAULTS, lambda name: name not in QUICK))
def test_the_machine_finds(name: str) -> None:
    """In a stream or in datagrams. What examples there are goes with what is imported; 150 find the rarest fault three times of
    four, so that 1,000 miss it once in ten thousand."""
    found = []
    for datagrams in (True, False):
        with loaded("requests", swap(*FAULTS[name])) as module:
            try:
                run_state_machine_as_test(machine_of(module, datagrams),
                                          settings=settings(SHORT, max_examples=1000, phases=[Phase.generate],
                                                            report_multiple_bugs=False))
            except Exception as error:  # whatever it breaks
                found.append(error)
                break
    assert found
