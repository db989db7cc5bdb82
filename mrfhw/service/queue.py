"""The queue: jobs in a SQLite file, leased to workers, done once each, and never lost.

A job is queued, leased, done, failed or cancelled. What changes it is one transaction, on the disk before it is said. A lease that
runs out gives the job back, and only who holds the lease stores a result: the folder is renamed into its place and the job is done
in the same transaction.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import secrets
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mrfhw.system.errors import ProblemError

__all__ = ["CANCELLED", "DONE", "FAILED", "LEASED", "QUEUED", "Ask", "Job", "Lease", "Queue", "Quota", "Refused"]

QUEUED, LEASED, DONE, FAILED, CANCELLED = STATES = ("queued", "leased", "done", "failed", "cancelled")
_ADVANCE = 1.0  # seconds that a job counts for its owner at least, from its beginning on
_VERSION = 1  # of the tables
_ID = re.compile(r"[0-9a-f]{16}")
_TABLES = """
CREATE TABLE jobs (
    number INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT NOT NULL UNIQUE, owner TEXT NOT NULL, key TEXT NOT NULL, digest TEXT NOT NULL,
    application TEXT NOT NULL, report INTEGER NOT NULL, weight REAL NOT NULL, state TEXT NOT NULL, attempts INTEGER NOT NULL,
    deaths INTEGER NOT NULL, submitted REAL NOT NULL, began REAL, ended REAL, lease TEXT, until REAL,
    request_bytes INTEGER NOT NULL, result_bytes INTEGER NOT NULL, stored INTEGER NOT NULL, error TEXT, files TEXT NOT NULL,
    UNIQUE (owner, key));
CREATE INDEX jobs_of_state ON jobs (state, owner, number);
CREATE TABLE owners (owner TEXT PRIMARY KEY, served REAL NOT NULL);
"""


class Refused(ProblemError):
    """What cannot be done for who asks. status: of HTTP."""

    def __init__(self, status: int, line: str):
        super().__init__(line)
        self.status = status


@dataclass(frozen=True)
class Quota:
    """What an owner may have. jobs: queued ones. total: bytes of requests and results."""

    jobs: int = 1000
    total: int = 10 << 30


@dataclass(frozen=True, kw_only=True)
class Ask:
    """What is asked for. digest: of all that decides the result; the others: as of `Job`."""

    owner: str
    key: str
    digest: str
    application: str
    report: bool = True
    weight: float = 1.0


@dataclass(frozen=True, kw_only=True)
class Job:
    """A job as it stands.

    number: its place among all. owner, key: what is one job. report: whether figures and a page are wanted. weight: its owner's
    share.
    attempts: how often it was begun. deaths: of these, how often its worker died. submitted, began, ended: seconds since 1970.
    request_bytes, result_bytes: on the disk. stored: how often a result was. error: why it failed, one line. files: of its result.
    """

    number: int
    id: str
    owner: str
    key: str
    digest: str
    application: str
    report: bool
    weight: float
    state: str
    attempts: int
    deaths: int
    submitted: float
    began: float | None
    ended: float | None
    request_bytes: int
    result_bytes: int
    stored: int
    error: str | None
    files: tuple[str, ...]

    @property
    def is_over(self) -> bool:
        return self.state in (DONE, FAILED, CANCELLED)


@dataclass(frozen=True)
class Lease:
    """The right to do a job. token: which lease of the job it is."""

    job: Job
    token: str


_COLUMNS = ", ".join(Job.__dataclass_fields__)


def _job(row: Sequence[Any]) -> Job:
    values = dict(zip(Job.__dataclass_fields__, row, strict=True))
    return Job(**{**values, "report": bool(values["report"]), "files": tuple(json.loads(values["files"]))})


def sync_directory(path: Path) -> None:
    """Have the names in a folder on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


