"""The driver in C as a library of this process, on a chip whose accesses are functions in Python."""

from __future__ import annotations

import ctypes
import re
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mrfhw.driver.c_files import driver_files
from mrfhw.driver.driver import Chip, ChipError
from mrfhw.driver.image import load_image
from mrfhw.field.result import Result
from mrfhw.generation.identity import circuit_digest
from mrfhw.machine.config import Config
from mrfhw.machine.ports import MemoryPort
from mrfhw.placement.placement import Placement
from mrfhw.simulation.chip import CompiledChip

__all__ = ["ERRORS", "LOG", "PATIENCE", "STRICT", "CProblem", "ChangedLines", "Machine", "Ring", "Stream", "buffers", "build",
           "image_of", "same_bits"]

STRICT = ("gcc", "-std=c99", "-Wall", "-Wextra", "-Werror", "-pedantic", "-ffreestanding", "-O1")
PATIENCE = 2000  # polls

# What ctypes cannot know of the driver's own types.
GLUE = """#include "mrfhw_driver.h"
size_t machine_bytes(void);
uint32_t machine_fault(const mrfhw_machine *machine);
size_t machine_bytes(void) { return sizeof(mrfhw_machine); }
uint32_t machine_fault(const mrfhw_machine *machine) { return machine->fault; }
"""

_WRITE = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32)
_READ = ctypes.CFUNCTYPE(ctypes.c_bool, ctypes.c_void_p, ctypes.c_uint32, ctypes.POINTER(ctypes.c_uint32))
LOG = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.POINTER(ctypes.c_uint8), ctypes.c_uint32)


class _Bus(ctypes.Structure):
    _fields_ = (("write", _WRITE), ("read", _READ), ("log", LOG), ("context", ctypes.c_void_p), ("log_context", ctypes.c_void_p))


class CProblem(ctypes.Structure):
    _fields_ = tuple((name, ctypes.c_uint32) for name in ("rows", "cols", "sites", "labels", "sweeps", "burn_in", "counted",
                                                          "estimate"))


class _Counters(ctypes.Structure):
    _fields_ = (*((f"{name}cycles", ctypes.c_uint64) for name in ("", "label_", "gap_", "stall_")),
                ("messages", ctypes.c_uint64), ("lines", ctypes.c_uint32))


class Ring(ctypes.Structure):
    _fields_ = (("bus", ctypes.c_void_p), ("memory", ctypes.c_void_p), ("size", ctypes.c_uint32), ("position", ctypes.c_uint32),
                ("place", ctypes.c_uint32))


