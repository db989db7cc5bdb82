"""AxiLiteToWishbone: each access once and in order, its answer, turns, strobes, alignment."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np
from cocotb.task import Task
from cocotb.triggers import Combine
from cocotbext.axi import AxiLiteBus, AxiLiteMaster

from mrfhw.gateware.common.axi import OKAY, SLVERR
from mrfhw.gateware.soc.axi_registers import AxiLiteToWishbone
from sim.support.axi import pause
from sim.support.fields import Bench
from sim.support.runner import bench_parameters
from sim.support.streams import Rhythm

STB = 2  # cycles from awvalid and wvalid, or arvalid, to stb
RESPONSE = 1  # from ack or err to bvalid or rvalid


class Slave:
    """Words behind the Wishbone port. It answers after up to `slowest` cycles, with err above `refused`.

    accesses: (write, address, data written or read, refused) as the bus saw them.
    """

    def __init__(self, dut: Any, seed: int, slowest: int = 0):
        self.rng, self.slowest = np.random.default_rng(seed), slowest
        address_bits = bench_parameters()["address_bits"]
        self.bench = Bench(dut, AxiLiteToWishbone(address_bits))
        self.words = 1 << address_bits - 2
        self.refused = self.words * 3 // 4
        self.memory: dict[int, int] = {}
        self.accesses: list[tuple[bool, int, int, bool]] = []
        self.starts: list[int] = []  # cycles in which stb rose
        self._wait, self._request = -1, (0, 0, 0)
        self._held: dict[str, tuple[int, ...]] = {}

    async def start(self) -> None:
        await self.bench.start()

    async def cycle(self, **drive: Any) -> None:
        """One cycle; checks what Wishbone and AXI ask of a master and a slave."""
        bench = self.bench
        # Data without an ack are noise.
        drive |= {"bus_ack": 0, "bus_err": 0, "bus_dat_r": int(self.rng.integers(1 << 32))}
        answer = self._wait == 0
        if answer:
            drive |= self._answer()
        await bench.cycle(**drive)
        self._check_responses()
        strobe = bench.read("bus_stb")
        assert strobe == bench.read("bus_cyc")
        request = bench.read("bus_we"), bench.read("bus_adr"), bench.read("bus_dat_w") * bench.read("bus_we")
        if self._wait < 0:
            if strobe:
                self.starts.append(bench.now)
                self._wait, self._request = int(self.rng.integers(self.slowest + 1)), request
        else:
            assert strobe, "an access was given up"
            assert request == self._request, "an access changed before its answer"
            self._wait -= 1

    def _answer(self) -> dict[str, int]:
        write, address, word = self._request
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

    def __init__(self, dut: Any, seed: int, slowest: int):
        self.dut, self.slave, self.rng = dut, Slave(dut, seed, slowest), np.random.default_rng(seed + 100)

    async def start(self, idle: float = 1, ready: float = 1, burst: int = 1) -> None:
        """idle: share of cycles in which the master offers what it has; ready: in which it takes responses."""
        await self.slave.start()
        self.master = AxiLiteMaster(AxiLiteBus.from_prefix(self.dut, "axi"), self.dut.clk, self.dut.rst)
        write, read = self.master.write_if, self.master.read_if
        for channel, share in ((write.aw_channel, idle), (write.w_channel, idle), (read.ar_channel, idle),
                               (write.b_channel, ready), (read.r_channel, ready)):
            if share < 1:
                pause(channel, Rhythm(self.rng, share, burst))
        cocotb.start_soon(self.slave.serve())

    def random_addresses(self, count: int) -> list[int]:
        """Byte addresses, a quarter of them refused, few enough words that reads meet what was written."""
        base = self.slave.refused - 12
        return [4 * int(base + self.rng.integers(16)) for _ in range(count)]

    async def mix(self, count: int) -> None:
        """Writes and reads side by side, each kind in order; every response is what the bus answered."""
        writes = [(address, int(self.rng.integers(1 << 32))) for address in self.random_addresses(count)]
        reads = self.random_addresses(count)
        responses: dict[str, list[Any]] = {"write": [], "read": []}

        async def write() -> None:
            events = [self.master.init_write(address, word.to_bytes(4, "little")) for address, word in writes]
            for event in events:
                await event.wait()
                responses["write"].append(event.data)

        async def read() -> None:
            events = [self.master.init_read(address, 4) for address in reads]
            for event in events:
                await event.wait()
                responses["read"].append(event.data)

        self.slave.accesses.clear()
        tasks: list[Task[None]] = [cocotb.start_soon(write()), cocotb.start_soon(read())]
        await Combine(*tasks)
        written = [(a, word, refused) for is_write, a, word, refused in self.slave.accesses if is_write]
        assert [(4 * a, word) for a, word, _ in written] == writes
        assert [int(r.resp) for r in responses["write"]] == [SLVERR if refused else OKAY for _, _, refused in written]
        found = [(a, word, refused) for is_write, a, word, refused in self.slave.accesses if not is_write]
        assert [4 * a for a, _, _ in found] == reads
        for (_, word, refused), response in zip(found, responses["read"], strict=True):
            assert int(response.resp) == (SLVERR if refused else OKAY)
            assert int.from_bytes(response.data, "little") == (0 if refused else word)


@cocotb.test(timeout_time=200, timeout_unit="us")
async def latency(dut: Any) -> None:
    """stb, response and the next access come when the contract says."""
    slave = Slave(dut, 1)
    await slave.start()
    for write in (True, False):
        offer = ({"axi_awvalid": 1, "axi_awaddr": 8, "axi_wvalid": 1, "axi_wdata": 7, "axi_wstrb": 15} if write
                 else {"axi_arvalid": 1, "axi_araddr": 8})
        valid = "axi_bvalid" if write else "axi_rvalid"
        slave.starts.clear()
        await slave.cycle(axi_bready=1, axi_rready=1, **offer)
        began, responses = slave.bench.now, []
        for _ in range(40):
            await slave.cycle()
            if slave.bench.read(valid):
                responses.append(slave.bench.now)
        # The slave answers in the cycle after stb.
        period = STB + RESPONSE + 1
        assert slave.starts == list(range(began + STB, began + 41, period))
        assert responses == [start + 1 + RESPONSE for start in slave.starts if start + 1 + RESPONSE <= slave.bench.now]
        await slave.cycle(axi_awvalid=0, axi_wvalid=0, axi_arvalid=0)
        for _ in range(10):
            await slave.cycle()


@cocotb.test(timeout_time=200, timeout_unit="us")
async def turns(dut: Any) -> None:
    """Endless writes and endless reads take turns."""
    slave = Slave(dut, 2, 3)
    await slave.start()
    await slave.cycle(axi_awvalid=1, axi_awaddr=4, axi_wvalid=1, axi_wdata=1, axi_wstrb=15, axi_arvalid=1, axi_araddr=8,
                      axi_bready=1, axi_rready=1)
    for _ in range(300):
        await slave.cycle()
    kinds = [write for write, *_ in slave.accesses]
    assert len(kinds) > 40
    # The first of each came together; from then on one after the other.
    assert kinds == [bool(i % 2) ^ kinds[0] for i in range(len(kinds))]


@cocotb.test(timeout_time=200, timeout_unit="us")
async def nothing_waits_for_the_other_kind(dut: Any) -> None:
    """Reads go on while a write's response, its address or its data is missing; writes while a read's response is."""
    data: dict[str, int] = {"axi_wvalid": 1, "axi_wdata": 5, "axi_wstrb": 15}
    address: dict[str, int] = {"axi_awvalid": 1, "axi_awaddr": 4}
    reads = {"axi_arvalid": 1, "axi_araddr": 8, "axi_rready": 1}
    for stuck, wanted, most in ((data, False, 0), (address, False, 0), ({**data, **address}, False, 2)):
        await _other_kind_goes_on(dut, {**stuck, **reads}, wanted, most)
    await _other_kind_goes_on(dut, {"axi_arvalid": 1, "axi_araddr": 8, **data, **address, "axi_bready": 1}, True, 2)


async def _other_kind_goes_on(dut: Any, drive: dict[str, int], kind: bool, most: int) -> None:
    slave = Slave(dut, 3, 2)
    await slave.start()
    await slave.cycle(**drive)
    for _ in range(200):
        await slave.cycle()
    count = sum(write is kind for write, *_ in slave.accesses)
    # The response that is not taken is the first one's.
    assert count >= 20
    assert len(slave.accesses) - count <= most


@cocotb.test(timeout_time=200, timeout_unit="us")
async def strobes_and_alignment(dut: Any) -> None:
    """What is not one whole word gets SLVERR and never reaches the bus; what comes next is not disturbed."""
    system = System(dut, 4, 2)
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


@cocotb.test(timeout_time=200, timeout_unit="us")
async def strobes_and_alignment_apart(dut: Any) -> None:
    """All strobes at an address that is no word's, and no strobes at one that is."""
    slave = Slave(dut, 10)
    await slave.start()
    await _raw_write(slave, awaddr=18, wstrb=15, wanted=SLVERR)
    await _raw_write(slave, awaddr=16, wstrb=0, wanted=SLVERR)
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


