"""pytest runs the tests of a tree against that tree's package, or not at all."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def run_in(tree: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """pytest in a tree with one test, which asks what a program that it starts would import."""
    (tree / "tests" / "room").mkdir(parents=True)
    shutil.copy2(ROOT / "tests" / "conftest.py", tree / "tests")
    (tree / "tests" / "room" / "test_it.py").write_text(
        "import subprocess, sys\ndef test_it():\n    code = 'import mrfhw; print(mrfhw.__file__)'\n"
        "    assert subprocess.run([sys.executable, '-c', code], capture_output=True, text=True).stdout.startswith("
        f"{str(ROOT)!r})\n")
    return subprocess.run([sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests"], cwd=tree, text=True,
                          capture_output=True, check=False, env={**os.environ, "PYTHONPATH": str(ROOT), **environment})


@pytest.mark.slow
def test_another_tree_s_package_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mrfhw").mkdir()
    (tmp_path / "mrfhw" / "__init__.py").touch()
    done = run_in(tmp_path, PYTHONSAFEPATH="1")  # the installed package comes before that of the folder
    assert done.returncode != 0
    said = f"mrfhw is {ROOT / 'mrfhw'}, and these tests are of {tmp_path / 'mrfhw'}: run pytest from {tmp_path}"
    assert said in done.stdout + done.stderr


@pytest.mark.slow
def test_a_release_s_tests_are_of_what_is_installed(tmp_path: Path) -> None:
    """Without the package beside them, as scripts/release.py runs them."""
    done = run_in(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
