"""The UART under Icarus."""

from __future__ import annotations

import pytest

from mrfhw.gateware.link.uart import UartReceiver, UartTransmitter
from sim.support.runner import run_bench
from support.refusals import assert_refused


@pytest.mark.parametrize("divisor", [4, 5, 16, *(pytest.param(n, marks=pytest.mark.long) for n in (8, 40))])
def test_receiver(divisor: int) -> None:
    run_bench(UartReceiver(divisor), "receiver", "sim.benches.bench_uart", {"divisor": divisor, "part": "receiver"})


@pytest.mark.parametrize("divisor", [4, 16])
def test_transmitter(divisor: int) -> None:
    run_bench(UartTransmitter(divisor), "transmitter", "sim.benches.bench_uart", {"divisor": divisor, "part": "transmitter"})


@pytest.mark.parametrize("divisor", [3, 65537, 8.0, True])
@pytest.mark.parametrize("part", [UartReceiver, UartTransmitter])
def test_wrong_divisor(part, divisor) -> None:
    assert_refused(lambda: part(divisor), f"divisor is {divisor}; a bit takes 4 to 65536 clock cycles: give a whole number")
