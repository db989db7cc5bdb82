"""Lanes that share a site: the compiled RTL equals the model, the float reference draws with its numbers, and what is refused."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from mrfhw.backends.plan import solve
from mrfhw.cli import main
from mrfhw.field.problem import Problem, ProblemError, Run, Schedule
from mrfhw.field.result import first_difference
from mrfhw.machine.config import Config, ConfigError
from mrfhw.machine.derived import Derived
from mrfhw.machine.samplers import Race
from mrfhw.placement.label_groups import LabelGroups
from mrfhw.placement.needs import needed_parameters
from mrfhw.placement.placement import Placement
from mrfhw.scenes import stereo_scene, write_scene
from mrfhw.simulation.chip import CompiledChip
from mrfhw.twin import machine, paired
from support.comparing import compare
from support.random_lanes import lane_placement, random_lane_machine
from support.random_problems import with_estimates

LANES_SHARE_SITE = pytest.mark.claim(
    "Spu", "lanes that share a site draw its label as the model does, whatever the machine (more machines: make long)")

LANES = (2, 4, 8, 16)
RUN = Run(sweeps=3, burn_in=1, seed=3)


# Lanes and seeds of random machines: of every test run (the first one's circuit, both ones' problems), and beside them.
MACHINES, MORE_MACHINES = ((8, 23), (16, 43)), ((8, 6), (16, 2), (2, 0), (4, 7))


@pytest.mark.tools
@pytest.mark.claim("DoubletonTable", "each lane gets the entry of its label and each neighbour's, either way round")
@LANES_SHARE_SITE
@pytest.mark.claim("runtime",
    "runs for the mean keep sums and runs for the last sample nothing; RTL, board and model are equal, however long and "
    "interrupted (more cases: make long)")
@pytest.mark.parametrize(("lanes", "seed"), [MACHINES[0], *(
    pytest.param(*case, marks=pytest.mark.long)
    for case in (*MACHINES[1:], *MORE_MACHINES, *((lanes, seed) for lanes in LANES for seed in range(10, 16))))])
def test_rtl_equals_model(lanes, seed, request):
    rng = np.random.default_rng(seed)
    config = random_lane_machine(rng, lanes)
    with CompiledChip(config, quick=True) as chip:
        for _ in range(request.config.getoption("--problems")):
            compare(chip, with_estimates(lane_placement(rng, config)))


@pytest.mark.parametrize(("machines", "fewer"), [(MACHINES, 45), (MORE_MACHINES, 50)])
def test_problems_meet_what_lanes_differ_in(machines, fewer):
    """Of the two machines of every run, and of the four beside them. fewer: problems, at least, of fewer slots than labels."""
    found, configs = [], []
    for lanes, seed in machines:
        rng = np.random.default_rng(seed)
        config = random_lane_machine(rng, lanes)
        configs.append(config)
        found += [lane_placement(rng, config) for _ in range(25)]  # as many as --problems by default
    assert {config.vector_bits > 0 for config in configs} == {config.shift_bits > 0 for config in configs} == {False, True}
    assert {1, 8} <= {config.sampler.segments for config in configs}
    assert sum(p.label_groups.mirrored for p in found) >= 10
    assert sum(p.problem.unary is not None for p in found) >= 3
    assert sum(p.problem.pairwise is not None for p in found) >= 6
    assert sum(p.problem.constants is not None for p in found) >= 6
    partly = [p for p in found if (p.label_groups.counts[:-1] < p.config.lanes).any()]
    assert len(partly) >= 10
    assert sum(p.slots < p.problem.labels for p in found) >= fewer


WIDE = Config.preset("smallest", mesh_cols=3, lanes=4, tile_rows=4, tile_cols=8, lmem_banks=4, label_bits=4, pairwise_bits=4,
                     s2_words=512, hub_fan_in=4)


@pytest.mark.tools
def test_slots_across_tiles_and_tables_that_are_not_symmetric():
    """Slots that begin in the tile to the left, as some sites' do, and end in the one to the right; tables read either way."""
    rng, seen = np.random.default_rng(9), 0
    with CompiledChip(WIDE, quick=True) as chip:
        for first in (-3, -2, -1, 0, 5, 9):
            for step in (1, -1):
                offsets = np.array([(0, step * (first + label)) for label in range(10)])
                problem = Problem(labels=10, singleton1=rng.integers(0, 64, (4, 24)), singleton2=rng.integers(0, 64, (4, 24)),
                                  offsets=offsets, beta=2, out_of_range=40, doubleton="table",
                                  pairwise=rng.integers(0, 16, (10, 10)),
                                  schedule=Schedule.constant(9.0))
                p = Placement(WIDE, problem, RUN)
                compare(chip, p)
                seen += first < 0 and p.slots == 3
    assert seen == 6


