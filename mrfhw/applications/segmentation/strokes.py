"""Costs of labels that a user has drawn into a picture: how unlike a pixel is the strokes' colours, and how far from them it lies.

Nothing here is an energy of a machine: `stroke_costs` are natural logarithms, `strokes_problem` makes whole numbers of them.
"""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mrfhw.applications.descriptors import graded_weights
from mrfhw.backends.first_labels import FirstLabels
from mrfhw.field.problem import LABELS_MAX, Problem, ProblemError, Run, Schedule
from mrfhw.field.result import Result
from mrfhw.jobs.job import First
from mrfhw.pictures.lab import lab

__all__ = ["STROKES", "Strokes", "StrokesTuned", "checked_strokes", "first_of_strokes", "strokes_problem"]

MOST = 255  # the largest cost, which eight bits hold


@dataclass(frozen=True, kw_only=True)
class StrokesTuned:
    """The numbers of segmentation with strokes, chosen on pictures that the tables do not report (`studies.strokes`).

    components: normal distributions of a label's colours at most.
    colour: weight of the logarithm of their density.
    refitted: of this weight, the share of the mixture that is fitted to the labels drawn; the rest is that of the strokes.
    sure: a pixel has part in that where this share of the draws has the label.
    place: weight of the logarithm of the distance from a label's strokes.
    contrast: pixels that a step of a difference of colour of 1 (CIELAB) is as long as.
    near: pixels, added to distances.
    unit: whole units of energy for a cost of 1.
    temperature: T in these units.
    beta: of the field whose edges weigh 1 to 15.
    first_sweeps: of the chain whose labels the colours are fitted to; 0 for none.
    stiffness: of the paths that first labels come from.
    """

    components: int
    colour: float
    refitted: float
    sure: float
    place: float
    contrast: float
    near: float
    unit: int
    temperature: float
    beta: int
    first_sweeps: int
    stiffness: int


STROKES = StrokesTuned(components=5, colour=0.15, refitted=0.6, sure=0.9, place=2.1, contrast=2.0, near=5.0, unit=16,
                       temperature=40.0, beta=2, first_sweeps=40, stiffness=3)


def checked_strokes(strokes: np.ndarray, labels: int | None) -> int:
    """The number of labels of strokes (H, W), 0 for none and k for label k - 1.

    labels: how many there are; None for as many as the largest number says. Raises ProblemError for a larger number than that,
    for strokes of fewer than two labels, and for a label without a stroke.
    """
    most = int(strokes.max())
    if most == 0:
        raise ProblemError("scribbles has no stroke here, it is 0 everywhere; each label needs one: draw 1 for the first label, 2 "
                           "for the second and so on")
    found = np.unique(strokes[strokes > 0])
    if labels is not None and most > labels:
        raise ProblemError(f"scribbles has the number {most} and classes is {labels}; the strokes of the last label are {labels}: "
                           "draw numbers from 1 on, or give more classes")
    if len(found) == 1:
        raise ProblemError(f"scribbles has strokes of the number {most} alone; at least two labels need strokes: draw another "
                           "number where the rest is")
    if most > LABELS_MAX:
        raise ProblemError(f"scribbles has the number {most}; the limit is {LABELS_MAX} labels: draw numbers from 1 on")
    count = most if labels is None else labels
    if len(found) < count:
        missing = int(np.setdiff1d(np.arange(1, count + 1), found)[0])
        raise ProblemError(f"scribbles has no stroke of the number {missing}, of 1 to {count}; each label needs one: draw it, or "
                           "number the strokes without gaps")
    return count


class Strokes:
    """Strokes in a picture, and the costs of their labels.

    picture: uint8 (H, W) or (H, W, 3). strokes: (H, W) from 0, each label's are there. Raises ProblemError where scikit-learn or
    SciPy is missing.
    """

    def __init__(self, picture: np.ndarray, strokes: np.ndarray, tuned: StrokesTuned = STROKES):
        try:
            import sklearn.mixture  # noqa: F401  most of a second to import, and no part of the plain installation
            from scipy import ndimage
        except ImportError:
            raise ProblemError('scikit-learn is missing, by which the colours of strokes are described: pip install "mrfhw[apps]"'
                               ) from None
        self.tuned, self.strokes, self.labels = tuned, strokes, int(strokes.max())
        self.colours = lab(picture)
        smooth = ndimage.gaussian_filter(self.colours, (1, 1, 0))
        light = self.colours[..., 0]
        spread = ndimage.gaussian_filter(light**2, 2) - ndimage.gaussian_filter(light, 2)**2
        self._features = np.concatenate([smooth, np.sqrt(np.maximum(spread, 0))[..., None]], -1)
        self._places = tuned.place * np.log(self._distances(smooth) + tuned.near)
        self._drawn = self._unlike(strokes)

    @property
    def mask(self) -> np.ndarray:
        """(H, W) bool, where strokes are."""
        return self.strokes > 0

    def costs(self, drawn: np.ndarray | None = None) -> np.ndarray:
        """(H, W, L) float64, the cost of each label. drawn: (H, W), label + 1 of the pixels to which colours are fitted besides the
        strokes, 0 for none of them; None for the strokes alone."""
        unlike = self._drawn
        if drawn is not None:
            share = self.tuned.refitted
            unlike = (1 - share) * unlike + share * self._unlike(np.where(self.mask, self.strokes, drawn))
        return np.asarray(self.tuned.colour * unlike + self._places)

    def _unlike(self, numbers: np.ndarray) -> np.ndarray:
        """(H, W, L) float64: -log of the density of a pixel's colours in the mixture of each label. numbers: (H, W), label + 1 of
        the pixels that it is fitted to."""
        every = self._features.reshape(-1, self._features.shape[-1])
        with _one_thread():
            found = [-_mixture(self._features[numbers == label], self.tuned.components).score_samples(every)
                     for label in range(1, self.labels + 1)]
        return np.stack(found, -1).reshape(*numbers.shape, self.labels)

    def _distances(self, colours: np.ndarray) -> np.ndarray:
        """(H, W, L) float64: the length of the shortest way from each label's strokes, a pixel and `contrast` times its difference
        of colour for each step to one of four neighbours."""
        from scipy import sparse
        from scipy.sparse import csgraph

        shape = self.strokes.shape
        sites = np.arange(self.strokes.size).reshape(shape)
        steps = [1 + self.tuned.contrast * np.sqrt((np.diff(colours, axis=axis)**2).sum(-1)).ravel() for axis in (1, 0)]
        begin, end = (np.concatenate([a.ravel(), b.ravel()])
                      for a, b in ((sites[:, :-1], sites[:-1]), (sites[:, 1:], sites[1:])))
        ways = sparse.csr_matrix((np.concatenate(steps), (begin, end)), (sites.size, sites.size))
        found = [csgraph.dijkstra(ways, directed=False, indices=np.flatnonzero(self.strokes == label), min_only=True)
                 for label in range(1, self.labels + 1)]
        return np.stack(found, -1).reshape(*shape, self.labels)


