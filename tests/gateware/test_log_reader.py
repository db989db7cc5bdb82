"""The reader of the log's ring under Icarus."""

from __future__ import annotations

import pytest

from mrfhw.gateware.log.log_reader import LogReader
from sim.support.runner import run_bench
from support.refusals import assert_refused

RING_LINES_ORDER = pytest.mark.claim(
    "LogReader", "the ring's lines in order, each byte read once and none before memory has acknowledged it")

BENCH = "sim.benches.bench_log_reader"


@pytest.mark.tools
@RING_LINES_ORDER
@pytest.mark.parametrize(("line_bits", "data_bits", "burst_beats"), [
    (64, 64, 4), (96, 32, 4), *(pytest.param(*sizes, marks=pytest.mark.long) for sizes in (
        (512, 64, 16), (128, 16, 8), (32, 16, 16), (512, 128, 16))),
])
def test_log_reader(line_bits: int, data_bits: int, burst_beats: int) -> None:
    parameters = {"line_bits": line_bits, "data_bits": data_bits, "address_bits": 16, "burst_beats": burst_beats}
    run_bench(LogReader(**parameters), "log_reader", BENCH, parameters)


@pytest.mark.tools
@RING_LINES_ORDER
@pytest.mark.parametrize(("line_bits", "data_bits", "burst_beats"), [
    (64, 32, 1), (512, 512, 64), *(pytest.param(*sizes, marks=pytest.mark.long) for sizes in ((24, 8, 2), (64, 8, 256)))])
def test_least_and_most(line_bits: int, data_bits: int, burst_beats: int) -> None:
    """Bursts of one beat and two, of 4096 bytes, and of 256 beats."""
    parameters = {"line_bits": line_bits, "data_bits": data_bits, "address_bits": 16, "burst_beats": burst_beats}
    run_bench(LogReader(**parameters), "log_reader", BENCH, parameters, testcase=["rate", "lines_not_taken", "random_pauses"])


@pytest.mark.parametrize(("arguments", "message"), [
    ((128, 24, 20, 8), "data_bits is 24; an AXI bus has 8 to 1024 bits"),
    ((40, 16, 20, 8), "line_bits is 40; a line is whole beats of 16 bits: give a multiple of 16"),
    ((128, 16, 20, 0), "burst_beats is 0; an AXI burst has 1 to 256 beats, here a power of two"),
    ((128, 16, 3, 8), "address_bits is 3; a block of 16 bytes needs 4, and an AXI address has 64 at most"),
])
def test_wrong_arguments(arguments: tuple[int, int, int, int], message: str) -> None:
    assert_refused(lambda: LogReader(*arguments), message)
