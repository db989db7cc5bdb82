"""Placement: every site and every singleton-2 word is where the hardware looks for it."""

from __future__ import annotations

import numpy as np
import pytest

from mrfhw.field.problem import Problem, ProblemError, Run, Schedule
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.placement.placement import Placement
from support.random_problems import random_config, random_placement

TILES_WHOSE_LANES = pytest.mark.claim("ReachAddress",
    "tiles whose lanes share a site hold all that their labels reach, each lane's word is that of its pixel, and they have no "
    "switch")
EVERY_LABEL_FINDS = pytest.mark.claim(
    "placement", "every label finds its pixel from every site, over edges, patches and padding")
SINGLETON_REPLICATED = pytest.mark.claim("placement", "singleton 2 is replicated only beyond one tile's reach (Figure 3.11)")

RUN = Run(sweeps=1)


def stereo(rows, cols, labels, first=0, config=None, **changes):
    rng = np.random.default_rng(1)
    offsets = np.stack([np.zeros(labels, int), -first - np.arange(labels)], 1)
    problem = Problem(labels=labels, singleton1=rng.integers(0, 64, (rows, cols)), singleton2=rng.integers(0, 64, (rows, cols)),
                      offsets=offsets, **changes)
    return Placement(config or Config(), problem, RUN)


def fetched_word(p, patches, tile, row, col, entry):
    """The word that a tile gets for a local site and a label: the hardware's arithmetic, one step after the other."""
    c = p.config
    row_wraps = int(row >= entry.row_threshold)
    column = col + entry.column
    col_wraps = int(column >= p.tile_cols)
    bank, start = p.s2_address(np.array(row), np.array(column))
    address = (int(start) + entry.deltas[col_wraps][row_wraps]) % (1 << c.s2_address_bits)
    near_row = tile // c.mesh_cols + entry.row_directions[row_wraps]
    near_col = tile % c.mesh_cols + entry.column_directions[col_wraps]
    if not (0 <= near_row < c.mesh_rows and 0 <= near_col < c.mesh_cols):
        return 0
    return patches[near_row * c.mesh_cols + near_col, int(bank), address]


@EVERY_LABEL_FINDS
@pytest.mark.parametrize("seed", range(12))
def test_every_label_finds_its_pixel(seed):
    rng = np.random.default_rng(seed)
    p = random_placement(rng, random_config(rng))
    while p.problem.offsets is None:
        p = random_placement(rng, random_config(rng))
    c, problem = p.config, p.problem
    memory = np.zeros((c.spes, c.spus, 1 << c.s2_address_bits), np.uint32)
    tile = np.arange(c.spes)[:, None, None]
    for bank, address, words in p.s2_loads():
        memory[tile, bank, address] = words
    rows, cols = problem.shape
    for _ in range(300):
        r, k, label = int(rng.integers(rows)), int(rng.integers(cols)), int(rng.integers(problem.labels))
        t = r // p.tile_rows * c.mesh_cols + k // p.tile_cols
        word = fetched_word(p, memory, t, r % p.tile_rows, k % p.tile_cols, p.label_entries[label])
        y, x = r + problem.offsets[label][0], k + problem.offsets[label][1]
        inside = 0 <= y < rows and 0 <= x < cols
        assert word == (problem.singleton2[y, x] | 1 << c.data_bits if inside else 0)


@pytest.mark.claim("placement", "a site's four neighbours lie in four banks; addresses are distinct")
@pytest.mark.parametrize("banks", [1, 4])
def test_addresses_are_distinct_and_neighbours_in_four_banks(banks):
    config = Derived.of(Config(lmem_banks=banks, tile_rows=12, tile_cols=20))
    p = stereo(48, 80, 4, config=config)
    row, col = np.mgrid[:p.tile_rows, :p.tile_cols]
    bank, address = p.label_address(row, col)
    assert address.max() < config.lmem_rows
    assert len(set(zip(bank.ravel().tolist(), address.ravel().tolist(), strict=True))) == row.size
    site = p.site_address(row, col)
    assert len(np.unique(site)) == row.size
    assert site.max() < config.site_rows
    if banks == 4:
        near = [np.roll(bank, step, axis) for axis in (0, 1) for step in (1, -1)]
        assert all(len(set(four)) == 4 for four in zip(*(n.ravel().tolist() for n in near), strict=True))


