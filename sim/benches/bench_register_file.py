"""RegisterFile: registers, pulses, tables, counters, tile accesses and errors over the bus."""

from __future__ import annotations

from typing import Any

import cocotb
import numpy as np
from amaranth import Shape

from mrfhw.gateware.control.ops import bus_layout, parameters
from mrfhw.gateware.control.register_file import PLACEHOLDER, RegisterFile
from mrfhw.gateware.control.run import RunStatus, problem_registers
from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.address_space import GLOBAL_WORDS
from mrfhw.machine.registers import (
    CONTROL_BITS,
    IDENTITY,
    INTERFACE_VERSION,
    LABEL_TABLE,
    REGISTERS,
    STATUS_BITS,
    TEMPERATURE_TABLE,
    TILE_BASE_TABLE,
    Region,
    mode_fields,
    register,
)
from sim.support.fields import Bench, unpack
from sim.support.runner import bench_config
from sim.support.wishbone import Wishbone

COUNTERS = {"running": "cycles", "label_cycle": "label_cycles", "gap_cycle": "gap_cycles", "stall_cycle": "stall_cycles",
            "messages": "messages"}
PULSES = ("start", "resume", "stop", "label", "temperature", "tile_base_write")


class Device:
    """A register file with a master, and a stand-in for the tiles that answers in exactly one cycle.

    register_latency: cycles from a request to the ack of a write or a register's read. status: what a run shows of itself.
    runs: a start is followed by status.running. answer: the tiles'; None for one that tells from its strobe (`told`).
    pulses: (name, table address, table data) of the writes; strobes: tile accesses; both in order.
    """

    def __init__(self, dut: Any, seed: int):
        self.config = bench_config()
        self.map = AddressMap(self.config)
        self.register_latency = self.config.latency.bus_write
        self.status = unpack(RunStatus(), 0)
        self.rng = np.random.default_rng(seed)
        self.bench = Bench(dut, RegisterFile(self.config))
        self.bus = Wishbone(self.bench, lambda: int(self.rng.integers(0, 4)) * int(self.rng.random() < 0.3))
        self.answer: int | None = 0
        self.runs = False
        self.pulses: list[tuple[str, int, int]] = []
        self.strobes: list[dict[str, int]] = []
        self.counting: dict[str, float] = {}
        self.counted: dict[str, int] = {}
        self._cycle, self._due = self.bench.cycle, dict[int, int]()
        self.bench.cycle = self.cycle  # type: ignore[method-assign]

    async def cycle(self, **values: Any) -> None:
        """A cycle of the bench with the tiles' answer and random counting pulses."""
        now = self.bench.now + 1
        values["tile_data"] = self._due.pop(now, int(self.rng.integers(1 << 32)))
        for name, share in self.counting.items():
            pulse = int(self.rng.random() < share)
            (self.status if name in self.status else values)[name] = pulse
            self.counted[name] = self.counted.get(name, 0) + pulse
        await self._cycle(**values, status=self.status)
        tables = self.bench.read("tables")
        for name in PULSES:
            if tables[name] if name in tables else self.bench.read(name):
                self.pulses.append((name, tables["address"], tables["data"]))
                if name == "start":
                    self.counted = {}
        bus = self.bench.read("tile_bus")
        if bus["strobe"]:
            self.strobes.append(bus)
            # Down the tree, into the tile and out, and up again.
            answer = self.told(bus) if self.answer is None else self.answer
            self._due[now + self.config.latency.tile_access(self.config.tree_levels)] = answer
        if self.runs and self.bench.read("start"):
            self.status |= {"running": 1, "busy": 1}

    @staticmethod
    def told(bus: dict[str, int]) -> int:
        return (bus["path"] << 24 ^ bus["region"] << 20 ^ bus["offset"]) & 0xFFFFFFFF

    async def start(self) -> None:
        await self.bench.start()

    def widths(self) -> dict[str, int]:
        """Bits of every register that can be written and read."""
        found = {"mode": max(field.end for field in mode_fields(self.config).values())}
        for layout, named in ((problem_registers(self.config), {}), (parameters(self.config), {"shift": "energy_shift"})):
            for name, field in layout.members.items():
                name = named.get(name, name)
                if name in REGISTERS and REGISTERS[name].access == "rw":
                    found.setdefault(name, Shape.cast(field).width)
        return found


