"""Batches: the bits of `mrfhw run`, what fails alone, what goes on after a kill, and manifests that are none."""

from __future__ import annotations

import json
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import mrfhw
from mrfhw.cli import main
from mrfhw.commands.job_lines import of_file, of_folder
from mrfhw.system.errors import ProblemError
from mrfhw.system.workers import Died, in_workers
from support.batches import batch, three_fields
from support.checkout import ROOT

SAME = pytest.mark.claim("batches", "a batch has the bits of mrfhw run for each of its jobs; what fails is one line, and what "
                         "a kill left is gone on with")


@pytest.fixture
def fields(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    return three_fields()


@SAME
@pytest.mark.slow
def test_the_bits_of_run_and_one_line_for_what_fails(fields: list[str]) -> None:
    Path("jobs").write_text("# fields\n\nproblem a_field.npz --sweeps 20 --seed 3\nproblem none.npz\n"
                            + json.dumps({"application": "problem", "file": "c_field.npz", "sweeps": 12, "chains": 1}) + "\n")
    said = batch("jobs", "--no-report", "--workers", "2", code=1)
    assert "0004: Error: none.npz" in said
    assert "2 of 3 jobs are done, 1 failed" in said
    for folder, words in (("0003-a_field", ["a_field.npz", "--sweeps", "20", "--seed", "3"]),
                          ("0005-c_field", ["c_field.npz", "--sweeps", "12", "--chains", "1"])):
        assert CliRunner().invoke(main, ["run", "problem", *words, "--no-report", "-o", "alone"]).exit_code == 0
        for name in ("labels.npy", "last.npy", "entropy.npy"):
            assert np.array_equal(np.load(Path("out") / folder / name), np.load(Path("alone") / name))
    page = Path("out/index.html").read_text()
    assert "0003-a_field/report.json" in page
    assert "none.npz" in page
    Path("jobs").write_text("problem c_field.npz --sweeps 9\nproblem a_field.npz --sweeps 20 --seed 3\n")
    assert "2 of 2 jobs are done" in batch("jobs", "--no-report")


@SAME
@pytest.mark.slow
def test_a_folder_of_pairs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The files of `mrfhw run` for each pair, by a pattern, with pictures on the page."""
    monkeypatch.chdir(tmp_path)
    for seed, name in ((1, "a"), (2, "b")):
        words = ["--rows", "24", "--cols", "32", "--labels", "8", "--seed", str(seed)]
        assert CliRunner().invoke(main, ["demo-scene", *words, "-o", name]).exit_code == 0
        for side in ("left", "right"):
            Path(name, f"{side}.png").rename(f"{name}_{side}.png")
    assert "2 of 2 jobs are done" in batch(".", "--each", "stereo *_left.png *_right.png --labels 8 --sweeps 20", "--workers", "2")
    for number, name in ((1, "a"), (2, "b")):
        words = ["stereo", f"{name}_left.png", f"{name}_right.png", "--labels", "8", "--sweeps", "20", "-o", "alone"]
        assert CliRunner().invoke(main, ["run", *words]).exit_code == 0
        for file in ("labels.npy", "disparity.pfm", "interval.npy", "estimate.png", "entropy.png"):
            assert Path("out", f"{number:04}-{name}_left", file).read_bytes() == Path("alone", file).read_bytes(), file
    page = Path("out/index.html").read_text()
    assert page.count("estimate.png") == 2
    assert 'href="0002-b_left/report.html"' in page


@SAME
@pytest.mark.slow
def test_a_batch_that_is_killed_goes_on(fields: list[str]) -> None:
    """What has ended is not run again; what has another word or another file is."""
    Path("jobs").write_text("".join(f"problem {name} --sweeps 30\n" for name in fields))
    command = [sys.executable, "-m", "mrfhw", "batch", "jobs", "-o", "out", "--no-report", "--workers", "1"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, start_new_session=True)
    journal, deadline = Path("out/batch.jsonl"), time.monotonic() + 240
    while not (journal.exists() and journal.read_text().count("\n")):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    with journal.open("a") as file:
        file.write('{"name": "cut of')
    ended = {json.loads(line)["name"] for line in journal.read_text().splitlines() if line.endswith("}")}
    times = {name: (Path("out") / name / "labels.npy").stat().st_mtime_ns for name in ended}
    assert "3 of 3 jobs are done" in batch("jobs", "--no-report", "--resume")
    assert {name: (Path("out") / name / "labels.npy").stat().st_mtime_ns for name in ended} == times
    assert len(journal.read_text().splitlines()) == 3
    Path("a_field.npz").write_bytes(Path("b_field.npz").read_bytes())
    batch("jobs", "--no-report", "--resume")
    assert [json.loads(line)["name"] for line in journal.read_text().splitlines()][3:] == ["0001-a_field"]


@SAME
@pytest.mark.slow
def test_answers_of_requests(fields: list[str]) -> None:
    requests = [mrfhw.Request("problem", file=name, sweeps=20)
                for name in (*fields, "none.npz")]
    found = dict(mrfhw.batch(requests, workers=2))
    assert isinstance(found[3], ProblemError)
    for number in range(3):
        assert np.array_equal(found[number].counts, mrfhw.run(requests[number]).counts)
    with pytest.raises(ProblemError, match=r"requests has 3; each is a mrfhw\.Request"):
        mrfhw.batch([3])


def ends(how: int) -> int:
    """A task of a worker: ends its process where it is asked to."""
    if how:
        os.kill(os.getpid(), how)
    return os.getpid()


@pytest.mark.slow
def test_a_worker_that_dies_takes_its_task_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "commands"))
    found = dict(in_workers(ends, [0, 0, signal.SIGKILL, 0], 1))
    assert isinstance(found[2], Died)
    assert "was ended by SIGKILL" in str(found[2])
    assert found[0] == found[1] != found[3]


@pytest.mark.slow
def test_a_worker_ends_in_the_middle_of_a_task_when_nobody_waits_for_it() -> None:
    """As where who started it was killed."""
    process = subprocess.Popen([sys.executable, "-c", "from mrfhw.system.workers import serve; serve()"], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE)
    assert process.stdin is not None
    assert process.stdout is not None
    for seconds in (0.0, 600.0):
        process.stdin.write(pickle.dumps((time.sleep, seconds)))
        process.stdin.flush()
    assert pickle.load(process.stdout) is None
    process.stdin.close()
    assert process.wait(60) == 0
    process.stdout.close()


@pytest.mark.parametrize(("text", "said"), [
    ("", "jobs has no job: give a line such as stereo LEFT RIGHT --labels 24 for each"),
    ("stereo 'a", "jobs, line 1: no closing quotation: write it as for a shell"),
    ("\nstereo a b -o x", "jobs, line 2 has -o; a job of a batch writes to a folder of its own: leave it out"),
    ("stereo a b --output=x", "jobs, line 1 has --output=x"),
    ("{", 'jobs, line 1 is no JSON object with "application"'),
    ('{"application": 3}', "jobs, line 1: application is 3; it is the name of one: give such as stereo"),
    ('{"application": "sterio"}', "application is 'sterio'; it must be one of stereo"),
    ('{"application": "stereo", "left": "a"}', "jobs, line 1 has no right: give it"),
    ('{"application": "stereo", "left": "a", "right": {}}', "jobs, line 1: right is {}; it is text or a number: give one")])
def test_manifests_that_are_none(fields: list[str], text: str, said: str) -> None:
    Path("jobs").write_text(text)
    with pytest.raises(ProblemError) as refused:
        of_file(Path("jobs"))
    assert said in str(refused.value)


def test_a_line_is_what_a_shell_takes(fields: list[str]) -> None:
    Path("jobs").write_text('mrfhw run stereo "left one.png" b.png # a remark\nrun problem f.npz\n'
                            '{"application": "stereo", "left": "l", "right": "r", "one_way": true, "truth": ["s", "t"], "seed": 2}')
    assert [job.words for job in of_file(Path("jobs"))] == [
        ("stereo", "left one.png", "b.png"), ("problem", "f.npz"),
        ("stereo", "l", "r", "--one-way", "--truth", "s", "--truth", "t", "--seed", "2")]


def test_a_folder_by_a_pattern(fields: list[str]) -> None:
    jobs = of_folder(Path(), "problem *_field.npz --save-as *")
    assert [job.words for job in jobs] == [("problem", f"{name}_field.npz", "--save-as", name) for name in "abc"]
    assert [job.name for job in jobs] == ["0001-a_field", "0002-b_field", "0003-c_field"]
    for pattern, said in (("problem a", "each is 'problem a'; its first file has one *"), ("problem x*.npz", "has no file x*.npz")):
        with pytest.raises(ProblemError) as refused:
            of_folder(Path(), pattern)
        assert said in str(refused.value)


@pytest.mark.parametrize(("words", "said"), [
    (("none",), "none cannot be read"), ((".",), ". is a folder, and nothing says what is run for its files"),
    (("a_field.npz", "--each", "x"), "a_field.npz is no folder, and --each is for one"),
    (("a_field.npz",), "a_field.npz is no text"), (("a_field.npz", "--workers", "0"), "workers is 0")])
def test_one_line_each(fields: list[str], words: tuple[str, ...], said: str) -> None:
    output = batch(*words, code=2)
    assert output.startswith(f"Error: {said}")
    assert output.count("\n") == 1
    assert not Path("out").exists()
