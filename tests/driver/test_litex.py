"""The exported C program on the processor of a LiteX system, in LiteX's own simulator: the bits of the model."""

from __future__ import annotations

import importlib.util
import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from mrfhw.cli import main
from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.field.result import Result
from mrfhw.machine.config import Config
from mrfhw.placement.placement import Placement
from mrfhw.twin.machine import solve
from support.pages import ROOT, blocks

SYSTEM = Path(__file__).parents[1] / "support" / "litex_system.py"
TOOLS = ("g++", "gcc", "make", "riscv64-unknown-elf-gcc", "verilator")
HEADERS = ("event2/event.h", "json-c/json.h", "zlib.h")  # of LiteX's simulator
MODULES = ("litex", "migen", "pythondata_cpu_serv", "pythondata_cpu_vexriscv", "pythondata_misc_tapcfg")


def skip_without_tools() -> None:
    missing = [tool for tool in TOOLS if shutil.which(tool) is None]
    missing += [module for module in MODULES if importlib.util.find_spec(module) is None]
    if "gcc" not in missing:
        missing += [name for name in HEADERS
                    if subprocess.run(["gcc", "-E", "-"], input=f"#include <{name}>", capture_output=True, text=True).returncode]
    if missing:
        pytest.skip(f"{', '.join(missing)}: not installed; docs/integration.md has the commands")


def mrfhw(*words: str | Path) -> None:
    result = CliRunner().invoke(main, [str(word) for word in words])
    assert result.exit_code == 0, result.output


def call(*words: str | Path, directory: Path | None = None) -> str:
    """What a program prints; with what it says of its errors where it fails."""
    done = subprocess.run(words, cwd=directory, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=1200)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def problems() -> list[tuple[Problem, Run]]:
    """Hot, so that labels change and messages are sent: constants and clamped sites; a second image; a mean; the last labels."""
    rng = np.random.default_rng(1)
    first, second = rng.integers(0, 64, (2, 13, 15))
    constants = Problem(labels=6, singleton1=first, constants=np.arange(6) * 11, alpha=2, beta=5,
                        schedule=Schedule.constant(40.0), clamped=rng.random(first.shape) < 0.3)
    stereo = Problem(labels=5, singleton1=first, singleton2=second,
                     offsets=np.array([(0, 0), (0, -1), (1, -2), (-1, 3), (0, 2)]), alpha=3, beta=20, tau=3, out_of_range=9,
                     schedule=Schedule.geometric(60.0, 0.9, 20.0))
    return [(constants, Run(sweeps=9, burn_in=2, seed=1)), (stereo, Run(sweeps=24, burn_in=3, seed=2, initial="minimum")),
            (constants, Run(sweeps=9, burn_in=2, seed=3, estimate="mean")), (stereo, Run(sweeps=5, seed=4, estimate="last"))]


def numbers(output: str) -> dict[str, list[int]]:
    """What the program sent, by name, from its first line to its last; before and after are the simulator's own."""
    assert "\nerror " in output, output
    lines = output[output.index("\nerror ") + 1:].splitlines()
    assert "end" in lines, output
    return {name: [int(word, 16) for word in words] for name, *words in map(str.split, lines[:lines.index("end")]) if name != "#"}


def same_bits(found: dict[str, list[int]], wanted: Result) -> None:
    """Labels, histogram or sums, and what the machine counted. How long it waits for the memory is the system's."""
    wide = {name: (high << 32) + low for name, (high, low) in ((name, found[name]) for name in (
        "cycles", "gap_cycles", "stall_cycles", "messages"))}
    assert found["error"] == [0]
    np.testing.assert_array_equal(found["last"], wanted.last.ravel())
    counts = wanted.counts if wanted.sums is None else wanted.sums[..., 0]
    if counts is not None:
        np.testing.assert_array_equal(found["counts"][:counts.size], counts.ravel())
    assert wide["messages"] == wanted.log_messages
    assert wide["gap_cycles"] == wanted.gap_cycles
    assert wide["cycles"] - wide["stall_cycles"] == wanted.cycles - wanted.stall_cycles


@pytest.mark.tools
@pytest.mark.claim("soc",
    "the exported example, as it is, gives the model's bits on two processors of LiteX, on Wishbone and on AXI (make long, with "
    "riscv64-unknown-elf-gcc and the packages of the extra litex)")
@pytest.mark.long
@pytest.mark.parametrize(("processor", "bus", "machine"), [
    ("vexriscv", "wishbone", "--preset smallest"),
    ("serv", "wishbone", "--preset smallest"),
    ("vexriscv", "axi",
     "--mesh 2x2 --spus 2 --tile-rows 8 --tile-cols 8 --lmem-banks 4 --counter-bits 2 --line-bits 128 --sampler cdf"),
])
def test_the_example_on_a_processor(processor: str, bus: str, machine: str, tmp_path: Path) -> None:
    """Every bit of four problems, the log through a ring in the system's memory that is shorter than it."""
    skip_without_tools()
    mrfhw("generate", *machine.split(), "--top", "axi", "--axi-data-bits", "32", "-o", tmp_path / "machine")
    manifest = json.loads((tmp_path / "machine" / "manifest.json").read_text())
    config = Config.from_dict(manifest["parameters"])
    exported = []
    for number, (problem, run) in enumerate(problems()):
        field = tmp_path / f"{number}.npz"
        problem.save(field, run)
        exported.append(tmp_path / f"firmware{number}")
        mrfhw("export", field, "--machine", tmp_path / "machine" / "manifest.json", "-o", exported[-1])
    system = tmp_path / "system"
    call(sys.executable, SYSTEM, "--processor", processor, "--bus", bus, tmp_path / "machine", system, *exported)
    call("bash", "build_sim.sh", directory=system)
    logs = []
    for number, (problem, run) in enumerate(problems()):
        shutil.copy(system / f"rom{number}.init", system / "sim_rom.init")
        found = numbers(call("obj_dir/Vsim", directory=system))
        same_bits(found, solve(config, Placement(config, problem, run), run))
        logs.append(found["lines"][1] * config.line_bits // 8)
    assert max(logs) > 16 * manifest["memory_port"]["block_bytes"], "the ring of the example did not wrap"


@pytest.mark.claim("soc", "docs/integration.md's lines of Migen carry each access of a Wishbone classic master out once")
def test_the_flip_flop_in_migen() -> None:
    """Before a slave that takes requests and answers at random."""
    migen = pytest.importorskip("migen")
    wishbone = pytest.importorskip("litex.soc.interconnect.wishbone")
    text, = (block.text for block in blocks(ROOT / "docs" / "integration.md") if "machine_stb.eq" in block.text)
    module, bus, stb, stall = migen.Module(), wishbone.Interface(data_width=32, adr_width=8), migen.Signal(), migen.Signal()
    exec(text, {"Signal": migen.Signal, "self": module, "bus": bus, "machine_stb": stb, "machine_stall": stall})
    rng, asked, answers = np.random.default_rng(1), list[int](), list[int]()

    def slave():
        waits = 0
        while True:
            waits -= waits > 0
            yield bus.ack.eq(waits == 1)
            yield stall.eq(int(rng.random() < 0.5))
            yield
            if (yield bus.cyc) and (yield stb) and not (yield stall):
                assert waits == 0
                asked.append((yield bus.adr))
                waits = int(rng.integers(2, 6))

    def master():
        for address in range(100):
            yield from bus.read(address)
            answers.append(address)
            for _ in range(int(rng.integers(0, 3))):
                yield
        yield

    migen.run_simulation(module, [migen.passive(slave)(), master()])
    assert asked == answers == list(range(100))
