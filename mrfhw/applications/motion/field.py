"""Motion estimation: two frames in, a motion vector for each pixel of the first one out."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from mrfhw.applications.known import DOUBT_UNKNOWN
from mrfhw.applications.matching import MatchingTuned
from mrfhw.applications.motion.finer import FinerMotion
from mrfhw.applications.options import Contrast
from mrfhw.applications.two_ways import Way, stage
from mrfhw.backends.first_labels import FirstLabels
from mrfhw.field.problem import LABELS_MAX, LABELS_MIN, Problem, ProblemError, Run, Schedule, check_one_size
from mrfhw.jobs.job import Cooling, First
from mrfhw.jobs.label_scale import LabelScale
from mrfhw.pictures.flow import end_point_error

__all__ = ["DOUBT", "TUNED", "MotionTruth", "both_ways", "motion_problem", "motion_scale", "motion_vectors"]

FARTHEST = 4096  # rows or columns of the window's centre
TUNED = MatchingTuned(
    sweeps=400, census_sweeps=400, cooling=Cooling(1.3, 0.4), singleton_max=5, stiffness=3,
    census={"singleton": "hamming", "alpha": 1, "beta": 1, "tau": 4, "out_of_range": 3, "temperature": 1.7},
    contrast=Contrast(smooth=2, edge=1, above=15))
ASTRAY = 1  # rows or columns by which a motion and the one back may differ where both frames show a pixel
# Probability that a pixel which the second frame does not show, or that is matched wrongly, has any motion, not one like those
# around it: that of most likelihood (studies/doubt.py).
DOUBT = 0.12


def motion_vectors(rows: int, cols: int, centre: tuple[int, int] = (0, 0)) -> np.ndarray:
    """(rows x cols, 2) int64: the (row, column) motions of a window around `centre`, in raster order.

    An even side reaches one further below or to the right than above or to the left.
    Raises ProblemError for a window of fewer than 2 or more than 256 vectors.
    """
    if rows < 1 or cols < 1 or not LABELS_MIN <= rows * cols <= LABELS_MAX:
        raise ProblemError(f"vectors is {rows}x{cols}, {rows * cols} motions; the limits are {LABELS_MIN} to {LABELS_MAX}: "
                           "give rows and columns such as 7x7")
    if max(map(abs, centre)) > FARTHEST:
        raise ProblemError(f"centre is {centre[0]},{centre[1]}; the limits are {-FARTHEST} to {FARTHEST}: give one between them")
    row, col = np.divmod(np.arange(rows * cols), cols)
    return np.stack([row - (rows - 1) // 2 + centre[0], col - (cols - 1) // 2 + centre[1]], 1).astype(np.int64)


def motion_problem(
    first: np.ndarray, second: np.ndarray, *, rows: int = 7, cols: int = 7, centre: tuple[int, int] = (0, 0),
    alpha: int = 3, beta: int = 4, temperature: float = 3.5, schedule: Schedule | None = None, tau: int | None = 2,
    singleton: str = "absolute", doubleton: str = "squared", out_of_range: int = 6, energy_shift: int = 0,
    clamped: np.ndarray | None = None, observed: np.ndarray | None = None, shown: np.ndarray | None = None,
    edges: np.ndarray | None = None, singleton_max: int | None = None,
) -> Problem:
    """The MRF whose label at a pixel of `first` stands for one of `motion_vectors(rows, cols, centre)`.

    first, second: (H, W) integers of the machine's width: s1 is `first`, s2(l) is `second` at site + vector(l).
    The other arguments are those of `Problem`; `schedule` takes the place of the constant `temperature`. The defaults
    come from a search on 6-bit data (docs/applications.md); their energies stay below 256.
    Raises ProblemError for what `Problem` refuses, and where no motion ends in the second picture.
    """
    vectors = motion_vectors(rows, cols, centre)
    check_one_size(first, second)
    if (np.abs(vectors) >= first.shape).any(1).all():
        raise ProblemError(f"centre is {centre[0]},{centre[1]}; every motion from there leaves pictures of "
                           f"{first.shape[1]}x{first.shape[0]}: give a centre nearer to 0,0")
    return Problem(
        labels=len(vectors), singleton1=first, singleton2=second, offsets=vectors,
        # Only differences count, so the vectors are centred: n of them go from -(n // 2) up, as a signed word does.
        vectors=vectors - vectors[0] - (rows // 2, cols // 2),
        singleton=singleton, doubleton=doubleton, alpha=alpha, beta=beta, tau=tau, energy_shift=energy_shift,
        out_of_range=out_of_range, clamped=clamped, observed=observed, shown=shown, edges=edges, singleton_max=singleton_max,
        schedule=Schedule.constant(temperature) if schedule is None else schedule,
    )


def both_ways(tuned: MatchingTuned, problem: Problem, run: Run, finer: FinerMotion | None = None, start: bool = True,
              backend: str = "cpu") -> First:
    """Which pixels of the first frame the second one does not confirm, by paths alone, from which follows what is sampled: hidden
    pixels, wrong ones, and ones that leave the frame, as far as they have not found another motion that agrees both ways.

    problem: of `motion_problem`, whose doubletons are alike in both directions. The motions of both frames to the other one are
    those of this field without its weights of edges, which are the first frame's. Pixels that are not confirmed have no datum.
    `then` gives problem, run, doubt, finer and the map "occluded"; where `start` is True the run begins at the paths of that field.
    backend: who samples.
    """
    assert problem.offsets is not None
    starts = FirstLabels(tuned.stiffness, backend)
    there = dataclasses.replace(problem, edges=None)
    known = problem.observed
    returning = dataclasses.replace(there, singleton1=problem.singleton2, singleton2=problem.singleton1, offsets=-problem.offsets,
                                    observed=problem.shown, shown=known)

    def then(motions: np.ndarray, back: np.ndarray, hidden: np.ndarray) -> dict[str, Any]:
        final = dataclasses.replace(problem, observed=~hidden)
        last = dataclasses.replace(run, initial=starts.of(final)) if start else run
        doubt = DOUBT * hidden if known is None else np.where(known, DOUBT * hidden, DOUBT_UNKNOWN)
        return {"problem": final, "run": last, "doubt": doubt, "maps": {"occluded": hidden},
                "finer": None if finer is None else dataclasses.replace(finer, hidden=hidden)}

    return stage(Way(there, problem.offsets), Way(returning, -problem.offsets), ASTRAY, starts, then)


def motion_scale(rows: int, cols: int, centre: tuple[int, int]) -> LabelScale:
    """What the labels of `motion_problem` stand for."""
    return LabelScale(values=motion_vectors(rows, cols, centre).astype(np.float64), name="motion (pixels)", kind="flow")


class MotionTruth:
    """True motions. flow: (H, W, 2) float64, (row, column) in pixels, NaN where unknown. vectors: (L, 2) of the labels,
    all motions by whole pixels within a rectangle (`motion_vectors`).

    Quality, in pixels over known pixels: `epe`, the mean length of the difference (end-point error) of the answer,
    `epe_mean`, that of the posterior mean, `epe_flow`, that of the motion between pixels (`mrfhw.applications.motion.finer`), and
    `epe_least`, that of the nearest vector at every pixel, which no choice of labels goes below.
    """

    error_name = "end-point error (pixels)"
    wrong_above = 1.0
    wrong = f"end-point error above {wrong_above:g} pixel"
    title, note = "truth", ""

    def __init__(self, flow: np.ndarray, vectors: np.ndarray):
        self.picture, self.vectors = flow, vectors.astype(np.float64)
        self.known = np.isfinite(flow).all(-1)

    def _mean(self, estimate: np.ndarray) -> float | None:
        return float(end_point_error(estimate, self.picture)[self.known].mean()) if self.known.any() else None

    def error(self, labels: np.ndarray) -> np.ndarray:
        """End-point error of (H, W) labels in pixels, float64 (H, W), NaN where unknown."""
        return end_point_error(self.vectors[labels], self.picture)

    def quality(self, values: np.ndarray) -> dict[str, float | None]:
        """`epe` of (H, W, 2) motions."""
        return {"epe": self._mean(values)}

    def metrics(self, labels: np.ndarray, mean: np.ndarray | None, finer: np.ndarray | None = None) -> dict[str, float | None]:
        """The quality of (H, W) labels, of the (H, W, 2) posterior mean and of finer motions (H, W, 2)."""
        quality = self.quality(self.vectors[labels])
        for name, estimate in (("epe_mean", mean), ("epe_flow", finer)):
            if estimate is not None:
                quality[name] = self._mean(estimate)
        quality["epe_least"] = self._mean(np.rint(self.picture).clip(self.vectors.min(0), self.vectors.max(0)))
        return quality