@TILES_WHOSE_LANES
@pytest.mark.parametrize("seed", range(8))
def test_a_tile_of_shared_sites_holds_all_that_its_labels_reach(seed):
    """Every lane's word, by the hardware's arithmetic, in the tile's own memory; also beyond the mesh, where the image goes on."""
    rng = np.random.default_rng(seed)
    lanes = int(rng.choice([2, 4, 8]))
    config = Derived(mesh_rows=2, mesh_cols=2, spus=1, lanes=lanes, tile_rows=8, tile_cols=8, s2_words=1 << 14)
    rows, cols = (int(n) for n in rng.integers(3, 17, 2))
    step, width = int(rng.choice([1, -1])), int(rng.choice([3, 20]))
    offsets = rng.integers(-9, 10, 2) + np.stack([np.arange(11) // width, step * (np.arange(11) % width)], 1)
    second = rng.integers(0, 64, (rows + 5, cols + 4))
    p = Placement(config, Problem(labels=11, singleton1=rng.integers(0, 64, (rows, cols)), singleton2=second, offsets=offsets,
                                  singleton2_origin=(2, 3)), RUN)
    memory = np.zeros((config.spes, lanes, 1 << config.s2_address_bits), np.uint32)
    for bank, address, words in p.s2_loads():
        memory[np.arange(config.spes)[:, None, None], bank, address] = words
    groups = p.label_groups
    for _ in range(300):
        r, k, label = int(rng.integers(rows)), int(rng.integers(cols)), int(rng.integers(11))
        tile = r // p.tile_rows * config.mesh_cols + k // p.tile_cols
        row, col = r % p.tile_rows, k % p.tile_cols
        entry, lane = p.label_entries[groups.slot[label]], int(groups.lane[label])
        place = entry.column + (p.tile_cols - 1 - col if groups.mirrored else col) + lane
        found = memory[tile, place % lanes, row * p.s2_stride + entry.deltas[0][0] + place // lanes]
        y, x = r + offsets[label][0] + 2, k + offsets[label][1] + 3
        inside = 0 <= y < second.shape[0] and 0 <= x < second.shape[1]
        assert found == (second[y, x] | 1 << config.data_bits if inside else 0)


@TILES_WHOSE_LANES
def test_a_reach_is_refused_where_a_tile_cannot_hold_it():
    config = Config(mesh_rows=1, mesh_cols=1, spus=1, lanes=4, tile_rows=8, tile_cols=8, s2_words=128)
    with pytest.raises(ProblemError, match=r"the labels reach 28x8 pixels of a tile's 8x8 sites, 224 singleton-2 words; a tile "
                                           r"holds 128: .* s2_words = 224 or more"):
        stereo(8, 8, 20, config=config)
    assert stereo(8, 8, 9, config=config).replication == 2


@SINGLETON_REPLICATED
def test_replication_only_beyond_one_tile():
    assert stereo(64, 96, 24).replication == 1
    assert stereo(64, 96, 24, first=12).replication == 1  # the second image moves along
    assert stereo(64, 96, 40).replication == 2
    assert stereo(64, 96, 64).replication == 2


@EVERY_LABEL_FINDS
def test_tiles_round_trip_with_padding():
    p = stereo(61, 93, 4)
    grid = np.arange(61 * 93).reshape(61, 93)
    assert np.array_equal(p.untile(p.tiles(p.pad(grid))), grid)
    assert p.exists.sum() == grid.size


@pytest.mark.parametrize(("rows", "cols", "words"), [(300, 64, ("64x300", "256x256", "window")),
                                                     (64, 300, ("300x64", "larger tiles"))])
def test_too_large_an_image(rows, cols, words):
    with pytest.raises(ProblemError) as caught:
        stereo(rows, cols, 4)
    assert all(word in str(caught.value) for word in words)


@SINGLETON_REPLICATED
def test_too_long_a_reach():
    config = Config(s2_words=1024)
    with pytest.raises(ProblemError, match=r"reach over 2 patches of 768 .* a tile holds 1024: .* s2_words = 1536"):
        stereo(128, 96, 40, config=config)


def test_cooling_too_fast_for_the_register():
    schedule = Schedule.geometric(30.0, 0.1, 1.0)
    stereo(8, 8, 4, config=Config(sampler="race"), schedule=schedule)
    with pytest.raises(ProblemError, match=r"ratio is 0\.1; the cdf machine cools by at least 0\.25 a sweep"):
        stereo(8, 8, 4, config=Config(sampler="cdf"), schedule=schedule)
    with pytest.raises(ProblemError, match="ratio is 1e-300"):
        stereo(8, 8, 4, config=Config(sampler="cdf"), schedule=Schedule.geometric(30.0, 1e-300, 1.0))


def test_words_too_wide():
    with pytest.raises(ProblemError, match=r"alpha is 300; the machine takes whole numbers from 0 to 255"):
        stereo(8, 8, 4, alpha=300)
    with pytest.raises(ProblemError, match=r"values from 0 to 63; data_bits = 4"):
        stereo(64, 64, 4, config=Config(data_bits=4))


def test_doubletons_that_a_table_of_pairs_does_not_hold():
    """Of the census machine, whose entries have two bits."""
    census = Config.preset("census", mesh_rows=1, mesh_cols=1)
    assert stereo(8, 8, 4, config=census, singleton="hamming", tau=3).problem.tau == 3
    with pytest.raises(ProblemError, match=r"the doubletons go up to 4; .* pairwise_bits = 2 takes 0 to 3: give tau = 3 or less"):
        stereo(8, 8, 5, config=census, singleton="hamming", tau=4)
