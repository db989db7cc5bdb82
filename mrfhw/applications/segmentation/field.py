"""Segmentation: one picture in, one of K classes of grey for each pixel out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from mrfhw.applications.options import Contrast
from mrfhw.field.given import whole_array
from mrfhw.field.problem import Problem, ProblemError, Schedule, check_labels
from mrfhw.jobs.job import Cooling
from mrfhw.jobs.label_scale import LabelScale
from mrfhw.machine.config import PRESETS

__all__ = ["TUNED", "SegmentationTruth", "Tuned", "class_means", "class_scale", "least_segment", "segmentation_problem",
           "segments", "variation_of_information", "worse_than_none"]


@dataclass(frozen=True, kw_only=True)
class Tuned:
    """The numbers of segmentation, found on other pictures than those of the README (docs/applications.md).

    sweeps: by default.
    cooling: of annealing.
    contrast: the weights of edges of colour pictures.
    stiffness: of the paths that first labels come from (`mrfhw.samplers.path_start`).
    least_segment: a segment has at least this part of the pixels.
    needs: parameters of the machine of a field of colours.
    """

    sweeps: int
    cooling: Cooling
    contrast: Contrast
    stiffness: int
    least_segment: int
    needs: Mapping[str, Any] = field(default_factory=lambda: PRESETS["colour"])


TUNED = Tuned(sweeps=200, cooling=Cooling(1.5, 0.2), contrast=Contrast(smooth=3, edge=1, above=25), stiffness=3, least_segment=200)


def _data(image: ArrayLike) -> np.ndarray:
    """A picture's data as integers, (H, W). Raises ProblemError for what is none; greys from 0 to 1 would end as these two."""
    found = _scaled_to_one(image)
    if found is not None:
        raise ProblemError(f"image has values from {found[0]:g} to {found[1]:g}; data are whole numbers of the machine's width, "
                           "0 to 63 for 6 bits: make them by mrfhw.pictures.images.grey_data")
    return whole_array("image", image)


def _scaled_to_one(image: ArrayLike) -> tuple[float, float] | None:
    """(least, greatest) of floats from 0 to 1 that are not all whole; None for anything else."""
    try:
        values = np.asarray(image)
    except (ValueError, TypeError, OverflowError):  # whole_array says what it is
        return None
    if values.dtype.kind != "f" or not values.size or not 0 <= values.min() <= values.max() <= 1:
        return None
    return (float(values.min()), float(values.max())) if (values != np.rint(values)).any() else None


def class_means(image: ArrayLike, classes: int) -> np.ndarray:
    """(classes,) or (classes, C) int64, dark to light: the centres of a k-means clustering of the greys or colours, rounded.

    image: (H, W) or (H, W, C) integers, an array or nested list. scikit-learn's KMeans (Lloyd's algorithm, k-means++ starts) on the
    distinct values, weighted by how often they occur, with a fixed seed: the same picture gives the same means.
    Raises ProblemError for a number of classes outside 2..64, for pictures with fewer values than classes or with values that are
    no whole numbers, and where scikit-learn is missing.
    """
    check_labels("classes", classes)
    data = _data(image)
    channels = data.reshape(-1, 1) if data.ndim == 2 else data.reshape(-1, data.shape[2])
    values, weights = np.unique(channels, axis=0, return_counts=True)
    if len(values) < classes:
        raise ProblemError(f"classes is {classes}; the number of different greys is {len(values)} at the machine's width: "
                           "give fewer classes, or their means")
    try:
        from sklearn.cluster import KMeans  # most of a second to import, and no part of the plain installation
    except ImportError:
        raise ProblemError('scikit-learn is missing, which finds the means of the classes: pip install "mrfhw[apps]", '
                           "or give means") from None
    found = KMeans(n_clusters=classes, n_init=10, random_state=0).fit(values.astype(np.float64), sample_weight=weights)
    centres = found.cluster_centers_[np.argsort(found.cluster_centers_.sum(1), kind="stable")]
    return np.rint(centres if data.ndim == 3 else centres[:, 0]).astype(np.int64)


