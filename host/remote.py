"""A machine at the other end of a link, as a `Chip` for the driver and as a session that solves problems."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

import numpy as np

from mrfhw.config import Config
from mrfhw.host.links import Link, LinkError, open_link
from mrfhw.host.protocol import Operation, Status, segments
from mrfhw.host.requests import Greeting, Limits, Requests
from mrfhw.model.machine import histogram
from mrfhw.placement import Placement
from mrfhw.problem import Problem, Run
from mrfhw.registers import CONTROL_BITS
from mrfhw.result import Result
from mrfhw.runtime.driver import ChipError, Driver, transfer_cycles, unpack_lines
from mrfhw.runtime.progress import working

__all__ = ["RemoteChip", "RemoteSession", "connect"]

PAUSE = 0.02  # seconds between looks at a run that logs nothing


class RemoteChip:
    """The bus of a board as a `Chip` (mrfhw.runtime.driver)."""

    def __init__(self, requests: Requests):
        self.requests = requests

    def write(self, addresses: np.ndarray, data: np.ndarray) -> None:
        self._access(Operation.WRITE, addresses, data)

    def read(self, addresses: np.ndarray) -> np.ndarray:
        return self._access(Operation.READ, addresses, None)

    def _access(self, operation: Operation, addresses: np.ndarray, data: np.ndarray | None) -> np.ndarray:
        read, at = [], 0
        while at < len(addresses):
            # What an error makes smaller is cut anew.
            body, most = self.requests.words_of_request(), self.requests.words_of_response()
            window = slice(at, at + (1 << 16))
            for request in segments(addresses[window], most, body, int(data is not None)):
                words = [part for s in request
                         for part in ((s.words,) if data is None else (s.words, data[at + s.first - request[0].first:][:s.count]))]
                count = sum(segment.count for segment in request)
                frame = self.requests.request(operation, 0, np.concatenate(words), count if data is None else 0)
                if frame.status == Status.BUS_ERROR:
                    what = "write to" if data is not None else "read from"
                    raise ChipError(f"the chip refused a {what} {int(addresses[at + frame.value]):#x}: the address is not one of "
                                    "this chip's, or labels are being drawn")
                if data is None:
                    read.append(frame.words)
                at += count
                if (body, most) != (self.requests.words_of_request(), self.requests.words_of_response()):
                    break
        return np.concatenate(read).astype(np.uint32) if read else np.zeros(0, np.uint32)


@dataclass
class _Running:
    """A run on the board whose result is not here yet."""

    placement: Placement
    fresh: bool
    began: float
    log_began: int
    loading: float
    started: bool = False
    drained: bool = False


class RemoteSession:
    """A board that runs problem after problem (`mrfhw.runtime.windows.Session`). Use as a context manager; see `connect`."""

    def __init__(self, config: Config, open_: Callable[[], Link], limits: Limits | None = None):
        self.config, self._open, self._limits = config, open_, limits
        self._running: _Running | None = None
        self.requests = Requests(open_(), limits)
        try:
            self.driver = Driver(config, RemoteChip(self.requests))
            self.greeting = self._greet()
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> RemoteSession:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()

    def close(self) -> None:
        """Let the link go; the board stays as it is."""
        self.requests.link.close()

    def _greet(self) -> Greeting:
        greeting = self.requests.hello()
        self.driver.check()
        if greeting.line_bytes != self.config.line_bits // 8:
            raise ChipError(f"the board's log has lines of {8 * greeting.line_bytes} bits, not {self.config.line_bits}: give the "
                            "parameters that the chip was built with, or build it again")
        return greeting

    # -- a run

    def solve(self, problem: Problem, run: Run, *, fresh: bool = True, progress: Callable[[int], object] | None = None) -> Result:
        """Run a problem that fits. fresh: generators start from the run's seed, else where the last problem left them.

        progress: called with the number of finished sweeps. Result: as the model's, but for cycles and stalls, where the link
        did not take the log as fast as it came. Raises LinkError where the link breaks; after that see `resume`.
        """
        placement = Placement(self.config, problem, run)
        self._running = None
        self.settle()
        began = time.perf_counter()
        with working("loading the board"):
            self.driver.load(placement, generators=fresh)
        self.requests.begin_log(self.settle())
        self._running = _Running(placement, fresh, time.perf_counter(), self.requests.position, time.perf_counter() - began)
        return self._finish(progress)

    def resume(self, progress: Callable[[int], object] | None = None) -> Result:
        """After a LinkError: connect again, and go on with the run that the board was in. Nothing of its log is lost.

        Raises LinkError where no run was under way, and where the board has lost it.
        """
        running = self._running
        if running is None:
            raise LinkError("no run is under way on the board: solve the problem again")
        requests, old = Requests(self._open_again(), self._limits), self.requests
        self.requests = requests
        self.driver = Driver(self.config, RemoteChip(requests))
        self.greeting = self._greet()
        held = (self.greeting.reached - self.greeting.freed) % (1 << 32)
        if (old.position - self.greeting.freed) % (1 << 32) > held:
            self._running = None
            raise LinkError("the board has another log than the run's: it was started again or used by another program: "
                            "solve the problem again")
        requests.log, requests.position, requests.ended = old.log, old.position, old.position
        requests.follow_log()
        return self._finish(progress)

    def _open_again(self) -> Link:
        self.requests.link.close()
        return self._open()

    def settle(self) -> int:
        """End what an earlier program left running and drop its log; the position from which a new log will come."""
        requests, driver = self.requests, self.driver
        if driver.busy:
            driver.set(control=1 << CONTROL_BITS["stop"])
        while True:
            busy = driver.busy
            greeting = requests.hello()
            requests.begin_log(greeting.reached)
            requests.credit()
            if not busy and not greeting.behind:
                requests.begin_log(requests.ended)
                return requests.position

    def _finish(self, progress: Callable[[int], object] | None) -> Result:
        running, driver = self._running, self.driver
        assert running is not None
        placement = running.placement
        if not running.started:
            # A start whose answer was lost has been carried out if there is log or labels are being drawn.
            if not (driver.busy or self.requests.credit()):
                driver.start()
            running.started = True
        if not running.drained:
            self._drain(placement, progress)
            running.drained = True
        wall = time.perf_counter() - running.began
        if progress:
            progress(placement.run.sweeps)
        reading = time.perf_counter()
        with working("reading the board"):
            lmem = driver.lmem(placement)
        result = self._result(running, lmem, wall)
        result.extra |= {"loading_seconds": running.loading, "reading_seconds": time.perf_counter() - reading,
                         "repeated_requests": self.requests.repeated, "damaged_frames": self.requests.damaged}
        self._running = None
        return result

    def _drain(self, placement: Placement, progress: Callable[[int], object] | None) -> None:
        """Take the log until the machine is done and all of it is here."""
        requests, sweeps = self.requests, -1
        while True:
            status, sweep, lines = self.driver.get("status", "sweep", "lines")
            if progress and sweep != sweeps:
                progress(sweep)
            sweeps = sweep
            requests.credit()
            if not status and len(requests.log) >= lines * self.config.line_bits // 8:
                return
            # Every piece of log is answered with a credit; between looks at the registers there may be several.
            until = requests.link.clock() + 10 * PAUSE
            while requests.listen(max(PAUSE, requests.pause)) and requests.link.clock() < until:
                requests.credit()

    def _result(self, running: _Running, lmem: np.ndarray, wall: float) -> Result:
        config, placement = self.config, running.placement
        problem, run = placement.problem, placement.run
        lines = np.frombuffer(bytes(self.requests.log), np.uint8)
        whole = len(lines) - len(lines) % (config.line_bits // 8)
        messages = unpack_lines(config, lines[:whole].copy())
        cycles, stalls, gaps, label_cycles, sent, sent_lines = self.driver.get(
            "cycles", "stall_cycles", "gap_cycles", "label_cycles", "messages", "lines")
        if whole != len(lines) or sent != len(messages) or sent_lines * config.line_bits // 8 != whole:
            raise ChipError(f"the board sent {sent} messages in {sent_lines} lines; {len(messages)} in {len(lines)} bytes are "
                            "here: solve the problem again")
        if len(messages) and (messages[:, :2].max(0) >= (problem.sites, problem.labels)).any():
            raise ChipError(f"the log names site {messages[:, 0].max()} and label {messages[:, 1].max()}; the problem has "
                            f"{problem.sites} sites and {problem.labels} labels: build the chip again")
        loading, reading = transfer_cycles(placement, running.fresh)
        return Result(
            backend="board", counts=histogram(problem.labels, messages, lmem), last=lmem[..., 0].astype(np.uint8), lmem=lmem,
            initial=placement.initial, label_evaluations=problem.labels * problem.unclamped_sites * run.sweeps, wall_seconds=wall,
            messages=messages, cycles=cycles, stall_cycles=stalls, gap_cycles=gaps, lanes=config.lanes,
            extra={"replication": placement.replication, "loading_cycles": loading, "reading_cycles": reading,
                   "label_cycles": label_cycles, "messages_counted": sent})


def connect(address: str, config: Config, limits: Limits | None = None) -> RemoteSession:
    """A session with the board at `address`: serial:///dev/ttyUSB0?baud=3000000, tcp://HOST:PORT or sim://.

    config: the machine that the board was built with; another one is refused. sim:// compiles it and runs it in this process.
    Raises LinkError or ChipError in one line.
    """
    return RemoteSession(config, lambda: open_link(address, config), limits)
