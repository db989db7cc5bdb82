"""The writer of the log's ring under Icarus."""

from __future__ import annotations

import pytest

from mrfhw.gateware.log.log_writer import LogWriter
from sim.support.runner import run_bench
from support.refusals import assert_refused

EVERY_LINE_LOG = pytest.mark.claim("LogWriter",
    "every line at the log index in a ring in memory, in legal bursts, at a beat a cycle, whatever memory does; nothing "
    "overwritten before it is freed")

BENCH = "sim.benches.bench_log_writer"


@pytest.mark.tools
@EVERY_LINE_LOG
@pytest.mark.parametrize(("line_bits", "data_bits", "burst_beats"), [
    (64, 64, 4), (96, 32, 4), *(pytest.param(*sizes, marks=pytest.mark.long) for sizes in (
        (512, 64, 16), (128, 16, 8), (32, 16, 16), (512, 128, 16))),
])
def test_log_writer(line_bits: int, data_bits: int, burst_beats: int) -> None:
    parameters = {"line_bits": line_bits, "data_bits": data_bits, "address_bits": 16, "burst_beats": burst_beats}
    run_bench(LogWriter(**parameters), "log_writer", BENCH, parameters)


@pytest.mark.tools
@EVERY_LINE_LOG
@pytest.mark.parametrize(("line_bits", "data_bits", "burst_beats"), [
    (64, 32, 1), (512, 512, 64), *(pytest.param(*sizes, marks=pytest.mark.long) for sizes in ((24, 8, 2), (64, 8, 256)))])
def test_least_and_most(line_bits: int, data_bits: int, burst_beats: int) -> None:
    """Bursts of one beat and two, of 4096 bytes, and of 256 beats."""
    parameters = {"line_bits": line_bits, "data_bits": data_bits, "address_bits": 16, "burst_beats": burst_beats}
    run_bench(LogWriter(**parameters), "log_writer", BENCH, parameters,
              testcase=["rate", "runs_without_pauses", "full_ring", "random_pauses", "stress"])


@pytest.mark.parametrize(("arguments", "message"), [
    ((128, 24, 20, 8), "data_bits is 24; an AXI bus has 8 to 1024 bits"),
    ((40, 16, 20, 8), "line_bits is 40; a line is whole beats of 16 bits: give a multiple of 16"),
    ((16, 32, 20, 8), "line_bits is 16; a line is whole beats of 32 bits"),
    ((128, 16, 20, 12), "burst_beats is 12; an AXI burst has 1 to 256 beats, here a power of two"),
    ((128, 16, 20, 512), "burst_beats is 512; an AXI burst has 1 to 256 beats"),
    ((512, 512, 20, 128), "burst_beats is 128; 128 beats of 512 bits are 8192 bytes, and a burst has 4096 at most: give 64 or "
     "fewer"),
    ((128, 16, 3, 8), "address_bits is 3; a block of 16 bytes needs 4, and an AXI address has 64 at most"),
    ((128, 16, 65, 8), "address_bits is 65; a block of 16 bytes needs 4, and an AXI address has 64 at most"),
])
def test_wrong_arguments(arguments: tuple[int, int, int, int], message: str) -> None:
    assert_refused(lambda: LogWriter(*arguments), message)
