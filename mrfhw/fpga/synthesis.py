"""Synthesis of a machine or a part of it alone, without a board: its cells."""

from __future__ import annotations

from pathlib import Path

from mrfhw.fpga.boards import BOARDS
from mrfhw.fpga.cells import cells_of
from mrfhw.fpga.tools import find_tool, run_step

__all__ = ["SCRIPTS", "synthesized"]


def _of_board(name: str, command: str) -> str:
    """As `mrfhw build` synthesizes for that board."""
    options = BOARDS[name].options
    before = options.get("script_after_read", "").replace("-top top", "-top {0}")
    return f"{before}\n{command} {options['synth_opts']} -top {{0}}"


# Of each family, of the module {0}: as it is built for a board, or as Yosys does for families that vendors' tools build.
SCRIPTS = {
    "ecp5": _of_board("ulx3s-85f", "synth_ecp5"),
    "ice40": _of_board("icebreaker", "synth_ice40"),
    "gowin": _of_board("tang-nano-9k", "synth_gowin"),
    "xilinx": "synth_xilinx -family xc7 -flatten -top {0}",
}


def synthesized(verilog: str, top: str, family: str, directory: Path) -> dict[str, int]:
    """Cells by kind (`mrfhw.fpga.cells.KINDS`) of a module. directory: for the tool's files. Raises BuildError."""
    (directory / "module.v").write_text(verilog)
    (directory / "module.ys").write_text(f"read_verilog module.v\n{SCRIPTS[family].format(top)}\ntee -q -o cells.json stat -json\n")
    run_step(find_tool("yosys"), ["-q", "-l", "module.rpt", "module.ys"], directory)
    return cells_of(directory / "cells.json")