@cocotb.test()
async def registers_hold_what_is_written(dut: Any) -> None:
    """In any order, cut to their widths, each to its own port."""
    device = Device(dut, 1)
    await device.start()
    widths = device.widths()
    some = {name for name in REGISTERS if name.startswith(("alpha_", "singleton_max", "s2_stride"))}  # which not every machine has
    assert set(widths) - some == {name for name, r in REGISTERS.items() if r.access == "rw"} - some
    assert set(widths) & some == some & {*parameters(device.config).members, *problem_registers(device.config).members}
    held = dict.fromkeys(widths, 0)
    for _ in range(3):
        for name in device.rng.permutation(list(widths)):
            word = int(device.rng.integers(1 << 32))
            ok, _, latency = await device.bus.access(True, register(name), word)
            assert (ok, latency) == (True, device.register_latency)
            held[str(name)] = word & ((1 << widths[str(name)]) - 1)
        for name in device.rng.permutation(list(widths)):
            ok, word, latency = await device.bus.access(False, register(name))
            assert (ok, word, latency) == (True, held[str(name)], device.register_latency), name
        problem, spu = device.bench.read("problem"), device.bench.read("parameters")
        fields = mode_fields(device.config)
        assert {name: word for name, word in problem.items() if name not in fields} == {
            name: held[name] for name in problem if name not in fields}
        assert {n: spu[n] for n in ("alpha", "beta", "tau", "out_of_range")} == {
            n: held[n] for n in ("alpha", "beta", "tau", "out_of_range")}
        assert spu["shift"] == held["energy_shift"]
        unused = ~sum(field.mask << field.low for field in fields.values())
        assert sum({**problem, **spu}[name] << field.low for name, field in fields.items()) == held["mode"] & ~unused
    assert device.pulses == []
    assert device.strobes == []


@cocotb.test()
async def read_only_registers(dut: Any) -> None:
    """Identity, version, digest; status and sweep follow their inputs; a write changes none of them."""
    device = Device(dut, 2)
    await device.start()
    digest = int(PLACEHOLDER, 16)
    wanted = {"identity": IDENTITY, "version": INTERFACE_VERSION, "control": 0,
              **{f"digest_{i}": digest >> (96 - 32 * i) & 0xFFFFFFFF for i in range(4)}}
    for sweep, running, busy in ((0, 0, 0), (5, 1, 1), (0xFFFFFFFF, 0, 1)):
        device.status |= {"sweep": sweep, "running": running, "busy": busy}
        wanted |= {"sweep": sweep, "status": running << STATUS_BITS["running"] | busy << STATUS_BITS["busy"]}
        for r in REGISTERS.values():
            if r.access == "r":
                assert (await device.bus.access(True, r.index, 0xFFFFFFFF))[0]
        for name, value in wanted.items():
            assert await device.bus.read(register(name)) == value, name
    assert device.pulses == []


@cocotb.test()
async def control_gives_pulses(dut: Any) -> None:
    """One cycle each, of the bits that are set, two cycles after the request."""
    device = Device(dut, 3)
    await device.start()
    for value in range(1 << len(CONTROL_BITS)):
        device.pulses.clear()
        assert (await device.bus.access(True, register("control"), value | 0xFFFFFF00))[0]
        assert {p[0] for p in device.pulses} == {name for name, bit in CONTROL_BITS.items() if value >> bit & 1}
        assert len(device.pulses) == value.bit_count()
    device.pulses.clear()
    await device._cycle(bus_cyc=1, bus_stb=1, bus_we=1, bus_adr=register("control"), bus_dat_w=1)
    seen = []
    for _ in range(device.register_latency + 1):
        await device._cycle()
        seen.append((device.bench.read("start"), device.bench.read("bus_ack")))
    after = device.config.latency.bus_request
    assert [start for start, _ in seen] == [int(cycle == after) for cycle in range(len(seen))]
    assert [ack for _, ack in seen] == [int(cycle == device.register_latency - 1) for cycle in range(len(seen))]


@cocotb.test()
async def nothing_without_cyc_and_stb(dut: Any) -> None:
    device = Device(dut, 4)
    await device.start()
    for cyc, stb in ((0, 0), (1, 0), (0, 1)):
        for _ in range(6):
            await device.bench.cycle(bus_cyc=cyc, bus_stb=stb, bus_we=1, bus_adr=register("control"), bus_dat_w=7)
            assert (device.bench.read("bus_ack"), device.bench.read("bus_err")) == (0, 0)
    assert device.pulses == []


