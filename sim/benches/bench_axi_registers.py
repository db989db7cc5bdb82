"""AxiLiteToWishbone: each access once and in order with its answer, an access a cycle, turns, strobes, alignment."""

from __future__ import annotations

from collections import deque
from typing import Any

import cocotb
import numpy as np
from cocotb.task import Task
from cocotb.triggers import Combine
from cocotbext.axi import AxiLiteBus, AxiLiteMaster

from mrfhw.gateware.common.axi import OKAY, SLVERR
from mrfhw.gateware.soc.axi_registers import BRIDGE_CYCLES, AxiLiteToWishbone
from sim.support.axi import pause
from sim.support.fields import Bench
from sim.support.runner import bench_parameters
from sim.support.streams import Rhythm

STB = 2  # cycles from awvalid and wvalid, or arvalid, to stb
RESPONSE = BRIDGE_CYCLES - STB  # from ack or err to bvalid or rvalid
WRITE = {"axi_awvalid": 1, "axi_awaddr": 4, "axi_wvalid": 1, "axi_wdata": 5, "axi_wstrb": 15}
READ = {"axi_arvalid": 1, "axi_araddr": 8}
NOTHING = {"axi_awvalid": 0, "axi_wvalid": 0, "axi_arvalid": 0}


class Slave:
    """Words behind the Wishbone port. It answers in order, `latency` cycles after a request and up to `slower` more, with err above
    `refused`; it takes requests in a share of the cycles.

    accesses: (write, address, data written or read, refused) as the bus saw them. starts: cycles in which requests were taken.
    """

    def __init__(self, dut: Any, seed: int, latency: int = 1, slower: int = 0, takes: float = 1):
        self.rng, self.latency, self.slower, self.takes = np.random.default_rng(seed), latency, slower, takes
        address_bits, self.outstanding = bench_parameters()["address_bits"], bench_parameters()["outstanding"]
        self.bench = Bench(dut, AxiLiteToWishbone(address_bits, self.outstanding))
        self.words = 1 << address_bits - 2
        self.refused = self.words * 3 // 4
        self.memory: dict[int, int] = {}
        self.accesses: list[tuple[bool, int, int, bool]] = []
        self.starts: list[int] = []
        self._owed: deque[tuple[int, tuple[int, int, int]]] = deque()  # earliest cycle of the answer, request
        self._stalled: tuple[int, int, int] | None = None
        self._held: dict[str, tuple[int, ...]] = {}

    async def start(self) -> None:
        await self.bench.start()
        self._owed.clear()
        self._held.clear()
        self._stalled = None

    async def cycle(self, **drive: Any) -> None:
        """One cycle; checks what Wishbone and AXI ask of a master and a slave."""
        bench = self.bench
        # Data without an ack are noise.
        stall = int(self.rng.random() >= self.takes)
        drive |= {"bus_ack": 0, "bus_err": 0, "bus_dat_r": int(self.rng.integers(1 << 32)), "bus_stall": stall}
        owed = len(self._owed)
        if owed and self._owed[0][0] <= bench.now + 1:
            drive |= self._answer(self._owed.popleft()[1])
        await bench.cycle(**drive)
        self._check_responses()
        strobe = bench.read("bus_stb")
        assert bench.read("bus_cyc") == (strobe or owed > 0), "cyc from the first request to the last answer"
        request = bench.read("bus_we"), bench.read("bus_adr"), bench.read("bus_dat_w") * bench.read("bus_we")
        if self._stalled is not None:
            assert strobe, "a request was given up"
            assert request == self._stalled, "a request changed before it was taken"
        self._stalled = request if strobe and stall else None
        if strobe and not stall:
            self.starts.append(bench.now)
            self._owed.append((bench.now + self.latency + int(self.rng.integers(self.slower + 1)), request))

    def _answer(self, request: tuple[int, int, int]) -> dict[str, int]:
        write, address, word = request
        refused = address >= self.refused
        if write and not refused:
            self.memory[address] = word
        found = word if write else self.memory.get(address, address * 0x10001 & 0xFFFFFFFF)
        self.accesses.append((bool(write), address, found, refused))
        return {"bus_err": 1} if refused else {"bus_ack": 1} if write else {"bus_ack": 1, "bus_dat_r": found}

    def _check_responses(self) -> None:
        """A response stands unchanged until it is taken."""
        read = self.bench.read
        for channel, fields in (("b", ("bresp",)), ("r", ("rresp", "rdata"))):
            valid, ready = read(f"axi_{channel}valid"), int(getattr(self.bench.dut, f"axi_{channel}ready").value)
            now = tuple(read(f"axi_{name}") for name in fields) if valid else ()
            if channel in self._held:
                assert now == self._held[channel], f"{channel} changed before it was taken"
            self._held.pop(channel, None)
            if valid and not ready:
                self._held[channel] = now

    async def serve(self) -> None:
        while True:
            await self.cycle()


