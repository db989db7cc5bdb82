"""Scripts of calls for the driver in C with a made-up machine behind its bus, and what they answer (`driver_calls.c`)."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from mrfhw.driver.c_files import driver_files
from mrfhw.driver.driver import COUNTERS
from mrfhw.driver.image import HEAD_WORDS, ImageWord, load_image
from mrfhw.driver.readout import read_result
from mrfhw.field.result import Result
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.log_registers import LOG_REGISTERS, LOG_STATUS_BITS
from mrfhw.machine.ports import MemoryPort
from mrfhw.machine.registers import DIGEST_REGISTERS, IDENTITY, INTERFACE_VERSION, register
from mrfhw.machine.words import LMEM_WORDS, entry_words, log_message
from mrfhw.placement.placement import Placement
from mrfhw.placement.visit_order import COLOURS
from mrfhw.twin.machine import solve
from support.c_driver import ERRORS

__all__ = ["BUILDS", "CALLS", "DIGEST", "EVENTS", "Answer", "Machine", "Script", "answers", "build", "can_build", "script_of"]

SOURCE = Path(__file__).with_name("driver_calls.c")
DIGEST = "0123456789abcdef" * 4  # a circuit's that nobody generates
STRICT = ("-Wall", "-Wextra", "-Werror", "-pedantic", "-Wconversion", "-Wshadow", "-O1")
SANITIZED = ("-fsanitize=address,undefined", "-fno-sanitize-recover=all")
BUILDS = {
    "gcc": ("gcc", "-std=c99", *SANITIZED),
    "g++": ("g++", "-x", "c++", "-std=c++11", *SANITIZED),
    # Without a C library, which few have of 32 bits.
    "gcc -m32": ("gcc", "-std=c99", "-m32", "-DNO_LIBRARY", "-ffreestanding", "-nostdlib", "-static", "-fno-stack-protector",
                 "-fno-pic", "-no-pie"),
}
CALLS = ("open", "settle", "image", "load", "start", "poll", "finish", "run", "count_registers", "ring_open", "ring_log")
EVENTS = ("fails", "xors", "reads", "log_returns")
PROBLEM = ("rows", "cols", "sites", "labels", "sweeps", "burn_in", "counted", "estimate")


@dataclass(frozen=True)
class Machine:
    """A machine that is made up; port: of one with AXI ports."""

    config: Config
    count_bits: int = 32
    port: MemoryPort | None = None


@dataclass(frozen=True)
class Script:
    """What a program does with the driver, and what it meets.

    image: words. counts, last: elements of the buffers. table: what an address reads as. piece: bytes of the log that come at once.
    base: of the ring. events: (number of an access, or of a call for log; of EVENTS; value). calls: (of CALLS, argument).
    """

    image: np.ndarray
    counts: int
    last: int
    table: dict[int, int]
    log: bytes
    piece: int = 1 << 20
    ring: int = 0
    base: int = 0
    events: tuple[tuple[int, str, int], ...] = ()
    calls: tuple[tuple[str, int], ...] = (("open", 0), ("image", 0), ("load", 0), ("run", 50))

    @property
    def words(self) -> np.ndarray:
        head = [0, len(self.image), self.counts, self.last, self.piece, len(self.table), len(self.log), len(self.events),
                len(self.calls), self.ring]
        log = np.frombuffer(self.log + bytes(-len(self.log) % 4), np.uint32)
        tail = [self.base & 0xFFFFFFFF, self.base >> 32]
        for number, kind, value in self.events:
            tail += [number, EVENTS.index(kind), value & 0xFFFFFFFF]
        for name, argument in self.calls:
            tail += [CALLS.index(name), argument]
        words = np.concatenate([np.array(head, np.uint32), self.image, np.array([*self.table.items()], np.uint32).ravel(), log,
                                np.array(tail, np.uint32)])
        words[0] = len(words)
        return words


@dataclass(frozen=True)
class Answer:
    """errors: of each call. wrong: what the driver did wrong, 0 for nothing. rest: all that was said, for comparison."""

    errors: tuple[str, ...]
    wrong: int
    problem: tuple[int, ...]
    counts: np.ndarray = field(compare=False)
    last: np.ndarray = field(compare=False)
    rest: bytes = field(repr=False)


@dataclass(frozen=True)
class Base:
    """A right script and the run that it is of."""

    placement: Placement
    result: Result
    script: Script
    counters: dict[str, int]

    def read(self, log: bytes, table: dict[int, int]) -> Result:
        """What the driver in Python makes of a log and of what addresses read as."""
        p = self.placement
        found = dict(self.counters)
        for name in ("messages", "lines"):
            low, high = (register(n) for n in ((name, name) if name == "lines" else (f"{name}_low", f"{name}_high")))
            found[name] = table[low] if low == high else table[high] << 32 | table[low]
        addresses = self.script.image[HEAD_WORDS + 2 * int(self.script.image[ImageWord.WRITES]):-1:2].astype(np.int64)
        words = np.array([[table[at + word] if word < p.entry_words else 0 for word in range(LMEM_WORDS)]
                          for at in addresses.tolist()], np.uint32).astype(np.int32)
        fields = [entry[name].of(words[:, word]) for word, entry in enumerate(entry_words(Derived.of(p.config)))
                  for name in ("label", "count")]
        return read_result(found, p, log, np.stack(fields, -1).reshape(*p.problem.shape, 4), wall=0.0)


def _log_of(config: Config, messages: np.ndarray, rng: np.random.Generator) -> tuple[bytes, int]:
    """(log, lines) of messages (n, 3), each by any packer."""
    c = Derived.of(config)
    fields, size = log_message(c), c.line_bits // 8
    values = [sum(int(value) << fields[name].low for name, value in zip(("address", "label", "count"), message, strict=True))
              for message in messages]
    of = rng.integers(0, c.packers, len(values))
    lines = list[bytes]()
    for packer in range(c.packers):
        own = [value for value, number in zip(values, of, strict=True) if number == packer]
        for at in range(0, len(own) + 1, c.line_messages):
            line = sum(value << c.message_bits * place for place, value in enumerate(own[at:at + c.line_messages]))
            lines.append(line.to_bytes(size, "little"))
    return b"".join(lines), len(lines)


def script_of(machine: Machine, p: Placement, rng: np.random.Generator) -> Base:
    """The run of a placement as the model has it, from image to the last word that is read."""
    config = machine.config
    result = solve(config, p, p.run)
    assert result.messages is not None
    assert result.lmem is not None
    image = np.frombuffer(load_image(config, DIGEST, p, p.run), "<u4").astype(np.uint32)
    log, lines = _log_of(config, result.messages, rng)
    counters = {name: int(getattr(result, name)) for name in ("cycles", "stall_cycles", "gap_cycles")}
    counters |= {"label_cycles": len(COLOURS) * p.order.turns * p.run.sweeps * p.slots, "messages": len(result.messages),
                 "lines": lines}
    table = {register("identity"): IDENTITY, register("version"): INTERFACE_VERSION, register("status"): 0,
             **{register(name): int(DIGEST[8 * n:8 * n + 8], 16) for n, name in enumerate(DIGEST_REGISTERS)},
             register("sweep"): p.run.sweeps, register("lines"): lines}
    for name in COUNTERS[:-1]:
        table |= {register(f"{name}_low"): counters[name] & 0xFFFFFFFF, register(f"{name}_high"): counters[name] >> 32}
    pairs = image[HEAD_WORDS + 2 * int(image[ImageWord.WRITES]):-1].reshape(-1, 2)
    entries = entry_words(Derived.of(config))
    flags = sum(field.mask << field.low for name, field in entries[0].items() if name in ("exists", "clamped"))
    for (address, loaded), values in zip(pairs.tolist(), result.lmem.reshape(-1, 4).tolist(), strict=True):
        for word, fields in enumerate(entries):
            table[address + word] = (values[2 * word] << fields["label"].low | values[2 * word + 1] << fields["count"].low
                                     | (loaded & flags if word == 0 else 0))
    sites = p.problem.sites
    kept = {"mode": sites * p.problem.labels, "mean": sites, "last": 0}[p.run.estimate]
    script = Script(image, kept, sites, table, log)
    return Base(p, result, script if machine.port is None else _with_ring(script, machine.port), counters)


def _with_ring(script: Script, port: MemoryPort) -> Script:
    """The log is in the ring from the first access on."""
    size = max(1, -(-len(script.log) // port.block_bytes)) * port.block_bytes
    table = script.table | {r.index: 0 for r in LOG_REGISTERS.values()} | {
        LOG_REGISTERS[name].index: value for name, value in (
            ("log_block", port.block_bytes), ("log_base_low", -port.block_bytes & (1 << port.address_bits) - 1),
            ("log_status", 1 << LOG_STATUS_BITS["empty"]), ("log_written", len(script.log)))}
    calls = (("open", 0), ("ring_open", 50), ("image", 0), ("load", 0), ("run", 50))
    return replace(script, table=table, ring=size, base=8 * port.block_bytes, calls=calls)


# -- programs


def can_build(name: str, directory: Path) -> bool:
    """Whether the compiler is there and makes such programs."""
    compiler, *options = BUILDS[name]
    if shutil.which(compiler) is None:
        return False
    (directory / "empty.c").write_text("void _start(void); void _start(void) { for (;;) {} }\n" if "-nostdlib" in options
                                       else "int main(void) { return 0; }\n")
    return subprocess.run([compiler, *options, "-o", "empty", "empty.c"], cwd=directory, capture_output=True).returncode == 0


def build(directory: Path, machine: Machine, name: str) -> Path:
    """The program of one of BUILDS."""
    for file, text in driver_files(machine.config, DIGEST, machine.port).items():
        (directory / file).write_text(text)
    program = directory / name.replace(" ", "")
    subprocess.run([*BUILDS[name], *STRICT, f"-DMRFHW_COUNT_BITS={machine.count_bits}", "-I", str(directory), "-o", str(program),
                    str(SOURCE), "mrfhw_driver.c"], cwd=directory, check=True)
    return program


def answers(program: Path, scripts: Sequence[Script]) -> list[Answer]:
    """What the scripts answer, one after the other. An access outside a buffer that the sanitizers see ends the program."""
    given = np.concatenate([script.words for script in scripts]).tobytes()
    done = subprocess.run([str(program)], input=given, capture_output=True, timeout=600)
    assert done.returncode == 0, done.stderr.decode()[:2000]
    said, found = np.frombuffer(done.stdout, np.uint32), []
    for script in scripts:
        sizes = np.cumsum([4 * len(script.calls), len(PROBLEM), script.counts, script.last])
        calls, problem, counts, last = np.split(said[:sizes[-1]], sizes[:-1])
        said = said[sizes[-1]:]
        calls = calls.reshape(-1, 4)
        names = tuple(ERRORS[n] if n < len(ERRORS) else str(n) for n in calls[:, 0])
        rest = np.concatenate([calls.ravel(), problem, counts, last]).tobytes()
        found.append(Answer(names, int(calls[-1, 3]), tuple(problem.tolist()), counts, last, rest))
    assert not len(said)
    return found
