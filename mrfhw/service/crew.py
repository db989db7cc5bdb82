"""The workers of a service: started, given jobs, watched, and replaced where they die."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import shutil
import signal
import sqlite3
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import urlencode

from mrfhw.service.queue import Job, Lease, Queue
from mrfhw.system.processors import THREADS

__all__ = ["Crew", "Place"]

T = TypeVar("T")

_LOOK = 1.0  # seconds between two looks whether an idle worker is there
_PAUSE = 5.0  # seconds without a new job after this computer could not do one
_START_SECONDS = 300.0  # until a worker is ready
_LINE = 1 << 20  # bytes of a line of a worker
_START = "from mrfhw.service.work import main; main()"


@dataclass
class Place:
    """A worker's place. pid: of the process that is there, or None. job: the id of what it does. at: sweeps done and in all."""

    number: int
    pid: int | None = None
    job: str | None = None
    at: tuple[int, int] = (0, 0)
    since: float = 0.0


class Crew:
    """So many workers on a queue.

    changed: called with the id of a job whenever it is another than before.
    board: the address of a shared board, for jobs that ask for the model of its machine; None for none.
    trouble: what keeps jobs from being done now, one line; None where nothing does.
    """

    def __init__(self, queue: Queue, workers: int, changed: Callable[[str], None], board: str | None = None):
        self._board = board
        self._queue, self._changed = queue, changed
        self.places = [Place(number) for number in range(1, workers + 1)]
        self.trouble: str | None = None
        self._processes: dict[int, asyncio.subprocess.Process] = {}
        self._tasks: list[asyncio.Task[None]] = []
        self._work = asyncio.Event()

    def start(self) -> None:
        self._tasks = [asyncio.create_task(self._at(place)) for place in self.places]
        self._tasks.append(asyncio.create_task(self._expiring()))

    async def close(self) -> None:
        """End all workers; the jobs that they had are queued."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        with contextlib.suppress(sqlite3.Error):
            await asyncio.to_thread(self._queue.take_back)

    def wake(self) -> None:
        """There is work."""
        self._work.set()
        self._work = asyncio.Event()

    def stop(self, job: str) -> None:
        """End the worker that does a job which is wanted no longer."""
        for place in self.places:
            if place.job == job:
                self._kill(place)

    def at(self, job: str) -> tuple[int, int] | None:
        """Sweeps of a job that are done, and in all."""
        return next((place.at for place in self.places if place.job == job and place.at[1]), None)

    def _kill(self, place: Place) -> None:
        process = self._processes.get(place.number)
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()

    async def _asked(self, method: Callable[..., T], *values: Any) -> T | None:
        """What a method of the queue gives; None, and a pause, where the disk does not take it."""
        try:
            found = await asyncio.to_thread(method, *values)
        except (OSError, sqlite3.Error) as error:
            self._say(f"the queue cannot be written ({error}); work waits for it")
            await asyncio.sleep(_PAUSE)
            return None
        return found

    def _say(self, line: str) -> None:
        if line != self.trouble:
            print(line, file=sys.stderr, flush=True)
        self.trouble = line

    async def _expiring(self) -> None:
        while True:
            await asyncio.sleep(min(_LOOK, self._queue.lease_seconds / 4))
            for job in await self._asked(self._queue.expire) or ():
                self.stop(job.id)
                self._tell(job)

    def _tell(self, job: Job) -> None:
        self._changed(job.id)
        self.wake()

    async def _started(self, place: Place) -> asyncio.subprocess.Process:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path), THREADS: "1"}
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-c", _START, stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
            env=environment, cwd="/", limit=_LINE)
        self._processes[place.number], place.pid = process, process.pid
        assert process.stdout is not None
        is_ready = b""
        with contextlib.suppress(TimeoutError):
            # What it imports takes long on a busy computer, and is no part of a job.
            is_ready = await asyncio.wait_for(process.stdout.readline(), _START_SECONDS)
        if not is_ready:
            self._kill(place)
            await process.wait()
        return process

    async def _at(self, place: Place) -> None:
        """What happens at a worker's place, until it is cancelled."""
        process: asyncio.subprocess.Process | None = None
        try:
            while True:
                if process is None or process.returncode is not None:
                    if process is not None:
                        await process.wait()
                        await asyncio.sleep(0.1)  # one that cannot start is not started all the time
                    process = await self._started(place)
                    continue
                work = self._work
                lease = await self._asked(self._queue.lease) if await self._asked(self._queue.has_work) else None
                if lease is None:
                    with contextlib.suppress(TimeoutError):
                        await asyncio.wait_for(work.wait(), _LOOK)
                elif process.returncode is not None:  # it died while it had nothing to do
                    await self._asked(self._queue.give_back, lease)
                else:
                    await self._do(place, process, lease)
        finally:
            self._kill(place)
            if place.number in self._processes:
                await self._processes[place.number].wait()

    async def _do(self, place: Place, process: asyncio.subprocess.Process, lease: Lease) -> None:
        place.job, place.at, place.since = lease.job.id, (0, 0), time.time()
        self._changed(lease.job.id)
        folder = self._queue.place(lease.job)
        work = folder / f"work-{lease.token}"
        assert process.stdin is not None
        task: dict[str, Any] = {"request": str(folder / "request.npz"), "work": str(work), "report": lease.job.report}
        if self._board is not None:
            weight = f"{lease.job.weight:g}"  # of a job here, and of an owner there
            task["board"] = f"{self._board}?{urlencode({'owner': f'{lease.job.owner} {weight}', 'weight': weight})}"
        try:
            with contextlib.suppress(ConnectionError):
                process.stdin.write((json.dumps(task) + "\n").encode())
                await process.stdin.drain()
            await self._follow(place, process, lease)
        finally:
            place.job = None
            shutil.rmtree(work, ignore_errors=True)
            self._tell(lease.job)

    async def _follow(self, place: Place, process: asyncio.subprocess.Process, lease: Lease) -> None:
        """Take what a worker says of its job, until it is at the end of it or gone."""
        assert process.stdout is not None
        queue, renewed = self._queue, time.monotonic()
        while line := await process.stdout.readline():
            said: dict[str, Any] = json.loads(line)
            if "at" in said:
                place.at = (said["at"][0], said["at"][1])
                self._changed(lease.job.id)
                if time.monotonic() > renewed + queue.lease_seconds / 3:
                    renewed = time.monotonic()
                    if await self._asked(queue.renew, lease) is False:
                        self._kill(place)
                continue
            if "done" in said:
                made = queue.place(lease.job) / f"work-{lease.token}" / "out"
                stored = await self._asked(queue.store, lease, made, said["done"])
                if stored is None:
                    await self._asked(queue.give_back, lease)
                elif stored:
                    self.trouble = None
            elif "failed" in said:
                await self._asked(queue.fail, lease, said["failed"])
            else:
                await self._asked(queue.give_back, lease)
                self._say(f"a job cannot be done now ({said['back']}); it waits")
                await asyncio.sleep(_PAUSE)
            return
        code = await process.wait()
        how = f"was ended by {signal.Signals(-code).name}" if code < 0 else f"ended with exit status {code}"
        await self._asked(queue.died, lease, how)
