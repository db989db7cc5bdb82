"""USB wires under Icarus, against a host of the benches' own: a serial port, and a whole board behind it."""

from __future__ import annotations

import os
import subprocess
import sys
from types import SimpleNamespace

import pytest

from mrfhw.gateware.link.usb import UsbSerial
from mrfhw.generation.modules import component_verilog
from mrfhw.generation.verilog import TOP, usb_board_text
from mrfhw.host.links import SimLink
from mrfhw.machine.link_protocol import Operation, encode
from sim.support.runner import run_bench
from sim.support.usb_host import socket
from support.boards import TINY

USB_WIRES_SAME = pytest.mark.claim("UsbTop",
    "at USB's wires the same board answers every frame with the same bytes as at a UART's; the driver's run is the model's (make "
    "long)")

pytest.importorskip("luna", reason="USB needs luna-usb: pip install 'mrfhw[usb]'", exc_type=ModuleNotFoundError)

PASSED = {"received_payload": ("output", 8), "received_valid": ("output", 1), "received_ready": ("input", 1),
          "sent_payload": ("input", 8), "sent_valid": ("input", 1), "sent_ready": ("output", 1)}


@pytest.mark.tools
@pytest.mark.claim("PacketEnds",
    "what comes without a pause is sent in full packets and a shorter one, an empty one where needed, and no byte waits for others")
@pytest.mark.claim("UsbSerial",
    "a CDC-ACM serial port to a host of our own making: every byte once and in order under lost and damaged packets, waits and "
    "resets")
@pytest.mark.parametrize(("seed", "sync", "thorough"), [
    (1, 100_000, False),
    *(pytest.param(seed, sync, True, marks=pytest.mark.long) for seed, sync in ((2, 22_222), (3, 10_000)))])
def test_serial_port(seed: int, sync: int, thorough: bool) -> None:
    """sync: the period of the board's clock in ps. Edges of the clocks of bits and of samples come together."""
    serial = UsbSerial()
    text = component_verilog(serial, "usb_serial") + socket("usb_socket", "usb_serial", PASSED)
    periods = {"sync": sync, "usb_io": 20_834, "usb": 83_336}
    run_bench(serial, "usb_socket", "sim.benches.bench_usb", {"seed": seed, "periods": periods, "thorough": thorough},
              verilog=text)


@pytest.mark.slow
def test_the_same_verilog_each_time() -> None:
    """Whatever order sets of words have in a process."""
    program = ("from mrfhw.gateware.link.usb import UsbSerial; from mrfhw.generation.modules import component_verilog; "
               "print(component_verilog(UsbSerial(), 'usb'))")
    texts = {subprocess.run([sys.executable, "-c", program], env={**os.environ, "PYTHONHASHSEED": seed}, check=True,
                            capture_output=True).stdout for seed in ("1", "2")}
    assert len(texts) == 1
    assert len(texts.pop()) > 100_000


def _read(number: int, count: int, address: int) -> bytes:
    return encode(Operation.READ, number, 0, count.to_bytes(4, "little") + address.to_bytes(4, "little"))


# A hello, one register and several, an address that nothing has, a request out of turn, one that is none; a frame of many packets.
REQUESTS = [encode(Operation.HELLO, 7, 0x1234), _read(8, 1, 0), _read(9, 8, 0), _read(10, 1, 0x3FFF), _read(77, 1, 0),
            encode(Operation.HELLO, 8, 0x55), encode(0x30, 9, 0), _read(10, 30, 0)]


def board_at_usb(testcase: str, frames: list[tuple[str, str]]) -> None:
    """Of slow clocks, the machine's another than the link's, so that the simulation is of the wires for the most part."""
    machine = {"machine_clk": ("input", 1), "machine_rst": ("input", 1)}
    text = usb_board_text(TINY, two_clocks=True) + socket("usb_socket", TOP, machine)
    periods = {"sync": 100_000, "usb_io": 20_834, "usb": 83_336, "machine": 130_000}
    run_bench(SimpleNamespace(config=TINY), "usb_socket", "sim.benches.bench_usb_board",
              {"periods": periods, "frames": frames}, testcase, text)


@pytest.mark.tools
@USB_WIRES_SAME
def test_board() -> None:
    uart, frames = SimLink(TINY, quick=True), list[tuple[str, str]]()
    for request in REQUESTS:
        uart.send(request)
        answer = b""
        while more := uart.receive(0.001):
            answer += more
        frames.append((request.hex(), answer.hex()))
    uart.close()
    assert all(answer for _, answer in frames)
    board_at_usb("frames_as_of_a_uart", frames)


@pytest.mark.tools
@USB_WIRES_SAME
@pytest.mark.long
def test_a_run_by_the_driver() -> None:
    board_at_usb("a_run_by_the_driver", [])