class System:
    """The bridge between cocotbext-axi's master and a slave."""

    def __init__(self, dut: Any, seed: int, slave: Slave):
        self.dut, self.slave, self.rng = dut, slave, np.random.default_rng(seed + 100)

    async def start(self, idle: float = 1, ready: float = 1, burst: int = 1) -> None:
        await self.slave.start()
        self.master = AxiLiteMaster(AxiLiteBus.from_prefix(self.dut, "axi"), self.dut.clk, self.dut.rst)
        self.pace(idle, ready, burst)
        cocotb.start_soon(self.slave.serve())

    def pace(self, idle: float, ready: float, burst: int) -> None:
        """idle: share of cycles in which the master offers what it has; ready: in which it takes responses."""
        write, read = self.master.write_if, self.master.read_if
        for channel, share in ((write.aw_channel, idle), (write.w_channel, idle), (read.ar_channel, idle),
                               (write.b_channel, ready), (read.r_channel, ready)):
            pause(channel, Rhythm(self.rng, share, burst) if share < 1 else None)

    def random_accesses(self, count: int) -> list[tuple[int, int]]:
        """Byte addresses and bytes: a quarter of them refused by the slave, a tenth no whole words, and few enough words that reads
        meet what was written."""
        base = self.slave.refused - 12
        parts = ((0, 1), (0, 3), (1, 1), (1, 3), (2, 2), (3, 1))
        found = []
        for _ in range(count):
            offset, length = parts[self.rng.integers(len(parts))] if self.rng.random() < 0.1 else (0, 4)
            found.append((4 * int(base + self.rng.integers(16)) + offset, length))
        return found

    async def mix(self, count: int) -> None:
        """Writes and reads side by side, each kind in order; every response is what the bus answered, or that of no whole word."""
        writes = [(address, self.rng.bytes(length)) for address, length in self.random_accesses(count)]
        reads = [(address, length if address % 4 else 4) for address, length in self.random_accesses(count)]
        responses: dict[str, list[Any]] = {"write": [], "read": []}

        async def write() -> None:
            events = [self.master.init_write(address, data) for address, data in writes]
            for event in events:
                await event.wait()
                responses["write"].append(event.data)

        async def read() -> None:
            events = [self.master.init_read(address, length) for address, length in reads]
            for event in events:
                await event.wait()
                responses["read"].append(event.data)

        self.slave.accesses.clear()
        tasks: list[Task[None]] = [cocotb.start_soon(write()), cocotb.start_soon(read())]
        await Combine(*tasks)
        served = {kind: iter([access for access in self.slave.accesses if access[0] is kind]) for kind in (True, False)}
        for (at, data), response in zip(writes, responses["write"], strict=True):
            wanted = SLVERR
            if len(data) == 4:
                _, address, word, refused = next(served[True])
                assert (4 * address, word.to_bytes(4, "little")) == (at, data)
                wanted = SLVERR if refused else OKAY
            assert int(response.resp) == wanted
        for (at, length), response in zip(reads, responses["read"], strict=True):
            data = bytes(length)
            wanted = SLVERR
            if at % 4 == 0:
                _, address, word, refused = next(served[False])
                assert 4 * address == at
                wanted, data = (SLVERR, data) if refused else (OKAY, word.to_bytes(4, "little"))
            assert (int(response.resp), response.data) == (wanted, data)
        assert not [*served[True], *served[False]], "more accesses than were asked for"


