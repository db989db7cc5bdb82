"""The examples and the pages that show their output: what a page says is what they print."""

from __future__ import annotations

import contextlib
import io
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import mrfhw

DOCS = Path(__file__).parents[2] / "docs"
EXAMPLES = DOCS / "examples"
SCRIPTS = ("stereo", "motion", "strokes", "segment", "denoise")


def run_block(code: str, names: dict[str, Any]) -> str:
    """What the code prints."""
    said = io.StringIO()
    with contextlib.redirect_stdout(said):
        exec(compile(code, "page", "exec"), names)
    return said.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("name", SCRIPTS)
def test_script_prints_what_the_page_says(name, tmp_path):
    page = (DOCS / "tutorial.md").read_text()
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
