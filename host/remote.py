"""A machine at the other end of a link, as a `Chip` for the driver and as a session that solves problems."""

from __future__ import annotations

import dataclasses
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from types import TracebackType

import numpy as np

from mrfhw.config import Config
from mrfhw.host.links import Address, Link, LinkError, open_link
from mrfhw.host.protocol import Operation, Status, segments
from mrfhw.host.reconnecting import Reconnecting
from mrfhw.host.requests import Greeting, Limits, Requests
from mrfhw.placement import Placement
from mrfhw.problem import Problem, Run
from mrfhw.registers import CONTROL_BITS
from mrfhw.result import Result
from mrfhw.runtime.driver import ChipError, Driver
from mrfhw.runtime.progress import working
from mrfhw.runtime.readout import read_result

__all__ = ["RemoteChip", "RemoteRun", "RemoteSession", "connect"]

SHORT, LONG = 0.001, 0.2  # seconds between looks at a run, at first and at most
QUIET, PAUSE = 0.005, 0.02  # where no log comes, at first and at most


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
                elif self.requests.credit_due:
                    # The wires of the two directions are two: log comes while data go.
                    self.requests.credit()
                at += count
                if (body, most) != (self.requests.words_of_request(), self.requests.words_of_response()):
                    break
        return np.concatenate(read).astype(np.uint32) if read else np.zeros(0, np.uint32)


@dataclass(eq=False)
class RemoteRun:
    """A run on a board: what of it is done, and what has come back of it. Its log may come while the next problem is loaded.

    counters: what the chip counted, once labels are no longer drawn. log: its lines, once all are here.
    """

    session: RemoteSession
    placement: Placement
    fresh: bool
    progress: Callable[[int], object] | None
    loading: float = 0.0
    reading: float = 0.0
    wall: float = 0.0
    loaded: bool = False
    started: bool = False
    counters: dict[str, int] | None = None
    lmem: np.ndarray | None = None
    log: bytes | None = None

    @property
    def log_bytes(self) -> int:
        assert self.counters is not None
        return self.counters["lines"] * self.placement.config.line_bits // 8

    @property
    def last(self) -> np.ndarray:
        """(H, W) uint8, the last sample."""
        assert self.lmem is not None
        return self.lmem[..., 0].astype(np.uint8)

    def result(self) -> Result:
        """Of the whole run, when its log is here. Raises LinkError as `RemoteSession.solve` does."""
        return self.session.finish(self)