@cocotb.test()
async def tables(dut: Any) -> None:
    """First, last and random words of each; they cannot be read."""
    device = Device(dut, 5)
    await device.start()
    for name, low, high in (("temperature", TEMPERATURE_TABLE, LABEL_TABLE), ("label", LABEL_TABLE, TILE_BASE_TABLE),
                            ("tile_base_write", TILE_BASE_TABLE, GLOBAL_WORDS)):
        for address in (low, high - 1, *map(int, device.rng.integers(low, high, 6))):
            word = int(device.rng.integers(1 << 32))
            device.pulses.clear()
            ok, _, latency = await device.bus.access(True, address, word)
            assert (ok, latency) == (True, device.register_latency)
            assert [(n, a & (high - low - 1), w) for n, a, w in device.pulses] == [(name, address - low, word)]
            device.pulses.clear()
            ok, _, latency = await device.bus.access(False, address)
            assert (ok, latency) == (False, device.register_latency)
            assert device.pulses == []


@cocotb.test()
async def addresses_that_nothing_answers(dut: Any) -> None:
    device = Device(dut, 6)
    await device.start()
    held = [await device.bus.read(r.index) for r in REGISTERS.values()]
    unknown = [len(REGISTERS), TEMPERATURE_TABLE - 1, *map(int, device.rng.integers(len(REGISTERS), TEMPERATURE_TABLE, 6))]
    if 1 << device.map.tiles_bit > GLOBAL_WORDS:
        unknown += [GLOBAL_WORDS, (1 << device.map.tiles_bit) - 1, GLOBAL_WORDS + register("control")]
    for address in unknown:
        for write in (True, False):
            ok, _, latency = await device.bus.access(write, address, 0xFFFFFFFF)
            assert (ok, latency) == (False, device.register_latency), hex(address)
    assert [await device.bus.read(r.index) for r in REGISTERS.values()] == held
    assert device.pulses == []
    assert device.strobes == []


@cocotb.test()
async def counters(dut: Any) -> None:
    """Every pulse counts once; a start clears them; the high words follow the low ones."""
    device = Device(dut, 7)
    await device.start()
    for _ in range(2):
        await device.bus.write(register("control"), 1 << CONTROL_BITS["start"])
        device.counting = {"running": 0.9, "label_cycle": 0.6, "gap_cycle": 0.3, "stall_cycle": 0.2, "messages": 0.5, "line": 0.1}
        for _ in range(300):
            await device.bench.cycle()
        device.counting = {}
        device.status = dict.fromkeys(device.status, 0)
        await device.bench.cycle(messages=0, line=0)
        for pulse, name in COUNTERS.items():
            assert await device.bus.read(register(f"{name}_low")) == device.counted[pulse], name
            assert await device.bus.read(register(f"{name}_high")) == 0
        assert await device.bus.read(register("lines")) == device.counted["line"]
    await device.bus.write(register("control"), 1 << CONTROL_BITS["start"])
    for name in (*(f"{n}_low" for n in COUNTERS.values()), "lines"):
        assert await device.bus.read(register(name)) == 0


@cocotb.test()
async def tile_accesses(dut: Any) -> None:
    """One strobe with the address in its parts; a write is not waited for, a read as long as the tree takes."""
    device = Device(dut, 8)
    await device.start()
    c, amap = device.config, device.map
    path_bits = bus_layout(c).members["path"]
    for _ in range(60):
        tile, offset = int(device.rng.integers(c.spes)), int(device.rng.integers(1 << amap.offset_bits))
        region, write, word = Region(int(device.rng.integers(5))), bool(device.rng.integers(2)), int(device.rng.integers(1 << 32))
        broadcast = write and device.rng.random() < 0.3
        address = amap.broadcast(region, offset) if broadcast else amap.tile(tile, region, offset)
        device.strobes.clear()
        device.answer = int(device.rng.integers(1 << 32))
        ok, answer, latency = await device.bus.access(write, address, word)
        assert ok
        assert latency == (device.register_latency if write else c.latency.bus_read(c.tree_levels))
        assert write or answer == device.answer
        (bus,) = device.strobes
        wanted = {"strobe": 1, "write": int(write), "broadcast": int(broadcast), "region": int(region), "offset": offset,
                  "data": word, "path": (0 if broadcast else tile) & ((1 << path_bits) - 1)}
        assert {k: v for k, v in bus.items() if k in wanted} == wanted
    assert device.pulses == []


@cocotb.test()
async def tile_accesses_while_running(dut: Any) -> None:
    """Refused without a strobe; registers answer as always."""
    device = Device(dut, 9)
    await device.start()
    device.status["running"] = 1
    for write in (True, False, True, False):
        address = device.map.tile(device.config.spes - 1, Region.LMEM, 2)
        ok, _, latency = await device.bus.access(write, address, 5)
        assert (ok, latency) == (False, device.register_latency)
        assert await device.bus.read(register("identity")) == IDENTITY
    assert device.strobes == []
    device.status |= {"running": 0, "busy": 1}
    await device.bus.write(address, 5)
    assert len(device.strobes) == 1


