"""An application of another distribution, of one file: installed by pip, and run from the shell and from Python."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from support.checkout import ROOT

SHADES = Path(__file__).parents[1] / "support" / "shades"
FROM_PYTHON = """
import numpy as np
import mrfhw
from mrfhw.jobs.registry import names
assert names()[-1] == "shades"
answer = mrfhw.run(mrfhw.Request("shades", image=np.full((16, 20), 90, np.uint8), shades=3, sweeps=4))
print(answer.labels.shape, sorted({int(one) for one in answer.labels.flat}), answer.report["backend"], answer.machine)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what pip makes of it."""
    place = tmp_path_factory.mktemp("outside")
    shutil.copytree(SHADES, place / "source")
    done = subprocess.run([sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--no-compile", "--target",
                           place / "installed", place / "source"], capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return place / "installed"


def run(installed: Path, *words: object, cwd: Path, code: int = 0) -> str:
    done = subprocess.run([sys.executable, *map(str, words)], cwd=cwd, capture_output=True, text=True, timeout=300, check=False,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join([str(installed), str(ROOT)])})
    assert done.returncode == code, done.stderr
    return done.stdout if code == 0 else done.stderr


def test_it_is_run_from_the_shell(installed: Path, tmp_path: Path) -> None:
    """Its scene, its options, its file, its map, its measure, and the page's title: all of it from its one file."""
    said = run(installed, "-m", "mrfhw", "demo-scene", "shades", "--rows", 24, "--cols", 32, "--steps", 3, "-o", "scene",
               cwd=tmp_path)
    words = said.splitlines()[1].removeprefix("solve it: mrfhw ").split()
    out = tmp_path / "out"
    said = run(installed, "-m", "mrfhw", *words[:-1], out, "--backend", "model", cwd=tmp_path)
    assert "wrong shades: " in said
    report = json.loads((out / "report.json").read_text())
    assert (report["application"], report["labels"], report["sweeps"] >= 40) == ("shades", 3, True)
    assert {"shades.png", "dark.npy", "dark.png"} <= set(report["files"])
    assert report["metrics"]["wrong"] < 5
    page = (out / "report.html").read_text()
    assert "<h1>Shades: shade</h1>" in page
    assert "White: what is black." in page
    assert np.array_equal(np.asarray(Image.open(out / "shades.png")), np.load(out / "labels.npy"))


def test_it_is_run_from_python(installed: Path, tmp_path: Path) -> None:
    assert run(installed, "-c", FROM_PYTHON, cwd=tmp_path) == "(16, 20) [1] cpu None\n"


def test_the_lists_name_it_and_its_options_are_refused_in_one_line(installed: Path, tmp_path: Path) -> None:
    assert "shades   Draw IMAGE in few shades." in run(installed, "-m", "mrfhw", "run", "--help", cwd=tmp_path)
    Image.fromarray(np.zeros((8, 8), np.uint8)).save(tmp_path / "p.png")
    said = run(installed, "-m", "mrfhw", "verify", "shades", "p.png", "--shades", 1, cwd=tmp_path, code=2)
    assert said == "Error: shades is 1; the limits are 2 to 256: give a number between them\n"


@pytest.mark.parametrize(("file", "said"), [
    ("raise ValueError('no')", "which cannot be imported, ValueError: no: mend or remove it"),
    ("APPLICATION = 3", "which is no Application: mend or remove it"),
    ("", "which cannot be imported, AttributeError"),
    ("from dataclasses import replace\nfrom mrfhw.jobs.registry import application\n"
     "APPLICATION = replace(application('stereo'), verb='other')", "which has the verb 'other': mend or remove it")])
def test_a_broken_one_is_one_line_and_leaves_the_others(file: str, said: str, installed: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    shutil.copytree(installed, broken)
    (broken / "shades.py").write_text(file)
    error = run(broken, "-m", "mrfhw", "run", "shades", "p.png", "--shades", 3, cwd=tmp_path, code=2)
    assert error.startswith("Error: application shades is shades:APPLICATION of shades-for-mrfhw, ")
    assert said in error
    assert error.count("\n") == 1
    listed = run(broken, "-m", "mrfhw", "run", "--help", cwd=tmp_path)
    assert "Match LEFT with RIGHT" in listed
    run(broken, "-m", "mrfhw", "demo-scene", "--rows", 24, "--cols", 32, "--labels", 4, "-o", "scene", cwd=tmp_path)


def test_an_unknown_one_is_one_line_that_lists_those_there_are(installed: Path, tmp_path: Path) -> None:
    said = run(installed, "-m", "mrfhw", "run", "sterio", cwd=tmp_path, code=2)
    assert said == ("Error: application is 'sterio'; it must be one of stereo, motion, segment, denoise, problem, shades: choose "
                    "one (see mrfhw run --help)\n")
