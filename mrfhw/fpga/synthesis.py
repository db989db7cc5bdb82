"""Synthesis of a machine or a part of it alone, without a board: its cells."""

from __future__ import annotations

from pathlib import Path

from mrfhw.fpga.boards import BOARDS
from mrfhw.fpga.cells import cells_of
from mrfhw.fpga.tools import find_tool, run_step

__all__ = ["SCRIPTS", "synthesized"]

# Of each family, of the module {0}: as `mrfhw build` synthesizes it, or as Yosys does for families that vendors' tools build.
SCRIPTS = {
    "ecp5": "synth_ecp5 -top {0}",
    "ice40": BOARDS["icebreaker"].options["script_after_read"].replace("-top top", "-top {0}") + "\nsynth_ice40 -device u -top {0}",
    "gowin": f"synth_gowin {BOARDS['tang-nano-9k'].options['synth_opts']} -top {{0}}",
    "xilinx": "synth_xilinx -family xc7 -flatten -top {0}",
}


def synthesized(verilog: str, top: str, family: str, directory: Path) -> dict[str, int]:
    """Cells by kind (`mrfhw.fpga.cells.KINDS`) of a module. directory: for the tool's files. Raises BuildError."""
    (directory / "module.v").write_text(verilog)
    (directory / "module.ys").write_text(f"read_verilog module.v\n{SCRIPTS[family].format(top)}\ntee -q -o cells.json stat -json\n")
    run_step(find_tool("yosys"), ["-q", "-l", "module.rpt", "module.ys"], directory)
    return cells_of(directory / "cells.json")
