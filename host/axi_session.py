"""Problems on a machine in a system on chip: its registers, and its log in memory or from a stream.

Only a `Chip` over the machine's AXI4-Lite port and a view of the log's memory differ from one system to the next.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from mrfhw.config import Config
from mrfhw.log_registers import LOG_REGISTERS, LOG_STATUS_BITS, LogTarget
from mrfhw.placement import Placement
from mrfhw.problem import Problem, Run
from mrfhw.registers import CONTROL_BITS
from mrfhw.result import Result
from mrfhw.runtime.driver import Chip, ChipError, Driver
from mrfhw.runtime.progress import working
from mrfhw.runtime.readout import read_result

__all__ = ["AxiSession", "LogControl", "LogMemoryView", "LogSource", "RingLog", "StreamLog"]

POSITIONS = 1 << 32  # log positions are counted modulo this; a register's values
PAUSE = 0.0005  # seconds between looks at a log that has not grown
PATIENCE = 20.0  # seconds in which neither the run nor its log goes on


class LogMemoryView(Protocol):
    """The ring as the host sees it."""

    def read(self, offset: int, count: int) -> Any:
        """`count` bytes from `offset` bytes after the ring's base, as memory has them now; never beyond its end."""


class LogSource(Protocol):
    """Where a log comes from. The positions of `take` and of the machine's register `lines` are the session's to compare."""

    def open(self) -> None:
        """Have the machine send its log here; what came before is dropped. The machine is idle, its log empty."""

    def take(self) -> bytes:
        """The bytes that came since the last call; the machine may use their place again."""

    def discard(self) -> None:
        """Drop what a run that was given up still sends."""


class LogControl:
    """The log registers of a chip, by name (mrfhw.log_registers)."""

    def __init__(self, chip: Chip):
        self.chip = chip

    def get(self, *names: str) -> list[int]:
        found = self.chip.read(np.array([LOG_REGISTERS[n].index for n in names], np.uint32))
        return [int(word) for word in found]

    def set(self, **values: int) -> None:
        """Write registers, in order."""
        self.chip.write(np.array([LOG_REGISTERS[n].index for n in values], np.uint32), np.array(list(values.values()), np.uint32))

    def empty(self) -> bool:
        return bool(self.get("log_status")[0] >> LOG_STATUS_BITS["empty"] & 1)


class RingLog:
    """The log in memory that the machine writes and the host reads.

    memory: a `LogMemoryView`, or the ring's bytes as a one-dimensional uint8 array. base: the ring's address, as the machine's
    memory port sees it. size: its bytes; the machine waits while a ring is full.
    """

    def __init__(self, chip: Chip, memory: LogMemoryView | np.ndarray, base: int, size: int):
        self.control, self.memory, self.base, self.size = LogControl(chip), memory, base, size
        self.position = 0  # bytes since the ring was set, of which the host has all

    def open(self) -> None:
        """Raises ChipError for a ring that the machine cannot have."""
        control = self.control
        # What the base's registers keep of all ones is the last block that the memory port reaches.
        control.set(log_size=0, log_base_low=POSITIONS - 1, log_base_high=POSITIONS - 1)
        block, low, high = control.get("log_block", "log_base_low", "log_base_high")
        limit = (high * POSITIONS | low) + block
        most = min(limit, POSITIONS - block)
        for name, value, first, last in (("base", self.base, 0, limit - self.size), ("size", self.size, block, most)):
            if not first <= value <= last or value % block:
                raise ChipError(f"{name} is {value:#x}; this machine's log ring has {block:#x} to {most:#x} bytes below "
                                f"{limit:#x}, and begins and ends at multiples of {block:#x}: give another {name}")
        if isinstance(self.memory, np.ndarray) and (self.memory.dtype != np.uint8 or self.memory.shape != (self.size,)):
            raise ChipError(f"memory is {self.memory.dtype} of shape {self.memory.shape}; the ring is {self.size} bytes: give a "
                            "uint8 array of that size")
        # Size last: from then on the machine writes.
        control.set(log_base_low=self.base % POSITIONS, log_base_high=self.base // POSITIONS, log_size=self.size,
                    log_target=LogTarget.MEMORY)
        self.position = 0

    def take(self) -> bytes:
        status, written = self.control.get("log_status", "log_written")
        if status >> LOG_STATUS_BITS["error"] & 1:
            raise ChipError(f"memory refused the log: give a ring, at {self.base:#x} now, that the machine may write")
        count = (written - self.position) % POSITIONS
        if count > self.size:
            raise ChipError("the machine's log is not where this program has left it: another program uses the machine")
        pieces, at = [], self.position % self.size
        for offset, length in ((at, min(count, self.size - at)), (0, count - min(count, self.size - at))):
            if length:
                pieces.append(self._read(offset, length))
        self.position += count
        if count:
            self.control.set(log_freed=written)
        return b"".join(pieces)

    def discard(self) -> None:
        self.control.set(log_freed=self.control.get("log_written")[0])

    def _read(self, offset: int, count: int) -> bytes:
        if isinstance(self.memory, np.ndarray):
            return self.memory[offset:offset + count].tobytes()
        return bytes(self.memory.read(offset, count))


