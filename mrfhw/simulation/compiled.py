"""Compiles the generated Verilog with Verilator into a shared library, once for each configuration."""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from mrfhw.field.problem import ProblemError
from mrfhw.gateware.common.leaves import Leaves
from mrfhw.gateware.link.bridge import check_link
from mrfhw.generation.ethernet_core import Ethernet, core_version, ethernet_core
from mrfhw.generation.generated import Verilog, generated
from mrfhw.generation.identity import circuit_digest
from mrfhw.generation.verilog import TILE, TOP, board_text, ethernet_board_text, file_text, verilog_text
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.link_protocol import LOG_BYTES, OUTSTANDING, WORDS, ethernet_words
from mrfhw.simulation.axi_memory import BoardWithMemory, check_memory
from mrfhw.simulation.memory_content import with_constants
from mrfhw.system.files import cache_directory
from mrfhw.system.progress import working

__all__ = ["PINS", "compile_board", "compile_board_text", "compile_cells", "compile_chip", "compile_ethernet_board",
           "ethernet_text"]

LINK_HZ = 50_000_000  # of a simulated Ethernet board's link, beside the 125 MHz of its wires
# The C functions around a Verilated top, by what their names begin with.
_HARNESSES = {prefix: Path(__file__).with_name(f"{name}.cpp")
              for prefix, name in (("chip", "chip"), ("board", "board"), ("ethernet", "ethernet_board"))}
_CLOCKS = Path(__file__).with_name("clocks.h")  # of both boards
PINS = Path(__file__).with_name("ecp5_pins.v")


# Up to so many tiles, optimized and not, the C++ is compiled with its harness as one file, whose headers are read once. With more,
# as files of 20,000 operations on both cores, or, where it is to be quick, the tile once and by itself.
_ONE_FILE_TILES, _ONE_QUICK_FILE_TILES = 2, 6

# Warnings are the lint test's business.
_OPTIONS = ("--cc", "--exe", "-j", "2", "-O3", "--output-split", "20000", "-Wno-fatal", "-Wno-lint", "--noassert",
            "--x-assign", "fast", "--x-initial", "fast", "--Mdir", "obj", "-CFLAGS", "-fPIC -std=c++17", "-o", "chip.so")


