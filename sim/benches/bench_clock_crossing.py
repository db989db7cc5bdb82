"""ClockCrossing: between two clocks every access is carried out once, every line comes in order, and `behind` misses none."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge, Timer

from sim.support.runner import bench_parameters
from sim.support.streams import Rhythm


class Machine:
    """The far side: answers accesses after a few cycles, with err at addresses that end in ones; sends lines."""

    def __init__(self, dut: Any, rng: np.random.Generator, lines: list[int]):
        self.dut, self.rng, self.lines = dut, rng, lines
        self.words: dict[int, int] = {}
        self.accesses: list[tuple[int, int]] = []  # (address, data or -1)
        self.taken = 0  # lines

    async def answer(self) -> None:
        """Read data are the number of lines that the crossing has taken, or what was written."""
        dut = self.dut
        while True:
            await RisingEdge(dut.machine_clk)
            dut.machine_bus_ack.value = dut.machine_bus_err.value = 0
            await ReadOnly()
            if not (dut.machine_bus_cyc.value and dut.machine_bus_stb.value):
                continue
            for _ in range(int(self.rng.integers(0, 5))):
                await RisingEdge(dut.machine_clk)
            await RisingEdge(dut.machine_clk)
            address, write = int(dut.machine_bus_adr.value), int(dut.machine_bus_we.value)
            self.accesses.append((address, int(dut.machine_bus_dat_w.value) if write else -1))
            if address & 7 == 7:
                dut.machine_bus_err.value = 1
            else:
                dut.machine_bus_ack.value = 1
                if write:
                    self.words[address] = int(dut.machine_bus_dat_w.value)
            dut.machine_bus_dat_r.value = self.taken if address == 0 else self.words.get(address, 0)

    async def send(self, share: float) -> None:
        dut, offer = self.dut, Rhythm(self.rng, share, 6)
        while True:
            await RisingEdge(dut.machine_clk)
            if dut.machine_lines_tvalid.value and self.ready:
                self.taken += 1
                dut.machine_lines_tvalid.value = 0
            going = self.taken < len(self.lines) and offer()
            if going and not (dut.machine_lines_tvalid.value and not self.ready):
                line = self.lines[self.taken]
                dut.machine_lines_tdata.value, dut.machine_lines_tlast.value = line >> 1, line & 1
            dut.machine_lines_tvalid.value = int(going)
            await ReadOnly()
            self.ready = bool(dut.machine_lines_tready.value)

    ready = False


class Link:
    """The near side: asks, and takes lines."""

    def __init__(self, dut: Any, rng: np.random.Generator):
        self.dut, self.rng = dut, rng
        self.come: list[int] = []

    async def take(self, share: float) -> None:
        dut, ready = self.dut, Rhythm(self.rng, share, 6)
        while True:
            await RisingEdge(dut.clk)
            dut.lines_tready.value = int(ready())
            await ReadOnly()
            if dut.lines_tvalid.value and dut.lines_tready.value:
                self.come.append(int(dut.lines_tdata.value) << 1 | int(dut.lines_tlast.value))

    async def access(self, address: int, data: int | None) -> tuple[bool, int]:
        """Whether it ended with ack, and the word that was read."""
        dut = self.dut
        await RisingEdge(dut.clk)
        dut.bus_cyc.value = dut.bus_stb.value = 1
        dut.bus_we.value, dut.bus_adr.value, dut.bus_dat_w.value = int(data is not None), address, data or 0
        for _ in range(100):
            await RisingEdge(dut.clk)
            if dut.bus_ack.value or dut.bus_err.value:
                found = bool(dut.bus_ack.value), int(dut.bus_dat_r.value)
                assert not (dut.bus_ack.value and dut.bus_err.value)
                dut.bus_cyc.value = dut.bus_stb.value = 0
                return found
        raise AssertionError("no answer")


async def _started(dut: Any, periods: tuple[int, int]) -> None:
    for name in ("bus_cyc", "bus_stb", "lines_tready", "machine_bus_ack", "machine_bus_err", "machine_lines_tvalid"):
        getattr(dut, name).value = 0
    Clock(dut.clk, periods[0], unit="ps").start()
    Clock(dut.machine_clk, periods[1], unit="ps").start()
    dut.rst.value = dut.machine_rst.value = 1
    await Timer(20 * max(periods), unit="ps")
    dut.rst.value = dut.machine_rst.value = 0
    await Timer(10 * max(periods), unit="ps")


@cocotb.test()
async def accesses_and_lines(dut: Any) -> None:
    """Accesses of random kinds while lines pass, at random shares of cycles; then the last lines come out."""
    p = bench_parameters()
    rng = np.random.default_rng(p["seed"])
    await _started(dut, tuple(p["periods"]))
    width, line_bytes = p["line_bits"] + 1, p["line_bits"] // 8
    lines = [int.from_bytes(rng.bytes(-(-width // 8)), "little") >> (-width % 8) for _ in range(p["lines"])]
    machine, link = Machine(dut, rng, lines), Link(dut, rng)
    cocotb.start_soon(machine.answer())
    cocotb.start_soon(machine.send(float(rng.choice((0.3, 1.0)))))
    cocotb.start_soon(link.take(float(rng.choice((0.2, 0.9)))))
    asked, written = [], {}
    for _ in range(p["accesses"]):
        address = int(rng.integers(0, 1 << p["address_bits"])) if rng.random() < 0.6 else 0
        data = int(rng.integers(0, 1 << 32)) if address and rng.random() < 0.5 else None
        done, word = await link.access(address, data)
        asked.append((address, -1 if data is None else data))
        assert done == (address & 7 != 7), f"access to {address:#x}"
        if data is not None and done:
            written[address] = data
        elif done and address:
            assert word == written.get(address, 0), f"{address:#x}"
        elif not address:
            await ReadOnly()
            there = len(link.come) + int(dut.behind.value) // line_bytes
            assert there >= word, f"{word} lines were counted, and {there} have come or are behind"
    assert machine.accesses == asked
    for _ in range(50 * p["lines"]):
        if len(link.come) == len(lines):
            break
        await RisingEdge(dut.clk)
    assert link.come == lines
    await RisingEdge(dut.clk)
    await ReadOnly()
    assert int(dut.behind.value) == 0