def test_one_lane_a_slot_is_one_label_a_slot():
    groups = LabelGroups.filled(5)
    assert groups == LabelGroups.of_offsets(np.zeros((5, 2), int), 1)
    assert (groups.slots, groups.slot.tolist(), groups.lane.tolist()) == (5, [0, 1, 2, 3, 4], [0] * 5)


@pytest.mark.parametrize(("offsets", "lanes", "firsts", "mirrored"), [
    ([(0, -d) for d in range(10)], 4, (0, 4, 8), True),  # stereo
    ([(0, d) for d in range(10)], 4, (0, 4, 8), False),
    ([(r, c) for r in range(-1, 2) for c in range(-1, 2)], 4, (0, 3, 6), False),  # a window of motion
    ([(r, c) for r in range(3) for c in range(3)], 2, (0, 2, 3, 5, 6, 8), False),
    ([(0, 0), (1, 0), (0, 1), (0, 2), (5, 2)], 8, (0, 1, 2, 4), False),
])
def test_labels_whose_pixels_are_neighbours_share_a_slot(offsets, lanes, firsts, mirrored):
    groups = LabelGroups.of_offsets(np.array(offsets), lanes)
    assert (groups.firsts, groups.mirrored) == (firsts, mirrored)
    labels = np.arange(len(offsets))
    assert np.array_equal(np.array(firsts)[groups.slot] + groups.lane, labels)
    assert groups.lane.max() < lanes
    step = np.array([(0, -1 if mirrored else 1)])
    assert np.array_equal(np.array(offsets), np.array(offsets)[np.array(firsts)[groups.slot]] + groups.lane[:, None] * step)


# A window of 7x7 labels in its rows: of each of them a slot, or several.
@pytest.mark.parametrize(("lanes", "slots"), [(1, 49), (2, 28), (4, 14), (8, 7), (16, 7)])
def test_slots_of_a_window_and_of_a_row(lanes, slots):
    window = LabelGroups.of_offsets(np.array([(r, c) for r in range(-3, 4) for c in range(-3, 4)]), lanes)
    assert window.slots == slots
    assert window.utilization == pytest.approx(49 / (slots * lanes))
    row = LabelGroups.of_offsets(np.array([(0, -d) for d in range(64)]), lanes)
    text = (Path(__file__).parents[2] / "docs" / "machine.md").read_text()
    line = f"| {lanes} | {row.slots} | {row.utilization:.0%} | {window.slots} | {window.utilization:.0%} |"
    assert line.replace("%", " %") in text


@LANES_SHARE_SITE
@pytest.mark.parametrize("lanes", LANES)
def test_float_reference_draws_with_the_hardware_numbers(lanes):
    """Where energies and temperature are exact and scores far apart the machine's chain is the float reference's."""
    rng = np.random.default_rng(lanes)
    config = Config(mesh_rows=1, mesh_cols=2, spus=1, lanes=lanes, tile_rows=8, tile_cols=16, s2_words=512,
                    sampler=Race(fraction_bits=8))
    problem = Problem(labels=24, singleton1=rng.integers(0, 64, (8, 27)), singleton2=rng.integers(0, 64, (8, 27)),
                      offsets=np.array([(0, 2 + d) for d in range(24)]), beta=3, tau=5, schedule=Schedule.constant(8.0))
    mine = machine.solve(config, problem, dataclasses.replace(RUN, sweeps=2))
    theirs = paired.solve(problem, dataclasses.replace(RUN, sweeps=2), config=config, uniforms="hardware")
    other = paired.solve(problem, dataclasses.replace(RUN, sweeps=2), config=config)
    assert np.mean(mine.last == theirs.last) > 0.97
    assert np.mean(mine.last == other.last) < 0.9


def test_a_run_goes_on_from_its_state():
    config = Config(mesh_rows=1, mesh_cols=2, spus=1, lanes=4, tile_rows=8, tile_cols=8, counter_bits=2, label_bits=4)
    rng = np.random.default_rng(4)
    problem = Problem(labels=13, singleton1=rng.integers(0, 64, (8, 14)), constants=rng.integers(0, 64, 13), beta=3,
                      schedule=Schedule.geometric(20.0, 0.9, 4.0))
    run = Run(sweeps=9, burn_in=2, seed=6)
    whole = machine.solve(config, problem, run)
    first = machine.Machine(config, problem, run)
    for _ in range(4):
        first.sweep()
    second = machine.Machine(config, problem, run)
    second.restore(first.state())
    result = machine.complete(second)
    assert np.array_equal(result.counts, whole.counts)
    assert np.array_equal(result.last, whole.last)
    assert np.array_equal(result.lmem, whole.lmem)
    assert (result.cycles, result.messages_counted) == (whole.cycles, whole.messages_counted)


