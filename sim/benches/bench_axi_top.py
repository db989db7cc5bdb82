"""The machine for a system on chip between AXI masters and slaves: problems end to end by the host's own session."""

from __future__ import annotations

import logging
from typing import Any

import cocotb
import numpy as np
import pytest
from cocotb.task import resume
from cocotbext.axi import AxiBus, AxiLiteBus, AxiLiteMaster, AxiRam, AxiStreamBus, AxiStreamSink

from mrfhw.backends.backend import Pauses
from mrfhw.driver.driver import ChipError, Driver, unpack_lines
from mrfhw.field.result import Result, first_difference
from mrfhw.gateware.common.axi import OKAY, SLVERR
from mrfhw.gateware.control.register_file import PLACEHOLDER
from mrfhw.gateware.soc.axi_registers import BRIDGE_CYCLES
from mrfhw.gateware.soc.axi_top import AxiTop
from mrfhw.host.axi_session import AxiSession, LogControl, RingLog, StreamLog
from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.log_registers import LOG_PAGE, LOG_PAGE_WORDS, LOG_REGISTERS, WORD_BYTES
from mrfhw.machine.registers import CONTROL_BITS, IDENTITY, Region, register
from mrfhw.placement.placement import Placement
from mrfhw.twin.machine import solve
from sim.support.axi import AxiLiteChip, pause
from sim.support.blocking import blocking
from sim.support.fields import Bench
from sim.support.recorder import placements_from_text
from sim.support.runner import bench_config, bench_parameters
from sim.support.streams import Rhythm

AROUND = BRIDGE_CYCLES - 1  # cycles of an access beyond those of the machine's bus, which count the request's own
MEMORY = 1 << 16  # bytes behind m_axi; addresses beyond wrap


class View:
    """A ring as `mrfhw.host.axi_session.LogMemoryView`."""

    def __init__(self, system: System, base: int, size: int, slow: int):
        self.system, self.base, self.size, self.slow = system, base, size, slow

    def read(self, offset: int, count: int) -> bytes:
        assert offset >= 0
        assert offset + count <= self.size
        resume(self.system.bench.idle)(self.slow)
        self.slow = 0
        return bytes(self.system.ram.read(self.base + offset, count))


