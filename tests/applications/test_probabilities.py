"""Probabilities of a classifier: what is chosen, what is refused, and that smoothing harms neither accuracy nor likelihood."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner
from scipy import ndimage

import mrfhw
from mrfhw.field.energy import doubleton_table


def task(seed: int, size: tuple[int, int] = (40, 56), noise: float = 1.6) -> tuple[np.ndarray, np.ndarray]:
    """Regions of three labels, and calibrated probabilities of independent noise: the normal densities that it was drawn from."""
    rng = np.random.default_rng(seed)
    smooth = [ndimage.gaussian_filter(rng.normal(size=size), 5) for _ in range(3)]
    truth = np.argmax(smooth, 0)
    seen = np.eye(3)[truth] + rng.normal(0, noise / 2, (*size, 3))
    likelihood = np.exp(4 * seen / noise**2)
    return truth, likelihood / likelihood.sum(-1, keepdims=True)


def judged(probabilities: np.ndarray, truth: np.ndarray) -> tuple[float, float]:
    """Accuracy and log loss."""
    right = np.take_along_axis(probabilities, truth[..., None], -1)
    return float((probabilities.argmax(-1) == truth).mean()), float(-np.log(np.maximum(right, 1e-6)).mean())


@pytest.mark.claim("applications", "smoothed probabilities of a classifier are no less accurate, and have no greater log loss")
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("some", [False, True])
def test_no_less_accurate_and_no_less_likely(seed, some):
    truth, given = task(seed)
    known = np.where(np.random.default_rng(seed).random(truth.shape) < 0.1, truth, -1) if some else None
    found = mrfhw.smooth_probabilities(given, known=known)
    before, after = judged(given, truth), judged(found.probabilities, truth)
    assert after[0] > before[0] + 0.05
    assert after[1] < before[1] - 0.05
    assert np.allclose(found.probabilities.sum(-1), 1)
    assert np.array_equal(found.labels, found.probabilities.argmax(-1))
    assert found.strength > 0.2


def test_noise_without_regions_is_left_alone():
    """Where neighbours say nothing, known labels choose no smoothing, and the probabilities come back."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 3, (40, 56))
    given = np.exp(2 * np.eye(3)[truth] + rng.normal(0, 0.3, (40, 56, 3)))
    given /= given.sum(-1, keepdims=True)
    found = mrfhw.smooth_probabilities(given, known=truth)
    assert found.strength == 0
    assert found.answer is None
    assert judged(found.probabilities, truth)[1] <= judged(given, truth)[1] + 1e-9


def test_without_labels_half_is_as_it_was():
    _, given = task(5)
    found = mrfhw.smooth_probabilities(given, sweeps=30)
    alone = mrfhw.smooth_probabilities(given, strength=found.strength, temperature=1.0, sweeps=30)
    assert (found.temperature, found.tried) == (1.0, ())
    assert np.allclose(found.probabilities, (alone.probabilities + given) / 2, rtol=0, atol=1e-12)


def test_the_strength_has_the_greatest_pseudo_likelihood():
    """Of a kept definition, on a line of strengths."""
    from mrfhw.applications.probabilities import _Field

    _, given = task(1, (9, 11))
    weights = np.random.default_rng(0).random((9, 11, 2))
    around = np.zeros_like(given)
    for row in range(9):
        for col in range(11):
            for to, weight in (((row, col + 1), weights[row, col, 0]), ((row + 1, col), weights[row, col, 1])):
                if to[0] < 9 and to[1] < 11:
                    around[row, col] += weight * given[to]
                    around[to] += weight * given[row, col]
    line = np.arange(0, 400) / 100
    scores = [(given * (one * around)).sum(-1).mean() - np.log(np.exp(one * around).sum(-1)).mean() for one in line]
    assert _Field(given, weights, 0).strength() == pytest.approx(line[int(np.argmax(scores))], abs=0.011)


