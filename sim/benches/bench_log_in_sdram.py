"""LogInSdram: a machine's lines through a memory that checks every command, and out again in order."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, Timer

from mrfhw.gateware.board.sdram import SdramTiming
from sim.support.runner import bench_parameters
from sim.support.sdram_model import Output, Pins, SdramModel
from sim.support.streams import Rhythm


class Board:
    """Lines offered and taken by rhythms; the memory's clock is the inverted one."""

    def __init__(self, dut: Any, seed: int):
        p = bench_parameters()
        self.dut, self.rng = dut, np.random.default_rng(seed)
        self.line_bytes, self.size = p["line_bits"] // 8, p["size"]
        self.period = round(1e12 / p["clock_hz"] / 2) * 2  # ps
        self.model = SdramModel(SdramTiming(**p["timing"]), self.period / 1000, self.period / 2000)
        self.inside: list[int] = []
        self.cycle = self.come = self.waited = 0
        self._line: int | None = None

    async def start(self) -> None:
        dut = self.dut
        for name in ("dq_i", "lines_tvalid", "lines_tdata", "lines_tlast", "out_tready"):
            getattr(dut, name).value = 0
        dut.rst.value = 1
        Clock(dut.clk, self.period, unit="ps").start()
        for _ in range(3):
            await FallingEdge(dut.clk)
        dut.rst.value = 0

    async def step(self, offer: bool, last: bool, ready: bool) -> None:
        """A cycle: the memory's edge, then what is offered and taken at the machine's next one."""
        dut = self.dut
        await FallingEdge(dut.clk)
        self.cycle += 1
        pins = {name: int(getattr(dut, name).value) for name in ("cke", "cs_n", "ras_n", "cas_n", "we_n", "dqm", "dq_oe")}
        if not pins["cs_n"] or pins["dq_oe"]:
            pins |= {"ba": int(dut.ba.value), "a": int(dut.a.value), "dq": int(dut.dq_o.value) if pins["dq_oe"] else 0}
        output = self.model.edge(self.cycle * self.period / 1000, Pins(**pins))
        if output is not None:
            cocotb.start_soon(self._drive(output))
        if self._line is None and offer:
            self._line = int.from_bytes(self.rng.bytes(self.line_bytes), "little")
        dut.lines_tvalid.value, dut.lines_tdata.value = int(self._line is not None), self._line or 0
        dut.lines_tlast.value, dut.out_tready.value = int(last), int(ready)
        await Timer(self.period // 4, unit="ps")
        if ready and dut.out_tvalid.value:
            assert int(dut.out_tdata.value) == self.inside.pop(0)
        if self._line is not None:
            if dut.lines_tready.value:
                self.inside.append(self._line)
                self.come, self._line = self.come + 1, None
            else:
                self.waited += 1

    async def _drive(self, output: Output) -> None:
        await Timer(round(1000 * (output.valid - output.begin)), unit="ps")
        self.dut.dq_i.value = output.value
        await Timer(round(1000 * (output.until - output.valid)), unit="ps")
        if int(self.dut.dq_i.value) == output.value:
            self.dut.dq_i.value = output.value ^ 0xFFFF

    async def lines(self, count: int, offer: Rhythm, ready: Rhythm) -> None:
        """So many more, the last with tlast."""
        end, limit = self.come + count, self.cycle + 1000 * count + 30_000
        while self.come < end:
            await self.step(offer(), self.come == end - 1, ready())
            assert self.cycle < limit, f"{end - self.come} lines are not taken"

    async def drain(self) -> None:
        limit = self.cycle + 20 * len(self.inside) * self.line_bytes + 30_000
        while self.inside or self.dut.behind.value:
            await self.step(False, False, True)
            assert self.cycle < limit, f"{len(self.inside)} lines do not come"


@cocotb.test()
async def a_log_faster_than_its_host(dut: Any) -> None:
    """Lines at full rate, the host takes one now and then: memory takes them; all come back, over several turns of the ring."""
    board = Board(dut, 1)
    await board.start()
    ring = board.size // board.line_bytes
    for _ in range(3):
        await board.lines(ring, Rhythm(board.rng, 1.0), Rhythm(board.rng, 0.03, 3))
        await board.drain()
    assert board.come == 3 * ring


@cocotb.test()
async def runs_of_any_length(dut: Any) -> None:
    """Short runs, paused at both ends; the last line of each comes without another behind it."""
    board = Board(dut, 2)
    await board.start()
    for count in (1, 2, 3, 17, 40):
        await board.lines(count, Rhythm(board.rng, 0.5, 5), Rhythm(board.rng, 0.5, 5))
        await board.drain()


@cocotb.test()
async def a_full_ring_stalls_and_loses_nothing(dut: Any) -> None:
    board = Board(dut, 3)
    await board.start()
    ring = board.size // board.line_bytes
    for _ in range(15_000):
        await board.step(True, False, False)
    assert ring <= board.come <= ring + 40
    assert board.waited > 2000
    while len(board.inside) > 8:
        await board.step(False, False, True)
    await board.lines(8, Rhythm(board.rng, 1.0), Rhythm(board.rng, 1.0))
    await board.drain()
