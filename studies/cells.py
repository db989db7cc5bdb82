"""What synthesis made of a design, counted in the same five kinds for every family, and what it occupies of a device."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping
from pathlib import Path

from mrfhw.fpga.cells import KINDS, cells_of
from mrfhw.fpga.errors import BuildError

__all__ = ["KINDS", "RESOURCES", "cells_of", "occupied", "types_of"]

# What a cell occupies of a device's resources, by the cell's type; what is in no row occupies nothing of them.
RESOURCES = ("logic", "ff", "ram", "dsp")
_FREE = r"\$scopeinfo|GND|VCC|INV"
_OCCUPIED: dict[str, dict[str, dict[str, float]]] = {
    # Logic: look-up tables of four inputs, of which a carry of two bits takes two and a memory of 16x4 four, as nextpnr counts
    # them; what writes such memories stands beside the tables. Multiplexers of a slice are free.
    "ecp5": {"logic": {"LUT4": 1, "CCU2C": 2, "TRELLIS_DPR16X4": 4}, "ff": {"TRELLIS_FF": 1},
             "ram": {"DP16KD|PDPW16KD": 1}, "dsp": {"MULT18X18D": 1, "MULT9X9D": 0.5}, "": {"PFUMX|L6MUX21": 0}},
    # Logic: adaptive logic modules, an estimate. A function of six inputs takes one; two functions of five or fewer, or two bits of
    # a carry, share one. Multipliers: of 18x18; a block is two of them, three of 9x9 or one of 27x27.
    "cyclone5": {"logic": {"MISTRAL_ALUT6": 1, "MISTRAL_ALUT[2-5]|MISTRAL_ALUT_ARITH|MISTRAL_MLAB": 0.5}, "ff": {"MISTRAL_FF": 1},
                 "ram": {"(MISTRAL_)?M10K": 1}, "dsp": {"MISTRAL_MUL27X27": 2, "MISTRAL_MUL18X18": 1, "MISTRAL_MUL9X9": 2 / 3},
                 "": {"MISTRAL_(NOT|CLKBUF|IB|OB)": 0}},
    # Logic: look-up tables of six inputs, as a memory or a shift register, too; those of a carry are cells of their own. Two small
    # functions may share one, which is not counted. RAM: halves of a block, as a half can be used alone.
    "ultrascale": {"logic": {r"LUT\d|SRL16E|SRLC32E|RAM(32|64)X1S": 1, "RAM(32|64)X1D|RAM128X1S": 2,
                             "RAM(32|64)M|RAM128X1D|RAM256X1S": 4, "RAM32M16|RAM64M8|RAM256X1D|RAM512X1S": 8},
                   "ff": {"FD[RSCP]E": 1}, "ram": {"RAMB36E2": 2, "RAMB18E2": 1}, "dsp": {"DSP48E2": 1},
                   "": {r"CARRY[48]|MUXF\d": 0}},
}


def types_of(statistics: Path) -> tuple[dict[str, int], dict[str, dict[str, int]]]:
    """Cells by type from what Yosys' `stat -json` wrote: of the design, and of one of each of its modules."""
    found = json.loads(statistics.read_text())
    modules = {name.removeprefix("\\"): module["num_cells_by_type"] for name, module in found["modules"].items()}

    def cells(counted: Mapping[str, int]) -> dict[str, int]:
        return {name: count for name, count in counted.items() if name.removeprefix("\\") not in modules}

    return cells(found["design"]["num_cells_by_type"]), {name: cells(counted) for name, counted in modules.items()}


def occupied(cells: Mapping[str, int], family: str) -> dict[str, int]:
    """What cells by type occupy of each of `RESOURCES`, halves rounded up. Raises BuildError for a type that is not known."""
    rows = {resource: dict(_OCCUPIED[family].get(resource, {})) for resource in (*RESOURCES, "")}
    rows[""][_FREE] = 0
    total = dict.fromkeys(rows, 0.0)
    for name, count in cells.items():
        found = [(resource, weight) for resource, row in rows.items() for types, weight in row.items() if re.fullmatch(types, name)]
        if len(found) != 1:
            raise BuildError(f"synthesis made {count} cells {name}, and what they occupy of {family} is not known: name them in "
                             "studies/cells.py")
        total[found[0][0]] += count * found[0][1]
    return {resource: math.ceil(round(total[resource], 6)) for resource in RESOURCES}
