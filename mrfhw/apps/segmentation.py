"""Segmentation: one picture in, one of K classes of grey for each pixel out."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from mrfhw.apps.job import Cooling, LabelScale
from mrfhw.field.problem import Problem, ProblemError, Schedule, check_labels

__all__ = ["COOLING", "SWEEPS", "SegmentationTruth", "class_means", "class_scale", "segmentation_problem",
           "variation_of_information"]

SWEEPS = 200
COOLING = Cooling(1.5, 0.2)


def class_means(image: np.ndarray, classes: int) -> np.ndarray:
    """(classes,) int64, ascending: the centres of a k-means clustering of the grey values, rounded.

    image: (H, W) integers. scikit-learn's KMeans (Lloyd's algorithm, k-means++ starts) on the distinct values,
    weighted by how often they occur, with a fixed seed: the same picture gives the same means.
    Raises ProblemError for a number of classes outside 2..64, for pictures with fewer values than classes, and where
    scikit-learn is missing.
    """
    check_labels("classes", classes)
    values, weights = np.unique(image, return_counts=True)
    if len(values) < classes:
        raise ProblemError(f"classes is {classes}; the number of different greys is {len(values)} at the machine's width: "
                           "give fewer classes, or their means")
    try:
        from sklearn.cluster import KMeans  # most of a second to import, and no part of the plain installation
    except ImportError:
        raise ProblemError('scikit-learn is missing, which finds the means of the classes: pip install "mrfhw[apps]", '
                           "or give means") from None
    found = KMeans(n_clusters=classes, n_init=10, random_state=0).fit(values[:, None].astype(np.float64), sample_weight=weights)
    return np.rint(np.sort(found.cluster_centers_[:, 0])).astype(np.int64)


def segmentation_problem(
    image: np.ndarray, means: Sequence[int] | np.ndarray, *, alpha: int = 1, beta: int = 16, temperature: float = 12.0,
    schedule: Schedule | None = None, tau: int | None = None, singleton: str = "absolute", doubleton: str = "potts",
    energy_shift: int = 0, clamped: np.ndarray | None = None,
) -> Problem:
    """The MRF whose label k at a pixel stands for the class of mean grey means[k].

    image: (H, W) integers of the machine's width; means: K integers of that width, the classes' constants.
    The other arguments are those of `Problem`; `schedule` takes the place of the constant `temperature`. The defaults
    come from a search on 6-bit data (docs/applications.md); their energies stay below 256.
    Raises ProblemError for what `Problem` refuses.
    """
    constants = np.asarray(means, np.int64)
    zeros = np.zeros(len(constants), np.int64)
    return Problem(
        labels=len(constants), singleton1=image, constants=constants, singleton=singleton, doubleton=doubleton,
        alpha=alpha, beta=beta, tau=tau, energy_shift=energy_shift, clamped=clamped,
        vectors=np.stack([zeros, np.arange(len(constants)) - len(constants) // 2], 1) if doubleton == "squared" else None,
        schedule=Schedule.constant(temperature) if schedule is None else schedule,
    )


def class_scale(means: np.ndarray, data_bits: int) -> LabelScale:
    """What the labels of `segmentation_problem` stand for: their means as 8-bit grey, at the centre of the bin."""
    step = 1 << (8 - data_bits)
    values = np.asarray(means, np.float64)[:, None] * step + (step - 1) / 2
    return LabelScale(values=values, name="class (mean grey)", kind="classes")


def _entropy_bits(counts: np.ndarray) -> float:
    share = counts[counts > 0] / counts.sum()
    return float(-(share * np.log2(share)).sum())


def _joint(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(number of values of a, number of values of b) int64: how often each pair of values occurs."""
    _, ia = np.unique(a.ravel(), return_inverse=True)
    _, ib = np.unique(b.ravel(), return_inverse=True)
    shape = (int(ia.max()) + 1, int(ib.max()) + 1)
    return np.bincount(ia * shape[1] + ib, minlength=shape[0] * shape[1]).reshape(shape)


def variation_of_information(a: np.ndarray, b: np.ndarray) -> float:
    """H(A|B) + H(B|A) in bits of two segmentations of the same pixels; 0 where they are the same partition.

    Meila, "Comparing Clusterings - an Information Based Distance", J. Multivariate Analysis 98 (2007). a, b: arrays
    of segment numbers, of equal shape; only which pixels share a number counts.
    """
    joint = _joint(a, b)
    return max(0.0, 2 * _entropy_bits(joint) - _entropy_bits(joint.sum(0)) - _entropy_bits(joint.sum(1)))


class SegmentationTruth:
    """Segmentations by hand. segments: (H, W) integers each, 0 where unknown. image: (H, W) grey of the machine's width.

    Quality: `vi`, the variation of information in bits, averaged over the segmentations. A pixel's error is the share
    of the segmentations in which it is not of the class that most of its segment has.
    picture: the first segmentation, each segment drawn as the class nearest to its mean grey.
    """

    error_name = "share of segmentations contradicted"
    wrong_above = 0.5

    def __init__(self, segments: Sequence[np.ndarray], image: np.ndarray, means: np.ndarray, scale: LabelScale):
        self.segments = list(segments)
        first = self.segments[0]
        drawn = np.full(first.shape, np.nan)
        for segment in np.unique(first[first > 0]):
            inside = first == segment
            nearest = np.abs(np.asarray(means) - image[inside].mean()).argmin()
            drawn[inside] = scale.values[nearest, 0]
        self.picture = drawn[..., None]

    def error(self, labels: np.ndarray) -> np.ndarray:
        """Share of the segmentations that (H, W) labels contradict, float64 (H, W) of 0..1, NaN where unknown in all."""
        wrong, known = np.zeros(labels.shape), np.zeros(labels.shape)
        for segments in self.segments:
            _, segment = np.unique(segments, return_inverse=True)
            segment = segment.reshape(labels.shape)
            most = np.stack([np.bincount(segment[labels == k], minlength=segment.max() + 1)
                             for k in range(int(labels.max()) + 1)]).argmax(0)
            wrong += (labels != most[segment]) & (segments > 0)
            known += segments > 0
        return np.where(known > 0, wrong / np.maximum(known, 1), np.nan)

    def metrics(self, labels: np.ndarray, mean: np.ndarray | None) -> dict[str, float | None]:
        """The quality of (H, W) labels; classes have no mean."""
        values = [variation_of_information(labels[known], segments[known])
                  for segments in self.segments for known in [segments > 0] if known.any()]
        return {"vi": float(np.mean(values)) if values else None}
