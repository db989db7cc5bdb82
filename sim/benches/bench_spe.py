"""Spe: its memories over the bus, and one tile, a mesh of its own, under the operations of a run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Any

import cocotb
import numpy as np

from mrfhw.driver.driver import Driver
from mrfhw.gateware.control import ops
from mrfhw.gateware.tile.spe import Spe
from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.registers import Region, mode_fields
from mrfhw.machine.words import LmemWord
from mrfhw.placement.placement import Placement
from mrfhw.placement.temperature import coefficients
from mrfhw.twin.machine import Machine
from sim.support.fields import Bench, unpack
from sim.support.recorder import Load, placements_from_text
from sim.support.runner import bench_config, bench_parameters
from sim.support.streams import Rhythm
from sim.support.timetable import STROBES, Timetable, lane_words

Access = tuple[Region, int, int | None]  # region, offset, word to write


def zero(shape: Any) -> Any:
    return unpack(shape, 0)


ROWS = (Region.S2_ROW, Region.LMEM_ROW, Region.SITE)  # which are only written, into memories of other regions


class Memories:
    """A tile's memories as the bus sees them."""

    def __init__(self, config: Config):
        config = Derived.of(config)
        c = self.config = config
        count = c.count_max << LmemWord.COUNT
        self.masks = {Region.S1: [(2 << c.datum_bits) - 1] * 2, Region.S2: [(2 << c.datum_bits) - 1] * 2,
                      Region.LMEM: [c.max_labels - 1 | 1 << LmemWord.EXISTS | 1 << LmemWord.CLAMPED | count,
                                    c.max_labels - 1 | count]}
        self.words: dict[tuple[Region, int], int] = {}
        absent = {r for r, bits in ((Region.EDGES, c.edge_bits), (Region.PAIRWISE, c.pairwise_bits),
                                   (Region.LABELS, c.subset_slots), (Region.S2_ROW, c.s2_row_words - 1),
                                   (Region.LMEM_ROW, c.lmem_row_entries - 1), (Region.SITE, c.s1_has_edges)) if not bits}
        self.regions = [r for r in Region if r not in absent]
        self.kept = [r for r in self.regions if r not in (Region.RANDOM, Region.VECTORS, Region.PAIRWISE, *ROWS)]
        self.masks[Region.EDGES] = [(1 << len(ops.KINDS) * c.edge_bits) - 1] * 2
        self.held = 0
        self.random = [[0] * 4 for _ in range(c.tile_generators)]

    def access(self, region: Region, offset: int, word: int | None) -> int:
        """Carry out an access; returns what is read."""
        if region is Region.RANDOM:
            state = self.random[offset]
            state.append(state[0] if word is None else word)
            first = state.pop(0)
            return first if word is None else 0
        if region in (Region.VECTORS, Region.PAIRWISE):
            return 0
        if region in ROWS:
            if word is not None:
                self._write_row(region, offset, word)
            return self._entry(offset) if word is None and region is Region.LMEM_ROW and self.config.lmem_row_reads else 0
        if word is None:
            return self.words.get((region, offset), 0)
        word &= self.masks[region][offset & 1]
        if region is not Region.LMEM:
            self.words[region, offset] = word
        elif offset & 1:
            self.held = word
        else:
            self.words[region, offset], self.words[region, offset + 1], self.held = word, self.held, 0
        return 0

    def _write_row(self, region: Region, offset: int, word: int) -> None:
        """Words of several memories or banks."""
        c = self.config
        if region is Region.SITE:
            self.words[Region.S1, offset] = word & self.masks[Region.S1][0]
            self.words[Region.EDGES, offset] = word >> c.datum_bits + 1 & self.masks[Region.EDGES][0]
            return
        if region is Region.S2_ROW:
            bank, address = divmod(offset, 1 << c.s2_address_bits)
            for place in range(min(c.s2_row_words, c.s2_banks - bank)):
                part = word >> place * (c.datum_bits + 1) & self.masks[Region.S2][0]
                self.words[Region.S2, (bank + place << c.s2_address_bits) + address] = part
            return
        bank, address = divmod(offset >> 1, 1 << c.lmem_address_bits)
        for place in range(c.lmem_row_entries):
            part = word >> place * c.lmem_row_bits
            at = (bank + place << c.lmem_address_bits) + address << 1
            self.words[Region.LMEM, at + 1] = 0
            self.words[Region.LMEM, at] = (part & c.max_labels - 1 | (part >> c.label_bits & 1) << LmemWord.EXISTS
                                           | (part >> c.label_bits + 1 & 1) << LmemWord.CLAMPED)

    def _entry(self, offset: int) -> int:
        """An entry of LMem in a word: label, exists, clamped, count, the label before and its count."""
        c, (first, second) = self.config, (self.words.get((Region.LMEM, offset | word), 0) for word in (0, 1))
        labels = c.max_labels - 1
        parts = ((first & labels, c.label_bits), (first >> LmemWord.EXISTS & 3, 2), (first >> LmemWord.COUNT, c.counter_bits),
                 (second & labels, c.label_bits), (second >> LmemWord.COUNT, c.counter_bits))
        found, low = 0, 0
        for value, bits in parts:
            found, low = found | value << low, low + bits
        return found

    def offsets(self, region: Region) -> list[int]:
        """All words of a memory, or those of its rows."""
        c = self.config
        if region is Region.S2_ROW:
            return [(bank << c.s2_address_bits) + a
                    for bank in range(0, c.s2_banks, c.s2_row_words) for a in range(c.s2_bank_depth)]
        if region is Region.LMEM_ROW:
            return [((bank << c.lmem_address_bits) + a) << 1 for bank in range(0, c.lmem_banks, c.lmem_row_entries)
                    for a in range(c.lmem_rows)]
        if region in (Region.S1, Region.EDGES, Region.SITE):
            return list(range(c.site_rows))
        if region is Region.S2:
            return [(bank << c.s2_address_bits) + a for bank in range(c.s2_banks) for a in range(c.s2_bank_depth)]
        if region is Region.LMEM:
            return [((bank << c.lmem_address_bits) + a) << 1 | second for bank in range(c.lmem_banks)
                    for a in range(c.lmem_rows) for second in (1, 0)]
        return list(range({Region.RANDOM: c.tile_generators, Region.PAIRWISE: 1 << AddressMap(c).pairwise_bits}.get(
            region, c.max_labels)))