class System:
    """The machine with a register master, a memory and a stream's sink."""

    def __init__(self, dut: Any, seed: int):
        self.config, self.rng = bench_config(), np.random.default_rng(seed)
        parameters = bench_parameters()
        self.top = AxiTop(self.config, parameters["data_bits"], parameters["memory_address_bits"])
        self.top._MustUse__used = True  # type: ignore[attr-defined]
        self.block, self.dut, self.bench = self.top.ring.burst_bytes, dut, Bench(dut, self.top)
        self.problems = placements_from_text(parameters["placements"])
        self.hot, = placements_from_text(parameters["hot"])

    async def start(self, share: float = 1, memory: float = 1, burst: int = 3) -> None:
        await self.bench.start()
        # A line for each access takes longer than the access.
        logging.getLogger(f"cocotb.{self.dut._name}").setLevel(logging.WARNING)
        clock = self.dut.clk, self.dut.rst
        self.master = AxiLiteMaster(AxiLiteBus.from_prefix(self.dut, "s_axi"), *clock)
        self.ram = AxiRam(AxiBus.from_prefix(self.dut, "m_axi"), *clock, size=MEMORY)
        self.sink = AxiStreamSink(AxiStreamBus.from_prefix(self.dut, "m_axis"), *clock, byte_lanes=self.config.line_bits // 8)
        self.pace(share, memory, burst)
        self.chip = AxiLiteChip(self.master)
        self.control = LogControl(self.chip)
        await self.bench.idle(2)

    def pace(self, share: float = 1, memory: float = 1, burst: int = 3) -> None:
        """share: of cycles in which a channel of s_axi and m_axis goes on; memory: one of m_axi."""
        write, read, ram = self.master.write_if, self.master.read_if, self.ram.write_if
        assert ram is not None
        for channel, of in ((write.aw_channel, share), (write.w_channel, share), (write.b_channel, share), (read.ar_channel, share),
                            (read.r_channel, share), (self.sink, share), (ram.aw_channel, memory), (ram.w_channel, memory),
                            (ram.b_channel, memory)):
            pause(channel, Rhythm(self.rng, of, burst) if of < 1 else None)

    def ring(self, blocks: int, slow: int = 0) -> RingLog:
        """A ring somewhere in memory, read through the slave's back door. slow: cycles that the first read takes."""
        size = blocks * self.block
        base = int(self.rng.integers((MEMORY - size) // self.block)) * self.block
        return RingLog(self.chip, View(self, base, size, slow), base, size)

    def stream(self) -> StreamLog:
        def receive() -> bytes:
            frames = bytearray()
            while not self.sink.empty():
                frames += bytes(self.sink.recv_nowait().tdata)
            return bytes(frames)

        return StreamLog(self.chip, receive)

    async def session(self, log: RingLog | StreamLog) -> AxiSession:
        found: AxiSession = await blocking(AxiSession, self.config, self.chip, log, pause=0, patience=10,
                                           digest=PLACEHOLDER)  # the component alone has no digest
        return found

    async def solve(self, session: AxiSession, p: Placement) -> Result:
        """Run a problem; labels, histogram, LMem and messages must be the model's, and cycles but for stalls."""
        found: Result = await blocking(session.solve, p.problem, p.run)
        wanted = solve(p.config, p.problem, p.run)
        assert found.cycles is not None
        assert wanted.cycles is not None
        stalls = found.stall_cycles or 0
        found.cycles, wanted.cycles = found.cycles - stalls, wanted.cycles - (wanted.stall_cycles or 0)
        found.stall_cycles = wanted.stall_cycles = 0
        assert first_difference(wanted, found) is None, first_difference(wanted, found)
        found.stall_cycles = stalls
        return found


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def registers(dut: Any) -> None:
    """The machine's registers and the log's, each at its byte address; what is not one gets SLVERR."""
    system = System(dut, 1)
    await system.start()
    master, block = system.master, system.block

    async def read(word: int) -> tuple[int, int]:
        response = await master.read(WORD_BYTES * word, WORD_BYTES)
        return int(response.resp), int.from_bytes(response.data, "little")

    async def write(word: int, value: int) -> int:
        return int((await master.write(WORD_BYTES * word, value.to_bytes(WORD_BYTES, "little"))).resp)

    assert await read(register("identity")) == (OKAY, IDENTITY)
    amap = AddressMap(system.config)
    await write(amap.tile(0, Region.LMEM), 1)
    assert await read(amap.tile(0, Region.LMEM)) == (OKAY, 1)
    wanted = {"log_block": block, "log_status": 2}  # empty
    for name, entry in LOG_REGISTERS.items():
        assert await read(entry.index) == (OKAY, wanted.get(name, 0)), name
        if entry.access == "r":
            assert await write(entry.index, 0) == SLVERR, name
    for word in (LOG_PAGE - 1, *range(LOG_PAGE + len(LOG_REGISTERS), LOG_PAGE + LOG_PAGE_WORDS)):
        assert await read(word) == (SLVERR, 0)
        assert await write(word, 0) == SLVERR
    # No other address is the page's.
    for bit in range((LOG_PAGE_WORDS - 1).bit_length(), amap.address_bits):
        assert await read(LOG_PAGE ^ 1 << bit) != (OKAY, block), bit
    bits = system.top.memory_address_bits
    for name, mask in (("log_base_low", (1 << min(bits, 32)) - block), ("log_base_high", (1 << max(0, bits - 32)) - 1),
                       ("log_size", (1 << 32) - block), ("log_target", 1)):
        for value in (0xFFFFFFFF, 0x12345678, 0):
            assert await write(LOG_REGISTERS[name].index, value) == OKAY
            assert await read(LOG_REGISTERS[name].index) == (OKAY, value & mask), name
    # No log is there to be freed.
    assert await write(LOG_REGISTERS["log_freed"].index, 1) == SLVERR
    assert await write(LOG_REGISTERS["log_freed"].index, 0) == OKAY


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def latency(dut: Any) -> None:
    """Cycles from an access to its response, as docs/integration.md has them."""
    system = System(dut, 11)
    bench, amap = system.bench, AddressMap(system.config)
    tile = amap.tile(0, Region.LMEM)
    await bench.start()
    config = system.config
    written, read = config.bus_write_cycles() + AROUND, config.bus_read_cycles() + AROUND
    for write, word, cycles in ((0, LOG_PAGE, 4), (1, LOG_REGISTERS["log_target"].index, 4), (0, register("slots"), written),
                                (1, register("slots"), written), (1, tile, written), (0, tile, read)):
        assert await _responses(bench, bool(write), word, 1) == [cycles], (write, word)


@cocotb.test(timeout_time=1, timeout_unit="ms")
async def a_word_a_cycle(dut: Any) -> None:
    """Accesses without a pause: from the first one on a response in each cycle, also of reads from tiles."""
    system = System(dut, 13)
    bench, config, number = system.bench, system.config, 60
    tile = AddressMap(config).tile(config.spes - 1, Region.LMEM)
    await bench.start()
    slots, writes, reads = register("slots"), config.bus_write_cycles, config.bus_read_cycles
    for write, word, cycles in ((True, slots, writes), (False, slots, writes), (True, tile, writes), (False, tile, reads)):
        responses = await _responses(bench, write, word, number)
        assert responses == [cycles() + AROUND + i for i in range(number)], (write, word)
        assert responses[-1] == cycles(number) + AROUND
    for write in (True, False):
        assert await _responses(bench, write, LOG_REGISTERS["log_target"].index, number) == [4 + i for i in range(number)]


async def _responses(bench: Bench, write: bool, word: int, number: int) -> list[int]:
    """Cycles from the first of so many accesses to each response, one offered in each cycle and every response taken at once."""
    address = WORD_BYTES * word
    offer = ({"s_axi_awvalid": 1, "s_axi_awaddr": address, "s_axi_wvalid": 1, "s_axi_wdata": 0, "s_axi_wstrb": 15} if write
             else {"s_axi_arvalid": 1, "s_axi_araddr": address})
    channel, first, found = "s_axi_b" if write else "s_axi_r", bench.now + 1, list[int]()
    for cycle in range(number + 200):
        if cycle == number:
            offer = dict.fromkeys(offer, 0)
        await bench.cycle(s_axi_bready=1, s_axi_rready=1, **offer)
        if cycle < number:
            assert all(bench.read(name.replace("valid", "ready")) for name in offer if name.endswith("valid")), cycle
        if bench.read(f"{channel}valid"):
            assert bench.read(f"{channel}resp") == OKAY
            found.append(bench.now - first)
    return found


@cocotb.test(timeout_time=5, timeout_unit="ms")
async def page_and_machine_in_order(dut: Any) -> None:
    """Accesses of log registers, the machine's registers, tiles and no register, in any order without a pause and with pauses: each
    has the answer that it has alone."""
    system = System(dut, 14)
    await system.start()
    rng, amap = system.rng, AddressMap(system.config)
    held = {LOG_REGISTERS[name].index: SLVERR if entry.access == "r" else OKAY for name, entry in LOG_REGISTERS.items()
            if name != "log_freed"}
    held |= {LOG_PAGE - 1: SLVERR, LOG_PAGE + len(LOG_REGISTERS): SLVERR}
    held |= {register(name): OKAY for name in ("slots", "sweeps", "out_of_range", "tile_groups")}
    held |= {amap.tile(system.config.spes - 1, Region.S1, offset): OKAY for offset in range(6)}

    async def written(accesses: list[tuple[int, int]], at_once: bool) -> list[int]:
        events = []
        for word, value in accesses:
            events.append(system.master.init_write(WORD_BYTES * word, value.to_bytes(WORD_BYTES, "little")))
            if not at_once:
                await events[-1].wait()
        for event in events:
            await event.wait()
        return [int(event.data.resp) for event in events]

    async def read(words: list[int], at_once: bool) -> list[tuple[int, int]]:
        events = []
        for word in words:
            events.append(system.master.init_read(WORD_BYTES * word, WORD_BYTES))
            if not at_once:
                await events[-1].wait()
        for event in events:
            await event.wait()
        return [(int(event.data.resp), int.from_bytes(event.data.data, "little")) for event in events]

    words = list(held)
    assert await written([(word, 0xFFFFFFFF) for word in words], False) == list(held.values())
    bits = dict(zip(words, (value for _, value in await read(words, False)), strict=True))
    for share in (1, 1, 0.8):
        system.pace(share)
        accesses = [(words[i], int(rng.integers(1 << 32))) for i in rng.integers(len(words), size=150)]
        assert await written(accesses, True) == [held[word] for word, _ in accesses]
        values = dict(accesses)
        alone = dict(zip(words, await read(words, False), strict=True))
        for word, value in values.items():
            if held[word] == OKAY:
                assert alone[word] == (OKAY, value & bits[word]), hex(word)
        order = [words[i] for i in rng.integers(len(words), size=150)]
        assert await read(order, True) == [alone[word] for word in order]


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def log_in_memory(dut: Any) -> None:
    """Problem after problem through a ring that holds a run: the model's bits, and memory outside the ring is untouched."""
    system = System(dut, 2)
    await system.start()
    ring = system.ring(64)
    session = await system.session(ring)
    for p in system.problems:
        await system.solve(session, p)
    assert ring.position > 0
    at = ring.base
    assert not any(bytes(system.ram.read(0, at)) + bytes(system.ram.read(at + ring.size, MEMORY - at - ring.size)))
    assert system.sink.empty()


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def log_on_the_stream(dut: Any) -> None:
    system = System(dut, 3)
    await system.start()
    session = await system.session(system.stream())
    await system.solve(session, system.problems[0])
    assert not any(system.ram.read(0, MEMORY))
    assert (await blocking(system.control.get, "log_written", "log_size")) == [0, 0]


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def ring_that_wraps(dut: Any) -> None:
    """A ring of two blocks for a log several times as long: the machine waits for it to be freed, nothing is lost."""
    system = System(dut, 4)
    await system.start()
    ring = system.ring(2, slow=4000)
    found = await system.solve(await system.session(ring), system.hot)
    assert ring.position > 2 * ring.size, "the ring did not wrap"
    assert found.stall_cycles
    # The view may be an array too.
    array = np.zeros(ring.size, np.uint8)
    with pytest.raises(ChipError, match="memory is uint8 of shape"):
        await blocking(RingLog(system.chip, array[1:], ring.base, ring.size).open)


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def random_idle_and_back_pressure(dut: Any) -> None:
    """The same bits whenever channels pause."""
    system = System(dut, 5)
    await system.start(share=0.5, memory=0.3)
    for log in (system.ring(3), system.stream()):
        await system.solve(await system.session(log), system.problems[0])


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def wrong_rings(dut: Any) -> None:
    system = System(dut, 6)
    await system.start()
    block, limit = system.block, 1 << system.top.memory_address_bits
    for base, size, name in ((1, block, "base"), (0, 0, "size"), (0, block + 1, "size"), (limit, block, "base"),
                             (limit - block, 2 * block, "base"), (0, 1 << 32, "size"), (-block, block, "base")):
        with pytest.raises(ChipError, match=f"^{name} is .*: give another {name}$"):
            await system.session(RingLog(system.chip, system.ring(1).memory, base, size))
    await system.solve(await system.session(system.ring(4)), system.problems[0])


@cocotb.test(timeout_time=20, timeout_unit="ms")
async def memory_that_refuses(dut: Any) -> None:
    """An error from memory is one line, and the next session begins without it."""
    system = System(dut, 7)
    await system.start()
    ram: Any = system.ram.write_if
    allowed = ram._write

    async def refuse(address: int, data: bytes) -> None:
        raise ValueError

    ram._write = refuse
    session = await system.session(system.ring(2))
    with pytest.raises(ChipError, match="memory refused the log"):
        await blocking(session.solve, system.hot.problem, system.hot.run)
    ram._write = allowed
    await system.solve(session, system.problems[0])


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def runs_left_behind(dut: Any) -> None:
    """A session takes over from a run that nobody attends: without a ring, with a full one, or on the stream."""
    system = System(dut, 8)
    await system.start()
    left: list[RingLog | StreamLog | None] = [None, system.stream(), system.ring(2)]
    for log in left:
        if log is not None:
            await blocking(log.open)
        driver = Driver(system.config, system.chip)
        await blocking(driver.load, system.hot)
        await blocking(driver.start)
        await system.bench.idle(2500 if log else 100)
        if not isinstance(log, StreamLog):
            assert await blocking(lambda driver=driver: driver.busy), "the run did not wait for its log"
        if isinstance(log, RingLog):
            # The positions of a log under way are not given up.
            with pytest.raises(ChipError, match="refused"):
                await blocking(system.control.set, log_size=0)
            with pytest.raises(ChipError, match="refused"):
                await blocking(system.control.set, log_freed=log.size + 1)
        await system.solve(await system.session(system.ring(4)), system.problems[0])


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def stop_and_resume(dut: Any) -> None:
    """A run that is stopped and read in the middle goes on; its log is one."""
    system = System(dut, 9)
    await system.start()
    ring = system.ring(4)
    session = await system.session(ring)
    driver, p = session.driver, system.hot
    await blocking(driver.load, p)
    await blocking(driver.start)
    await blocking(driver.set, control=1 << CONTROL_BITS["stop"])
    log, _ = await blocking(session.run_out, 0, None, None)
    assert (await blocking(driver.get, "sweep")) == [1]
    lines = (await blocking(driver.get, "lines"))[0]
    assert len(log) == lines * system.config.line_bits // 8
    await blocking(driver.start, True)
    while await blocking(lambda: driver.busy or not system.control.empty()):
        log += await blocking(ring.take)
    log += await blocking(ring.take)
    wanted = solve(p.config, p.problem, p.run)
    messages = unpack_lines(p.config, np.frombuffer(bytes(log), np.uint8))
    assert wanted.messages is not None
    assert sorted(map(tuple, messages)) == sorted(map(tuple, wanted.messages))


@cocotb.test(timeout_time=50, timeout_unit="ms")
async def state_that_is_taken_up(dut: Any) -> None:
    """A run that pauses goes on in place, and from its state after another problem: labels, histogram, LMem, messages."""
    system = System(dut, 12)
    await system.start()
    session, p = await system.session(system.ring(4)), system.hot
    wanted = solve(p.config, p.problem, p.run)
    pauses = Pauses(sweeps=3)
    active = await blocking(lambda: session.begin(p.problem, p.run, pauses=pauses))
    state = await blocking(active.state)
    assert 0 < state.sweeps == active.sweeps < p.run.sweeps
    pauses.restart(active.sweeps)
    while not active.finished:
        await blocking(active.advance)
        pauses.restart(active.sweeps)
    found = [await blocking(active.result)]
    await system.solve(session, system.problems[0])
    taken_up = await blocking(lambda: session.begin(p.problem, p.run, state=state))
    found.append(await blocking(taken_up.result))
    for result in found:
        # Filling and emptying the pipeline at a pause is all that differs, and nothing does where every colour waits for the last.
        made, least = result.cycles or 0, (wanted.cycles or 0) - (wanted.stall_cycles or 0)
        assert made > least if p.overlap else made >= least
        for name in ("cycles", "stall_cycles", "gap_cycles"):
            setattr(result, name, getattr(wanted, name))
        assert first_difference(wanted, result) is None, first_difference(wanted, result)


@cocotb.test(timeout_time=100, timeout_unit="ms")
async def stress(dut: Any) -> None:
    """Rings of all sizes and the stream in turn, all channels pausing, memory slow."""
    system = System(dut, 10)
    await system.start(share=0.7, memory=0.15, burst=8)
    logs: list[RingLog | StreamLog] = [system.ring(1), system.stream(), system.ring(3)]
    for n, log in enumerate(logs):
        session = await system.session(log)
        await system.solve(session, system.hot if n % 2 == 0 else system.problems[n % len(system.problems)])
