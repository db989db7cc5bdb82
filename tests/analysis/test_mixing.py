"""Which sites have mixed, and what a run is called by them: fields whose law is known, fields that do not mix, and odd traces."""

from __future__ import annotations

import dataclasses
import io
import math

import numpy as np
import pytest
from PIL import Image

import mrfhw
from mrfhw.analysis.convergence import apart, converged, diagnose, doubtful, more_helps, verdict
from mrfhw.analysis.mixing import NOT_MIXED, mixing
from mrfhw.analysis.rhat import by_chance, rhat_of
from mrfhw.analysis.solution import histograms_apart
from mrfhw.analysis.trace import Trace
from mrfhw.applications.field.job import label_scale
from mrfhw.field.problem import Run
from mrfhw.jobs.label_scale import LabelScale
from mrfhw.report import pictures
from mrfhw.runs.chains import sample
from support.fields_that_do_not_mix import FIELDS
from support.small_fields import law, random_small_field, spread, total_variation

array_stats = pytest.importorskip("arviz_stats.base").array_stats

SITES_THAT_HAVE = pytest.mark.claim(
    "uncertainty", "a run is called unconverged where more than a tenth of its sites have not mixed, whatever its energy is; runs "
    "whose shares are those of the field's law are not")

NUMBERS = LabelScale(values=np.arange(16.0)[:, None], name="x")
CLASSES = label_scale(16)
RUN, SHORT = Run(sweeps=500, burn_in=250), Run(sweeps=240, burn_in=120)


def trace(labels, energy=None, step=1):
    """labels: (chains, n, m). The energy is that of chains which agree."""
    labels = np.asarray(labels, np.uint8)
    chains, n, m = labels.shape
    if energy is None:
        energy = np.random.default_rng(5).normal(size=(chains, n))
    return Trace(sweeps=step * np.arange(1, n + 1), burn_in=0, energy=energy, sites=np.stack([np.zeros(m, int), np.arange(m)], 1),
                 labels=labels)


def independent(chains=2, n=250, m=20, seed=0):
    return np.random.default_rng(seed).integers(0, 4, (chains, n, m))


@pytest.mark.slow
@SITES_THAT_HAVE
def test_runs_with_the_shares_of_the_law_are_not_called_unconverged():
    """Of 200 small fields, a run each. Within sampling error: each chain's shares are off by no more than twice what independent
    samples are, the mean of the sites. The seeds are fixed, so that nothing is left to chance; of 600 other fields one of 535 such
    runs was called so."""
    right = alarms = found = 0
    for number in range(200):
        problem = random_small_field(np.random.default_rng(number))
        wanted = law(problem)
        solution = sample("cpu", None, problem, dataclasses.replace(SHORT, seed=2 * number), chains=2)
        error = max(total_variation(result.counts, wanted).mean() for result in solution.results)
        if error <= 2 * spread(wanted, SHORT.after_burn_in).mean():
            right += 1
            alarms += apart(solution.trace)
        else:
            found += apart(solution.trace)
    assert right == 184
    assert alarms == 0
    assert found == 2


@SITES_THAT_HAVE
@pytest.mark.parametrize("name", FIELDS)
def test_fields_that_do_not_mix_are_called_unconverged(name):
    field = FIELDS[name]()
    solution = sample("cpu", None, field.problem, dataclasses.replace(RUN, seed=field.seed), chains=2)
    shares = solution.counts / solution.counts.sum(-1, keepdims=True)
    off = np.abs(shares - shares[..., field.symmetric]).sum(-1) / 4  # at least, as the law is the same in that order
    assert off.mean() > 0.1
    found = diagnose(solution.trace, label_scale(field.problem.labels))
    assert found["sites"]["not_mixed"] > 2 * NOT_MIXED
    assert converged(found) is False
    assert apart(solution.trace)
    assert "watched sites have not mixed" in doubtful(found)
    assert "not to be trusted yet" in verdict(found)
    if name in ("blocks", "domains", "turning"):  # of which the energy says nothing
        assert found["energy"]["rhat"] < 1.05
        assert solution.apart.mean() > 0.2


