"""Tasks on the workers of a Dask cluster, on this or on other computers: the counterpart of `mrfhw.system.workers.in_workers`.

Dask starts workers, finds them and carries bytes. Which worker has which task, and what becomes of one whose worker is gone, is
decided here: Dask blames all that a lost worker had, and runs again what has begun without a word.
"""

from __future__ import annotations

import contextlib
import ipaddress
import itertools
import logging
import os
import pickle
import queue
import re
import sys
import tempfile
import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import CancelledError, ThreadPoolExecutor
from dataclasses import dataclass, field
from types import TracebackType
from typing import Any, Self

from mrfhw.system.errors import ProblemError
from mrfhw.system.versions import difference, versions
from mrfhw.system.workers import Died, Worker, opened, outcome_of

__all__ = ["DEATHS", "LATER", "Cluster", "check_address", "on_cluster"]

DEATHS = 3  # of workers, at a task, after which it has failed
CONNECT_SECONDS = 10.0
GONE_SECONDS = 30.0  # without a word of the scheduler
PATIENCE_SECONDS = 10.0  # without a worker that may have a task, after which that is said
_LOOK_SECONDS = 1.0
_AHEAD = 64  # tasks that are taken and wait for a worker that has what they need
_QUIET = ("distributed", "distributed.client", "distributed.core", "distributed.comm")

LATER = object()  # among tasks: the next one is there when others have ended, and is asked for again then

Say = Callable[[str], object]


def check_address(address: str) -> None:
    """Raise ProblemError for what is no address of a scheduler, and for one beyond this computer without TLS."""
    found = re.fullmatch(r"(tls|tcp)://(?:\[([^][]+)\]|([^][:/@#?]+)):([0-9]{1,5})", address)
    if found is None or not 0 < int(found[4]) < 1 << 16:
        raise ProblemError(f"cluster is {address!r:.80}; it is the address of a Dask scheduler: give tls://HOST:PORT, or "
                           "tcp://127.0.0.1:PORT on this computer")
    if found[1] == "tcp" and not _is_here(found[2] or found[3]):
        raise ProblemError(f"cluster is {address}, which others reach, and who reaches a scheduler runs programs there; beyond "
                           "127.0.0.1 it needs TLS: give tls://HOST:PORT")


def _is_here(host: str) -> bool:
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host).is_loopback
    return host == "localhost"


def _check_worker(address: str, cluster: str) -> None:
    """Raise ProblemError for a worker that is reached less safely than its scheduler."""
    scheme, _, rest = address.partition("://")
    if scheme != cluster.partition("://")[0] or (scheme == "tcp" and not _is_here(rest.rpartition(":")[0].strip("[]"))):
        raise ProblemError(f"the worker {address} is reached without TLS by others: start it with tls-ca-file, tls-cert and "
                           "tls-key")


# -- on a worker

_own = threading.local()  # of each thread of a worker the process that does its tasks
_at_work: dict[str, Worker] = {}  # by the task's key


def _in_a_folder(task: tuple[str, bytes]) -> bytes:
    """In the process: what a task comes to, done in an empty folder, which is gone afterwards."""
    above, data = task
    with tempfile.TemporaryDirectory(prefix="mrfhw-", dir=above) as folder:
        os.chdir(folder)
        try:
            function, what = pickle.loads(data)
            return outcome_of(function, what)
        finally:
            os.chdir(above)


def _perform(key: str, topic: str, data: bytes) -> bytes | str:
    """On a worker: what a task comes to, `opened`, or how its process ended. It is said when it begins."""
    from distributed import get_worker  # type: ignore[attr-defined,unused-ignore]

    worker = get_worker()
    worker.log_event(topic, key)
    process = getattr(_own, "process", None)
    if process is None:
        process = _own.process = Worker(1)
    _at_work[key] = process
    try:
        outcome: bytes = process.done(_in_a_folder, (worker.local_directory, data))
        return outcome
    except Died as error:
        return str(error)
    finally:
        del _at_work[key]


