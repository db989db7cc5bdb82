"""Event-driven Gibbs sampling: what it skips could not have changed, and what Equation 4.1 leaves is what it draws."""

import dataclasses
import math

import numpy as np
import pytest

from mrfhw.backends import plan as backends
from mrfhw.backends.software import SoftwareBackend
from mrfhw.field.energy import Energy
from mrfhw.field.problem import ProblemError, Run, Schedule
from mrfhw.machine.config import Config
from mrfhw.samplers.events import EventChain, Skipping
from mrfhw.samplers.exact import solve
from support.enumerated import random_problem

EVENT_DRIVEN_GIBBS = pytest.mark.claim("model",
    "event-driven Gibbs sampling skips what could not have changed, whatever the regions, and draws what Equation 4.1 leaves")
EVENT_DRIVEN_SAMPLING = pytest.mark.claim("model",
    "event-driven sampling is a backend of optimizations, refused where uncertainty is asked for, and goes on from its state")

SCHEDULES = {"cools": Schedule.geometric(40.0, 0.85, 2.0), "rises": Schedule.of_table((20.0, 2.0, 25.0), 8)}


def larger(seed, schedule):
    rng = np.random.default_rng(seed)
    problem = random_problem(rng)
    size = (21, 18)
    return dataclasses.replace(problem, singleton1=rng.integers(0, 64, size), singleton2=rng.integers(0, 64, size), observed=None,
                               clamped=rng.random(size) < 0.15, schedule=schedule)


def chain_of(problem, sweeps, **options):
    chain, seen = EventChain(problem, Run(sweeps=sweeps, seed=3, estimate="last"), skipping=Skipping(**options)), []
    for _ in range(sweeps):
        chain.sweep()
        seen.append(chain.labels.copy())
    return chain, np.array(seen)


@EVENT_DRIVEN_GIBBS
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("cutoff", [1.5, 4, 16])
@pytest.mark.parametrize("seed", range(4))
def test_what_is_skipped_could_not_have_changed(seed, cutoff, schedule, monkeypatch):
    problem = larger(seed, SCHEDULES[schedule])
    single, labels = chain_of(problem, 24, cutoff=cutoff)
    assert 0 < single.skipped < 1
    for region in ((8, 8), (3, 5), (64, 64), (10**20, 1)):
        regions, same = chain_of(problem, 24, cutoff=cutoff, region=region)
        assert np.array_equal(same, labels)
        assert regions.skipped <= single.skipped
        assert regions.changes == single.changes
    every = EventChain(problem, Run(sweeps=24, seed=3, estimate="last"), skipping=Skipping(cutoff))
    for sweep in range(24):
        every._active.fill(1)
        every.sweep()
        assert np.array_equal(every.labels, labels[sweep])
    assert every.skipped == 0


@EVENT_DRIVEN_GIBBS
@pytest.mark.parametrize("seed", range(4))
def test_without_a_cutoff_it_is_the_float_sampler(seed):
    """As long as no label's weight is 0 in float64."""
    problem = larger(seed, Schedule.constant(50.0))
    chain, _ = chain_of(problem, 9, cutoff=math.inf)
    assert np.array_equal(chain.labels, solve(problem, Run(sweeps=9, seed=3)).last)
    assert chain.skipped == 0


@EVENT_DRIVEN_GIBBS
@pytest.mark.parametrize("cutoff", [1.5, 4, 16])
def test_no_label_is_drawn_that_equation_4_1_leaves_out(cutoff):
    problem = larger(1, Schedule.constant(12.0))
    chain = EventChain(problem, Run(sweeps=6, seed=3, estimate="last"), skipping=Skipping(cutoff))
    for _ in range(6):
        chain.sweep()
    of, row_col = Energy(problem), np.argwhere((np.indices(problem.shape).sum(0) % 2 == 1) & ~problem.clamped)
    for row, col in row_col:  # white sites, which were drawn last
        energy = of.of_site(chain.labels.astype(int), row, col)
        assert math.exp((energy[chain.labels[row, col]] - energy.min()) / 12.0) < cutoff * (1 + 1e-12)


