"""A full-speed USB host at a device's wires, after the USB 2.0 specification: bits, packets, transactions and their faults.

It shares nothing with the device: CRCs, bit stuffing and the order of packets are stated again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Any

import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import First, Timer, ValueChange
from cocotb.utils import get_sim_time

__all__ = ["ACK", "BIT_PS", "NAK", "STALL", "UsbHost", "enumerated", "socket", "start"]

BIT_PS = 83_333  # of 12 Mbit/s
FRAME_PS = 10 ** 9  # from one start of frame to the next
LATEST = 16  # bits after which a host need not wait for an answer any more (8.7.2)
TURN = 14.5  # bits within which an answer begins here, so that a cable and registers in the pins have some of those
OUT, IN, SOF, SETUP = 0x1, 0x9, 0x5, 0xD
DATA0, DATA1 = 0x3, 0xB
ACK, NAK, STALL = 0x2, 0xA, 0xE
J, K, ENDED, IDLE = 0b01, 0b10, 0b00, -1  # of D- and D+; IDLE: not driven by the host
ADDRESS = 42  # that devices are given
FAULTS = ("token", "data", "handshake")  # what is damaged on its way


def socket(name: str, device: str, passed: Mapping[str, tuple[str, int]]) -> str:
    """Verilog of module `name`: module `device` with its wires in a host's socket.

    passed: ports of the device beside its clocks and wires, by name: "input" or "output", and bits.
    host: D+, D- and whether the host drives them. bus: D+ and D- as both see them: the pull-up's where nobody drives. clash: both
    drive them.
    """
    clocks = [f"{domain}{wire}" for domain in ("", "usb_", "usb_io_") for wire in ("clk", "rst")]
    ports = [f"input {clock}" for clock in clocks] + ["input [2:0] host", "output [1:0] bus", "output clash", "output pull_up"]
    ports += [f"{direction} [{bits - 1}:0] {port}" for port, (direction, bits) in passed.items()]
    taken = "".join(f", .{port}({port})" for port in (*clocks, *passed))
    return f"""
