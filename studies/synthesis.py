"""Synthesis of a machine or a part of it alone, without a board: its cells."""

from __future__ import annotations

import re
from pathlib import Path

from mrfhw.fpga.boards import BOARDS
from mrfhw.fpga.tools import find_tool, run_step
from studies.cells import cells_of, occupied, types_of

__all__ = ["COUNTED", "PACKERS", "SCRIPTS", "cell_types", "packed", "synthesized"]


def _of_board(name: str, command: str) -> str:
    """As `mrfhw build` synthesizes for that board."""
    board = BOARDS[name]
    before = board.script(lanes=1).replace("-top top", "-top {0}")
    return f"{before}\n{command} {board.options['synth_opts']} -top {{0}}"


# abc9 may give a new wire the name of one that is there, an assertion of Yosys, where wires have names.
_NAMELESS = "hierarchy -top {0}\nproc\nflatten\nrename -hide w:*\n"

# Yosys has a single-port memory of UltraScale's look-up tables with 16 address bits that it then cannot map; it takes that for
# memories of more words than the others have, which are block RAM here.
_DEEP_IN_BLOCKS = 'memory_collect\nsetattr -set ram_style "block" t:$mem* r:SIZE>256 %i\n'

# Yosys' M10K has one write enable, and a memory with several becomes flip-flops; the block has one for each ten bits of a word.
_M10K = """bram M10K
  init 1
""" + "".join(f"""  abits {13 - n} @{bits}
  dbits {bits} @{bits}
  enable {max(1, bits // 10)} 1 @{bits}
""" for n, bits in enumerate((1, 2, 5, 10, 20, 40))) + """  groups 2
  ports 1 1
  wrmode 1 0
  transp 0 0
  clocks 1 1
  clkpol 1 1
endbram
match M10K
  min efficiency 5
  shuffle_enable A
  make_transp
endmatch
"""
_M10K_PORTS = """(* blackbox *)
module M10K #(parameter INIT = 0, CFG_ABITS = 10, CFG_DBITS = 10, CFG_ENABLE_A = 1, CFG_ENABLE_B = 1)
  (input CLK1, input [CFG_ABITS-1:0] A1ADDR, input [CFG_DBITS-1:0] A1DATA, input [CFG_ENABLE_A-1:0] A1EN,
   input [CFG_ABITS-1:0] B1ADDR, output [CFG_DBITS-1:0] B1DATA, input [CFG_ENABLE_B-1:0] B1EN);
endmodule
"""

# Files that a family's script reads.
_FILES = {"cyclone5": {"m10k.txt": _M10K, "m10k.v": _M10K_PORTS}}

# Of each family, of the module {0}: as it is built for a board, or as Yosys does for families that vendors' tools build.
SCRIPTS = {
    "ecp5": _of_board("ecpix5-85f", "synth_ecp5"),
    "ice40": _of_board("icebreaker", "synth_ice40"),
    "gowin": _of_board("tang-nano-9k", "synth_gowin"),
    "xilinx": "synth_xilinx -family xc7 -flatten -top {0}",
    "cyclone5": "read_verilog -lib m10k.v\n" + _NAMELESS + "synth_intel_alm -family cyclonev -top {0} -run begin:map_bram\n"
                "memory_bram -rules m10k.txt\nsynth_intel_alm -family cyclonev -top {0} -run map_bram:",
    "ultrascale": _NAMELESS + _DEEP_IN_BLOCKS + "synth_xilinx -family xcup -flatten -noiopad -noclkbuf -top {0}",
}


def synthesized(verilog: str, top: str, family: str, directory: Path) -> dict[str, int]:
    """Cells by kind (`studies.cells.KINDS`) of a module. directory: for the tool's files. Raises BuildError."""
    return cells_of(_statistics(verilog, top, family, directory))


# Of families whose modules nextpnr packs without a board's pins: its tool and arguments, and the cells of its device that logic is
# counted in.
PACKERS = {
    "ecp5": ("nextpnr-ecp5", ("--85k", "--lpf-allow-unconstrained"), "TRELLIS_COMB"),
    "ice40": ("nextpnr-ice40", ("--up5k", "--package", "sg48", "--pcf-allow-unconstrained"), "ICESTORM_LC"),
}


# Families whose unit of logic several cells share, as `studies.cells.occupied` counts.
COUNTED = ("cyclone5",)


def packed(verilog: str, top: str, family: str, directory: Path) -> dict[str, int]:
    """The same with `logic`: units of the device that the module's logic takes.

    Of a family of PACKERS cells as nextpnr packs them, before they are placed (a module needs no more pins than it has for that);
    of COUNTED cells by type. Raises BuildError.
    """
    statistics = _statistics(verilog, top, family, directory)
    cells = cells_of(statistics)
    if family in COUNTED:
        return {**cells, "logic": occupied(types_of(statistics)[0], family)["logic"]}
    tool, arguments, kind = PACKERS[family]
    run_step(find_tool(tool), ["--json", "module.json", "--pack-only", *arguments], directory)
    said = re.findall(rf"^Info:\s+{kind}:\s+(\d+)/", (directory / f"{tool}.log").read_text(), re.M)
    return {**cells, "logic": int(said[-1])}


def cell_types(verilog: str, top: str, family: str, directory: Path, once: tuple[str, ...] = ()) -> dict[str, dict[str, int]]:
    """Cells by type of a module with all below it, under its name, and of each module of `once` that it has, under theirs.

    once: patterns of modules that are synthesized by themselves, however often they are instantiated, and counted as often as they
    are. directory: for the tool's files. Raises BuildError.
    """
    statistics = _statistics(verilog, top, family, directory, once)
    whole, parts = types_of(statistics)
    return {top: whole, **{name: cells for name, cells in parts.items() if name != top}}


def _statistics(verilog: str, top: str, family: str, directory: Path, once: tuple[str, ...] = ()) -> Path:
    """What `stat -json` writes of the synthesized module."""
    keep = f"hierarchy -top {top}\nsetattr -mod -set keep_hierarchy 1 {' '.join(once)}\n" if once else ""
    for name, text in {"module.v": verilog, **_FILES.get(family, {})}.items():
        (directory / name).write_text(text)
    (directory / "module.ys").write_text(
        f"read_verilog module.v\n{keep}{SCRIPTS[family].format(top)}\ntee -q -o cells.json stat -json\nwrite_json module.json\n")
    run_step(find_tool("yosys"), ["-q", "-l", "module.rpt", "module.ys"], directory)
    return directory / "cells.json"
