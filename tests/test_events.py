"""Event-driven Gibbs sampling: what it skips could not have changed, and what Equation 4.1 leaves is what it draws."""

import dataclasses
import math

import numpy as np
import pytest
from test_exact import random_problem

from mrfhw.field.energy import Energy
from mrfhw.field.problem import ProblemError, Run, Schedule
from mrfhw.model.events import EventChain
from mrfhw.model.exact import solve

SCHEDULES = {"cools": Schedule.geometric(40.0, 0.85, 2.0), "rises": Schedule.of_table((20.0, 2.0, 25.0), 8)}


def larger(seed, schedule):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    size = (21, 18)
    return dataclasses.replace(problem, singleton1=rng.integers(0, 64, size), singleton2=rng.integers(0, 64, size), observed=None,
                               clamped=rng.random(size) < 0.15, schedule=schedule)


def chain_of(problem, sweeps, **options):
    chain, seen = EventChain(problem, Run(sweeps=sweeps, seed=3), **options), []
    for _ in range(sweeps):
        chain.sweep()
        seen.append(chain.labels.copy())
    return chain, np.array(seen)


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("cutoff", [1.5, 4, 16])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_skipped_could_not_have_changed(seed, cutoff, schedule, monkeypatch):
    problem = larger(seed, SCHEDULES[schedule])
    single, labels = chain_of(problem, 24, cutoff=cutoff)
    assert 0 < single.skipped < 1
    for region in ((8, 8), (3, 5), (64, 64)):
        regions, same = chain_of(problem, 24, cutoff=cutoff, region=region)
        assert np.array_equal(same, labels)
        assert regions.skipped <= single.skipped
        assert regions.changes == single.changes
    every = EventChain(problem, Run(sweeps=24, seed=3), cutoff=cutoff)
    for sweep in range(24):
        every._active.fill(1)
        every.sweep()
        assert np.array_equal(every.labels, labels[sweep])
    assert every.skipped == 0


@pytest.mark.parametrize("seed", range(4))
def test_without_a_cutoff_it_is_the_float_sampler(seed):
    """As long as no label's weight is 0 in float64."""
    problem = larger(seed, Schedule.constant(50.0))
    chain, _ = chain_of(problem, 9, cutoff=math.inf)
    assert np.array_equal(chain.labels, solve(problem, Run(sweeps=9, seed=3)).last)
    assert chain.skipped == 0


@pytest.mark.parametrize("cutoff", [1.5, 4, 16])
def test_no_label_is_drawn_that_equation_4_1_leaves_out(cutoff):
    problem = larger(1, Schedule.constant(12.0))
    chain = EventChain(problem, Run(sweeps=6, seed=3), cutoff=cutoff)
    for _ in range(6):
        chain.sweep()
    of, row_col = Energy(problem), np.argwhere((np.indices(problem.shape).sum(0) % 2 == 1) & ~problem.clamped)
    for row, col in row_col:  # white sites, which were drawn last
        energy = of.of_site(chain.labels.astype(int), row, col)
        assert math.exp((energy[chain.labels[row, col]] - energy.min()) / 12.0) < cutoff * (1 + 1e-12)


@pytest.mark.parametrize(("options", "message"), [
    ({"cutoff": 1}, "cutoff is 1; .*: give more than 1"), ({"cutoff": math.nan}, "cutoff is nan; .*: give more than 1"),
    ({"cutoff": 4, "region": (0, 8)}, "region is 0x8; .*: give at least 1 of each")])
def test_mistakes(options, message):
    with pytest.raises(ProblemError, match=message):
        EventChain(larger(0, Schedule.constant(3.0)), Run(sweeps=1), **options)
