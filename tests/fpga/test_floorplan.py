"""Sites of a machine's block RAMs and multipliers on an ECP5."""

from __future__ import annotations

import itertools
import json
import re
from collections import defaultdict
from pathlib import Path

import pytest

from mrfhw.cost.devices import DEVICES
from mrfhw.fpga.floorplan import GRIDS, fix, sites

GRID = GRIDS["LFE5U-85F"]
RAM = ("lmem.bank_0.0.0", "lmem.bank_1.0.0", "lmem.bank_2.0.0", "lmem.bank_3.0.0", "s1mem.memory.0.0", "edges.memory.0.0",
       "s2mem.words.0.0", "s2mem.words.0.1", "s2mem.words.0.2", "s2mem.words.0.3", "table.after.0.0", "table.before.0.0",
       "sampler.table_0.0.0", "sampler.table_2.0.0", "sampler.table_4.0.0", "sampler.table_6.0.0")


def netlist(tiles: int, ram: tuple[str, ...] = RAM, multipliers: int = 8) -> dict[str, str]:
    """Kinds of a machine's cells, of eight lanes a tile."""
    cells = {f"top.mesh.spe_{tile}.{name}": "DP16KD" for tile in range(tiles) for name in ram}
    cells |= {f"top.mesh.spe_{tile}.product_{n}": "MULT18X18D" for tile in range(tiles) for n in range(multipliers)}
    return {**cells, "top.bridge.ring.0.0": "DP16KD", "top.mesh.spe_0.state": "TRELLIS_FF"}


def place(site: str) -> tuple[int, int]:
    x, y = re.match(r"X(\d+)/Y(\d+)/", site).groups()  # type: ignore[union-attr]
    return int(x), int(y)


@pytest.mark.parametrize("tiles", [11, 12])
def test_the_memories_of_a_tile_lie_side_by_side(tiles: int) -> None:
    cells = netlist(tiles)
    placed = sites(cells, GRID)
    assert set(placed) == {name for name, kind in cells.items() if ".spe_" in name and kind != "TRELLIS_FF"}
    assert len(set(placed.values())) == len(placed), "a site is given twice"
    there = {site for row in range(len(GRID.ram_rows)) for column in range(len(GRID.columns))
             for site in (*GRID.ram(row, column), *GRID.multipliers(row, column))}
    assert set(placed.values()) <= there
    of_tile = defaultdict(list)
    for name, site in placed.items():
        assert ("EBR" in site) == (cells[name] == "DP16KD")
        if "EBR" in site:
            of_tile[int(name.split("spe_")[1].split(".")[0])].append(place(site))
    for tile, places in of_tile.items():
        assert len({y for _, y in places}) == 1, tile
        assert max(x for x, _ in places) - min(x for x, _ in places) < 36, tile
    middle = [(sum(x for x, _ in of_tile[tile]) / len(RAM), of_tile[tile][0][1]) for tile in range(tiles)]
    for (x, y), (next_x, next_y) in itertools.pairwise(middle):
        assert abs(x - next_x) + abs(y - next_y) <= 46, "neighbours are apart"


@pytest.mark.parametrize("device", GRIDS)
def test_a_grid_has_its_device_s_block_rams(device: str) -> None:
    assert GRIDS[device].rams == DEVICES[device].ram


def test_lanes_lie_from_left_to_right() -> None:
    placed = sites(netlist(12), GRID)
    for family in ("lmem.bank_{}.0.0", "s2mem.words.0.{}"):
        x = [place(placed["top.mesh.spe_5." + family.format(n)])[0] for n in range(4)]
        assert x == sorted(x)
    assert [place(placed[f"top.mesh.spe_5.product_{n}"])[0] for n in range(8)] == sorted(
        place(placed[f"top.mesh.spe_5.product_{n}"])[0] for n in range(8))


@pytest.mark.parametrize("cells", [
    pytest.param(netlist(9), id="much is left"), pytest.param({}, id="nothing"),
    pytest.param(netlist(9, (*RAM, *(f"more_{n}" for n in range(6)))), id="too many memories"),
    pytest.param(netlist(12, multipliers=9), id="too many multipliers"),
])
def test_what_does_not_need_it_or_does_not_fit_is_left_to_nextpnr(cells: dict[str, str]) -> None:
    assert sites(cells, GRID) == {}


def test_the_sites_are_written_to_the_netlist(tmp_path: Path) -> None:
    path = tmp_path / "top.json"
    cells = {name: {"type": kind, "attributes": {}} for name, kind in netlist(12).items()}
    path.write_text(json.dumps({"modules": {"cell": {}, "top": {"attributes": {"top": "1"}, "cells": cells}}}))
    assert fix(path, "GW2AR-18C") == 0
    assert "BEL" not in path.read_text()
    assert fix(path, "LFE5U-85F") == 12 * 24
    written = json.loads(path.read_text())["modules"]["top"]["cells"]
    assert written["top.mesh.spe_0.lmem.bank_0.0.0"]["attributes"]["BEL"].startswith("X4/Y22/EBR0")
    assert written["top.bridge.ring.0.0"]["attributes"] == {}
