"""Chains and what is seen of them."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import mrfhw
from mrfhw.applications.stereo.field import stereo_problem
from mrfhw.backends.plan import Plan, solve
from mrfhw.cli import main
from mrfhw.field.energy import Energy
from mrfhw.field.problem import Problem, ProblemError, Run
from mrfhw.field.schedule import Schedule
from mrfhw.machine.config import Config
from mrfhw.runs import recorder
from mrfhw.runs.chains import Chains, sample
from mrfhw.runs.recorder import TRACED_SITES
from mrfhw.samplers.field_energy import FieldEnergy
from mrfhw.scenes import stereo_scene
from support.watching import Told

CHAINS_RUNS_SEEDS = pytest.mark.claim("runtime", "chains are the runs of their seeds, and a trace is what they did")

CONFIG = Config(mesh_rows=2, mesh_cols=2, tile_rows=16, tile_cols=16)
SCENE = stereo_scene(30, 28, 6, 1)
PROBLEM = stereo_problem(SCENE.left >> 2, SCENE.right >> 2, labels=6)
RUN = Run(sweeps=6, burn_in=2, seed=9)


@CHAINS_RUNS_SEEDS
def test_chains_are_the_runs_of_their_seeds():
    solution = sample("model", CONFIG, PROBLEM, RUN, chains=3)
    alone = [solve("model", CONFIG, PROBLEM, dataclasses.replace(RUN, seed=9 + n)) for n in range(3)]
    for chain, one in zip(solution.results, alone, strict=True):
        assert np.array_equal(chain.counts, one.counts)
    assert np.array_equal(solution.counts, sum(one.counts for one in alone))
    assert not np.array_equal(alone[0].last, alone[1].last)


@CHAINS_RUNS_SEEDS
@pytest.mark.parametrize(("sweeps", "kind"), [(100, np.uint8), (300, np.uint16)])
@pytest.mark.parametrize("backend", ["cpu", "model"])
def test_a_sum_of_histograms_is_as_wide_as_it_must_be(backend, sweeps, kind):
    run = dataclasses.replace(RUN, sweeps=sweeps)
    added = sample(backend, CONFIG, PROBLEM, run, chains=2, add_up=True)
    assert added.counts.dtype == kind
    assert all(one.counts is None for one in added.results)
    assert np.array_equal(added.counts, sample(backend, CONFIG, PROBLEM, run, chains=2).counts)


@pytest.mark.slow
@pytest.mark.claim("runtime", "histograms are counted whole, however long a run is, and those of what comes first are let go")
@pytest.mark.parametrize(("sweeps", "total"), [
    (33_000, 66_000), pytest.param(65_535, 131_070, marks=pytest.mark.long), (65_536, 131_072)])
def test_long_runs_are_counted_whole(sweeps, total):
    """Counts of one chain, and of two added, that 16 bits do not hold: of a site that has one label."""
    problem = Problem(labels=2, singleton1=np.array([[0]]), constants=np.array([0, 60]), schedule=Schedule.constant(0.5))
    solution = sample("cpu", CONFIG, problem, Run(sweeps=sweeps), chains=2, traced=False)
    assert [one.counts.tolist() for one in solution.results] == [[[[sweeps, 0]]]] * 2
    assert solution.counts.tolist() == [[[total, 0]]]
    assert sample("cpu", CONFIG, problem, Run(sweeps=sweeps), chains=2, traced=False, add_up=True).counts.tolist() == [[[total, 0]]]


@pytest.mark.tools
@pytest.mark.parametrize("backend", ["float", "rtl"])
def test_a_wrong_number_of_threads_is_refused_before_the_run(backend, monkeypatch):
    """Of a backend without threads, too: what is made of its answer has them."""
    monkeypatch.setenv("MRFHW_THREADS", "0")
    done: list[int] = []
    with pytest.raises(ProblemError, match=r"^threads is 0; the model takes a whole number from 1: give one,"):
        sample(backend, CONFIG, PROBLEM, RUN, watch=Told(done.append))
    assert not done


@CHAINS_RUNS_SEEDS
def test_trace_is_what_the_chain_did():
    solution, (one,) = sample("model", CONFIG, PROBLEM, RUN), sample("model", CONFIG, PROBLEM, RUN).results
    trace = solution.trace
    assert trace is not None
    assert trace.sweeps.tolist() == [1, 2, 3, 4, 5, 6]
    assert trace.counted.tolist() == [False, False, True, True, True, True]
    assert trace.energy[0, -1] == Energy(PROBLEM)(one.last)
    assert trace.sites.shape == (TRACED_SITES, 2)
    row, col = trace.sites.T
    assert np.array_equal(trace.labels[0, -1], one.last[row, col])
    for label in range(6):
        assert np.array_equal((trace.labels[0, 2:] == label).sum(0), one.counts[row, col, label])


def test_a_long_run_is_not_looked_at_after_every_sweep(monkeypatch):
    """What is kept is what would be kept at these sweeps anyway."""
    run = Run(sweeps=50, burn_in=10, seed=4)
    whole = sample("cpu", CONFIG, PROBLEM, run, chains=2).trace
    monkeypatch.setattr(recorder, "MOST_LOOKS", 13)
    trace = sample("cpu", CONFIG, PROBLEM, run, chains=2).trace
    assert trace.sweeps.tolist() == list(range(1, 50, 4))
    kept = trace.sweeps - 1
    assert np.array_equal(trace.energy, whole.energy[:, kept])
    assert np.array_equal(trace.labels, whole.labels[:, kept])


def test_which_seeds_have_no_chain_in_common_is_said_where_they_are_chosen():
    for verb in ("stereo", "motion", "segment", "denoise", "problem"):
        said = " ".join(CliRunner().invoke(main, ["run", verb, "--help"]).stdout.split())
        assert "Each further chain has the next seed, so runs to be compared need seeds at least --chains apart." in said
    for one in (mrfhw.stereo, mrfhw.solve, mrfhw.Session.__init__):
        assert "seeds at least `chains` apart" in " ".join(one.__doc__.split())


def test_the_document_has_the_number_of_looks():
    assert f"{recorder.MOST_LOOKS:,} sweeps" in (Path(__file__).parents[2] / "docs" / "uncertainty.md").read_text()


def test_float_is_traced_and_counts_progress_over_chains():
    done: list[int] = []
    solution = sample("float", CONFIG, PROBLEM, RUN, chains=2, watch=Told(done.append))
    assert solution.trace is not None
    assert solution.trace.energy.shape == (2, 6)
    assert done == list(range(1, 13))


def test_clamped_sites_are_not_traced():
    clamped = np.ones(PROBLEM.shape, bool)
    clamped[3, 4:9] = False
    trace = sample("model", CONFIG, dataclasses.replace(PROBLEM, clamped=clamped), RUN).trace
    assert trace is not None
    assert trace.sites.tolist() == [[3, col] for col in range(4, 9)]


@CHAINS_RUNS_SEEDS
@pytest.mark.parametrize("squared", [False, True])
def test_field_energy_is_that_of_the_reference(squared):
    rng = np.random.default_rng(1)
    labels = rng.integers(0, 6, PROBLEM.shape).astype(np.uint8)
    kind = "squared" if squared else "absolute"
    first = stereo_problem(SCENE.left >> 2, SCENE.right >> 2, labels=6, singleton=kind, doubleton=kind, tau=None, alpha=3)
    second = Problem(labels=6, singleton1=first.singleton1, constants=np.arange(6), singleton=kind, doubleton="potts",
                     observed=rng.random(PROBLEM.shape) < 0.7)
    moved = dataclasses.replace(first, singleton2=first.singleton2[3:], singleton2_origin=(-2, 4))
    for problem in (first, second, moved):
        assert FieldEnergy(problem)(labels) == Energy(problem)(labels)


def test_no_chain_is_refused():
    with pytest.raises(ProblemError, match="chains is 0; a run has at least 1: give more"):
        sample("model", CONFIG, PROBLEM, RUN, chains=0)


@pytest.mark.claim("runtime", "a callback that raises in a run that goes on leaves it as if it had not gone on")
@pytest.mark.parametrize("backend", ["cpu", "model"])
def test_what_goes_on_is_as_before_where_a_callback_raises(backend: str):
    plan = Plan.of(backend, CONFIG, PROBLEM, None)

    def raises(look: object) -> None:
        raise KeyError("a mistake of the caller's")

    with Chains(plan, RUN, 2) as chains:
        chains.extend(10, 5, None)
        before = chains.solution()
        with pytest.raises(KeyError, match="a mistake of the caller's"):
            chains.extend(10, 5, raises)
        assert np.array_equal(chains.solution().counts, before.counts)
        chains.extend(10, 5, None)
        found = chains.solution()
    with Chains(plan, RUN, 2) as chains:
        chains.extend(10, 5, None)
        chains.extend(10, 5, None)
        assert np.array_equal(found.counts, chains.solution().counts)
