"""The driver in C as a program of its own, of either byte order and of 32 and 64 bits, on the compiled chip: the model's bits."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from mrfhw.driver.c_files import driver_files
from mrfhw.driver.image import c_array, load_image
from mrfhw.field.problem import ESTIMATES, Problem, Run, Schedule
from mrfhw.field.result import Result
from mrfhw.generation.identity import circuit_digest
from mrfhw.machine.config import Config
from mrfhw.machine.ports import MemoryPort
from mrfhw.placement.placement import Placement
from mrfhw.simulation.chip import CompiledChip
from mrfhw.twin.machine import solve
from support.c_driver import STRICT, Stream

pytestmark = pytest.mark.claim("soc",
    "the driver in C gives the model's bits on the compiled chip and, by make long, over AXI, on a big-endian processor and on a "
    "32-bit Cortex-A9 (both under QEMU), and each of its errors is met (more cases: make long)")

CONFIG = Config.preset("smallest")
HOSTED = [word for word in STRICT[1:] if word != "-ffreestanding"]
SOURCE = Path(__file__).parents[1] / "support" / "stdio_bus.c"


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


# Under QEMU, which runs a program of another processor; -static, because that processor's shared libraries are not here.
BIG_ENDIAN = ("powerpc64-linux-gnu-gcc", "-static"), ("qemu-ppc64",)
CORTEX_A9 = ("arm-linux-gnueabihf-gcc", "-mcpu=cortex-a9", "-static"), ("qemu-arm", "-cpu", "cortex-a9")  # of a Zynq-7000


@pytest.mark.tools
@pytest.mark.parametrize(("compiler", "runner", "least_byte"), [
    pytest.param(("gcc",), (), 1, id="this-processor"),
    pytest.param(*BIG_ENDIAN, 0, marks=pytest.mark.long, id="big-endian"),
    pytest.param(*CORTEX_A9, 1, marks=pytest.mark.long, id="cortex-a9")])
def test_a_program_gives_the_model_s_bits(compiler: tuple[str, ...], runner: tuple[str, ...], least_byte: int,
                                          tmp_path: Path) -> None:
    """Of the mode, the mean and the last sample. least_byte: the first in memory of a word that is 1."""
    for tool in (compiler[0], *runner[:1]):
        if shutil.which(tool) is None:
            pytest.skip(f"{tool} is not installed")
    rng, digest = np.random.default_rng(5), circuit_digest(CONFIG)
    problem = Problem(labels=6, singleton1=rng.integers(0, 64, (7, 8)), constants=np.arange(6) * 11, alpha=2, beta=5,
                      schedule=Schedule.constant(40.0), clamped=rng.random((7, 8)) < 0.2)
    with CompiledChip(CONFIG, quick=True) as chip:
        for estimate in ESTIMATES:
            p = Placement(CONFIG, problem, Run(sweeps=9, burn_in=2, seed=4, estimate=estimate))
            image = c_array(load_image(CONFIG, digest, p, p.run))
            for name, text in {**driver_files(CONFIG, digest), "mrfhw_image.h": image}.items():
                (tmp_path / name).write_text(text)
            subprocess.run([*compiler, *HOSTED, "-I", str(tmp_path), "-o", "program", str(SOURCE), "mrfhw_driver.c"],
                           cwd=tmp_path, check=True)
            error, byte, *answer = served([*runner, str(tmp_path / "program")], chip)
            assert (error, byte) == (0, least_byte)
            check(np.array(answer), problem, solve(CONFIG, p, p.run))


@pytest.mark.slow
def test_barriers_of_the_example(tmp_path: Path) -> None:
    """With BARRIER the Cortex-A9's program has one before each write and one after each read of a register; without, none."""
    compiler, *options = (*CORTEX_A9[0], "-O1", "-S", "-o", "-", "example.c")
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    p = Placement(CONFIG, Problem(labels=2, unary=np.zeros((3, 4, 2), int), schedule=Schedule.constant(9.0)), Run(sweeps=2))
    image = c_array(load_image(CONFIG, circuit_digest(CONFIG), p, p.run))
    for name, text in {**driver_files(CONFIG, circuit_digest(CONFIG), MemoryPort(64, 32, 128)), "mrfhw_image.h": image}.items():
        (tmp_path / name).write_text(text)

    def barriers(*more: str) -> int:
        text = subprocess.run([compiler, *options, *more], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
        return len(re.findall(r"^\s+dmb\b", text, re.MULTILINE))

    assert (barriers(), barriers("-DBARRIER=__sync_synchronize")) == (0, 2)


def check(answer: np.ndarray, problem: Problem, wanted: Result) -> None:
    """Counts or sums, as the estimate has them, and labels."""
    sites = problem.sites
    assert np.array_equal(answer[-sites:], wanted.last.ravel())
    if wanted.counts is not None:
        assert np.array_equal(answer[:-sites], wanted.counts.ravel())
    if wanted.sums is not None:
        assert np.array_equal(answer[:sites], wanted.sums[..., 0].ravel())
