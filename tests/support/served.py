"""A service that really runs: `mrfhw serve` in a process, with its workers in others."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np

import mrfhw

SECONDS = 240  # that anything may take on a busy computer


def children(pid: int) -> list[int]:
    """The processes that a process has started and that are there."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        with contextlib.suppress(OSError):
            state, parent = path.read_text().rpartition(")")[2].split()[:2]
            if int(parent) == pid and state != "Z":
                found.append(int(path.parent.name))
    return found


class Served:
    """A service on a folder. words: more options. It is started, and may be killed and started again."""

    def __init__(self, folder: Path, *words: str, workers: int = 1, listen: str = "127.0.0.1:0", before: str = ""):
        self._command = [sys.executable, "-m", "mrfhw", "serve", "--folder", str(folder), "--workers", str(workers),
                         "--listen", listen, *words]
        if before:
            self._command = ["sh", "-c", f'{before}; exec "$@"', "sh", *self._command]
        self.folder = folder
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self._command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        assert self.process.stdout is not None
        self.said = self.process.stdout.readline()
        assert self.said.startswith("serving "), self.said + self.process.stderr.read()  # type: ignore[union-attr]
        self.url = self.said.split()[1]
        if "--listen" in self._command and self.url.startswith("http"):  # the same port when it is started again
            self._command[self._command.index("--listen") + 1] = self.url.partition("://")[2]

    @property
    def pid(self) -> int:
        return self.process.pid

    def kill(self) -> None:
        self.process.kill()
        self._close()

    def end(self) -> str:
        """End it as a signal does; what it said on stderr."""
        self.process.send_signal(signal.SIGTERM)
        return self._close()

    def _close(self) -> str:
        _, said = self.process.communicate(timeout=SECONDS)
        return said

    def client(self, **more: Any) -> mrfhw.Client:
        return mrfhw.Client(self.url, **more)

    def asked(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, bytes]:
        """Status and content of an answer."""
        connection = HTTPConnection(self.url.removeprefix("http://"), timeout=SECONDS)
        with contextlib.closing(connection):
            with contextlib.suppress(BrokenPipeError, ConnectionResetError):
                connection.request(method, path, body, {name.replace("_", "-"): value for name, value in headers.items()})
            answer = connection.getresponse()
            return answer.status, answer.read()

    def refused(self, method: str, path: str, body: Any = None, **headers: str) -> tuple[int, str]:
        """Status and line of an answer that is an error, which is JSON with one line and no more."""
        status, data = self.asked(method, path, body, **headers)
        assert status >= 400, data
        found = json.loads(data)
        assert set(found) == {"error"}
        assert "\n" not in found["error"]
        assert str(self.folder) not in found["error"]
        return status, found["error"]


@contextlib.contextmanager
def served(folder: Path, *words: str, **more: Any) -> Iterator[Served]:
    service = Served(folder, *words, **more)
    try:
        yield service
    finally:
        if service.process.poll() is None:
            service.end()


def until(done: Any, what: str = "") -> None:
    """Wait until a function gives something true."""
    deadline = time.monotonic() + SECONDS
    while not done():
        assert time.monotonic() < deadline, what
        time.sleep(0.05)


def small_request(number: int = 0, size: int = 16, labels: int = 4, sweeps: int = 12) -> mrfhw.Request:
    """A field of its own for each number."""
    rng = np.random.default_rng(number)
    field = mrfhw.Problem(labels=labels, unary=rng.integers(0, 9, (size, size, labels)), alpha=1, beta=2,
                          schedule=mrfhw.Schedule.constant(3.0))
    return mrfhw.Request("problem", file=field, sweeps=sweeps, seed=number)


def long_request(number: int = 0) -> mrfhw.Request:
    """One that takes longer than a test waits."""
    return small_request(number, sweeps=50_000_000)


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def bits(folder: Path, names: Sequence[str] = ("labels.npy", "last.npy", "entropy.npy")) -> list[bytes]:
    return [(folder / name).read_bytes() for name in names]
