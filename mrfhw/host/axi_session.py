"""Problems on a machine in a system on chip: its registers, and its log in memory or from a stream.

Only a `Chip` over the machine's AXI4-Lite port and a view of the log's memory differ from one system to the next.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, Protocol

import numpy as np

from mrfhw.backends.backend import Pauses, Progress, Steps
from mrfhw.backends.chip_run import DrivenBackend
from mrfhw.driver.driver import Chip, ChipError, Driver
from mrfhw.host.circuits import digest_of
from mrfhw.host.watch import Watch
from mrfhw.machine.config import Config
from mrfhw.machine.link_protocol import POSITIONS
from mrfhw.machine.log_registers import LOG_REGISTERS, LOG_STATUS_BITS, LogTarget
from mrfhw.machine.registers import CONTROL_BITS

__all__ = ["AxiSession", "LogControl", "LogMemoryView", "LogSource", "RingLog", "StreamLog"]

PAUSE = 0.0005  # seconds between looks at a log that has not grown
PATIENCE = 20.0  # seconds without progress of the run or its log


class LogMemoryView(Protocol):
    """The ring as the host sees it."""

    def read(self, offset: int, count: int) -> Any:
        """`count` bytes from `offset` bytes after the ring's base, as memory has them now; never beyond its end."""


class LogSource(Protocol):
    """A source of the log. The session compares the number of bytes from `take` with the machine's register `lines`."""

    def open(self) -> None:
        """Direct the machine's log to this source and drop earlier bytes. The machine must be idle and its log empty."""

    def take(self) -> bytes:
        """The bytes that came since the last call; the machine may use their place again."""

    def discard(self) -> None:
        """Drop the log that an abandoned run still sends."""


class LogControl:
    """The log registers of a chip, by name (mrfhw.machine.log_registers)."""

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

    memory: a `LogMemoryView`, or the ring's bytes as a one-dimensional uint8 array.
    base: the ring's address, as the machine's memory port sees it.
    size: its bytes; the machine waits while a ring is full.
    """

    def __init__(self, chip: Chip, memory: LogMemoryView | np.ndarray, base: int, size: int):
        self.control, self.memory, self.base, self.size = LogControl(chip), memory, base, size
        self.position = 0  # bytes that the host has read since the ring was set

    def open(self) -> None:
        """Raises ChipError for a ring that the machine cannot have."""
        control = self.control
        # All ones are written to the base's registers; they read back as the last block that the memory port can address.
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
        # Size is written last, because the machine writes from then on.
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


class AxiSession(DrivenBackend):
    """A machine in a system on chip that runs problem after problem (`mrfhw.backends.backend.Backend`).

    chip: its registers.
    log: `RingLog` or `StreamLog`. What an earlier program left running is stopped and its log dropped.
    pause: seconds between looks at a log that has not grown.
    patience: seconds without progress of run and log, after which a run is given up.
    digest: of the machine's circuit; None for `mrfhw.host.circuits.digest_of` it.
    Raises ChipError in one line: another machine, a ring it does not have, memory that refuses the log, a run that does not end.
    """

    def __init__(self, config: Config, chip: Chip, log: LogSource, pause: float = PAUSE, patience: float = PATIENCE,
                 digest: str | None = None):
        super().__init__(config, Driver(config, chip, digest or digest_of(config)))
        self.log, self.pause, self.patience, self.control = log, pause, patience, LogControl(chip)
        self.driver.check()
        self.settle()

    def settle(self) -> None:
        """End a run that an earlier program left running, drop its log, and start the next log at its beginning."""
        if self.driver.busy:
            self.driver.set(control=1 << CONTROL_BITS["stop"])
        if self.control.empty():
            # A run may be waiting for a ring.
            self.log.open()
        watch = Watch(self.patience)
        while True:
            busy = self.driver.busy
            written, lines = self.control.get("log_written")[0], self.driver.get("lines")[0]
            # The earlier log may go where this one does not.
            self.control.set(log_freed=written)
            self.log.discard()
            if not busy and self.control.empty():
                break
            if watch.stuck(busy, written, lines):
                raise ChipError("an earlier run does not end: reset the machine")
            time.sleep(self.pause)
        self.log.open()

    def run_out(self, before: int, progress: Progress | None, pauses: Pauses | None) -> Steps[tuple[bytes, int | None]]:
        log, last, line_bytes = bytearray(), -1, self.config.line_bits // 8
        watch = Watch(self.patience)
        while True:
            # The registers are read first: if the log is long enough after that, it is complete.
            status, sweep, lines = self.driver.get("status", "sweep", "lines")
            piece = self.log.take()
            log += piece
            if progress and sweep != last:
                progress(sweep)
            last = sweep
            if pauses:
                self.stop_if(pauses, sweep)
            if not status and len(log) >= (lines - before) * line_bytes:
                return bytes(log), None
            if watch.stuck(status, sweep, lines, len(log)):
                raise ChipError(f"the run has stopped at sweep {sweep} with {len(log)} of {(lines - before) * line_bytes} bytes of "
                                "log here: reset the machine")
            if not piece:
                time.sleep(self.pause)
            yield
