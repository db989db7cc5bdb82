"""Synthesis of a machine into the cells of a library, its large memories into macros."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from mrfhw.fpga.tools import find_tool, run_step
from mrfhw.generation.verilog import TILE, TOP, verilog_text
from mrfhw.machine.config import Config
from studies.asic.libraries import CellLibrary
from studies.asic.macros import Macro, liberty_of, take_macros

__all__ = ["CELLS", "INSIDE", "LIBERTY", "MACROS", "NETLIST", "Netlist", "synthesize"]

# Files in the directory of a synthesis, and the netlist's module, whose ports are single bits.
LIBERTY, MACROS, NETLIST, CELLS, INSIDE = "cells.lib", "macros.lib", "netlist.v", "cells.v", "netlist"

_MEMORIES = """read_verilog machine.v
hierarchy -top {top}
proc
opt
memory -nomap
opt
write_json memories.json
"""
# The first abc shares logic; the second chooses cells, buffers and sizes. Cells are c0, c1, ..., nets n0, n1, ...
_CELLS = """read_json macros.json
read_liberty -lib {macros}
hierarchy -top {top}
rename {top} {inside}
flatten
setattr -unset init w:*
opt
memory_map
opt -full
techmap
opt -fast
abc -g AND,NAND,OR,NOR,XOR,XNOR,MUX
opt -fast
dfflibmap -liberty {liberty}
abc -liberty {liberty} -D {picoseconds:.0f} -constr constraints.abc
opt_clean -purge
hilomap -hicell {library.high[0]} {library.high[1]} -locell {library.low[0]} {library.low[1]}
setundef -zero
splitnets -ports
opt_clean -purge
rename -enumerate -pattern c% t:* {kept}
rename -enumerate -pattern n% w:* i:* %d o:* %d
write_verilog -noattr -noexpr -nohex -nodec -simple-lhs {netlist}
write_json netlist.json
design -reset
read_liberty {liberty}
write_verilog -noattr {cells}
"""
_FANOUT = 4  # inputs of a buffer that an output drives


@dataclass(frozen=True)
class Netlist:
    """A machine in cells. directory: of its files. macros: its memories' kinds. picoseconds: that
    synthesis aimed at. seconds: that it took."""

    config: Config
    library: CellLibrary
    directory: Path
    macros: frozenset[Macro]
    picoseconds: float
    seconds: float

    @cached_property
    def design(self) -> dict[str, Any]:
        """As Yosys' JSON has it: the modules by name, without the macros."""
        modules = json.loads((self.directory / "netlist.json").read_text())["modules"]
        return {name: module for name, module in modules.items() if name not in {macro.name for macro in self.macros}}

    @cached_property
    def ports(self) -> dict[str, tuple[str, int]]:
        """Direction and bits of the machine's ports, by name, before they are single bits."""
        modules = json.loads((self.directory / "memories.json").read_text())["modules"]
        return {name: (port["direction"], len(port["bits"])) for name, port in modules[TOP]["ports"].items()}

    @cached_property
    def cell_areas(self) -> dict[str, float]:
        """um^2 of each of the library's cells that the netlist has."""
        kinds = {cell["type"] for cell in self.cells.values()} - {macro.name for macro in self.macros}
        return {kind: _attribute(self._liberty, kind, "area") for kind in kinds}

    @cached_property
    def cells(self) -> dict[str, dict[str, Any]]:
        """The cells of the library and the macros, by their path from the netlist's top, names joined with '/'."""
        found = {}

        def below(module: str, path: str) -> None:
            for name, cell in self.design[module]["cells"].items():
                if cell["type"] in self.design:
                    below(cell["type"], f"{path}{name}/")
                else:
                    found[path + name] = cell

        below(INSIDE, "")
        return found

    @cached_property
    def tile(self) -> str:
        """The instance of the tile."""
        return next(name for name, cell in self.design[INSIDE]["cells"].items() if cell["type"] == TILE)

    def pins(self) -> Iterator[tuple[str, str]]:
        """Each pin of a cell by its path, and the path of its net; not the clock's, nor those that nothing or a constant drives."""
        def below(module: str, path: str) -> Iterator[tuple[str, str]]:
            nets = {net["bits"][0]: name for name, net in self.design[module]["netnames"].items() if len(net["bits"]) == 1}
            for name, cell in self.design[module]["cells"].items():
                if cell["type"] in self.design:
                    yield from below(cell["type"], f"{path}{name}/")
                    continue
                for port, bits in cell["connections"].items():
                    wired = [(at, nets[bit]) for at, bit in enumerate(bits) if nets.get(bit, "clk") != "clk"]
                    yield from ((f"{path}{name}/{port}{f'[{at}]' if len(bits) > 1 else ''}", path + net) for at, net in wired)

        yield from below(INSIDE, "")

    @property
    def nand2(self) -> float:
        """um^2 of the library's smallest NAND of two inputs."""
        return float(_attribute(self._liberty, self.library.nand2, "area"))

    @cached_property
    def _liberty(self) -> str:
        return (self.directory / LIBERTY).read_text()

    @property
    def load(self) -> float:
        """Capacitance at an output, in the library's unit."""
        return _FANOUT * _input_capacitance(self._liberty, self.library.buffer)