@EVENT_DRIVEN_GIBBS
@pytest.mark.parametrize(("options", "message"), [
    ({"cutoff": 1}, "cutoff is 1; .*: give more than 1"), ({"cutoff": math.nan}, "cutoff is nan; .*: give more than 1"),
    ({"cutoff": 4, "region": (0, 8)}, "region is 0x8; .*: give at least 1 of each")])
def test_mistakes(options, message):
    with pytest.raises(ProblemError, match=message):
        Skipping(**options)


@EVENT_DRIVEN_SAMPLING
def test_the_backend_is_that_chain():
    problem, run = larger(2, SCHEDULES["cools"]), Run(sweeps=24, seed=3, estimate="last")
    for backend, options in (("events", {}), ("events?cutoff=8", {"cutoff": 8}),
                             ("events?region=3x5&cutoff=2.5", {"cutoff": 2.5, "region": (3, 5)})):
        chain, labels = chain_of(problem, 24, **options)
        result = backends.solve(backend, Config(), problem, run)
        assert np.array_equal(result.last, labels[-1])
        assert result.label_evaluations == chain.drawn * problem.labels
        assert (result.backend, result.counts) == ("events", None)


def test_identities_tell_cutoffs_apart():
    of = {SoftwareBackend.identity(f"events?cutoff={cutoff}") for cutoff in ("4", "4.0000001", "4.0", "1e20")}
    assert len(of) == 3
    assert SoftwareBackend.identity("events") in of


@EVENT_DRIVEN_SAMPLING
@pytest.mark.parametrize("estimate", ["mode", "mean"])
def test_no_uncertainty_comes_of_it(estimate):
    problem = larger(2, SCHEDULES["cools"])
    with pytest.raises(ProblemError, match=f"^estimate is {estimate}; event-driven .*: give estimate last, or"):
        backends.solve("events?cutoff=2", Config(), problem, Run(sweeps=4, estimate=estimate))


@EVENT_DRIVEN_SAMPLING
@pytest.mark.parametrize(("backend", "message"), [
    ("events?cutoff=1", "cutoff is 1; .*: give more than 1"), ("events?region=8x0", "region is 8x0; .*: give at least 1 of each"),
    ("events?cutoff=two", r"backend is 'events\?cutoff=two'; cutoff is 'two', no number: give such as events\?cutoff=8&region=8x8"),
    ("events?region=8", r"backend is .*; region is '8', no rows and columns: give such as"),
    ("events?cutoff=2&cutoff=3", "backend is .*; it has one cutoff and one region, and no other 'cutoff': give such as"),
    ("events?speed=9", "backend is .*; it has one cutoff and one region, and no other 'speed': give such as"),
    ("float?cutoff=9", r"backend is 'float\?cutoff=9'; float takes no options: give float"),
    ("model?cutoff=9", "backend is .*; it must be auto, or one of cpu, float, events, gpu, model, rtl: choose one")])
def test_backends_that_there_are_not(backend, message):
    with pytest.raises(ProblemError, match=message):
        backends.solve(backend, Config(), larger(2, SCHEDULES["cools"]), Run(sweeps=4, estimate="last"))


@EVENT_DRIVEN_SAMPLING
def test_a_chain_goes_on_from_its_state():
    problem, run = larger(1, SCHEDULES["rises"]), Run(sweeps=24, seed=3, estimate="last")
    skipping = Skipping(4.0, (3, 5))
    whole, part, rest = (EventChain(problem, run, skipping=skipping) for _ in range(3))
    for _ in range(24):
        whole.sweep()
    for _ in range(11):
        part.sweep()
    rest.restore(part.state())
    for _ in range(13):
        rest.sweep()
    assert np.array_equal(rest.labels, whole.labels)
    assert (rest.drawn, rest.changes, rest.skipped) == (whole.drawn, whole.changes, whole.skipped)
