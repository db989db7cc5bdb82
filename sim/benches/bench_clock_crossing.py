"""ClockCrossing: between two clocks every access is carried out once, every line comes in order, and `behind` misses none."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import ReadOnly, RisingEdge, Timer
from cocotb.utils import get_sim_time

from mrfhw.gateware.board.clock_crossing import ACCESSES
from sim.support.runner import bench_parameters
from sim.support.streams import Rhythm


class Machine:
    """The far side: answers accesses after a few cycles, with err at addresses that end in ones; sends lines."""

    def __init__(self, dut: Any, rng: np.random.Generator, lines: list[int]):
        self.dut, self.rng, self.lines = dut, rng, lines
        self.memory: dict[int, int] = {}
        self.words: list[int] = []  # what each access reads
        self.accesses: list[tuple[int, int]] = []  # (address, data or -1)
        self.taken = 0  # lines

    async def answer(self, share: float, latency: int) -> None:
        """Takes accesses in a share of cycles and answers them in order, after up to `latency` cycles. Read data are the number of
        lines that the crossing has taken, or what was written."""
        dut, takes, answers, now = self.dut, Rhythm(self.rng, share, 4), deque[tuple[int, int]](), 0
        while True:
            await RisingEdge(dut.machine_clk)
            now += 1
            dut.machine_bus_ack.value = dut.machine_bus_err.value = 0
            if answers and answers[0][0] <= now:
                _, address = answers.popleft()
                dut.machine_bus_err.value, dut.machine_bus_ack.value = int(address & 7 == 7), int(address & 7 != 7)
                dut.machine_bus_dat_r.value = self.taken if address == 0 else self.words[len(self.accesses) - len(answers) - 1]
            taking = takes()
            dut.machine_bus_stall.value = int(not taking)
            await ReadOnly()
            assert dut.machine_bus_cyc.value or not (dut.machine_bus_stb.value or answers), "a cycle ended before its answers"
            if taking and dut.machine_bus_stb.value:
                answers.append((now + 1 + int(self.rng.integers(0, latency)), self._carried_out()))

    def _carried_out(self) -> int:
        """The address that stands on the bus."""
        dut = self.dut
        address, write = int(dut.machine_bus_adr.value), int(dut.machine_bus_we.value)
        self.accesses.append((address, int(dut.machine_bus_dat_w.value) if write else -1))
        if write and address & 7 != 7:
            self.memory[address] = int(dut.machine_bus_dat_w.value)
        self.words.append(self.memory.get(address, 0))
        return address

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
    """The near side: asks, and takes lines. waits: what it asks has not been taken."""

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

    async def stream(self, accesses: list[tuple[int, int]], share: float, answered: Callable[[int, bool, int], None]) -> int:
        """Ask (address, data or -1) one after the other; `answered` gets the number, whether it was ack, and the word of each.

        Returns the most that were under way.
        """
        dut, asks, asked, done, most = self.dut, Rhythm(self.rng, share, 5), 0, 0, 0
        for _ in range(60 * len(accesses) + 200):
            await RisingEdge(dut.clk)
            offered = asked < len(accesses) and (asks() or self.waits)
            dut.bus_stb.value, dut.bus_cyc.value = int(offered), int(offered or done < asked)
            if offered:
                address, data = accesses[asked]
                dut.bus_we.value, dut.bus_adr.value, dut.bus_dat_w.value = int(data >= 0), address, max(data, 0)
            await ReadOnly()
            assert not (dut.bus_ack.value and dut.bus_err.value)
            if dut.bus_ack.value or dut.bus_err.value:
                assert done < asked, "an answer without a request"
                answered(done, bool(dut.bus_ack.value), int(dut.bus_dat_r.value))
                done += 1
            self.waits = offered and bool(dut.bus_stall.value)
            asked += offered and not self.waits
            most = max(most, asked - done)
            if done == len(accesses):
                return most
        raise AssertionError(f"{done} of {len(accesses)} answers")

    waits = False


async def _started(dut: Any, periods: tuple[int, int]) -> None:
    for name in ("bus_cyc", "bus_stb", "lines_tready", "bus_we", "bus_adr", "bus_dat_w", "machine_bus_ack",
                 "machine_bus_err", "machine_bus_stall", "machine_bus_dat_r", "machine_lines_tvalid"):
        getattr(dut, name).value = 0
    Clock(dut.clk, periods[0], unit="ps").start()
    Clock(dut.machine_clk, periods[1], unit="ps").start()
    dut.rst.value = dut.machine_rst.value = 1
    await Timer(20 * max(periods), unit="ps")
    dut.rst.value = dut.machine_rst.value = 0
    await Timer(10 * max(periods), unit="ps")


@cocotb.test()
async def accesses_and_lines(dut: Any) -> None:
    """Accesses of random kinds, many under way, while lines pass, at random shares of cycles; then the last lines come out."""
    p = bench_parameters()
    rng = np.random.default_rng(p["seed"])
    await _started(dut, tuple(p["periods"]))
    width, line_bytes = p["line_bits"] + 1, p["line_bits"] // 8
    lines = [int.from_bytes(rng.bytes(-(-width // 8)), "little") >> (-width % 8) for _ in range(p["lines"])]
    machine, link = Machine(dut, rng, lines), Link(dut, rng)
    fast = bool(p["seed"] // 2 % 2)
    cocotb.start_soon(machine.answer(1.0 if fast else 0.6, 1 if fast else 6))
    cocotb.start_soon(machine.send(float(rng.choice((0.3, 1.0)))))
    cocotb.start_soon(link.take(float(rng.choice((0.2, 0.9)))))
    addresses = np.where(rng.random(p["accesses"]) < 0.6, rng.integers(0, 1 << p["address_bits"], p["accesses"]), 0)
    asked = [(int(address), int(rng.integers(0, 1 << 32)) if address and rng.random() < 0.5 else -1) for address in addresses]
    counted = 0

    def answered(number: int, done: bool, word: int) -> None:
        nonlocal counted
        address, data = asked[number]
        assert done == (address & 7 != 7), f"access to {address:#x}"
        if address == 0:
            there = len(link.come) + int(dut.behind.value) // line_bytes
            assert there >= word, f"{word} lines were counted, and {there} have come or are behind"
            counted += word > 0
        elif done and data < 0:
            assert word == machine.words[number], f"{address:#x}"

    began = get_sim_time("ps")
    most = await link.stream(asked, 1.0 if fast else 0.7, answered)
    if fast:  # an access for each cycle of the slower clock, but for the way
        assert get_sim_time("ps") - began < (len(asked) + 24) * max(p["periods"])
    assert machine.accesses == asked
    assert counted
    assert 2 < most <= ACCESSES
    for _ in range(50 * p["lines"]):
        if len(link.come) == len(lines):
            break
        await RisingEdge(dut.clk)
    assert link.come == lines
    await RisingEdge(dut.clk)
    await ReadOnly()
    assert int(dut.behind.value) == 0
