"""The examples and the pages that show their output: what a page says is what they print."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import mrfhw
from mrfhw.cli import main

SITE_BUILDS_WITHOUT = pytest.mark.claim(
    "documents", "the site builds without a warning, and what its pages show is what the program does")

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLES = DOCS / "examples"
SCRIPTS = ("stereo", "motion", "segment", "denoise")


def fenced(page: str) -> list[tuple[str, str]]:
    """(language, text) of the page's fenced blocks."""
    return re.findall(r"^```(\w+)\n(.*?)^```$", (DOCS / page).read_text(), re.M | re.S)


def without_seconds(text: str) -> list[str]:
    return [re.sub(r"\d+\.\d+ s\b", "S", line) for line in text.strip().splitlines()]


def run_block(code: str, names: dict[str, Any]) -> str:
    """What the code prints."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(code, "page", "exec"), names)
    return said.getvalue()


def run_commands(block: str) -> str:
    """What the block's mrfhw commands say."""
    said = ""
    for line in block.replace("\\\n", " ").splitlines():
        if line.startswith("mrfhw "):
            result = CliRunner().invoke(main, shlex.split(line)[1:], prog_name="mrfhw")
            assert result.exit_code == 0, (line, result.output)
            said += result.output
    return said


@SITE_BUILDS_WITHOUT
@pytest.mark.parametrize("name", SCRIPTS)
def test_script_prints_what_the_page_says(name, tmp_path):
    page = (DOCS / "examples.md").read_text()
    shown = re.search(rf"\(examples/{name}\.py\).*?^```text\n(.*?)^```$", page, re.M | re.S)
    assert shown is not None
    path = os.pathsep.join(filter(None, [str(DOCS.parent), os.environ.get("PYTHONPATH")]))
    done = subprocess.run([sys.executable, EXAMPLES / f"{name}.py"], cwd=tmp_path, env={**os.environ, "PYTHONPATH": path},
                          capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, shown[1]), done.stderr
    assert (tmp_path / "out" / name / "report.html").is_file()


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_use_public_names_alone(name):
    text = (EXAMPLES / f"{name}.py").read_text()
    imported = re.findall(r"^(?:import|from) (\S+)", text, re.M)
    assert set(imported) <= {"numpy", "mrfhw", "mrfhw.scenes"}
    assert set(re.findall(r"\bmrfhw\.(\w+)", text)) <= {*mrfhw.__all__, "scenes"}


def test_notebook(tmp_path, monkeypatch):
    """Its cells in order, without Jupyter; what they print is what the file has stored."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    for cell in json.loads((EXAMPLES / "stereo.ipynb").read_text())["cells"]:
        if cell["cell_type"] == "code":
            stored = "".join(line for one in cell["outputs"] if one["output_type"] == "stream" for line in one["text"])
            assert run_block("".join(cell["source"]), names) == stored
            plt.close("all")
    assert (tmp_path / "out" / "notebook" / "report.html").is_file()


@SITE_BUILDS_WITHOUT
def test_tutorial(tmp_path, monkeypatch):
    """Commands and Python in order. Each output that is shown is that of the block before it, but for the seconds."""
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    commands = python = ""
    shown = 0
    for language, text in fenced("tutorial.md"):
        if language == "sh":
            commands = "" if "shorter" in text else run_commands(text)  # of the shorter run Python's is enough
        elif language == "python":
            python = run_block(text, names)
        else:
            shown += 1
            assert without_seconds(text) in (without_seconds(commands), without_seconds(python)), text
    assert shown == 4
    assert np.array_equal(np.load("result/labels.npy"), names["answer"].labels)
    interval = np.load("result/interval.npy")[:, :, 0]
    assert np.array_equal(interval, names["answer"].interval)


def test_own_costs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {}
    python, answers = "", []
    for language, text in fenced("own-costs.md"):
        if language == "text":
            assert text == python
        else:
            python = run_block(text, names)
            answers.append(names["answer"])
    (command,) = re.findall(r"^    (mrfhw .*)$", (DOCS / "own-costs.md").read_text(), re.M)
    run_commands(f"{command} -o out")
    assert np.array_equal(np.load("out/labels.npy"), answers[0].labels)
    assert names["best"].converged is None
    assert (names["best"].last != names["truth"]).mean() < 0.1
    assert mrfhw.solve(names["weighted"], sweeps=20).labels.shape == names["truth"].shape