class RemoteSession:
    """A board that runs problem after problem (`mrfhw.runtime.windows.Session`). Use as a context manager; see `connect`."""

    def __init__(self, config: Config, open_: Callable[[], Link], limits: Limits | None = None):
        self.config, limits = config, limits or Limits()
        self._running: RemoteRun | None = None
        self._unread: deque[RemoteRun] = deque()  # runs that are over and whose log is not here, in order
        self._idle = False  # no labels are being drawn, and all log is that of _unread
        self._told: dict[str, int] = {}  # totals up to the last result
        self._link = Reconnecting(open_, limits.reconnect)
        self.requests = Requests(self._link, limits)
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
        did not take the log as fast as it came; extra has the repeated requests, damaged frames and reconnections since the
        last result. Raises LinkError where the link is gone for longer than `Limits.reconnect`; after that see `resume`.
        """
        self._running = RemoteRun(self, Placement(self.config, problem, run), fresh, progress)
        self._advance(self._running)
        return self.finish(self._running)

    def begin(self, problem: Problem, run: Run, *, fresh: bool = True, progress: Callable[[int], object] | None = None
              ) -> RemoteRun:
        """The same up to the last sample; the log comes while the next problem is loaded, at the latest with `result`."""
        self._running = RemoteRun(self, Placement(self.config, problem, run), fresh, progress)
        self._advance(self._running)
        return self._running

    def resume(self) -> Result:
        """After a LinkError: connect again, and go on with the run that the board was in. Nothing is lost, nothing done twice.

        Raises LinkError where no run was under way, and where the board has lost it.
        """
        if self._running is None:
            raise LinkError("no run is under way on the board", "solve the problem again")
        self._link.reopen()
        self.requests.complete()
        self._advance(self._running)
        return self.finish(self._running)

    def settle(self) -> int:
        """End what an earlier program left running and drop its log; the position from which a new log will come."""
        requests, driver = self.requests, self.driver
        self._unread.clear()
        requests.hello()
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

    def _advance(self, run: RemoteRun) -> None:
        """Do what is left of a run up to its LMem. After a LinkError it may be called again."""
        driver = self.driver
        if not run.loaded:
            began = time.perf_counter()
            if run.fresh or not self._idle:
                # The board may hold anything. Else all of its log is accounted for, though it need not be here.
                while self._unread:
                    self._take()
                self.settle()
                self._idle = True
            with working("loading the board"):
                driver.load(run.placement, generators=run.fresh)
            run.loaded, run.loading = True, time.perf_counter() - began
        if not run.started:
            # A start that a LinkError cuts off is completed before the run goes on.
            self._idle, run.started = False, True
            driver.start()
        if run.counters is None:
            self._wait(run)
        if run.lmem is None:
            began = time.perf_counter()
            with working("reading the board"):
                run.lmem = driver.lmem(run.placement)
            run.reading = time.perf_counter() - began

    def _wait(self, run: RemoteRun) -> None:
        """Take log until labels are no longer drawn, then the counters."""
        began, sweeps, seconds, quiet = time.perf_counter(), -1, SHORT, SHORT
        while True:
            busy, sweep = self.driver.get("status", "sweep")
            if run.progress and sweep != sweeps:
                run.progress(sweep)
            sweeps = sweep
            if not busy:
                break
            came = self._listen(seconds, quiet)
            seconds, quiet = min(2 * seconds, LONG), QUIET if came else min(2 * quiet, PAUSE)
        run.counters = self.driver.counters()
        self._idle = True
        self._unread.append(run)
        run.wall = time.perf_counter() - began

    def _listen(self, seconds: float, quiet: float) -> bool:
        """Take log for some seconds, or until none has come for `quiet`; whether some came."""
        requests, came = self.requests, False
        requests.credit()
        until = requests.link.clock() + seconds
        while (left := until - requests.link.clock()) > 0 and requests.listen(min(left, quiet)):
            came = True
            if requests.credit_due:
                requests.credit()
        return came

    def _take(self) -> None:
        """All of the log of the first run whose log is not here."""
        run, requests = self._unread[0], self.requests
        began, heard = time.perf_counter(), requests.link.clock()
        while (log := requests.take_log(run.log_bytes)) is None:
            if requests.credit_due or requests.link.clock() > heard:
                requests.credit()
            while requests.listen(PAUSE):
                heard = requests.link.clock()
                if requests.credit_due or len(requests.log) >= run.log_bytes:
                    break
            if requests.link.clock() - heard > 2 * requests.limits.silence:
                raise LinkError(f"the board at {requests.link.name} counts {run.log_bytes} bytes of log; {len(requests.log)} are "
                                f"here, and none has come within {2 * requests.limits.silence:g} s", "solve the problem again")
        run.log, run.wall = log, run.wall + time.perf_counter() - began
        self._unread.popleft()

    def finish(self, run: RemoteRun) -> Result:
        """The result of a run that was begun, taking the logs of those before it as well."""
        while run.log is None:
            if run not in self._unread:
                raise LinkError("the log of this run was dropped", "solve the problem again")
            self._take()
        if run.progress:
            run.progress(run.placement.run.sweeps)
        assert run.counters is not None
        assert run.lmem is not None
        result = read_result(run.counters, run.placement, run.log, run.lmem, wall=run.wall, fresh=run.fresh)
        totals = {"repeated_requests": self.requests.repeated, "damaged_frames": self.requests.damaged,
                  "reconnections": self._link.reconnections}
        result.extra |= {"loading_seconds": run.loading, "reading_seconds": run.reading}
        result.extra |= {name: count - self._told.get(name, 0) for name, count in totals.items()}
        self._told = totals
        if self._running is run:
            self._running = None
        return result


def connect(address: str, config: Config, limits: Limits | None = None) -> RemoteSession:
    """A session with the board at `address`: serial:///dev/ttyUSB0?baud=3000000, tcp://HOST:PORT or sim://.

    config: the machine that the board was built with; another one is refused. sim:// compiles it and runs it in this process.
    reconnect=SECONDS after the address's question mark is Limits.reconnect.
    Raises LinkError or ChipError in one line.
    """
    limits, seconds = limits or Limits(), Address.of(address).reconnect
    if seconds is not None:
        limits = dataclasses.replace(limits, reconnect=seconds)
    return RemoteSession(config, lambda: open_link(address, config), limits)
