"""A machine at the other end of a link, as a session that solves problems."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from mrfhw.backends.backend import Backend, Fresh, Observe, Pauses, Progress, Steps, at_once
from mrfhw.driver.clusters import SplitLog, cluster_chip
from mrfhw.driver.driver import ChipError, Driver, is_busy
from mrfhw.driver.readout import Done, carried, check_counters, check_sweep, most_lines, read_result
from mrfhw.field.problem import Problem, Run
from mrfhw.field.result import Result
from mrfhw.field.state import RunState
from mrfhw.host.circuits import digest_of
from mrfhw.host.identity import machine_at
from mrfhw.host.links import Link, LinkError, open_link
from mrfhw.host.reconnecting import Reconnecting, link_limits
from mrfhw.host.remote_chip import RemoteChip
from mrfhw.host.requests import Limits, Requests
from mrfhw.host.watch import Watch
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.entry_sums import sums_of_entries
from mrfhw.machine.link_pace import LONG, PAUSE, QUIET, SHORT
from mrfhw.machine.link_protocol import POSITIONS
from mrfhw.machine.registers import CONTROL_BITS
from mrfhw.machine.words import log_message
from mrfhw.placement.placement import Placement, place
from mrfhw.system.progress import working

__all__ = ["RemoteBackend", "RemoteRun", "connect"]


@dataclass(eq=False)
class RemoteRun:
    """A run on a board, its progress, and the data that have arrived from it. Its log may arrive while the next problem is loaded.

    See `mrfhw.backends.backend.ActiveRun`. sweeps: finished sweeps. baseline: the counters when this board began or continued it.
    counters: the chip's counters at its end or pause. taken: lines of the log up to the previous pause; log: the bytes since then,
    once all have arrived. past: (H, W) int64, of a run of sums those that LMem does not hold; uncleared: the labels (H, W) with
    which it is to be written where it can hold no larger ones.
    """

    session: RemoteBackend
    placement: Placement
    fresh: Fresh
    progress: Callable[[int], object] | None
    before: RunState | None = None
    pauses: Pauses | None = None
    sweeps: int = 0
    baseline: dict[str, int] | None = None
    taken: bytes = b""
    pieces: int = 0
    loading: float = 0.0
    loading_cycles: int = 0
    reading: float = 0.0
    wall: float = 0.0
    loaded: bool = False
    started: bool = False
    counters: dict[str, int] | None = None
    lmem: np.ndarray | None = None
    log: bytes | None = None
    past: np.ndarray | None = None
    uncleared: np.ndarray | None = None

    @property
    def end(self) -> int:
        """The sweep at which the run pauses or ends."""
        end = self.placement.piece_end(self.sweeps)
        return end if self.pauses is None else self.pauses.limit(end)

    @property
    def full(self) -> bool:
        """Whether it has stopped for its sums to be cleared, and for nothing else."""
        due = self.pauses is not None and self.pauses.now(self.sweeps)
        return self.placement.sums_end(self.sweeps) and not self.finished and not due

    def go_on(self) -> None:
        """Prepare the next piece of the run, when LMem and log of this one are here."""
        assert self.log is not None
        assert self.lmem is not None
        if self.placement.sums_end(self.sweeps):
            sums = sums_of_entries(self.placement.config, self.lmem)
            self.past, self.uncleared = sums if self.past is None else self.past + sums, self.lmem[..., 0]
        self.taken, self.log = self.taken + self.log, None
        self.counters, self.lmem, self.started = None, None, False

    @property
    def log_bytes(self) -> int:
        """Bytes of log of this piece of the run."""
        assert self.counters is not None
        return self.counted["lines"] * self.placement.config.line_bits // 8 - len(self.taken)

    @property
    def counted(self) -> dict[str, int]:
        """The chip's counts for this run alone."""
        assert self.counters is not None
        return {name: count - (self.baseline or {}).get(name, 0) for name, count in self.counters.items()}

    @property
    def done(self) -> Done:
        """The part of the run that this board did."""
        return Done(0 if self.before is None else self.before.sweeps, self.sweeps, self.pieces)

    @property
    def finished(self) -> bool:
        return self.sweeps >= self.placement.run.sweeps

    @property
    def most_log_bytes(self) -> int:
        """The most bytes that its log can have."""
        return most_lines(self.placement) * self.placement.config.line_bits // 8

    @property
    def last(self) -> np.ndarray:
        """(H, W) uint8, the last sample."""
        assert self.lmem is not None
        return self.lmem[..., 0].astype(np.uint8)

    def advance(self) -> None:
        """To the next pause or the end. Raises LinkError as `RemoteBackend.prepare` says."""
        at_once(self.session.go_on(self))

    def steps(self) -> Iterator[None]:
        return self.session.go_on(self)

    def state(self, counted: bool = True) -> RunState:
        """The state of the run; waits until its log has arrived. Raises LinkError."""
        state = RunState(sweeps=self.sweeps, so_far=self.session.read(self), generators=self.session.driver.generators())
        return state if counted else state.uncounted()

    def result(self) -> Result:
        """The result of the whole run; waits until its log has arrived. Raises LinkError as `RemoteBackend.prepare` says."""
        return self.session.finish(self)


