"""The order of visits: against plain loops, there and back, and what is counted of it."""

from __future__ import annotations

import dataclasses
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from mrfhw.backends.plan import solve
from mrfhw.cost.cost import Cost
from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.machine.config import Config
from mrfhw.placement.label_groups import LabelGroups
from mrfhw.placement.placement import Placement
from mrfhw.placement.visit_order import COLOURS, VisitOrder
from mrfhw.samplers import exact
from mrfhw.samplers.random import lane_states
from mrfhw.samplers.random_kernel import step
from mrfhw.twin import machine
from mrfhw.twin.machine import Machine
from support.random_problems import random_config, random_placement

pytestmark = pytest.mark.claim("placement",
    "the order of visits: that of plain loops, there and back; every site once a sweep; generators step as it says; evaluations "
    "are counted")

# Mesh rows, columns, tile rows, columns, lanes a tile.
SHAPES = [(1, 1, 2, 2, 1), (1, 1, 4, 8, 4), (2, 3, 4, 6, 1), (3, 2, 6, 8, 2), (1, 5, 2, 16, 4)]
LABELS = 3


def order_of(shape, sampler="race"):
    mesh_rows, mesh_cols, rows, cols, spus = shape
    config = Config(mesh_rows=mesh_rows, mesh_cols=mesh_cols, tile_rows=rows, tile_cols=cols, spus=spus, sampler=sampler)
    return VisitOrder.of_machine(config, rows, cols, LabelGroups.filled(LABELS))


