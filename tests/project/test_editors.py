"""What editors and type checkers find: the package of an editable install, and its options with their types."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from support.typed_options import MODULE, text

ROOT = Path(__file__).parents[2]


@pytest.mark.tools
@pytest.mark.claim("house", "an editable install is a folder on the path, where editors and type checkers find the package")
def test_an_editable_install_is_a_folder_on_the_path(tmp_path):
    """A finder in its place is known to Python alone."""
    tree, environment = tmp_path / "tree", tmp_path / "environment"
    shutil.copytree(ROOT / "mrfhw", tree / "mrfhw", ignore=shutil.ignore_patterns("__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, tree / name)
    for folder in ("studies", "sim", "tests"):
        (tree / folder).mkdir()
    without = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    for words in (("venv", "--without-pip", environment),
                  ("pip", "--python", environment, "install", "--quiet", "--no-deps", "--editable", tree)):
        subprocess.run([sys.executable, "-m", *map(str, words)], check=True, capture_output=True, env=without, timeout=600)
    (found,) = environment.glob("lib/python*/site-packages/__editable__*.pth")
    assert found.read_text().strip() == str(tree)
    assert (tree / "mrfhw" / "py.typed").exists()


def test_options_are_those_of_the_tables():
    assert MODULE.read_text() == text(), "python -m support.typed_options, from tests/, writes it anew"


RIGHT = """
import numpy as np
import mrfhw

left = np.zeros((10, 12), np.uint8)
answer = mrfhw.stereo(left, left, labels=4, sweeps=20, data="grey", spes=4, window=(0, 0, 8, 8), beta=2, tau=None)
numbers: list[np.ndarray] = [answer.disparity, answer.std, answer.mean, answer.interval, answer.depth, answer.entropy]
mrfhw.denoise(left, noise=20, beta=3)
mrfhw.segment(left, classes=2, means=(50, 100))
numbers.append(mrfhw.motion(left, left, vectors=(3, 3), one_way=True).std)
mrfhw.solve("field.npz", lanes=8)
"""
WRONG = {
    'mrfhw.stereo(left, left, lables=4)': 'Unexpected keyword argument "lables" for "stereo"; did you mean "labels"?',
    'mrfhw.stereo(left, left, data="gray")': 'Argument "data" to "stereo" has incompatible type',
    'mrfhw.denoise(left, beta="many")': 'Argument "beta" to "denoise" has incompatible type "str"',
    'mrfhw.solve("field.npz", lanes=3)': 'Argument "lanes" to "solve" has incompatible type'}


@pytest.mark.slow
@pytest.mark.claim("house", "a user's script is checked under strict types: wrong names and types of options are found")
def test_a_script_under_strict_types(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(RIGHT + "\n".join(WRONG) + "\n")
    done = subprocess.run([sys.executable, "-m", "mypy", "--strict", "--follow-imports=silent", "--cache-dir", tmp_path, script],
                          capture_output=True, text=True, cwd=tmp_path, env={**os.environ, "MYPYPATH": str(ROOT)})
    errors = [line for line in done.stdout.splitlines() if ": error: " in line]
    assert len(errors) == len(WRONG), done.stdout + done.stderr
    assert all(wanted in line for wanted, line in zip(WRONG.values(), errors, strict=True)), done.stdout
