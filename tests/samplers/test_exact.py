"""The float64 sampler: against plain loops draw by draw, and against enumerated distributions."""

import itertools
import math

import numpy as np
import pytest

from mrfhw.field.energy import Energy
from mrfhw.field.initial import initial_labels
from mrfhw.field.problem import ESTIMATES, Problem, Run, Schedule
from mrfhw.samplers.exact import FloatChain, FloatTables, solve
from support.enumerated import chi_square_tail, enumerated, random_problem

FALSE_FAILURE = 1e-6  # of each chi-square test, were its seed drawn anew


def reference(problem, run):
    """The draw by loops over sites and labels, with the documented uniforms."""
    rng = np.random.Generator(np.random.PCG64([run.seed, 2]))
    of = Energy(problem)
    labels = initial_labels(problem, run).astype(int)
    counts = np.zeros((*problem.shape, problem.labels), int)
    schedule = problem.schedule.temperatures()
    for sweep in range(run.sweeps):
        t = next(schedule)
        for parity in (0, 1):
            for row, col in np.ndindex(*problem.shape):
                if (row + col) % 2 != parity or (problem.clamped is not None and problem.clamped[row, col]):
                    continue
                energy = of.of_site(labels, row, col).tolist()
                weight = [math.exp(-(e - min(energy)) / t) for e in energy]
                target, label, total = rng.random() * math.fsum(weight), 0, weight[0]
                while total <= target:
                    label += 1
                    total += weight[label]
                labels[row, col] = label
                if sweep >= run.burn_in:
                    counts[row, col, label] += 1
    return labels, counts


@pytest.mark.parametrize("seed", range(25))
def test_every_draw_equals_plain_loops(seed):
    problem = random_problem(np.random.default_rng(seed))
    run = Run(sweeps=9, burn_in=3, seed=seed)
    labels, counts = reference(problem, run)
    result = solve(problem, run)
    assert np.array_equal(result.last, labels)
    assert np.array_equal(result.counts, counts)
    assert result.last.dtype == np.uint8
    assert result.counts.dtype == np.uint32


@pytest.mark.slow
@pytest.mark.claim("exact", "the float64 reference has the enumerated distribution, false-failure rate 1e-6")
def test_open_2x2_grid_has_the_enumerated_distribution():
    grid = {"labels": 3, "constants": np.array([3, 11, 24]), "doubleton": "absolute", "beta": 6}
    problem = Problem(singleton1=np.array([[5, 20], [12, 9]]), **grid, schedule=Schedule.constant(9.0))
    states, probabilities = enumerated(problem, 9.0, [0, 1, 2, 3])
    runs = 3000
    counts = np.zeros(len(states))
    for seed in range(runs):
        counts[int(solve(problem, Run(sweeps=14, seed=seed)).last.ravel() @ [27, 9, 3, 1])] += 1
    assert chi_square_tail(counts, runs * probabilities) > FALSE_FAILURE


@pytest.mark.slow
@pytest.mark.parametrize("doubleton", ["absolute", "potts"])
def test_2x3_blocks_within_clamped_walls_have_the_enumerated_distribution(doubleton):
    """One run samples many copies of a 2x3 grid; the walls between them keep label 0 and pull on their neighbours."""
    high, wide = 120, 120
    wall = np.ones((4, 4), bool)
    wall[1:3, :3] = False
    data = np.array([[0, 0, 0, 0], [9, 21, 5, 0], [15, 2, 30, 0], [0, 0, 0, 0]])
    grid = {"labels": 3, "constants": np.array([4, 12, 27]), "doubleton": doubleton, "beta": 7, "alpha": 2,
                "schedule": Schedule.constant(16.0)}
    # A block sees one wall on each side; the left one is the block before it.
    cell = Problem(singleton1=np.pad(data[1:3], ((1, 1), (1, 0))), **grid)
    free = [int(i) for i in np.flatnonzero(np.pad(~wall[1:3], ((1, 1), (1, 0))))]
    states, probabilities = enumerated(cell, 16.0, free)
    clamped = np.tile(wall, (high, wide))
    clamped[:, 0] = True  # the first column of blocks has no wall on its left: keep it still
    problem = Problem(singleton1=np.tile(data, (high, wide)), **grid, clamped=clamped)
    initial = np.where(clamped, 0, np.random.default_rng(5).integers(0, 3, clamped.shape))
    result = solve(problem, Run(sweeps=20, seed=11, initial=initial))
    blocks = result.last.reshape(high, 4, wide, 4)[:, 1:3, 1:, :3].transpose(0, 2, 1, 3).reshape(-1, 6)
    counts = np.bincount(blocks @ 3 ** np.arange(5, -1, -1), minlength=len(states))
    assert chi_square_tail(counts, len(blocks) * probabilities) > FALSE_FAILURE


