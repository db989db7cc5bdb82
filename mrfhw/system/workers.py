"""Tasks in processes that stay warm: one imports and compiles once, and does one task after the other."""

from __future__ import annotations

import contextlib
import itertools
import os
import pickle
import queue
import select
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass
from typing import IO, Any

from mrfhw.system.processors import THREADS

__all__ = ["Died", "Worker", "ask", "driven", "in_workers", "opened", "outcome_of", "serve"]

_START = "from mrfhw.system.workers import serve; serve()"


class Died(Exception):
    """The process that did a task is gone, by a signal or by itself."""


@dataclass(frozen=True)
class _Failed:
    """What a task raised."""

    error: BaseException


@dataclass(frozen=True)
class _Asked:
    """What a task asks in its middle."""

    question: Any


_answers: IO[bytes] | None = None  # of a worker, to the process that gives it tasks


def ask(question: Any) -> Any:
    """In the middle of a task that `Worker.done` was told the answers for: the answer. Raises it where it is an exception."""
    assert _answers is not None, "not in a worker"
    _send(_answers, _Asked(question))
    answer = pickle.load(sys.stdin.buffer)
    if isinstance(answer, Exception):
        raise answer
    return answer


def _send(end: IO[bytes], value: Any) -> None:
    pickle.dump(value, end, pickle.HIGHEST_PROTOCOL)
    end.flush()


def outcome_of(function: Callable[[Any], Any], task: Any) -> bytes:
    """What a task comes to, or raises, as `opened` has it."""
    try:
        outcome = function(task)
    except Exception as error:
        outcome = _Failed(error)
    try:
        return pickle.dumps(outcome, pickle.HIGHEST_PROTOCOL)
    except Exception as error:
        return pickle.dumps(_Failed(RuntimeError(f"its outcome cannot be handed over ({type(error).__name__})")))


def opened(outcome: bytes) -> Any:
    """The outcome of a task. Raises what it raised."""
    found = pickle.loads(outcome)
    if isinstance(found, _Failed):
        raise found.error
    return found


def _end_with_the_first() -> None:
    """End this process when the one that started it is gone, also in the middle of a task, which nobody wants then."""
    watched = select.poll()
    watched.register(0, 0)  # its end alone
    watched.poll()
    os._exit(0)


def serve() -> None:
    """In a worker: do what comes through the standard input until that ends. What a task prints goes nowhere."""
    global _answers
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all processes, and the first one decides what it means
    answers, nothing = os.fdopen(os.dup(1), "wb"), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    _answers = answers
    if hasattr(select, "poll"):
        threading.Thread(target=_end_with_the_first, daemon=True).start()
    while True:
        try:
            function, task = pickle.load(sys.stdin.buffer)
        except EOFError:
            return
        answers.write(outcome_of(function, task))
        answers.flush()


class Worker:
    """A process, started when it is needed first and again where it has died.

    threads: that it samples with, `mrfhw.system.threads`.
    """

    def __init__(self, threads: int):
        self._threads = threads
        self._process: subprocess.Popen[bytes] | None = None

    def _started(self) -> subprocess.Popen[bytes]:
        if self._process is None:
            environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
                           THREADS: str(self._threads)}
            self._process = subprocess.Popen([sys.executable, "-c", _START], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                             env=environment)
        return self._process

    def done(self, function: Callable[[Any], Any], task: Any, told: Callable[[Any], Any] | None = None) -> Any:
        """The outcome of a task. Raises what it raised, and Died where its process is gone, which what comes next starts anew.

        told: the answer to what the task asks in its middle (`ask`).
        """
        process = self._started()
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            _send(process.stdin, (function, task))
            while isinstance(outcome := pickle.load(process.stdout), _Asked):
                assert told is not None, "a task asks, and nobody answers"
                _send(process.stdin, told(outcome.question))
        except (OSError, EOFError, pickle.UnpicklingError):
            self.end()
            code = process.wait()
            how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit status {code}"
            raise Died(f"its process {how}: run it again, with fewer at a time where memory is short") from None
        if isinstance(outcome, _Failed):
            raise outcome.error
        return outcome

    def end(self) -> None:
        """Let the process go; one that is at work is killed."""
        process, self._process = self._process, None
        if process is not None:
            for end in (process.stdin, process.stdout):
                with contextlib.suppress(OSError):
                    if end is not None:
                        end.close()
            if process.poll() is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    process.wait(0.2)
                process.kill()
            process.wait()


def in_workers(function: Callable[[Any], Any], tasks: Iterable[Any], workers: int, threads: int = 1) -> Iterator[tuple[int, Any]]:
    """(number, outcome) of each task as they end, where what was raised is the outcome: `function(task)` in one
    of so many processes.

    function: of a module that can be imported.
    tasks: what can be pickled; each is taken when a process is free for it.
    threads: of each process, `mrfhw.system.threads`.
    Died is the outcome of a task whose process is gone; the others go on in a new one. When the iterator is closed, all processes
    are.
    """
    return driven(lambda worker, task: worker.done(function, task), tasks, workers, threads)


def driven(do: Callable[[Worker, Any], Any], tasks: Iterable[Any], workers: int,
           threads: int = 1) -> Generator[tuple[int, Any], None, None]:
    """As of `in_workers`, where a task is several of a process.

    do: what is done with a process for a task, in a thread of this one.
    tasks: each is taken when a process is free for it, one after the other; what is raised in place of the next one is an outcome,
    the last.
    """
    waiting, ended = enumerate(tasks), queue.SimpleQueue[tuple[int, Any] | None]()
    lock, closing, taken = threading.Lock(), threading.Event(), itertools.count()
    pool = [Worker(threads) for _ in range(workers)]

    def drive(worker: Worker) -> None:
        while not closing.is_set():
            with lock:
                try:
                    number, task = next(waiting)
                    next(taken)
                except StopIteration:
                    break
                except Exception as error:  # which ends the iterator
                    ended.put((next(taken), error))
                    break
            try:
                ended.put((number, do(worker, task)))
            except Exception as error:
                ended.put((number, error))
        worker.end()
        ended.put(None)

    drivers = [threading.Thread(target=drive, args=(worker,), daemon=True) for worker in pool]
    for driver in drivers:
        driver.start()
    left = len(drivers)
    try:
        while left:
            found = ended.get()
            if found is None:
                left -= 1
            else:
                yield found
    finally:
        closing.set()
        for worker in pool:
            worker.end()