def segmentation_problem(
    image: ArrayLike, means: Sequence[int] | np.ndarray, *, alpha: int = 1, beta: int = 16, temperature: float = 12.0,
    schedule: Schedule | None = None, tau: int | None = None, singleton: str = "absolute", doubleton: str = "potts",
    energy_shift: int = 0, clamped: np.ndarray | None = None, edges: np.ndarray | None = None,
) -> Problem:
    """The MRF whose label k at a pixel stands for the class of mean grey, or colour, means[k].

    image: (H, W) or (H, W, C) integers of the machine's width, an array or nested list; means: (K,) or (K, C) of that width, the
    classes' constants. edges: as of `Problem`, such as weights by contrast (`mrfhw.applications.descriptors.edge_weights`).
    The other arguments are those of `Problem`; `schedule` takes the place of the constant `temperature`. The defaults
    come from a search on 6-bit data (docs/applications.md); their energies stay below 256.
    Raises ProblemError for what `Problem` refuses; of pictures of floats from 0 to 1 `mrfhw.pictures.images.grey_data` makes data.
    """
    constants = np.asarray(means, np.int64)
    zeros = np.zeros(len(constants), np.int64)
    return Problem(
        labels=len(constants), singleton1=_data(image), constants=constants, singleton=singleton, doubleton=doubleton,
        alpha=alpha, beta=beta, tau=tau, energy_shift=energy_shift, clamped=clamped, edges=edges,
        vectors=np.stack([zeros, np.arange(len(constants)) - len(constants) // 2], 1) if doubleton == "squared" else None,
        schedule=Schedule.constant(temperature) if schedule is None else schedule,
    )


def least_segment(shape: tuple[int, ...], part: int) -> int:
    """The pixels that a segment of a picture of that shape has at least, of so many parts of it."""
    return max(1, shape[0] * shape[1] // part)


def class_scale(means: np.ndarray, data_bits: int) -> LabelScale:
    """What the labels of `segmentation_problem` stand for: their means as 8-bit grey, at the centre of the bin."""
    step = 1 << (8 - data_bits)
    channels = np.asarray(means, np.float64).reshape(len(means), -1)
    values = channels.mean(1, keepdims=True) * step + (step - 1) / 2
    return LabelScale(values=values, name="class (mean grey)", kind="classes")


def segments(classes: np.ndarray, least: int) -> np.ndarray:
    """Numbers of the connected regions of a map of classes, int32 (H, W) from 1 on, each of which occurs: what a picture is divided
    into.

    classes: (H, W). A region of fewer than `least` pixels, whose four neighbours count, becomes part of the nearest one that is
    larger; of a picture that has none, all regions stay. SciPy's labels and distance transform.
    """
    from scipy import ndimage

    found, count = np.zeros(classes.shape, np.int32), 0
    for value in np.unique(classes):
        regions, number = ndimage.label(classes == value)
        found[regions > 0] = regions[regions > 0] + count
        count += number
    small = np.bincount(found.ravel())[found] < least
    if small.all() or not small.any():
        return found
    nearest = ndimage.distance_transform_edt(small, return_distances=False, return_indices=True)
    _, number = np.unique(found[tuple(nearest)], return_inverse=True)
    return (number.reshape(found.shape) + 1).astype(np.int32)


def _entropy_bits(counts: np.ndarray) -> float:
    share = counts[counts > 0] / counts.sum()
    return float(-(share * np.log2(share)).sum())


def _joint(a: ArrayLike, b: ArrayLike) -> np.ndarray:
    """(number of values of a, number of values of b) int64: how often each pair of values occurs."""
    _, ia = np.unique(np.ravel(a), return_inverse=True)
    _, ib = np.unique(np.ravel(b), return_inverse=True)
    shape = (int(ia.max()) + 1, int(ib.max()) + 1)
    return np.bincount(ia * shape[1] + ib, minlength=shape[0] * shape[1]).reshape(shape)


def variation_of_information(a: ArrayLike, b: ArrayLike) -> float:
    """H(A|B) + H(B|A) in bits of two segmentations of the same pixels; 0 where they are the same partition.

    Meila, "Comparing Clusterings - an Information Based Distance", J. Multivariate Analysis 98 (2007). a, b: arrays
    or nested lists of segment numbers, of equal shape; only which pixels share a number counts.
    """
    joint = _joint(a, b)
    return max(0.0, 2 * _entropy_bits(joint) - _entropy_bits(joint.sum(0)) - _entropy_bits(joint.sum(1)))


class SegmentationTruth:
    """Segmentations by hand. segments: (H, W) integers each, 0 where unknown. image: (H, W) grey of the machine's width.

    Quality: `vi`, the variation of information in bits of the `segments` of the map of classes, averaged over the segmentations;
    `vi_classes`, that of the classes themselves, which are no connected segments; `vi_single`, that of the whole picture as one
    single segment: a division whose `vi` is greater says less than none. A pixel's error is the
    share of the segmentations in which it is not of the class that most of its segment has.
    picture: the first segmentation, each segment drawn as the class nearest to its mean grey.
    """

    error_name = "share of segmentations contradicted"
    wrong_above = 0.5
    wrong = "not of the class of its segment in more than half of the segmentations"

    def __init__(self, segments: Sequence[ArrayLike], image: ArrayLike, means: np.ndarray, scale: LabelScale,
                 part: int = TUNED.least_segment):
        self._part = part
        self.segments, image = [np.asarray(each) for each in segments], np.asarray(image)
        first = self.segments[0]
        drawn = np.full(first.shape, np.nan)
        for segment in np.unique(first[first > 0]):
            inside = first == segment
            nearest = np.abs(np.reshape(means, (len(means), -1)) - image[inside].reshape(inside.sum(), -1).mean(0)).sum(1).argmin()
            drawn[inside] = scale.values[nearest, 0]
        self.picture = drawn[..., None]
        which = f"the first of {len(self.segments)} segmentations" if len(self.segments) > 1 else "the segmentation"
        self.title = f"truth: {which}, as classes"
        self.note = (f"Of the truth, {which} is shown: each of its segments has the colour of the class whose mean is nearest to "
                     "the segment's, so that segments side by side may look like one.")

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

    def metrics(self, labels: np.ndarray, mean: np.ndarray | None, finer: np.ndarray | None = None) -> dict[str, float | None]:
        """The quality of (H, W) labels; classes have no mean."""
        return {"vi": self._mean_vi(segments(labels, least_segment(labels.shape, self._part))), "vi_classes": self._mean_vi(labels),
                "vi_single": self._mean_vi(np.zeros_like(labels))}

    def _mean_vi(self, labels: np.ndarray) -> float | None:
        values = [variation_of_information(labels[known], segments[known])
                  for segments in self.segments for known in [segments > 0] if known.any()]
        return float(np.mean(values)) if values else None


def worse_than_none(metrics: Mapping[str, float | None]) -> str | None:
    """One line where segments are farther from the truth than the undivided picture is; None for others."""
    found, single = metrics.get("vi"), metrics.get("vi_single")
    if found is None or single is None or found <= single:
        return None
    return (f"the segments are worse than none: their variation of information is {found:.3f} bits, and that of one single segment "
            f"{single:.3f}")
