"""Large meshes, whose rows are one module: the compiled RTL equals the model, and its text does not grow with the rows."""

from __future__ import annotations

import numpy as np
import pytest

from mrfhw.gateware.mesh.mesh import ROW, ROWS_FROM, row_levels
from mrfhw.generation.verilog import verilog_text
from mrfhw.machine.config import Config
from mrfhw.machine.samplers import Race
from mrfhw.simulation.chip import CompiledChip
from support.comparing import compare
from support.differential import drawn_problem

pytestmark = pytest.mark.claim("MeshRow", "meshes that are emitted row by row: RTL and model have the same labels, histogram, "
                               "messages and cycles (more machines: make long)")

TINY = {"spus": 1, "tile_rows": 4, "tile_cols": 4, "label_bits": 3, "counter_bits": 3, "temperature_table": 4, "vector_bits": 2,
        "sampler": Race(uniform_bits=8)}
MACHINES = {
    "two levels in a row": Config(mesh_rows=17, mesh_cols=4, hub_fan_in=2, **TINY),
    "none, and lines": Config(mesh_rows=5, mesh_cols=14, hub_fan_in=4, line_levels=1, **TINY),
    "one, edges and tables": Config(mesh_rows=11, mesh_cols=6, hub_fan_in=2, edge_bits=2, pairwise_bits=4, **TINY),
    "lanes": Config(mesh_rows=9, mesh_cols=8, hub_fan_in=8, lanes=2, lmem_banks=4, **TINY | {"tile_rows": 4, "tile_cols": 8}),
}


@pytest.mark.tools
@pytest.mark.slow
@pytest.mark.parametrize("name", [pytest.param(name, marks=[] if number == 0 else [pytest.mark.long])
                                  for number, name in enumerate(MACHINES)])
def test_rtl_equals_model(name: str) -> None:
    rng, config = np.random.default_rng(7), MACHINES[name]
    kind = {"lanes": "lanes", "one, edges and tables": "field"}.get(name, "plain")
    found = [drawn_problem(rng, kind, config) for _ in range(16)]
    placed = [one for one in found if one is not None]
    assert len(placed) >= 8
    with CompiledChip(config, quick=True) as chip:
        for one in placed:
            compare(chip, one)


def test_levels_of_a_row() -> None:
    assert [row_levels(config) for config in MACHINES.values()] == [2, 0, 1, 1]
    assert row_levels(Config(mesh_rows=32, mesh_cols=32)) == 2
    assert row_levels(Config(mesh_rows=32, mesh_cols=32, line_levels=4)) == 1  # no packer lies in a row


@pytest.mark.slow
def test_the_text_hardly_grows_with_rows() -> None:
    sizes = {rows: verilog_text(Config(mesh_rows=rows, mesh_cols=8, **TINY)) for rows in (8, 9, 18)}
    assert ROWS_FROM == 64
    assert [f"module {ROW}(" in text for text in sizes.values()] == [False, True, True]
    assert len(sizes[18]) < 1.15 * len(sizes[9])
