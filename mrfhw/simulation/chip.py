"""The compiled chip as a backend, driven through its own bus and log as hardware would be."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from mrfhw.backends.backend import Pauses, Progress, Steps
from mrfhw.backends.chip_run import ChipRun, DrivenBackend
from mrfhw.backends.registry import WAVE_CYCLES
from mrfhw.driver.clusters import SplitLog, cluster_chip
from mrfhw.driver.driver import ChipError, Driver
from mrfhw.field.result import Result
from mrfhw.generation.identity import circuit_digest
from mrfhw.machine.config import Config
from mrfhw.placement.placement import Placement
from mrfhw.simulation.compiled import compile_chip
from mrfhw.simulation.library import Compiled, Signatures
from mrfhw.system.files import check_replaceable

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
    "chip_log": (None, [ctypes.c_void_p, _BYTES, _BYTES]),
    "chip_log_ready": (None, [ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64]),
    "chip_cycles": (ctypes.c_uint64, [ctypes.c_void_p]),
}
_FOLLOWING: Signatures = {"chip_follow": (None, [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_uint64, ctypes.c_uint64]),
                          "chip_followed": (None, [ctypes.c_void_p])}


class CompiledChip(Compiled):
    """A `Chip` (mrfhw.driver.driver) in this process. Use as a context manager.

    log_ready: share of cycles in which the log is taken, (n of 256, seed). quick: see `compile_chip`. waves: a VCD file of each
    signal after every clock edge, and of how many cycles from the first one after reset; it is whole when the chip is closed.
    Raises OSError where that file cannot be written.
    """

    _followed = False

    def __init__(self, config: Config, log_ready: tuple[int, int] = (256, 0), quick: bool = False,
                 waves: tuple[Path, int] | None = None):
        if waves is not None:
            check_replaceable(waves[0])
        self._open(config, compile_chip(config, quick, waves is not None), None if waves is None else _FOLLOWING)
        self._call("log_ready", *log_ready)
        if waves is not None:
            self._follow(waves[0], 0, waves[1])

    def _follow(self, path: Path, after: int, cycles: int) -> None:
        self._followed = True
        self._call("follow", os.fsencode(path), after, cycles)

    def close(self) -> None:
        if self._followed:
            self._followed = False
            self._call("followed")
        super().close()

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
        """Let the chip run at most `cycles` cycles; True when the last line of a run has come since the log was taken."""
        return bool(self._call("run", cycles))

    @property
    def cycles(self) -> int:
        """Cycles since the chip was made, loading and reading included."""
        return int(self._call("cycles"))

    def take_log(self) -> np.ndarray:
        """(n, line_bits / 8) uint8: the lines since the last call."""
        return self.take_lines()[0]

    def take_lines(self) -> tuple[np.ndarray, np.ndarray]:
        """The same, and (n,) bool, which of them are the last ones of runs."""
        line = self.config.line_bits // 8
        out = np.zeros(self._call("log_bytes"), np.uint8)
        lasts = np.zeros(len(out) // line, np.uint8)
        self._call("log", out, lasts)
        self._call("clear_log")
        return out.reshape(-1, line), lasts.astype(np.bool_)


class CellsChip(CompiledChip):
    """A chip in cells (`mrfhw.simulation.compiled.compile_cells`), whose nets can be followed."""

    def __init__(self, config: Config, library: Path):
        self._open(config, library, _FOLLOWING)

    @contextlib.contextmanager
    def following(self, path: Path, after: int, cycles: int) -> Iterator[None]:
        """Write every net's value after each clock edge of so many cycles, `after` cycles from now on, as a VCD file.

        Its times are cycles. It is whole when the block ends.
        """
        self._follow(path, after, cycles)
        try:
            yield
        finally:
            self._followed = False
            self._call("followed")


class _Logs:
    """What has come of each cluster's log, and how many of its runs have ended."""

    def __init__(self, chip: CompiledChip):
        self._chip, self._split = chip, SplitLog(chip.config)
        self._ended = [0] * chip.config.seats

    def ended(self, cluster: int) -> bool:
        """Whether the last line of a run of this cluster has come since its log was taken."""
        lines, lasts = self._chip.take_lines()
        owners = self._split.feed(lines.tobytes())
        for owner in owners[lasts]:
            self._ended[owner] += 1
        return self._ended[cluster] > 0

    def take(self, cluster: int) -> bytes:
        """The bytes of its lines since the last call."""
        self.ended(cluster)
        self._ended[cluster] = 0
        return self._split.take(cluster)


class ChipBackend(DrivenBackend):
    """One compiled chip that runs problem after problem, or a cluster of it (`mrfhw.backends.backend.Backend`).

    chip: closed with the session. patience: cycles after which a run that has not ended raises ChipError.
    """

    backend = "rtl"

    def __init__(self, chip: CompiledChip, patience: int = 1 << 40, *, first: ChipBackend | None = None, cluster: int = 0):
        """first: the session with cluster 0, which makes those with the others."""
        config = chip.config
        super().__init__(config, Driver(config, cluster_chip(config, chip, cluster), circuit_digest(config)))
        self.chip, self.patience, self.cluster = chip, patience, cluster
        self._logs: _Logs = _Logs(chip) if first is None else first._logs
        others = range(1, config.seats) if first is None else ()
        self._beside = [ChipBackend(chip, patience, first=self, cluster=other) for other in others]

    @classmethod
    def open(cls, backend: str, config: Config, cycles: int) -> ChipBackend:
        """backend: rtl, or rtl?waves=FILE, which writes what `CompiledChip` calls waves, of WAVE_CYCLES cycles."""
        _, _, waves = backend.partition("?waves=")
        return cls(CompiledChip(config, quick=cycles < QUICK_CYCLES, waves=(Path(waves), WAVE_CYCLES) if waves else None))

    @property
    def places(self) -> Sequence[ChipBackend]:
        return [self, *self._beside]

    def close(self) -> None:
        self.chip.close()

    def settle(self) -> None:
        self._logs.take(self.cluster)

    def run_out(self, before: int, progress: Progress | None, pauses: Pauses | None) -> Steps[tuple[bytes, int | None]]:
        chip, start, step = self.chip, self.chip.cycles, 1000
        while not self._logs.ended(self.cluster):
            chip.advance(step)
            if self._logs.ended(self.cluster):
                break
            if progress or pauses:
                sweep = self.driver.get("sweep")[0]
                if progress:
                    progress(sweep)
                self.stop_if(pauses, sweep)
            if chip.cycles - start > self.patience:
                raise ChipError(f"the chip has not ended its run after {chip.cycles - start} cycles: build it again")
            step = min(2 * step, 1_000_000)
            yield
        simulated = chip.cycles - start
        return self._logs.take(self.cluster), simulated

    def bus_cycles(self) -> int | None:
        return self.chip.cycles


def run_placed(chip: CompiledChip, placement: Placement, progress: Progress | None = None, patience: int = 1 << 40) -> Result:
    """Load, run and read back one placed problem.

    patience: cycles after which a run that has not ended raises ChipError.
    """
    run = ChipRun(ChipBackend(chip, patience), placement, True, None, progress, None)
    run.advance()
    return run.result()