module {name}({', '.join(ports)});
  wire d_p_o, d_n_o, oe;
  assign bus = oe ? {{d_n_o, d_p_o}} : host[2] ? host[1:0] : {{1'b0, pull_up}};
  assign clash = oe & host[2];
  {device} device(.d_p_i(bus[0]), .d_n_i(bus[1]), .d_p_o(d_p_o), .d_n_o(d_n_o), .oe(oe), .pull_up(pull_up){taken});
endmodule
"""


def _bits(data: bytes) -> list[int]:
    return [byte >> i & 1 for byte in data for i in range(8)]


def _crc5(bits: list[int]) -> int:
    """Of a token's 11 bits, as it is sent behind them."""
    state = 0x1F
    for bit in bits:
        state = state >> 1 ^ (0x14 if (state ^ bit) & 1 else 0)
    return state ^ 0x1F


def _crc16(data: bytes) -> int:
    state = 0xFFFF
    for bit in _bits(data):
        state = state >> 1 ^ (0xA001 if (state ^ bit) & 1 else 0)
    return state ^ 0xFFFF


def _pid(pid: int) -> int:
    return pid | (~pid & 0xF) << 4


def _token(pid: int, address: int, endpoint: int) -> bytes:
    field = address | endpoint << 7
    return bytes([_pid(pid)]) + (field | _crc5([field >> i & 1 for i in range(11)]) << 11).to_bytes(2, "little")


def _data(pid: int, payload: bytes) -> bytes:
    return bytes([_pid(pid)]) + payload + _crc16(payload).to_bytes(2, "little")


def _levels(data: bytes) -> list[int]:
    """A packet on the wires, bit by bit: synchronization, stuffed bits, end."""
    bits, ones = [0] * 7 + [1], 1
    for bit in _bits(data):
        bits.append(bit)
        ones = ones + 1 if bit else 0
        if ones == 6:
            bits.append(0)
            ones = 0
    levels, level = [], J
    for bit in bits:
        level = level if bit else J ^ K ^ level
        levels.append(level)
    return [*levels, ENDED, ENDED, J]


def _packet(levels: list[int]) -> bytes:
    """The packet that these bits of the device are; asserts that they are one."""
    assert levels[-3:] == [ENDED, ENDED, J], "a packet ends with two bits of zero and one of J"
    assert levels[:8] == [K, J, K, J, K, J, K, K], "a packet begins with its synchronization"
    bits, ones, before = [], 1, K
    for level in levels[8:-3]:
        assert level in (J, K)
        bit = int(level == before)
        before = level
        if ones == 6:
            assert not bit, "a bit is stuffed after six ones"
            ones = 0
            continue
        ones = ones + 1 if bit else 0
        bits.append(bit)
    assert len(bits) % 8 == 0, "a packet has whole bytes"
    return bytes(sum(bit << i for i, bit in enumerate(bits[8 * at:8 * at + 8])) for at in range(len(bits) // 8))


class UsbHost:
    """The host's end of the cable at a `socket`.

    bit_ps: of the host's own clock. faults: rate of transactions of which something is lost. Data move as the specification says:
    a transaction without an answer is done again, one that is answered with NAK later, and a packet that comes a second time is
    dropped. counts: of what happened. turns: bits from the end of a packet of the host's to the beginning of the answer.
    """

    def __init__(self, dut: Any, seed: int, bit_ps: int = BIT_PS):
        self.dut, self.bit_ps, self.faults = dut, bit_ps, 0.0
        self.rng = np.random.default_rng(seed)
        self.address, self.frame, self._next_frame = 0, 0, 0
        self.toggles: dict[tuple[int, int], int] = {}
        self.counts: dict[str, int] = {}
        self.descriptors: dict[tuple[int, int], bytes] = {}
        self.turns: list[float] = []
        self._released = 0.0

    # Bits.

    async def _drive(self, levels: list[int]) -> None:
        at, start = 0, get_sim_time("ps")
        for level, run in groupby(levels):
            self.dut.host.value = 0 if level == IDLE else 4 | level
            at += len(list(run))
            await Timer(start + at * self.bit_ps - get_sim_time("ps"), "ps")

    async def reset(self, microseconds: int = 50) -> None:
        """Hold both wires low; the device then has no address."""
        await self._drive([ENDED] * (12 * microseconds) + [IDLE] * 40)
        self.address, self.toggles = 0, {}

    async def idle(self, bits: int) -> None:
        await Timer(bits * self.bit_ps, "ps")

    async def _send(self, data: bytes) -> None:
        levels = _levels(data)
        await self._drive(levels[:-1])
        self._released = get_sim_time("ps")
        await self._drive([J])
        self.dut.host.value = 0
        assert not self.dut.clash.value, "host and device drive the wires together"

    async def _receive(self) -> bytes | None:
        """The device's packet; None where none begins in time."""
        bus, bit = self.dut.bus, self.bit_ps
        while int(bus.value) != K:
            left = self._released + LATEST * bit - get_sim_time("ps")
            if left <= 0:
                return None
            await First(ValueChange(bus), Timer(left, "ps"))
        turn = (get_sim_time("ps") - self._released) / bit
        assert 2 <= turn <= TURN, f"the device answers after {turn} bits"
        self.turns.append(turn)
        levels: list[int] = []
        while True:
            level, since = int(bus.value), get_sim_time("ps")
            if levels[-2:] == [ENDED, ENDED]:
                await Timer(bit, "ps")
                assert int(bus.value) == J
                break
            await ValueChange(bus)
            length = (get_sim_time("ps") - since) / bit
            assert abs(length - round(length)) < 0.1, f"a level takes {length} bits"
            levels += [level] * round(length)
        await self.idle(3)
        return _packet([*levels, J])

    # Packets.

    def _count(self, name: str) -> None:
        self.counts[name] = self.counts.get(name, 0) + 1

    def _fault(self) -> str:
        """What of a transaction is damaged; "" for nothing."""
        found = str(self.rng.choice(FAULTS)) if self.rng.random() < self.faults else ""
        if found:
            self._count(f"damaged {found}")
        return found

    async def _send_perhaps(self, data: bytes, damaged: bool) -> None:
        if damaged:
            at = int(self.rng.integers(8 * len(data)))
            data = data[:at // 8] + bytes([data[at // 8] ^ 1 << at % 8]) + data[at // 8 + 1:]
        await self._send(data)
        await self.idle(2)

    async def _frames(self) -> None:
        """A start of frame, where one is due."""
        if get_sim_time("ps") >= self._next_frame:
            self._next_frame = int(get_sim_time("ps")) + FRAME_PS
            self.frame = (self.frame + 1) % 2048
            await self._send(_token(SOF, self.frame & 0x7F, self.frame >> 7))
            await self.idle(3)

    async def _out(self, pid: int, endpoint: int, toggle: int, payload: bytes) -> int | None:
        """The device's handshake; None where there is none, or it is lost."""
        await self._frames()
        fault = self._fault()
        await self._send_perhaps(_token(pid, self.address, endpoint), fault == "token")
        await self._send_perhaps(_data(DATA1 if toggle else DATA0, payload), fault == "data")
        answer = await self._receive()
        if answer is None:
            assert fault, "no answer to an undamaged packet"
            return None
        assert fault != "data", "a damaged packet is answered"
        assert len(answer) == 1
        assert answer[0] in map(_pid, (ACK, NAK, STALL))
        return None if fault == "handshake" else answer[0] & 0xF

    async def _in(self, endpoint: int, toggle: int) -> tuple[int | None, bytes]:
        """NAK, STALL, or ACK with the packet; None where nothing new has come."""
        await self._frames()
        fault = self._fault()
        await self._send_perhaps(_token(IN, self.address, endpoint), fault == "token")
        answer = await self._receive()
        if answer is None:
            assert fault == "token", "no answer to an undamaged token"
            return None, b""
        assert fault != "token", "a damaged token is answered"
        if answer[0] in (_pid(NAK), _pid(STALL)):
            assert len(answer) == 1
            return answer[0] & 0xF, b""
        assert answer[0] in (_pid(DATA0), _pid(DATA1))
        payload = answer[1:-2]
        assert answer[-2:] == _crc16(payload).to_bytes(2, "little")
        if fault == "data":  # on its way to the host, which is silent then
            await self.idle(LATEST)
            return None, b""
        await self._send_perhaps(bytes([_pid(ACK)]), fault == "handshake")
        if answer[0] != _pid(DATA1 if toggle else DATA0):
            self._count("came again")
            return None, b""
        return ACK, payload

    # Transactions.

    async def write(self, endpoint: int, payload: bytes, tries: int = 50) -> bool:
        """One packet to an endpoint; False where it has no room for it."""
        key = endpoint, OUT
        for _ in range(tries):
            answer = await self._out(OUT, endpoint, self.toggles.get(key, 0), payload)
            if answer == ACK:
                self.toggles[key] = 1 - self.toggles.get(key, 0)
                return True
            assert answer != STALL
            if answer == NAK:
                self._count("no room")
        return False

    async def read(self, endpoint: int, tries: int = 50) -> bytes | None:
        """One packet of an endpoint; None where it has none."""
        key = endpoint, IN
        for _ in range(tries):
            answer, payload = await self._in(endpoint, self.toggles.get(key, 0))
            if answer == ACK:
                self.toggles[key] = 1 - self.toggles.get(key, 0)
                return payload
            assert answer != STALL
            if answer == NAK:
                self._count("nothing there")
        return None

    async def control(self, kind: int, request: int, value: int, index: int, data: bytes = b"", length: int = 0) -> bytes | None:
        """A control transfer: `data` to the device, or up to `length` bytes from it; None where the device refuses it."""
        head = bytes([kind, request]) + b"".join(word.to_bytes(2, "little") for word in (value, index, length or len(data)))
        while await self._out(SETUP, 0, 0, head) is None:
            pass
        found, toggle = b"", 1
        while len(found) < length:
            answer, payload = await self._in(0, toggle)
            if answer == STALL:
                return None
            if answer == ACK:
                found, toggle = found + payload, 1 - toggle
                if len(payload) < 64:
                    break
        if data:
            answer = None
            while answer != ACK:
                answer = await self._out(OUT, 0, 1, data)
                if answer == STALL:
                    return None
        answer = None
        while answer != ACK:
            answer = await self._out(OUT, 0, 1, b"") if length else (await self._in(0, 1))[0]
            if answer == STALL:
                return None
        return found


async def start(dut: Any, periods: Mapping[str, int]) -> None:
    """Clocks of these periods in ps by domain ("sync" has no prefix), and a reset; nothing is plugged in."""
    for domain, period in periods.items():
        prefix = "" if domain == "sync" else f"{domain}_"
        getattr(dut, f"{prefix}rst").value = 1
        Clock(getattr(dut, f"{prefix}clk"), period, unit="ps").start()
        await Timer(1, "ns")  # edges that come together may do so in either order
    dut.host.value = 0
    await Timer(1, "us")
    for domain in periods:
        getattr(dut, "rst" if domain == "sync" else f"{domain}_rst").value = 0
    await Timer(2, "us")


async def enumerated(host: UsbHost, wanted: Sequence[tuple[int, int]] = ()) -> None:
    """Reset the device and configure it, as an operating system does.

    wanted: kinds and indices of descriptors that are read, into `host.descriptors`.
    """
    assert host.dut.pull_up.value, "no device is plugged in"
    await host.reset()
    assert await host.control(0x80, 6, 0x0100, 0, length=8) is not None
    assert await host.control(0, 5, ADDRESS, 0) is not None
    await host.idle(24)
    host.address = ADDRESS
    for kind, index in wanted:
        length = 9 if kind == 2 else 255
        found = await host.control(0x80, 6, kind << 8 | index, 0, length=length)
        assert found is not None
        if kind == 2:
            found = await host.control(0x80, 6, kind << 8, 0, length=int.from_bytes(found[2:4], "little"))
            assert found is not None
        host.descriptors[kind, index] = found
    assert await host.control(0, 9, 1, 0) is not None