class Tile:
    """A tile, the bus to it and the log from it."""

    def __init__(self, dut: Any, seed: int):
        self.config = bench_config()
        self.rng = np.random.default_rng(seed)
        self.bench = Bench(dut, Spe(self.config))
        self.memories = Memories(self.config)
        self.down = zero(ops.downlink(self.config))
        self.log: list[tuple[int, int, int]] = []
        self.read_latency = self.config.latency.tile_read

    async def cycle(self, down: dict[str, Any], ready: bool = True) -> None:
        await self.bench.cycle(down=down, log_ready=int(ready))
        if ready and self.bench.read("log_valid"):
            m = self.bench.read("log_payload")
            assert bool(self.bench.read("log_ends")) == (m["count"] == 0)
            self.log.append((m["offset"], m["label"], m["count"]))

    async def stream(self, accesses: Iterable[Access | None]) -> list[int]:
        """An access a cycle; None is an idle one. Checks the read data of every cycle; returns what was read."""
        due, words, read = [0] * self.read_latency, [], []
        for number, access in enumerate([*accesses, *[None] * self.read_latency]):
            bus = {**self.down["bus"], "strobe": int(access is not None), "offset": int(self.rng.integers(4))}
            due.append(0)
            if access is not None:
                region, offset, word = access
                bus |= {"region": int(region), "offset": offset, "write": int(word is not None), "data": word or 0}
                due[-1] = self.memories.access(*access)
                read.append((number, word is None))
            await self.cycle({**self.down, "bus": bus})
            words.append(self.bench.read("up")["data"])
            assert words[-1] == due[number], f"read data in cycle {number}"
        return [words[number + self.read_latency] for number, reads in read if reads]

    def junk(self) -> dict[str, Any]:
        """Operations that ask for nothing, everything else at random; addresses are those of rows that exist."""
        c = self.config
        down = {}
        for name, operation in ops.operations(c).items():
            down[name] = unpack(operation, int.from_bytes(self.rng.bytes(16), "little") & ((1 << operation.size) - 1))
            down[name] |= dict.fromkeys(STROBES.get(name, ()), 0)
        down["label_read"]["address"] = [int(self.rng.integers(c.lmem_rows)) for _ in range(c.lmem_banks)]
        down["site"]["address"] = int(self.rng.integers(c.site_rows))
        return {**self.down, **down}


