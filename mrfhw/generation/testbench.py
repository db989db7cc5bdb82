"""A testbench of a machine in plain Verilog: small problems over its bus, and all that the bit-exact model says must come back.

The words are written by the driver that drives chips and boards; what is read after a run is the model's. The log's messages may
come in any order, so that they are compared as counts of each site and label. With AXI ports the logs of every other run go into
a ring of memory, which is read and freed while the machine runs; those of the others go to the stream.
"""

from __future__ import annotations

import dataclasses
import random
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.generation.identity import DIGITS, circuit_digest
from mrfhw.generation.register_map import MemoryPort
from mrfhw.generation.testbench_text import COUNT, END, READ, RUN, WRITE, axi_text, chip_text
from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.log_registers import LOG_REGISTERS, WORD_BYTES_LOG2, LogTarget
from mrfhw.machine.registers import DOUBLETON_CODES, IDENTITY, INTERFACE_VERSION, REGISTERS, register
from mrfhw.model.machine import Machine, complete
from mrfhw.placement.placement import Placement, place
from mrfhw.placement.temperature import realized_limits
from mrfhw.placement.visit_order import COLOURS

__all__ = ["Loader", "problems", "testbench"]

_LABELS, _SWEEPS = 6, 10
RING_BLOCKS = 2  # of memory that a log passes through, where the port has them
_LONGEST = 1 << 16  # sweeps at most of a run that is there to fill the ring


class Loader(Protocol):
    """What is used of `mrfhw.sessions.driver.Driver`, which this room does not know."""

    def check(self) -> None: ...
    def load(self, placement: Placement, generators: bool | np.ndarray = True, lmem: np.ndarray | None = None) -> int: ...
    def start(self, resume: bool = False) -> None: ...
    def get(self, *names: str) -> list[int]: ...
    def counters(self) -> dict[str, int]: ...
    def lmem(self, p: Placement) -> np.ndarray: ...
    def generators(self) -> np.ndarray: ...


@dataclass
class _Recorder:
    """A chip (`mrfhw.sessions.driver.Chip`) that keeps what is written and reads what it is told.

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


def problems(config: Config) -> list[tuple[Problem, Run]]:
    """Small problems that use what the machine has, without padding; always the same."""
    c, draw = Derived.of(config), random.Random(1)
    shape = tuple(tiles * step * -(-least // step) for tiles, step, least in (
        (c.mesh_rows, c.row_step, 2 if c.mesh_rows > 1 else 6), (c.mesh_cols, c.col_step, 4 if c.mesh_cols > 1 else 8)))
    labels = min(_LABELS, c.max_labels)
    several = (len(c.channel_bits),) if len(c.channel_bits) > 1 else ()

    def numbers(low: int, high: int, *size: int) -> np.ndarray:
        return np.array([draw.randrange(low, high) for _ in range(int(np.prod(size)))]).reshape(size)

    def data(*size: int, most: int = 1 << 16) -> np.ndarray:
        channels = [numbers(0, min(1 << bits, most), *size) for bits in c.channel_bits]
        return np.stack(channels, -1) if several else channels[0]

    def temperature(scale: float, shift: int) -> float:
        low, high = realized_limits(c, shift)
        return float(np.clip(scale * (1 << shift), 1.1 * low, high / 1.1))

    kinds = [c.channel_singletons(number) for number in range(len(c.channel_bits))]

    def singleton(wanted: str) -> str | tuple[str, ...]:
        found = tuple(wanted if wanted in kind else kind[0] for kind in kinds)
        return found if several else found[0]

    half, shift = 1 << max(0, c.vector_bits - 1), min(1, c.shift_max)
    squared = "squared" in c.doubleton_kinds
    vectors = numbers(-half, half, labels, 2)
    weights: dict[str, Any] = {"edges": numbers(0, 1 << c.edge_bits, *shape, 2)} if c.edge_bits else {}
    limit: dict[str, Any] = {}
    if c.singleton_cap:
        limit["singleton_max"] = (1 << min(c.channel_singleton_bits(n) for n in range(len(kinds)))) // 3
    alpha, beta = min(3, c.weight_max), min(5, c.weight_max)
    hot, cold = temperature(40, shift), temperature(10, shift)
    found = [
        Problem(labels=labels, singleton1=data(*shape), singleton2=data(*shape),
                offsets=np.array([(row, col) for row in (-1, 0, 1) for col in (-2, 0, 1)][1:1 + labels]),
                singleton=singleton("absolute"), alpha=alpha, beta=beta, tau=min(3, c.doubleton_max),
                energy_shift=shift, out_of_range=9,
                observed=numbers(0, 5, *shape) > 0, clamped=numbers(0, 8, *shape) == 0,
                schedule=Schedule.geometric(hot, 0.9, cold), **weights),
        Problem(labels=labels, singleton1=data(*shape, most=8), constants=data(labels, most=8), singleton=singleton("squared"),
                alpha=1, beta=1, doubleton="squared" if squared else "absolute", vectors=vectors if squared else None,
                tau=min(60, c.doubleton_max),
                schedule=Schedule.of_table((temperature(60, 0), temperature(30, 0)), 3), **limit),
        Problem(labels=3, singleton1=data(*shape), constants=data(3), singleton=singleton("hamming"), alpha=1, beta=beta,
                doubleton="potts", schedule=Schedule.constant(temperature(25, 0))),
    ]
    if c.pairwise_bits:
        found.append(Problem(labels=labels, singleton1=data(*shape), constants=data(labels), singleton=singleton("absolute"),
                             doubleton="table", pairwise=numbers(0, 1 << c.pairwise_bits, labels, labels), alpha=1, beta=beta,
                             schedule=Schedule.constant(temperature(30, 0)), **weights))
    if c.subset_slots:  # more labels than a subset has
        many = min(c.max_labels, c.lanes * (c.subset_slots + 2))
        found.append(Problem(labels=many, singleton1=data(*shape), constants=data(many), singleton=singleton("absolute"), alpha=1,
                             beta=beta, tau=min(3, c.doubleton_max), schedule=Schedule.constant(temperature(25, 0))))
    assert set(DOUBLETON_CODES) == {"absolute", "squared", "potts", "table"}
    runs = [(problem, Run(sweeps=_SWEEPS, burn_in=1, seed=number)) for number, problem in enumerate(found)]
    return [*runs, (found[0], Run(sweeps=4, burn_in=1, seed=len(found), estimate="mean"))]  # no more than an entry's sums hold


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
    """The runs, and the last but one, of a constant temperature, again and longer until the log has passed its ring's end."""
    yield from placements
    p, sweeps = placements[-2], _SWEEPS
    while not targets.around and sweeps < _LONGEST:
        sweeps *= 4
        yield place(p.config, p.problem, dataclasses.replace(p.run, sweeps=sweeps))


