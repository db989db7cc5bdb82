"""`mrfhw tune --backend gpu`: ways of drawing a job on a device, the soonest first."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner

from mrfhw.cli import main
from mrfhw.field.problem import Problem, save_problem
from mrfhw.samplers.gpu.chain import Choice

pytestmark = pytest.mark.claim("gpu", "ways of drawing a job on a device are tried for a stated time, and the soonest is named")


def tune(*words: str):
    return CliRunner().invoke(main, ["tune", *words])


def test_the_soonest_way_of_drawing_a_field_is_named(tmp_path):
    path = tmp_path / "field.npz"
    save_problem(path, Problem(labels=5, unary=np.random.default_rng(0).integers(0, 40, (20, 30, 5)), beta=3))
    found = tune("--backend", "gpu?device=0", "--job", str(path), "--budget", "600s", "--json")
    assert found.exit_code == 0, found.output
    record = json.loads(found.stdout)
    seconds = [point["sweep_s"] for point in record["points"]]
    assert seconds == sorted(seconds)
    assert len(seconds) > 8
    variant = Choice.of(record["backend"].removeprefix("gpu?")).variant
    first = record["points"][0]
    assert (variant.group, variant.keep, variant.fixed) == (tuple(first["group"]), first["keep"], first["fixed"])
    plain = tune("--backend", "gpu?device=0", "--sites", "16x24", "--labels", "4", "--budget", "0s")
    assert plain.exit_code == 0, plain.output
    assert plain.stdout.splitlines()[-1] == "--backend 'gpu?device=0&group=64x1&keep=1&local=none&fixed=0'"
    assert "stereo of 16x24 sites and 4 labels" in plain.stdout


@pytest.mark.parametrize(("words", "line"), [
    ((), "board and backend are not given; a job is tuned for one of them: give --board NAME, or --backend gpu"),
    (("--board", "icebreaker", "--backend", "gpu"), "board and backend are both given; a job is tuned for one of them: "),
    (("--backend", "cpu"), "backend is 'cpu'; ways of drawing are tried on devices alone: give gpu, or such as gpu?device=0"),
    (("--backend", "gpu", "--fix", "a=1"), "fix is given with a backend; it is of boards: leave --fix out"),
    (("--backend", "gpu", "--delay", "0ms"), "delay is given with a backend; it is of boards: leave --delay out"),
    (("--backend", "gpu", "--points", "here"), "points is given with a backend; it is of boards: leave --points out"),
    (("--backend", "gpu", "--quality", "0.1"), "quality is given with a backend; it is of boards: leave --quality out"),
    (("--backend", "gpu?device=abacus", "--sites", "16x16", "--labels", "4"), "device is 'abacus'; there are these: 0: "),
    (("--backend", "gpu", "--budget", "2h", "--sites", "16x16", "--labels", "4"), "budget is 7200 s; ways of drawing are tried for "
                                                                                "600 s at most: give less")])
def test_mistakes_are_one_line(words, line):
    found = tune(*words)
    assert found.exit_code == 2
    assert len(found.stderr.splitlines()) == 1
    assert found.stderr.startswith(f"Error: {line}")