@pytest.mark.tools
def test_windows_of_the_rtl_are_the_model_s():
    config = Config.preset("smallest", lanes=4, tile_rows=8, tile_cols=16, lmem_banks=4, label_bits=4, s2_words=512)
    rng = np.random.default_rng(5)
    problem = Problem(labels=6, singleton1=rng.integers(0, 64, (13, 20)), singleton2=rng.integers(0, 64, (13, 20)),
                      offsets=np.array([(0, -d) for d in range(6)]), beta=3, tau=4, schedule=Schedule.constant(6.0))
    run = Run(sweeps=4, burn_in=1, seed=2)
    rtl, model = (solve(backend, config, problem, run, visit=2) for backend in ("rtl", "model"))
    assert first_difference(rtl, model) is None
    assert model.windows > 1


@pytest.mark.parametrize(("changes", "words"), [
    ({"lanes": 3}, ("lanes is 3", "1, 2, 4, 8, 16")), ({"lanes": 4, "spus": 2}, ("lanes is 4 and spus is 2", "spus = 1")),
    ({"lanes": 4, "spus": 1, "sampler": "cdf"}, ("lanes is 4 and the sampler is cdf", "lanes = 1", "race")),
    ({"lanes": 16, "spus": 1, "label_bits": 3}, ("lanes is 16", "8 labels")),
    ({"vector_bits": 1}, ("vector_bits is 1", "2 or more", "0 for no vectors")),
    ({"lanes": 8, "spus": 1, "tile_cols": 20}, ("tile_cols is 20", "lanes = 8", "multiple of 8", "give 24")),
])
def test_machines_that_cannot_be(changes, words):
    with pytest.raises(ConfigError) as error:
        Config(**changes)
    assert all(word in str(error.value) for word in words)


@pytest.mark.parametrize(("given", "machine", "message"), [
    ({"doubleton": "squared", "vectors": np.zeros((4, 2), int)}, {"vector_bits": 0},
     "the doubleton is squared; a machine with vector_bits = 0 has no vectors: give absolute or potts, or a machine with "
     "vector_bits"),
    ({"energy_shift": 2}, {"shift_bits": 0},
     "energy_shift is 2; a machine with shift_bits = 0 has no shift: leave it out, or give a machine with shift_bits"),
    ({"energy_shift": 4}, {"shift_bits": 2}, "energy_shift is 4; the machine takes whole numbers from 0 to 3: give one of them"),
])
def test_what_a_machine_has_left_out(given, machine, message):
    problem = Problem(labels=4, singleton1=np.zeros((4, 4), int), constants=np.arange(4), **given)
    config = Config.preset("smallest", **machine)
    with pytest.raises(ProblemError) as error:
        Placement(config, problem, RUN)
    assert str(error.value) == message
    Placement(config.changed(**needed_parameters(problem, config)), problem, RUN)


def test_too_many_slots_for_a_doubleton_table():
    config = Config(mesh_rows=1, mesh_cols=1, spus=1, lanes=8, tile_rows=8, tile_cols=8, label_bits=4, pairwise_bits=3)
    problem = Problem(labels=9, singleton1=np.zeros((8, 8), int), singleton2=np.zeros((8, 8), int),
                      offsets=np.array([(d, 0) for d in range(9)]), doubleton="table", pairwise=np.ones((9, 9), int))
    with pytest.raises(ProblemError, match=r"take 9 slots.*8 lanes has 4 slots.*fewer lanes"):
        Placement(config, problem, RUN)


def test_lanes_are_counted():
    config = Derived(lanes=8, spus=1)
    assert (config.units, config.all_lanes, config.generators) == (16, 128, 64)
    assert Derived().all_lanes == Derived().units == Derived().generators == 32
    result = machine.solve(dataclasses.replace(config, mesh_rows=1, mesh_cols=1, tile_rows=16, tile_cols=16), Problem(
        labels=16, singleton1=np.zeros((16, 16), int), constants=np.arange(16)), RUN)
    assert result.lanes == 8
    assert result.label_evaluations == 16 * 256 * 3


@pytest.mark.slow
def test_the_census_machine_and_the_applications(tmp_path: Path) -> None:
    """Its preset solves stereo; what it cannot hold of the others is said in one line with the way out."""
    write_scene(stereo_scene(48, 64, 8, 0), tmp_path)
    left, right = (str(tmp_path / f"{name}.png") for name in ("left", "right"))
    preset = ["--preset", "census", "--sweeps", "4", "--burn-in", "2", "-o", str(tmp_path / "out")]
    for arguments, line in (
            (["stereo", left, right, "--labels", "8"], None),
            (["motion", left, right], "the doubletons go up to 4; the machine has them as a table, and pairwise_bits = 2 takes 0 "
                                      "to 3: give tau = 3 or less, "),
            (["denoise", left], "singleton is 'squared'; channel 1 of a machine with distance = hamming takes hamming: give ")):
        result = CliRunner().invoke(main, ["run", *arguments, *preset])
        assert result.exit_code == (0 if line is None else 2), result.output
        assert line is None or line in result.output.splitlines()[-1]