async def _accesses(slave: Slave, number: int, **offered: int) -> tuple[list[int], list[int]]:
    """So many of each of the accesses offered, all channels always ready; cycles of the requests and of the responses, from the
    first offer on."""
    slave.starts.clear()
    left = {name: number for name in offered if name.endswith("valid")}
    began, responses, limit = slave.bench.now + 1, list[int](), 100 + 40 * number
    while limit and (any(left.values()) or len(responses) < number * (len(left) - ("axi_wvalid" in left))):
        limit -= 1
        offer = {name: value if left.get(name, 1) else 0 for name, value in offered.items()}
        await slave.cycle(axi_bready=1, axi_rready=1, **offer)
        for name in left:
            left[name] -= left[name] > 0 and bool(slave.bench.read(name.replace("valid", "ready")))
        responses += [slave.bench.now - began] * (slave.bench.read("axi_bvalid") + slave.bench.read("axi_rvalid"))
    await slave.cycle(**NOTHING)
    assert not slave.bench.read("axi_bvalid"), "a response more"
    assert not slave.bench.read("axi_rvalid"), "a response more"
    return [start - began for start in slave.starts], responses


@cocotb.test(timeout_time=100, timeout_unit="us")
async def latency(dut: Any) -> None:
    """stb and response of an access alone come when the contract says."""
    slave = Slave(dut, 1)
    await slave.start()
    for slave.latency in (1, 2, 5):
        for offer in (WRITE, READ):
            assert await _accesses(slave, 1, **offer) == ([STB], [STB + slave.latency + RESPONSE])