def _stop(keys: list[str]) -> None:
    """On a worker: end what is at work on tasks that nobody wants any more."""
    for key in keys:
        if (process := _at_work.get(key)) is not None:
            process.end()


# -- here


@dataclass(eq=False)
class _Job:
    """A task that is not done. needs: the resource that its worker must have. data: what is sent, from its first begin on.

    key, worker, future: of the attempt under way. begun: whether it is at work there.
    """

    number: int
    task: Any
    needs: str | None
    data: bytes = b""
    deaths: int = 0
    key: str = ""
    worker: str = ""
    future: Any = None
    begun: bool = False


@dataclass
class _Member:
    """A worker that takes tasks: threads, each of which does one at a time, and resources by name."""

    threads: int
    resources: dict[str, float]


@dataclass
class _Known:
    """Workers by address. asked: those whose versions have been asked for. refused: those that take no tasks."""

    members: dict[str, _Member] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)
    refused: dict[str, str] = field(default_factory=dict)


def _on_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


class Cluster:
    """The workers of a Dask scheduler, as a context manager, within which its workers may come and go.

    address: tls://HOST:PORT, or tcp://HOST:PORT of this computer. Certificates are those of Dask's own configuration.
    say: told in a line what nobody else says: workers that are left out, and tasks that wait for one.

    Raises ProblemError in one line, after CONNECT_SECONDS at most, for a scheduler that is not reached, for workers whose program
    has other versions, since bits depend on it, and for those reached without TLS.
    """

    def __init__(self, address: str, say: Say = _on_stderr):
        check_address(address)
        try:
            import distributed  # extra: cluster
        except ImportError as error:
            raise ProblemError(f"a cluster needs {error.name}, which is not installed: pip install 'mrfhw[cluster]'") from None
        self._address, self._say, self._known = address, say, _Known()
        self._news = queue.SimpleQueue[tuple[str, str, Any]]()
        self._topic = f"mrfhw-{uuid.uuid4().hex}"
        self._heard = self._looked = time.monotonic()
        with contextlib.ExitStack() as held:
            held.enter_context(_quiet())
            self._client = _connected(distributed, address)
            held.callback(self._client.close, CONNECT_SECONDS)
            self._pool = ThreadPoolExecutor(16, "mrfhw-cluster")
            held.callback(self._pool.shutdown, wait=False, cancel_futures=True)
            self._client.subscribe_topic(self._topic, lambda event: self._news.put(("begun", event[1], None)))
            self._meet()
            self._held = held.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None) -> None:
        self._held.close()

    # -- workers

    def _meet(self) -> None:
        """Check the workers that are there. Raises ProblemError where one cannot take tasks."""
        end = time.monotonic() + CONNECT_SECONDS
        self._look()
        while len(self._known.members) < len(self._known.asked) and (left := end - time.monotonic()) > 0:
            with contextlib.suppress(queue.Empty):
                self._welcome(*self._news.get(timeout=left)[1:])
            if self._known.refused:
                raise ProblemError(next(iter(self._known.refused.values())))

    def _look(self) -> set[str]:
        """Ask the scheduler for its workers, and those that are new for their versions; the addresses of those that are gone.

        Raises ProblemError where the scheduler is gone.
        """
        self._looked = time.monotonic()
        try:
            found = self._client.sync(self._client.scheduler.identity, callback_timeout=CONNECT_SECONDS)["workers"]
            self._heard = time.monotonic()
        except (OSError, RuntimeError, TypeError, KeyError):  # while it is not connected
            if self._client.status in ("closed", "closing") or time.monotonic() - self._heard > GONE_SECONDS:
                raise ProblemError(f"the scheduler {self._address} is gone: start it, and go on with resume") from None
            return set()
        for address, one in found.items():
            if address in self._known.members:
                self._known.members[address] = _member(one)
            elif address not in self._known.asked:
                self._known.asked.add(address)
                self._pool.submit(self._ask, address, _member(one))
        gone = self._known.asked - set(found)
        for address in gone:
            self._known.members.pop(address, None)
            self._known.refused.pop(address, None)
        self._known.asked -= gone
        return gone

    def _ask(self, address: str, member: _Member) -> None:
        try:
            answer = self._client.run(versions, workers=[address], on_error="return").get(address)
        except Exception as error:
            answer = error
        self._news.put(("joined", address, (member, answer)))

    def _welcome(self, address: str, what: tuple[_Member, Any]) -> None:
        """Take a worker in that has said its versions, or refuse it."""
        member, answer = what
        if address not in self._known.asked:
            return
        if answer is None or isinstance(answer, OSError):  # it is gone, or will be asked again
            self._known.asked.discard(address)
            return
        try:
            _check_worker(address, self._address)
            if isinstance(answer, BaseException):
                raise ProblemError(f"the worker {address} does not have this program ({' '.join(str(answer).split())[:120]}): "
                                   f"install mrfhw {versions()['mrfhw']} there")
            if differs := difference(answer):
                raise ProblemError(f"the worker {address} has {differs}; bits depend on them: install the same on both")
        except ProblemError as error:
            self._known.refused[address] = str(error)
            return
        self._known.members[address] = member

    # -- tasks

    def outcomes(self, function: Callable[[Any], Any], tasks: Iterable[Any], *, packed: Callable[[Any], Any] | None = None,
                 needs: Callable[[Any], str | None] | None = None) -> Generator[tuple[int, Any], None, None]:
        """(number, outcome) of each task as they end, where what was raised is the outcome: `function(task)` in a process of a
        worker, whose working directory is an empty folder that is gone afterwards.

        function: of a module that can be imported. Its outcome is what comes back, whole.
        tasks: each is taken when a worker is free for it, one for each of the worker's threads. LATER among them has no number.
        packed: the task as it is sent, made when it is sent first; it can be pickled. What it raises is the outcome.
        needs: the name of a Dask resource of which the task has one for itself while it is at work, None for none.
        Died is the outcome of a task at which DEATHS workers died; the others go on. Each number comes once. Raises ProblemError
        where the scheduler is gone. When the iterator is closed, what is at work is ended.
        """
        work = _Tasks(tasks, needs or (lambda task: None))
        told = _Patience(self._say)
        try:
            while True:
                yield from self._sent(function, work, packed or (lambda task: task))
                if not work.running and not work.waiting and work.all_taken:
                    return
                told.of(work, self._known)
                try:
                    what, where, more = self._news.get(timeout=max(0.0, self._looked + _LOOK_SECONDS - time.monotonic()))
                except queue.Empty:
                    yield from self._lost(work, self._look())
                    continue
                if what == "joined":
                    self._welcome(where, more)
                    if where in self._known.refused:
                        self._say(f"Note: {self._known.refused[where]}")
                elif (job := work.running.get(where)) is not None:
                    yield from self._began(work, job) if what == "begun" else self._ended(work, job, more)
        finally:
            self._abandon(work)

    def _sent(self, function: Callable[[Any], Any], work: _Tasks, packed: Callable[[Any], Any]) -> Iterator[tuple[int, Any]]:
        """Give each thread that is free a task; what cannot be sent is over."""
        while (found := work.next_for(self._known.members)) is not None:
            job, address = found
            if not job.data:
                try:
                    job.data = pickle.dumps((function, packed(job.task)), pickle.HIGHEST_PROTOCOL)
                except Exception as error:
                    yield job.number, error
                    continue
            job.key, job.worker, job.begun = f"{self._topic}-{uuid.uuid4().hex}", address, False
            with _of_any_size():
                job.future = self._client.submit(_perform, job.key, self._topic, job.data, key=job.key, workers=[address],
                                                 allow_other_workers=False, pure=False, retries=0,
                                                 resources={job.needs: 1} if job.needs else None)
            work.running[job.key] = job
            job.future.add_done_callback(self._fetch)

    def _fetch(self, future: Any) -> None:
        """Have a thread bring what a task has come to, which waits where its worker is gone meanwhile."""
        def fetch() -> None:
            try:
                found = future.result()
            except BaseException as error:
                found = error
            self._news.put(("ended", future.key, found))

        with contextlib.suppress(RuntimeError):  # all is over
            self._pool.submit(fetch)

    def _began(self, work: _Tasks, job: _Job) -> Iterator[tuple[int, Any]]:
        if job.begun:  # again, at an address that another worker has taken over
            job.deaths += 1
            if job.deaths >= DEATHS:
                yield from self._again(work, job, 0)
        job.begun = True

    def _ended(self, work: _Tasks, job: _Job, found: Any) -> Iterator[tuple[int, Any]]:
        if isinstance(found, str):
            yield from self._again(work, job, 1, found)
        elif isinstance(found, bytes):
            work.forget(job)
            job.future.release()
            try:
                yield job.number, opened(found)
            except Exception as error:
                yield job.number, error
        elif _is_of_its_worker(found):
            yield from self._again(work, job, job.begun, " ".join(str(found).split())[:160] or "its worker is gone")
        else:
            work.forget(job)
            yield job.number, found

    def _lost(self, work: _Tasks, gone: set[str]) -> Iterator[tuple[int, Any]]:
        for job in [job for job in work.running.values() if job.worker in gone]:
            yield from self._again(work, job, job.begun)

    def _again(self, work: _Tasks, job: _Job, deaths: int, said: str = "its worker is gone") -> Iterator[tuple[int, Any]]:
        """Have another worker do a task, unless it has had too many. deaths: more that it is to blame for."""
        work.forget(job)
        with contextlib.suppress(Exception):  # of a scheduler that is gone
            job.future.cancel()
        job.deaths += deaths
        if job.deaths >= DEATHS:
            yield job.number, Died(f"{job.deaths} workers died while they were at it, of the last one: {said}")
        else:
            work.waiting.append(job)

    def _abandon(self, work: _Tasks) -> None:
        """End what is at work."""
        jobs, work.running = list(work.running.values()), {}
        if not jobs or self._client.status != "running":
            return
        with contextlib.suppress(Exception):
            self._client.cancel([job.future for job in jobs])
            self._pool.submit(self._client.run, _stop, [job.key for job in jobs], on_error="ignore",
                              workers=[*{job.worker for job in jobs} & set(self._known.members)]).result(CONNECT_SECONDS)


