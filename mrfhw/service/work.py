"""A worker: a process that does one job after the other as it is told through its standard input, and ends when that does.

It is told {"request": FILE, "work": FOLDER, "report": BOOL}, a line each, with {"board": ADDRESS} where the service has one, and
says lines: {"ready": true} when it has begun; {"at": [DONE, TOTAL]} every second while it works; then {"done": NAMES} of the files
in FOLDER/out, which are on the disk, {"failed": LINE} for what cannot be, or {"back": LINE} where this computer cannot do it now.
"""

from __future__ import annotations

import contextlib
import errno
import json
import os
import queue
import shutil
import signal
import sys
import threading
from pathlib import Path
from typing import IO, Any

from mrfhw.applications.parcel import checked, unpacked
from mrfhw.field.records import LIMIT_BYTES
from mrfhw.host.links import LinkError
from mrfhw.machine.config import ConfigError
from mrfhw.machine.derived import Derived
from mrfhw.machine.manifest import DEFAULTS
from mrfhw.report.outputs import write_outputs
from mrfhw.runs.chains import Watch
from mrfhw.runs.request import Request
from mrfhw.runs.runner import Runner
from mrfhw.sharing.tenant import TenantBackend
from mrfhw.system.errors import ProblemError
from mrfhw.system.files import said

__all__ = ["FULL", "main"]

FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)  # what a full disk says
_BEAT = 1.0  # seconds


class _Progress(Watch):
    """How far the job under way is. at: sweeps done and in all."""

    def __init__(self) -> None:
        self.at = (0, 0)

    def sweeps(self, done: int, total: int) -> None:
        self.at = (done, total)


class _Voice:
    """What is said to the service, a line at a time, from several threads."""

    def __init__(self, file: IO[bytes]):
        self._file, self._lock = file, threading.Lock()

    def say(self, **line: Any) -> None:
        with self._lock:
            self._file.write((json.dumps(line) + "\n").encode())
            self._file.flush()


def _on_disk(folder: Path) -> None:
    for path in (*folder.iterdir(), folder):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _performed(task: dict[str, Any], progress: _Progress) -> list[str]:
    """Do a job; the names of its files."""
    work = Path(task["work"])
    shutil.rmtree(work, ignore_errors=True)
    (work / "in").mkdir(parents=True)
    os.chdir(work / "in")
    request = unpacked(checked(Request.load(task["request"], limit=LIMIT_BYTES)))
    if task.get("board"):
        request = _on_board(request, task["board"])
    with Runner(request, add_up=True, watch=progress) as runner:
        found = runner.result()[0]
    report = write_outputs(work / "out", found.job, found.solution, page=task["report"])
    _on_disk(work / "out")
    return list(report["files"])


def _on_board(request: Request, board: str) -> Request:
    """The same on a shared board, where it asks for the model of its machine, which has the same bits."""
    if request.backend != "model":
        return request
    try:
        machine = TenantBackend.machine_at(board)
    except LinkError:  # it is not shared now, and the model has the same bits
        return request
    job = request.job()
    others = job.config is None or machine is None or Derived.of(job.config).digest != Derived.of(machine).digest
    if others or job.most_sweeps > job.run.sweeps:  # a board shows no sweeps by which a run would go on
        return request
    return request.with_options(backend=board, machine=request.machine if request.given & set(DEFAULTS) else machine)


def _outcome(task: dict[str, Any], progress: _Progress) -> dict[str, Any]:
    try:
        return {"done": _performed(task, progress)}
    except (ProblemError, ConfigError) as error:
        line = str(error).replace(task["request"], "the request")
        return {"failed": " ".join(line.split())}
    except MemoryError:
        return {"failed": "the problem does not fit in memory: give a window or fewer labels"}
    except OSError as error:
        return {"back" if error.errno in FULL else "failed": said(error)}
    except Exception as error:  # a mistake of this program, which the next job need not have
        return {"failed": " ".join(f"{type(error).__name__}: {error}".split())[:300]}
    finally:
        os.chdir("/")


def _told(tasks: queue.SimpleQueue[dict[str, Any]]) -> None:
    """Take tasks as they come. Without the service, nobody wants what is made here."""
    with contextlib.suppress(ValueError, OSError):
        for line in sys.stdin.buffer:
            tasks.put(json.loads(line))
    os._exit(0)


def main() -> None:
    """Work until the standard input ends. What a job prints goes nowhere."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C goes to all processes, and the service decides what it means
    voice, nothing = _Voice(os.fdopen(os.dup(1), "wb")), os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, 1)
    tasks: queue.SimpleQueue[dict[str, Any]] = queue.SimpleQueue()
    threading.Thread(target=_told, args=(tasks,), daemon=True).start()
    voice.say(ready=True)
    while True:
        task, progress, ended = tasks.get(), _Progress(), threading.Event()

        def beat(progress: _Progress = progress, ended: threading.Event = ended) -> None:
            while not ended.wait(_BEAT):
                voice.say(at=progress.at)

        beating = threading.Thread(target=beat, daemon=True)
        beating.start()
        outcome = _outcome(task, progress)
        ended.set()
        beating.join()
        voice.say(**outcome)