def _one_thread() -> Any:
    """Sums of more threads differ in their last bits."""
    from threadpoolctl import threadpool_limits  # scikit-learn brings it

    return threadpool_limits(1)


FITTED = 4000  # pixels that a mixture is fitted to at most
PIXELS = 20  # of a component at least
FLOOR = 4.0  # variance of a component at least, in CIELAB: pictures are of whole greys


def _mixture(values: np.ndarray, components: int) -> Any:
    """The mixture of normal distributions of values (N, D)."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.mixture import GaussianMixture

    values = values[::-(-len(values) // FITTED)]
    if len(values) == 1:
        values = np.repeat(values, 2, 0)  # the least that is fitted
    number = max(1, min(components, len(values) // PIXELS, len(np.unique(values, axis=0))))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return GaussianMixture(number, reg_covar=FLOOR, random_state=0, max_iter=50).fit(values)


def strokes_problem(strokes: Strokes, costs: np.ndarray, *, schedule: Schedule, beta: int | None = None, **energy: Any) -> Problem:
    """The field of costs (H, W, L) of `strokes`, whose labels are clamped.

    beta: None for that of the numbers that were chosen. energy: arguments of `Problem`. A site of a stroke costs its own label
    nothing, and the others the most, for starts that look at costs alone.
    """
    tuned, own = strokes.tuned, strokes.strokes.astype(np.int64)[..., None] - 1
    above = np.rint((costs - costs.min(-1, keepdims=True)) * tuned.unit).clip(0, MOST).astype(np.int64)
    labels = np.arange(strokes.labels)
    unary = np.where(own >= 0, np.where(labels == own, 0, MOST), above)
    vectors = None
    if energy.get("doubleton", "potts") == "squared":
        vectors = np.stack([np.zeros_like(labels), labels - strokes.labels // 2], 1)
    return Problem(labels=strokes.labels, unary=unary, clamped=strokes.mask, edges=graded_weights(strokes.colours), vectors=vectors,
                   schedule=schedule, beta=tuned.beta if beta is None else beta, **{"doubleton": "potts", **energy})


def with_strokes(strokes: Strokes, labels: np.ndarray) -> np.ndarray:
    """Labels (H, W) with those of the strokes where these are."""
    return np.where(strokes.mask, strokes.strokes - 1, labels)


def first_of_strokes(strokes: Strokes, made: Callable[[np.ndarray], Problem], run: Run,
                     start: bool, backend: str = "cpu") -> tuple[Problem, Run, First | None]:
    """The field of the strokes' own colours, its run, and what is sampled first: that field, to whose labels colours are fitted.

    made: from costs to the field. run: as it is asked for. start: whether it starts from paths.
    backend: who samples.
    """
    tuned = strokes.tuned
    starts = FirstLabels(tuned.stiffness, backend)

    def started(problem: Problem) -> Run:
        return dataclasses.replace(run, initial=starts.of(problem)) if start else run

    problem = made(strokes.costs())
    if not tuned.first_sweeps:
        return problem, started(problem), None
    short = dataclasses.replace(run, sweeps=tuned.first_sweeps, burn_in=tuned.first_sweeps // 4, estimate="mode",
                                initial=starts.of(problem))

    def refitted(results: list[Result]) -> dict[str, Any]:
        (result,) = results
        assert result.counts is not None
        share = result.counts.max(-1) / short.counted
        again = made(strokes.costs(np.where(share >= tuned.sure, result.counts.argmax(-1) + 1, 0)))
        return {"problem": again, "run": started(again)}

    return problem, started(problem), First(((problem, short),), refitted)