class _Tasks:
    """What is to be done. running: by key. waiting: taken, and to be done when a worker is free for it. all_taken: whether no
    more come."""

    def __init__(self, tasks: Iterable[Any], needs: Callable[[Any], str | None]):
        self._source, self._needs, self._numbers = iter(tasks), needs, itertools.count()
        self.running: dict[str, _Job] = {}
        self.waiting: list[_Job] = []
        self.all_taken = False

    def forget(self, job: _Job) -> None:
        del self.running[job.key]

    def next_for(self, members: dict[str, _Member]) -> tuple[_Job, str] | None:
        """A task and the worker that is free for it, the least busy one; None where there is none of both."""
        busy = Counter(job.worker for job in self.running.values())
        free = sorted((address for address, one in members.items() if busy[address] < one.threads),
                      key=lambda address: busy[address] / members[address].threads)
        if not free:
            return None
        held = Counter((job.worker, job.needs) for job in self.running.values())

        def place(job: _Job) -> str | None:
            return next((address for address in free if job.needs is None
                         or held[address, job.needs] + 1 <= members[address].resources.get(job.needs, 0)), None)

        for job in self.waiting:
            if (address := place(job)) is not None:
                self.waiting.remove(job)
                return job, address
        while not self.all_taken and len(self.waiting) < _AHEAD:
            try:
                task = next(self._source)
            except StopIteration:
                self.all_taken = True
                break
            if task is LATER:
                break
            job = _Job(next(self._numbers), task, self._needs(task))
            if (address := place(job)) is not None:
                return job, address
            self.waiting.append(job)
        return None


