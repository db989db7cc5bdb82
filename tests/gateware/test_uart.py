"""The UART under Icarus."""

from __future__ import annotations

import pytest

from mrfhw.gateware.link.uart import UartReceiver, UartTransmitter
from sim.support.runner import run_bench
from support.refusals import assert_refused

EVERY_BYTE_BACK = pytest.mark.claim("UartReceiver",
    "every byte back to back; senders off by 3 % (divisor 16), 2 % (8); spikes outvoted; no byte without a stop bit")


@pytest.mark.tools
@EVERY_BYTE_BACK
@pytest.mark.parametrize("divisor", [4, 5, 16, *(pytest.param(n, marks=pytest.mark.long) for n in (8, 40))])
def test_receiver(divisor: int) -> None:
    run_bench(UartReceiver(divisor), "receiver", "sim.benches.bench_uart", {"divisor": divisor, "part": "receiver"})


@pytest.mark.tools
@pytest.mark.claim(
    "UartTransmitter", "start, eight bits and stop of exactly the divisor's cycles, ten bits a byte, 1 at rest")
@pytest.mark.parametrize("divisor", [4, 16])
def test_transmitter(divisor: int) -> None:
    run_bench(UartTransmitter(divisor), "transmitter", "sim.benches.bench_uart", {"divisor": divisor, "part": "transmitter"})


@EVERY_BYTE_BACK
@pytest.mark.parametrize("divisor", [3, 65537, 8.0, True])
@pytest.mark.parametrize("part", [UartReceiver, UartTransmitter])
def test_wrong_divisor(part, divisor) -> None:
    assert_refused(lambda: part(divisor), f"divisor is {divisor}; a bit takes 4 to 65536 clock cycles: give a whole number")
