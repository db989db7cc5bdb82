"""Stereo matching: two rectified pictures in, a disparity for each pixel of the left one out."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from mrfhw.applications.known import DOUBT_UNKNOWN
from mrfhw.applications.matching import MatchingTuned
from mrfhw.applications.options import Contrast
from mrfhw.applications.stereo.between import SharedDisparity
from mrfhw.applications.two_ways import Way, behind, matched_to, mirrored, shown_behind, stage
from mrfhw.backends.first_labels import FirstLabels
from mrfhw.field.problem import Problem, ProblemError, Run, Schedule, check_labels, check_one_size
from mrfhw.jobs.job import Cooling, First
from mrfhw.jobs.label_scale import LabelScale

__all__ = ["DOUBT", "DOUBT_OUTSIDE", "TUNED", "StereoTruth", "bad_pixels", "both_ways", "disparity_scale", "stereo_problem"]

LABELS = 64  # disparities, where neither a caller nor the pictures say how many
TUNED = MatchingTuned(
    sweeps=500, census_sweeps=500, first_sweeps=80, cooling=Cooling(1.3, 0.7), singleton_max=5, stiffness=3,
    census={"singleton": "hamming", "alpha": 1, "beta": 1, "tau": 3, "out_of_range": 3, "temperature": 1.9},
    one_way={"beta": 2, "tau": 2, "temperature": 1.4}, contrast=Contrast(smooth=2, edge=1, above=15))
# Probability that a pixel which is hidden, or matched wrongly, has any disparity, not one like those around it; and where the right
# picture ends before. Those of most likelihood (studies/doubt.py).
DOUBT, DOUBT_OUTSIDE = 0.18, 0.32


def stereo_problem(
    left: np.ndarray, right: np.ndarray, *, labels: int = LABELS, min_disparity: int = 0, alpha: int = 1, beta: int = 4,
    temperature: float = 3.5, schedule: Schedule | None = None, tau: int | None = 2, singleton: str = "absolute",
    doubleton: str = "absolute", out_of_range: int = 4, energy_shift: int = 0, clamped: np.ndarray | None = None,
    observed: np.ndarray | None = None, shown: np.ndarray | None = None, edges: np.ndarray | None = None,
    singleton_max: int | None = None,
) -> Problem:
    """The MRF whose label l at a pixel of the left picture stands for a disparity of min_disparity + l pixels.

    left, right: (H, W) integers, data of the machine's width: s1 is `left`, s2(l) is `right` at column - (min_disparity + l).
    The other arguments are those of `Problem`; `schedule` takes the place of the constant `temperature`, in units of unshifted
    energy. The "squared" doubleton is that of the labels. The defaults come from a search on 6-bit data (docs/applications.md);
    their energies stay below 256, so that machines of 8 bits do not saturate. Raises ProblemError for what `Problem` refuses, and
    where no disparity has a pixel in the right picture.
    """
    check_labels("labels", labels)
    check_one_size(left, right)
    cols = left.shape[-1]
    if min_disparity >= cols or min_disparity + labels <= 1 - cols:
        raise ProblemError(f"min-disparity is {min_disparity}; {labels} labels from there have no pixel in pictures of "
                           f"{cols} columns: give a smaller disparity or a wider window")
    shift = min_disparity + np.arange(labels)
    zeros = np.zeros(labels, np.int64)
    return Problem(
        labels=labels, singleton1=left, singleton2=right, offsets=np.stack([zeros, -shift], 1),
        singleton=singleton, doubleton=doubleton, alpha=alpha, beta=beta, tau=tau,
        # Only differences count, so the vectors are centred: half the range of a signed word.
        vectors=np.stack([zeros, np.arange(labels) - labels // 2], 1) if doubleton == "squared" else None,
        energy_shift=energy_shift, out_of_range=out_of_range, clamped=clamped, observed=observed, shown=shown,
        edges=edges, singleton_max=singleton_max,
        schedule=Schedule.constant(temperature) if schedule is None else schedule,
    )


def both_ways(tuned: MatchingTuned, problem: Problem, run: Run, min_disparity: int, edges: np.ndarray | None,
              start: bool = True, sweeps: int | None = None, shared: SharedDisparity | None = None,
              backend: str = "cpu") -> First:
    """Matching from left to right and from right to left, from which follows what `problem`'s final run samples.

    problem: of `stereo_problem`, with the weights of the final run. Pixels that the two results do not agree on start from the
    confirmed disparities beside them, the ones behind. Those that no pixel of the right picture is matched to are hidden in it, and
    get for their datum what the right picture shows there (no singleton where that is outside it); the others are seen in both
    pictures, and keep their own. Pixels that `problem` does not observe have no datum, whatever the right picture shows. Where
    `start` is False all pixels start from the labels that `run` says. Both keep what `run` keeps for its estimate. edges: weights
    of the final run's field. sweeps: of each way before; 0 for the paths alone, None for
    `tuned.first_sweeps`. backend: who samples. `then` gives problem, run, doubt, shared and the map "occluded".
    """
    singleton1, singleton2, offsets = problem.singleton1, problem.singleton2, problem.offsets
    assert singleton1 is not None
    assert singleton2 is not None
    assert offsets is not None
    there = dataclasses.replace(problem, beta=tuned.one_way["beta"], tau=tuned.one_way["tau"],
                                schedule=Schedule.constant(tuned.one_way["temperature"]))
    known, shown = problem.observed, problem.shown
    returning = dataclasses.replace(there, singleton1=mirrored(singleton2), singleton2=mirrored(singleton1),
                                    observed=None if shown is None else mirrored(shown),
                                    shown=None if known is None else mirrored(known))

    def then(motions: np.ndarray, back: np.ndarray, occluded: np.ndarray) -> dict[str, Any]:
        labels = behind(-motions[..., 1] - min_disparity, occluded)
        datum, seen = shown_behind(singleton1, singleton2, labels.astype(np.int64) + min_disparity,
                                   occluded & ~matched_to(back[..., 1], shown), shown)
        doubt = np.where(seen, DOUBT, DOUBT_OUTSIDE) * occluded
        if known is not None:
            seen, doubt = seen & known, np.where(known, doubt, DOUBT_UNKNOWN)
        final = dataclasses.replace(problem, singleton1=datum, observed=seen, edges=edges)
        last = dataclasses.replace(run, initial=labels) if start else run
        return {"problem": final, "run": last, "doubt": doubt, "maps": {"occluded": occluded},
                "shared": None if shared is None else dataclasses.replace(shared, hidden=occluded)}

    sweeps = tuned.first_sweeps if sweeps is None else sweeps
    return stage(Way(there, offsets), Way(returning, -offsets, mirror=True), 0, FirstLabels(tuned.stiffness, backend), then,
                 Run(sweeps=sweeps, burn_in=sweeps // 2, seed=run.seed, estimate=run.estimate) if sweeps else None)


def disparity_scale(labels: int, min_disparity: int) -> LabelScale:
    """What the labels of `stereo_problem` stand for."""
    return LabelScale(values=(min_disparity + np.arange(labels, dtype=np.float64))[:, None], name="disparity (pixels)")


def bad_pixels(labels: np.ndarray, min_disparity: int, truth: np.ndarray, threshold: float) -> float | None:
    """Percent of the pixels of known truth, occluded ones included, whose disparity is off by more than `threshold`.

    labels: (H, W); disparity = label + min_disparity. truth: (H, W) float64 in pixels, 0 where unknown.
    None where no pixel's truth is known. Raises ProblemError where the shapes differ.
    """
    if truth.shape != labels.shape:
        raise ProblemError(f"the true disparities are {truth.shape[1]}x{truth.shape[0]}; the estimate is "
                           f"{labels.shape[1]}x{labels.shape[0]}: give truth of the left image's size")
    known = truth != 0
    if not known.any():
        return None
    error = np.abs(labels.astype(np.float64) + min_disparity - truth)[known]
    return float(100 * np.count_nonzero(error > threshold) / error.size)


class StereoTruth:
    """True disparities. disparity: (H, W) float64 in pixels, 0 where unknown (Middlebury's convention).

    Quality of the answer: `bad_1` and `bad_2`, percent of known pixels, occluded ones included, that are off by more than 1 and 2
    pixels; `epe`, their mean absolute error in pixels, `epe_mean`, that of the posterior mean, and `epe_median`, that of the
    interpolated median, a disparity of parts of pixels.
    """

    error_name = "error of disparity (pixels)"
    wrong_above = 1.0
    wrong = f"disparity off by more than {wrong_above:g} pixel"
    title, note = "truth", ""

    def __init__(self, disparity: np.ndarray, min_disparity: int):
        self.disparity, self.min_disparity = disparity, min_disparity
        self.picture = np.where(disparity != 0, disparity, np.nan)[..., None]

    def error(self, labels: np.ndarray) -> np.ndarray:
        """|disparity - truth| in pixels, float64 (H, W), NaN where unknown; labels: (H, W)."""
        return np.abs(labels.astype(np.float64) + self.min_disparity - self.picture[..., 0])

    def quality(self, values: np.ndarray) -> dict[str, float | None]:
        """`bad_1`, `bad_2` and `epe` of (H, W, 1) disparities."""
        disparity, known = values[..., 0], self.disparity != 0
        error = np.abs(disparity - self.picture[..., 0])[known]
        return {**{f"bad_{limit}": bad_pixels(disparity, 0, self.disparity, limit) for limit in (1, 2)},
                "epe": float(error.mean()) if known.any() else None}

    def metrics(self, labels: np.ndarray, mean: np.ndarray | None, finer: np.ndarray | None = None) -> dict[str, float | None]:
        """The quality of (H, W) labels and of the (H, W, 1) posterior mean of the disparity."""
        known = self.disparity != 0
        quality = self.quality((labels.astype(np.float64) + self.min_disparity)[..., None])
        if mean is not None:
            error = np.abs(mean - self.picture)[known]
            quality["epe_mean"] = float(error.mean()) if known.any() else None
        if finer is not None:
            error = np.abs(finer - self.picture)[known]
            quality["epe_median"] = float(error.mean()) if known.any() else None
        return quality
