"""The driver in C as a program of its own, of either byte order, on the compiled chip: the bits of the model."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from mrfhw.csupport.driver_files import driver_files
from mrfhw.csupport.image import c_array, load_image
from mrfhw.field.problem import ESTIMATES, Problem, Run, Schedule
from mrfhw.field.result import Result
from mrfhw.machine.config import Config
from mrfhw.model.machine import solve
from mrfhw.placement.placement import Placement
from mrfhw.sim.chip import CompiledChip
from support.c_driver import STRICT, Stream

CONFIG = Config.preset("smallest")
HOSTED = [word for word in STRICT[1:] if word != "-ffreestanding"]
SOURCE = Path(__file__).parent / "support" / "stdio_bus.c"


def served(command: list[str], chip: CompiledChip) -> list[int]:
    """What the program says in the end, after its accesses to the chip."""
    log = Stream(chip)
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, bufsize=1) as program:
        assert program.stdin is not None
        assert program.stdout is not None
        for line in program.stdout:
            kind, *numbers = line.split()
            values = [int(number) for number in numbers]
            if kind == "e":
                return values
            if kind == "w":
                chip.write(np.array(values[:1], np.uint32), np.array(values[1:], np.uint32))
                continue
            answer = [int(chip.read(np.array(values, np.uint32))[0])] if kind == "r" else log(values[0])
            said = [*answer] if kind == "r" else [len(answer), *answer]
            program.stdin.write(" ".join(map(str, said)) + "\n")
    raise AssertionError("the program ended without an answer")


@pytest.mark.parametrize(("compiler", "runner", "least_byte"), [
    ("gcc", (), 1),
    pytest.param("powerpc64-linux-gnu-gcc", ("qemu-ppc64",), 0, marks=pytest.mark.long, id="big-endian")])
def test_a_program_gives_the_model_s_bits(compiler: str, runner: tuple[str, ...], least_byte: int, tmp_path: Path) -> None:
    """Of the mode, the mean and the last sample. least_byte: the first in memory of a word that is 1."""
    for tool in (compiler, *runner):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    rng = np.random.default_rng(5)
    problem = Problem(labels=6, singleton1=rng.integers(0, 64, (7, 8)), constants=np.arange(6) * 11, alpha=2, beta=5,
                      schedule=Schedule.constant(40.0), clamped=rng.random((7, 8)) < 0.2)
    with CompiledChip(CONFIG, quick=True) as chip:
        for estimate in ESTIMATES:
            p = Placement(CONFIG, problem, Run(sweeps=9, burn_in=2, seed=4, estimate=estimate))
            for name, text in {**driver_files(CONFIG, None), "mrfhw_image.h": c_array(load_image(CONFIG, p, p.run))}.items():
                (tmp_path / name).write_text(text)
            subprocess.run([compiler, *HOSTED, *(["-static"] if runner else []), "-I", str(tmp_path), "-o", "program", str(SOURCE),
                            "mrfhw_driver.c"], cwd=tmp_path, check=True)
            error, byte, *answer = served([*runner, str(tmp_path / "program")], chip)
            assert (error, byte) == (0, least_byte)
            check(np.array(answer), problem, solve(CONFIG, p, p.run))


def check(answer: np.ndarray, problem: Problem, wanted: Result) -> None:
    """Counts or sums, as the estimate has them, and labels."""
    sites = problem.sites
    assert np.array_equal(answer[-sites:], wanted.last.ravel())
    if wanted.counts is not None:
        assert np.array_equal(answer[:-sites], wanted.counts.ravel())
    if wanted.sums is not None:
        assert np.array_equal(answer[:sites], wanted.sums[..., 0].ravel())
