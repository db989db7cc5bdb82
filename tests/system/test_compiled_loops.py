"""Compiled loops on the disk are compiled again where anything changed that is compiled into them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

LOOP = """
from mrfhw.system.numba_alone import njit
from inner import PLUS, inner

@njit(nogil=True)
def outer(x):
    return 10 * inner(x) + PLUS

print(outer(1), sum(outer.stats.cache_hits.values()))
"""
INNER = """
from mrfhw.system.numba_alone import njit

PLUS = {plus}

@njit(inline="always")
def inner(x):
    return x + {more}
"""


def said(folder: Path, plus: int, more: int) -> str:
    (folder / "inner.py").write_text(INNER.format(plus=plus, more=more))
    os.utime(folder / "inner.py", (plus, more))
    if not (folder / "loop.py").exists():
        (folder / "loop.py").write_text(LOOP)
    return subprocess.run([sys.executable, "loop.py"], cwd=folder, capture_output=True, text=True, check=True).stdout


def test_a_loop_notices_changes_of_what_it_calls(tmp_path: Path) -> None:
    assert said(tmp_path, 3, 1) == "23 0\n"
    assert said(tmp_path, 3, 1) == "23 1\n"  # from the disk
    assert said(tmp_path, 3, 4) == "53 0\n"
    assert said(tmp_path, 5, 4) == "55 0\n"
