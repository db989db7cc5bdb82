"""Boards and processors that pictures under way take turns on: a board samples one while processors do what is left of others."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from mrfhw.host.links import LinkError
from mrfhw.machine.config import Config
from mrfhw.runs.request import Request
from mrfhw.system.errors import ProblemError
from mrfhw.system.workers import ask

__all__ = ["Lanes", "Turns", "held"]

T = TypeVar("T")


@contextlib.contextmanager
def held() -> Iterator[None]:
    """In a worker whose task was given with `Turns.told`: the board is this picture's alone within. Raises LinkError where it was
    lost."""
    ask(True)
    try:
        yield
    finally:
        ask(False)


@dataclass(eq=False)
class _Lane:
    """A board. say: what is called when it is lost. pictures: that are under way for it. lost: what was said when it was."""

    board: str
    say: Callable[[str], object]
    free: threading.Lock = field(default_factory=threading.Lock)
    pictures: int = 0
    lost: LinkError | None = None

    def lose(self, error: LinkError) -> None:
        if self.lost is None:
            self.lost = error
            self.say(f"{self.board} is lost, {error}")


class Turns:
    """What one picture holds: a processor, its board, or nothing."""

    def __init__(self, lane: _Lane, processors: threading.Semaphore):
        self._lane, self._processors = lane, processors
        self._held: threading.Lock | threading.Semaphore | None = None

    def _hold(self, wanted: threading.Lock | threading.Semaphore | None) -> None:
        before, self._held = self._held, None
        if before is not None:
            before.release()
        if wanted is not None:
            wanted.acquire()
            self._held = wanted

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        """A processor is held within, but while a task has the board."""
        self._hold(self._processors)
        try:
            yield
        except LinkError as error:
            self._lane.lose(error)  # before the next one has the board
            raise
        finally:
            self._hold(None)

    def told(self, board: bool) -> LinkError | None:
        """The answer to a worker that asks for its board, or gives it back (`Worker.done`)."""
        self._hold(self._lane.free if board else self._processors)
        return self._lane.lost if board else None


class Lanes:
    """Boards of one machine, and processors that work for them; used from a thread for each picture under way.

    A picture is done whole in one process. It has a board, which it holds while it is sampled, and one of the processors while
    anything else is done with it; it never waits for one while it holds the other.

    boards: addresses. machine: theirs. processors: how many work at a time. say: called with a line when a board is lost.
    """

    def __init__(self, boards: Sequence[str], machine: Config, processors: int, say: Callable[[str], object] = lambda line: None):
        self.machine = machine
        self._lanes = [_Lane(board, say) for board in boards]
        self._processors, self._choosing = threading.Semaphore(processors), threading.Lock()

    def done(self, picture: Callable[[str, Turns], T]) -> T:
        """What a picture comes to, on the board that has fewest; on another one where that is lost.

        picture: called with the board's address, and what gives the picture its turns. Raises what it raises, and ProblemError
        where every board is lost.
        """
        while True:
            lane = self._chosen()
            try:
                return picture(lane.board, Turns(lane, self._processors))
            except LinkError as error:
                lane.lose(error)
            finally:
                with self._choosing:
                    lane.pictures -= 1

    def _chosen(self) -> _Lane:
        with self._choosing:
            left = [lane for lane in self._lanes if lane.lost is None]
            if not left:
                raise ProblemError(f"no board is left, {self._lanes[-1].lost}")
            lane = min(left, key=lambda one: one.pictures)
            lane.pictures += 1
        return lane

    @contextlib.contextmanager
    def working(self) -> Iterator[None]:
        """One of the processors is held within, of a picture that has no use for a board any more."""
        with self._processors:
            yield

    def request(self, request: Request, board: str) -> Request:
        """The same on a board."""
        return request.with_options(backend=board, machine=self.machine)
