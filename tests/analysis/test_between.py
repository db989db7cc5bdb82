"""Intervals of a value beside the most frequent label, and how sure it is: by hand, and against samples."""

import math

import numpy as np
import pytest

from mrfhw.analysis.between import quantiles_and_confidence

BOTH_LEVELS = pytest.mark.claim("uncertainty",
    "90 % and 50 % intervals are quantiles of the samples, those beside the most frequent label normal around the answer")


def of_site(counts, centre, deviation, levels=(0.9, 0.5), doubt=None, within=1.0, first=0.0, step=1.0):
    counts = np.array([[counts]], np.uint32)
    mode = counts.argmax(-1)
    values = first + step * np.arange(counts.shape[2])
    intervals, confidence = quantiles_and_confidence(
        counts, mode, None if doubt is None else np.array([[doubt]]), mode, values, np.array([[centre]]), np.array([[deviation]]),
        levels, within)
    return [interval[0, 0] for interval in intervals], confidence[0, 0]


@BOTH_LEVELS
def test_a_sure_site_has_the_normal_quantiles():
    (ninety, fifty), confidence = of_site([0, 0, 10, 0, 0], 2.2, 0.1)
    assert ninety == pytest.approx([2.2 - 0.16449, 2.2 + 0.16449], abs=1e-4)
    assert fifty == pytest.approx([2.2 - 0.06745, 2.2 + 0.06745], abs=1e-4)
    assert confidence == 1


@BOTH_LEVELS
def test_other_labels_are_spread_evenly():
    # A quarter at 0, three quarters normal at 5: 5 % are below -0.5 + 0.05 / 0.25, a quarter ends at 0.5.
    (ninety, fifty), confidence = of_site([1, 0, 0, 0, 0, 3, 0], 5.0, 0.05)
    assert ninety[0] == pytest.approx(-0.3, abs=1e-4)
    assert 0.49 < fifty[0] < 5
    assert confidence == 0.75


@BOTH_LEVELS
def test_against_samples():
    rng = np.random.default_rng(0)
    counts = np.array([2, 1, 0, 4, 9, 3, 1, 0])
    (ninety, fifty), confidence = of_site(counts, 4.2, 0.3, doubt=0.2)
    share = 0.8 * counts / counts.sum() + 0.2 / 8
    labels = rng.choice(8, 400_000, p=share)
    evenly = labels + rng.random(labels.size) - 0.5
    values = np.where(np.abs(labels - 4) <= 1, rng.normal(4.2, 0.3, labels.size), evenly)
    # Six standard errors of a share: less than one failure in 10^8 (the seed is fixed anyway).
    error = 6 * math.sqrt(0.25 / labels.size)
    for ends, level in ((ninety, 0.9), (fifty, 0.5)):
        below = [np.mean(values < end) for end in ends]
        assert below == pytest.approx([(1 - level) / 2, (1 + level) / 2], abs=error)
    assert np.mean(np.abs(evenly - 4.2) <= 1) == pytest.approx(confidence, abs=error)


def test_units_are_those_of_the_values():
    (one, _), sure = of_site([1, 2, 5, 1], 2.1, 0.2)
    (other, _), as_sure = of_site([1, 2, 5, 1], 10 + 3 * 2.1, 3 * 0.2, within=3.0, first=10.0, step=3.0)
    assert other == pytest.approx(10 + 3 * one, abs=1e-4)
    assert as_sure == pytest.approx(sure)


def test_a_site_that_was_not_counted_is_at_its_last_label():
    counts = np.zeros((1, 1, 4), np.uint32)
    last = np.array([[2]])
    (ninety,), confidence = quantiles_and_confidence(counts, last, np.array([[0.4]]), last, np.arange(4.0), np.array([[2.0]]),
                                                     np.array([[0.1]]), (0.9,), 1.0)
    assert ninety[0, 0] == pytest.approx([1.8355, 2.1645], abs=1e-3)
    assert confidence[0, 0] == 1