def _steps(config: Derived, placements: Iterable[Placement], driver: Callable[[Config, _Recorder], Loader],
           targets: _LogTargets) -> tuple[list[tuple[int, int, int]], int]:
    """All steps: the chip's identity, then of each problem the load, the run, and what is read after it. Cycles of the longest."""
    amap, chip, digest = AddressMap(config), _Recorder(), circuit_digest(config)
    chip.words = {register("identity"): [IDENTITY], register("version"): [INTERFACE_VERSION], register("status"): [0],
                  **{register(f"digest_{i}"): [int(digest[8 * i:8 * i + 8], 16)] for i in range(DIGITS // 8)}}
    drives = driver(config, chip)
    drives.check()
    targets.set_up(chip)
    readable = {one.index for one in REGISTERS.values() if one.access == "rw"}
    longest = 0
    for p in placements:
        before = len(chip.steps)
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
                       for site, label in np.ndindex(p.problem.sites, p.problem.labels)]
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
        driver(config, lmem).load(p, False, machine.lmem)
        chip.words |= {address: [word] for _, address, word in lmem.steps}
        chip.words |= {int(a): [int(word) for word in state]
                       for a, state in zip(amap.generators(), machine.random, strict=True)}
        drives.get("status", "sweep")
        drives.counters()
        drives.lmem(p)
        drives.generators()
    return chip.steps, longest


def _stride(config: Derived) -> int:
    """From a site to the next in the testbench's table of counts: labels, rounded up to a power of two."""
    return 1 << config.label_bits


def testbench(config: Config, top: str, driver: Callable[[Config, _Recorder], Loader], port: MemoryPort | None) -> str:
    """Verilog of module `top`_tb, for the machine whose top module is `top`.

    driver: makes a `mrfhw.sessions.driver.Driver` of a configuration and a chip. port: the memory port of a top with AXI ports. The
    testbench prints PASS, or FAIL with the first difference and ends with $fatal.
    """
    c = Derived.of(config)
    placements = [place(c, problem, run) for problem, run in problems(c)]
    targets = _LogTargets(port, len(placements))
    steps, longest = _steps(c, _until_around(placements, targets), driver, targets)
    names = {
        "TOP": top, "ADDRESS": AddressMap(c).address_bits, "LINE": c.line_bits, "MESSAGES": c.line_messages,
        "MESSAGE": c.message_bits, "COUNT": c.counter_bits, "LABEL": c.label_bits, "STEPS": len(steps),
        "PATIENCE": 2 * longest + 1000,
        "PLACES": max(p.problem.sites for p in placements) * _stride(c),
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