def build(directory: Path, config: Config, port: MemoryPort | None = None, count_bits: int = 32) -> ctypes.CDLL:
    """The driver of a machine as a library of this process."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    for name, text in {**driver_files(config, circuit_digest(config), port), "glue.c": GLUE}.items():
        (directory / name).write_text(text)
    subprocess.run([*STRICT, f"-DMRFHW_COUNT_BITS={count_bits}", "-fPIC", "-shared", "-fno-builtin", "-o", "driver.so",
                    "mrfhw_driver.c", "glue.c"], cwd=directory, check=True)
    library = ctypes.CDLL(str(directory / "driver.so"))
    library.machine_bytes.restype, library.mrfhw_error_text.restype = ctypes.c_size_t, ctypes.c_char_p
    return library


def errors() -> list[str]:
    """The names of the errors, in order."""
    header = Path(driver_files.__code__.co_filename).with_name("mrfhw_driver.h").read_text()
    return [name.removeprefix("ERROR_") for name in re.findall(r"X\(MRFHW_(\w+), \"", header)]


ERRORS = errors()


class Machine:
    """A machine as the driver in C has it, on a `Chip`.

    log: gives the next bytes of the log. wrong: changes a word that is read, or raises ChipError, by address and word.
    """

    def __init__(self, library: ctypes.CDLL, chip: Chip, log: Callable[[int], bytes]):
        self.library, self.chip, self.log = library, chip, log
        self.wrong: Callable[[int, int], int] = lambda address, word: word
        self.accesses: list[int] = []
        self.bus = _Bus(_WRITE(self._write), _READ(self._read), LOG(self._log), None, None)
        self.memory = ctypes.create_string_buffer(library.machine_bytes())
        self.kept: tuple[Any, ...] = ()

    def _write(self, _: object, address: int, data: int) -> bool:
        self.accesses.append(address)
        try:
            self.chip.write(np.array([address], np.uint32), np.array([data], np.uint32))
            self.wrong(address, data)
        except ChipError:
            return False
        return True

    def _read(self, _: object, address: int, data: Any) -> bool:
        try:
            data[0] = self.wrong(address, int(self.chip.read(np.array([address], np.uint32))[0]))
        except ChipError:
            return False
        return True

    def _log(self, _: object, out: Any, size: int) -> int:
        try:
            found = self.log(size)
        except ChipError:
            return -ERRORS.index("LOG_SOURCE")
        ctypes.memmove(out, found, len(found))
        return len(found)

    def call(self, name: str, *arguments: Any) -> str:
        """The name of the error that a function of the driver returns."""
        return ERRORS[getattr(self.library, f"mrfhw_{name}")(self.memory, *arguments)]

    def open(self) -> str:
        return self.call("open", ctypes.byref(self.bus))

    def load(self, image: bytes, counts: np.ndarray, last: np.ndarray) -> str:
        words = np.frombuffer(image, np.uint32)
        self.kept = words, counts, last
        return self.call("load", words.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(words.size),
                         counts.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(counts.size),
                         last.ctypes.data_as(ctypes.c_void_p), ctypes.c_size_t(last.size))

    def run(self, patience: int = PATIENCE) -> str:
        return self.call("run", ctypes.c_uint32(patience))

    def settle(self, patience: int = PATIENCE) -> str:
        return self.call("settle", ctypes.c_uint32(patience))

    def poll(self) -> tuple[str, bool]:
        done = ctypes.c_bool(True)
        return self.call("poll", ctypes.byref(done)), done.value

    @property
    def fault(self) -> int:
        return int(self.library.machine_fault(self.memory))

    def counters(self) -> _Counters:
        found = _Counters()
        assert self.call("count_registers", ctypes.byref(found)) == "OK"
        return found


class Stream:
    """The log of a compiled chip, in pieces of odd sizes as far as the driver takes them."""

    def __init__(self, chip: CompiledChip, piece: int = 7):
        self.chip, self.piece, self.held = chip, piece, bytearray()

    def __call__(self, size: int) -> bytes:
        if not self.held:
            self.chip.advance(200)
            self.held += self.chip.take_log().tobytes()
        found = bytes(self.held[:min(size, self.piece)])
        del self.held[:len(found)]
        return found


class ChangedLines:
    """A log whose lines of `size` bytes are changed on their way, each by its number."""

    def __init__(self, log: Callable[[int], bytes], size: int, change: Callable[[bytes, int], bytes]):
        self.log, self.size, self.change = log, size, change
        self.held, self.line, self.number = bytearray(), bytearray(), 0

    def __call__(self, most: int) -> bytes:
        while not self.held and (piece := self.log(most)):
            self.line += piece
            while len(self.line) >= self.size:
                self.held += self.change(bytes(self.line[:self.size]), self.number)
                del self.line[:self.size]
                self.number += 1
        found = bytes(self.held[:most])
        del self.held[:most]
        return found


def buffers(p: Placement, dtype: type = np.uint32) -> tuple[np.ndarray, np.ndarray]:
    """Counts, sums or nothing, as the run's estimate needs it, and labels, with what a buffer may hold before."""
    shape = {"mode": (*p.problem.shape, p.problem.labels), "mean": p.problem.shape, "last": (0,)}[p.run.estimate]
    return np.full(shape, 77, dtype), np.full(p.problem.shape, 88, np.uint8)


def same_bits(machine: Machine, p: Placement, wanted: Result, dtype: type = np.uint32) -> None:
    """Run a problem by the driver in C; labels, histogram and what the machine counted must be `wanted`."""
    counts, last = buffers(p, dtype)
    assert machine.load(load_image(p.config, circuit_digest(p.config), p, p.run), counts, last) == "OK"
    assert machine.run() == "OK"
    np.testing.assert_array_equal(last, wanted.last)
    assert counts.size == 0 or np.array_equal(counts, wanted.counts if wanted.sums is None else wanted.sums[..., 0])
    found = machine.counters()
    for name in ("cycles", "stall_cycles", "gap_cycles"):
        assert getattr(found, name) == getattr(wanted, name), name
    assert found.messages == wanted.log_messages


def image_of(p: Placement) -> bytes:
    return load_image(p.config, circuit_digest(p.config), p, p.run)
