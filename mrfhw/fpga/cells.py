"""What synthesis made of a design, counted in the same five kinds for every family."""

from __future__ import annotations

import json
import re
from pathlib import Path

__all__ = ["KINDS", "cells_of"]

# The families' cells by kind; whatever else there is (buffers, multiplexers of a slice, constants) is not counted.
_CELLS = {
    "lut": r"SB_LUT4|LUT\d|MISTRAL_ALUT\d",
    "carry": r"SB_CARRY|CCU2C|ALU|CARRY[48]|MISTRAL_ALUT_ARITH",
    "ff": r"SB_DFF\w*|TRELLIS_FF|DFF\w*|FD[RSCP]E|MISTRAL_FF",
    "ram": r"SB_RAM40_4K|DP16KD|PDPW16KD|SDPX?9B|SDPB|SPX?9?|SP|DPX?9?B|pROMX?9?|RAMB\d+E[12]|(MISTRAL_)?M10K",
    "dsp": r"SB_MAC16|MULT\w+|DSP48E[12]|MISTRAL_MUL\w+",
}
KINDS = tuple(_CELLS)


def cells_of(statistics: Path) -> dict[str, int]:
    """Cells by kind from what Yosys' `stat -json` wrote."""
    design = json.loads(statistics.read_text())["design"]["num_cells_by_type"]
    return {kind: sum(count for name, count in design.items() if re.fullmatch(pattern, name)) for kind, pattern in _CELLS.items()}
