"""The crossing between the machine's clock and the link's, under Icarus."""

from __future__ import annotations

import pytest

from mrfhw.gateware.board.clock_crossing import ClockCrossing
from sim.support.runner import run_bench


@pytest.mark.tools
@pytest.mark.claim("ClockCrossing",
    "between two clocks of any ratio each access is carried out once, lines keep their order and none that was counted is missed "
    "(more cases: make long)")
@pytest.mark.parametrize(("periods", "line_bits"), [
    ((20_834, 13_332), 128), ((10_000, 10_000), 32), ((9_974, 41_230), 128), ((50_022, 4_998), 64),
])
def test_clock_crossing(periods: tuple[int, int], line_bits: int) -> None:
    """Link and machine at periods in ps: near each other, the same, and either of them four to ten times as fast."""
    parameters = {"address_bits": 12, "line_bits": line_bits}
    run_bench(ClockCrossing(**parameters), "clock_crossing", "sim.benches.bench_clock_crossing",
              {**parameters, "periods": periods, "seed": periods[0], "lines": 300, "accesses": 600})