def test_clamped_sites_keep_their_label_and_count_nothing():
    rng = np.random.default_rng(3)
    problem = random_problem(rng, beta=9)
    result = solve(problem, Run(sweeps=6, burn_in=2, seed=1))
    assert np.array_equal(result.last[problem.clamped], result.initial[problem.clamped])
    assert not result.counts[problem.clamped].any()
    assert (result.counts[~problem.clamped].sum(-1) == 4).all()
    assert result.label_evaluations == problem.labels * np.count_nonzero(~problem.clamped) * 6


def test_all_sites_clamped():
    problem = random_problem(np.random.default_rng(0))
    still = Problem(labels=2, singleton1=np.zeros((2, 2), int), constants=np.array([0, 1]),
                    clamped=np.ones((2, 2), bool))
    assert problem.labels
    assert not solve(still, Run(sweeps=2)).counts.any()


def test_progress_counts_finished_sweeps():
    seen = []
    solve(random_problem(np.random.default_rng(1)), Run(sweeps=4, burn_in=1), progress=seen.append)
    assert seen == [1, 2, 3, 4]


@pytest.mark.parametrize(("schedule", "expected"), [
    (Schedule.constant(2.0), [2, 2, 2, 2, 2]),
    (Schedule.geometric(8.0, 0.5, 1.5), [8, 4, 2, 1.5, 1.5]),
    (Schedule.of_table((4.0, 3.0), 2), [4, 4, 3, 3, 3]),
])
def test_temperatures_of_the_schedule(schedule, expected):
    assert list(itertools.islice(schedule.temperatures(), 5)) == pytest.approx(expected)


def test_huge_energies_and_small_temperatures_stay_finite():
    problem = Problem(labels=4, singleton1=np.full((3, 3), 63), constants=np.array([0, 1, 62, 63]), alpha=4000,
                      singleton="squared", schedule=Schedule.constant(0.001))
    assert (solve(problem, Run(sweeps=2)).last == 3).all()


def test_sites_are_drawn_in_raster_order():
    clamped = np.zeros((3, 6), bool)
    clamped[1, 2:4] = True
    problem = Problem(labels=2, singleton1=np.zeros((3, 6), int), constants=np.array([0, 1]), clamped=clamped)
    black, white = ([divmod(int(site), 6) for site in sites] for sites in FloatTables(problem).sites)
    assert black == [(0, 0), (0, 2), (0, 4), (1, 1), (1, 5), (2, 0), (2, 2), (2, 4)]
    assert white == [(0, 1), (0, 3), (0, 5), (1, 0), (1, 4), (2, 1), (2, 3), (2, 5)]


@pytest.mark.parametrize("estimate", ESTIMATES)
def test_a_run_keeps_what_its_sweeps_say_and_goes_on_from_its_state(estimate):
    problem, run, seen = random_problem(np.random.default_rng(4)), Run(sweeps=8, burn_in=3, seed=2, estimate=estimate), []
    whole = solve(problem, run, observe=lambda _, labels, energy: seen.append(labels))
    first, second = FloatChain(problem, run), FloatChain(problem, run)
    for _ in range(5):
        first.sweep()
    second.restore(first.state())
    for _ in range(3):
        second.sweep()
    assert second.result(whole.wall_seconds) == whole
    drawn, free = np.array(seen[run.burn_in:]), ~problem.clamped
    assert (whole.counts is not None, whole.sums is not None) == (estimate == "mode", estimate == "mean")
    if estimate == "mode":
        assert np.array_equal(whole.counts, np.stack([(drawn == label).sum(0) * free for label in range(problem.labels)], -1))
    if estimate == "mean":
        assert np.array_equal(whole.sums, np.stack([drawn.sum(0) * free, len(drawn) * free], -1))