@contextlib.contextmanager
def _alone(name: str) -> Iterator[None]:
    """A lock: only one process at a time compiles the library `name`."""
    with (cache_directory() / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _run(command: list[str], directory: Path) -> str:
    # ccache else preprocesses what it does not have before it compiles it.
    done = subprocess.run(command, cwd=directory, env={**os.environ, "CCACHE_DEPEND": "1"}, capture_output=True, text=True,
                          check=False)
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()
        cause = next((line for line in lines if "rror" in line), lines[-1] if lines else "no message")
        raise ProblemError(f"{command[0]} failed with status {done.returncode}: {cause}")
    return done.stdout


def compile_chip(config: Config, quick: bool = False, traced: bool = False) -> Path:
    """The shared library of a machine; from the cache where the same Verilog and tools have been compiled.

    quick: compile with little optimization or none, and the tile of a large machine once, called for each tile. A machine then
    compiles at least five times as fast and simulates at a third of the speed. traced: its signals can be followed, as those of
    `compile_cells`.
    Raises ProblemError in one line where Verilator or a C++ compiler is missing, or fails.
    """
    _check_tools("the rtl backend", "use the model backend")
    def make() -> str:
        with working("generating"):
            return verilog_text(config)

    verilog = generated(cache_directory(), "chip", config, {}, make)
    return _library(verilog, "chip", False, None, 0, 0) if traced else _library(verilog, "chip", quick, Derived.of(config).spes)


def compile_board(config: Config, divisor: int, words: int = WORDS, log_bytes: int = LOG_BYTES, quick: bool = False,
                  memory_bytes: int = 0, two_clocks: bool = False, outstanding: int = OUTSTANDING) -> Path:
    """The same for a board: the machine with its link and UART, driven at its pins (`board.cpp`).

    memory_bytes: of a memory that the log passes through (`mrfhw.simulation.axi_memory.BoardWithMemory`); 0: none. ProblemError
    where it cannot be. two_clocks: of the machine and of the link; without such a memory.
    """
    _check_tools("a simulated board", "use a real one")
    if memory_bytes:
        try:
            check_memory(config.line_bits, memory_bytes)
        except ValueError as error:
            raise ProblemError(str(error)) from None

    def make() -> str:
        with working("generating"):
            if not memory_bytes:
                return board_text(config, divisor, words, log_bytes, two_clocks, outstanding)
            leaves = Leaves(shared=True)
            board = BoardWithMemory(config, divisor, words, log_bytes, memory_bytes, leaves, circuit_digest(config), outstanding)
            return file_text(config, board, leaves)

    parameters = {"divisor": divisor, "words": words, "log_bytes": log_bytes, "memory_bytes": memory_bytes,
                  "two_clocks": two_clocks, "outstanding": outstanding}
    verilog = generated(cache_directory(), "board", config, parameters, make)
    return _library(verilog, "board", quick, Derived.of(config).spes)


def ethernet_text(config: Config, log_bytes: int, two_clocks: bool = False, ethernet: Ethernet | None = None,
                  words: tuple[int, int] | None = None, outstanding: int = OUTSTANDING) -> str:
    """Verilog of a board with Ethernet, but for the cells at its pins (`PINS`). Its link's clock is one of `LINK_HZ`."""
    board = ethernet_board_text(config, log_bytes, two_clocks, words, outstanding)
    return board + ethernet_core(LINK_HZ, ethernet or Ethernet())


def compile_ethernet_board(config: Config, ethernet: Ethernet, log_bytes: int, quick: bool = False,
                           two_clocks: bool = False, words: tuple[int, int] | None = None,
                           outstanding: int = OUTSTANDING) -> Path:
    """The same for a board with Ethernet, driven at the wires to its PHY (`ethernet_board.cpp`)."""
    _check_tools("a simulated board", "use a real one")
    words = words or ethernet_words(outstanding)
    try:
        check_link(config.line_bits, words[0], log_bytes, words[1], True, outstanding)
    except ValueError as error:
        raise ProblemError(str(error)) from None

    def make() -> str:
        with working("generating"):
            return ethernet_text(config, log_bytes, two_clocks, ethernet, words, outstanding) + PINS.read_text()

    parameters = {"ethernet": str(ethernet), "log_bytes": log_bytes, "two_clocks": two_clocks, "words": words,
                  "outstanding": outstanding, "core": core_version()}
    verilog = generated(cache_directory(), "ethernet", config, parameters, make)
    return _library(verilog, "ethernet", quick, Derived.of(config).spes)


def compile_board_text(text: str, level: int = 2) -> Path:
    """The same for a given Verilog text: its top `TOP` has clk, rst, rx and tx. level: of the C++ compiler's optimization."""
    _check_tools("a simulated board", "use a real one")
    return _library(Verilog(lambda: text), "board", False, None, level)


def compile_cells(models: str, netlist: str) -> Path:
    """The shared library of a machine in cells, the top of `netlist` being `TOP`, whose nets' values can be followed
    (`CompiledChip.follow`), but for those inside `models`."""
    _check_tools("a netlist", "use a computer that has it")
    text = models + netlist
    return _library(Verilog(lambda: text), "chip", False, None, 0, models.count("\n"))


def _check_tools(what: str, otherwise: str) -> None:
    for tool, package in (("verilator", "verilator"), ("g++", "g++"), ("make", "make")):
        if shutil.which(tool) is None:
            raise ProblemError(f"{tool} is not installed; {what} compiles the chip with it: "
                               f"install it (Debian: apt-get install {package}) or {otherwise}")


def _library(verilog: Verilog, harness: str, quick: bool, tiles: int | None, level: int = 2, models: int | None = None) -> Path:
    """harness: of `_HARNESSES`. tiles: of the machine; None where the text is another's, and is compiled as files.
    models: lines at the text's beginning whose signals cannot be followed, while all others can; None where none can."""
    name = harness if models is None else "cells"
    version = _run(["verilator", "--version"], Path.cwd())

    def places() -> tuple[Path, Path]:
        """Paths of the fully optimized library and of the requested one."""
        said = "\0".join((verilog.digest, _HARNESSES[harness].read_text(), _CLOCKS.read_text(), version, *_OPTIONS, str(level),
                          str(models)))
        key = hashlib.sha256(said.encode()).hexdigest()[:32]
        full = cache_directory() / f"{name}-{key}.so"
        return full, full.with_name(f"{name}-{key}-quick.so") if quick else full

    if not any(place.exists() for place in places()):
        text = verilog.text  # generates it, which also corrects a wrong digest in the cache
        full, library = places()
        with _alone(library.stem):
            if not full.exists() and not library.exists():
                _compile(text, harness, library, quick, tiles, level, models)
    return next(place for place in places() if place.exists())


def _compile(text: str, harness: str, library: Path, quick: bool, tiles: int | None, level: int, models: int | None) -> None:
    together = tiles is not None and tiles <= (_ONE_QUICK_FILE_TILES if quick else _ONE_FILE_TILES)
    by_tile = quick and not together
    with tempfile.TemporaryDirectory(prefix="mrfhw-", dir=cache_directory()) as name:
        work = Path(name)
        (work / f"{TOP}.v").write_text(with_constants(text))
        told = [f'hier_block -module "{TILE}"'] if by_tile else []
        told += [] if not models else [f'tracing_off -file "{TOP}.v" -lines 1-{models}']
        (work / "chip.vlt").write_text("\n".join(("`verilator_config", *told, "")))
        shutil.copy(_HARNESSES[harness], work / "chip.cpp")
        shutil.copy(_CLOCKS, work / _CLOCKS.name)
        # With --build, two files that come of the tile's verilation are goals of make, which runs it for each of them side by side:
        # one overwrites what is compiled of the other. Without, all is verilated before anything is compiled.
        mode = ["--hierarchical"] if by_tile else ["--build"]
        mode += [] if models is None else ["--trace"]
        make = [f"OPT_FAST=-O{1 if by_tile else 0 if quick else level}", "OPT_SLOW=-O0"]
        make += ["VM_PARALLEL_BUILDS=0"] if together or by_tile else []
        if together:
            make += ["VM_SUPPORT_FAST=../chip"]  # one more of the model's own files
            (work / "empty.cpp").touch()
        # Verilator's own library is the same for every chip, and a third of the time.
        make += ["OBJCACHE=ccache"] if shutil.which("ccache") else []
        with working("compiling the chip"):
            _run(["verilator", *mode, *_OPTIONS, "-LDFLAGS", f"-shared -Wl,-u,{harness}_new", "-MAKEFLAGS", " ".join(make),
                  "--top-module", TOP, "chip.vlt", f"{TOP}.v", "empty.cpp" if together else "chip.cpp"], work)
            if by_tile:
                _run(["make", "-j", "2", "-f", f"V{TOP}_hier.mk", "hier_build", *make], work / "obj")
        os.replace(work / "obj" / "chip.so", library)
