"""Whether uncertainty tells of error, where the truth is known.

- AUROC: the chance that a wrong pixel is more uncertain than a right one, ties counted half (the Mann-Whitney
  statistic; T. Fawcett, An introduction to ROC analysis, Pattern Recognition Letters 27, 2006). 0.5 is no better than chance.
- Sparsification: the mean error of what remains when the most uncertain share of the pixels is removed, against the
  oracle that removes by the true error. AUSE is the area between the two, with the mean error of all pixels as the
  unit: 0 for a perfect order, about 1 less the oracle's area for a random one (E. Ilg et al., Uncertainty Estimates
  and Multi-Hypotheses Networks for Optical Flow, ECCV 2018).
- Coverage: the share of the pixels whose truth lies in its credible interval, to be compared with the interval's level.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mrfhw.analysis.uncertainty import INNER, Uncertainty
from mrfhw.jobs.job import Truth
from mrfhw.jobs.label_scale import LabelScale

__all__ = ["Calibration", "Sparsification", "auroc", "calibrate", "coverage", "expected_calibration_error", "sparsification"]

SHARES = 101  # points of a sparsification curve
BINS = 10  # of belief, for the expected calibration error


def auroc(score: np.ndarray, wrong: np.ndarray) -> float | None:
    """Area under the ROC curve of `score` as a sign of `wrong`; None where all or none are wrong.

    score: (n,) float. wrong: (n,) bool. By ranks, ties averaged: (sum of ranks of the wrong - k (k + 1) / 2) / (k (n - k)).
    """
    k, n = int(wrong.sum()), wrong.size
    if k in (0, n):
        return None
    _, place, count = np.unique(score, return_inverse=True, return_counts=True)
    rank = np.cumsum(count) - (count - 1) / 2
    total = float(rank[place.reshape(-1)][wrong].sum())
    return (total - k * (k + 1) / 2) / (k * (n - k))


@dataclass(frozen=True, kw_only=True)
class Sparsification:
    """Curves over the share of pixels removed. removed: (n,) from 0 to just below 1.

    by_score, oracle: (n,) float64, the mean error of what remains. mean_error: of all pixels, which a random order
    keeps. ause: area between by_score and oracle in units of mean_error; None where no pixel is in error.
    """

    removed: np.ndarray
    by_score: np.ndarray
    oracle: np.ndarray
    mean_error: float
    ause: float | None


def _remaining(order: np.ndarray, error: np.ndarray, keep: np.ndarray) -> np.ndarray:
    """Mean error of the first keep[i] pixels in rising order of `order`, pixels of equal `order` in random order on average."""
    _, place, count = np.unique(order, return_inverse=True, return_counts=True)
    place = place.reshape(-1)
    # Every pixel of a tie stands for its mean: the expectation over the orders among them.
    tied = np.bincount(place, weights=error, minlength=count.size) / count
    total = np.concatenate([[0.0], np.cumsum(np.repeat(tied, count))])
    mean: np.ndarray = total[keep] / keep
    return mean


def sparsification(score: np.ndarray, error: np.ndarray, shares: int = SHARES) -> Sparsification | None:
    """The curves of `Sparsification` for n pixels; None for no pixels. score, error: (n,) float, finite."""
    n = error.size
    if n == 0:
        return None
    keep = np.maximum(1, np.rint(n * (1 - np.arange(shares) / (shares - 1))).astype(int))
    removed = 1 - keep / n
    by_score, oracle = _remaining(score, error, keep), _remaining(error, error, keep)
    mean = float(error.mean())
    ause = float(np.trapezoid(by_score - oracle, removed)) / mean if mean > 0 else None
    return Sparsification(removed=removed, by_score=by_score, oracle=oracle, mean_error=mean, ause=ause)


def coverage(interval: np.ndarray, truth: np.ndarray, values: np.ndarray, between: bool = False) -> float | None:
    """Share of the pixels whose truth, rounded to the nearest label's value, is in its interval; None for no pixels.

    interval: (n, 2). truth: (n,) finite. values: (L,), L >= 2. A truth beyond the labels by more than half a step is
    in no interval. between: ends lie between values (`LabelScale.between`), and truths are not rounded.
    """
    if truth.size == 0:
        return None
    rising = np.unique(values)
    if rising.size < 2:
        return None
    nearest = truth if between else rising[np.searchsorted((rising[1:] + rising[:-1]) / 2, truth)]
    low = rising[0] - (rising[1] - rising[0]) / 2
    high = rising[-1] + (rising[-1] - rising[-2]) / 2
    inside = (interval[:, 0] <= nearest) & (nearest <= interval[:, 1]) & (low <= truth) & (truth <= high)
    return float(inside.mean())


def expected_calibration_error(believed: np.ndarray, right: np.ndarray, bins: int = BINS) -> float | None:
    """Mean of |share that is right - mean belief| over bins of belief of equal width, each by its pixels; None for no pixels.

    believed: (n,) probabilities that pixels are right. right: (n,) bool. (C. Guo, G. Pleiss, Y. Sun, K. Q. Weinberger, On
    Calibration of Modern Neural Networks, ICML 2017, Equation 3.)
    """
    if not believed.size:
        return None
    place = np.minimum((believed * bins).astype(int), bins - 1)
    return float(np.abs(np.bincount(place, believed, bins) - np.bincount(place, right, bins)).sum() / believed.size)


@dataclass(frozen=True, kw_only=True)
class Calibration:
    """How well uncertainty tells of error over the pixels of known truth that were counted.

    pixels: how many. wrong: share whose error is above `wrong_above`. auroc, sparsification: by the name of the measure of
    uncertainty, "entropy" and, of ordered labels, "std"; of what is shared, "confidence"; of other answers with inner intervals,
    "width", of the outer ones. coverage: of the intervals of level `level` of ordered labels, one for each component of their
    values, else None. inner: as coverage, of the inner intervals, None without these. calibration_error: the expected calibration
    error, `expected_calibration_error` of `Uncertainty.confidence`, None without that.
    """

    pixels: int
    wrong: float | None
    wrong_above: float
    level: float
    auroc: dict[str, float | None]
    sparsification: dict[str, Sparsification | None]
    coverage: tuple[float | None, ...] | None
    calibration_error: float | None = None
    inner: tuple[float | None, ...] | None = None

    def summary(self) -> dict[str, Any]:
        """For the report: numbers without the curves."""
        return {
            "pixels": self.pixels, "wrong": self.wrong, "wrong_above": self.wrong_above, "auroc": self.auroc,
            "ause": {name: None if curve is None else curve.ause for name, curve in self.sparsification.items()},
            "level": self.level, "coverage": self.coverage[0] if self.coverage and len(self.coverage) == 1 else self.coverage,
            "calibration_error": self.calibration_error,
            **({} if self.inner is None else {
                "inner_level": INNER, "inner_coverage": self.inner[0] if len(self.inner) == 1 else self.inner}),
        }


def calibrate(uncertainty: Uncertainty, labels: np.ndarray, truth: Truth, scale: LabelScale,
              error: np.ndarray | None = None) -> Calibration:
    """Compare uncertainty with error. labels: (H, W) uint8, the estimate whose error is meant, unless there is `error`, (H, W)
    float64, of an answer between labels.

    Clamped sites do not count: they are given, not estimated.
    """
    error = truth.error(labels) if error is None else error
    known = np.isfinite(error) & uncertainty.counted
    wrong = error[known] > truth.wrong_above
    scores = {"entropy": uncertainty.site_entropy[known]}
    if uncertainty.site_std is not None:
        scores["std"] = uncertainty.site_std[known]
    if uncertainty.between is not None and uncertainty.confidence is not None:
        scores["confidence"] = -uncertainty.confidence[known]
    if uncertainty.inner is not None and uncertainty.between is None and uncertainty.width is not None:
        scores["width"] = uncertainty.width[known]
    inside = known & np.isfinite(truth.picture).all(-1)
    values = np.tile([[0.0], [255]], 3) if scale.kind == "colour" else scale.values  # of a colour's channels
    between = scale.between or uncertainty.inner is not None  # inner intervals are of answers between labels

    def covered(interval: np.ndarray | None) -> tuple[float | None, ...] | None:
        return None if interval is None else tuple(
            coverage(interval[inside][:, d], truth.picture[inside][:, d], values[:, d], between)
            for d in range(values.shape[1]))

    believed = None if uncertainty.confidence is None else uncertainty.confidence[known]
    return Calibration(
        pixels=int(known.sum()), wrong=float(wrong.mean()) if wrong.size else None, wrong_above=float(truth.wrong_above),
        level=uncertainty.level, auroc={name: auroc(score, wrong) for name, score in scores.items()},
        sparsification={name: sparsification(score, error[known]) for name, score in scores.items()},
        coverage=covered(uncertainty.interval), inner=covered(uncertainty.inner),
        calibration_error=None if believed is None else expected_calibration_error(believed, ~wrong))
