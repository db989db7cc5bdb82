"""Jobs that are done while workers and the service itself are killed at random: none lost, none stored twice, all bits right."""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import sqlite3
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import mrfhw
from mrfhw.system.errors import ProblemError
from support.served import SECONDS, Served, children, served, small_request

pytest.importorskip("uvicorn")
pytest.importorskip("starlette")

ONCE = pytest.mark.claim("service", "a job that is taken is done once: whatever is killed, none is lost and none is stored twice")


def disturbed(folder: Path, jobs: int, size: int, labels: int, *, workers: int, worker_kills: int, service_kills: int,
              seconds: float) -> None:
    """Send jobs, kill meanwhile, and compare all that is kept with `mrfhw.run`."""
    rng, requests = random.Random(1), [small_request(number, size, labels) for number in range(jobs)]
    with served(folder, "--deaths", "1000", "--quota-jobs", str(jobs), "--lease", "20", workers=workers) as service:
        client = service.client(patience=seconds)
        ids: dict[int, str] = {}

        def send() -> None:
            """Each until it is taken; whoever sends cannot know whether the one before was."""
            for number, request in enumerate(requests):
                while number not in ids:
                    with contextlib.suppress(ProblemError):
                        ids[number] = client.submit(request, report=False)
                    if number not in ids:
                        time.sleep(0.1)

        sender, deadline, begun = threading.Thread(target=send), time.monotonic() + seconds, time.monotonic()
        sender.start()
        killed, services = 0, 0
        while sender.is_alive() or (counts := _counts(folder)).get("done", 0) < jobs:
            assert time.monotonic() < deadline, (counts, killed, services)
            time.sleep(rng.uniform(0.05, 0.4))
            done = _counts(folder).get("done", 0)
            if services < service_kills and done >= (services + 1) * jobs // (service_kills + 1):
                service.kill()
                service.start()
                services += 1
            elif killed < worker_kills and done >= killed * jobs // (worker_kills + 1):
                killed += _kill_one(service, rng)
        sender.join()
        took = time.monotonic() - begun
    print(f"{jobs} jobs of {size}x{size}, {labels} labels: {killed} workers and {services} services killed, {took:.0f} s")
    assert (killed, services) == (worker_kills, service_kills)
    with contextlib.closing(sqlite3.connect(folder / "queue.sqlite")) as base:
        rows = base.execute("SELECT id, state, stored FROM jobs").fetchall()
    assert sorted(rows) == sorted((one, "done", 1) for one in ids.values())
    for number, request in enumerate(requests):
        answer, result = mrfhw.run(request), folder / "jobs" / ids[number] / "result"
        assert np.array_equal(np.load(result / "labels.npy"), answer.labels)
        assert np.array_equal(np.load(result / "histogram.npz")["counts"], answer.counts)
        assert np.array_equal(np.load(result / "last.npy"), answer.last)
    assert {path.name for place in (folder / "jobs").iterdir() for path in place.iterdir()} == {"request.npz", "result"}


def _counts(folder: Path) -> dict[str, int]:
    with contextlib.closing(sqlite3.connect(folder / "queue.sqlite", timeout=30)) as base:
        return dict(base.execute("SELECT state, COUNT(*) FROM jobs GROUP BY state"))


def _kill_one(service: Served, rng: random.Random) -> int:
    found = children(service.pid)
    if not found:
        return 0
    with contextlib.suppress(ProcessLookupError):
        os.kill(rng.choice(found), signal.SIGKILL)
        return 1
    return 0


@ONCE
@pytest.mark.slow
def test_none_is_lost_when_anything_is_killed(tmp_path: Path) -> None:
    disturbed(tmp_path / "queue", 60, 16, 4, workers=2, worker_kills=6, service_kills=2, seconds=SECONDS)


@pytest.mark.claim("service", "under make long: of 1,000 jobs, while 50 workers and the service ten times are killed, none is lost")
@pytest.mark.long
def test_none_of_many_is_lost(request: pytest.FixtureRequest, tmp_path: Path) -> None:
    """As many as the options say."""
    option = request.config.getoption
    try:
        disturbed(tmp_path / "queue", option("--chaos-jobs"), 64, 16, workers=2, worker_kills=option("--chaos-workers"),
                  service_kills=option("--chaos-services"), seconds=3600)
    finally:
        shutil.rmtree(tmp_path / "queue", ignore_errors=True)
