"""A shared board's socket: a thread for each connection, which hands in work and says what it comes to."""

from __future__ import annotations

import contextlib
import queue
import threading
import time
from collections.abc import Callable, Generator, Iterator
from multiprocessing.connection import Connection, Listener
from pathlib import Path
from typing import Any

import numpy as np

from mrfhw.backends.backend import ActiveRun, Fresh, Pauses
from mrfhw.backends.windows import WindowPlan
from mrfhw.field.problem import Problem, Run
from mrfhw.field.state import RunState
from mrfhw.machine.config import Config, ConfigError
from mrfhw.machine.derived import Derived
from mrfhw.sharing.board import PausesOf, Seat, SharedBoard, Tenant
from mrfhw.sharing.messages import private
from mrfhw.system.errors import ProblemError

__all__ = ["listening"]

TOLD = 0.05  # seconds from one progress of a run that is said to the next
LOOK = 0.2  # seconds between looks whether a program is still there
BACKLOG = 64
MOST_SAID = 16  # that wait to be sent; a program that is slower sees fewer labels


class _Held(PausesOf):
    """The pauses of whoever has prepared a run, as they are in each of its advances. gone: nobody waits for it any more."""

    gone = False

    def now(self, sweeps: int) -> bool:
        return self.gone or super().now(sweeps)


class _Talk:
    """With a program about one of its chains."""

    def __init__(self, board: SharedBoard, connection: Connection, tenants: dict[int, Tenant]):
        self._board, self._connection, self._tenants = board, connection, tenants
        self._seat: Seat | None = None
        self._run: ActiveRun | None = None
        self._pauses = _Held()
        self._said: queue.SimpleQueue[tuple[Any, ...]] = queue.SimpleQueue()  # to be sent on, from the board's thread
        self._observed, self._told = False, 0.0
        self._leads = False  # the others of its program

    def all(self) -> None:
        """Until the program has gone."""
        try:
            with self._connection, contextlib.suppress(OSError, EOFError):
                while True:
                    what, *values = self._connection.recv()
                    try:
                        answer = getattr(self, f"_{what}")(*values)
                    except (OSError, EOFError):
                        raise
                    except Exception as error:  # whatever a program asks wrongly, it is told
                        answer = "error", error
                    self._connection.send(answer)
        finally:
            if self._leads and self._seat is not None:  # its other chains' connections end with it
                del self._tenants[self._seat.tenant.number]
                self._board.leave(self._seat.tenant)

    def _machine(self) -> tuple[Any, ...]:
        return "found", self._board.config.to_dict()

    def _hello(self, config: dict[str, Any], owner: str, weight: float, tenant: int | None) -> tuple[Any, ...]:
        board = self._board
        if Derived.of(Config.from_dict(config)).digest != Derived.of(board.config).digest:
            raise ConfigError("the shared board has another machine than the one that is asked for: give the options or the "
                              "manifest that mrfhw share was given")
        if tenant is None:
            one = board.tenant(owner, weight)
            self._tenants[one.number], self._leads = one, True
        else:
            one = self._tenants[tenant]
        self._seat = Seat(board, one)
        return "seat", one.number, board.config.seats

    def _prepare(self, problem: Problem, run: Run, visit: int | None, fresh: Fresh, state: RunState | None) -> tuple[str]:
        seat, self._pauses = self._seat, _Held()
        assert seat is not None
        if visit is None:
            self._run = seat.prepare(problem, run, fresh=fresh, state=state, progress=self._progress, pauses=self._pauses)
        else:
            self._run = seat.windows(WindowPlan(self._board.config, problem), run, visit, state=state, progress=self._progress,
                                     observe=self._observe, pauses=self._pauses)
        return ("ready",)

    def _progress(self, sweeps: int) -> None:
        if time.monotonic() >= self._told + TOLD:
            self._told = time.monotonic()
            self._said.put(("progress", sweeps))

    def _observe(self, sweeps: int, labels: np.ndarray, energy: float | None) -> None:
        if self._observed and self._said.qsize() < MOST_SAID:
            self._said.put(("observe", sweeps, labels.copy(), energy))

    def _advance(self, pauses: Pauses | None, observed: bool) -> tuple[Any, ...]:
        run, seat = self._run, self._seat
        assert run is not None
        assert seat is not None
        self._pauses.own, self._observed = pauses, observed
        while not self._said.empty():  # of a run that is over
            self._said.get()

        def ended(_: Any, error: BaseException | None) -> None:
            self._said.put(("done", run.sweeps, run.finished) if error is None else ("error", error))

        def steps() -> Generator[None, None, None]:
            yield from run.steps()

        self._board.do(steps, ended, seat.tenant)
        while True:
            try:
                said = self._said.get(timeout=LOOK)
            except queue.Empty:
                if self._connection.poll():  # it says nothing meanwhile, so it has ended
                    self._pauses.gone = True
                    raise EOFError from None
                continue
            if said[0] in ("done", "error"):
                return said
            try:
                self._connection.send(said)
            except OSError:
                self._pauses.gone = True
                raise

    def _found(self, what: Callable[[ActiveRun], Any]) -> tuple[str, Any]:
        """What the run has, by the board's thread."""
        run = self._run
        assert run is not None
        found: queue.SimpleQueue[tuple[Any, BaseException | None]] = queue.SimpleQueue()

        def steps() -> Generator[None, None, Any]:
            return what(run)
            yield

        self._board.do(steps, lambda value, error: found.put((value, error)))
        value, error = found.get()
        if error is not None:
            raise error
        return "found", value

    def _last(self) -> tuple[str, Any]:
        return self._found(lambda run: run.last.copy())

    def _state(self, counted: bool) -> tuple[str, Any]:
        return self._found(lambda run: run.state(counted))

    def _result(self) -> tuple[str, Any]:
        return self._found(lambda run: run.result())


@contextlib.contextmanager
def listening(board: SharedBoard, path: Path) -> Iterator[None]:
    """Within, programs reach the board at a path. Raises ProblemError where there is no place for a socket."""
    with private(path):
        try:
            listener = Listener(str(path), "AF_UNIX", backlog=BACKLOG)
        except OSError as error:
            raise ProblemError(f"{path} cannot be made ({error.strerror}): give another place") from None
    tenants: dict[int, Tenant] = {}

    def accept() -> None:
        while True:
            try:
                talk = _Talk(board, listener.accept(), tenants)
                threading.Thread(target=talk.all, daemon=True).start()
            except (OSError, RuntimeError):  # the end, or no more files or threads for now
                if ended.wait(LOOK):
                    return

    ended = threading.Event()
    threading.Thread(target=accept, daemon=True).start()
    try:
        yield
    finally:
        ended.set()
        with contextlib.suppress(FileNotFoundError):  # somebody has removed it
            listener.close()
        path.unlink(missing_ok=True)
