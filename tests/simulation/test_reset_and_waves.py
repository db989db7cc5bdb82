"""What registers read after reset is what documents say; the signals of a compiled chip can be written."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from mrfhw.backends.registry import backend_type
from mrfhw.cli import main
from mrfhw.driver.register_map import register_map
from mrfhw.generation.identity import circuit_digest
from mrfhw.machine.address_map import AddressMap
from mrfhw.machine.config import Config
from mrfhw.simulation.chip import CompiledChip
from mrfhw.system.errors import ProblemError

SMALLEST = Config.preset("smallest")


@pytest.mark.tools
@pytest.mark.slow
@pytest.mark.parametrize("several", [{}, {"clusters": 2}, {"contexts": 2}])
def test_registers_after_reset(several: dict[str, int]) -> None:
    config = SMALLEST.changed(**several)
    found = register_map(config, circuit_digest(config))
    rows = found["registers"] + found.get("clusters", {"registers": []})["registers"]
    read = [row for row in rows if "r" in row["access"]]
    with CompiledChip(config, quick=True) as chip:
        for cluster in range(config.seats):
            at = np.array([AddressMap(config).cluster(cluster) + row["address"] for row in read], np.uint32)
            assert dict(zip((row["name"] for row in read), chip.read(at).tolist(), strict=True)) == {
                row["name"]: row["reset"] for row in read}


@pytest.mark.tools
@pytest.mark.slow
@pytest.mark.claim("machine", "compiled designs of one process are ended in any order")
def test_designs_end_in_any_order() -> None:
    """Those whose tiles are compiled by themselves, which the simulator knows by name; libc overwrites what is given back."""
    chips = "CompiledChip(Config.preset('smallest', mesh_rows=3, mesh_cols=3), quick=True) for _ in range(3)"
    lines = ["from mrfhw.machine.config import Config", "from mrfhw.simulation.chip import CompiledChip"]
    for order in ("0, 1, 2", "2, 1, 0", "1, 2, 0"):
        lines += [f"chips = [{chips}]", f"for n in ({order}): chips[n].close()"]
    done = subprocess.run([sys.executable, "-c", "\n".join(lines)], env={**os.environ, "MALLOC_PERTURB_": "165"},
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.fixture
def noisy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    monkeypatch.chdir(tmp_path)
    Image.fromarray(np.random.default_rng(1).integers(0, 256, (8, 8), np.uint8)).save("noisy.png")
    return ["verify", "denoise", "noisy.png", "--machine", "smallest", "--sweeps", "4"]


@pytest.mark.tools
@pytest.mark.slow
def test_signals_are_written(noisy: list[str]) -> None:
    """One of every clock edge of the run, and the answer is the same."""
    result = CliRunner().invoke(main, [*noisy, "--waves", "out.vcd"])
    assert result.exit_code == 0, result.output
    assert "equal: rtl and model" in result.output
    text = Path("out.vcd").read_text()
    code = re.search(r"\$var wire +1 (\S+) bus_stb \$end", text)
    assert code is not None
    assert text.count(f"1{code[1]}\n") > 4
    cycles = int(re.findall(r"^#(\d+)$", text, re.M)[-1])
    assert int(re.findall(r"(\d+) cycles", result.output)[0]) < cycles < 50_000


@pytest.mark.parametrize(("words", "line"), [
    (("--waves", "out.fst"), "waves is out.fst; the signals are written as VCD: give a name that ends in .vcd"),
    (("--waves", "out.vcd", "--backend", "tcp://127.0.0.1:1"), "waves is out.vcd; only a compiled chip's signals are followed: "
                                                                "leave --backend or --waves out"),
    (("--waves", "none/there.vcd/x.vcd"), "there.vcd"),
])
def test_mistakes_are_one_line(noisy: list[str], words: tuple[str, ...], line: str) -> None:
    Path("none").mkdir()
    Path("none/there.vcd").touch()
    result = CliRunner().invoke(main, [*noisy, *words])
    assert result.exit_code == 2
    assert line in result.output
    assert not Path("out.vcd").exists()


def test_a_file_that_cannot_be_written_is_said_before_anything_is_compiled(tmp_path: Path) -> None:
    with pytest.raises(IsADirectoryError):
        CompiledChip(SMALLEST, waves=(tmp_path, 10))


@pytest.mark.parametrize("name", ["rtl?waves=", "rtl?wave=x.vcd", "model?waves=x.vcd"])
def test_other_backends_write_none(name: str) -> None:
    with pytest.raises(ProblemError, match="it must be auto, or one of"):
        backend_type(name)