class _Board:
    """What the sessions with a board's clusters share: its link, and its log, taken apart.

    sessions: with the clusters, in order. follows: whether all log since it began is known, each line's cluster with it.
    interrupted: the last run ended with a LinkError. told: totals of the link up to the last result.
    """

    def __init__(self, config: Config, open_: Callable[[], Link], limits: Limits):
        self.config = config
        self.link = Reconnecting(open_, limits.reconnect)
        self.requests = Requests(self.link, limits)
        self.sessions: list[RemoteBackend] = []
        self.follows, self.interrupted = False, False
        self.told: dict[str, int] = {}
        self._split = SplitLog(config)
        count, widths = log_message(Derived.of(config))["count"], Derived.of(config)
        self._last_message, self._count = (widths.line_messages - 1) * widths.message_bits + count.low, count.mask

    def check_lines(self, line_bytes: int) -> None:
        if line_bytes != self.config.line_bits // 8:
            raise ChipError(f"the board's log has lines of {8 * line_bytes} bits, not {self.config.line_bits}: give "
                            "the parameters that the chip was built with, or build it again")

    def begin_log(self, position: int) -> None:
        """Take the log from a position on, at which no run's is under way."""
        self.requests.begin_log(position)
        self._split.begin()

    def log(self, cluster: int) -> bytearray:
        """What is here of a cluster's log and has not been taken."""
        log = self.requests.log
        whole = len(log) - len(log) % (self.config.line_bits // 8)
        self._split.feed(self.requests.take_log(whole) or b"")
        return self._split.logs[cluster]

    @property
    def ends(self) -> bool:
        """Whether the last whole line that has come is one of a run's end, perhaps of another cluster or of an earlier run.

        Its last message is empty, as the mark of the end takes a message's place; no other line's is.
        """
        size, log = self.config.line_bits // 8, self.requests.log
        end = len(log) - len(log) % size
        return end > 0 and not int.from_bytes(log[end - size:end], "little") >> self._last_message & self._count

    def take_log(self, cluster: int, size: int) -> bytes | None:
        """The next bytes of a cluster's log, None where they are not here yet."""
        return self._split.take(cluster, size) if len(self.log(cluster)) >= size else None


class RemoteBackend(Backend):
    """A board that runs problem after problem, or a cluster of it (`mrfhw.backends.backend.Backend`). Use as a context manager; see
    `connect`.

    A result equals the model's, except for cycles and stalls if the link was slower than the log. It also counts the repeated
    requests, damaged frames and reconnections since the last result, of all clusters.
    """

    def __init__(self, config: Config, open_: Callable[[], Link], limits: Limits | None = None, digest: str | None = None):
        """config: the machine that the board was built with.
        open_: makes the link.
        limits: of waiting.
        digest: of the machine's circuit; None for `digest_of` it.
        """
        board = _Board(config, open_, limits or Limits())
        try:
            self.greeting = board.requests.hello()  # where no board answers, no circuit is generated
            chip, digest = RemoteChip(board.requests), digest or digest_of(config)
            self._join(board, chip, digest)
            board.check_lines(self.greeting.line_bytes)
            for _ in range(1, config.seats):
                beside = RemoteBackend.__new__(RemoteBackend)
                beside.greeting = self.greeting
                beside._join(board, chip, digest)
        except BaseException:
            board.link.close()
            raise

    def _join(self, board: _Board, chip: RemoteChip, digest: str) -> None:
        """Become the session with the board's next cluster."""
        self.config, self._board, self.cluster = board.config, board, len(board.sessions)
        self._link, self.requests = board.link, board.requests
        self._running: RemoteRun | None = None
        self._unread: deque[RemoteRun] = deque()  # finished runs whose log has not arrived completely, in order
        self._idle = False  # no labels are being drawn, and all log is that of _unread
        self._loaded_over = 0  # reconnections before the last load
        self.driver = Driver(self.config, cluster_chip(self.config, chip, self.cluster), digest)
        self.driver.check()
        board.sessions.append(self)

    @classmethod
    def open(cls, backend: str, config: Config, cycles: int) -> RemoteBackend:
        return connect(backend, config)

    @classmethod
    def machine_at(cls, backend: str, given: Collection[str] = ()) -> Config | None:
        return machine_at(backend, given)

    @property
    def places(self) -> Sequence[RemoteBackend]:
        return self._board.sessions

    def close(self) -> None:
        """Close the link; the board keeps its state."""
        self.requests.link.close()

    # -- a run

    def prepare(self, problem: Problem | Placement, run: Run, *, fresh: Fresh = True, state: RunState | None = None,
                progress: Progress | None = None, observe: Observe | None = None, pauses: Pauses | None = None) -> RemoteRun:
        """A run up to the last sample or a pause, when it is advanced; the log comes while the next problem is loaded, or with
        `result`. See `mrfhw.backends.backend.Backend`.

        Raises LinkError where the link is gone for longer than `Limits.reconnect`; after that see `resume`.
        """
        return RemoteRun(self, place(self.config, problem, run), fresh, progress, state, pauses)

    def go_on(self, run: RemoteRun) -> Steps[None]:
        """From the start or a pause to the next one or the end; the log up to the pause is taken first."""
        if run.loaded:
            self._take_up_to(run)
            run.go_on()
        self._running = run
        try:
            yield from self._advance(run)
        except LinkError:
            self._board.interrupted = True
            raise

    def resume(self) -> Result:
        """After a LinkError: connect again, and go on with the run that the board, or this cluster of it, was in. Nothing is lost,
        nothing done twice.

        Raises LinkError where no run was under way, and where the board has lost it.
        """
        if self._running is None:
            raise LinkError("no run is under way on the board", "solve the problem again")
        self._link.reopen()
        self.requests.complete()
        self._board.interrupted = False
        at_once(self._advance(self._running))
        return self.finish(self._running)

    def settle(self) -> int:
        """End runs of all clusters that an earlier program left running and drop their log. Returns the position at which the next
        log begins.

        Raises LinkError if the earlier runs make no progress for `Limits.progress`.
        """
        requests, config, sessions = self.requests, self.config, self._board.sessions
        self._board.follows = False
        for one in sessions:
            one._unread.clear()
            one.driver.forget()
        first = requests.hello()
        for one in sessions:
            if one.driver.busy:
                one.driver.set(control=1 << CONTROL_BITS["stop"])
        # A run ends after its current sweep; until then each site sends at most one message, at most a line each, and one before it
        # where there are several clusters.
        most = first.behind + first.log_bytes + 2 * config.seats ** 2 * Derived.of(config).sites * config.line_bits // 8
        watch, dropped, pause = self._watch(), 0, SHORT
        while True:
            busy = any(one.driver.busy for one in sessions)
            greeting = requests.hello()
            self._board.begin_log(greeting.reached)
            requests.credit()
            if not busy and not greeting.behind:
                self._board.begin_log(requests.ended)
                for one in sessions:
                    one._idle = True
                self._board.follows, self._board.interrupted = True, False
                return requests.position
            before, dropped = dropped, max(dropped, min((greeting.reached - first.reached) % POSITIONS, most))
            if watch.stuck(dropped):
                what = "an earlier run" if busy else f"{greeting.behind} bytes of an earlier run's log"
                raise LinkError(f"the board at {requests.link.name} is busy with {what}, which has not gone on within "
                                f"{watch.patience:g} s", "reset the board")
            pause = SHORT if dropped > before else min(2 * pause, PAUSE)
            if dropped == before:
                requests.rest(pause)

    def _watch(self) -> Watch:
        limits, link = self.requests.limits, self._link
        return Watch(limits.progress, link.clock, lambda: link.reconnections, limits.breaks)

    def _advance(self, run: RemoteRun) -> Steps[None]:
        """Do the remaining steps of a run up to its end or pause and reading LMem. After a LinkError it may be called again."""
        yield from self._piece(run)
        while run.full:
            self._take_up_to(run)
            run.go_on()
            yield from self._piece(run)

    def _ready(self) -> None:
        """Have nothing of an earlier run left here. Of several clusters the others may be in the middle of theirs, so that the
        board is settled only where something is not known."""
        while self._unread:
            self._take()
        if self.config.seats > 1 and self._idle and self._board.follows and not self._board.interrupted:
            self.driver.forget()
            return
        self.settle()
        self._idle = True

    def _piece(self, run: RemoteRun) -> Steps[None]:
        """Do the remaining steps of a run up to where it stops, and read LMem."""
        driver = self.driver
        if not run.loaded:
            began = time.perf_counter()
            if run.fresh is not False or run.before is not None or not self._idle:
                # The board may hold anything. Else all of its log is accounted for, though it need not be here.
                self._ready()
            if run.before is not None and run.before.sweeps:
                yield from self._forward(run, run.before.sweeps)
            with working("loading the board"):
                if self._link.reconnections != self._loaded_over:
                    driver.forget()
                self._loaded_over = self._link.reconnections
                if run.before is None:
                    run.loading_cycles = driver.load(run.placement, generators=run.fresh)
                else:
                    assert run.before.generators is not None
                    run.past, lmem = carried(run.placement, run.before)
                    run.loading_cycles = driver.load(run.placement, run.before.generators, lmem)
                    if lmem is not None and run.placement.sums_end(run.sweeps) and not run.finished:
                        run.past, run.uncleared = run.past + sums_of_entries(self.config, lmem), lmem[..., 0]
            run.loaded, run.loading = True, time.perf_counter() - began
        if not run.started:
            if run.uncleared is not None:
                driver.clear(run.placement, run.uncleared)
                run.uncleared = None
            if run.end < run.placement.run.sweeps or run.pieces:
                driver.set(sweeps=run.end)
            # A start that a LinkError cuts off is completed before the run goes on.
            self._idle, run.started = False, True
            driver.start(resume=run.sweeps > 0)
        if run.counters is None:
            yield from self._wait(run)
        if run.lmem is None:
            began = time.perf_counter()
            with working("reading the board"):
                run.lmem = driver.lmem(run.placement)
            run.reading = time.perf_counter() - began

    def _forward(self, run: RemoteRun, sweeps: int) -> Steps[None]:
        """Advance the row order and the temperature schedule to the state of the run; the log of these sweeps is dropped."""
        self._idle = False
        self.driver.forward(run.placement, sweeps)
        watch = self._watch()
        while self.driver.busy:
            self._listen(SHORT, SHORT)
            yield
            if watch.stuck(self.driver.get("sweep")[0], self.requests.position):
                raise LinkError(f"the board at {self.requests.link.name} does not come to sweep {sweeps} within "
                                f"{watch.patience:g} s", "reset the board, then solve again")
        run.sweeps, run.baseline = sweeps, self.driver.counters()
        if self.config.seats > 1:
            self._receive(run.baseline["lines"] * self.config.line_bits // 8)
        else:
            self.settle()
        self._idle = True

    def _wait(self, run: RemoteRun) -> Steps[None]:
        """Receive log until no more labels are drawn, then read the counters."""
        began, sweeps, seconds, quiet = time.perf_counter(), -1, SHORT, SHORT
        requests, watch = self.requests, self._watch()
        most = sum(one.log_bytes for one in self._unread) + run.most_log_bytes
        while True:
            status, sweep = self.driver.get("status", "sweep")
            busy = is_busy(status)
            check_sweep(run.placement, max(sweeps, run.sweeps), sweep, None if busy or run.pauses is not None else run.end)
            if run.progress and sweep != sweeps:
                run.progress(sweep)
            sweeps = sweep
            if not busy:
                break
            if run.pauses is not None and run.pauses.now(sweep):
                self.driver.set(control=1 << CONTROL_BITS["stop"])
            came = self._listen(seconds, quiet)
            seconds, quiet = min(2 * seconds, LONG), QUIET if came else min(2 * quiet, PAUSE)
            came_here = len(self._board.log(self.cluster))
            if came_here > most:
                raise LinkError(f"the board at {requests.link.name} has sent {came_here} bytes of log; that of its runs "
                                f"has {most} at most", "reset the board, then solve again")
            if watch.stuck(sweep, requests.position):
                raise LinkError(f"the board at {requests.link.name} is busy at sweep {sweep} of {run.placement.run.sweeps}, and "
                                f"neither sweeps nor log have gone on within {watch.patience:g} s",
                                "reset the board, then solve again")
            yield
        counters = self.driver.counters()
        run.pieces += 1
        run.counters, run.sweeps = counters, sweep
        check_counters(run.counted, run.placement, run.done)
        self._idle = True
        self._unread.append(run)
        run.wall += time.perf_counter() - began

    def _listen(self, seconds: float, quiet: float) -> bool:
        """Take log for some seconds, or until none has come for `quiet` or a run may have ended; whether some came."""
        requests, came = self.requests, False
        requests.credit()
        until = requests.link.clock() + seconds
        while (left := until - requests.link.clock()) > 0 and requests.listen(min(left, quiet)):
            came = True
            if requests.credit_due:
                requests.credit()
            if self._board.ends:
                break
        return came

    def _take(self) -> None:
        """All of the log of the first run whose log is not here."""
        run, began = self._unread[0], time.perf_counter()
        log = self._receive(run.log_bytes)
        run.log, run.wall = log, run.wall + time.perf_counter() - began
        self._unread.popleft()

    def _receive(self, size: int) -> bytes:
        """So many bytes of the cluster's log, that the machine has counted."""
        requests, board = self.requests, self._board
        watch, quiet = self._watch(), True
        while (log := board.take_log(self.cluster, size)) is None:
            if quiet or requests.credit_due:
                requests.credit()
            quiet = True
            while requests.listen(PAUSE):
                if requests.credit_due or len(board.log(self.cluster)) >= size:
                    quiet = False
                    break
            if watch.stuck(requests.position):
                raise LinkError(f"the board at {requests.link.name} counts {size} bytes of log; {len(board.log(self.cluster))} are "
                                f"here, and none has come within {watch.patience:g} s", "solve the problem again")
        return log

    def _take_up_to(self, run: RemoteRun) -> None:
        """The logs of the runs up to this one."""
        while run.log is None:
            if run not in self._unread:
                raise LinkError("the log of this run was dropped", "solve the problem again")
            self._take()

    def _totals(self) -> dict[str, int]:
        return {"repeated_requests": self.requests.repeated, "damaged_frames": self.requests.damaged,
                "reconnections": self._link.reconnections}

    def read(self, run: RemoteRun) -> Result:
        """The result of a run up to its end or pause."""
        self._take_up_to(run)
        assert run.log is not None
        assert run.lmem is not None
        measured = {name: count - self._board.told.get(name, 0) for name, count in self._totals().items()}
        return read_result(run.counted, run.placement, run.taken + run.log, run.lmem, wall=run.wall,
                           before=run.before, done=run.done, past=run.past,
                           measured={"loading_seconds": run.loading, "reading_seconds": run.reading,
                                     "loading_cycles": run.loading_cycles,
                                     "reading_cycles": self.driver.reading_cycles(run.placement), **measured})

    def finish(self, run: RemoteRun) -> Result:
        """The result of a run that was begun, taking the logs of those before it as well."""
        self._take_up_to(run)
        if run.progress:
            run.progress(run.placement.run.sweeps)
        result = self.read(run)
        self._board.told = self._totals()
        if self._running is run:
            self._running = None
        return result


def connect(address: str, config: Config, limits: Limits | None = None) -> RemoteBackend:
    """A session with the board at `address`: serial:///dev/ttyUSB0?baud=3000000, tcp://HOST:PORT or sim://.

    config: the machine that the board was built with; another one is refused. sim:// compiles it and runs it in this process.
    After the address's question mark reconnect=SECONDS is Limits.reconnect, and patience=SECONDS the argument of Limits.patient.
    Raises LinkError or ChipError in one line.
    """
    return RemoteBackend(config, lambda: open_link(address, config), link_limits(address, limits))
