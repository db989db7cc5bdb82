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

from mrfhw.config import Config
from mrfhw.gateware.leaves import Leaves
from mrfhw.problem import ProblemError
from mrfhw.rtl import TILE, TOP, board_text, file_text, verilog_text
from mrfhw.runtime.progress import working
from mrfhw.sim.axi_memory import BoardWithMemory, check_memory

__all__ = ["cache_directory", "compile_board", "compile_board_text", "compile_chip"]

_HARNESS = Path(__file__).with_name("chip.cpp")
_BOARD_HARNESS = Path(__file__).with_name("board.cpp")


# Files of 20,000 operations, so that both cores compile. Warnings are the lint test's business.
_OPTIONS = ("--cc", "--exe", "--build", "-j", "2", "-O3", "--output-split", "20000", "-Wno-fatal", "-Wno-lint", "--noassert",
            "--x-assign", "fast", "--x-initial", "fast", "--Mdir", "obj", "-CFLAGS", "-fPIC -std=c++17", "-LDFLAGS", "-shared",
            "-o", "chip.so")


def cache_directory() -> Path:
    """Where compiled chips are kept: $MRFHW_CACHE, or mrfhw under the user's cache directory."""
    chosen, user = os.environ.get("MRFHW_CACHE"), os.environ.get("XDG_CACHE_HOME")
    base = Path(chosen) if chosen else (Path(user) if user else Path.home() / ".cache") / "mrfhw"
    base.mkdir(parents=True, exist_ok=True)
    return base.resolve()


@contextlib.contextmanager
def _alone(name: str) -> Iterator[None]:
    """One process at a time compiles what `name` stands for."""
    with (cache_directory() / f"{name}.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def _run(command: list[str], directory: Path) -> str:
    done = subprocess.run(command, cwd=directory, capture_output=True, text=True, check=False)
    if done.returncode:
        lines = (done.stdout + done.stderr).strip().splitlines()
        cause = next((line for line in lines if "rror" in line), lines[-1] if lines else "no message")
        raise ProblemError(f"{command[0]} failed with status {done.returncode}: {cause}")
    return done.stdout


def compile_chip(config: Config, quick: bool = False) -> Path:
    """The shared library of a machine; from the cache where the same Verilog and tools have been compiled.

    quick: compile the tile once and call it for each tile. 16x2 then compiles five times as fast and
    simulates at a third of the speed.
    Raises ProblemError in one line where Verilator or a C++ compiler is missing, or fails.
    """
    _check_tools("the rtl backend", "use the model backend")
    with working("generating"):
        text = verilog_text(config)
    return _library(text, _HARNESS, "chip", quick)


def compile_board(config: Config, divisor: int, words: int = 512, log_bytes: int = 2048, quick: bool = False,
                  memory_bytes: int = 0) -> Path:
    """The same for a board: the machine with its link and UART, driven at its pins (`board.cpp`).

    memory_bytes: of a memory that the log passes through (`mrfhw.sim.axi_memory.BoardWithMemory`); 0: none. ProblemError where it
    cannot be.
    """
    _check_tools("a simulated board", "use a real one")
    with working("generating"):
        if memory_bytes:
            try:
                check_memory(config.line_bits, memory_bytes)
            except ValueError as error:
                raise ProblemError(str(error)) from None
            leaves = Leaves(shared=True)
            text = file_text(config, BoardWithMemory(config, divisor, words, log_bytes, memory_bytes, leaves), leaves)
        else:
            text = board_text(config, divisor, words, log_bytes)
    return compile_board_text(text, quick)


def compile_board_text(text: str, quick: bool = False, level: int = 2) -> Path:
    """The same for Verilog that is at hand: its top `TOP` has clk, rst, rx and tx. level: of the C++ compiler's optimization."""
    _check_tools("a simulated board", "use a real one")
    return _library(text, _BOARD_HARNESS, "board", quick, level)


def _check_tools(what: str, otherwise: str) -> None:
    for tool, package in (("verilator", "verilator"), ("g++", "g++"), ("make", "make")):
        if shutil.which(tool) is None:
            raise ProblemError(f"{tool} is not installed; {what} compiles the chip with it: "
                               f"install it (Debian: apt-get install {package}) or {otherwise}")


def _library(text: str, harness: Path, name: str, quick: bool, level: int = 2) -> Path:
    version = _run(["verilator", "--version"], Path.cwd())
    key = hashlib.sha256("\0".join((text, harness.read_text(), version, *_OPTIONS, str(level))).encode()).hexdigest()[:32]
    full = cache_directory() / f"{name}-{key}.so"
    library = cache_directory() / f"{name}-{key}-quick.so" if quick else full
    with _alone(library.stem):
        if not full.exists() and not library.exists():
            _compile(text, harness, library, quick, level)
    return full if full.exists() else library


def _compile(text: str, harness: Path, library: Path, quick: bool, level: int) -> None:
    with tempfile.TemporaryDirectory(prefix="mrfhw-", dir=cache_directory()) as name:
        work = Path(name)
        (work / f"{TOP}.v").write_text(text)
        (work / "chip.vlt").write_text(f'`verilator_config\nhier_block -module "{TILE}"\n' if quick else "`verilator_config\n")
        shutil.copy(harness, work / "chip.cpp")
        mode = ["--hierarchical"] if quick else []
        with working("compiling the chip"):
            _run(["verilator", *mode, *_OPTIONS, "-MAKEFLAGS", f"OPT_FAST=-O{level} OPT_SLOW=-O0", "--top-module", TOP,
                  "chip.vlt", f"{TOP}.v", "chip.cpp"], work)
        os.replace(work / "obj" / "chip.so", library)
