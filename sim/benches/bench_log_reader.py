"""LogReader: the ring's lines in order, each byte read once and none before it is written."""

from __future__ import annotations

import itertools
from typing import Any

import cocotb
import numpy as np

from mrfhw.gateware.log.log_reader import LogReader
from sim.support.axi_checks import MODULUS, Ram, RingMonitor, Slave, log_ring, ring_blocks
from sim.support.fields import Bench
from sim.support.runner import bench_parameters
from sim.support.streams import Rhythm


class Reader:
    """A reader with its memory. What is not written, and what was read, is random: a byte read too early or twice shows."""

    def __init__(self, dut: Any, seed: int, blocks: int | None = None):
        p = bench_parameters()
        self.dut, self.ring, self.rng = dut, log_ring(p), np.random.default_rng(seed)
        self.bench = Bench(dut, LogReader(**p))
        self.blocks = ring_blocks(self.ring) if blocks is None else blocks
        self.size, self.end = self.blocks * self.ring.burst_bytes, 1 << self.ring.address_bits
        self.base = self.end - self.size  # up to the last address
        self.monitor = RingMonitor(self.bench, self.ring, self.base, self.size)
        self.log, self.written, self.left = bytearray(), 0, 0
        self.origin = 0  # position of the log's first byte
        self.left_cycles: list[int] = []
        self._held: int | None = None

    async def start(self, memory: Ram | Slave | float) -> None:
        """memory: a Slave, or the share of cycles in which an AxiRam's channels go on."""
        await self.bench.start()
        await self.bench.cycle(base=self.base, size=self.size)
        self.memory = Ram(self.dut, self.end, self.rng, memory) if isinstance(memory, float) else memory
        self.memory.write(0, self.rng.bytes(self.end))

    def slave(self, **habits: Any) -> Slave:
        return Slave(self.end, self.ring.beat_bytes, **habits)

    def _put(self, position: int, data: bytes) -> None:
        """Into the ring from `position` on."""
        at = position % self.size
        first = min(len(data), self.size - at)
        self.memory.write(self.base + at, data[:first])
        self.memory.write(self.base, data[first:])

    def write(self, beats: int) -> None:
        """As much more of the log as there is room for, up to `beats`."""
        room = self.size - (self.written - self.monitor.received)
        count = min(beats * self.ring.beat_bytes, room, len(self.log) - self.written)
        self._put(self.written, bytes(self.log[self.written:self.written + count]))
        self.written += count

    async def cycle(self, ready: bool = True) -> None:
        ring, bench, received, taken = self.ring, self.bench, self.monitor.received, self.left
        self.monitor.known = self.written
        await bench.cycle(**self.memory.drive(), lines_tready=int(ready), written=(self.origin + self.written) % MODULUS)
        self.memory.sample(bench)
        self.monitor.sample()
        assert bench.read("received") == (self.origin + received) % MODULUS, "received is what came from memory"
        assert bench.read("taken") == (self.origin + taken) % MODULUS, "taken is what left"
        assert bench.read("memory_awvalid") == bench.read("memory_wvalid") == bench.read("lines_tlast") == 0
        self._put(received, self.rng.bytes(self.monitor.received - received))
        valid, line = bench.read("lines_tvalid"), bench.bits("lines_tdata")
        if self._held is not None:
            assert valid
            assert line == self._held, "a line changed before it was taken"
        self._held = line if valid and not ready else None
        if valid and ready:
            wanted = self.log[self.left:self.left + ring.line_bytes]
            assert line.to_bytes(ring.line_bytes, "little") == wanted, f"the line at {self.left} of the log"
            self.left += ring.line_bytes
            self.left_cycles.append(bench.now)

    async def run(self, lines: int, beats: int, write: Rhythm, ready: Rhythm) -> None:
        """Lines more, written `beats` at a time when `write` says so; until all have left."""
        self.log += self.rng.bytes(lines * self.ring.line_bytes)
        while self.left < len(self.log):
            if write():
                self.write(beats)
            await self.cycle(ready())
        for _ in range(6):
            await self.cycle()
        assert self.monitor.received == self.left == len(self.log)


async def _runs(dut: Any, seed: int, memory: float | dict[str, Any], write: float, ready: float, blocks: int | None = None) -> None:
    """Runs of all kinds on a fresh reader."""
    reader = Reader(dut, seed, blocks)
    await reader.start(memory if isinstance(memory, float) else reader.slave(**memory))
    await _all_runs(reader, write, ready)


