"""First contents of memories, as the chip's compiler gets them: the same words, read by Icarus."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

from mrfhw.generation.verilog import verilog_text
from mrfhw.machine.config import Config
from mrfhw.simulation.memory_content import with_constants

pytestmark = pytest.mark.claim(
    "compiled chip", "memories' first contents, which the chip's compiler gets as constants, are the same words")


def content(memory: str, width: int, values: list[int]) -> str:
    """As the generated Verilog has it, with one run of equal words as a loop."""
    lines = ["  initial begin : first_content", "    integer i;"]
    for address, value in enumerate(values[:-20]):
        lines.append(f"    {memory}[{address}] = {width}'h{value:x};")
    lines += [f"    for (i = {len(values) - 20}; i < {len(values)}; i = i + 1)", f"      {memory}[i] = {width}'h{values[-1]:x};"]
    return "\n".join((*lines, "  end", ""))


@pytest.mark.tools
@pytest.mark.parametrize(("width", "depth"), [(1, 100), (11, 4096), (18, 4096), (30, 1024), (64, 700)])
@pytest.mark.parametrize("memory", ["storage", r"\table "])
def test_words_are_the_same(tmp_path: Path, memory: str, width: int, depth: int) -> None:
    rng = np.random.default_rng(width)
    values = [int.from_bytes(rng.bytes(8), "little") % (1 << width) for _ in range(depth)]
    values[-20:] = [values[-1]] * 20
    before = content(memory, width, values)
    after = with_constants(before)
    assert len(after.splitlines()) < 40 < len(before.splitlines())
    (tmp_path / "top.v").write_text(
        f"module top;\n  reg [{width - 1}:0] {memory}[0:{depth - 1}];\n{after}  integer n;\n  initial begin\n    #1;\n"
        f"    for (n = 0; n < {depth}; n = n + 1) $display(\"%h\", {memory}[n]);\n  end\nendmodule\n")
    subprocess.run(["iverilog", "-g2005", "-o", "top.vvp", "top.v"], cwd=tmp_path, check=True)
    printed = subprocess.run(["vvp", "-n", "top.vvp"], cwd=tmp_path, check=True, capture_output=True, text=True).stdout
    assert [int(word, 16) for word in printed.split()] == values


@pytest.mark.parametrize("other", ["    q = 1'h1;\n", "    storage[200] = 8'h0;\n", "    another[0] = 8'h0;\n"])
def test_other_blocks_stay(other: str) -> None:
    """Of a register beside the memory, with words left out, of two memories."""
    text = content("storage", 8, list(range(100))).replace("  end\n", f"{other}  end\n")
    assert with_constants(text) == text


def test_a_machines_tables_are_constants() -> None:
    text = verilog_text(Config())
    assert text.count("] = ") - with_constants(text).count("] = ") > 500
