"""A request: what it takes, that it is saved and comes back, and what its digest covers."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

import mrfhw
from mrfhw.field.problem import Problem, ProblemError
from mrfhw.machine.config import Config
from mrfhw.runs.request import Request

RNG = np.random.default_rng(3)
LEFT, RIGHT = RNG.integers(0, 256, (2, 12, 20), dtype=np.uint8)
PROBLEM = Problem(labels=3, singleton1=np.arange(48).reshape(6, 8), constants=np.array([5, 20, 40]))


def stereo(**more):
    return Request("stereo", **{"left": LEFT, "right": RIGHT, "labels": 4, "sweeps": 4} | more)


@pytest.mark.parametrize("request_", [
    stereo(), stereo(machine=Config(mesh_rows=1, mesh_cols=2), chains=3, visit=2), stereo(machine="matching", seed=5),
    stereo(window=(1, 2, 8, 6), spes=4, mesh=(2, 2)), Request("problem", file=PROBLEM, sweeps=9, backend="float")],
    ids=["plain", "machine", "preset", "window", "problem"])
def test_a_saved_request_comes_back(request_, tmp_path):
    request_.save(tmp_path / "request.npz")
    again = Request.load(tmp_path / "request.npz")
    assert again == request_
    assert again.digest == request_.digest
    assert (again.application, again.backend, again.chains, again.visit) == (
        request_.application, request_.backend, request_.chains, request_.visit)
    assert again.job().problem.digest == request_.job().problem.digest
    assert again.job().run.digest == request_.job().run.digest
    assert again.job().config == request_.job().config


def test_the_digest_covers_what_decides_the_bits():
    """Each of these gives other bits, or may; none has the digest of another."""
    others = [stereo(), stereo(left=RIGHT), stereo(left=LEFT.astype(np.uint16)), stereo(labels=5), stereo(sweeps=5), stereo(seed=1),
              stereo(backend="float"), stereo(machine=Config(mesh_rows=1, mesh_cols=2)), stereo(machine="default"),
              stereo(spes=4), stereo(chains=1), stereo(machine="default", visit=3), stereo(one_way=True),
              Request("problem", file=PROBLEM), Request("problem", file=Problem(
                  labels=3, singleton1=np.arange(48).reshape(6, 8), constants=np.array([5, 20, 41])))]
    assert len({one.digest for one in others}) == len(others)


def test_the_digest_is_of_no_path_and_of_no_default(tmp_path):
    Image.fromarray(LEFT).save(tmp_path / "a.png")
    Image.fromarray(LEFT).save(tmp_path / "b.png")
    Image.fromarray(RIGHT).save(tmp_path / "c.png")
    assert stereo(left=tmp_path / "a.png").digest == stereo(left=str(tmp_path / "b.png")).digest
    assert stereo(left=tmp_path / "a.png").digest != stereo(left=tmp_path / "c.png").digest
    assert stereo(seed=0, initial="random").digest == stereo().digest
    assert stereo(left=LEFT.copy(order="F")).digest == stereo().digest
    # Two ways to state one machine.
    assert stereo(spes=4, backend="model").digest == stereo(spes=4).digest


def test_the_digest_and_the_job_know_every_file(tmp_path, monkeypatch):
    """Also one that an option names; a word is no file, whatever lies in this folder."""
    Image.fromarray(LEFT).save(tmp_path / "left.png")
    for name, value in (("a.png", 9), ("b.png", 9), ("c.png", 10)):
        Image.fromarray(np.full(LEFT.shape, value, np.uint8)).save(tmp_path / name)
    same, again, other = (stereo(left=tmp_path / "left.png", truth=tmp_path / name) for name in ("a.png", "b.png", "c.png"))
    assert same.digest == again.digest != other.digest
    assert set(same.job().sources) == {tmp_path / "left.png", tmp_path / "a.png"}
    before = stereo(data="grey").digest
    monkeypatch.chdir(tmp_path)
    (tmp_path / "grey").write_text("no picture")
    assert stereo(data="grey").digest == before
    assert stereo(data="grey").job().sources == ()


def test_a_request_reads_and_samples_nothing():
    """What is there is asked when the job is made."""
    request_ = Request("stereo", left="no-such-left.png", right="no-such-right.png")
    assert request_.backend == "cpu"
    with pytest.raises(ProblemError, match=r"no-such-left.png"):
        request_.job()


@pytest.mark.parametrize(("given", "said"), [
    ({"backend": 3}, "backend is 3; it is cpu, float, events, gpu, model, rtl or the address of a board: give one of them"),
    ({"chains": 0}, "chains is 0;"), ({"machine": 7}, "machine is 7; it is a Config, the path of a manifest.json or one of"),
    ({"sweeps": 2.5}, "sweeps is 2.5;"), ({"mesh": 4}, "mesh is 4; it is rows and columns"),
    ({"one_way": "yes"}, "one_way is 'yes'; it is True or False")])
def test_wrong_ones_are_one_line(given, said):
    with pytest.raises(ProblemError) as error:
        stereo(**given)
    assert str(error.value).startswith(said)
    assert "\n" not in str(error.value)


def test_an_unknown_application_and_an_unknown_option():
    with pytest.raises(ProblemError, match="'abacus'"):
        Request("abacus")
    with pytest.raises(ProblemError, match=r"^label is no option of stereo: give labels"):
        Request("stereo", left=LEFT, right=RIGHT, label=4).job()


def test_what_cannot_be_kept_is_one_line(tmp_path):
    with pytest.raises(ProblemError, match=r"^left is .*; a request that is kept has numbers, text, paths, arrays and problems"):
        stereo(left=object()).save(tmp_path / "request.npz")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["problem", "run"])
def test_files_of_something_else_are_one_line(name, tmp_path):
    PROBLEM.save(tmp_path / "problem")
    mrfhw.Request("problem", file=PROBLEM).job().run.save(tmp_path / "run")
    with pytest.raises(ProblemError, match="has the format 'mrfhw "):
        Request.load(tmp_path / name)
