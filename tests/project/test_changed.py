"""Which tests `make quick` runs."""

from __future__ import annotations

import subprocess
import sys

import pytest

from support.changed import ROOT, changed, files_of_tests


@pytest.mark.parametrize(("path", "has", "lacks"), [
    ("mrfhw/placement/visit_order.py", "tests/placement/test_visit_order.py", "tests/field/test_problem.py"),
    ("sim/benches/bench_log_hub.py", "tests/gateware/test_tree.py", "tests/gateware/test_bridge.py"),
    ("studies/faults.py", "tests/studies/test_faults.py", "tests/studies/test_synthesis.py"),
    ("tests/cost/test_picture.py", "tests/cost/test_picture.py", "tests/cost/test_cost.py")])
def test_of_a_file_those_that_name_it(path, has, lacks):
    found = files_of_tests(path)
    assert has in found
    assert lacks not in found
    assert all((ROOT / name).exists() for name in found)


def test_what_has_no_tests():
    assert files_of_tests("README.md") == files_of_tests("tests/support/changed.py") == []


def test_changed_files_are_those_of_git(tmp_path):
    def git(*words: str) -> None:
        subprocess.run(["git", "-c", "user.name=n", "-c", "user.email=e", *words], cwd=tmp_path, check=True, capture_output=True)

    git("init")
    for name in ("kept.py", "edited.py", "gone.py"):
        (tmp_path / name).write_text("1\n")
    git("add", "-A")
    git("commit", "-m", "first")
    (tmp_path / "edited.py").write_text("2\n")
    (tmp_path / "new.py").write_text("3\n")
    (tmp_path / "gone.py").unlink()
    assert changed("HEAD", tmp_path) == ["edited.py", "new.py"]


def test_an_unknown_commit_is_one_line():
    done = subprocess.run([sys.executable, "-m", "support.changed", "--since", "nowhere"], cwd=ROOT / "tests", capture_output=True,
                          text=True)
    assert done.returncode == 1
    assert done.stderr.startswith("since is 'nowhere', ")
    assert done.stderr.count("\n") == 1
