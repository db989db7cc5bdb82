"""Singleton-2 addressing under Icarus: every pixel of the second image has a datum of its own."""

from __future__ import annotations

import numpy as np
import pytest

from mrfhw.field.problem import Problem, Run
from mrfhw.gateware.control.label_data import LabelData
from mrfhw.gateware.control.reach_address import ReachAddress
from mrfhw.gateware.control.singleton_address import SingletonAddress
from mrfhw.machine.config import Config
from mrfhw.placement.placement import Placement
from sim.support.recorder import placements_to_text
from sim.support.runner import run_bench
from support.long import cases

pytestmark = pytest.mark.tools

# Mesh, units of a tile, tile, and lanes and slots of a subset where tiles hold what they reach. At most 256 sites, so that 8 bits
# number the pixels.
SHAPES = {
    "1-lane": (2, 2, 1, 8, 8),
    "2-lanes-a-site": (2, 2, 1, 6, 8, 2, 0),
    "4-lanes-a-site": (2, 3, 1, 4, 4, 4, 0),
    "8-lanes-a-site": (1, 2, 1, 8, 16, 8, 0),
    "1-lane-with-subsets": (2, 2, 1, 8, 8, 1, 3),
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
        if config.lanes > 1 and number in (1, 4):  # labels that follow one another in a row, either way
            offsets = offsets[0] + np.stack([np.arange(labels) // 5, (1, -1)[number // 4] * np.arange(labels) % 7], 1)
        vectors = rng.integers(-8, 8, (labels, 2))
        found.append(Placement(config, Problem(labels=labels, singleton1=pixels, singleton2=pixels, offsets=offsets,
                                               vectors=vectors), Run(sweeps=1)))
    found.append(Placement(config, Problem(labels=8, singleton1=pixels, constants=rng.integers(0, 256, 8),
                                           vectors=rng.integers(-8, 8, (8, 2))), Run(sweeps=1)))
    return found


LONG = ("2-lanes-a-site", "1-lane-row-of-tiles", "2-lanes-3x3", "4-lanes")  # between the others


@pytest.mark.claim("ReachAddress",
    "tiles whose lanes share a site hold all that their labels reach, each lane's word is that of its pixel, and they have no "
    "switch")
@pytest.mark.claim("SingletonAddress", "every slot names the right second-image word, replication included")
@pytest.mark.parametrize("name", cases(SHAPES, LONG.__contains__))
def test_singleton_address(name: str) -> None:
    mesh_rows, mesh_cols, spus, tile_rows, tile_cols, *reach = SHAPES[name]
    lanes, subset_slots = reach or (1, 0)
    config = Config(mesh_rows=mesh_rows, mesh_cols=mesh_cols, spus=spus, tile_rows=tile_rows, tile_cols=tile_cols,
                    lanes=lanes, subset_slots=subset_slots, lmem_banks=4 if subset_slots else 1,
                    data_bits=8, label_bits=3, s2_words=1 << 14, line_bits=64)
    found = placements(config, np.random.default_rng(spus))
    assert max(p.replication for p in found) >= (2 if reach else 4)
    if lanes > 1:
        assert {p.label_groups.mirrored for p in found} == {False, True}
    component = ReachAddress(config) if reach else SingletonAddress(config)
    run_bench(component, "singleton_address", "sim.benches.bench_singleton_address",
              {"placements": placements_to_text(found)})


@pytest.mark.claim("LabelData", "each slot's labels with their vectors and constants, whichever lanes have one")
@pytest.mark.parametrize("lanes", [1, 4, 8])
def test_label_data(lanes: int) -> None:
    config = Config(mesh_rows=1, mesh_cols=2, spus=1, lanes=lanes, tile_rows=8, tile_cols=16, data_bits=8, label_bits=3,
                    s2_words=1 << 14, line_bits=64)
    run_bench(LabelData(config), "label_data", "sim.benches.bench_label_data",
              {"placements": placements_to_text(placements(config, np.random.default_rng(lanes)))})
