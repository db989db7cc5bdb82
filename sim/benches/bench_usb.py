"""UsbSerial: enumerated as a serial port, then bytes both ways, each once and in order, whatever a wire does to packets."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import ReadOnly, RisingEdge, Timer
from cocotb.utils import get_sim_time

from mrfhw.gateware.link.usb_core import (
    CONFIGURATION,
    DATA_ENDPOINT,
    PRODUCT_ID,
    SET_CONTROL_LINE_STATE,
    SET_LINE_CODING,
    STATUS_ENDPOINT,
    VENDOR_ID,
)
from mrfhw.machine.link_protocol import PACKET_BYTES
from sim.support.runner import bench_parameters
from sim.support.streams import Rhythm
from sim.support.usb_host import BIT_PS, UsbHost, enumerated, start

SIZES = [0, 1, 2, 3, 7, 8, 31, 32, 33, 62, 63, 64]  # of packets


class Board:
    """What is behind the component: takes bytes from the host and gives others, at a rhythm that may change."""

    def __init__(self, dut: Any, seed: int):
        self.dut, self.rng = dut, np.random.default_rng(seed)
        self.come, self.given = bytearray(), 0
        self.to_send = bytearray()
        self.taking, self.giving = Rhythm(self.rng, 1), Rhythm(self.rng, 1)

    async def take(self) -> None:
        dut = self.dut
        while True:
            await RisingEdge(dut.clk)
            dut.received_ready.value = int(self.taking())
            await ReadOnly()
            if dut.received_ready.value and dut.received_valid.value:
                self.come.append(int(dut.received_payload.value))

    async def give(self) -> None:
        dut, offered = self.dut, False
        while True:
            await RisingEdge(dut.clk)
            if offered and self.ready:
                self.given += 1
                offered = False
            offered = self.given < len(self.to_send) and (offered or self.giving())
            dut.sent_valid.value = int(offered)
            dut.sent_payload.value = self.to_send[self.given] if offered else 0
            await ReadOnly()
            self.ready = bool(dut.sent_ready.value)

    ready = False


async def plugged_in(dut: Any, wanted: Sequence[tuple[int, int]] = (), **host: Any) -> tuple[UsbHost, Board]:
    """A host that has found its serial port, and the board behind it."""
    seed = bench_parameters()["seed"]
    board = Board(dut, seed)
    dut.received_ready.value = dut.sent_valid.value = dut.sent_payload.value = 0
    await start(dut, bench_parameters()["periods"])
    cocotb.start_soon(board.take())
    cocotb.start_soon(board.give())
    found = UsbHost(dut, seed, **host)
    await enumerated(found, wanted)
    return found, board


def random_bytes(rng: np.random.Generator, count: int) -> bytes:
    """Also such as take many stuffed bits."""
    values = rng.choice([0xFF, 0x7E, 0x00], count) if rng.random() < 0.3 else rng.integers(0, 256, count)
    return bytes(values.astype(np.uint8))


async def all_read(host: UsbHost, board: Board, count: int) -> list[bytes]:
    """Packets until so many bytes have come."""
    packets: list[bytes] = []
    while sum(map(len, packets)) < count:
        packet = await host.read(DATA_ENDPOINT)
        assert packet is not None
        packets.append(packet)
    return packets


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def found_as_a_serial_port(dut: Any) -> None:
    """Its descriptors are those of a CDC-ACM device, as Linux' cdc_acm looks for them; what it does not know it refuses."""
    host, _ = await plugged_in(dut, ((1, 0), (2, 0), (3, 1), (3, 2)))
    device = host.descriptors[1, 0]
    assert device[:2] == bytes([18, 1])
    assert device[4:8] == bytes([0xEF, 2, 1, 64])
    assert (int.from_bytes(device[8:10], "little"), int.from_bytes(device[10:12], "little")) == (VENDOR_ID, PRODUCT_ID)
    whole, parts = host.descriptors[2, 0], []
    assert int.from_bytes(whole[2:4], "little") == len(whole)
    assert (whole[4], whole[5]) == (2, CONFIGURATION)
    at = 0
    while at < len(whole):
        parts.append(whole[at:at + whole[at]])
        at += whole[at]
    assert [part[1] for part in parts] == [2, 11, 4, 0x24, 0x24, 0x24, 0x24, 5, 4, 5, 5]
    assert parts[1][2:7] == bytes([0, 2, 2, 2, 1])
    assert parts[2][2:8] == bytes([0, 0, 1, 2, 2, 1])
    assert parts[8][2:8] == bytes([1, 0, 2, 10, 0, 0])
    assert {part[2]: part[3:] for part in parts[3:7]} == {0: b"\x10\x01", 1: b"\0\x01", 2: b"\0", 6: b"\0\x01"}
    assert [(part[2], part[3], part[4] | part[5] << 8) for part in parts if part[1] == 5] == [
        (0x80 | STATUS_ENDPOINT, 3, PACKET_BYTES), (DATA_ENDPOINT, 2, PACKET_BYTES), (0x80 | DATA_ENDPOINT, 2, PACKET_BYTES)]
    strings = [host.descriptors[3, index][2:].decode("utf-16-le") for index in (device[14], device[15])]
    assert strings == ["mrfhw", "mrfhw machine"]
    assert await host.control(0x21, SET_LINE_CODING, 0, 0, (3_000_000).to_bytes(4, "little") + bytes([0, 0, 8])) == b""
    assert await host.control(0x21, SET_CONTROL_LINE_STATE, 3, 0) == b""
    assert await host.control(0x21, 0x23, 0, 0) is None  # a break
    assert await host.control(0xC0, 1, 0, 0, length=8) is None
    assert await host.control(0x80, 6, 0x0600, 0, length=10) is None  # of a high-speed device
    assert await host.control(0x80, 8, 0, 0, length=1) == bytes([CONFIGURATION])
    assert await host.read(STATUS_ENDPOINT, 3) is None
    assert await host.read(DATA_ENDPOINT, 3) is None


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def packets_of_every_size(dut: Any) -> None:
    """From the host, and to it: what is offered without a pause comes in full packets and a shorter one, empty where needed."""
    host, board = await plugged_in(dut)
    wanted = b""
    for size in [*(range(PACKET_BYTES + 1) if bench_parameters()["thorough"] else SIZES), PACKET_BYTES, 0, PACKET_BYTES]:
        packet = random_bytes(board.rng, size)
        wanted += packet
        assert await host.write(DATA_ENDPOINT, packet)
    await Timer(20, "us")
    assert bytes(board.come) == wanted
    for size in (*SIZES[1:], 65, 127, 128, 129, 192):
        more = random_bytes(board.rng, size)
        board.to_send += more
        packets = await all_read(host, board, size)
        if size % PACKET_BYTES == 0:
            packets.append(await host.read(DATA_ENDPOINT) or b"")
        assert b"".join(packets) == more
        assert [len(packet) for packet in packets] == [PACKET_BYTES] * (size // PACKET_BYTES) + [size % PACKET_BYTES], size
        assert await host.read(DATA_ENDPOINT, 3) is None


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def lost_and_damaged(dut: Any) -> None:
    """Tokens, data and handshakes, in both directions, by a host whose clock is slow by as much as USB allows.

    Once the device is configured: LUNA does not answer the end of a request a second time.
    """
    host, board = await plugged_in(dut, bit_ps=round(BIT_PS * 1.0025))
    host.faults = 0.3
    board.taking, board.giving = Rhythm(board.rng, 0.3, 40), Rhythm(board.rng, 0.3, 40)
    wanted, come = b"", b""
    for _ in range(300 if bench_parameters()["thorough"] else 16):
        if board.rng.random() < 0.5:
            packet = random_bytes(board.rng, int(board.rng.choice(SIZES)))
            assert await host.write(DATA_ENDPOINT, packet)
            wanted += packet
        else:
            more = random_bytes(board.rng, int(board.rng.integers(1, 150)))
            board.to_send += more
            come += b"".join(await all_read(host, board, len(more)))
    await Timer(20, "us")
    assert bytes(board.come) == wanted
    assert come == bytes(board.to_send[:board.given])
    assert board.given == len(board.to_send)
    assert set(host.counts) >= {"damaged token", "damaged data", "damaged handshake", "came again"}, host.counts


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def who_is_not_ready_waits(dut: Any) -> None:
    """A board that takes nothing, then a host that asks for nothing: each is told, and nothing is lost."""
    host, board = await plugged_in(dut)
    board.taking = Rhythm(board.rng, 0)
    packets = [random_bytes(board.rng, PACKET_BYTES) for _ in range(4)]
    taken = 0
    while taken < len(packets) and await host.write(DATA_ENDPOINT, packets[taken], 3):
        taken += 1
    assert 1 <= taken < len(packets)
    assert host.counts["no room"] == 3
    board.to_send += random_bytes(board.rng, 600)
    await Timer(100, "us")
    assert PACKET_BYTES <= board.given < 300
    board.taking = Rhythm(board.rng, 1)
    assert await host.write(DATA_ENDPOINT, packets[taken])
    assert b"".join(await all_read(host, board, 600)) == bytes(board.to_send)
    await Timer(20, "us")
    assert bytes(board.come) == b"".join(packets[:taken + 1])


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def plugged_in_again(dut: Any) -> None:
    """After an odd number of packets either way: a host that begins anew is understood from its first packet on."""
    host, board = await plugged_in(dut)
    for number in range(2):
        board.come.clear()
        assert await host.write(DATA_ENDPOINT, bytes([number, 1]))
        board.to_send += bytes([number])
        assert await host.read(DATA_ENDPOINT) == bytes([number])
        await Timer(20, "us")
        assert bytes(board.come) == bytes([number, 1])
        await enumerated(host)


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def as_fast_as_the_wire(dut: Any) -> None:
    """Without a pause of either end: to the host 19 packets in a millisecond, the most that the specification counts (5.8.4)."""
    host, board = await plugged_in(dut)
    board.to_send += random_bytes(board.rng, 12 * PACKET_BYTES + 1)
    await Timer(20, "us")
    begun = get_sim_time("us")
    packets = await all_read(host, board, 12 * PACKET_BYTES)
    rate = sum(map(len, packets)) / (get_sim_time("us") - begun)
    assert all(len(packet) == PACKET_BYTES for packet in packets)
    assert "nothing there" not in host.counts
    more = [random_bytes(board.rng, PACKET_BYTES) for _ in range(12)]
    begun = get_sim_time("us")
    for packet in more:
        assert await host.write(DATA_ENDPOINT, packet)
    there = sum(map(len, more)) / (get_sim_time("us") - begun)
    assert "no room" not in host.counts
    dut._log.info("%.3f MB/s to the host, %.3f MB/s from it, answers after %.1f to %.1f bits", rate, there, min(host.turns),
                  max(host.turns))
    assert rate >= 19 * PACKET_BYTES / 1000
    assert there >= 18 * PACKET_BYTES / 1000
