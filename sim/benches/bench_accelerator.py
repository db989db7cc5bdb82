"""A small mesh over its own bus and log: the driver loads and reads it, the model says what must come out."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any

import cocotb
import numpy as np
from cocotb.triggers import with_timeout
from cocotbext.axi import AxiStreamBus, AxiStreamSink

from mrfhw.driver.driver import Driver, unpack_lines
from mrfhw.driver.readout import read_result
from mrfhw.field.result import Result, first_difference
from mrfhw.gateware.control.register_file import PLACEHOLDER
from mrfhw.gateware.mesh.accelerator import Accelerator
from mrfhw.machine.registers import CONTROL_BITS, STATUS_BITS, Region, register
from mrfhw.placement.placement import Placement
from mrfhw.placement.visit_order import COLOURS
from mrfhw.twin.machine import histogram, solve
from sim.support.blocking import blocking
from sim.support.fields import Bench
from sim.support.recorder import placements_from_text
from sim.support.runner import bench_config, bench_parameters
from sim.support.streams import Rhythm
from sim.support.wishbone import BridgedChip, Wishbone


class Machine:
    """The chip with its driver; the log is taken by a sink that pauses by `ready`."""

    def __init__(self, dut: Any):
        self.config = bench_config()
        self.bench = Bench(dut, Accelerator(self.config))
        self.bus = Wishbone(self.bench)
        self.driver = Driver(self.config, BridgedChip(self.bus), PLACEHOLDER)
        self.dut = dut

    async def start(self) -> None:
        await self.bench.start()
        bus = AxiStreamBus.from_prefix(self.dut, "lines")
        self.sink = AxiStreamSink(bus, self.dut.clk, self.dut.rst, byte_lanes=self.config.line_bits // 8)
        # The sink holds ready low while it pauses; the bench drives it no longer.
        await self.bench.idle(2)

    def pause(self, ready: Rhythm | None) -> None:
        """Take the log in every cycle, or when `ready` says so."""
        def pauses(ready: Rhythm) -> Iterator[bool]:
            for _ in itertools.count():
                yield not ready()

        self.sink.clear_pause_generator()
        self.sink.pause = False
        if ready is not None:
            self.sink.set_pause_generator(pauses(ready))

    async def frame(self) -> np.ndarray:
        """The lines of a run, up to tlast."""
        task = cocotb.start_soon(self.sink.recv())
        for _ in range(60_000):
            if task.done():
                break
            await self.bench.cycle()
        frame = await with_timeout(task, 1, "us")
        return np.frombuffer(bytes(frame.tdata), np.uint8).reshape(-1, self.config.line_bits // 8)

    async def result(self, p: Placement, lines: list[np.ndarray]) -> Result:
        """What the chip holds and sent, as `mrfhw.simulation.chip.run_placed` gives it."""
        while await blocking(lambda: self.driver.busy):
            pass
        lmem = await blocking(self.driver.lmem, p)
        (sweep,), counters = await blocking(self.driver.get, "sweep"), await blocking(self.driver.counters)
        assert sweep == p.run.sweeps
        groups = len(COLOURS) * p.order.turns * p.run.sweeps
        assert counters["label_cycles"] == groups * p.slots
        assert counters["cycles"] == counters["gap_cycles"] + counters["stall_cycles"] + groups * p.interval
        return read_result(counters, p, np.concatenate(lines).tobytes(), lmem, wall=0, backend="icarus")

    async def run(self, p: Placement) -> Result:
        await blocking(self.driver.load, p)
        await blocking(self.driver.start)
        return await self.result(p, [await self.frame()])


def _same_but_for_stalls(p: Placement, found: Result) -> None:
    wanted = solve(p.config, p.problem, p.run)
    assert found.cycles is not None
    assert wanted.cycles is not None
    found.cycles, wanted.cycles = found.cycles - (found.stall_cycles or 0), wanted.cycles - (wanted.stall_cycles or 0)
    found.stall_cycles = wanted.stall_cycles = 0
    assert first_difference(wanted, found) is None, first_difference(wanted, found)


@cocotb.test()
async def log_always_ready(dut: Any) -> None:
    """Labels, histogram, messages, cycles, stalls and gaps are the model's; one problem after the other."""
    machine = Machine(dut)
    await machine.start()
    await blocking(machine.driver.check)
    machine.pause(None)
    for p in placements_from_text(bench_parameters()["placements"]):
        found = await machine.run(p)
        difference = first_difference(solve(p.config, p.problem, p.run), found)
        assert difference is None, difference


@cocotb.test()
async def random_bus_idle_and_log_ready(dut: Any) -> None:
    """The same bits, whenever the log is taken and however slowly the bus is driven."""
    rng = np.random.default_rng(1)
    machine = Machine(dut)
    await machine.start()
    machine.bus.idle = lambda: int(rng.random() < 0.1)
    machine.pause(Rhythm(rng, 0.3, 4))
    for p in placements_from_text(bench_parameters()["placements"])[:1]:
        _same_but_for_stalls(p, await machine.run(p))


@cocotb.test()
async def stop_and_resume(dut: Any) -> None:
    """Two halves of a chain, read between them, are the chain; memories refuse while it runs."""
    machine = Machine(dut)
    await machine.start()
    machine.pause(None)
    p = placements_from_text(bench_parameters()["chain"])[0]
    await blocking(machine.driver.load, p)
    await blocking(machine.driver.start)
    assert (await machine.bus.read(register("status"))) == 1 << STATUS_BITS["running"] | 1 << STATUS_BITS["busy"]
    assert not (await machine.bus.access(False, machine.driver.map.tile(0, Region.LMEM)))[0]
    assert not (await machine.bus.access(True, machine.driver.map.broadcast(Region.LMEM), 0))[0]
    await machine.bus.write(register("control"), 1 << CONTROL_BITS["stop"])
    lines = [await machine.frame()]
    assert (await machine.bus.read(register("sweep"))) == 1
    await blocking(machine.driver.lmem, p)
    await blocking(machine.driver.start, True)
    lines.append(await machine.frame())
    while await blocking(lambda: machine.driver.busy):
        pass
    lmem = await blocking(machine.driver.lmem, p)
    wanted = solve(p.config, p.problem, p.run)
    messages = np.concatenate([unpack_lines(p.config, x) for x in lines])
    assert wanted.lmem is not None
    assert np.array_equal(lmem, wanted.lmem)
    assert wanted.counts is not None
    assert np.array_equal(histogram(p.problem.labels, messages, lmem), wanted.counts)
    # Resumed at its end, the run has no sweep left: it ends with a line of the log that is empty, and nothing has changed.
    await blocking(machine.driver.start, True)
    assert not len(unpack_lines(p.config, await machine.frame()))
    while await blocking(lambda: machine.driver.busy):
        pass
    assert (await machine.bus.read(register("sweep"))) == p.run.sweeps
    assert np.array_equal(await blocking(machine.driver.lmem, p), lmem)


@cocotb.test()
async def stress_log_seldom_taken(dut: Any) -> None:
    """A hot field whose log is taken in a twentieth of the cycles: stalls are counted, nothing is lost."""
    rng = np.random.default_rng(2)
    machine = Machine(dut)
    await machine.start()
    machine.pause(Rhythm(rng, 0.02, 2))
    p = placements_from_text(bench_parameters()["hot"])[0]
    found = await machine.run(p)
    assert found.stall_cycles
    _same_but_for_stalls(p, found)