class Queue:
    """The queue in a folder. Its methods may be called from any thread, and by several processes.

    lease_seconds: how long a lease holds without being renewed. deaths: at so many of its workers a job has failed.
    clock: seconds since 1970.
    Raises ProblemError in one line for a folder whose queue cannot be used, OSError for one that cannot be written.
    """

    def __init__(self, folder: Path, *, lease_seconds: float = 60.0, deaths: int = 3, quota: Quota = Quota(),
                 clock: Callable[[], float] = time.time):
        self.folder, self.lease_seconds = folder, lease_seconds
        self._deaths, self._quota, self._clock = deaths, quota, clock
        self._lock = threading.RLock()
        for path in (folder, self.incoming, folder / "jobs"):
            path.mkdir(parents=True, exist_ok=True, mode=0o700)
        try:
            self._base = sqlite3.connect(folder / "queue.sqlite", check_same_thread=False, isolation_level=None, timeout=30)
            self._base.execute("PRAGMA journal_mode = WAL")
            self._base.execute("PRAGMA synchronous = FULL")
            with self._transaction():
                version = self._base.execute("PRAGMA user_version").fetchone()[0]
                if version == 0:
                    for statement in _TABLES.split(";"):
                        self._base.execute(statement)
                    self._base.execute(f"PRAGMA user_version = {_VERSION}")
        except sqlite3.Error as error:
            if hasattr(self, "_base"):
                self._base.close()
            raise ProblemError(f"{folder / 'queue.sqlite'} cannot be used ({error}): give another folder, or check its permissions "
                               "and the space on the disk") from None
        if version > _VERSION:
            self._base.close()
            raise ProblemError(f"{folder / 'queue.sqlite'} has version {version}; this program knows {_VERSION}: take a newer "
                               "mrfhw, or give another folder")

    def close(self) -> None:
        with self._lock:
            self._base.close()

    @property
    def incoming(self) -> Path:
        """Where requests are that are on their way."""
        return self.folder / "incoming"

    def place(self, job: Job | str) -> Path:
        """The folder of a job: request.npz, and result when it is done."""
        return self.folder / "jobs" / (job if isinstance(job, str) else job.id)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        with self._lock:
            self._base.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                with contextlib.suppress(sqlite3.Error):  # a full disk has ended it already
                    self._base.execute("ROLLBACK")
                raise
            self._base.execute("COMMIT")

    def _one(self, where: str, *values: Any) -> Job | None:
        with self._lock:
            row = self._base.execute(f"SELECT {_COLUMNS} FROM jobs WHERE {where}", values).fetchone()
        return None if row is None else _job(row)

    def _set(self, job: Job, **values: Any) -> None:
        names = ", ".join(f"{name} = ?" for name in values)
        self._base.execute(f"UPDATE jobs SET {names} WHERE number = ?", (*values.values(), job.number))

    # -- who asks

    def submit(self, ask: Ask, request: Path) -> tuple[Job, bool]:
        """The job of a request whose file is moved into its place, and whether it is a new one.

        The same owner and key is the same job; one that was cancelled or has failed is queued again.
        Raises Refused for the key of another request, and beyond the quota.
        """
        now = self._clock()
        with self._transaction():
            found = self._one("owner = ? AND key = ?", ask.owner, ask.key)
            if found is not None:
                if found.digest != ask.digest or found.report != ask.report:
                    raise Refused(409, f"key is {ask.key!r:.80}, which is that of another request of {ask.owner}: give another key")
                if found.state in (CANCELLED, FAILED):
                    self._check_jobs(ask.owner)
                    self._enter(ask.owner, now)
                    self._set(found, state=QUEUED, deaths=0, error=None, began=None, ended=None)
                return self._again(found), False
            size = request.stat().st_size
            self._check_jobs(ask.owner)
            used = self._base.execute("SELECT COALESCE(SUM(request_bytes + result_bytes), 0) FROM jobs WHERE owner = ?",
                                      (ask.owner,)).fetchone()[0]
            if used + size > self._quota.total:
                raise Refused(429, f"{ask.owner} has {used} bytes here, and the request {size}; the limit is {self._quota.total}: "
                                   "have jobs forgotten that are over")
            self._enter(ask.owner, now)
            name = secrets.token_hex(8)
            place = self.place(name)
            place.mkdir(mode=0o700)
            try:
                os.replace(request, place / "request.npz")
                for folder in (place, place.parent):
                    sync_directory(folder)
                self._base.execute(
                    "INSERT INTO jobs (id, owner, key, digest, application, report, weight, state, attempts, deaths, submitted, "
                    "request_bytes, result_bytes, stored, files) VALUES (?, ?, ?, ?, ?, ?, ?, ?, 0, 0, ?, ?, 0, 0, '[]')",
                    (name, ask.owner, ask.key, ask.digest, ask.application, ask.report, ask.weight, QUEUED, now, size))
            except BaseException:
                shutil.rmtree(place, ignore_errors=True)
                raise
            return self.job(name), True

    def _again(self, job: Job) -> Job:
        found = self._one("number = ?", job.number)
        assert found is not None
        return found

    def _check_jobs(self, owner: str) -> None:
        waiting = self._base.execute("SELECT COUNT(*) FROM jobs WHERE owner = ? AND state = ?", (owner, QUEUED)).fetchone()[0]
        if waiting >= self._quota.jobs:
            raise Refused(429, f"{owner} has {waiting} jobs in the queue; the limit is {self._quota.jobs}: wait until some are "
                               "done")

    def _enter(self, owner: str, now: float) -> None:
        """Who had nothing to do begins where the others are, and has saved nothing up."""
        shares = self._shares(now)
        if owner not in shares:
            served = self._base.execute("SELECT served FROM owners WHERE owner = ?", (owner,)).fetchone()
            begin = max(0.0 if served is None else served[0], min(shares.values(), default=0.0))
            self._base.execute("INSERT OR REPLACE INTO owners VALUES (?, ?)", (owner, begin))

    def _shares(self, now: float) -> dict[str, float]:
        """Of each owner with jobs queued or leased: the seconds that were worked for them, each divided by the job's weight."""
        shares = dict(self._base.execute("SELECT owner, served FROM owners WHERE owner IN "
                                         "(SELECT owner FROM jobs WHERE state IN (?, ?))", (QUEUED, LEASED)))
        for owner, began, weight in self._base.execute("SELECT owner, began, weight FROM jobs WHERE state = ?", (LEASED,)):
            shares[owner] += max(_ADVANCE, now - began) / weight
        return shares

    def job(self, name: str, owner: str | None = None) -> Job:
        """A job by its id; of another owner there is none. Raises Refused."""
        found = self._one("id = ?", name)
        if found is None or owner not in (None, found.owner):
            raise Refused(404, f"there is no job {name!r:.40}: give the id of one")
        return found

    def jobs(self, *, owner: str | None = None, state: str | None = None, before: int | None = None, limit: int = 100) -> list[Job]:
        """Jobs, the latest first. before: those of lesser numbers."""
        wanted = {"owner = ?": owner, "state = ?": state, "number < ?": before}
        where = [one for one, value in wanted.items() if value is not None] or ["1"]
        values = [value for value in wanted.values() if value is not None]
        with self._lock:
            rows = self._base.execute(f"SELECT {_COLUMNS} FROM jobs WHERE {' AND '.join(where)} ORDER BY number DESC LIMIT ?",
                                      (*values, limit)).fetchall()
        return [_job(row) for row in rows]

    def counts(self, owner: str | None = None) -> dict[str, int]:
        """How many jobs there are in each state."""
        with self._lock:
            rows = self._base.execute("SELECT state, COUNT(*) FROM jobs WHERE ? IS NULL OR owner = ? GROUP BY state",
                                      (owner, owner)).fetchall()
        return dict.fromkeys(STATES, 0) | dict(rows)

    def cancel(self, name: str, owner: str | None = None) -> Job:
        """A job that is not over ends here; one that is over stays as it is."""
        with self._transaction():
            job = self.job(name, owner)
            if not job.is_over:
                self._charge(job)
                self._set(job, state=CANCELLED, lease=None, until=None, ended=self._clock())
            return self._again(job)

    def forget(self, name: str, owner: str | None = None) -> Job:
        """A job that is over is here no longer, nor are its files; its key is free again. Raises Refused for others."""
        with self._transaction():
            job = self.job(name, owner)
            if not job.is_over:
                raise Refused(409, f"{job.id} is {job.state}; what is over can be forgotten: cancel it first")
            self._base.execute("DELETE FROM jobs WHERE number = ?", (job.number,))
        shutil.rmtree(self.place(job), ignore_errors=True)
        return job

    # -- who works

    def has_work(self) -> bool:
        with self._lock:
            return self._base.execute("SELECT EXISTS (SELECT 1 FROM jobs WHERE state = ?)", (QUEUED,)).fetchone()[0] == 1

    def lease(self) -> Lease | None:
        """The first job of the owner who was served least, for `lease_seconds`; None where none is queued."""
        now = self._clock()
        with self._transaction():
            firsts = dict(self._base.execute("SELECT owner, MIN(number) FROM jobs WHERE state = ? GROUP BY owner", (QUEUED,)))
            if not firsts:
                return None
            shares = self._shares(now)
            number = firsts[min(firsts, key=lambda owner: (shares[owner], firsts[owner]))]
            job, token = self._one("number = ?", number), secrets.token_hex(8)
            assert job is not None
            self._set(job, state=LEASED, lease=token, until=now + self.lease_seconds, began=now, attempts=job.attempts + 1)
            return Lease(self._again(job), token)

    def _held(self, lease: Lease) -> Job | None:
        """The job, while the lease holds."""
        return self._one("number = ? AND state = ? AND lease = ? AND until > ?", lease.job.number, LEASED, lease.token,
                         self._clock())

    def renew(self, lease: Lease) -> bool:
        """Have it hold from now on; whether it held."""
        with self._transaction():
            job = self._held(lease)
            if job is not None:
                self._set(job, until=self._clock() + self.lease_seconds)
            return job is not None

    def _charge(self, job: Job) -> None:
        if job.state == LEASED and job.began is not None:
            seconds = max(_ADVANCE, self._clock() - job.began)
            self._base.execute("UPDATE owners SET served = served + ? WHERE owner = ?", (seconds / job.weight, job.owner))

    def store(self, lease: Lease, made: Path, files: Sequence[str]) -> bool:
        """Make the folder `made`, which is on the disk, the job's result, which has these files. False, and nothing is stored,
        where the lease holds no longer."""
        size = sum(path.stat().st_size for path in made.iterdir())
        with self._transaction():
            job = self._held(lease)
            if job is None:
                return False
            place = self.place(job)
            shutil.rmtree(place / "result", ignore_errors=True)  # of a process that was killed between the rename and the commit
            os.rename(made, place / "result")
            sync_directory(place)
            self._charge(job)
            self._set(job, state=DONE, lease=None, until=None, ended=self._clock(), files=json.dumps(list(files)),
                      result_bytes=size, stored=job.stored + 1, error=None)
            return True

    def fail(self, lease: Lease, line: str) -> bool:
        """The job has failed for what `line` says. False where the lease holds no longer."""
        with self._transaction():
            job = self._held(lease)
            if job is not None:
                self._charge(job)
                self._set(job, state=FAILED, lease=None, until=None, ended=self._clock(), error=line)
            return job is not None

    def give_back(self, lease: Lease) -> bool:
        """Queue the job again; nothing is wrong with it. False where the lease holds no longer."""
        with self._transaction():
            job = self._held(lease)
            if job is not None:
                self._charge(job)
                self._set(job, state=QUEUED, lease=None, until=None)
            return job is not None

    def died(self, lease: Lease, how: str) -> bool:
        """Queue the job of a worker that is gone again; as often as `deaths` it has failed. False where the lease holds no longer.

        how: what became of the worker, such as "was ended by SIGKILL".
        """
        with self._transaction():
            job = self._held(lease)
            if job is not None:
                self._bury(job, how)
            return job is not None

    def _bury(self, job: Job, how: str) -> None:
        self._charge(job)
        deaths = job.deaths + 1
        if deaths < self._deaths:
            self._set(job, state=QUEUED, lease=None, until=None, deaths=deaths)
        else:
            self._set(job, state=FAILED, lease=None, until=None, deaths=deaths, ended=self._clock(),
                      error=f"its worker {how}, and so {deaths} times: give a smaller problem where memory is short")

    def expire(self) -> list[Job]:
        """Take back the jobs whose leases have run out, as of workers that are gone; these."""
        with self._lock:
            if not self._base.execute("SELECT EXISTS (SELECT 1 FROM jobs WHERE state = ? AND until <= ?)",
                                      (LEASED, self._clock())).fetchone()[0]:
                return []
        with self._transaction():
            rows = self._base.execute(f"SELECT {_COLUMNS} FROM jobs WHERE state = ? AND until <= ?",
                                      (LEASED, self._clock())).fetchall()
            for row in rows:
                self._bury(_job(row), f"said nothing for {self.lease_seconds:g} s")
        return [_job(row) for row in rows]

    def take_back(self) -> int:
        """Queue all leased jobs again, and remove what was on its way; for who alone works on the folder. How many there were."""
        with self._transaction():
            for row in self._base.execute(f"SELECT {_COLUMNS} FROM jobs WHERE state = ?", (LEASED,)).fetchall():
                self._charge(_job(row))
            taken = self._base.execute("UPDATE jobs SET state = ?, lease = NULL, until = NULL WHERE state = ?",
                                       (QUEUED, LEASED)).rowcount
            known = {row[0] for row in self._base.execute("SELECT id FROM jobs")}
        for left in self.incoming.iterdir():
            left.unlink(missing_ok=True)
        for place in (self.folder / "jobs").iterdir():
            if _ID.fullmatch(place.name) and place.name not in known:
                shutil.rmtree(place, ignore_errors=True)
        for left in (self.folder / "jobs").glob("*/work-*"):
            shutil.rmtree(left, ignore_errors=True)
        return taken