def march(memories: Memories, region: Region, rng: np.random.Generator) -> Iterator[Access]:
    """March C-: up write 0, up read 0 write 1, up read 1 write 0, down both, read 0; the words differ by address."""
    offsets = memories.offsets(region)
    zeros = {o: int(rng.integers(1 << 32)) for o in offsets}
    for order, reads, pattern in ((1, False, 0), (1, True, 1), (1, True, 0), (-1, True, 1), (-1, True, 0), (1, True, None)):
        # The two words of an LMem entry are written together, the one that is held first.
        step = 2 if region is Region.LMEM else 1
        cells = [offsets[i:i + step] for i in range(0, len(offsets), step)][::order]
        for cell in cells:
            if reads:
                yield from ((region, o, None) for o in cell)
            if pattern is not None:
                yield from ((region, o, zeros[o] ^ (0xFFFFFFFF * pattern)) for o in cell)


@cocotb.test()
async def march_every_memory(dut: Any) -> None:
    """An access a cycle; read data `Latency.tile_read` cycles after the strobe and at no other time."""
    tile = Tile(dut, 1)
    await tile.bench.start()
    for region in tile.memories.kept:
        await tile.stream(march(tile.memories, region, tile.rng))
    # What one memory's march has written, the others' have not touched.
    for region in tile.memories.kept:
        await tile.stream((region, o, None) for o in tile.memories.offsets(region))


@cocotb.test()
async def generators(dut: Any) -> None:
    """Four writes set a generator's state, four reads give it and leave it as it was; the others stay."""
    tile = Tile(dut, 2)
    await tile.bench.start()
    generators = range(tile.config.tile_generators)
    states = {number: [int(w) for w in tile.rng.integers(1 << 32, size=4)] for number in generators}
    for number in generators:
        await tile.stream((Region.RANDOM, number, word) for word in states[number])
    for _ in range(2):
        for number in reversed(generators):
            assert await tile.stream([(Region.RANDOM, number, None)] * 4) == states[number]


@cocotb.test()
async def stress_random_accesses(dut: Any) -> None:
    """All memories in one another's way, with idle cycles; an entry without its second word has an empty one."""
    tile = Tile(dut, 3)
    await tile.bench.start()
    rng, regions = tile.rng, tile.memories.regions
    offsets = {r: tile.memories.offsets(r) for r in regions}
    for r in tile.memories.kept:
        await tile.stream((r, o, int(rng.integers(1 << 32))) for o in offsets[r])
    for lane in offsets[Region.RANDOM]:
        await tile.stream([(Region.RANDOM, lane, 0)] * 4)
    accesses: list[Access | None] = []
    for _ in range(1500):
        region = regions[int(rng.integers(len(regions)))]
        offset = int(rng.choice(offsets[region]))
        word = int(rng.integers(1 << 32)) if rng.random() < 0.5 or region in (Region.VECTORS, Region.PAIRWISE) else None
        accesses.append(None if rng.random() < 0.2 else (region, offset, word))
    # The last one leaves no second word held.
    await tile.stream([*accesses, (Region.LMEM, 0, 0)])


class Snapshot:
    """A `Chip` of one tile whose LMem has been read."""

    def __init__(self, config: Config, words: dict[int, int]):
        self.map, self.words = AddressMap(config), words

    def write(self, addresses: np.ndarray, data: np.ndarray) -> None:
        raise NotImplementedError

    def read(self, addresses: np.ndarray) -> np.ndarray:
        return np.array([self.words[int(a) & ((1 << self.map.offset_bits) - 1)] for a in addresses], np.uint32)


def _parameters(config: Config, registers: dict[str, int]) -> dict[str, int]:
    named = {"shift": "energy_shift"}
    values = {name: registers[named.get(name, name)] for name in ops.parameters(config).members
              if named.get(name, name) in registers and name != "constant"}
    mode = registers["mode"]
    fields = {name: field.of(mode) for name, field in mode_fields(Derived.of(config)).items()}
    return values | {name: value for name, value in fields.items() if name in ops.parameters(config).members}


