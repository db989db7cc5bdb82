"""Singleton memories and switch under Icarus."""

from __future__ import annotations

import pytest

from mrfhw.gateware.tile.singleton import S1Mem, S2Mem, S2Switch
from mrfhw.machine.config import Config
from sim.support.runner import run_bench

pytestmark = pytest.mark.tools

# Tile sizes and word counts off the powers of two, so that addresses have holes and ends.
TILE = {"tile_rows": 6, "tile_cols": 8}


@pytest.mark.claim("S1Mem", "every site's word Latency.s1_read cycles after its address")
@pytest.mark.parametrize("tile", [TILE, {"tile_rows": 2, "tile_cols": 2, "data_bits": 1}, {"data_bits": 8}])
def test_s1mem(tile: dict[str, int]) -> None:
    assert run_bench(S1Mem(Config.preset("smallest", **tile)), "s1mem", "sim.benches.bench_s1mem") == 2


@pytest.mark.claim(
    "S2Mem", "S words Latency.s2_read + s2_lanes cycles after their addresses, every rotation, a group a cycle")
@pytest.mark.parametrize(("spus", "words", "lanes"), [(1, 0, 1), (2, 37, 1), (4, 150, 1), (1, 91, 8)])
def test_s2mem(spus: int, words: int, lanes: int) -> None:
    config = Config.preset("smallest", spus=spus, lanes=lanes, s2_words=words, **TILE)
    assert run_bench(S2Mem(config), "s2mem", "sim.benches.bench_s2mem") == 3


@pytest.mark.claim("S2Switch", "each lane's word from the tile or any of eight neighbours")
@pytest.mark.parametrize("spus", [1, 2, 4])
def test_s2switch(spus: int) -> None:
    config = Config.preset("smallest", spus=spus, **TILE)
    assert run_bench(S2Switch(config), "s2switch", "sim.benches.bench_s2switch") == 2
