"""A testbench of a machine in plain Verilog: small problems over its bus, and all that the bit-exact model says must come back.

The words are written by the driver that drives chips and boards; what is read after a run is the model's. The log's messages may
come in any order, so that they are compared as counts of each site and label. With AXI ports the logs of every other run go into
a ring of memory, which is read and freed while the machine runs; those of the others go to the stream.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

import numpy as np

from mrfhw.driver.driver import Driver
from mrfhw.generation.identity import circuit_digest
from mrfhw.generation.testbench_problems import SWEEPS, problems
from mrfhw.generation.testbench_text import COUNT, END, READ, RUN, WRITE, axi_text, chip_text, table_text
from mrfhw.generation.verilog_paths import memory_paths
from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.config import Config, ConfigError
from mrfhw.machine.derived import Derived
from mrfhw.machine.log_registers import LOG_REGISTERS, WORD_BYTES_LOG2, LogTarget
from mrfhw.machine.ports import MemoryPort
from mrfhw.machine.registers import DIGITS, IDENTITY, INTERFACE_VERSION, REGISTERS, Region, register
from mrfhw.machine.samplers import Race
from mrfhw.machine.words import as_whole_entry, log_message
from mrfhw.placement.placement import Placement, place
from mrfhw.placement.visit_order import COLOURS
from mrfhw.twin.machine import Machine, complete

__all__ = ["testbench"]

TABLE_FACTOR = 31  # odd, so that no change of a word is lost in the sum
RING_BLOCKS = 2  # of memory that a log passes through, where the port has them
_LONGEST = 1 << 16  # sweeps at most of a run that is there to fill the ring


@dataclass
class _Recorder:
    """A chip (`mrfhw.driver.driver.Chip`) that keeps what is written and reads what it is told.

    steps: (step, address, word). words: what each address reads, one after the other and from the first again.
    """

    steps: list[tuple[int, int, int]] = field(default_factory=list)
    words: dict[int, list[int]] = field(default_factory=dict)

    def write(self, addresses: np.ndarray, data: np.ndarray) -> None:
        self.steps += [(WRITE, int(a), int(d)) for a, d in zip(addresses, data, strict=True)]

    def read(self, addresses: np.ndarray) -> np.ndarray:
        found = []
        for address in map(int, addresses):
            words = self.words[address]
            words.append(words.pop(0))
            found.append(words[-1])
            self.steps.append((READ, address, words[-1]))
        return np.array(found, np.uint32)


def _lines(p: Placement, messages: np.ndarray) -> int:
    """Log lines of a run of these messages, (n, 3) with the site first: each packer's last one may be empty."""
    c = p.config
    tile_of = np.zeros(p.problem.sites, np.int64)
    sites, exists = p.tiles(p.pad(np.arange(p.problem.sites).reshape(p.problem.shape))), p.tiles(p.exists)
    tile_of[sites[exists]] = np.nonzero(exists)[0]
    of_packer = np.bincount(tile_of[messages[:, 0]] // c.packer_tiles, minlength=c.packers)
    return int((of_packer // c.line_messages + 1).sum())


class _LogTargets:
    """Where the log of each run goes: to the stream, or with a memory port every second of `turns` into a ring of memory, and all
    after them.

    ring: base and size in bytes; a few blocks, so that positions pass its end.
    """

    def __init__(self, port: MemoryPort | None, turns: int):
        self._runs, self._bytes, self._turns = 0, 0, turns
        self.port, self.ring = port, (0, 0)
        if port is not None:
            blocks = (1 << port.address_bits) // port.block_bytes
            size = max(1, min(blocks - 1, RING_BLOCKS))
            self.ring = (port.block_bytes if blocks > size else 0, size * port.block_bytes)

    @property
    def around(self) -> bool:
        """Whether the logs were longer than the ring, or there is none."""
        return self._bytes > self.ring[1] or self.port is None

    def set_up(self, chip: _Recorder) -> None:
        """Before the first run: the ring's place."""
        if self.port is None:
            return
        written = {"log_base_low": self.ring[0], "log_base_high": 0, "log_size": self.ring[1]}
        chip.words |= {LOG_REGISTERS[name].index: [word] for name, word in {**written, "log_block": self.port.block_bytes}.items()}
        chip.write(np.array([LOG_REGISTERS[name].index for name in written]), np.array(list(written.values())))
        chip.read(np.array([LOG_REGISTERS[name].index for name in (*written, "log_block")]))

    def next(self, chip: _Recorder, config: Derived, lines: int) -> tuple[int, int]:
        """Before a run of so many lines: its target. Address and word of the step that awaits its log, 0 of one to the stream."""
        self._runs += 1
        if self.port is None:
            return 0, 0
        target = LogTarget.STREAM if self._runs <= self._turns and self._runs % 2 else LogTarget.MEMORY
        chip.write(np.array([LOG_REGISTERS["log_target"].index]), np.array([int(target)]))
        if target is LogTarget.STREAM:
            return 0, 0
        self._bytes += lines * config.line_bits // 8
        return LOG_REGISTERS["log_written"].index, self._bytes


def _until_around(placements: list[Placement], targets: _LogTargets) -> Iterator[Placement]:
    """The runs, and one of a constant temperature again and longer until the log has passed its ring's end."""
    yield from placements
    sweeps = SWEEPS
    p = [one for one in placements if one.run.sweeps == sweeps and one.problem.schedule.kind == "constant"][-1]
    while not targets.around and sweeps < _LONGEST:
        sweeps *= 4
        yield place(p.config, p.problem, dataclasses.replace(p.run, sweeps=sweeps))


def _steps(config: Derived, placements: Iterable[Placement], targets: _LogTargets) -> tuple[list[tuple[int, int, int]], int]:
    """All steps: the chip's identity, then of each problem the load, the run, and what is read after it. Cycles of the longest."""
    amap, chip, digest = AddressMap(config), _Recorder(), circuit_digest(config)
    chip.words = {register("identity"): [IDENTITY], register("version"): [INTERFACE_VERSION], register("status"): [0],
                  **{register(f"digest_{i}"): [int(digest[8 * i:8 * i + 8], 16)] for i in range(DIGITS // 8)}}
    drives = Driver(config, chip, digest)
    drives.check()
    chip.steps = [(kind, address + amap.cluster(cluster), word) for cluster in range(config.seats)
                  for kind, address, word in chip.steps]
    targets.set_up(chip)
    readable = {one.index for one in REGISTERS.values() if one.access == "rw"}
    longest = 0
    for number, p in enumerate(placements):
        before, base = len(chip.steps), amap.cluster(number % config.seats)
        drives.load(p)
        named = {address: word for _, address, word in chip.steps[before:] if address in readable}
        chip.words |= {address: [word] for address, word in named.items()}
        chip.read(np.array(list(named)))
        machine = Machine(config, p, p.run, threads=1)
        result = complete(machine)
        lines = _lines(p, machine.messages)
        awaited = targets.next(chip, config, lines)
        drives.start()
        chip.steps.append((RUN, *awaited))
        messages = np.zeros(p.problem.sites * p.problem.labels, np.int64)
        np.add.at(messages, machine.messages[:, 0] * p.problem.labels + machine.messages[:, 1], machine.messages[:, 2])
        chip.steps += [(COUNT, site * _stride(config) + label, int(messages[site * p.problem.labels + label]))
                       for site, label in np.ndindex(p.problem.sites, p.problem.labels)
                       if messages[site * p.problem.labels + label]]  # the step after them finds all others
        chip.steps.append((END, 0, 0))
        sent = machine.log_messages
        counted = {"cycles": result.cycles, "stall_cycles": result.stall_cycles, "gap_cycles": result.gap_cycles, "messages": sent,
                   "label_cycles": len(COLOURS) * p.order.turns * p.run.sweeps * p.slots}
        for name, value in counted.items():
            assert value is not None
            longest = max(longest, value)
            chip.words |= {register(f"{name}_low"): [value & 0xffffffff], register(f"{name}_high"): [value >> 32]}
        chip.words |= {register("sweep"): [p.run.sweeps], register("lines"): [lines]}
        lmem = _Recorder()  # the words of LMem as the model leaves it
        Driver(config, lmem).load(p, False, machine.lmem)
        words = {address: word for _, address, word in lmem.steps}
        chip.words |= {address: [word] for address, word in words.items()}
        if config.lmem_row_reads:
            # Each entry as one word, at the address of its first in the region of these.
            row, of_region = Region.LMEM_ROW - Region.LMEM << amap.offset_bits, (1 << amap.region_bits) - 1
            firsts = [address for address in words if address >> amap.tiles_bit and not address & 1
                      and address >> amap.offset_bits & of_region == Region.LMEM]
            chip.words |= {address + row: [as_whole_entry(config, words[address], words[address + 1])] for address in firsts}
        chip.words |= {int(a): [int(word) for word in state]
                       for a, state in zip(amap.generators(), machine.random, strict=True)}
        drives.get("status", "sweep")
        drives.counters()
        drives.lmem(p)
        drives.generators()
        # Each cluster in turn, which holds nothing of what the driver has written to another: generators are loaded each time.
        chip.steps[before:] = [(kind, address + base if kind in (READ, WRITE) else address, word)
                               for kind, address, word in chip.steps[before:]]
    return chip.steps, longest


def _stride(config: Derived) -> int:
    """From a site to the next in the testbench's table of counts: labels, rounded up to a power of two."""
    return 1 << config.label_bits


def _tables(c: Derived, top: str, verilog: str) -> str:
    """Comparisons of the noise's tables, of which no run reads every bit, with the model's, by a sum that one bit changes."""
    if not isinstance(c.sampler, Race):
        return ""
    words, total = c.sampler.gumbel_entries & (1 << c.sampler.gumbel_bits) - 1, 0
    for word in map(int, words):
        total = (total * TABLE_FACTOR + word) % (1 << 32)
    paths = memory_paths(verilog, top, "sampler", r"table(_\d+)?")
    assert paths
    assert set(paths.values()) == {len(words)}
    # Icarus then takes the instance for the module, and finds nothing below it.
    if any(path.startswith(f"{top}.") for path in paths):
        raise ConfigError(f"name is {top!r}; the top module has an instance of that name, through which Icarus finds no memory for "
                          "the testbench: give another, or leave --testbench out")
    return "".join(table_text(path, len(words), TABLE_FACTOR, total) for path in paths)


def testbench(config: Config, top: str, port: MemoryPort | None, verilog: str) -> str:
    """Verilog of module `top`_tb, for the machine whose top module is `top`.

    port: the memory port of a top with AXI ports.
    verilog: the machine's, of which the paths of memories are read. The testbench prints PASS, or FAIL with the first difference
    and ends with $fatal. Raises ProblemError for a machine that its problems do not fit, ConfigError for a top's name that Icarus
    cannot tell from an instance's.
    """
    c = Derived.of(config)
    tables = _tables(c, top, verilog)
    placements = [place(c, problem, run) for problem, run in problems(c)]
    targets = _LogTargets(port, len(placements))
    steps, longest = _steps(c, _until_around(placements, targets), targets)
    message = log_message(c)
    names = {
        "TOP": top, "ADDRESS": AddressMap(c).bus_bits, "LINE": c.line_bits, "MESSAGES": c.line_messages,
        "MESSAGE": c.message_bits, "LABELS": _stride(c),
        **{place: f"{message[name].end - 1}:{message[name].low}"
           for place, name in (("COUNT", "count"), ("LABEL", "label"), ("SITE", "address"))},
        "STEPS": len(steps),
        "PATIENCE": 2 * longest + 1000,
        "PLACES": max(p.problem.sites for p in placements) * _stride(c),
        "TABLES": tables,
        "WORDS": "\n".join(f"    step[{n}] = 67'h{kind << 64 | address << 32 | word:017x};"
                           for n, (kind, address, word) in enumerate(steps)),
    }
    if port is not None:
        names |= {"BYTE_ADDRESS": AddressMap(c).address_bits + WORD_BYTES_LOG2, "WORD_BYTES_LOG2": WORD_BYTES_LOG2,
                  "DATA": port.data_bits,
                  "MEMORY_ADDRESS": port.address_bits, "BEATS": c.line_bits // port.data_bits, "BEAT_BYTES": port.data_bits // 8,
                  "RING_BASE": targets.ring[0], "RING_SIZE": targets.ring[1], "FREED": LOG_REGISTERS["log_freed"].index}
    text = chip_text() if port is None else axi_text()
    for name, value in names.items():
        text = text.replace(f"@{name}@", str(value))
    return text
