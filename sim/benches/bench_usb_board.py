"""A board at a USB socket: the frames of a UART's board, byte for byte, and the host's own driver through the wires."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np
from cocotb.task import resume
from cocotb.utils import get_sim_time

from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.field.result import Result, first_difference
from mrfhw.gateware.link.usb_core import DATA_ENDPOINT
from mrfhw.host.remote import RemoteBackend
from mrfhw.machine.link_protocol import PACKET_BYTES
from mrfhw.twin import machine
from sim.support.blocking import blocking
from sim.support.runner import bench_config, bench_parameters
from sim.support.usb_host import UsbHost, enumerated, start

WAIT_BITS = 100  # between questions for what is not there yet


class Port:
    """The serial port of an operating system, for `blocking` functions: bytes in packets, asked for as long as somebody waits."""

    name, check = "usb", "the bench"
    datagrams, reconnections = False, 0

    def __init__(self, host: UsbHost):
        self.host = host
        self.sent = self.received = 0

    async def write(self, data: bytes) -> None:
        for at in range(0, len(data), PACKET_BYTES):
            assert await self.host.write(DATA_ENDPOINT, data[at:at + PACKET_BYTES])
        self.sent += len(data)

    async def read(self, seconds: float) -> bytes:
        until = get_sim_time("sec") + seconds
        while not (packet := await self.host.read(DATA_ENDPOINT, 1)):
            if get_sim_time("sec") >= until:
                return b""
            await self.host.idle(WAIT_BITS)
        self.received += len(packet)
        return packet

    def send(self, data: bytes) -> None:
        resume(self.write)(data)

    def receive(self, seconds: float) -> bytes:
        return bytes(resume(self.read)(seconds))

    def clock(self) -> float:
        return float(get_sim_time("sec"))

    def close(self) -> None:
        pass


async def plugged_in(dut: Any) -> Port:
    await start(dut, bench_parameters()["periods"])
    host = UsbHost(dut, 1)
    await enumerated(host)
    return Port(host)


@cocotb.test(timeout_time=40, timeout_unit="ms")
async def frames_as_of_a_uart(dut: Any) -> None:
    """Of requests one after the other: what the same board with a UART has answered."""
    port = await plugged_in(dut)
    for request, answer in bench_parameters()["frames"]:
        wanted, come = bytes.fromhex(answer), b""
        await port.write(bytes.fromhex(request))
        while packet := await port.read(30e-6 if come else 1e-3):
            come += packet
        assert come == wanted, request


@cocotb.test(timeout_time=80, timeout_unit="ms")
async def a_run_by_the_driver(dut: Any) -> None:
    """Labels, histogram, log and the machine's cycles are the model's."""
    port, config = await plugged_in(dut), bench_config()
    rng = np.random.default_rng(3)
    problem = Problem(labels=3, singleton1=rng.integers(0, 16, (3, 5)), constants=rng.integers(0, 16, 3),
                      schedule=Schedule.constant(9.0))
    run = Run(sweeps=10, burn_in=3, seed=5)

    def solve() -> Result:
        with RemoteBackend(config, lambda: port) as session:
            return session.solve(problem, run)

    found, wanted = await blocking(solve), machine.solve(config, problem, run)
    assert (found.cycles or 0) - (found.stall_cycles or 0) == (wanted.cycles or 0) - (wanted.stall_cycles or 0) > 0
    found.cycles, found.stall_cycles = wanted.cycles, wanted.stall_cycles
    difference = first_difference(found, wanted)
    assert difference is None, difference
    assert wanted.messages is not None
    assert len(wanted.messages) > 0
    dut._log.info("%d bytes there, %d back, %.2f ms", port.sent, port.received, 1000 * port.clock())