@cocotb.test()
async def a_word_a_cycle(dut: Any) -> None:
    """Requests without a pause: the first answer after the latency, from then on one in each cycle."""
    device = Device(dut, 10)
    await device.start()
    c, number = device.config, 40
    name = next(iter(device.widths()))
    tile = device.map.tile(c.spes - 1, Region.LMEM)
    register_cycles, tile_cycles = c.latency.bus_write, c.latency.bus_read(c.tree_levels)
    kinds = ((True, register(name), register_cycles), (False, register(name), register_cycles), (True, tile, register_cycles),
             (False, tile, tile_cycles), (True, LABEL_TABLE, register_cycles))
    for write, address, latency in kinds:
        answers = await device.bus._answers([(write, address, word) for word in range(number)], 200)
        assert [cycle for cycle, _ in answers] == list(range(latency, latency + number)), (write, hex(address))
        assert all(ok for _, (ok, _) in answers)
    assert len(device.strobes) == 2 * number


@cocotb.test()
async def stress_requests_of_all_kinds(dut: Any) -> None:
    """In any order without a pause: each is answered once, in order, with what it would be alone."""
    device = Device(dut, 11)
    await device.start()
    device.answer, rng, amap = None, device.rng, device.map
    widths = device.widths()
    held = dict.fromkeys(widths, 0)
    for name in widths:
        await device.bus.write(register(name), 0)
    for _ in range(6):
        accesses, wanted = list[tuple[bool, int, int]](), list[tuple[bool, int | None]]()
        for _ in range(80):
            kind, write, word = int(rng.integers(4)), bool(rng.integers(2)), int(rng.integers(1 << 32))
            name = str(rng.choice(list(widths)))
            if kind == 0:
                address, ok = len(REGISTERS) + int(rng.integers(9)), False
                answer = None
            elif kind == 1:
                tile, region, offset = int(rng.integers(device.config.spes)), Region(int(rng.integers(5))), int(rng.integers(8))
                address, ok = amap.tile(tile, region, offset), True
                path = tile & (1 << bus_layout(device.config).members["path"]) - 1  # type: ignore[operator]
                answer = None if write else device.told({"path": path, "region": int(region), "offset": offset})
            else:
                address, ok = register(name), True
                if write:
                    held[name] = word & ((1 << widths[name]) - 1)
                answer = None if write else held[name]
            accesses.append((write, address, word))
            wanted.append((ok, answer))
        strobes = sum(address >> amap.tiles_bit & 1 for _, address, _ in accesses)
        device.strobes.clear()
        answers = await device.bus.stream(accesses, 3000)
        for access, (ok, answer), (right, value) in zip(accesses, answers, wanted, strict=True):
            assert ok == right, access
            assert value is None or answer == value, access
        assert len(device.strobes) == strobes
    assert device.pulses == []


@cocotb.test()
async def what_follows_reads_of_tiles_waits_for_them(dut: Any) -> None:
    """However many of them are under way: a register's answer comes behind theirs."""
    device = Device(dut, 13)
    await device.start()
    name = next(iter(device.widths()))
    await device.bus.write(register(name), 1)
    tile, device.answer = device.map.tile(0, Region.LMEM), 0xA5A5
    for number in range(1, device.config.latency.bus_read(device.config.tree_levels) + 4):
        answers = await device.bus.stream([(False, tile, 0)] * number + [(False, register(name), 0)])
        assert answers == [(True, 0xA5A5)] * number + [(True, 1)], number


@cocotb.test()
async def what_follows_a_start_sees_the_run(dut: Any) -> None:
    """Tiles are not reached behind a start or a go, however soon the requests come; status tells of the run."""
    device = Device(dut, 12)
    await device.start()
    device.runs = True
    tile = device.map.tile(0, Region.LMEM)
    start = (True, register("control"), 1 << CONTROL_BITS["start"])
    answers = await device.bus.stream([(True, tile, 1), start, (True, tile, 2), (False, tile, 0), (False, register("status"), 0)])
    assert [ok for ok, _ in answers] == [True, True, False, False, True]
    assert answers[-1][1] == 1 << STATUS_BITS["running"] | 1 << STATUS_BITS["busy"]
    assert [bus["data"] for bus in device.strobes] == [1]
