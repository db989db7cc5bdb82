"""The compiled chip as a backend, driven through its own bus and log as hardware would be."""

from __future__ import annotations

import contextlib
import ctypes
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from mrfhw.backends.backend import Pauses, Progress
from mrfhw.backends.chip_run import ChipRun, DrivenBackend
from mrfhw.driver.driver import ChipError, Driver
from mrfhw.field.result import Result
from mrfhw.generation.identity import circuit_digest
from mrfhw.machine.config import Config
from mrfhw.placement.placement import Placement
from mrfhw.simulation.compiled import compile_chip
from mrfhw.simulation.library import Compiled, Signatures

__all__ = ["CellsChip", "ChipBackend", "CompiledChip", "run_placed"]

# Below this many cycles compiling and running a 16x2 machine takes less time with `quick`.
QUICK_CYCLES = 5_000_000

_WORDS = np.ctypeslib.ndpointer(np.uint32, flags="C_CONTIGUOUS")
_BYTES = np.ctypeslib.ndpointer(np.uint8, flags="C_CONTIGUOUS")
_SIGNATURES: Signatures = {
    "chip_new": (ctypes.c_void_p, [ctypes.c_uint32]),
    "chip_delete": (None, [ctypes.c_void_p]),
    "chip_write": (ctypes.c_uint64, [ctypes.c_void_p, _WORDS, _WORDS, ctypes.c_uint64]),
    "chip_read": (ctypes.c_uint64, [ctypes.c_void_p, _WORDS, _WORDS, ctypes.c_uint64]),
    "chip_run": (ctypes.c_int, [ctypes.c_void_p, ctypes.c_uint64]),
    "chip_clear_log": (None, [ctypes.c_void_p]),
    "chip_log_bytes": (ctypes.c_uint64, [ctypes.c_void_p]),
    "chip_log": (None, [ctypes.c_void_p, _BYTES]),
    "chip_log_ready": (None, [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64]),
    "chip_cycles": (ctypes.c_uint64, [ctypes.c_void_p]),
}


class CompiledChip(Compiled):
    """A `Chip` (mrfhw.driver.driver) in this process. Use as a context manager.

    log_ready: share of cycles in which the log is taken, (n of 256, seed). quick: see `compile_chip`.
    """

    def __init__(self, config: Config, log_ready: tuple[int, int] = (256, 0), quick: bool = False):
        self._open(config, compile_chip(config, quick))
        self._call("log_ready", *log_ready)

    def _open(self, config: Config, library: Path, more: Signatures | None = None) -> None:
        self.config = config
        super().__init__(library, "chip", {**_SIGNATURES, **(more or {})}, config.line_bits // 8)

    def write(self, addresses: np.ndarray, data: np.ndarray) -> None:
        done = self._call("write", addresses, data, len(addresses))
        if done != len(addresses):
            raise ChipError(f"the chip refused a write to {int(addresses[done]):#x}: the address is not one of this chip's, "
                            "or labels are being drawn")

    def read(self, addresses: np.ndarray) -> np.ndarray:
        data = np.zeros(len(addresses), np.uint32)
        done = self._call("read", addresses, data, len(addresses))
        if done != len(addresses):
            raise ChipError(f"the chip refused a read from {int(addresses[done]):#x}: the address is not one of this chip's, "
                            "or labels are being drawn")
        return data

    def advance(self, cycles: int) -> bool:
        """Let the chip run at most `cycles` cycles; True when the log's last line has come."""
        return bool(self._call("run", cycles))

    @property
    def cycles(self) -> int:
        """Cycles since the chip was made, loading and reading included."""
        return int(self._call("cycles"))

    def take_log(self) -> np.ndarray:
        """(n, line_bits / 8) uint8: the lines since the last call."""
        out = np.zeros(self._call("log_bytes"), np.uint8)
        self._call("log", out)
        self._call("clear_log")
        return out.reshape(-1, self.config.line_bits // 8)


class CellsChip(CompiledChip):
    """A chip in cells (`mrfhw.simulation.compiled.compile_cells`), whose nets can be followed."""

    def __init__(self, config: Config, library: Path):
        self._open(config, library, {
            "chip_follow": (None, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64]),
            "chip_followed": (None, [ctypes.c_void_p])})

    @contextlib.contextmanager
    def following(self, path: Path, after: int, cycles: int) -> Iterator[None]:
        """Write every net's value after each clock edge of so many cycles, `after` cycles from now on, as a VCD file.

        Its times are cycles. It is whole when the block ends.
        """
        self._call("follow", str(path).encode(), after, cycles)
        try:
            yield
        finally:
            self._call("followed")


class ChipBackend(DrivenBackend):
    """One compiled chip that runs problem after problem (`mrfhw.backends.backend.Backend`).

    chip: closed with the session. patience: cycles after which a run that has not ended raises ChipError.
    """

    backend = "rtl"

    def __init__(self, chip: CompiledChip, patience: int = 1 << 40):
        super().__init__(chip.config, Driver(chip.config, chip, circuit_digest(chip.config)))
        self.chip, self.patience = chip, patience

    @classmethod
    def open(cls, backend: str, config: Config, cycles: int) -> ChipBackend:
        return cls(CompiledChip(config, quick=cycles < QUICK_CYCLES))

    def close(self) -> None:
        self.chip.close()

    def settle(self) -> None:
        self.chip.take_log()

    def run_out(self, before: int, progress: Progress | None, pauses: Pauses | None) -> tuple[bytes, int | None]:
        chip, start, step = self.chip, self.chip.cycles, 1000
        while not chip.advance(step):
            if progress or pauses:
                sweep = self.driver.get("sweep")[0]
                if progress:
                    progress(sweep)
                self.stop_if(pauses, sweep)
            if chip.cycles - start > self.patience:
                raise ChipError(f"the chip has not ended its run after {chip.cycles - start} cycles: build it again")
            step = min(2 * step, 1_000_000)
        simulated = chip.cycles - start
        return chip.take_log().tobytes(), simulated

    def bus_cycles(self) -> int | None:
        return self.chip.cycles


def run_placed(chip: CompiledChip, placement: Placement, progress: Progress | None = None, patience: int = 1 << 40) -> Result:
    """Load, run and read back one placed problem.

    patience: cycles after which a run that has not ended raises ChipError.
    """
    run = ChipRun(ChipBackend(chip, patience), placement, True, None, progress, None)
    run.advance()
    return run.result()
