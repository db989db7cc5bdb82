"""Work in a second process beside this one, which imports what it needs while this one does something else."""

from __future__ import annotations

import contextlib
import functools
import importlib
import multiprocessing
import pickle
import signal
import threading
from collections.abc import Callable, Iterable
from multiprocessing.connection import Connection
from queue import SimpleQueue
from typing import Any

__all__ = ["Begin", "Outcome", "SecondProcess", "here"]

Outcome = Callable[[], Any]
Begin = Callable[..., Outcome]  # of a function and its arguments: what gives its value, and waits for it


def here(function: Callable[..., Any], *arguments: Any) -> Outcome:
    """A `Begin` without another process: the function is called when its value is wanted first."""
    return functools.cache(functools.partial(function, *arguments))


def _serve(end: Connection, modules: Iterable[str]) -> None:
    """Import `modules`, and call what comes through `end`, until the other process closes it or is gone.

    Calls are taken and answers sent by threads of their own: a pipe holds little, and the other process looks at it now and then.
    """
    calls: SimpleQueue[bytes | None] = SimpleQueue()
    answers: SimpleQueue[bytes] = SimpleQueue()
    threading.Thread(target=_receive, args=(end, calls), daemon=True).start()
    threading.Thread(target=_send, args=(end, answers), daemon=True).start()
    # What cannot be imported is found, and said, by the function that needs it.
    with contextlib.suppress(Exception):
        for module in modules:
            importlib.import_module(module)
            while not calls.empty():
                call = calls.get()
                if call is None:
                    return
                answers.put(_answer(call))
    while (call := calls.get()) is not None:
        answers.put(_answer(call))


def _receive(end: Connection, calls: SimpleQueue[bytes | None]) -> None:
    """Take calls as they come; None is the end."""
    with contextlib.suppress(EOFError, OSError):
        while True:
            calls.put(end.recv_bytes())
    calls.put(None)


def _send(end: Connection, answers: SimpleQueue[bytes]) -> None:
    with contextlib.suppress(OSError):
        while True:
            end.send_bytes(answers.get())


def _answer(call: bytes) -> bytes:
    """(True, its value) of one call, or (False, None) where it failed, pickled as calls are."""
    try:
        function, arguments = pickle.loads(call)
        return pickle.dumps((True, function(*arguments)))
    except Exception:
        return pickle.dumps((False, None))


class SecondProcess:
    """A process that is there from now on, and imports `modules` in turn while nothing else is asked of it.

    Functions and arguments are those that can be pickled. Nothing depends on it: what it cannot do, because it is gone or failed,
    is done here. It ends with this process, however that ends.
    """

    def __init__(self, *modules: str):
        self._begun = 0
        self._values: list[Any] = []
        context = multiprocessing.get_context("spawn")
        self._end, other = context.Pipe()
        process = context.Process(target=_serve, args=(other, modules), daemon=True)
        # Ctrl-C goes to both processes, and this one decides what it means; the other inherits that it is ignored.
        former = signal.signal(signal.SIGINT, signal.SIG_IGN)
        try:
            with contextlib.suppress(OSError):  # no process is to be had
                process.start()
        finally:
            signal.signal(signal.SIGINT, former)
            other.close()

    def begin(self, function: Callable[..., Any], *arguments: Any) -> Outcome:
        """A `Begin`; calls are made in their order."""
        try:
            self._end.send((function, arguments))
        except Exception:  # gone, or not to be pickled: a run of hours does not end for that
            return here(function, *arguments)
        number = self._begun
        self._begun += 1

        def outcome() -> Any:
            while len(self._values) <= number:
                try:
                    self._values.append(self._end.recv())
                except (EOFError, OSError):
                    self._values.append((False, None))
            done, value = self._values[number]
            return value if done else function(*arguments)

        return outcome
