"""The queue by itself, with a clock of the test's: leases, one result, shares, quotas, what a kill leaves."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from mrfhw.service.queue import Ask, Lease, Queue, Quota, Refused
from mrfhw.system.errors import ProblemError

ONCE = pytest.mark.claim("service", "a job that is taken is done once: whatever is killed, none is lost and none is stored twice")
FAIR = pytest.mark.claim("service", "owners share the workers by their weights, within their quotas")


class Clock:
    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def queue(tmp_path: Path, clock: Clock) -> Iterator[Queue]:
    with closing(Queue(tmp_path / "queue", lease_seconds=10, clock=clock, quota=Quota(jobs=50, total=10_000))) as found:
        yield found


def asked(queue: Queue, key: str, owner: str = "a", weight: float = 1.0, digest: str | None = None) -> str:
    path = queue.incoming / "one"
    path.write_bytes(b"request")
    job, _ = queue.submit(Ask(owner=owner, key=key, digest=digest or key, application="problem", weight=weight), path)
    return job.id


def made(queue: Queue, lease: Lease, text: str = "result") -> Path:
    folder = queue.place(lease.job) / f"work-{lease.token}" / "out"
    folder.mkdir(parents=True)
    (folder / "labels.npy").write_text(text)
    return folder


def leased(queue: Queue) -> Lease:
    lease = queue.lease()
    assert lease is not None
    return lease


@ONCE
def test_a_key_is_one_job_and_a_result_is_stored_once(queue: Queue) -> None:
    first = asked(queue, "k")
    assert asked(queue, "k") == first
    assert asked(queue, "k", owner="b") != first
    with pytest.raises(Refused, match="key is 'k', which is that of another request of a"):
        asked(queue, "k", digest="other")
    lease = leased(queue)
    assert lease.job.id == first
    assert queue.store(lease, made(queue, lease), ["labels.npy"])
    again = queue.place(first) / "again"
    again.mkdir()
    assert not queue.store(lease, again, [])
    job = queue.job(first)
    assert (job.state, job.stored, job.files, job.result_bytes) == ("done", 1, ("labels.npy",), 6)
    assert (queue.place(first) / "result" / "labels.npy").read_text() == "result"
    assert asked(queue, "k") == first
    assert queue.job(first).state == "done"


@ONCE
def test_a_lease_that_has_run_out_stores_nothing(queue: Queue, clock: Clock) -> None:
    job = asked(queue, "k")
    late = leased(queue)
    clock.now += 9
    assert queue.renew(late)
    clock.now += 9
    assert queue.expire() == []
    clock.now += 1
    assert not queue.store(late, made(queue, late, "late"), ["labels.npy"])
    assert [one.id for one in queue.expire()] == [job]
    assert not queue.renew(late)
    lease = leased(queue)
    assert lease.token != late.token
    for refused in (queue.renew, queue.give_back):
        assert not refused(late)
    assert not queue.fail(late, "line")
    assert not queue.died(late, "was ended")
    assert not queue.store(late, queue.place(job) / f"work-{late.token}" / "out", ["labels.npy"])
    assert queue.store(lease, made(queue, lease, "right"), ["labels.npy"])
    assert (queue.place(job) / "result" / "labels.npy").read_text() == "right"


@ONCE
def test_deaths_are_bounded_and_a_mistake_is_final(queue: Queue, clock: Clock) -> None:
    job = asked(queue, "k")
    assert queue.died(leased(queue), "was ended by SIGKILL")
    assert queue.give_back(leased(queue))
    leased(queue)
    clock.now += 11
    queue.expire()
    assert queue.job(job).state == "queued"
    assert queue.died(leased(queue), "was ended by SIGKILL")
    found = queue.job(job)
    assert (found.state, found.attempts, found.deaths) == ("failed", 4, 3)
    assert found.error == "its worker was ended by SIGKILL, and so 3 times: give a smaller problem where memory is short"
    assert queue.lease() is None
    assert asked(queue, "k") == job
    assert queue.job(job).state == "queued"
    assert queue.fail(leased(queue), "labels is 1; the limits are 2 to 256: give more")
    assert queue.job(job).error == "labels is 1; the limits are 2 to 256: give more"


@ONCE
def test_what_a_kill_leaves_is_taken_back(queue: Queue, clock: Clock) -> None:
    """Leases, requests on their way, folders without a job, and a result that was renamed before its job was done."""
    jobs = [asked(queue, key) for key in "ab"]
    lease, _ = leased(queue), leased(queue)
    half = queue.place(lease.job) / "result"
    made(queue, lease, "half").rename(half)
    (queue.incoming / "part").write_bytes(b"cut")
    stray = queue.folder / "jobs" / ("0" * 16)
    stray.mkdir()
    queue.close()
    again = Queue(queue.folder, clock=clock)
    assert again.take_back() == 2
    assert [again.job(job).state for job in jobs] == ["queued", "queued"]
    assert not list(again.incoming.iterdir())
    assert not stray.exists()
    assert not list(again.place(jobs[0]).glob("work-*"))
    lease = leased(again)
    assert again.store(lease, made(again, lease, "whole"), ["labels.npy"])
    assert (half / "labels.npy").read_text() == "whole"
    assert again.job(jobs[0]).deaths == 0
    again.close()


@FAIR
@pytest.mark.parametrize(("weight", "share"), [(1.0, 20), (3.0, 30)])
def test_owners_share_by_weights(queue: Queue, clock: Clock, weight: float, share: int) -> None:
    """Of 40 jobs of equal length."""
    for number in range(40):
        asked(queue, f"{number}", "a")
    for number in range(40):
        asked(queue, f"{number}", "b", weight)
    owners = []
    for _ in range(40):
        lease = leased(queue)
        owners.append(lease.job.owner)
        clock.now += 5
        assert queue.store(lease, made(queue, lease), [])
    assert abs(owners.count("b") - share) <= 1
    assert owners[:2] in (["a", "b"], ["b", "a"])


@FAIR
def test_shares_are_of_time_and_nobody_saves_up(queue: Queue, clock: Clock) -> None:
    """Long jobs of one owner against short ones of another; who comes late is not served alone."""
    for number in range(30):
        asked(queue, f"{number}", "long")
        asked(queue, f"{number}", "short")
    owners = []
    for _ in range(24):
        lease = leased(queue)
        owners.append(lease.job.owner)
        clock.now += 9 if lease.job.owner == "long" else 3
        assert queue.store(lease, made(queue, lease), [])
    assert abs(owners.count("short") - 3 * owners.count("long")) <= 4
    for number in range(9):
        asked(queue, f"{number}", "late")
    at_once = [leased(queue).job.owner for _ in range(9)]  # none of which has ended
    assert max(at_once.count(owner) for owner in ("late", "long", "short")) <= 4


@FAIR
def test_quotas(tmp_path: Path) -> None:
    queue = Queue(tmp_path, quota=Quota(jobs=2, total=22))
    jobs = [asked(queue, key) for key in "ab"]
    with pytest.raises(Refused, match="a has 2 jobs in the queue; the limit is 2: wait"):
        asked(queue, "c")
    assert asked(queue, "a") == jobs[0]
    lease = leased(queue)
    queue.store(lease, made(queue, lease), ["labels.npy"])
    with pytest.raises(Refused, match="a has 20 bytes here, and the request 7; the limit is 22"):
        asked(queue, "c")
    asked(queue, "c", owner="b")
    with pytest.raises(Refused, match="is queued; what is over can be forgotten"):
        queue.forget(jobs[1])
    queue.forget(jobs[0])
    assert not queue.place(jobs[0]).exists()
    asked(queue, "c")
    queue.close()


@ONCE
def test_a_cancelled_job_ends(queue: Queue) -> None:
    jobs = [asked(queue, key) for key in "ab"]
    lease = leased(queue)
    for job in jobs:
        assert queue.cancel(job).state == "cancelled"
    assert queue.lease() is None
    assert not queue.store(lease, made(queue, lease), [])
    assert asked(queue, "a") == jobs[0]
    done = leased(queue)
    queue.store(done, made(queue, done), ["labels.npy"])
    assert queue.cancel(jobs[0]).state == "done"
    with pytest.raises(Refused, match="there is no job"):
        queue.cancel(jobs[0], "b")


def test_a_queue_that_is_none(tmp_path: Path) -> None:
    (tmp_path / "queue.sqlite").write_text("no queue of any kind")
    with pytest.raises(ProblemError, match="cannot be used"):
        Queue(tmp_path)
    newer = tmp_path / "newer"
    Queue(newer).close()
    with closing(sqlite3.connect(newer / "queue.sqlite")) as base:
        base.execute("PRAGMA user_version = 2")
    with pytest.raises(ProblemError, match="has version 2; this program knows 1"):
        Queue(newer)
