"""A small machine on each family of the open tools: its cells beside the baseline."""

from __future__ import annotations

import json

import pytest

from mrfhw.fpga.baseline import BASELINES, MACHINES, changes
from mrfhw.fpga.boards import BOARDS
from mrfhw.fpga.cells import KINDS, cells_of
from mrfhw.fpga.flow import STATISTICS
from mrfhw.machine.samplers import Cdf
from support.synthesized import synthesize

# In every test run; the other machines with --own-machines.
ALWAYS = ("ulx3s-85f, narrow", "icebreaker", "icebreaker, cdf", "tang-nano-9k, 4 label memories")


@pytest.mark.parametrize("name", MACHINES)
def test_no_family_grew(name, tmp_path, tmp_path_factory, request):
    """More, or fewer, than the tolerance: `python -m mrfhw.fpga.baseline --update` and say why in the commit."""
    if name not in ALWAYS and not request.config.getoption("--own-machines"):
        pytest.skip("long: --own-machines has it")
    synthesize(tmp_path_factory, name, tmp_path)
    assert changes(name, cells_of(tmp_path / STATISTICS)) == []


def test_every_family_is_measured():
    assert {BOARDS[MACHINES[name][0]].family for name in ALWAYS} == {board.family for board in BOARDS.values() if board.open_flow}


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