@pytest.mark.parametrize("scale", [NUMBERS, CLASSES])
def test_sites_that_never_moved_have_mixed_and_chains_at_labels_of_their_own_have_not(scale):
    labels = independent(3)
    labels[:, :, :5] = 7
    labels[:, :, 5] = np.array([0, 15, 15])[:, None]
    labels[:, :, 6] = np.array([1, 2, 3])[:, None]
    found = mixing(trace(labels), scale)
    assert np.flatnonzero(found.not_mixed).tolist() == [5, 6]
    assert np.isinf(found.rhat[5:7]).all()
    assert (found.rhat[:5] == 1).all()
    assert found.share == 0.1
    assert not found.too_many
    assert diagnose(trace(labels), scale)["sites"]["not_mixed_at"] == [[0, 5], [0, 6]]


def test_frozen_chains_of_one_energy_are_told_apart():
    """Their energy says nothing: it never changed, and is the same."""
    labels = np.repeat(np.array([0, 15])[:, None, None], 50, 1) + np.zeros((2, 50, 8), int)
    found = diagnose(trace(labels, np.full((2, 50), 3.0)), CLASSES)
    assert found["energy"]["rhat"] is None
    assert converged(found) is False
    assert doubtful(found).startswith("not converged: 100 % of 8 watched sites have not mixed")
    same = diagnose(trace(np.full((2, 50, 8), 3), np.full((2, 50), 3.0)), CLASSES)
    assert converged(same) is None
    assert doubtful(same) is None


def test_a_look_between_the_halves_is_no_difference():
    """Of an odd number of looks the middle one is in no half."""
    series = np.full((2, 51), 4.0)
    series[0, 25] = 5
    assert rhat_of(array_stats, series) == 1
    series[0, 26:] = 5
    assert math.isinf(rhat_of(array_stats, series))


def test_a_single_chain_that_turns_at_a_quarter_stands_still_in_each():
    series = np.zeros((1, 40))
    series[0, 10:30] = 1
    assert math.isinf(rhat_of(array_stats, series))


def test_ties_around_the_median_hide_no_difference():
    """One chain stays in the middle of two labels that the other one goes between: the medians are alike."""
    labels = independent()
    labels[0, :, 0], labels[1, :, 0] = 2 * np.random.default_rng(1).integers(0, 2, 250), 1
    found = mixing(trace(labels), NUMBERS)
    assert np.flatnonzero(found.not_mixed).tolist() == [0]


def test_classes_that_chains_have_besides_the_most_frequent_one():
    labels = independent()
    often = np.random.default_rng(1).random((2, 250)) < 0.5
    labels[:, :, 0] = np.where(often, 9, np.array([0, 3])[:, None])
    found = mixing(trace(labels), CLASSES)
    assert np.flatnonzero(found.not_mixed).tolist() == [0]


@pytest.mark.parametrize("chains", [1, 2, 4])
@pytest.mark.parametrize("step", [1, 25])
@pytest.mark.parametrize("looks", [20, 250])
def test_mixed_sites_are_seldom_taken_for_others(chains, step, looks):
    """1,000 sites of labels that stay for one sweep in two, or of looks far apart: 0.0005 by the limit, and more than 6 of 1,000
    have a chance of 1e-6."""
    rng = np.random.default_rng(chains + step + looks)
    labels = rng.integers(0, 4, (chains, looks, 1000))
    if step == 1:
        stay = rng.random(labels.shape) < 0.5
        for look in range(1, looks):
            labels[:, look] = np.where(stay[:, look], labels[:, look - 1], labels[:, look])
    assert mixing(trace(labels, step=step), CLASSES).not_mixed.sum() <= 6


def test_limits_fall_with_the_looks():
    limits = [by_chance(2, half, 0.01) for half in (1, 2, 5, 20, 100)]
    assert math.isinf(limits[0])
    assert limits == sorted(limits, reverse=True)
    few = mixing(trace(independent(n=8)), CLASSES)
    assert few.limit == math.inf
    assert few.share is None
    assert not few.too_many
    assert diagnose(trace(independent(n=8)), CLASSES)["sites"]["not_mixed"] is None
    assert mixing(trace(independent(n=40)), CLASSES).limit > mixing(trace(independent(n=40), step=9),
                                                                                 CLASSES).limit
    assert mixing(trace(independent(n=1000)), CLASSES).limit == 1.05


