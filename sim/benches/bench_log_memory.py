"""LogMemory: a queue of lines. What goes in comes out in order, and `behind` is what is inside."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np

from mrfhw.gateware.log.log_memory import LogMemory
from sim.support.axi_checks import Ram, RingMonitor, Slave, log_ring
from sim.support.fields import Bench
from sim.support.runner import bench_parameters
from sim.support.streams import Rhythm


class Queue:
    """A log memory and its memory; lines are offered and taken by rhythms."""

    def __init__(self, dut: Any, seed: int):
        p = bench_parameters()
        self.turns = p.pop("turns")  # of the ring, by the stress test
        self.dut, self.ring, self.rng = dut, log_ring(p), np.random.default_rng(seed)
        self.size, self.base = p["size"], p["base"]
        self.bench = Bench(dut, LogMemory(**p))
        self.monitor = RingMonitor(self.bench, self.ring, self.base, self.size)
        self.inside: list[bytes] = []
        self.come = self.left = self.left_before = 0  # lines; the last up to the cycle before
        self.waited = self.most = 0
        self._held: int | None = None

    async def start(self, memory: Slave | float) -> None:
        await self.bench.start()
        end = 1 << self.ring.address_bits
        self.memory = Ram(self.dut, end, self.rng, memory) if isinstance(memory, float) else memory
        self.memory.write(0, self.rng.bytes(end))

    def slave(self, **habits: Any) -> Slave:
        return Slave(1 << self.ring.address_bits, self.ring.beat_bytes, **habits)

    async def cycle(self, line: bytes | None, last: bool, ready: bool) -> bool:
        bench, ring, monitor = self.bench, self.ring, self.monitor
        drive: dict[str, Any] = dict(self.memory.drive())
        drive |= {"lines_tvalid": int(line is not None), "lines_tlast": int(last), "out_tready": int(ready)}
        if line is not None:
            drive["lines_tdata"] = int.from_bytes(line, "little")
        monitor.freed, monitor.known = monitor.received, monitor.acknowledged
        await bench.cycle(**drive)
        self.memory.sample(bench)
        monitor.sample()
        behind = (self.come - self.left_before) * ring.line_bytes
        assert bench.read("behind") == behind, f"cycle {bench.now}: behind is {bench.read('behind')}, not {behind}"
        self.most, self.left_before = max(self.most, behind), self.left
        self._out(ready)
        taken = line is not None and bool(bench.read("lines_tready"))
        if taken:
            assert line is not None
            self.inside.append(line)
            self.come += 1
        self.waited += line is not None and not taken
        return taken

    def _out(self, ready: bool) -> None:
        valid, line = self.bench.read("out_tvalid"), self.bench.bits("out_tdata")
        if self._held is not None:
            assert valid
            assert line == self._held, "a line changed before it was taken"
        self._held = line if valid and not ready else None
        if valid and ready:
            assert self.inside, "a line came out that did not go in"
            assert line == int.from_bytes(self.inside.pop(0), "little"), f"line {self.left}"
            assert self.bench.read("out_tlast") == 0
            self.left += 1

    async def run(self, lines: int, offer: Rhythm, ready: Rhythm, drain: bool = True) -> None:
        """Lines, the last with tlast; until it is taken, or until all have left."""
        left, offered = lines, False
        line = self.rng.bytes(self.ring.line_bytes)
        self.monitor.run_ends.add((self.come + lines) * self.ring.line_bytes)
        while left:
            offered = offered or offer()
            if await self.cycle(line if offered else None, left == 1, ready()):
                left, offered, line = left - 1, False, self.rng.bytes(self.ring.line_bytes)
        while drain and self.inside:
            await self.cycle(None, False, ready())
        if drain:
            for _ in range(3):
                await self.cycle(None, False, ready())
            assert self.bench.read("behind") == 0


async def _runs(dut: Any, seed: int, memory: float | dict[str, Any], offer: float, ready: float) -> None:
    queue = Queue(dut, seed)
    await queue.start(memory if isinstance(memory, float) else queue.slave(**memory))
    block = max(1, queue.ring.burst_bytes // queue.ring.line_bytes)
    turn = queue.size // queue.ring.line_bytes + 1
    for number, lines in enumerate((1, 1, block, block + 1, 3 * turn, 2, 2 * block, 2 * turn, 1)):
        await queue.run(lines, Rhythm(queue.rng, offer, 4), Rhythm(queue.rng, ready, 5), drain=number % 3 != 1)
    await queue.run(1, Rhythm(queue.rng, 1), Rhythm(queue.rng, 1))
    assert queue.bench.read("error") == 0


@cocotb.test()
async def no_pauses(dut: Any) -> None:
    await _runs(dut, 1, 1.0, 1, 1)


@cocotb.test()
async def rate(dut: Any) -> None:
    """Lines go in as fast as the writer takes them while others come out: no line waits for room."""
    queue = Queue(dut, 2)
    await queue.start(queue.slave())
    ring, always = queue.ring, Rhythm(queue.rng, 1)
    lines = 4 * queue.size // ring.line_bytes
    await queue.run(lines, always, always)
    written = queue.monitor.data_cycles
    # In a ring of few blocks the writer waits for those on their way.
    assert queue.size < 5 * ring.burst_bytes or written[-1] - written[0] + 1 == lines * ring.line_beats, "a beat a cycle"


@cocotb.test()
async def full(dut: Any) -> None:
    """Nothing is taken out: lines go in until the ring and the buffers are full, and all come out."""
    queue = Queue(dut, 3)
    await queue.start(1.0)
    ring = queue.ring
    line, quiet = queue.rng.bytes(ring.line_bytes), 0
    while quiet < 100 + 6 * ring.burst_beats:
        taken = await queue.cycle(line, False, False)
        quiet = 0 if taken else quiet + 1
        line = queue.rng.bytes(ring.line_bytes) if taken else line
    held = queue.come * ring.line_bytes
    assert held > queue.size - ring.line_bytes, "the ring is full"
    assert held <= queue.size + 2 * (ring.line_bytes + 2 * ring.burst_bytes + ring.beat_bytes)
    # The line that is offered must be taken before another.
    queue.monitor.run_ends.add(held + ring.line_bytes)
    while not await queue.cycle(line, True, True):
        pass
    while queue.inside:
        await queue.cycle(None, False, True)


@cocotb.test()
@cocotb.parametrize(order=["address first", "data first"], latency=[1, 25])
async def own_slave(dut: Any, order: str, latency: int) -> None:
    await _runs(dut, 4, {"order": order, "latency": latency}, 1, 0.7)


@cocotb.test()
@cocotb.parametrize(errors=["bad_bursts", "bad_beats"])
async def error_of_either(dut: Any, errors: str) -> None:
    """A bad answer to a burst written or a beat read raises `error`."""
    queue = Queue(dut, 5)
    slave = queue.slave(**{errors: (3,)})
    await queue.start(slave)
    always = Rhythm(queue.rng, 1)
    seen = False
    for _ in range(6):
        await queue.run(1, always, always)
        seen |= slave.answered_bad
        assert queue.bench.read("error") == seen
    while not seen:
        await queue.run(4, always, always)
        seen |= slave.answered_bad
    assert queue.bench.read("error") == 1


@cocotb.test()
async def random_idle(dut: Any) -> None:
    await _runs(dut, 6, 1.0, 0.2, 1)


@cocotb.test()
async def random_pauses(dut: Any) -> None:
    await _runs(dut, 7, 0.3, 1, 1)


@cocotb.test()
async def random_back_pressure(dut: Any) -> None:
    await _runs(dut, 8, 1.0, 1, 0.15)


@cocotb.test()
async def stress(dut: Any) -> None:
    """Runs of random lengths without a pause between them, hundreds of times around the ring; it fills and empties."""
    queue = Queue(dut, 10)
    await queue.start(0.6)
    rng, ring = queue.rng, queue.ring
    while queue.come * ring.line_bytes < queue.turns * queue.size:
        share = float(rng.choice([0.15, 0.5, 1]))
        await queue.run(int(rng.integers(1, 4 * max(2, queue.size // ring.line_bytes))), Rhythm(rng, 1.15 - share, 4),
                        Rhythm(rng, share, 6), drain=bool(rng.random() < 0.3))
    await queue.run(1, Rhythm(rng, 1), Rhythm(rng, 1))
    assert queue.waited
    assert queue.most > queue.size - ring.line_bytes
