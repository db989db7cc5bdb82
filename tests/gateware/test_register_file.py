"""The register file under Icarus."""

from __future__ import annotations

import pytest

from mrfhw.gateware.control.register_file import RegisterFile
from mrfhw.machine.derived import Derived
from sim.support.runner import run_bench

EVERYTHING = {"distance": "both", "data_bits_2": 3, "data_bits_3": 5, "singleton_cap": 1, "edge_bits": 2, "pairwise_bits": 4}


@pytest.mark.tools
@pytest.mark.claim("RegisterFile", "registers, pulses, tables, errors, counters and bus latencies")
@pytest.mark.parametrize(("rows", "cols", "levels", "lanes"), [(1, 1, 0, 1), (2, 2, 1, 1), (4, 4, 2, 1), (1, 2, 1, 4)])
def test_register_file(rows: int, cols: int, levels: int, lanes: int) -> None:
    config = Derived(mesh_rows=rows, mesh_cols=cols, spus=2 if lanes == 1 else 1, lanes=lanes, tile_rows=32 << levels, tile_cols=32,
                     lmem_banks=4, **(EVERYTHING if levels == 1 else {}))
    assert config.tree_levels == levels
    run_bench(RegisterFile(config), "register_file", "sim.benches.bench_register_file")