def test_costs_are_scaled_with_the_stated_error():
    _, given = task(2)
    found = mrfhw.smooth_probabilities(given, strength=0.7, temperature=1.5, sweeps=10)
    problem = found.answer.problem
    unit = problem.schedule.start / 1.5  # of T = 1
    costs = -np.log(given)
    costs = np.minimum(costs - costs.min(-1, keepdims=True), 12)
    assert np.abs(problem.unary / unit - costs).max() <= found.error + 1e-9
    assert 0 < found.error <= 0.51 / unit
    edge = problem.edges.max() * problem.beta * doubleton_table(problem).max() / unit
    assert edge == pytest.approx(0.7, abs=0.5 * problem.beta / unit)


def test_edges_of_the_picture_part_regions():
    truth, given = task(0)
    picture = np.array([30, 120, 220], np.uint8)[truth]
    plain, guided = (mrfhw.smooth_probabilities(given, image, strength=2.0, temperature=1.0) for image in (None, picture))
    assert judged(guided.probabilities, truth)[0] > judged(plain.probabilities, truth)[0]


def test_same_bits():
    truth, given = task(4, (20, 24))
    first, again = (mrfhw.smooth_probabilities(given, known=truth, seed=3, sweeps=30) for _ in range(2))
    assert np.array_equal(first.probabilities, again.probabilities)
    assert (first.strength, first.temperature, first.tried) == (again.strength, again.temperature, again.tried)


EVEN = np.full((4, 5, 2), 0.5)


@pytest.mark.parametrize(("options", "said"), [
    ({"probabilities": EVEN[0]}, "probabilities has shape (5, 2); it has rows, columns and labels: give (H, W, L)"),
    ({"probabilities": EVEN * 3}, "probabilities has values that are no numbers from 0 to 1: give what a softmax gives"),
    ({"probabilities": EVEN * 0.9}, "probabilities has a pixel whose labels add up to 0.9; they add up to 1: give what a softmax "
                                    "gives, labels last"),
    ({"probabilities": np.ones((4, 5, 1))}, "the number of labels, the last axis of probabilities, is 1; the limits are 2 to 256: "
                                            "give a number between them"),
    ({"image": np.zeros((5, 5), np.uint8)}, "image is 5x5; the probabilities are 5x4: give the picture that they are of"),
    ({"known": np.zeros((4, 4), int)}, "known has shape (4, 4); the probabilities have (4, 5): give a label or -1 for each pixel"),
    ({"known": np.zeros((4, 5))}, "known has values of type float64; it is whole numbers, -1 where unknown: give such an array"),
    ({"known": np.full((4, 5), 2)}, "known has the label 2; the limits are 0 to 1, and -1 where unknown: give these"),
    ({"known": np.full((4, 5), -1)}, "known has 0 pixels of a known label; at least 1 is needed: give their labels, or leave known "
                                        "out"),
    ({"strength": -0.5}, "strength is -0.5; the limit is 0: give the cost of two unlike neighbours, or 0 for none"),
    ({"temperature": 0.0}, "temperature is 0.0; it must be a finite number above 0: give what costs are divided by"),
])
def test_what_is_refused(options, said):
    with pytest.raises(mrfhw.ProblemError) as error:
        mrfhw.smooth_probabilities(**{"probabilities": EVEN, **options})
    assert str(error.value) == said


@pytest.mark.slow
def test_the_study_of_built_in_scenes():
    from studies.calibration import main

    ran = CliRunner().invoke(main, [])
    assert ran.exit_code == 0, ran.output
    rows = {row[2].strip('"'): [float(number) for number in row[-6:]] for row in
            (line.replace("2, T", "2 T").replace("smoothed, k", "smoothed k").split(",") for line in ran.output.splitlines())
            if row[0] == "mean"}
    before = rows["as they are"]
    for name in ("smoothed", "smoothed known labels"):
        assert rows[name][0] >= before[0]
        assert rows[name][1] <= before[1]