@cocotb.test(timeout_time=200, timeout_unit="us")
async def reset_ends_an_access(dut: Any) -> None:
    """A reset in the middle of an access: nothing of it is left, and the next one is carried out."""
    slave = Slave(dut, 5, 1000)
    await slave.start()
    await slave.cycle(axi_awvalid=1, axi_awaddr=4, axi_wvalid=1, axi_wdata=1, axi_wstrb=15, axi_arvalid=1, axi_araddr=8)
    for _ in range(5):
        await slave.cycle()
    assert slave.bench.read("bus_stb")
    await slave.start()
    assert not any(slave.bench.read(name) for name in ("bus_stb", "axi_bvalid", "axi_rvalid"))
    slave.slowest, slave._wait = 0, -1
    for _ in range(20):
        await slave.cycle()
    assert not slave.starts[1:]
    await _raw_write(slave, 4, 15, OKAY)


@cocotb.test(timeout_time=200, timeout_unit="us")
async def no_idle(dut: Any) -> None:
    system = System(dut, 6, 0)
    await system.start()
    await system.mix(100)


@cocotb.test(timeout_time=200, timeout_unit="us")
async def random_idle(dut: Any) -> None:
    system = System(dut, 7, 3)
    await system.start(idle=0.3, burst=3)
    await system.mix(60)


@cocotb.test(timeout_time=200, timeout_unit="us")
async def random_back_pressure(dut: Any) -> None:
    system = System(dut, 8, 3)
    await system.start(ready=0.2, burst=4)
    await system.mix(60)


@cocotb.test(timeout_time=200, timeout_unit="us")
async def stress(dut: Any) -> None:
    """All five channels pause at random, the slave answers after up to nine cycles."""
    system = System(dut, 9, 9)
    await system.start(idle=0.6, ready=0.4, burst=8)
    for _ in range(3):
        await system.mix(60)