def plain(shape, sweeps, race):
    """All visits by loops over lanes and rows: (sweep, colour, turn, lane, row, column of the grid, index of the first number).

    Says once more, on purpose, what `VisitOrder` says.
    """
    mesh_rows, mesh_cols, rows, cols, spus = shape
    for lane in range(mesh_rows * mesh_cols * spus):
        top, left = lane // spus // mesh_cols * rows, lane // spus % mesh_cols * cols
        used, start = 0, 0
        for sweep in range(sweeps):
            for colour in (0, 1):
                turn = 0
                for local in [*range(start, rows), *range(start)]:
                    # The lane's columns of that row and colour: every spus-th of them, from the lane's own on.
                    mine = [c for c in range(left, left + cols) if (top + local + c) % 2 == colour][lane % spus::spus]
                    for column in mine:
                        yield sweep, colour, turn, lane, top + local, column, used
                        turn, used = turn + 1, used + (LABELS if race else 1)
                start = (start + 1) % rows


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("sampler", ["race", "cdf"])
def test_order_is_that_of_plain_loops(shape, sampler):
    order, sweeps = order_of(shape, sampler), shape[2] + 1  # all first rows, and round again
    visits = list(plain(shape, sweeps, sampler == "race"))
    assert len(visits) == sweeps * len(COLOURS) * order.units * order.turns
    assert order.scheduled_evaluations(sweeps) == len(visits) * LABELS
    tables = {width: order.table(width) for width in (1, 3, 4, 64)}
    for sweep, colour, turn, lane, row, column, used in visits:
        site = order.flat(*order.site(sweep, colour, turn, lane))
        assert divmod(int(site), order.columns) == (row, column)
        assert tuple(map(int, order.visit(sweep, row, column))) == (colour, lane, turn)
        assert order.number(sweep, colour, turn, lane) == (lane, used)
        assert order.number(sweep, colour, turn, lane, 2) == (lane, used + 2 * (sampler == "race"))
        place = order.places(sweep, colour)[turn]
        assert tuple(map(int, order.home(row, column))) == (colour, lane, place)
        for width, table in tables.items():
            assert table[lane // width, colour, place, lane % width] == site
    for width, table in tables.items():
        assert (table.dtype, table.shape) == (np.int32, (-(-order.units // width), len(COLOURS), order.turns, width))
        assert (table >= 0).sum() == order.units * order.turns * len(COLOURS)
        assert table.min() >= -1
        assert (np.diff(np.sort(table[table >= 0])) == 1).all(), width


@pytest.mark.parametrize("shape", SHAPES)
def test_groups_are_what_the_lanes_of_a_tile_do_together(shape):
    order = order_of(shape)
    for sweep in range(shape[2]):
        groups = list(order.groups_of(sweep))
        assert [(g.colour, g.turn) for g in groups] == [(c, t) for c in COLOURS for t in range(order.turns)]
        assert groups[0].row == order.first_row(sweep, COLOURS[0])
        for group in groups:
            tile, row, column = order.site(sweep, group.colour, group.turn, np.arange(order.units))
            assert (row == group.row).all()
            assert column.reshape(-1, shape[4]).tolist() == [list(group.columns)] * (shape[0] * shape[1])
            assert np.array_equal(tile, np.arange(order.units) // shape[4])
            assert group.columns[0] // (2 * shape[4]) == group.index
        # The row after the last one of a colour is where the colour began; the next one begins a row below.
        firsts = [groups[0].row, groups[order.turns].row, order.first_row(sweep + 1, COLOURS[0])]
        assert all((after - before) % shape[2] == 1 for before, after in pairwise(firsts))


@pytest.mark.parametrize("seed", range(8))
def test_every_unclamped_site_is_drawn_once_a_sweep(seed):
    rng = np.random.default_rng(seed)
    p = random_placement(rng, random_config(rng))
    for sweep in (0, 1, 5):
        drawn = np.zeros(p.padded_shape, int)
        for colour in COLOURS:
            turn, lane = np.indices((p.order.turns, p.order.units))
            place = p.order.site(sweep, colour, turn, lane)
            site = p.order.flat(*place)
            np.add.at(drawn.reshape(-1), site, 1)
            assert np.array_equal(p.tiles(np.arange(drawn.size).reshape(drawn.shape))[place], site)
            back = p.order.visit(sweep, *np.divmod(site, p.order.columns))
            assert all(np.array_equal(*pair) for pair in zip(back, np.broadcast_arrays(colour, lane, turn), strict=True))
        assert (drawn == 1).all()  # sites of the image among them, clamped or not
    assert drawn[p.exists & ~p.clamped].sum() == p.problem.unclamped_sites


@pytest.mark.parametrize("sampler", ["race", "cdf"])
def test_generators_step_as_the_order_says(sampler):
    problem = Problem(labels=LABELS, singleton1=np.zeros((7, 21), int), constants=np.arange(LABELS),
                      clamped=np.random.default_rng(0).random((7, 21)) < 0.3)
    config = Config(mesh_rows=2, mesh_cols=2, tile_rows=8, tile_cols=16, spus=2, sampler=sampler)
    held = Machine(config, problem, Run(sweeps=2, seed=5))
    states = lane_states(5, held.placement.order.units)
    for sweep in range(2):
        held.sweep()
        for lane in range(held.placement.order.units):
            steps = np.diff([held.placement.order.number(s, 0, 0, lane)[1] for s in (sweep, sweep + 1)])[0]
            for _ in range(steps):
                step(states, lane)
        assert np.array_equal(held.random, states)


@pytest.mark.parametrize("lanes", [2, 4, 8])
def test_lanes_have_numbers_of_their_own(lanes):
    """A step of a unit's generators gives one to each of two lanes."""
    config = Config(mesh_rows=1, mesh_cols=2, tile_rows=4, tile_cols=8, spus=1, lanes=lanes, label_bits=5)
    order = VisitOrder.of_machine(config, 4, 8, LabelGroups.filled(labels := 2 * lanes - 1, lanes))
    units, label = np.indices((order.units, labels))
    generator, index = order.number(3, 1, 2, units, label)
    assert (generator // (lanes // 2) == units).all()
    assert len({*zip(generator.flat, index.flat, order.part(label).flat, strict=True)}) == units.size
    assert np.ptp(index) == order.numbers_a_turn - 1 == 1


def test_label_evaluations_are_counted():
    rng = np.random.default_rng(3)
    clamped = rng.random((30, 33)) < 0.2
    problem = Problem(labels=6, singleton1=rng.integers(0, 64, (30, 33)), constants=np.arange(0, 60, 10), beta=3, clamped=clamped,
                      schedule=Schedule.constant(5.0))
    run, wanted = Run(sweeps=5, burn_in=1), 6 * int((~clamped).sum()) * 5
    windowed = Config(mesh_rows=2, mesh_cols=2, spus=1, tile_rows=8, tile_cols=8)
    whole = dataclasses.replace(windowed, tile_rows=16, tile_cols=18)
    assert exact.solve(problem, run).label_evaluations == wanted
    assert machine.solve(whole, problem, run).label_evaluations == wanted
    assert solve("model", windowed, problem, run, visit=2).label_evaluations == wanted
    placement = Placement(whole, problem, run)
    order = placement.order
    assert order.scheduled_evaluations(5) == 5 * 6 * (2 * 16) * (2 * 18)
    # Each slot takes a cycle where the interval is L.
    assert placement.interval == 6
    cycles = Cost.of(whole, problem).cycles
    assert cycles.of_sweeps(5) - cycles.of_sweeps(4) == order.scheduled_evaluations(1) // order.units


def drawn(rows, cols, units, sweep):
    """A tile's sites with colour and turn of the visit, as docs/machine.md has it."""
    order = VisitOrder(1, 1, rows, cols, units, LabelGroups.filled(LABELS), True, 1)
    turns = {(group.row, col): f"{'bw'[group.colour]}{group.turn}" for group in order.groups_of(sweep) for col in group.columns}
    return "\n".join("    " + " ".join(turns[row, col] for col in range(cols)) for row in range(rows)) + "\n"


def test_the_document_draws_it():
    text = (Path(__file__).parents[2] / "docs" / "machine.md").read_text()
    for sweep in (0, 1):
        assert f"\n\n{drawn(4, 8, 2, sweep)}\n" in text
