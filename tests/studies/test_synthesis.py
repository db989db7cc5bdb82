"""A small machine on each family of the open tools: its cells beside the baseline."""

from __future__ import annotations

import json

import pytest

from mrfhw.fpga.boards import BOARDS
from mrfhw.fpga.errors import BuildError
from mrfhw.fpga.flow import STATISTICS
from mrfhw.machine.samplers import Cdf
from studies.baseline import BASELINES, MACHINES, changes
from studies.cells import KINDS, RESOURCES, cells_of, occupied
from studies.synthesis import cell_types
from support.synthesized import synthesize

TILE_SYNTHESIZED_ONCE = pytest.mark.claim("python -m studies.scaling",
    "a tile synthesized once counts as often as there are tiles, within 5 % of tiles one by one; memories are block RAM, products "
    "multipliers")

# In every test run, as it is synthesized soonest; the other machines with --own-machines.
ALWAYS = "tang-nano-9k, 4 label memories"


@pytest.mark.tools
@pytest.mark.parametrize("name", MACHINES)
def test_no_family_grew(name, tmp_path, tmp_path_factory, request):
    """More, or fewer, than the tolerance: `python -m studies.baseline --update` and say why in the commit."""
    if name != ALWAYS and not request.config.getoption("--own-machines"):
        pytest.skip("long: --own-machines has it")
    synthesize(tmp_path_factory, name, tmp_path)
    assert changes(name, cells_of(tmp_path / STATISTICS)) == []


def test_every_family_is_measured():
    families = {board.family for board in BOARDS.values() if board.open_flow}
    assert {BOARDS[board].family for board, _ in MACHINES.values()} == families


def test_both_samplers_and_both_label_memories_are_measured():
    assert set(json.loads(BASELINES.read_text())["machines"]) == set(MACHINES)
    assert any(isinstance(otherwise.get("sampler"), Cdf) for _, otherwise in MACHINES.values())
    assert any(otherwise.get("lmem_banks") == 4 for _, otherwise in MACHINES.values())


def test_a_change_is_noticed():
    name, before = next(iter(json.loads(BASELINES.read_text())["machines"].items()))
    assert changes(name, before) == []
    more = changes(name, {**before, "lut": round(1.06 * before["lut"])})
    assert len(more) == 1
    assert more[0].startswith(f"{name}: lut {before['lut']} -> ")
    assert changes(name, {**before, "dsp": before["dsp"] + 1})
    assert changes(name, {**before, "ram": before["ram"] - 1})


def test_cells_are_counted_by_kind(tmp_path):
    path = tmp_path / "cells.json"
    path.write_text(json.dumps({"design": {"num_cells_by_type": {
        "SB_LUT4": 3, "LUT4": 2, "LUT6": 1, "SB_CARRY": 4, "CCU2C": 5, "ALU": 6, "SB_DFFESR": 7, "TRELLIS_FF": 8, "DFFRE": 9,
        "SB_RAM40_4K": 10, "DP16KD": 11, "SDPX9B": 12, "SB_MAC16": 13, "MULT18X18D": 14, "PFUMX": 99, "SB_IO": 99}}}))
    assert cells_of(path) == {"lut": 6, "carry": 15, "ff": 24, "ram": 33, "dsp": 27}
    assert tuple(cells_of(path)) == KINDS
    path.write_text(json.dumps({"design": {"num_cells_by_type": {
        "MISTRAL_ALUT2": 1, "MISTRAL_ALUT6": 2, "MISTRAL_ALUT_ARITH": 3, "CARRY4": 4, "CARRY8": 5, "MISTRAL_FF": 6, "FDRE": 7,
        "MISTRAL_M10K": 8, "RAMB18E2": 9, "RAMB36E2": 10, "MISTRAL_MUL27X27": 11, "MISTRAL_MUL9X9": 12, "DSP48E2": 13,
        "MISTRAL_NOT": 99, "MUXF7": 99, "RAM32M16": 99}}}))
    assert cells_of(path) == {"lut": 3, "carry": 12, "ff": 13, "ram": 27, "dsp": 36}


@TILE_SYNTHESIZED_ONCE
@pytest.mark.parametrize(("family", "cells", "wanted"), [
    ("ecp5", {"LUT4": 5, "CCU2C": 2, "TRELLIS_DPR16X4": 1, "PFUMX": 7, "DP16KD": 2, "MULT18X18D": 3, "MULT9X9D": 1}, (13, 0, 2, 4)),
    ("cyclone5", {"MISTRAL_ALUT6": 2, "MISTRAL_ALUT3": 3, "MISTRAL_ALUT_ARITH": 4, "MISTRAL_FF": 9, "MISTRAL_MUL9X9": 3,
                  "MISTRAL_MUL27X27": 2, "MISTRAL_MUL18X18": 1, "MISTRAL_NOT": 4}, (6, 9, 0, 7)),
    ("ultrascale", {"LUT6": 3, "LUT2": 2, "RAM32M16": 2, "SRL16E": 1, "FDRE": 4, "FDSE": 1, "RAMB36E2": 2, "RAMB18E2": 1,
                    "DSP48E2": 5, "CARRY4": 9, "INV": 3, "$scopeinfo": 8}, (22, 5, 5, 5)),
])
def test_what_cells_occupy(family, cells, wanted):
    assert tuple(occupied(cells, family).values()) == wanted
    assert tuple(occupied(cells, family)) == RESOURCES


@TILE_SYNTHESIZED_ONCE
def test_a_cell_of_which_nothing_is_known():
    with pytest.raises(BuildError, match="synthesis made 2 cells DP16KE, and what they occupy of ecp5 is not known"):
        occupied({"LUT4": 1, "DP16KE": 2}, "ecp5")


PARTS = """
module part(input clk, input [3:0] a, output reg [3:0] y); always @(posedge clk) y <= a + 3; endmodule
module top(input clk, input [3:0] a, output [3:0] y);
  wire [3:0] b, c;
  part one(clk, a, b); part two(clk, b, c); part three(clk, c, y);
endmodule
"""


@TILE_SYNTHESIZED_ONCE
def test_a_module_synthesized_once_counts_as_often_as_there_are(tmp_path):
    """Three registers with a constant each; a pattern that no module has is none."""
    found = cell_types(PARTS, "top", "ecp5", tmp_path, ("part", "none*"))
    assert found["part"]["TRELLIS_FF"] == 4
    assert found["top"] == {name: 3 * count for name, count in found["part"].items()}
    assert "part" not in cell_types(PARTS, "top", "ecp5", tmp_path)
