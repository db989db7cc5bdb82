"""SdramController: an AXI4 master of others' making at one end, a memory that checks every command at the other."""

from __future__ import annotations

import itertools
import logging
from collections.abc import Iterator
from typing import Any

import cocotb
import numpy as np
from cocotb.clock import Clock
from cocotb.triggers import FallingEdge, RisingEdge, Timer
from cocotbext.axi import AxiBus, AxiMaster

from mrfhw.gateware.board.sdram import SdramTiming
from sim.support.runner import bench_parameters
from sim.support.sdram_model import Output, Pins, SdramModel
from sim.support.streams import Rhythm

BURST = 512  # bytes of 256 beats
ROW = 1024  # bytes
LONGEST = 700  # us of a test


class Board:
    """Controller and memory; a master that may pause. Counts beats by what is on the bus in each cycle."""

    def __init__(self, dut: Any):
        p = bench_parameters()
        self.dut, self.clock_hz = dut, p["clock_hz"]
        self.period = round(1e12 / self.clock_hz / 2) * 2  # ps
        self.lag = round(1000 * p["lag"]) if p["lag"] else self.period // 2
        self.delay = round(1000 * p["delay"])
        self.timing = SdramTiming(**p["memory"])
        self.model = SdramModel(self.timing, self.period / 1000, self.lag / 1000, p["postponed"])
        self.cycle = 0
        self.beats = {"w": list[int](), "r": list[int](), "ar": list[int]()}  # cycles
        self.done: list[str] = []  # bursts in the order they end

    async def start(self) -> None:
        dut = self.dut
        logging.getLogger(f"cocotb.{dut._name}.memory").setLevel(logging.WARNING)
        dut.dq_i.value = 0
        dut.rst.value = 1
        self.master = AxiMaster(AxiBus.from_prefix(dut, "memory"), dut.clk, dut.rst)
        Clock(dut.clk, self.period, unit="ps").start()
        for _ in range(3):
            await RisingEdge(dut.clk)
        dut.rst.value = 0
        await FallingEdge(dut.clk)
        cocotb.start_soon(self._run())

    def pause(self, rng: np.random.Generator | None, share: float = 0.5, burst: int = 6) -> None:
        """Every channel pauses of its own accord, or none does."""
        write, read = self.master.write_if, self.master.read_if
        for channel in (write.aw_channel, write.w_channel, write.b_channel, read.ar_channel, read.r_channel):
            channel.clear_pause_generator()
            channel.pause = False
            if rng is not None:
                channel.set_pause_generator(_pauses(Rhythm(rng, share, burst)))

    async def _run(self) -> None:
        """The memory at its own clock's rising edges."""
        dut = self.dut
        self.pins = {name: getattr(dut, name) for name in Pins._fields if name not in ("dq", "dq_oe")}
        handshakes = [(name, getattr(dut, f"memory_{name}valid"), getattr(dut, f"memory_{name}ready"))
                      for name in ("w", "r", "ar", "b")]
        while True:
            if 2 * self.lag == self.period:
                await FallingEdge(dut.clk)
            else:
                await RisingEdge(dut.clk)
                await Timer(self.lag, unit="ps")
            self.cycle += 1
            for name, valid, ready in handshakes:
                if valid.value and ready.value:
                    if name in self.beats:
                        self.beats[name].append(self.cycle)
                    if name == "b" or (name == "r" and dut.memory_rlast.value):
                        self.done.append(name)
            output = self.model.edge(self.cycle * self.period / 1000, self._pins())
            if output is not None:
                cocotb.start_soon(self._drive(output))

    def _pins(self) -> Pins:
        dut = self.dut
        driven = int(dut.dq_oe.value)
        if dut.cs_n.value and not driven:
            return Pins(cke=int(dut.cke.value), dqm=int(dut.dqm.value))
        return Pins(**{name: int(pin.value) for name, pin in self.pins.items()}, dq=int(dut.dq_o.value) if driven else 0,
                    dq_oe=driven)

    async def _drive(self, output: Output) -> None:
        """Data as the controller sees it; its complement as soon as the data sheet no longer promises it."""
        await Timer(round(1000 * (output.valid - output.begin)) + self.delay, unit="ps")
        self.dut.dq_i.value = output.value
        await Timer(round(1000 * (output.until - output.valid)), unit="ps")
        if int(self.dut.dq_i.value) == output.value:
            self.dut.dq_i.value = output.value ^ 0xFFFF

    async def write(self, address: int, values: bytes) -> None:
        await self.master.write(address, values)

    async def read(self, address: int, length: int) -> bytes:
        return bytes((await self.master.read(address, length)).data)

    def span(self, name: str) -> tuple[int, float]:
        """Cycles from the first beat to the last, and beats a cycle of them."""
        found = self.beats[name]
        cycles = found[-1] - found[0] + 1
        return cycles, len(found) / cycles

    def check_refreshes(self) -> None:
        """As many as the time since power-up asks for, none later than the contract says."""
        t, p = self.timing, self.model.progress
        assert p.ready is not None
        assert p.due >= (self.model.number * self.period / 1000 - p.ready) / t.tREFI - 2
        late = t.tRAS + t.tRP + 3 * self.period / 1000
        assert self.model.longest_gap <= t.tREFI + late, self.model.longest_gap