@SITES_THAT_HAVE
def test_more_sweeps_are_added_where_they_are_likely_to_be_enough():
    rng = np.random.default_rng(0)
    moving = np.repeat(rng.integers(0, 4, (2, 10, 20)), 25, 1)  # a label for 25 sweeps
    assert mixing(trace(moving), CLASSES).too_many
    assert more_helps(trace(moving), 40.0)
    assert not more_helps(trace(moving), 1.01)
    stuck = independent(m=20)
    stuck[:, :, :10] = np.array([0, 3])[:, None, None]
    assert apart(trace(stuck))
    assert not more_helps(trace(stuck), 1000.0)
    assert more_helps(trace(stuck, np.random.default_rng(0).normal(size=(2, 250)) + np.array([[0], [8]])), 2.0)
    assert not more_helps(trace(independent()), 4.0)
    for few in (independent(n=7), independent(1, n=15)):
        assert not more_helps(trace(few), 4.0)
        assert not apart(trace(few))


def test_a_tenth_of_the_sites_may_be_left():
    for several in (2, 3):
        labels = independent(m=20)
        labels[:, :, :several] = np.array([0, 3])[:, None, None]
        assert converged(diagnose(trace(labels), NUMBERS)) is (several / 20 <= NOT_MIXED)


def test_how_far_histograms_are_apart():
    one, other = np.zeros((2, 3, 4), np.uint8), np.zeros((2, 3, 4), np.uint16)
    one[0, 0], other[0, 0] = [9, 0, 0, 0], [0, 0, 300, 0]
    one[0, 1], other[0, 1] = [200, 200, 0, 0], [2, 0, 0, 2]
    one[1, 2], other[1, 2] = [1, 1, 0, 0], [30, 30, 0, 0]
    found = histograms_apart(one, other)
    assert found.dtype == np.float32
    assert found.tolist() == [[1, 0.5, 0], [0, 0, 0]]


@pytest.mark.parametrize("chains", [1, 3])
def test_histograms_that_are_added_up_say_how_far_chains_were_apart(chains):
    problem = FIELDS["two answers"]().problem
    run = dataclasses.replace(RUN, sweeps=20, burn_in=10)
    kept, added = (sample("cpu", None, problem, run, chains=chains, add_up=add_up) for add_up in (False, True))
    assert np.array_equal(kept.counts, added.counts)
    if chains == 1:
        assert kept.apart is added.apart is None
    else:
        assert np.array_equal(kept.apart, added.apart)
        assert kept.apart.max() == 1


def test_the_map_has_a_ring_for_each_site_that_has_not_mixed(tmp_path):
    """The command says how many, and the map shows them; a run without figures has none."""
    field = FIELDS["blocks"]()
    answer = mrfhw.solve(field.problem, sweeps=200, backend="cpu")
    assert answer.converged is False
    assert answer.not_mixed > 2 * NOT_MIXED
    assert "not converged" in answer.warnings[0]
    assert "sites that have not mixed" in repr(answer)
    names = {path.name for path in answer.save(tmp_path / "page")}
    assert "mixing.png" in names
    assert "mixing.png" not in {path.name for path in answer.save(tmp_path / "numbers", report=False)}
    assert mrfhw.solve(field.problem, sweeps=10, backend="cpu").not_mixed is None


def _red(png):
    pixels = np.asarray(Image.open(io.BytesIO(png)).convert("RGB")).astype(int)
    return int(((pixels[..., 0] > 200) & (pixels[..., 1:] < 60).all(-1)).sum())


@pytest.mark.parametrize("behind", [None, np.zeros((20, 30), np.float32)])
def test_rings_are_where_sites_have_not_mixed(behind):
    sites = np.array([[2, 3], [10, 20], [15, 5]])
    none, one, two = (_red(pictures.mixing((20, 30), behind, sites, sites[:count])) for count in (0, 1, 2))
    assert none == 0 < one < two
    assert _red(pictures.mixing((20, 30), behind, sites[:0], sites[:0])) == 0
