"""Command lines give the bits that were recorded: labels, last sample, histogram, cycles and label evaluations of small scenes.

A change that is meant to change them records them anew, with its reason: python -m support.command_lines --record "REASON" (from
tests/); CONTRIBUTING.md says when.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mrfhw.samplers import cpu
from mrfhw.twin import machine
from support.command_lines import LINES, LONG, OUT, RECORDED, digest, invoke, prepare, what_it_gave

COMMAND_LINES_RUN = pytest.mark.claim("applications",
    "command lines of run give the labels, last sample, histogram or mean, cycles and label evaluations that were recorded, in "
    "this process and in one of their own; a change has a reason (more lines: make long)")

RECORD = json.loads(RECORDED.read_text())
# On a picture of which two threads take a share each. None of float's work is shared, but that of what prepares its field may be.
SHARED = "denoise/noisy.png --mask denoise/mask.png --levels 24 --sweeps 12"
BACKENDS = {"model": machine, "cpu": cpu, "float": None}


@pytest.fixture(scope="module")
def scenes(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, str]]:
    """The directory of the lines' pictures, and their digests."""
    directory = tmp_path_factory.mktemp("lines")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(directory)
        return directory, prepare()


@pytest.mark.slow
@COMMAND_LINES_RUN
def test_the_pictures_are_those_of_the_record(scenes: tuple[Path, dict[str, str]]) -> None:
    """Where this fails the lines' bits say nothing: a scene has changed, or NumPy's random numbers have."""
    assert scenes[1] == RECORD["pictures"]


@COMMAND_LINES_RUN
def test_the_record_is_of_these_lines() -> None:
    assert list(RECORD["lines"]) == [*LINES, *LONG]
    assert all(change["reason"].strip() for change in RECORD["changes"])


@pytest.mark.slow
@COMMAND_LINES_RUN
@pytest.mark.parametrize("line", [pytest.param(line, marks=[pytest.mark.long] * (line in LONG), id=re.sub(r" \S+/\S+", "", line))
                                  for line in (*LINES, *LONG)])
def test_command_lines_give_the_recorded_bits(line: str, scenes: tuple[Path, dict[str, str]],
                                              monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(scenes[0])
    invoke(line, *OUT)
    assert what_it_gave() == RECORD["lines"][line]


@pytest.mark.slow
@COMMAND_LINES_RUN
def test_so_does_a_process_of_its_own(scenes: tuple[Path, dict[str, str]], tmp_path: Path) -> None:
    """With the process beside it that makes diagnostics, as from a shell."""
    line = LINES[0]
    subprocess.run([sys.executable, "-m", "mrfhw", *shlex.split(line), "--no-report", "-o", str(tmp_path)], cwd=scenes[0],
                   env={**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}, check=True,
                   capture_output=True, timeout=300)
    assert what_it_gave(tmp_path) == RECORD["lines"][line]


@pytest.mark.slow
@pytest.mark.claim("applications", "one thread and two give the same command line's bits on model, cpu and float")
@pytest.mark.parametrize("backend", BACKENDS)
def test_threads_change_no_bit(backend: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`cpu` and `float` at a temperature that rests, of which the record has nothing: their weights are NumPy's exp."""
    monkeypatch.chdir(tmp_path)
    invoke("demo-scene denoise --rows 192 --cols 240 -o denoise")
    shares = []
    used = BACKENDS[backend]
    if used is not None:
        in_shares: Callable[..., Any] = used.in_shares

        def noted(work: Callable[[int, int], Any], parts: int, wanted: int, threads: int) -> list[Any]:
            made = in_shares(work, parts, wanted, threads)
            shares.append(len(made))
            return made

        monkeypatch.setattr(used, "in_shares", noted)
    gave = []
    for threads in ("1", "2"):
        monkeypatch.setenv("MRFHW_THREADS", threads)
        shares.clear()
        invoke(f"run denoise {SHARED} --backend {backend}", *OUT)
        gave.append(what_it_gave())
        assert used is None or max(shares) == int(threads)
    assert gave[0] == gave[1]


@COMMAND_LINES_RUN
def test_one_bit_is_another_digest() -> None:
    """Of a label, or of a picture's shape; not a type."""
    array = np.arange(12).reshape(3, 4)
    other = array.copy()
    other[1, 2] ^= 1
    assert len({digest(array), digest(other), digest(array.reshape(4, 3))}) == 3
    assert digest(array) == digest(array.astype(np.uint8)) == digest(array.astype(np.float64).T.copy().T)
