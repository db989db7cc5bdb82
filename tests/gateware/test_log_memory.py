"""The log in memory under Icarus."""

from __future__ import annotations

import pytest

from mrfhw.gateware.log.log_memory import LogMemory
from sim.support.runner import run_bench
from support.refusals import assert_refused

BENCH = "sim.benches.bench_log_memory"


@pytest.mark.tools
@pytest.mark.claim("LogMemory",
    "a queue of lines in memory loses none over hundreds of turns of its ring, and behind is what is inside in every cycle")
@pytest.mark.parametrize(("line_bits", "data_bits", "burst_beats", "base", "blocks", "turns"), [
    (512, 64, 16, 3 * 128, 7, 10), (256, 16, 8, 48, 1, 100), *(pytest.param(*sizes, marks=pytest.mark.long) for sizes in (
        (96, 32, 4, 16, 7, 40), (128, 16, 8, 0, 8, 40), (64, 64, 4, 32, 2, 400), (32, 16, 16, 65536 - 3 * 32, 3, 60),
        (256, 16, 8, 48, 1, 400))),
])
def test_log_memory(line_bits: int, data_bits: int, burst_beats: int, base: int, blocks: int, turns: int) -> None:
    """Rings that are and are no power of two, the last one smaller than a line."""
    parameters = {"line_bits": line_bits, "data_bits": data_bits, "address_bits": 16, "base": base,
                  "size": blocks * burst_beats * data_bits // 8, "burst_beats": burst_beats}
    run_bench(LogMemory(**parameters), "log_memory", BENCH, {**parameters, "turns": turns})


@pytest.mark.parametrize(("arguments", "message"), [
    ((128, 24, 20, 0, 4096, 8), "data_bits is 24; an AXI bus has 8 to 1024 bits"),
    ((120, 16, 20, 0, 4096, 8), "line_bits is 120; a line is whole beats of 16 bits"),
    ((128, 16, 20, 0, 4096, 3), "burst_beats is 3; an AXI burst has 1 to 256 beats, here a power of two"),
    ((128, 16, 20, 0, 0, 8), "size is 0; a ring has 16 to 1048576 bytes, a multiple of a burst's 16: give one of them"),
    ((128, 16, 20, 0, 100, 8), "size is 100; a ring has 16 to 1048576 bytes, a multiple of a burst's 16"),
    ((128, 16, 20, 0, 1 << 21, 8), "size is 2097152; a ring has 16 to 1048576 bytes"),
    ((128, 16, 40, 0, 1 << 32, 8), "size is 4294967296; a ring has 16 to 2147483648 bytes"),
    ((128, 16, 20, 8, 4096, 8), "base is 8; a ring of 4096 bytes begins at 0 to 1044480, at a multiple of a burst's 16 bytes"),
    ((128, 16, 20, 1044496, 4096, 8), "base is 1044496; a ring of 4096 bytes begins at 0 to 1044480"),
    ((128, 16, 20, -16, 4096, 8), "base is -16; a ring of 4096 bytes begins at 0 to 1044480"),
])
def test_wrong_arguments(arguments: tuple[int, int, int, int, int, int], message: str) -> None:
    assert_refused(lambda: LogMemory(*arguments), message)