def _pauses(ready: Rhythm) -> Iterator[bool]:
    for _ in itertools.count():
        yield not ready()


async def ready(dut: Any) -> Board:
    board = Board(dut)
    await board.start()
    return board


def some(rng: np.random.Generator, length: int) -> bytes:
    return rng.integers(0, 256, length, dtype=np.uint8).tobytes()


@cocotb.test(timeout_time=LONGEST, timeout_unit="us")
async def every_address_bit(dut: Any) -> None:
    """A word for each address bit alone, and its neighbours: no two are the same cell; nor two bytes."""
    board, rng = await ready(dut), np.random.default_rng(1)
    places = sorted({0, *(1 << bit for bit in range(1, board.timing.address_bits)), (1 << board.timing.address_bits) - 2})
    words = {place: some(rng, 2) for place in places}
    for place in rng.permutation(places):
        await board.write(int(place), words[int(place)])
    for place in rng.permutation(places):
        assert await board.read(int(place), 2) == words[int(place)], hex(place)
    for lane in range(2):
        await board.write(places[3] + lane, b"\x5A")
        words[places[3]] = words[places[3]][:1] + b"\x5A" if lane else b"\x5A" + words[places[3]][1:]
        assert await board.read(places[3], 2) == words[places[3]]
    board.check_refreshes()