class _Patience:
    """Says once, after a while, what tasks wait for."""

    def __init__(self, say: Say):
        self._say, self._line, self._since, self._said = say, "", time.monotonic(), False

    def of(self, work: _Tasks, known: _Known) -> None:
        line = self._wanted(work, known)
        if line != self._line:
            self._line, self._since, self._said = line, time.monotonic(), False
        if line and not self._said and time.monotonic() - self._since > PATIENCE_SECONDS:
            self._said = True
            self._say(f"Note: waiting for a worker{line}")

    def _wanted(self, work: _Tasks, known: _Known) -> str:
        """What is missing; nothing where nothing is."""
        if not known.members:
            return ": start one, or leave cluster out"
        there = {name for one in known.members.values() for name, number in one.resources.items() if number >= 1}
        missing = sorted({job.needs for job in work.waiting if job.needs is not None} - there)
        return f" with the resource {missing[0]}: start one with --resources '{missing[0]}=1'" if missing else ""


def on_cluster(function: Callable[[Any], Any], tasks: Iterable[Any], address: str, *, packed: Callable[[Any], Any] | None = None,
               needs: Callable[[Any], str | None] | None = None, say: Say = _on_stderr) -> Iterator[tuple[int, Any]]:
    """(number, outcome) of each task, as of `in_workers`, on the cluster at `address`; see `Cluster` and `Cluster.outcomes`.

    Raises ProblemError at once for a cluster that cannot be had.
    """
    cluster = Cluster(address, say)

    def found() -> Iterator[tuple[int, Any]]:
        with cluster:
            yield from cluster.outcomes(function, tasks, packed=packed, needs=needs)

    return found()


