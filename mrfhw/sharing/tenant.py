"""A board that others use, too, as a backend: `shared:///PATH`, where `mrfhw share` runs."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from multiprocessing.connection import Client, Connection
from typing import Any

import numpy as np

from mrfhw.backends.backend import ActiveRun, Backend, Fresh, Observe, Pauses, Progress
from mrfhw.backends.windows import WindowPlan
from mrfhw.field.problem import Problem, Run
from mrfhw.field.result import Result
from mrfhw.field.state import RunState
from mrfhw.machine.config import Config
from mrfhw.machine.manifest import DEFAULTS
from mrfhw.placement.placement import Placement
from mrfhw.sharing.messages import Address, gone
from mrfhw.system.errors import ProblemError

__all__ = ["TenantBackend"]

WAIT = 0.02  # seconds for which one chain is listened to before another


class TenantBackend(Backend):
    """A seat at a shared board. A result is that of a board alone; wall times have others' visits in them."""

    def __init__(self, address: Address, config: Config, tenant: int | None = None):
        self.config, self._address = config, address
        self._connection = self._connected(address)
        self._running: _TenantRun | None = None
        try:
            self._tenant, clusters = self.ask("hello", config.to_dict(), address.owner, address.weight, tenant)
        except BaseException:
            self._connection.close()
            raise
        self._places = [self]
        if tenant is None:
            self._places += [TenantBackend(address, config, self._tenant) for _ in range(1, clusters)]

    @classmethod
    def open(cls, backend: str, config: Config, cycles: int) -> TenantBackend:
        return cls(Address(backend), config)

    @classmethod
    def machine_at(cls, backend: str, given: Collection[str] = ()) -> Config | None:
        if set(given) & set(DEFAULTS):
            return None
        address = Address(backend)
        with cls._connected(address) as connection:
            try:
                connection.send(("machine",))
                return Config.from_dict(connection.recv()[1])
            except (OSError, EOFError):
                raise gone(address.path) from None

    @staticmethod
    def _connected(address: Address) -> Connection:
        try:
            if address.path.stat().st_uid != os.geteuid():  # who could say anything
                raise ProblemError(f"{address.path} is not yours; a board is shared with its user's own programs: give another")
            return Client(str(address.path), "AF_UNIX")
        except (OSError, EOFError):
            raise gone(address.path) from None

    @property
    def places(self) -> list[TenantBackend]:
        return self._places

    def close(self) -> None:
        for one in self._places:
            one._connection.close()

    def prepare(self, problem: Problem | Placement, run: Run, *, fresh: Fresh = True, state: RunState | None = None,
                progress: Progress | None = None, observe: Observe | None = None, pauses: Pauses | None = None) -> ActiveRun:
        return _TenantRun(self, problem.problem if isinstance(problem, Placement) else problem, run, None, fresh, state, progress,
                          observe, pauses)

    def windows(self, plan: WindowPlan, run: Run, visit: int, *, state: RunState | None = None, progress: Progress | None = None,
                observe: Observe | None = None, pauses: Pauses | None = None) -> ActiveRun:
        return _TenantRun(self, plan.problem, run, visit, True, state, progress, observe, pauses)

    # -- the connection

    def say(self, *message: Any) -> None:
        try:
            self._connection.send(message)
        except OSError:
            raise gone(self._address.path) from None

    def heard(self, seconds: float | None = None) -> Any:
        """The next message, None where none comes within so many seconds. Raises what it says was raised."""
        try:
            if seconds is not None and not self._connection.poll(seconds):
                return None
            message = self._connection.recv()
        except (OSError, EOFError):
            raise gone(self._address.path) from None
        if message[0] == "error":
            raise message[1]
        return message

    def ask(self, *message: Any) -> Any:
        self.say(*message)
        return self.heard()[1:]

    def use(self, run: _TenantRun, *prepared: Any) -> None:
        """A connection has one run at a time; the one before it is over, its result fetched."""
        if self._running is not run:
            if self._running is not None:
                self._running.fetch()
            self.ask("prepare", *prepared)
            self._running = run


class _TenantRun:
    """See `mrfhw.backends.backend.ActiveRun`."""

    def __init__(self, session: TenantBackend, problem: Problem, run: Run, visit: int | None, fresh: Fresh, state: RunState | None,
                 progress: Progress | None, observe: Observe | None, pauses: Pauses | None):
        self._session, self._prepared = session, (problem, run, visit, fresh, state)
        self._progress, self._observe, self._pauses = progress, observe, pauses
        self.sweeps, self.finished = (0 if state is None else state.sweeps), False
        self._result: Result | None = None

    @property
    def last(self) -> np.ndarray:
        found: np.ndarray
        found, = self._session.ask("last")
        return found

    def advance(self) -> None:
        for _ in self.steps():
            pass

    def steps(self) -> Iterator[None]:
        session = self._session
        session.use(self, *self._prepared)
        session.say("advance", self._pauses, self._observe is not None)
        while True:
            message = session.heard(WAIT)
            if message is None:
                yield
            elif message[0] == "progress" and self._progress is not None:
                self._progress(*message[1:])
            elif message[0] == "observe" and self._observe is not None:
                self._observe(*message[1:])
            elif message[0] == "done":
                _, self.sweeps, self.finished = message
                return

    def state(self, counted: bool = True) -> RunState:
        found: RunState
        found, = self._session.ask("state", counted)
        return found

    def fetch(self) -> None:
        """Its result, where it is at its end."""
        if self.finished and self._result is None:
            self._result, = self._session.ask("result")

    def result(self) -> Result:
        self.fetch()
        assert self._result is not None
        return self._result
