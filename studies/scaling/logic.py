"""Cells of machines over meshes and lanes, as synthesis made them, and the record of them that is kept with the program."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tqdm import tqdm  # type: ignore[import-untyped,unused-ignore]

from mrfhw.fpga.errors import BuildError
from mrfhw.fpga.tools import find_tool
from mrfhw.generation.verilog import TILE, TOP, verilog_text
from mrfhw.system.files import replaced
from mrfhw.system.input_files import read_plain
from studies.cells import occupied
from studies.scaling.families import FAMILIES
from studies.scaling.machines import LANES, PRESET, SIDES, machine
from studies.synthesis import SCRIPTS, cell_types

__all__ = ["ALL", "MESH", "Design", "Synthesis", "header", "measure_logic", "read_logic", "synthesize", "write_logic"]

RECORD_BYTES = 1 << 24  # of one at most
# Modules that a machine has many of: tiles, and the nodes of its trees.
ONCE = (TILE, *(f"{TOP.partition('_')[0]}_{node}*" for node in ("control_node", "log_hub", "line_packer")))


@dataclass(frozen=True)
class Design:
    """What is synthesized: side x side tiles of so many lanes. flat: every tile by itself, as the netlist of a board has them, and
    not one for all."""

    family: str
    lanes: int
    side: int
    flat: bool = False

    @property
    def name(self) -> str:
        return f"{self.family} {self.side}x{self.side}x{self.lanes}{', flat' if self.flat else ''}"


# Every number of lanes on every mesh. One machine of several tiles is synthesized both ways.
MESH = 2
ALL = (*(Design(family, lanes, side) for lanes in LANES for side in SIDES for family in FAMILIES),
       *(Design(family, LANES[0], MESH, flat=True) for family in FAMILIES))


@dataclass(frozen=True)
class Synthesis:
    """Cells by type of a design, of the whole machine and of one of its tiles (of which a flat one has none)."""

    design: Design
    cells: dict[str, int]
    tile: dict[str, int]

    @property
    def lanes(self) -> int:
        """Of all tiles together."""
        return self.design.lanes * self.design.side**2

    def occupied(self) -> dict[str, int]:
        """By resource (`studies.cells.RESOURCES`)."""
        return occupied(self.cells, self.design.family)


def synthesize(design: Design, directory: Path) -> Synthesis:
    """Takes about a minute. directory: for the tool's files. Raises BuildError."""
    verilog = verilog_text(machine(design.lanes, design.side))
    found = cell_types(verilog, TOP, design.family, directory, () if design.flat else ONCE)
    made = Synthesis(design, found[TOP], found.get(TILE, {}))
    made.occupied()  # raises for cells that are not known
    return made


def header() -> dict[str, Any]:
    """What a record is of."""
    return {"preset": PRESET, "parameters": {name: value for name, value in machine(1, 1).to_dict().items()
                                             if name not in ("lanes", "mesh_rows", "mesh_cols")},
            "scripts": {family: SCRIPTS[family] for family in FAMILIES}}


def write_logic(path: Path, found: Iterable[Synthesis], yosys: str) -> None:
    """A JSON file with a line for each design."""
    rows = ",\n".join(json.dumps({**vars(one.design), "cells": one.cells, "tile": one.tile})
                      for one in sorted(found, key=lambda one: ALL.index(one.design)))
    head = json.dumps({**header(), "yosys": yosys}, indent=1).removesuffix("\n}")
    with replaced(path) as file:
        file.write(f'{head},\n "synthesized": [\n{rows}\n]}}\n'.encode())


def read_logic(path: Path) -> tuple[list[Synthesis], str]:
    """What `write_logic` wrote: the designs, and the version of Yosys. Raises BuildError."""
    way_out = "give a directory that python -m studies.scaling --measure filled"
    try:
        held = json.loads(read_plain(path, way_out, RECORD_BYTES, BuildError))
        found = [Synthesis(Design(*(row[name] for name in ("family", "lanes", "side", "flat"))), row["cells"], row["tile"])
                 for row in held["synthesized"]]
        for one in found:
            one.occupied()
        unknown = next((one.design.name for one in found if one.design not in ALL), None)
        wrong = f"it has {unknown}" if unknown else None if {**held, **header()} == held else "it is of other machines or scripts"
        yosys = str(held["yosys"])
    except BuildError:
        raise
    except (ValueError, RecursionError, LookupError, TypeError, AttributeError) as error:
        raise BuildError(f"{path} is no record of synthesized machines ({error}): {way_out}") from None
    if wrong:
        raise BuildError(f"{path} is no record of these machines ({wrong}): {way_out}")
    return found, yosys


def measure_logic(path: Path, designs: Iterable[Design] = ALL) -> None:
    """Synthesize the designs that the record at `path` does not have yet, one after the other, and write it after each.

    About a minute each. Raises BuildError, also where the record was made by another Yosys.
    """
    yosys = find_tool("yosys").version
    found, before = read_logic(path) if path.exists() else ([], yosys)
    if before != yosys:
        raise BuildError(f"{path} was made by {before} and this is {yosys}: give another file")
    held = {one.design for one in found}
    left = [design for design in designs if design not in held]
    with tqdm(total=len(left), unit="machine", leave=False, disable=None) as bar:
        for design in left:
            bar.set_description(design.name)
            with tempfile.TemporaryDirectory() as folder:
                found.append(synthesize(design, Path(folder)))
            write_logic(path, found, yosys)
            bar.update(1)