def _member(identity: dict[str, Any]) -> _Member:
    return _Member(int(identity["nthreads"]), dict(identity["resources"]))


def _is_of_its_worker(error: BaseException) -> bool:
    """Whether it says that a worker or the way to it is gone, and nothing of the task."""
    from distributed import KilledWorker  # type: ignore[attr-defined,unused-ignore]

    return isinstance(error, (KilledWorker, CancelledError, OSError))


def _connected(distributed: Any, address: str) -> Any:
    """A client of the scheduler. Raises ProblemError."""
    try:
        security = distributed.Security()
        if address.startswith("tls") and not (security.tls_ca_file and security.tls_client_cert and security.tls_client_key):
            raise ProblemError(f"cluster is {address}, and Dask's configuration has no certificates: set "
                               "distributed.comm.tls.ca-file, .client.cert and .client.key, such as by "
                               "DASK_DISTRIBUTED__COMM__TLS__CA_FILE")
        return _within(CONNECT_SECONDS + 1, lambda: distributed.Client(address, timeout=CONNECT_SECONDS, security=security,
                                                                       set_as_default=False))
    except ProblemError:
        raise
    except (OSError, ValueError, TypeError) as error:  # certificates that are none among them
        why = " ".join(str(error.__cause__ or error).split())[:160]
        raise ProblemError(f"cluster is {address}, and no scheduler answers there as it should ({why}): check the address, the "
                           "certificates and that it runs") from None


def _within(seconds: float, make: Callable[[], Any]) -> Any:
    """What is made, by a thread that is left alone where it takes longer: Dask waits without end for who listens and says nothing.

    Raises TimeoutError then, and what making it raises."""
    found = queue.SimpleQueue[Any]()

    def attempt() -> None:
        try:
            found.put(make())
        except Exception as error:
            found.put(error)

    threading.Thread(target=attempt, daemon=True).start()
    try:
        made = found.get(timeout=seconds)
    except queue.Empty:
        raise TimeoutError(f"no answer in {seconds:g} s") from None
    if isinstance(made, Exception):
        raise made
    return made


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Dask says nothing on stderr by itself: what matters of it is said in a line."""
    former = {name: logging.getLogger(name).level for name in _QUIET}
    try:
        for name in _QUIET:
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        yield
    finally:
        for name, level in former.items():
            logging.getLogger(name).setLevel(level)


def _of_any_size() -> contextlib.AbstractContextManager[Any]:
    """Pictures may be large; that is no mistake of a graph."""
    import dask

    found: contextlib.AbstractContextManager[Any] = dask.config.set({"distributed.admin.large-graph-warning-threshold": "1 TiB"})
    return found
