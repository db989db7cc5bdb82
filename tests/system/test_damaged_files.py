"""Damaged files of every format that is read: an answer or one line, in bounded memory."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
MOST = 300_000  # KiB


@pytest.mark.slow
@pytest.mark.claim("files",
    "damaged pictures, truths, problems, results, checkpoints, requests, manifests and records of builds are read or refused in "
    "one line, without another exception or a warning, in bounded memory (200 of them, seeded; 2,000: make long)")
@pytest.mark.parametrize(("seed", "count"), [(1, 200), pytest.param(2, 2000, marks=pytest.mark.long)])
def test_damaged_files(seed: int, count: int) -> None:
    """Another seed for the long run, and warnings are errors."""
    done = subprocess.run([sys.executable, "-W", "error", "-m", "support.damaged", str(seed), str(count)], cwd=TESTS, check=False,
                          capture_output=True, text=True, timeout=600)
    assert done.stdout, done.stderr
    *faults, last = done.stdout.splitlines()
    found = json.loads(last)
    assert (done.returncode, found["wrong"]) == (0, 0), "\n".join(faults)
    assert found["memory"] < MOST
    assert found["refused"] > count // 2
    assert found["read"] > count // 50  # some damage is none
