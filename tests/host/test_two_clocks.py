"""A board whose machine has a clock of its own, to the host's own driver; and the clocks that such a board is built with."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import numpy as np
import pytest

from mrfhw.fpga.boards import BOARDS
from mrfhw.fpga.clocks import rates_for
from mrfhw.fpga.errors import BuildError
from mrfhw.fpga.flow import Flow
from mrfhw.gateware.board.board_top import divisor_for
from mrfhw.host.links import SimLink
from mrfhw.host.remote import RemoteBackend
from mrfhw.machine.config import Config
from support.boards import TINY, assert_runs_equal_model

BETWEEN_TWO_CLOCKS = pytest.mark.claim("ClockCrossing",
    "between two clocks of any ratio each access is carried out once, lines keep their order and none that was counted is missed "
    "(more cases: make long)")


@BETWEEN_TWO_CLOCKS
@pytest.mark.parametrize("log_bytes", [pytest.param(2048, marks=pytest.mark.long), 16])
def test_a_machine_with_its_own_clock(log_bytes: int) -> None:
    """Problem after problem, with a log that stalls the machine and one that does not; what is left of a run is dropped."""
    with RemoteBackend(TINY, lambda: SimLink(TINY, quick=True, log_bytes=log_bytes, two_clocks=True)) as session:
        assert_runs_equal_model(session, TINY, 40, 30)


@BETWEEN_TWO_CLOCKS
def test_clocks_of_a_board() -> None:
    """The link's clock comes from the machine's PLL, is at most the board's, and has the serial rate; a machine that is not
    faster than the link has one clock."""
    board = BOARDS["ulx3s-85f"]
    assert board.link_hz is not None
    two = 0
    for mhz in range(30, 140):
        try:
            rates = rates_for(board, mhz * 1_000_000, board.baud)
        except BuildError:
            continue  # a clock that the PLL does not make (tests/fpga/test_pll.py)
        assert rates.pll is not None
        assert (rates.link_post is None) == (mhz * 1_000_000 <= board.link_hz)
        assert rates.divisor == divisor_for(round(rates.link_hz), board.baud)
        if rates.link_post is not None:
            two += 1
            assert board.link_hz / 2 <= rates.link_hz <= board.link_hz
            assert np.isclose(rates.link_hz * rates.link_post, rates.pll.oscillator_hz)
            assert np.isclose(rates.hz * rates.pll.post, rates.pll.oscillator_hz)
    assert two > 15
    slow = dataclasses.replace(board, link_hz=7_000_000)
    with pytest.raises(BuildError, match=r"^baud is 3000000; no clock of 3.5 to 7 MHz that this board's PLL makes beside the "
                                         r"machine's 75 MHz has a divisor within 2 % of it: give another rate or clock$"):
        rates_for(slow, 75_000_000, board.baud)


def test_clocks_of_a_board_with_ethernet() -> None:
    """Beside a machine at the oscillator's own clock, too, the link has one that it can have."""
    board = BOARDS["ecpix5-85f"]
    assert board.link_hz is not None
    for mhz in (40, 60, 90, 95, 100, 105):
        rates = rates_for(board, mhz * 1_000_000, board.baud)
        assert rates.link_hz <= board.link_hz
        assert np.isclose(rates.hz, mhz * 1e6, rtol=1e-3)
        assert (rates.link_post is None) == (mhz * 1_000_000 <= board.link_hz)
    assert rates_for(board, board.oscillator_hz, board.baud).pll is not None


@pytest.mark.parametrize("mhz", [45, 75])
def test_a_clock_of_the_machine_s_own_is_held_back_in_place_of_a_reset(mhz: int, tmp_path: Path) -> None:
    """tests/sim/test_netlist.py simulates what is synthesized of it."""
    board = dataclasses.replace(BOARDS["ulx3s-85f"], sdram=False)
    flow = Flow(board, Config.preset("smallest", mesh_cols=2), mhz * 1_000_000, board.baud, tmp_path)
    flow.write()
    design, script = (tmp_path / "top.il").read_text(), (tmp_path / "top.ys").read_text()
    own = flow.rates.link_post is not None
    assert own == (mhz > 48)
    assert ("cell \\DCCA " in design) == own
    assert ("\nopt_hier\n" in script) == own
    assert (re.search(r"connect \\machine_rst 1'0", design) is not None) == own