def _attribute(liberty: str, cell: str, name: str) -> float:
    """The first of a cell's attributes of that name."""
    begins = next(at for at in (liberty.find(f"cell ({quoted})") for quoted in (cell, f'"{cell}"')) if at >= 0)
    found = re.compile(rf"\b{name}\s*:\s*\"?([0-9.eE+-]+)").search(liberty, begins)
    assert found is not None, (cell, name)
    return float(found[1])


def _input_capacitance(liberty: str, cell: str) -> float:
    """Of the cell's first input; pg_pins have no capacitance."""
    return _attribute(liberty, cell, "capacitance")


def synthesize(config: Config, library: CellLibrary, liberty: str, directory: Path, picoseconds: float) -> Netlist:
    """Synthesize `config` in `directory`, for a clock of so many picoseconds.

    liberty: text of the library's cells. A tile and its parts remain modules, each with an area and a power of its own; all else
    is one. Registers have no initial value: the machine's reset sets what it sets. Raises BuildError and ProblemError.
    """
    (directory / LIBERTY).write_text(liberty)
    (directory / "machine.v").write_text(verilog_text(config))
    yosys = find_tool("yosys")
    (directory / "memories.ys").write_text(_MEMORIES.format(top=TOP))
    first = run_step(yosys, ["-q", "-l", "memories.rpt", "memories.ys"], directory)
    design = json.loads((directory / "memories.json").read_text())
    macros = frozenset(take_macros(design))
    tile = design["modules"][TILE]
    parts = {cell["type"] for cell in tile["cells"].values()} & set(design["modules"])
    for name in (TILE, *parts):
        design["modules"][name]["attributes"]["keep_hierarchy"] = "1"
    (directory / "macros.json").write_text(json.dumps(design))
    femtofarads = library.femtofarads * _input_capacitance(liberty, library.buffer)
    (directory / MACROS).write_text(liberty_of(macros, library, femtofarads))
    load = _FANOUT * femtofarads
    (directory / "constraints.abc").write_text(f"set_driving_cell {library.driver[0]}\nset_load {load:.3f} [all_outputs]\n")
    kept = " ".join(f"t:{name} %d" for name in (TILE, *sorted(parts)))
    (directory / "cells.ys").write_text(_CELLS.format(
        top=TOP, inside=INSIDE, liberty=LIBERTY, macros=MACROS, netlist=NETLIST, cells=CELLS, library=library,
        picoseconds=picoseconds, kept=kept))
    second = run_step(yosys, ["-q", "-l", "cells.rpt", "cells.ys"], directory)
    return Netlist(config, library, directory, macros, picoseconds, first.seconds + second.seconds)
