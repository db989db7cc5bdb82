"""The SDRAM controller under Icarus, against a memory that knows its data sheet; and that memory against wrong commands."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import pytest

from mrfhw.gateware.board.sdram import SdramController, SdramTiming
from sim.support.runner import BenchError, run_bench
from support.long import cases
from support.refusals import assert_refused

AXI4_MEMORY_EVERY = pytest.mark.claim("SdramController",
    "an AXI4 memory: every byte as written, under idle and back-pressure, by a master and a memory model not of its making")
EVERY_LIMIT_DATA = pytest.mark.claim("SdramController",
    "every limit of the data sheet is kept, in ns, at 25 to 133 MHz, refreshes on time whatever the load; a limit broken is "
    "noticed (each one: make long)")
BEAT_READ_LOST = pytest.mark.claim(
    "ReadAnswers", "no beat read is lost or out of order while the master takes none, up to the longest latency")

BENCH = "sim.benches.bench_sdram"
QUICK = SdramTiming(power_up=1000)  # a simulation need not wait for a voltage
# Clock, timing, read_delay, the memory's clock after the controller's (0: half a cycle), delay of the board; ns.
BOARDS: dict[str, tuple[int, SdramTiming, int, float, float]] = {
    "25 MHz": (25_000_000, QUICK, 0, 0, 4.1),
    "50 MHz": (50_000_000, QUICK, 0, 0, 2.1),
    "50 MHz, CL3, quarter cycle": (50_000_000, replace(QUICK, cas_latency=3), 0, 5, 4.6),
    "100 MHz": (100_000_000, QUICK, 1, 0, 3.9),
    "133 MHz, CL3": (133_333_333, replace(QUICK, cas_latency=3), 1, 0, 4.1),
    "50 MHz, registers on the way": (50_000_000, replace(QUICK, cas_latency=3), 4, 5, 84.6),
}


def run(board: tuple[int, SdramTiming, int, float, float], testcase: str | list[str], memory: SdramTiming | None = None) -> None:
    """memory: the data sheet of the memory where it is not that of the controller."""
    clock_hz, timing, read_delay, lag, delay = board
    run_bench(SdramController(timing, clock_hz, read_delay), "sdram", BENCH, {
        "clock_hz": clock_hz, "read_delay": read_delay, "lag": lag, "delay": delay, "postponed": 1,
        "memory": asdict(memory or timing),
    }, testcase=testcase)


LONG = ("50 MHz", "100 MHz", "133 MHz, CL3", "50 MHz, registers on the way")  # between the others


@pytest.mark.tools
@AXI4_MEMORY_EVERY
@EVERY_LIMIT_DATA
@BEAT_READ_LOST
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.long] if name in LONG else []) for name in BOARDS])
def test_sdram(name: str) -> None:
    run(BOARDS[name], ["traffic_with_pauses", "a_log_at_full_speed", "latency", "single_words_far_apart"])


@pytest.mark.tools
@AXI4_MEMORY_EVERY
@EVERY_LIMIT_DATA
@BEAT_READ_LOST
def test_sdram_at_length() -> None:
    run(BOARDS["50 MHz"], ["every_address_bit", "traffic", "turns", "refreshes_while_a_burst_is_held_up"])


@pytest.mark.tools
@EVERY_LIMIT_DATA
def test_power_up_takes_what_the_data_sheet_says() -> None:
    run((25_000_000, SdramTiming(), 0, 0, 4.1), "the_whole_power_up")


# What the controller believes, what the memory asks, the bench's test, and what the memory says of it.
MISTAKES: dict[str, tuple[dict[str, Any], dict[str, Any], str, str]] = {
    "tRCD": ({"tRCD": 20}, {}, "every_address_bit", "tRCD: write after the activate after 20.000 ns, not 21"),
    "tRP": ({"tRP": 20}, {}, "every_address_bit", "tRP: activate after a precharge after 20.000 ns, not 21"),
    "tRP, refresh": ({"tRP": 20}, {"tRC": 40}, "a_log_at_full_speed", "tRP: refresh after a precharge after 20.000 ns, not 21"),
    "tRAS": ({"tRAS": 40}, {"tRC": 40}, "single_words_far_apart", "tRAS: precharge after the activate after 40.000 ns, not 44"),
    "tRC": ({}, {"tRC": 100}, "single_words_far_apart", "tRC: activate after an activate of the bank after"),
    "tRFC": ({"tRFC": 60}, {}, "refreshes_while_a_burst_is_held_up", "tRFC: activate after a refresh after 60.000 ns, not 70"),
    "tWR": ({"tWR": 10}, {}, "traffic", "tWR: precharge after a write after 10.000 ns, not 20"),
    "tREFI": ({"tREFI": 1100}, {}, "single_words_far_apart", "tREFI: "),
    "power_up": ({}, {"power_up": 5000}, "every_address_bit", "power-up: precharge after"),
    "refreshes_first": ({"refreshes_first": 7}, {}, "every_address_bit", "initialization: 7 refreshes before the first activate"),
    "cas_latency": ({}, {"cas_latency": 3}, "every_address_bit", "mode register: CAS latency 2, not 3"),
    "column_bits": ({"column_bits": 10, "row_bits": 12}, {}, "every_address_bit", " of column "),
    "row_bits": ({}, {"row_bits": 12, "column_bits": 10}, "every_address_bit", "activate of row "),
}
SHORT = replace(QUICK, tREFI=1000)  # begins sooner, refreshes more often


LONG_MISTAKES = ("tRP, refresh", "tRAS", "tRC", "tRFC", "refreshes_first", "row_bits")


@pytest.mark.tools
@EVERY_LIMIT_DATA
@pytest.mark.parametrize("mistake", cases(MISTAKES, LONG_MISTAKES.__contains__))
def test_a_controller_that_breaks_a_rule_is_found(mistake: str) -> None:
    controller, memory, testcase, says = MISTAKES[mistake]
    with pytest.raises(BenchError) as found:
        run((100_000_000, replace(SHORT, **controller), 1, 0, 3.9), testcase, replace(SHORT, **memory))
    assert says in str(found.value)


@pytest.mark.tools
@AXI4_MEMORY_EVERY
@pytest.mark.parametrize(("read_delay", "lag", "delay"), [
    (0, 0, 3.9), (1, 0, 9.2), *(pytest.param(*case, marks=pytest.mark.long) for case in ((2, 0, 3.9), (1, 0, 1.0)))])
def test_data_taken_at_the_wrong_edge_is_wrong(read_delay: int, lag: float, delay: float) -> None:
    """The contract's limits of read_delay and the clock's phase: cycles are 10 ns, tAC is 6, tOH 2.5."""
    with pytest.raises(BenchError, match=r"every_address_bit: 0x"):
        run((100_000_000, SHORT, read_delay, lag, delay), "every_address_bit")


@pytest.mark.tools
@AXI4_MEMORY_EVERY
@pytest.mark.parametrize(("read_delay", "lag", "delay"), [
    (1, 0, 8.9), (0, 2, 0.1), *(pytest.param(*case, marks=pytest.mark.long) for case in ((1, 0, 2.6), (0, 2, 1.9)))])
def test_data_taken_within_the_limits_is_right(read_delay: int, lag: float, delay: float) -> None:
    """Just within: (cas_latency - 1) cycles + lag + tAC + delay to cas_latency cycles + lag + tOH + delay."""
    run((100_000_000, SHORT, read_delay, lag, delay), "every_address_bit")


@pytest.mark.parametrize(("change", "says"), [
    ({"tRCD": 0}, "tRCD is 0; it is nanoseconds, more than 0: give the data sheet's number"),
    ({"tWR": "15"}, "tWR is '15'; it is nanoseconds, more than 0"),
    ({"power_up": float("inf")}, "power_up is inf; it is nanoseconds, more than 0"),
    ({"cas_latency": 4}, "cas_latency is 4; it is a whole number from 2 to 3: give one of them"),
    ({"bank_bits": 3}, "bank_bits is 3; it is a whole number from 1 to 2"),
    ({"row_bits": 14}, "row_bits is 14; it is a whole number from 11 to 13"),
    ({"column_bits": 11}, "column_bits is 11; it is a whole number from 8 to 10"),
    ({"refreshes_first": 1}, "refreshes_first is 1; it is a whole number from 2 to 8"),
])
def test_wrong_timing(change: dict[str, Any], says: str) -> None:
    assert_refused(lambda: SdramTiming(**change), says)


@pytest.mark.parametrize(("arguments", "says"), [
    ((None, 50_000_000), "timing is None; the memory is described by an SdramTiming: give one"),
    ((QUICK, 19_999_999), "clock_hz is 19999999; a clock has 20000000 to 133333333 Hz: give a whole number between them"),
    ((QUICK, 5e7), "clock_hz is 50000000.0; a clock has"),
    ((QUICK, 100_000_001), "clock_hz is 100000001; a CAS latency of 2 takes a cycle of 10 ns: give a slower clock"),
    ((QUICK, 50_000_000, 5), "read_delay is 5; read data comes 0 to 4 cycles late: give a whole number between them"),
    ((QUICK, 50_000_000, -1), "read_delay is -1; read data comes 0 to 4 cycles late"),
    ((replace(QUICK, tREFI=400), 50_000_000), "tREFI is 400; opening a row and a refresh take 11 cycles of 50000000 Hz, half the"),
])
def test_wrong_controller(arguments: tuple[Any, ...], says: str) -> None:
    assert_refused(lambda: SdramController(*arguments), says)


def test_cycles_keep_the_limits() -> None:
    timing = SdramTiming()
    assert [timing.cycles(name, 100_000_000) for name in ("tRCD", "tRP", "tRAS", "tRC", "tRFC", "tWR", "tMRD", "tREFI")] == [
        3, 3, 5, 7, 7, 2, 2, 780]
    assert [timing.cycles(name, 25_000_000) for name in ("tRCD", "tRAS", "tRC", "tWR", "tMRD", "tREFI")] == [1, 2, 2, 1, 2, 195]
    assert timing.cycles("power_up", 50_000_000) == 10_000
    assert replace(timing, tRCD=20).cycles("tRCD", 50_000_000) == 1
    assert replace(timing, tRCD=20.001).cycles("tRCD", 50_000_000) == 2