class StreamLog:
    """The log from the AXI4-Stream port. receive: gives the bytes that came since it was called last."""

    def __init__(self, chip: Chip, receive: Callable[[], bytes]):
        self.control, self.receive = LogControl(chip), receive

    def open(self) -> None:
        self.control.set(log_target=LogTarget.STREAM)
        self.discard()

    def take(self) -> bytes:
        return bytes(self.receive())

    def discard(self) -> None:
        self.receive()


class AxiSession:
    """A machine in a system on chip that runs problem after problem (`mrfhw.runtime.windows.Session`).

    chip: its registers. log: `RingLog` or `StreamLog`. What an earlier program left running is stopped and its log dropped.
    pause: seconds between looks at a log that has not grown. patience: seconds in which neither run nor log goes on, after which
    a run is given up.
    Raises ChipError in one line: another machine, a ring it does not have, memory that refuses the log, a run that does not end.
    """

    def __init__(self, config: Config, chip: Chip, log: LogSource, pause: float = PAUSE, patience: float = PATIENCE):
        self.config, self.log, self.pause, self.patience = config, log, pause, patience
        self.driver, self.control = Driver(config, chip), LogControl(chip)
        self.driver.check()
        self.settle()

    def settle(self) -> None:
        """End what was left running, drop its log, and have the next one come from the beginning."""
        if self.driver.busy:
            self.driver.set(control=1 << CONTROL_BITS["stop"])
        if self.control.empty():
            # A run may be waiting for a ring.
            self.log.open()
        watch = _Watch(self.patience)
        while True:
            busy = self.driver.busy
            written, lines = self.control.get("log_written")[0], self.driver.get("lines")[0]
            # The earlier log may go where this one does not.
            self.control.set(log_freed=written)
            self.log.discard()
            if not busy and self.control.empty():
                break
            if watch.stuck((busy, written, lines)):
                raise ChipError("an earlier run does not end: reset the machine")
            time.sleep(self.pause)
        self.log.open()

    def solve(self, problem: Problem, run: Run, *, fresh: bool = True, progress: Callable[[int], object] | None = None) -> Result:
        """Run a problem that fits. fresh: generators start from the run's seed, else where the last problem left them.

        progress: called with the number of finished sweeps. Result: the model's, but for cycles and stalls where the log was
        not taken as fast as it came.
        """
        placement = Placement(self.config, problem, run)
        self.settle()
        began = time.perf_counter()
        with working("loading the machine"):
            self.driver.load(placement, generators=fresh)
        started = time.perf_counter()
        self.driver.start()
        log = self._drain(progress)
        ended = time.perf_counter()
        with working("reading the machine"):
            lmem = self.driver.lmem(placement)
        result = read_result(self.driver.counters(), placement, log, lmem, wall=ended - started, fresh=fresh)
        result.extra |= {"loading_seconds": started - began, "reading_seconds": time.perf_counter() - ended}
        return result

    def _drain(self, progress: Callable[[int], object] | None) -> bytearray:
        """The log of the run under way, to its end."""
        log, last, line_bytes = bytearray(), -1, self.config.line_bits // 8
        watch = _Watch(self.patience)
        while True:
            # Registers first: a log that is long enough then is whole.
            status, sweep, lines = self.driver.get("status", "sweep", "lines")
            piece = self.log.take()
            log += piece
            if progress and sweep != last:
                progress(sweep)
            last = sweep
            if not status and len(log) >= lines * line_bytes:
                return log
            if watch.stuck((status, sweep, lines, len(log))):
                raise ChipError(f"the run has stopped at sweep {sweep} with {len(log)} of {lines * line_bytes} bytes of log here: "
                                "reset the machine")
            if not piece:
                time.sleep(self.pause)


class _Watch:
    """Tells a run that goes on from one that does not."""

    def __init__(self, patience: float):
        self.patience, self._since = patience, time.monotonic()
        self._state: tuple[int, ...] = ()

    def stuck(self, state: tuple[int, ...]) -> bool:
        now = time.monotonic()
        if state != self._state:
            self._state, self._since = state, now
        return now - self._since > self.patience
