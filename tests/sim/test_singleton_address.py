"""Singleton-2 addressing under Icarus: every pixel of the second image has a datum of its own."""

from __future__ import annotations

import numpy as np
import pytest

from mrfhw.field.problem import Problem, Run
from mrfhw.gateware.control.singleton_address import SingletonAddress
from mrfhw.machine.config import Config
from mrfhw.placement.placement import Placement
from mrfhw.sim.support.recorder import placements_to_text
from mrfhw.sim.support.runner import run_bench

# Mesh, lanes, tile: at most 256 sites, so that 8 bits number the pixels.
SHAPES = {
    "1-lane": (2, 2, 1, 8, 8),
    "1-lane-row-of-tiles": (1, 4, 1, 6, 8),
    "2-lanes": (2, 2, 2, 6, 8),
    "2-lanes-3x3": (3, 3, 2, 4, 4),
    "4-lanes": (2, 1, 4, 4, 16),
    "4-lanes-2x2": (2, 2, 4, 8, 8),
}


def placements(config: Config, rng: np.random.Generator) -> list[Placement]:
    """Offsets within a tile, across edges, beyond the next tile and of both signs; images that fill the mesh or do not."""
    rows, cols = config.mesh_rows * config.tile_rows, config.mesh_cols * config.tile_cols
    found = []
    for number, far in enumerate((2, 5, 9, 20, 3)):
        shape = (rows, cols) if number < 2 else (int(rng.integers(1, rows + 1)), int(rng.integers(1, cols + 1)))
        pixels = rng.permutation(256)[:shape[0] * shape[1]].reshape(shape)
        labels = 6 if far < 20 else 3
        offsets = rng.integers(-far, far + 1, (labels, 2))
        vectors = rng.integers(-8, 8, (labels, 2))
        found.append(Placement(config, Problem(labels=labels, singleton1=pixels, singleton2=pixels, offsets=offsets,
                                               vectors=vectors), Run(sweeps=1)))
    found.append(Placement(config, Problem(labels=8, singleton1=pixels, constants=rng.integers(0, 256, 8),
                                           vectors=rng.integers(-8, 8, (8, 2))), Run(sweeps=1)))
    return found


@pytest.mark.parametrize("name", SHAPES)
def test_singleton_address(name: str) -> None:
    mesh_rows, mesh_cols, spus, tile_rows, tile_cols = SHAPES[name]
    config = Config(mesh_rows=mesh_rows, mesh_cols=mesh_cols, spus=spus, tile_rows=tile_rows, tile_cols=tile_cols,
                    data_bits=8, label_bits=3, s2_words=1 << 14, line_bits=64)
    found = placements(config, np.random.default_rng(spus))
    assert max(p.replication for p in found) >= 4
    run_bench(SingletonAddress(config), "singleton_address", "mrfhw.sim.benches.bench_singleton_address",
                      {"placements": placements_to_text(found)})
