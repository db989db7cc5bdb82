"""Drivers in C of machines that have names of their own."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from mrfhw.cli import main
from mrfhw.field.problem import Problem, Run
from support.c_driver import STRICT


@pytest.mark.tools
@pytest.mark.claim("soc",
    "the driver in C gives the model's bits on the compiled chip and, by make long, over AXI, on a big-endian processor and on a "
    "32-bit Cortex-A9 (both under QEMU), and each of its errors is met (more cases: make long)")
@pytest.mark.claim("runtime",
    "runs for the mean keep sums and runs for the last sample nothing; RTL, board and model are equal, however long and "
    "interrupted (more cases: make long)")
def test_drivers_of_machines_with_names_of_their_own_fit_into_one_program(tmp_path: Path) -> None:
    """Headers are those of `generate`; the driver's parts can be called from C++."""
    if shutil.which("gcc") is None:
        pytest.skip("gcc is not installed")
    field, out = tmp_path / "field.npz", tmp_path / "out"
    Problem(labels=3, singleton1=np.arange(20).reshape(4, 5), constants=[0, 9, 18]).save(field, Run(sweeps=9, burn_in=2))
    for name, more in (("left", ()), ("right", ("--sampler", "cdf"))):
        made = tmp_path / name
        generated = CliRunner().invoke(main, ["generate", "--preset", "smallest", "--name", name, *more, "-o", str(made)])
        assert generated.exit_code == 0, generated.output
        done = CliRunner().invoke(main, ["export", str(field), "--machine", str(made / "manifest.json"), "-o", str(out)])
        assert done.exit_code == 0, done.output
        assert (out / f"{name}.h").read_bytes() == (made / f"{name}.h").read_bytes()
        assert not re.search(r"\bmrfhw_", (out / f"{name}_driver.c").read_text(), re.IGNORECASE)
    assert {path.name for path in out.iterdir()} == {"example.c", *(f"{name}{end}" for name in ("left", "right") for end in (
        ".h", "_driver.h", "_driver.c", "_image.h", "_image.bin"))}
    parts = "".join(f'#include "{name}_driver.h"\n#include "{name}_image.h"\n' for name in ("left", "right"))
    uses = "left_machine a; right_machine b; return (left_open(&a, NULL) == LEFT_OK) + (right_open(&b, NULL) == RIGHT_OK);"
    (out / "both.c").write_text(f"{parts}int main(void) {{ (void)left_load_image; (void)right_load_image; {uses} }}\n")
    subprocess.run([*STRICT, "-c", "left_driver.c", "right_driver.c", "both.c"], cwd=out, check=True)
    subprocess.run(["gcc", "-o", "both", "left_driver.o", "right_driver.o", "both.o"], cwd=out, check=True)
    if shutil.which("g++") is not None:
        shutil.copy(out / "both.c", out / "both.cpp")
        subprocess.run(["g++", "-o", "both", "left_driver.o", "right_driver.o", "both.cpp"], cwd=out, check=True)
    manifest = json.loads((tmp_path / "left" / "manifest.json").read_text())
    (tmp_path / "other.json").write_text(json.dumps(manifest | {"top": "a b"}))
    words = ["export", str(field), "--machine", str(tmp_path / "other.json"), "-o", str(tmp_path / "no")]
    refused = CliRunner().invoke(main, words)
    assert (refused.exit_code, refused.output.count("\n")) == (2, 1)
    assert "has a top of no machine: give a manifest.json" in refused.output
