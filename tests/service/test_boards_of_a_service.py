"""A service and a batch on a board that is shared: what asks for the model of its machine has the same bits from there."""

from __future__ import annotations

import contextlib
import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import mrfhw
from mrfhw.cli import main
from support.refusals import assert_one_line
from support.served import bits, served

pytest.importorskip("uvicorn")
pytest.importorskip("starlette")

ON_BOARDS = pytest.mark.claim(
    "sharing", "jobs of a service and of a batch that a shared board has sampled have the bits of the model")
MACHINE = "smallest"


@contextlib.contextmanager
def shared(path: Path, *words: str) -> Iterator[str]:
    """`mrfhw share` of a compiled chip, in a process; its address."""
    process = subprocess.Popen([sys.executable, "-m", "mrfhw", "share", "rtl", str(path), "--machine", MACHINE, *words],
                               stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line == f"rtl is shared at shared://{path} (fair; Ctrl-C ends it)\n"
        yield line.split()[4]
        process.send_signal(signal.SIGINT)
        assert process.stdout.read() == "no longer shared\n"
        assert process.wait() == 0
        assert not path.exists()
    finally:
        process.kill()
        process.communicate()


def field(number: int) -> mrfhw.Problem:
    rng = np.random.default_rng(number)
    return mrfhw.Problem(labels=4, singleton1=rng.integers(0, 16, (12 + 8 * number, 16)), constants=np.array([2, 6, 10, 14]),
                         schedule=mrfhw.Schedule.constant(8.0))


@ON_BOARDS
@pytest.mark.slow
def test_jobs_on_a_shared_board(tmp_path: Path) -> None:
    """Two owners' by a service, and two lines of a batch, whole and in windows."""
    for number in (0, 1):
        file = tmp_path / f"{number}.npz"
        field(number).save(file)
        words = ["run", "problem", str(file), "--sweeps", "24", "--backend", "model", "--machine", MACHINE, "--no-report"]
        wanted = CliRunner().invoke(main, [*words, "-o", str(tmp_path / f"model{number}")])
        assert wanted.exit_code == 0, wanted.output
    with shared(tmp_path / "board") as address:
        with served(tmp_path / "queue", "--board", address, workers=2) as service:
            jobs = [service.client(owner=f"owner{number}").submit(
                mrfhw.Request("problem", file=field(number), sweeps=24, backend="model", machine=MACHINE)) for number in (0, 1)]
            other = service.client().submit(mrfhw.Request("problem", file=field(0), sweeps=24, backend="cpu"))
            for number, job in enumerate([*jobs, other]):
                assert service.client().wait(job)["state"] == "done"
                service.client().fetch(job, tmp_path / f"served{number}")
        lines = [f"problem {tmp_path / f'{number}.npz'} --sweeps 24 --backend {address}?owner={number}" for number in (0, 1)]
        (tmp_path / "jobs").write_text("\n".join(lines))
        words = ["batch", str(tmp_path / "jobs"), "--no-report", "--workers", "2", "-o", str(tmp_path / "b")]
        found = CliRunner().invoke(main, words)
        assert found.exit_code == 0, found.output
    backends = [json.loads((tmp_path / f"served{number}" / "report.json").read_text())["backend"] for number in (0, 1, 2)]
    assert backends == ["rtl", "rtl", "cpu"]
    for number, folder in enumerate(sorted(path for path in (tmp_path / "b").iterdir() if path.is_dir())):
        assert bits(folder) == bits(tmp_path / f"model{number}") == bits(tmp_path / f"served{number}")


def test_no_board_is_shared(tmp_path: Path) -> None:
    for words in (["serve", "--folder", str(tmp_path / "q"), "--board", "shared:///nowhere"],
                  ["run", "problem", "x.npz", "--backend", "shared:///nowhere"]):
        field(0).save(tmp_path / "x.npz")
        words = [str(tmp_path / "x.npz") if word == "x.npz" else word for word in words]
        assert_one_line(CliRunner().invoke(main, words), "no board is shared at /nowhere: see that mrfhw share runs")
    assert_one_line(CliRunner().invoke(main, ["serve", "--board", "tcp://h:1"]), "backend is tcp://h:1; the address of a shared")
    assert not (tmp_path / "q").exists()
