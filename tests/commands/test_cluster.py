"""Batches on a Dask cluster that really runs: the bits of `mrfhw run`, killed workers, TLS, and clusters that cannot be had."""

from __future__ import annotations

import datetime
import ipaddress
import json
import shutil
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import mrfhw
from mrfhw.cli import main
from mrfhw.commands.job_lines import JobLine
from mrfhw.system import cluster as clusters
from mrfhw.system.cluster import DEATHS, check_address, on_cluster
from mrfhw.system.errors import ProblemError
from mrfhw.system.versions import versions
from mrfhw.system.workers import Died
from support.batches import batch, three_fields
from support.checkout import ROOT
from support.clustered import Running, ends, nap, running, until

pytest.importorskip("distributed")

SAME = pytest.mark.claim("clusters", "a batch on a Dask cluster has the bits of mrfhw run for each of its jobs, once each, "
                         "whatever workers are killed")
REFUSED = pytest.mark.claim("clusters", "a cluster that is not reached, has another program or no TLS beyond this computer is "
                            "one line, and nothing is written")

BITS = ("labels.npy", "last.npy", "entropy.npy")


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    """Two workers, for tests that kill none."""
    with running(tmp_path_factory.mktemp("cluster")) as found:
        yield found


@pytest.fixture
def fields(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """In the folder below the working directory."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return three_fields()


def alone(*words: str) -> Path:
    """The folder of a run by `mrfhw run`."""
    assert CliRunner().invoke(main, ["run", *words, "-o", "alone"]).exit_code == 0
    return Path("alone")


# -- the same bits


@SAME
@pytest.mark.slow
def test_the_files_of_run_wherever_inputs_lie(cluster: Running, fields: list[str], tmp_path: Path) -> None:
    """Below the folder, above it, by a whole path and behind an equals sign; what fails is one line; resume."""
    words = ["--rows", "24", "--cols", "32", "--labels", "8"]
    assert CliRunner().invoke(main, ["demo-scene", *words, "-o", "scene"]).exit_code == 0
    Path("b_field.npz").rename("../b_field.npz")
    truth = (Path("scene") / "truth.png").absolute()
    stereo = ["stereo", "scene/left.png", str(Path("scene/right.png").absolute()), "--labels", "8", "--sweeps", "20"]
    if truth.exists():
        stereo.append(f"--truth={truth}")
    few = ["--sweeps", "20", "--no-report"]
    jobs = [["problem", "a_field.npz", *few], ["problem", "../b_field.npz", *few], ["problem", "none.npz"],
            ["problem", "/none/a.npz"], stereo]
    Path("jobs").write_text("".join(" ".join(job) + "\n" for job in jobs))
    said = batch("jobs", "--cluster", cluster.address, code=1)
    assert "3 of 5 jobs are done, 2 failed" in said
    assert "0003: Error: none.npz cannot be read" in said
    assert "0004: /none/a.npz cannot be read (No such file or directory): give a readable file" in said
    for folder, job in (("0001-a_field", jobs[0]), ("0002-b_field", jobs[1]), ("0005-left", jobs[4])):
        want, got = alone(*job), Path("out") / folder
        listed = json.loads((want / "report.json").read_text())["files"]
        assert {path.name for path in got.iterdir()} == {*listed}
        for name in listed:
            if name not in ("report.json", "report.html", "histogram.npz"):  # have seconds and the time
                assert (got / name).read_bytes() == (want / name).read_bytes(), name
        assert np.array_equal(np.load(got / "histogram.npz")["counts"], np.load(want / "histogram.npz")["counts"])
        settings = [json.loads((place / "report.json").read_text())["settings"] for place in (want, got)]
        assert settings[0] == settings[1]
        shutil.rmtree(want)
    page = Path("out/0005-left/report.html").read_text()
    assert str(Path("scene/right.png").absolute()) in page
    assert str(Path("out/0005-left").absolute()) in page
    assert "../out" not in page
    assert 'href="0005-left/report.html"' in Path("out/index.html").read_text()
    ended = [json.loads(line) for line in Path("out/batch.jsonl").read_text().splitlines()]
    assert sorted(one["name"] for one in ended) == ["0001-a_field", "0002-b_field", "0003", "0004", "0005-left"]
    assert f"to {Path('out/0001-a_field').absolute()}" in next(one["said"] for one in ended if one["name"] == "0001-a_field")
    times = Path("out/0001-a_field/labels.npy").stat().st_mtime_ns
    Path("none.npz").write_bytes(Path("c_field.npz").read_bytes())
    assert "4 of 5 jobs are done, 1 failed" in batch("jobs", "--resume", "--cluster", cluster.address, code=1)
    assert Path("out/0001-a_field/labels.npy").stat().st_mtime_ns == times


@SAME
@pytest.mark.slow
def test_answers_of_requests(cluster: Running, fields: list[str]) -> None:
    """Their files go with them; what is raised there is raised here."""
    requests = [mrfhw.Request("problem", file=name, sweeps=20) for name in fields]
    requests.append(mrfhw.Request("stereo", left=np.zeros((4, 5), np.uint8), right=np.zeros((4, 6), np.uint8), labels=2))
    found = dict(mrfhw.batch(requests, cluster=cluster.address))
    assert sorted(found) == [0, 1, 2, 3]
    assert isinstance(found[3], ProblemError)
    for number in range(3):
        assert np.array_equal(found[number].counts, mrfhw.run(requests[number]).counts)
    lost = dict(mrfhw.batch([mrfhw.Request("problem", file="none.npz")], cluster=cluster.address))
    assert "none.npz cannot be read" in str(lost[0])
    with pytest.raises(ProblemError, match="workers is 2, and a cluster has its own"):
        mrfhw.batch([], workers=2, cluster=cluster.address)


@SAME
@pytest.mark.slow
def test_workers_that_are_killed(fields: list[str], tmp_path: Path) -> None:
    """One whose nanny starts another, and one for good with its nanny: all jobs are done once, with the same bits."""
    Path("jobs").write_text("".join(f"problem {name} --sweeps 1500 --most-sweeps 1500 --seed {seed} --no-report\n"
                                    for seed in range(2) for name in fields))
    with running(tmp_path / "cluster") as cluster:
        first, second = cluster.nannies
        journal = Path("out/batch.jsonl")

        def ended(least: int) -> bool:
            return journal.exists() and journal.read_text().count("\n") >= least

        said: list[str] = []
        going = threading.Thread(target=lambda: said.append(batch("jobs", "--cluster", cluster.address)))
        going.start()
        until(lambda: ended(1), "a job")
        second.kill()
        until(lambda: ended(3), "two more")
        first.kill_worker()
        going.join()
    assert "6 of 6 jobs are done: " in said[0]
    lines = [json.loads(line) for line in journal.read_text().splitlines()]
    assert sorted(one["name"] for one in lines) == [f"{number:04}-{name[:-4]}" for number, name in enumerate(fields * 2, 1)]
    for number, name in enumerate(fields * 2):
        want = alone("problem", name, "--sweeps", "1500", "--most-sweeps", "1500", "--seed", str(number // 3),
                     "--no-report")
        for file in BITS:
            assert (want / file).read_bytes() == (Path("out") / f"{number + 1:04}-{name[:-4]}" / file).read_bytes()


@SAME
@pytest.mark.slow
def test_a_task_at_which_workers_die(cluster: Running) -> None:
    """It is tried DEATHS times and is one line, whether its process dies or the worker with it; the others are done once."""
    tasks = ["a", "process", "b", "worker", "c", "wrong", "d"]
    found = list(on_cluster(ends, tasks, cluster.address))
    assert sorted(number for number, _ in found) == list(range(len(tasks)))
    outcomes = dict(found)
    assert [outcomes[number] for number in (0, 2, 4, 6)] == ["a", "b", "c", "d"]
    assert isinstance(outcomes[1], Died)
    died = f"{DEATHS} workers died while they were at it, of the last one: "
    assert str(outcomes[1]).startswith(f"{died}its process was ended by SIGKILL")
    assert isinstance(outcomes[3], Died)
    assert str(outcomes[3]) == f"{died}its worker is gone"
    assert isinstance(outcomes[5], KeyError)


@SAME
@pytest.mark.slow
def test_shots_of_a_video(cluster: Running, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The bits and reports of one computer, with shots and without; a frame that fails, and what is gone on with."""
    monkeypatch.chdir(tmp_path)

    def video(*words: str, code: int = 0) -> str:
        given = ["scene/left", "scene/right", "--labels", "8", "--sweeps", "12", "--first-sweeps", "6"]
        found = CliRunner().invoke(main, ["video", "stereo", *given, *words])
        assert found.exit_code == code, (found.output, found.exception)
        return found.output

    made = ["demo-scene", "video", "--rows", "36", "--cols", "48", "--labels", "8", "--frames", "5", "-o", "scene"]
    assert CliRunner().invoke(main, made).exit_code == 0
    there = ["--cluster", cluster.address]
    assert "5 of 5 frames are done" in video("-o", "whole")
    assert "5 of 5 frames are done" in video("-o", "far", *there)
    assert "5 of 5 frames are done" in video("--shot", "2", "-o", "shots")
    picture = Path("scene/left/0004.png").read_bytes()
    Path("scene/left/0004.png").write_bytes(picture[:100])
    assert "4 of 5 frames are done, 1 failed" in video("--shot", "2", "-o", "far shots", *there, code=1)
    Path("scene/left/0004.png").write_bytes(picture)
    times = Path("far shots/0005/labels.npy").stat().st_mtime_ns
    assert "5 of 5 frames are done" in video("--shot", "2", "-o", "far shots", "--resume", *there)
    assert times == Path("far shots/0005/labels.npy").stat().st_mtime_ns
    for one, other in (("whole", "far"), ("shots", "far shots")):
        for path in (path for path in Path(one).rglob("*") if path.is_file() and path.parent != Path(one)):
            found = Path(other, *path.parts[1:])
            if path.name == "report.json":
                want, got = (json.loads(file.read_text()) for file in (path, found))
                assert want["settings"] == got["settings"]
                assert want["files"] == got["files"]
            elif path.suffix != ".npz":
                assert path.read_bytes() == found.read_bytes(), path
        assert Path(other, "film.webp").is_file()
        assert len(Path(other, "video.jsonl").read_text().splitlines()) == (5 if other == "far" else 6)
    last = [Path(name, "0003/last.npy").read_bytes() for name in ("whole", "shots")]
    assert last[0] != last[1]  # else a shot would say nothing here


@pytest.mark.slow
def test_what_is_closed_is_ended_and_leaves_nothing(cluster: Running, tmp_path: Path) -> None:
    """Each task has an empty folder of its own; one that nobody waits for any more does not keep its worker."""
    outcomes = on_cluster(nap, [0.0, 600.0, 0.0, 600.0], cluster.address)
    (_, (folder, names)), (_, (other, _)) = next(outcomes), next(outcomes)
    assert names == ["left-over"]
    assert folder != other
    assert not Path(folder).exists()
    outcomes.close()
    assert len(dict(on_cluster(nap, [0.0] * 4, cluster.address))) == 4


@pytest.mark.slow
def test_workers_that_come_later(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cluster without workers waits for one, and a task for one with its resource, while the others go on."""
    monkeypatch.setattr(clusters, "PATIENCE_SECONDS", 0.5)
    said: list[str] = []
    with Running(tmp_path / "cluster") as cluster:
        outcomes = on_cluster(nap, [0.1, 0.0, 0.0], cluster.address, needs=lambda task: "serial:///dev/x" if task else None,
                              say=said.append)

        def grow() -> None:
            until(lambda: len(said) == 1, "a note")
            cluster.add()
            until(lambda: len(said) == 2, "a note")
            cluster.add("--resources", "serial:///dev/x=1")

        growing = threading.Thread(target=grow)
        growing.start()
        assert [number for number, _ in outcomes] == [1, 2, 0]
        growing.join()
    assert said == ["Note: waiting for a worker: start one, or leave cluster out",
                    "Note: waiting for a worker with the resource serial:///dev/x: start one with --resources 'serial:///dev/x=1'"]


@pytest.mark.parametrize(("words", "board"), [
    ("problem a", None), ("problem a --backend sim://?reconnect=2", None), ("problem a --backend model", None),
    ("problem a --backend serial:///dev/x?baud=9600", "serial:///dev/x"), ("problem a --backend=tcp://b:7000", "tcp://b:7000")])
def test_boards_are_resources(words: str, board: str | None) -> None:
    assert JobLine(1, tuple(words.split()), Path()).board == board


# -- what cannot be


def nothing_written(address: str, *, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """`mrfhw batch` on such a cluster says one line, and leaves nothing."""
    monkeypatch.setattr(clusters, "CONNECT_SECONDS", 2.0)
    Path("jobs").write_text("problem a_field.npz\n")
    found = batch("jobs", "--cluster", address, code=2)
    assert found.count("\n") == 1, found
    assert said in found
    assert not Path("out").exists()


@REFUSED
@pytest.mark.parametrize(("address", "said"), [
    ("tcp://10.0.0.1:8786", "cluster is tcp://10.0.0.1:8786, which others reach, and who reaches a scheduler runs programs there; "
     "beyond 127.0.0.1 it needs TLS: give tls://HOST:PORT"),
    ("tcp://example.org:8786", "it needs TLS"), ("tcp://0.0.0.0:8786", "it needs TLS"), ("127.0.0.1:8786", "give tls://HOST:PORT"),
    ("ucx://127.0.0.1:8786", "it is the address of a Dask scheduler"), ("tcp://127.0.0.1", "it is the address of a Dask scheduler"),
    ("tcp://127.0.0.1:99999", "it is the address of a Dask scheduler"), ("", "it is the address of a Dask scheduler")])
def test_addresses_that_are_none(fields: list[str], address: str, said: str, monkeypatch: pytest.MonkeyPatch) -> None:
    nothing_written(address, said=said, monkeypatch=monkeypatch)


@REFUSED
def test_addresses_that_are() -> None:
    for address in ("tcp://127.0.0.1:8786", "tcp://localhost:1", "tcp://[::1]:8786", "tls://10.0.0.1:8786", "tls://a.example:65535"):
        check_address(address)


@REFUSED
def test_nobody_there(fields: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{free.getsockname()[1]}"
        nothing_written(address, said=f"cluster is {address}, and no scheduler answers there as it should", monkeypatch=monkeypatch)
        free.listen()  # somebody who says nothing
        nothing_written(address, said=f"cluster is {address}, and no scheduler answers there as it should", monkeypatch=monkeypatch)
        assert "workers is 2, and a cluster has its own" in batch("jobs", "--cluster", address, "--workers", "2", code=2)


@REFUSED
def test_without_the_extra(fields: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    said = "a cluster needs distributed, which is not installed: pip install 'mrfhw[cluster]'"
    nothing_written("tcp://127.0.0.1:8786", said=said, monkeypatch=monkeypatch)


@REFUSED
@pytest.mark.slow
def test_another_program(fields: list[str], tmp_path: Path) -> None:
    """A worker whose mrfhw has another version: refused at once, and left out where it comes later."""
    other = tmp_path / "other"
    (other / "mrfhw").mkdir(parents=True)
    text = (ROOT / "mrfhw" / "__init__.py").read_text()
    (other / "mrfhw" / "__init__.py").write_text(text.replace(f'__version__ = "{mrfhw.__version__}"', '__version__ = "0.0.7"'))
    shutil.copytree(ROOT / "mrfhw" / "system", other / "mrfhw" / "system", ignore=shutil.ignore_patterns("__pycache__"))
    Path("jobs").write_text("problem a_field.npz --sweeps 20 --no-report\n")
    differs = f"has mrfhw 0.0.7, and {mrfhw.__version__} here; bits depend on them: install the same on both"
    with Running(tmp_path / "cluster") as cluster:
        said: list[str] = []

        def grow() -> None:
            cluster.add(PYTHONPATH=str(other))
            until(lambda: said, "a refusal")
            cluster.add()

        outcomes = on_cluster(nap, [0.0], cluster.address, say=said.append)
        growing = threading.Thread(target=grow)
        growing.start()
        assert [number for number, _ in outcomes] == [0]
        growing.join()
        assert differs in said[0]
        found = batch("jobs", "--cluster", cluster.address, code=2)
        assert differs in found
        assert found.count("\n") == 1
    assert not Path("out").exists()
    assert set(versions()) >= {"mrfhw", "Python", "numba", "numpy"}


@REFUSED
@pytest.mark.slow
def test_a_scheduler_that_is_gone(fields: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One line after a bounded time; what has ended is kept, and resume goes on elsewhere."""
    monkeypatch.setattr(clusters, "CONNECT_SECONDS", 2.0)
    Path("jobs").write_text("problem a_field.npz --sweeps 20 --no-report\nproblem b_field.npz --sweeps 4000000 --no-report\n")
    with running(tmp_path / "cluster", workers=1) as cluster:
        said: list[str] = []
        going = threading.Thread(target=lambda: said.append(batch("jobs", "--cluster", cluster.address, code=2)))
        going.start()
        until(lambda: Path("out/batch.jsonl").exists() and "a_field" in Path("out/batch.jsonl").read_text(), "a job")
        cluster.scheduler.kill()
        began = time.monotonic()
        going.join()
        assert time.monotonic() - began < 60
    assert f"Error: the scheduler {cluster.address} is gone: start it, and go on with resume\n" in said[0]
    Path("jobs").write_text("problem a_field.npz --sweeps 20 --no-report\nproblem b_field.npz --sweeps 20 --no-report\n")
    times = Path("out/0001-a_field/labels.npy").stat().st_mtime_ns
    assert "2 of 2 jobs are done" in batch("jobs", "--resume")
    assert Path("out/0001-a_field/labels.npy").stat().st_mtime_ns == times


# -- TLS


def certificates(folder: Path) -> dict[str, str]:
    """A certificate that is its own authority, for 127.0.0.1, as options of `dask scheduler` and `dask worker`."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key, name = ec.generate_private_key(ec.SECP256R1()), x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "mrfhw-cluster")])
    now = datetime.datetime.now(datetime.UTC)
    made = (x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
            .serial_number(x509.random_serial_number()).not_valid_before(now - datetime.timedelta(days=1))
            .not_valid_after(now + datetime.timedelta(days=1))
            .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
            .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
            .sign(key, hashes.SHA256()))
    folder.mkdir()
    (folder / "cert.pem").write_bytes(made.public_bytes(serialization.Encoding.PEM))
    (folder / "key.pem").write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8,
                                                       serialization.NoEncryption()))
    return {"--tls-ca-file": str(folder / "cert.pem"), "--tls-cert": str(folder / "cert.pem"), "--tls-key": str(folder / "key.pem")}


@REFUSED
@pytest.mark.slow
def test_tls(fields: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With certificates by Dask's configuration, and not without them or with others."""
    import dask

    ours, others = certificates(tmp_path / "ours"), certificates(tmp_path / "others")

    def configured(given: dict[str, str]) -> dict[str, str]:
        return {"distributed.comm.tls.ca-file": given["--tls-ca-file"], "distributed.comm.tls.client.cert": given["--tls-cert"],
                "distributed.comm.tls.client.key": given["--tls-key"]}

    options = [word for pair in ours.items() for word in pair]
    with running(tmp_path / "cluster", *options, workers=1, protocol="tls") as cluster:
        assert cluster.address.startswith("tls://")
        nothing_written(cluster.address, said="Dask's configuration has no certificates: set distributed.comm.tls.ca-file",
                        monkeypatch=monkeypatch)
        with dask.config.set(configured(others)):
            nothing_written(cluster.address, said="no scheduler answers there as it should", monkeypatch=monkeypatch)
        nothing_written(cluster.address.replace("tls", "tcp"), said="no scheduler answers there as it should",
                        monkeypatch=monkeypatch)
        with dask.config.set({**configured(ours), "distributed.comm.tls.ca-file": str(tmp_path / "none.pem")}):
            nothing_written(cluster.address, said="no scheduler answers there as it should", monkeypatch=monkeypatch)
        for name, value in configured(ours).items():
            monkeypatch.setenv(f"DASK_{name.upper().replace('.', '__').replace('-', '_')}", value)
        Path("jobs").write_text("problem a_field.npz --sweeps 20 --no-report\n")
        done = subprocess.run([sys.executable, "-m", "mrfhw", "batch", "jobs", "-o", "out", "--cluster", cluster.address],
                              capture_output=True, text=True, check=True)
        assert "1 of 1 jobs are done" in done.stdout
        assert done.stderr == ""
    want = alone("problem", "a_field.npz", "--sweeps", "20", "--no-report")
    for name in BITS:
        assert (want / name).read_bytes() == (Path("out/0001-a_field") / name).read_bytes()
