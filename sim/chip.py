"""The compiled chip as a backend, driven through its own bus and log as hardware would be."""

from __future__ import annotations

import ctypes
import time
from collections.abc import Callable
from types import TracebackType

import numpy as np

from mrfhw.config import Config
from mrfhw.placement import Placement
from mrfhw.problem import Problem, Run
from mrfhw.result import Result
from mrfhw.runtime.driver import ChipError, Driver
from mrfhw.runtime.progress import working
from mrfhw.runtime.readout import read_result
from mrfhw.sim.compiled import compile_chip

__all__ = ["ChipSession", "CompiledChip", "run_placed", "solve"]

# Below this many cycles a 16x2 machine is compiled and run sooner in the quick way.
QUICK_CYCLES = 5_000_000

_WORDS = np.ctypeslib.ndpointer(np.uint32, flags="C_CONTIGUOUS")
_BYTES = np.ctypeslib.ndpointer(np.uint8, flags="C_CONTIGUOUS")
_SIGNATURES: dict[str, tuple[object, list[object]]] = {
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


class CompiledChip:
    """A `Chip` (mrfhw.runtime.driver) in this process. Use as a context manager.

    log_ready: share of cycles in which the log is taken, (n of 256, seed). quick: see `compile_chip`.
    """

    def __init__(self, config: Config, log_ready: tuple[int, int] = (256, 0), quick: bool = False):
        self.config = config
        self._library = ctypes.CDLL(str(compile_chip(config, quick)))
        for name, (result, arguments) in _SIGNATURES.items():
            function = getattr(self._library, name)
            function.restype, function.argtypes = result, arguments
        self._chip: int | None = self._library.chip_new(config.line_bits // 8)
        self._library.chip_log_ready(self._chip, *log_ready)

    def __enter__(self) -> CompiledChip:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        if self._chip is not None:
            self._library.chip_delete(self._chip)
            self._chip = None

    def write(self, addresses: np.ndarray, data: np.ndarray) -> None:
        done = self._library.chip_write(self._chip, addresses, data, len(addresses))
        if done != len(addresses):
            raise ChipError(f"the chip refused a write to {int(addresses[done]):#x}: the address is not one of this chip's, "
                            "or labels are being drawn")

    def read(self, addresses: np.ndarray) -> np.ndarray:
        data = np.zeros(len(addresses), np.uint32)
        done = self._library.chip_read(self._chip, addresses, data, len(addresses))
        if done != len(addresses):
            raise ChipError(f"the chip refused a read from {int(addresses[done]):#x}: the address is not one of this chip's, "
                            "or labels are being drawn")
        return data

    def advance(self, cycles: int) -> bool:
        """Let the chip run at most `cycles` cycles; True when the log's last line has come."""
        return bool(self._library.chip_run(self._chip, cycles))

    @property
    def cycles(self) -> int:
        """Cycles since the chip was made, loading and reading included."""
        return int(self._library.chip_cycles(self._chip))

    def take_log(self) -> np.ndarray:
        """(n, line_bits / 8) uint8: the lines since the last call."""
        out = np.zeros(self._library.chip_log_bytes(self._chip), np.uint8)
        self._library.chip_log(self._chip, out)
        self._library.chip_clear_log(self._chip)
        return out.reshape(-1, self.config.line_bits // 8)


def run_placed(chip: CompiledChip, placement: Placement, progress: Callable[[int], object] | None = None,
               patience: int = 1 << 40, fresh: bool = True) -> Result:
    """Load, run and read back one placed problem.

    patience: cycles after which a run that has not ended raises ChipError. fresh: load the generators from the
    run's seed; else they go on where the last run left them.
    """
    driver = Driver(placement.config, chip)
    driver.check()
    chip.take_log()
    loading = chip.cycles
    with working("loading the chip"):
        driver.load(placement, generators=fresh)
    loading = chip.cycles - loading
    began, start = time.perf_counter(), chip.cycles
    driver.start()
    step = 1000
    while not chip.advance(step):
        if progress:
            progress(driver.get("sweep")[0])
        if chip.cycles - start > patience:
            raise ChipError(f"the chip has not ended its run after {chip.cycles - start} cycles: build it again")
        step = min(2 * step, 1_000_000)
    wall, simulated = time.perf_counter() - began, chip.cycles - start
    if progress:
        progress(placement.run.sweeps)
    log = chip.take_log().tobytes()
    reading = chip.cycles
    with working("reading the chip"):
        lmem = driver.lmem(placement)
    reading = chip.cycles - reading
    result = read_result(driver.counters(), placement, log, lmem, wall=wall, fresh=fresh, backend="rtl")
    result.extra |= {"simulated_cycles": simulated, "loading_cycles": loading, "reading_cycles": reading}
    return result


class ChipSession:
    """One compiled chip that runs problem after problem (`mrfhw.runtime.windows.Session`). Use as a context manager."""

    def __init__(self, config: Config, quick: bool = False):
        self.config = config
        self._chip = CompiledChip(config, quick=quick)

    def __enter__(self) -> ChipSession:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._chip.close()

    def solve(self, problem: Problem, run: Run, *, fresh: bool = True) -> Result:
        return run_placed(self._chip, Placement(self.config, problem, run), fresh=fresh)


def solve(config: Config, problem: Problem, run: Run, progress: Callable[[int], object] | None = None,
          log_ready: tuple[int, int] = (256, 0)) -> Result:
    """Run `problem` on the compiled chip of `config`. progress is called with the number of sweeps done.

    A short run is compiled in the quick way.
    """
    placement = Placement(config, problem, run)
    with CompiledChip(config, log_ready, quick=is_short(config, problem, run)) as chip:
        return run_placed(chip, placement, progress)


def is_short(config: Config, problem: Problem, run: Run) -> bool:
    """Whether a chip that is compiled sooner and runs slower is done sooner."""
    return run.sweeps * problem.sites * config.interval(problem.labels) < QUICK_CYCLES * config.lanes
