"""LogWriter: every line at its place in the ring, whatever memory does; nothing that is not freed is overwritten."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np

from mrfhw.gateware.log.log_writer import OUTSTANDING, LogWriter
from sim.support.axi_checks import MODULUS, Ram, RingMonitor, Slave, log_ring, ring_blocks
from sim.support.fields import Bench
from sim.support.runner import bench_parameters
from sim.support.streams import Rhythm

FILL = 0xA5  # what memory holds before


class Writer:
    """A writer with its memory and a log: lines go in, the log's end says what memory must hold."""

    def __init__(self, dut: Any, seed: int, blocks: int | None = None):
        p = bench_parameters()
        self.dut, self.ring, self.rng = dut, log_ring(p), np.random.default_rng(seed)
        self.bench = Bench(dut, LogWriter(**p))
        self.blocks = ring_blocks(self.ring) if blocks is None else blocks
        self.size = self.blocks * self.ring.burst_bytes
        self.end = 1 << self.ring.address_bits
        self.base = (self.end - self.size) % self.end  # up to the last address
        self.monitor = RingMonitor(self.bench, self.ring, self.base, self.size)
        self.log, self.freed, self.starved = bytearray(), 0, 0
        self.origin = 0  # position of the log's first byte
        self.free, self.check_freed = True, True
        self.taken_cycles: list[int] = []

    async def start(self, memory: Ram | Slave | float) -> None:
        """memory: a Slave, or the share of cycles in which an AxiRam's channels go on."""
        await self.bench.start()
        await self.bench.cycle(base=self.base, size=self.size)
        self.memory = Ram(self.dut, self.end, self.rng, memory) if isinstance(memory, float) else memory
        self.memory.write(0, bytes([FILL]) * self.end)

    def slave(self, **habits: Any) -> Slave:
        return Slave(self.end, self.ring.beat_bytes, **habits)

    @property
    def written(self) -> int:
        return int(self.bench.read("written") - self.origin) % MODULUS

    async def cycle(self, line: bytes | None = None, last: bool = False) -> bool:
        """One cycle with a line offered or none; whether it was taken. Frees some of what is written."""
        drive: dict[str, Any] = dict(self.memory.drive())
        drive |= {"lines_tvalid": int(line is not None), "lines_tlast": int(last), "freed": (self.origin + self.freed) % MODULUS}
        if line is not None:
            drive["lines_tdata"] = int.from_bytes(line, "little")
        acknowledged, self.monitor.freed = self.monitor.acknowledged, self.freed
        await self.bench.cycle(**drive)
        self.memory.sample(self.bench)
        self.monitor.sample()
        assert self.written == acknowledged, "written is what memory has acknowledged"
        assert self.bench.read("memory_arvalid") == self.bench.read("memory_rready") == 0
        if self.free and acknowledged > self.freed:
            self.release(int(self.rng.integers(acknowledged - self.freed + 1)))
        taken = line is not None and bool(self.bench.read("lines_tready"))
        if taken:
            self.taken_cycles.append(self.bench.now)
        self.starved += line is not None and not taken
        return taken

    def release(self, count: int) -> None:
        """Free `count` bytes, which memory must still hold."""
        for position in range(self.freed, self.freed + count):
            found = self.memory.read(self.base + position % self.size, 1)[0] if self.check_freed else self.log[position]
            assert found == self.log[position], f"byte {position} of the log was lost"
        self.freed += count

    async def run(self, lines: int, offer: Rhythm | None = None, ends: bool = True, wait: bool = True) -> None:
        """Lines, the last one with tlast if `ends`; returns when memory has them all, or, not to `wait`, when they are taken."""
        sent = [self.rng.bytes(self.ring.line_bytes) for _ in range(lines)]
        for number, line in enumerate(sent):
            last = ends and number == lines - 1
            self.log += line
            if last:
                self.monitor.run_ends.add(len(self.log))
            while offer is not None and not offer():
                await self.cycle()
            while not await self.cycle(line, last):
                pass
        while ends and wait and self.written != len(self.log):
            await self.cycle()
        if ends and wait:
            self.check()

    def check(self) -> None:
        """Memory holds the end of the log in the ring, and what it held elsewhere."""
        wanted = bytearray([FILL]) * self.end
        for position in range(max(0, len(self.log) - self.size), len(self.log)):
            wanted[self.base + position % self.size] = self.log[position]
        assert self.memory.read(0, self.end) == bytes(wanted)


