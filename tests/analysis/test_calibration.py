"""Uncertainty against error: by hand, against brute force and scikit-learn."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mrfhw.analysis.calibration import auroc, calibrate, coverage, expected_calibration_error, sparsification
from mrfhw.analysis.uncertainty import quantify
from mrfhw.jobs.label_scale import LabelScale

CONVERGENCE_ARVIZ_HAT = pytest.mark.claim(
    "uncertainty", "convergence is ArviZ's R-hat and effective sample size, and calibration is measured as defined")


def pairs(score, wrong):
    """The AUROC by its meaning: pairs of a wrong and a right pixel in which the wrong one is more uncertain, ties half."""
    wins = [0.5 * (a >= b) + 0.5 * (a > b) for a, b in itertools.product(score[wrong], score[~wrong])]
    return np.mean(wins)


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2, max_size=25))
def test_auroc_is_the_share_of_pairs(pixels):
    score, wrong = np.array([p[0] for p in pixels], float), np.array([p[1] for p in pixels])
    found = auroc(score, wrong)
    if wrong.all() or not wrong.any():
        assert found is None
    else:
        assert found == pytest.approx(pairs(score, wrong))


@CONVERGENCE_ARVIZ_HAT
def test_auroc_of_scikit_learn():
    metrics = pytest.importorskip("sklearn.metrics")
    rng = np.random.default_rng(1)
    wrong = rng.random(5000) < 0.2
    score = np.round(rng.normal(wrong, 1.0), 1)  # many ties
    assert auroc(score, wrong) == pytest.approx(metrics.roc_auc_score(wrong, score), abs=1e-12)


def test_a_perfect_order_has_no_area():
    error = np.array([0.0, 3, 1, 7, 2])
    found = sparsification(error * 2, error)
    assert found.ause == pytest.approx(0)
    assert np.array_equal(found.by_score, found.oracle)


@CONVERGENCE_ARVIZ_HAT
def test_sparsification_by_hand():
    found = sparsification(np.array([1.0, 2, 3, 4]), np.array([0.0, 8, 0, 4]), shares=5)
    assert found.removed.tolist() == [0, 0.25, 0.5, 0.75, 0.75]
    assert found.by_score.tolist() == pytest.approx([3, 8 / 3, 4, 0, 0])
    assert found.oracle.tolist() == pytest.approx([3, 4 / 3, 0, 0, 0])
    gap = np.array([0, 4 / 3, 4, 0])
    assert found.mean_error == 3
    assert found.ause == pytest.approx(0.25 * (gap[:-1] + gap[1:]).sum() / 2 / 3)


def test_ties_are_removed_in_random_order_on_average():
    error = np.array([1.0, 5, 9, 2])
    score = np.array([1.0, 1, 1, 0])
    found = sparsification(score, error, shares=5)
    orders = []
    for order in itertools.permutations(range(3)):
        kept = error[[3, *order]]
        orders.append([kept[:n].mean() for n in (4, 3, 2, 1, 1)])
    assert found.by_score.tolist() == pytest.approx(np.mean(orders, 0).tolist())


def test_an_uninformative_score_keeps_the_mean():
    error = np.random.default_rng(0).random(999)
    found = sparsification(np.zeros(999), error)
    assert found.by_score == pytest.approx(np.full(101, error.mean()))
    assert found.ause > 0.4


def test_nothing_to_sparsify():
    assert sparsification(np.empty(0), np.empty(0)) is None
    assert sparsification(np.arange(3.0), np.zeros(3)).ause is None


@CONVERGENCE_ARVIZ_HAT
def test_coverage_by_hand():
    values = np.array([0.0, 1, 2, 3])
    interval = np.array([[0, 1], [0, 1], [1, 3], [2, 2], [3, 3], [3, 3], [0, 0]], float)
    truth = np.array([1.4, 1.6, 2.0, 2.2, 3.4, 3.6, -0.7])
    assert [coverage(interval[k:k + 1], truth[k:k + 1], values) for k in range(7)] == [1, 0, 1, 1, 1, 0, 0]
    assert coverage(interval, truth, values) == pytest.approx(4 / 7)
    assert coverage(interval, truth, values[::-1]) == pytest.approx(4 / 7)
    assert coverage(interval[:0], truth[:0], values) is None
    fine = np.array([[-0.45, 0.45], [-0.45, 0.45], [2.6, 3.4], [2.6, 3.5]])
    assert [coverage(fine[k:k + 1], at, values, between=True) for k, at in enumerate(np.array([[0.44], [0.46], [3.3], [3.6]]))] == [
        1, 0, 1, 0]


class Known:
    """The truth of labels that are their own values; NaN unknown."""

    error_name = "error"
    wrong_above = 0.5
    wrong = "error above 0.5"
    title, note = "truth", ""

    def __init__(self, true):
        self.picture = np.asarray(true, float)[..., None]

    def error(self, labels):
        return np.abs(labels - self.picture[..., 0])


def test_calibration_leaves_out_clamped_and_unknown_sites():
    counts = np.array([[[9, 1], [6, 4], [0, 0], [10, 0], [1, 9]]], np.uint32)
    scale = LabelScale(values=np.array([[0.0], [1]]), name="x")
    found_of = quantify(counts, np.ones((1, 5), np.uint8), scale, level=0.9)
    found = calibrate(found_of, found_of.mode, Known([[0, 1, 0, np.nan, 1]]), scale)
    # Sites 0, 1 and 4 count; site 1 is wrong and the least certain.
    assert found.pixels == 3
    assert found.wrong == pytest.approx(1 / 3)
    assert found.auroc == {"entropy": 1.0, "std": 1.0}
    assert found.coverage == pytest.approx((1.0,))
    summary = found.summary()
    assert summary["ause"]["entropy"] == pytest.approx(0)
    assert summary["level"] == 0.9


def test_classes_have_neither_deviation_nor_coverage():
    scale = LabelScale(values=np.array([[0.0], [1]]), name="x", kind="classes")
    found_of = quantify(np.array([[[3, 1], [4, 0]]], np.uint32), np.zeros((1, 2), np.uint8), scale)
    found = calibrate(found_of, found_of.mode, Known([[1, 0]]), scale)
    assert found.auroc == {"entropy": 1.0}
    assert found.coverage is None


def test_no_known_pixel():
    scale = LabelScale(values=np.array([[0.0], [1]]), name="x")
    found_of = quantify(np.array([[[3, 1], [4, 0]]], np.uint32), np.zeros((1, 2), np.uint8), scale)
    summary = calibrate(found_of, found_of.mode, Known([[np.nan, np.nan]]), scale).summary()
    assert summary["pixels"] == 0
    assert summary["wrong"] is None
    assert summary["coverage"] is None
    assert summary["auroc"] == {"entropy": None, "std": None}
    assert summary["ause"] == {"entropy": None, "std": None}


def test_expected_calibration_error_by_hand():
    believed, right = np.array([0.95, 0.95, 0.55, 1.0]), np.array([True, False, True, True])
    # The last bin: beliefs of 0.95, 0.95 and 1, of which two are right; the one of 0.55: right.
    assert expected_calibration_error(believed, right) == pytest.approx((abs(2.9 - 2) + abs(0.55 - 1)) / 4)
    assert expected_calibration_error(believed[:0], right[:0]) is None