async def _traffic(dut: Any, batches: int, share: float | None) -> None:
    """Reads and writes at random, some together, around few rows; each byte is what was written to it last."""
    board, rng = await ready(dut), np.random.default_rng(2)
    top = 1 << board.timing.address_bits
    places = [0, top - 2 * ROW, *(int(x) * ROW for x in rng.integers(1, top // ROW - 2, 4))]
    known: dict[int, int] = {}
    for batch in range(batches):
        board.pause(rng if share and batch % 4 else None, share or 1)
        writes, reads, taken = [], [], set[int]()
        for _ in range(int(rng.integers(1, 6))):
            length = int(rng.choice([1, 2, 3, 17, 64, int(rng.integers(1, 300)), int(rng.integers(1, 1100))]))
            place = int(rng.choice(places)) + int(rng.choice([0, ROW - 2, ROW - 20, int(rng.integers(0, ROW))]))
            place = min(place, top - length)
            cells = range(place, place + length)
            if rng.random() < 0.5:
                values = some(rng, length)
                writes.append(cocotb.start_soon(board.write(place, values)))
                taken |= set(cells)
                known |= dict(zip(cells, values, strict=True))
            elif not taken & set(cells):
                # Of what was written in earlier batches; a later write of this one keeps away.
                reads.append((place, [known.get(cell) for cell in cells], cocotb.start_soon(board.read(place, length))))
                if writes or rng.random() < 0.5:
                    break
                for _, _, read in reads:
                    await read
        for write in writes:
            await write
        for place, wanted, read in reads:
            for at, (was, value) in enumerate(zip(wanted, await read, strict=True)):
                assert was is None or was == value, f"batch {batch}: byte {place + at:#x} is {value}, not {was}"
    board.check_refreshes()
    for name in ("read", "write", "refresh", "activate"):
        assert board.model.counts[name] > 5, board.model.counts


@cocotb.test(timeout_time=LONGEST, timeout_unit="us")
async def traffic(dut: Any) -> None:
    await _traffic(dut, 16, None)


@cocotb.test(timeout_time=LONGEST, timeout_unit="us")
async def traffic_with_pauses(dut: Any) -> None:
    """Idle and back-pressure on each channel; the stress test."""
    await _traffic(dut, 24, 0.4)


@cocotb.test(timeout_time=LONGEST, timeout_unit="us")
async def a_log_at_full_speed(dut: Any) -> None:
    """Bursts of 256, then of 8 beats, one after the other: a beat a cycle but for what rows and refreshes cost."""
    board, rng, start = await ready(dut), np.random.default_rng(3), 5 * ROW + 3 * BURST
    t = board.timing
    row, refresh = (sum(t.cycles(name, board.clock_hz) for name in names) for names in (("tWR", "tRP", "tRCD"), ("tRFC",)))
    for beats, bursts in ((256, 10), (8, 40)):
        board.master.write_if.max_burst_len = board.master.read_if.max_burst_len = beats
        values = some(rng, 2 * beats * bursts)
        for name in "wr":
            before = dict(board.model.counts)
            if name == "w":
                await board.write(start, values)
            else:
                assert await board.read(start, len(values)) == values
            cycles, rate = board.span(name)
            rows, refreshes = (board.model.counts[kind] - before.get(kind, 0) for kind in ("activate", "refresh"))
            dut._log.info("%s: %d Hz, bursts of %d: %.4f beats a cycle", name, board.clock_hz, beats, rate)
            assert cycles <= beats * bursts + rows * row + refreshes * (refresh + 1), (name, beats, rate)
            assert beats < 256 or abs(rate / t.beats_per_cycle(board.clock_hz) - 1) < 0.02, (name, rate)
            board.beats[name].clear()
    board.check_refreshes()


@cocotb.test(timeout_time=LONGEST, timeout_unit="us")
async def latency(dut: Any) -> None:
    """Of single reads from an open row."""
    board = await ready(dut)
    await board.read(0, 2)
    for place in range(2, 20, 2):
        board.beats = {name: [] for name in board.beats}
        await board.read(place, 2)
        cycles = board.beats["r"][0] - board.beats["ar"][0]
        assert cycles == board.timing.cas_latency + bench_parameters()["read_delay"] + 5, (place, cycles)


@cocotb.test(timeout_time=LONGEST, timeout_unit="us")
async def turns(dut: Any) -> None:
    """Under constant load of both directions bursts alternate."""
    board, rng = await ready(dut), np.random.default_rng(4)
    values = some(rng, 6 * BURST)
    await board.write(0, values)
    board.done.clear()
    write = cocotb.start_soon(board.write(64 * ROW, values))
    assert await board.read(0, len(values)) == values
    await write
    assert sorted(board.done) == ["b"] * 6 + ["r"] * 6
    for now, after in itertools.pairwise(board.done[1:-1]):
        assert now != after, board.done
    board.check_refreshes()


@cocotb.test(timeout_time=LONGEST, timeout_unit="us")
async def refreshes_while_a_burst_is_held_up(dut: Any) -> None:
    """Data withheld and not taken for many intervals, mid-burst: refreshes are on time, no beat is lost."""
    board, rng = await ready(dut), np.random.default_rng(5)
    values = some(rng, 2 * BURST)
    await board.write(0, values[:BURST])
    write = cocotb.start_soon(board.write(BURST, values[BURST:]))
    await _hold_up(board, board.master.write_if.w_channel, write)
    await write
    read = cocotb.start_soon(board.read(0, 2 * BURST))
    await _hold_up(board, board.master.read_if.r_channel, read)
    assert await read == values
    board.check_refreshes()


async def _hold_up(board: Board, channel: Any, task: Any) -> None:
    await Timer(board.period * 100, unit="ps")
    channel.pause = True
    before = board.model.progress.due
    await Timer(round(4 * board.timing.tREFI), unit="ns")
    assert board.model.progress.due >= before + 3
    assert not task.done()
    channel.pause = False


@cocotb.test(timeout_time=LONGEST, timeout_unit="us")
async def single_words_far_apart(dut: Any) -> None:
    """Each in another row, read, written, read: every limit at its tightest; over some refreshes."""
    board, rng = await ready(dut), np.random.default_rng(6)
    places = [int(row) * ROW + int(rng.integers(ROW // 2)) * 2 for row in rng.permutation(1 << 15)[:60]]
    values = [some(rng, 2) for _ in places]
    writes = [cocotb.start_soon(board.write(place, value)) for place, value in zip(places, values, strict=True)]
    for write in writes:
        await write
    reads = [cocotb.start_soon(board.read(place, 2)) for place in places]
    assert [await read for read in reads] == values
    # Words of one row after the other, in turns of reading and writing.
    for first, second in itertools.pairwise(range(20)):
        write = cocotb.start_soon(board.write(places[first], values[second]))
        assert await board.read(places[second], 2) == values[second]
        await write
    # Within a row: a write follows each read as soon as the bus allows.
    others = [places[0] // ROW * ROW + 2 * word for word in range(24)]
    writes = [cocotb.start_soon(board.write(place, some(rng, 2))) for place in others]
    reads = [cocotb.start_soon(board.read(places[0], 2)) for _ in others]
    for write, read in zip(writes, reads, strict=True):
        await write
        await read
    await Timer(round(8 * board.timing.tREFI), unit="ns")
    board.check_refreshes()


@cocotb.test(timeout_time=LONGEST, timeout_unit="us")
async def the_whole_power_up(dut: Any) -> None:
    """The wait of the data sheet, then the first data."""
    board = await ready(dut)
    await board.write(0, b"mrf!")
    assert await board.read(0, 4) == b"mrf!"
    first = board.model.progress
    assert first.cke_high is not None
    assert first.cke_high >= board.timing.power_up
    assert board.model.progress.mode >= 2 * board.timing.power_up
    assert board.cycle * board.period / 1000 <= 500_000