async def operate(tile: Tile, placement: Placement, ready: Rhythm) -> None:
    """Load a problem and give the tile all operations of its run."""
    c, load = tile.config, Load(placement)
    await tile.stream(load.tile(0))
    table = Timetable(placement, 0, placement.run.sweeps)
    values = list(islice(coefficients(c, placement.problem), placement.run.sweeps))
    changes = {cycle: values[sweep] for cycle, sweep in table.temperature}
    spu = _parameters(c, load.registers) | {"temperature": 0}
    rotates: dict[int, int] = {}
    directions = table.cycle_of.get("columns", 0) - table.cycle_of["singleton"]  # cycles from addresses to directions
    for cycle in range(max(table.operations) + 1):
        wanted, down = dict(table.operations.get(cycle, {})), tile.junk()
        spu["temperature"] = changes.get(cycle, spu["temperature"])
        down["parameters"] = spu
        for bank, address in wanted.pop("label_read", {}).items():
            down["label_read"]["address"][bank] = address
        if "singleton" in wanted:
            rotate = rotates[cycle] = wanted["singleton"][0][0]
            down["singleton"]["rotate"] = rotate
            for (bank, address), (_, _, second) in zip(wanted.pop("singleton"), lane_words(c.s2_banks, rotate, 0, 0), strict=False):
                down["singleton"]["second" if second else "first"] = address
                assert second == (bank < rotate)
        if "columns" in wanted:
            rotate = rotates[cycle - directions]
            for side, (_, _, second) in zip(wanted.pop("columns"), lane_words(c.s2_banks, rotate, 0, 0), strict=False):
                down["columns"]["right" if second else "left"] = {-1: 2, 0: 0, 1: 1}[side]
        if "rows" in wanted:
            down["rows"] = {"up": int(wanted["rows"][0] < 0), "down": int(wanted.pop("rows")[0] > 0)}
        for name, fields in wanted.items():
            # Lanes without a label keep what is at random.
            down[name] |= {field: [*value, *down[name][field][len(value):]] if isinstance(value, list) else value
                           for field, value in fields.items()}
        await tile.cycle(down, ready())


async def compare(tile: Tile, placement: Placement) -> None:
    """LMem and log against the model's."""
    c, p = tile.config, placement
    for _ in range(4 * c.log_depth):
        await tile.cycle(tile.down)
    machine = Machine(c, p.problem, p.run)
    for _ in range(p.run.sweeps):
        machine.sweep()
    assert tile.log[-1][2] == 0, "the end marker comes last"
    assert sorted(tile.log[:-1]) == sorted(tuple(map(int, m)) for m in machine.messages)
    region = Region.LMEM_ROW if c.lmem_row_reads else Region.LMEM
    offsets = [offset for offset in tile.memories.offsets(Region.LMEM) if region is Region.LMEM or not offset & 1]
    words = {}
    for offset in offsets:
        bus = {**tile.down["bus"], "strobe": 1, "region": int(region), "offset": offset}
        await tile.cycle({**tile.down, "bus": bus})
        for _ in range(tile.read_latency):
            await tile.cycle(tile.down)
        words[offset] = tile.bench.read("up")["data"]
    found = Driver(c, Snapshot(c, words)).lmem(p)
    assert np.array_equal(found, machine.lmem)


async def _operations(dut: Any, share: float, burst: int) -> None:
    tile = Tile(dut, 4)
    await tile.bench.start()
    for placement in placements_from_text(bench_parameters()["placements"]):
        tile.log = []
        tile.memories = Memories(tile.config)
        await operate(tile, placement, Rhythm(tile.rng, share, burst))
        await compare(tile, placement)


@cocotb.test()
async def operations(dut: Any) -> None:
    """Fields that an operation does not use are at random."""
    await _operations(dut, 1, 1)


@cocotb.test()
async def operations_with_log_back_pressure(dut: Any) -> None:
    """The log's ready never moves the tile; its FIFO takes what comes."""
    await _operations(dut, 0.8, 4)


@cocotb.test()
async def stall_is_the_fifo_level(dut: Any) -> None:
    """A log that nobody takes: stall is set while fewer than `log_reserve` places were left `Latency.stall` cycles ago."""
    tile = Tile(dut, 5)
    await tile.bench.start()
    placement = placements_from_text(bench_parameters()["full"])[0]
    machine = Machine(tile.config, placement.problem, placement.run)
    for _ in range(placement.run.sweeps):
        machine.sweep()
    limit = tile.config.log_depth - tile.config.log_reserve
    left = len(machine.messages) + 1
    assert limit < left <= tile.config.log_depth
    await operate(tile, placement, Rhythm(tile.rng, 0))
    await tile.cycle(tile.down, False)
    await tile.cycle(tile.down, False)
    assert tile.log == []
    levels = [left] * tile.config.latency.stall
    for _ in range(4 * left):
        ready = bool(tile.rng.random() < 0.5)
        await tile.cycle(tile.down, ready)
        assert tile.bench.read("up")["stall"] == (levels[0] > limit), f"{levels[0]} messages, {limit} without a stall"
        levels, left = [*levels[1:], left], left - ready if left else 0
    assert left == 0
    assert len(tile.log) == len(machine.messages) + 1