@cocotb.test(timeout_time=100, timeout_unit="us")
async def an_access_a_cycle(dut: Any) -> None:
    """A request and a response in each cycle where as many accesses may be outstanding as are under way, else so many at a time."""
    slave, number = Slave(dut, 2), 40
    await slave.start()
    room = slave.outstanding
    for slave.latency in sorted({max(1, room - BRIDGE_CYCLES + more) for more in (-1, 0, 1, 3)}):
        way = slave.latency + BRIDGE_CYCLES
        times = [i if room >= way else i // room * way + i % room for i in range(number)]
        for offer in (WRITE, READ):
            starts, responses = await _accesses(slave, number, **offer)
            assert starts == [STB + time for time in times]
            assert responses == [way + time for time in times]
        if room >= way:
            starts, responses = await _accesses(slave, number, **WRITE, **READ)
            assert starts == [STB + i for i in range(2 * number)]
            assert responses == [way + i for i in range(2 * number)]


@cocotb.test(timeout_time=100, timeout_unit="us")
async def turns(dut: Any) -> None:
    """Endless writes and endless reads take turns."""
    slave = Slave(dut, 3, 1, slower=3, takes=0.7)
    await slave.start()
    await slave.cycle(**WRITE, **READ, axi_bready=1, axi_rready=1)
    for _ in range(400):
        await slave.cycle()
    kinds = [write for write, *_ in slave.accesses]
    assert len(kinds) > 40
    # The first of each came together; from then on one after the other, but where the other's responses have no room yet.
    assert kinds == [bool(i % 2) ^ kinds[0] for i in range(len(kinds))]


@cocotb.test(timeout_time=100, timeout_unit="us")
async def nothing_waits_for_the_other_kind(dut: Any) -> None:
    """Reads go on while a write's responses, its address or its data are missing; writes while reads' responses are."""
    room = Slave(dut, 4).outstanding
    data = {name: value for name, value in WRITE.items() if name.startswith("axi_w")}
    address = {name: value for name, value in WRITE.items() if name.startswith("axi_aw")}
    for stuck, going, wanted, most in ((data, {**READ, "axi_rready": 1}, False, 0), (address, {**READ, "axi_rready": 1}, False, 0),
                                       (WRITE, {**READ, "axi_rready": 1}, False, room),
                                       (READ, {**WRITE, "axi_bready": 1}, True, room)):
        slave = Slave(dut, 4, 1, slower=2)
        await slave.start()
        await slave.cycle(**stuck, **going)
        for _ in range(300):
            await slave.cycle()
        count = sum(write is wanted for write, *_ in slave.accesses)
        assert count >= 20
        # As many as have room for their responses, which nobody takes.
        assert len(slave.accesses) - count == most


@cocotb.test(timeout_time=100, timeout_unit="us")
async def strobes_and_alignment(dut: Any) -> None:
    """What is not one whole word gets SLVERR and never reaches the bus; what comes next is not disturbed."""
    system = System(dut, 5, Slave(dut, 5, 1, slower=2))
    await system.start()
    master, accesses = system.master, system.slave.accesses
    for offset, length in ((0, 1), (0, 2), (0, 3), (1, 1), (1, 3), (2, 2), (3, 1)):
        assert int((await master.write(16 + offset, bytes(length))).resp) == SLVERR
    for offset in (1, 2, 3):
        response = await master.read(16 + offset, 1)
        assert (int(response.resp), response.data) == (SLVERR, b"\0")
    assert not accesses
    assert int((await master.write(16, bytes(4))).resp) == OKAY
    assert int((await master.read(20, 4)).resp) == OKAY
    assert len(accesses) == 2


@cocotb.test(timeout_time=100, timeout_unit="us")
async def strobes_and_alignment_apart(dut: Any) -> None:
    """All strobes at an address that is no word's, and no strobes at one that is."""
    slave = Slave(dut, 6)
    await slave.start()
    await _raw_write(slave, awaddr=18, wstrb=15, wanted=SLVERR)
    for missing in range(4):
        await _raw_write(slave, awaddr=16, wstrb=15 ^ 1 << missing, wanted=SLVERR)
    assert not slave.accesses
    await _raw_write(slave, awaddr=16, wstrb=15, wanted=OKAY)
    assert slave.accesses == [(True, 4, 1, False)]


async def _raw_write(slave: Slave, awaddr: int, wstrb: int, wanted: int) -> None:
    await slave.cycle(axi_awvalid=1, axi_awaddr=awaddr, axi_wvalid=1, axi_wdata=1, axi_wstrb=wstrb, axi_bready=0)
    await slave.cycle(axi_awvalid=0, axi_wvalid=0)
    for _ in range(8):
        await slave.cycle()
    assert (slave.bench.read("axi_bvalid"), slave.bench.read("axi_bresp")) == (1, wanted)
    await slave.cycle(axi_bready=1)
    await slave.cycle(axi_bready=0)
    assert not slave.bench.read("axi_bvalid")


@cocotb.test(timeout_time=100, timeout_unit="us")
async def reset_ends_accesses(dut: Any) -> None:
    """A reset with accesses under way, responses held and channels full: nothing of it is left, all room is free again."""
    slave = Slave(dut, 7, 1000)
    await slave.start()
    for slave.latency in (1, 1000):  # responses that nobody takes, and answers that do not come
        for offer in (WRITE, READ):
            await slave.cycle(**WRITE, **READ, axi_bready=0, axi_rready=0)
            for _ in range(5 + slave.outstanding):
                await slave.cycle()
            await slave.start()
            # Reset clears the ports' inputs too.
            assert not any(slave.bench.read(name) for name in ("bus_cyc", "bus_stb", "axi_bvalid", "axi_rvalid"))
            slow, slave.latency = slave.latency, 1
            slave.accesses.clear()
            way, room = 1 + BRIDGE_CYCLES, slave.outstanding
            _, responses = await _accesses(slave, 12, **offer)
            assert responses == [way + (i if room >= way else i // room * way + i % room) for i in range(12)]
            assert len(slave.accesses) == 12
            slave.latency = slow


@cocotb.test(timeout_time=100, timeout_unit="us")
async def no_idle(dut: Any) -> None:
    system = System(dut, 8, Slave(dut, 8, 1))
    await system.start()
    await system.mix(150)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def random_idle(dut: Any) -> None:
    system = System(dut, 9, Slave(dut, 9, 2, slower=3, takes=0.8))
    await system.start(idle=0.3, burst=3)
    await system.mix(80)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def random_back_pressure(dut: Any) -> None:
    system = System(dut, 10, Slave(dut, 10, 1, slower=3))
    await system.start(ready=0.2, burst=4)
    await system.mix(80)


@cocotb.test(timeout_time=100, timeout_unit="us")
async def stress(dut: Any) -> None:
    """All five channels pause at random, the slave takes requests at random and answers after up to nine cycles."""
    slave = Slave(dut, 11)
    system = System(dut, 11, slave)
    await system.start()
    for idle, ready, slave.takes, slave.slower in ((0.6, 0.4, 0.5, 8), (0.95, 0.9, 0.9, 3), (0.8, 0.5, 1, 0)):
        system.pace(idle, ready, burst=8)
        for _ in range(2):
            await system.mix(80)