def _lengths(writer: Writer) -> list[int]:
    """Runs in lines: one, those that end with a block, about one, and a turn of the ring."""
    ring = writer.ring
    block = max(1, ring.burst_bytes // ring.line_bytes)
    to_end = next(n for n in range(1, 4 * ring.burst_beats + 2) if n * ring.line_bytes % ring.burst_bytes == 0)
    return [to_end, 1, 1, 1, block + 1, 2 * block, max(1, block - 1), to_end, writer.blocks * block + 2, 1]


async def _runs(dut: Any, seed: int, memory: float | dict[str, Any], offer: float, blocks: int | None = None) -> None:
    writer = Writer(dut, seed, blocks)
    await writer.start(memory if isinstance(memory, float) else writer.slave(**memory))
    for number, lines in enumerate(2 * _lengths(writer)):
        # At first runs apart, then some without a pause.
        wait = number < 8 or number % 4 == 3
        await writer.run(lines, Rhythm(writer.rng, offer, 3) if offer < 1 else None, wait=wait)
    assert writer.bench.read("error") == 0


@cocotb.test()
async def rate(dut: Any) -> None:
    """Lines without a pause: as many beats a cycle as the docstring says, from the first address on."""
    large = bench_parameters()["burst_beats"] >= 64
    writer = Writer(dut, 1, 14 if large else 56)
    await writer.start(writer.slave(latency=4 * writer.ring.burst_beats))
    writer.check_freed = False  # what memory holds is checked at the end
    ring = writer.ring
    await writer.run(max(2, (10 if large else 80) * ring.burst_bytes // ring.line_bytes))
    cycles = writer.monitor.data_cycles
    beats = sum(b for b in writer.monitor.write_bursts if b == ring.burst_beats)
    assert beats >= 6 * ring.burst_beats
    first_bursts = cycles[:beats]
    spent = first_bursts[-1] - first_bursts[0] + 1
    wanted = {1: 3 * beats - 2, 2: 3 * beats // 2 - 1}.get(ring.burst_beats, beats)
    assert spent == wanted, f"{beats} beats took {spent} cycles, not {wanted}"


@cocotb.test()
async def first_address(dut: Any) -> None:
    """A line that ends a run: its address comes line_beats + 1 cycles after it was taken."""
    writer = Writer(dut, 2)
    await writer.start(writer.slave())
    ring = writer.ring
    writer.monitor.run_ends.add(ring.line_bytes)
    writer.log += bytes(ring.line_bytes)
    while not await writer.cycle(bytes(ring.line_bytes), True):
        pass
    for cycle in range(1, ring.line_beats + 2):
        await writer.cycle()
        # A line longer than a burst has its first address earlier.
        if ring.line_beats <= ring.burst_beats:
            assert writer.bench.read("memory_awvalid") == (cycle == ring.line_beats + 1)


@cocotb.test()
async def runs_without_pauses(dut: Any) -> None:
    await _runs(dut, 4, 1.0, 1)


@cocotb.test()
async def whole_bursts_only(dut: Any) -> None:
    """Without tlast a block's last lines wait; with it they come."""
    writer = Writer(dut, 5)
    await writer.start(1.0)
    ring = writer.ring
    await writer.run(ring.burst_bytes // ring.line_bytes + 1, ends=False)
    for _ in range(200 + 4 * ring.burst_beats):
        await writer.cycle()
    assert writer.written == len(writer.log) // ring.burst_bytes * ring.burst_bytes
    await writer.run(1)


@cocotb.test()
async def full_ring(dut: Any) -> None:
    """Lines wait while nothing is freed; a block freed lets a block in; nothing is lost."""
    writer = Writer(dut, 6)
    await writer.start(1.0)
    ring, writer.free = writer.ring, False
    inside = writer.size + 2 * ring.burst_bytes + ring.beat_bytes + ring.line_bytes
    lines = [writer.rng.bytes(ring.line_bytes) for _ in range(2 * inside // ring.line_bytes + 1)]
    left, quiet = list(lines), 0
    writer.log += b"".join(lines)
    writer.monitor.run_ends.add(len(writer.log))

    async def push(limit: int) -> None:
        nonlocal quiet
        quiet = 0
        while left and quiet < limit:
            if await writer.cycle(left[0], len(left) == 1):
                left.pop(0)
                quiet = 0
            else:
                quiet += 1

    limit = 60 + 4 * ring.burst_beats
    await push(limit)
    taken = (len(lines) - len(left)) * ring.line_bytes
    assert left
    assert writer.written == writer.size, "the ring is full"
    assert taken <= inside, "more lines were taken than there is room for"
    # All but a byte of the oldest block is not enough.
    writer.release(ring.burst_bytes - 1)
    await push(limit)
    assert writer.written == writer.size
    writer.release(1)
    await push(limit)
    assert writer.written == writer.size + ring.burst_bytes
    writer.release(2 * ring.burst_bytes)
    await push(limit)
    assert writer.written == writer.size + 3 * ring.burst_bytes
    writer.free = True
    await push(limit)
    while writer.written != len(writer.log):
        await writer.cycle()
    writer.check()


@cocotb.test()
async def no_room_without_a_ring(dut: Any) -> None:
    """A ring of size 0 takes nothing."""
    writer = Writer(dut, 7, blocks=0)
    await writer.start(writer.slave())
    for _ in range(4 * writer.ring.burst_beats + 20):
        await writer.cycle(bytes(writer.ring.line_bytes), True)
    assert not writer.monitor.write_bursts


@cocotb.test()
@cocotb.parametrize(order=["address first", "data first", "together"], latency=[1, 40])
async def orders_of_a_memory(dut: Any, order: str, latency: int) -> None:
    """A memory may want addresses first, data first or both together, and answer late."""
    await _runs(dut, 20, {"order": order, "latency": latency}, 1)


@cocotb.test()
async def late_answers(dut: Any) -> None:
    """A ring larger than what may be unacknowledged, and answers that come after it was all sent."""
    writer = Writer(dut, 14, blocks=12)
    await writer.start(writer.slave(latency=12 * writer.ring.burst_beats))
    most = 0
    lines = 20 * writer.ring.burst_bytes // writer.ring.line_bytes
    for _ in range(2):
        await writer.run(lines, wait=False)
        most = max(most, writer.monitor.most_unanswered)
    await writer.run(1)
    assert most == OUTSTANDING


@cocotb.test()
async def error_is_sticky(dut: Any) -> None:
    """One bad answer among good ones raises `error` in the cycle after, and it stays; the log goes on."""
    writer = Writer(dut, 8)
    await writer.start(writer.slave(bad_bursts=(2,)))
    seen = False
    for lines in (2, 1, 5, 3):
        left = lines
        while left or writer.written != len(writer.log):
            line = writer.rng.bytes(writer.ring.line_bytes) if left else None
            if line is not None:
                writer.monitor.run_ends.add(len(writer.log) + len(line))
            if await writer.cycle(line, left == 1):
                assert line is not None
                writer.log += line
                left -= 1
            assert writer.bench.read("error") == seen
            seen |= writer.bench.read("memory_bvalid") and writer.bench.read("memory_bresp") != 0
    assert seen


@cocotb.test()
async def random_idle(dut: Any) -> None:
    await _runs(dut, 9, 1.0, 0.2)


@cocotb.test()
async def random_pauses(dut: Any) -> None:
    await _runs(dut, 10, 0.3, 1)


@cocotb.test()
async def positions_wrap(dut: Any) -> None:
    """The log goes on over 2^32 bytes; the counters are set to three blocks before."""
    writer = Writer(dut, 13)
    ring = writer.ring
    writer.origin = MODULUS - 3 * ring.burst_bytes
    await writer.start(0.8)
    dut.block.value = dut.written_block.value = writer.origin >> ring.burst_bits
    for lines in _lengths(writer):
        await writer.run(lines)
    assert writer.bench.read("written") < writer.origin


@cocotb.test()
async def ring_of_one_block(dut: Any) -> None:
    await _runs(dut, 11, 0.6, 0.7, blocks=1)


@cocotb.test()
async def stress(dut: Any) -> None:
    """Runs of random lengths, one after the other, around a ring of two blocks many times."""
    writer = Writer(dut, 12, blocks=2)
    await writer.start(0.5)
    most = max(8, 3 * writer.ring.burst_bytes // writer.ring.line_bytes)
    while len(writer.log) < (60 if writer.ring.burst_beats < 64 else 4) * writer.size:
        await writer.run(int(writer.rng.integers(1, most)), Rhythm(writer.rng, 0.7, 4), wait=bool(writer.rng.random() < 0.4))
    await writer.run(1)
    assert writer.starved or writer.ring.burst_beats >= 64