async def _all_runs(reader: Reader, write: float, ready: float) -> None:
    """Runs of a line, of blocks and of turns of the ring, written by the line, the beat and the block."""
    ring, rng = reader.ring, reader.rng
    turn = max(2, 3 * reader.size // ring.line_bytes)
    for lines, beats in ((1, ring.line_beats), (1, ring.line_beats), (4, 1), (turn, ring.burst_beats), (3, ring.line_beats),
                         (turn // 2 + 1, 3 * ring.burst_beats), (turn // 3 + 1, 3)):
        await reader.run(lines, beats, Rhythm(rng, write, 3), Rhythm(rng, ready, 5))
    assert reader.bench.read("error") == 0


@cocotb.test()
async def rate(dut: Any) -> None:
    """With the log there, and the first beat when the docstring says: a beat a cycle, and lines as they fill."""
    reader = Reader(dut, 1)
    ring = reader.ring
    # Bursts of fewer than four beats do not hide any latency.
    hidden = ring.burst_beats >= 4
    await reader.start(reader.slave(latency=max(1, ring.burst_beats - 3)))
    reader.log += reader.rng.bytes(reader.size // ring.line_bytes * ring.line_bytes)
    reader.write(reader.size)
    while reader.left < len(reader.log):
        await reader.cycle()
    # Memory gives two blocks as fast as it can; from then on what leaves sets the pace.
    leaving = reader.left_cycles
    steps = {b - a for a, b in itertools.pairwise(leaving)}
    assert not hidden or steps == {ring.line_beats}, f"cycles from a line to the next: {steps}"


@cocotb.test()
async def whole_blocks(dut: Any) -> None:
    """What is written ahead is read by whole bursts."""
    reader = Reader(dut, 2)
    await reader.start(1.0)
    ring = reader.ring
    reader.log += reader.rng.bytes(2 * ring.line_beats * ring.burst_bytes)  # whole lines and whole blocks
    while reader.left < len(reader.log):
        if reader.monitor.received == reader.written:
            reader.write(reader.blocks * ring.burst_beats)
        await reader.cycle()
    assert reader.monitor.read_bursts == [ring.burst_beats] * 2 * ring.line_beats


@cocotb.test()
async def runs_without_pauses(dut: Any) -> None:
    await _runs(dut, 11, 1.0, 1, 1)


@cocotb.test()
async def lines_not_taken(dut: Any) -> None:
    """While lines wait, two blocks and a line come, without holding up memory, and no more is asked for."""
    reader = Reader(dut, 3)
    ring = reader.ring
    await reader.start(reader.slave(latency=5))
    reader.log += reader.rng.bytes(2 * reader.size // ring.line_bytes * ring.line_bytes)
    reader.write(reader.size)
    for _ in range(6 * ring.burst_beats + 2 * ring.line_beats + 60):
        await reader.cycle(ready=False)
    assert 0 < reader.monitor.read_asked <= 2 * ring.burst_bytes + ring.line_bytes
    assert reader.monitor.received == reader.monitor.read_asked
    while reader.left < len(reader.log):
        reader.write(ring.burst_beats)
        await reader.cycle()


@cocotb.test()
async def error_is_sticky(dut: Any) -> None:
    """One bad answer among good ones raises `error` in the cycle after, and it stays; the lines go on."""
    reader = Reader(dut, 4)
    await reader.start(reader.slave(bad_beats=(5,)))
    reader.log += reader.rng.bytes(12 * reader.ring.line_bytes)
    seen = False
    while reader.left < len(reader.log):
        reader.write(1)
        await reader.cycle()
        assert reader.bench.read("error") == seen
        seen |= reader.bench.read("memory_rvalid") and reader.bench.read("memory_rresp") != 0
    assert seen


@cocotb.test()
@cocotb.parametrize(latency=[1, 40])
async def own_slave(dut: Any, latency: int) -> None:
    await _runs(dut, 5, {"latency": latency}, 1, 1)


@cocotb.test()
async def random_writing(dut: Any) -> None:
    await _runs(dut, 6, 1.0, 0.2, 1)


@cocotb.test()
async def random_pauses(dut: Any) -> None:
    await _runs(dut, 7, 0.3, 1, 1)


@cocotb.test()
async def random_back_pressure(dut: Any) -> None:
    await _runs(dut, 8, 1.0, 1, 0.2)


@cocotb.test()
async def positions_wrap(dut: Any) -> None:
    """The log goes on over 2^32 bytes; the counters are set to three blocks before."""
    reader = Reader(dut, 12)
    ring = reader.ring
    reader.origin = MODULUS - (3 * ring.line_beats << ring.burst_bits)  # whole lines and whole blocks
    await reader.start(0.8)
    dut.written.value = reader.origin
    dut.block.value = reader.origin >> ring.burst_bits
    dut.received_beats.value, dut.taken_units.value = reader.origin >> ring.beat_bits, reader.origin >> ring.unit_bits
    await _all_runs(reader, 0.7, 0.7)
    assert reader.bench.read("received") < reader.origin


@cocotb.test()
async def ring_of_one_block(dut: Any) -> None:
    await _runs(dut, 9, 0.6, 0.5, 0.6, blocks=1)


@cocotb.test()
async def stress(dut: Any) -> None:
    """A ring of two blocks, many times around, with everything random."""
    reader = Reader(dut, 10, blocks=2)
    await reader.start(0.5)
    rng, ring = reader.rng, reader.ring
    turns = 60 if ring.burst_beats < 64 else 8
    while len(reader.log) < turns * reader.size:
        lines = int(rng.integers(1, max(8, 3 * ring.burst_bytes // ring.line_bytes)))
        await reader.run(lines, int(rng.integers(1, 2 * ring.burst_beats + 1)), Rhythm(rng, 0.5, 4), Rhythm(rng, 0.6, 6))
