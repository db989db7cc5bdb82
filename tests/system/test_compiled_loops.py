"""Compiled loops on the disk are compiled again where anything changed that is compiled into them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

LOOP = """
import sys

from mrfhw.system.numba_alone import njit
from inner import PLUS, inner

@njit(nogil=True)
def outer(x):
    return 10 * inner(x) + PLUS

if len(sys.argv) > 1:  # somebody edits a file that is imported already
    with open("inner.py", "a") as file:
        file.write("# another comment\\n")

print(outer(1), sum(outer.stats.cache_hits.values()))
"""
INNER = """
from mrfhw.system.numba_alone import njit

PLUS = {plus}

@njit(inline="always")
def inner(x):
    return x + {more}
"""


def said(folder: Path, plus: int, more: int, *edited: str) -> str:
    (folder / "inner.py").write_text(INNER.format(plus=plus, more=more))
    os.utime(folder / "inner.py", (plus, more))
    if not (folder / "loop.py").exists():
        (folder / "loop.py").write_text(LOOP)
    # -B: Python itself would take the former file for the new one, as their times and sizes are the same.
    return subprocess.run([sys.executable, "-B", "loop.py", *edited], cwd=folder, capture_output=True, text=True, check=True).stdout


def test_a_loop_notices_changes_of_what_it_calls(tmp_path: Path) -> None:
    assert said(tmp_path, 3, 1) == "23 0\n"
    assert said(tmp_path, 3, 1) == "23 1\n"  # from the disk
    assert said(tmp_path, 3, 4) == "53 0\n"
    assert said(tmp_path, 5, 4) == "55 0\n"


def test_what_is_edited_after_its_import_is_not_kept_as_the_new_one(tmp_path: Path) -> None:
    """The loop of the former file is not found by a process that has the new one."""
    assert said(tmp_path, 3, 1, "edited") == "23 0\n"
    found = subprocess.run([sys.executable, "loop.py"], cwd=tmp_path, capture_output=True, text=True, check=True).stdout
    assert found == "23 0\n"
