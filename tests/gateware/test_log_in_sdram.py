"""The log in an SDRAM under Icarus."""

from __future__ import annotations

import pytest

from mrfhw.gateware.board.sdram import SdramTiming
from sim.support.log_in_sdram import LogInSdram
from sim.support.runner import run_bench

QUICK = {"power_up": 2000}  # ns; the whole wait is the controller's own bench's


@pytest.mark.tools
@pytest.mark.parametrize(("line_bits", "clock_hz", "burst_beats"), [
    (128, 45_000_000, 64), pytest.param(64, 50_000_000, 8, marks=pytest.mark.long)])
def test_log_in_sdram(line_bits: int, clock_hz: int, burst_beats: int) -> None:
    shape = {"line_bits": line_bits, "clock_hz": clock_hz, "size": 2048, "burst_beats": burst_beats}
    run_bench(LogInSdram(timing=SdramTiming(**QUICK), **shape), "log_in_sdram", "sim.benches.bench_log_in_sdram",
              {**shape, "timing": QUICK})
