"""Designs that several tests look at, synthesized once in a run of all tests."""

from __future__ import annotations

import fcntl
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner

from mrfhw.cli import main
from studies.baseline import MACHINES, measure

__all__ = ["SAID", "TOO_LARGE", "build", "synthesize"]

SAID = "said.txt"  # in a folder that `build` has filled: exit status and output

TOO_LARGE = "icebreaker, cdf"  # placing it fails, soon

# How `mrfhw build` is told of a machine of `MACHINES`.
NARROW = ("--preset", "smallest", "--label-bits", "3", "--data-bits", "4", "--energy-bits", "8", "--weight-bits", "2",
          "--vector-bits", "2", "--temperature-bits", "12", "--counter-bits", "3")
OPTIONS = {
    "ulx3s-85f, narrow": ("--board", "ulx3s-85f", *NARROW, "--gumbel-uniform-bits", "8", "--gumbel-fraction-bits", "2"),
    TOO_LARGE: ("--board", "icebreaker", *NARROW, "--sampler", "cdf", "--probability-bits", "6",
                        "--exponent-fraction-bits", "2", "--uniform-bits", "8"),
}


def _once(tests: pytest.TempPathFactory, name: str, make: Callable[[Path], object], directory: Path) -> None:
    """Fill `directory` with what `make` leaves in the folder it is given. The first worker that asks for `name` makes it."""
    base = tests.getbasetemp()
    common = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "synthesized"
    common.mkdir(exist_ok=True)
    kept = common / name.replace(", ", "-").replace(" ", "-")
    with kept.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not kept.exists():
            part = kept.with_suffix(".part")
            shutil.rmtree(part, ignore_errors=True)
            part.mkdir()
            make(part)
            part.rename(kept)
    shutil.copytree(kept, directory, dirs_exist_ok=True)


def build(tests: pytest.TempPathFactory, name: str, directory: Path) -> None:
    """What `mrfhw build` makes of a machine of `OPTIONS`, and a record that was there before it."""
    def make(part: Path) -> None:
        (part / "build.json").write_text("{}")
        result = CliRunner().invoke(main, ["build", *OPTIONS[name], "--seeds", "1", "-o", str(part)])
        (part / SAID).write_text(f"{result.exit_code}\n{result.output}")

    _once(tests, name, make, directory)


def synthesize(tests: pytest.TempPathFactory, name: str, directory: Path) -> None:
    """What synthesis makes of the design of `MACHINES[name]`."""
    assert name in MACHINES
    _once(tests, f"{name}, synthesized", lambda part: measure(name, part), directory)
