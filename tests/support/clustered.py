"""A Dask cluster that really runs: a scheduler and workers with their nannies, in processes of their own on this computer."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from support.checkout import ROOT
from support.served import children

SECONDS = 120  # that anything may take on a busy computer


def until(condition: Callable[[], Any], what: str) -> Any:
    """Wait for something that comes true; what it is."""
    end = time.monotonic() + SECONDS
    while not (found := condition()):
        assert time.monotonic() < end, what
        time.sleep(0.02)
    return found


class Nanny:
    """A nanny, whose worker it starts again when that dies."""

    def __init__(self, process: subprocess.Popen[bytes]):
        self.process = process

    @property
    def workers(self) -> list[int]:
        """The processes below it that are workers, once each."""
        return [pid for pid in children(self.process.pid) if b"spawn_main" in Path(f"/proc/{pid}/cmdline").read_bytes()]

    def kill_worker(self) -> None:
        os.kill(until(lambda: self.workers, "a worker")[0], signal.SIGKILL)

    def kill(self) -> None:
        """With its worker, for good."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()


class Running:
    """A scheduler at a port that is free, and its workers; a context manager.

    folder: for its files. options: of scheduler and workers, such as --tls-cert FILE. protocol: tcp or tls.
    """

    def __init__(self, folder: Path, *options: str, protocol: str = "tcp"):
        self._folder, self._options = folder, options
        folder.mkdir(parents=True, exist_ok=True)
        file = folder / "scheduler.json"
        self.scheduler = self._started("scheduler", "--host", f"{protocol}://127.0.0.1", "--port", "0", "--scheduler-file",
                                       str(file))
        self.nannies: list[Nanny] = []

        def address() -> str:
            with contextlib.suppress(OSError, ValueError):
                return str(json.loads(file.read_text())["address"])
            assert self.scheduler.poll() is None, (folder / "log").read_text()
            return ""

        try:
            self.address: str = until(address, "a scheduler")
        except BaseException:
            self.close()
            raise

    def _started(self, *words: str, **environment: str) -> subprocess.Popen[bytes]:
        path = os.pathsep.join([str(ROOT), str(ROOT / "tests")])
        with (self._folder / "log").open("ab") as log:
            return subprocess.Popen([sys.executable, "-m", "dask", *words, *self._options, "--no-dashboard"], stdout=log,
                                    stderr=log, start_new_session=True, cwd=self._folder,
                                    env={**os.environ, "PYTHONPATH": path, "MRFHW_THREADS": "1", **environment})

    def add(self, *words: str, **environment: str) -> Nanny:
        """A worker more. It is there when its scheduler knows it."""
        nanny = Nanny(self._started("worker", self.address, "--nworkers", "1", "--nthreads", "1", "--local-directory",
                                    str(self._folder / "scratch"), *words, **environment))
        self.nannies.append(nanny)
        return nanny

    def close(self) -> None:
        for one in self.nannies:
            one.kill()
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.scheduler.pid, signal.SIGKILL)
        self.scheduler.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self.close()


@contextlib.contextmanager
def running(folder: Path, *options: str, workers: int = 2, **more: Any) -> Iterator[Running]:
    """A scheduler with so many workers, which may still be on their way to it."""
    with Running(folder, *options, **more) as cluster:
        for _ in range(workers):
            cluster.add()
        yield cluster


# -- tasks of workers


def nap(seconds: float) -> tuple[str, list[str]]:
    """Sleeps; the working directory, and what is in it."""
    time.sleep(seconds)
    Path("left-over").touch()
    return os.getcwd(), os.listdir()


def ends(which: str) -> str:
    """Ends its process or the worker that this belongs to, unless told otherwise."""
    if which == "process":
        os.kill(os.getpid(), signal.SIGKILL)
    if which == "worker":
        os.kill(os.getppid(), signal.SIGKILL)
        time.sleep(SECONDS)
    if which == "wrong":
        raise KeyError(which)
    return which
