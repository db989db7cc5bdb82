"""The picture under noise by what patches that look alike have in common, from the posterior mean of the field.

The field knows of each pixel and its four neighbours; texture is in patches. Patches of the noisy picture that are alike in the
posterior mean are taken as samples of one normal distribution, and each is replaced by its mean given its noisy pixels (M. Lebrun,
A. Buades, J.-M. Morel, A nonlocal Bayesian image denoising algorithm, SIAM Journal on Imaging Sciences 6 (2013)). This is done
twice. In the first round the distribution's covariance is that of the noisy patches without what noise alone would have; in the
second it is that of the first round's answer, which also says what is alike. The normal distributions give each pixel its variance.
Pixels that a mask hides are no data: their patches' other pixels say what they are. At last the mean is turned back into the grey
that it is of, where black and white have cut noise off (`mrfhw.applications.denoising.clipping`).
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mrfhw.analysis.uncertainty import INNER
from mrfhw.applications.denoising.clipping import CutNoise
from mrfhw.jobs.job import Between
from mrfhw.jobs.label_scale import LEVEL
from mrfhw.system.numba_alone import njit
from mrfhw.system.progress import compiling
from mrfhw.system.threads import threads_of

__all__ = ["SIDE", "LikePatches", "estimated"]

SIDE = 5  # rows and columns of a patch
STEP = 4  # rows and columns from one patch whose like are looked for to the next: all pixels are in some
REACH = 10  # rows and columns to each side in which like patches are looked for
# The numbers below have been chosen on published pictures; `python -m studies.denoised FOLDER` compares results with others'.
FIRST_LIKE, LIKE = 90, 40  # patches of a group, of the two rounds
NOISE_EDGE = 1.5  # times the noise's variance, of a group's principal components, is taken as noise
LEAST_DEVIATION = 0.35  # rounding alone has 0.29
# Variances are themselves estimates, so that errors have longer tails than normal ones: Student's t of four degrees of freedom.
QUANTILES = {LEVEL: 2.132, INNER: 0.741}
MEAN_SHARE = 1 / 3  # of the variance of a group's mean, which is less in the mean of all groups that a pixel is in
UNKNOWN = 1e6  # variance of a datum that is hidden
TOGETHER = 256  # groups at a time


@njit(nogil=True)
def _differences(guide: np.ndarray, corners: np.ndarray, out: np.ndarray) -> None:
    """out (n, (2 REACH + 1)^2): summed squared differences of the patches at corners (n, 2) and those around, inf beyond the
    picture. guide: (H, W, C) float32."""
    rows, cols, planes = guide.shape
    across = 2 * REACH + 1
    for number in range(len(corners)):
        row, col = corners[number]
        for place in range(across * across):
            down, right = row + place // across - REACH, col + place % across - REACH
            if down < 0 or right < 0 or down > rows - SIDE or right > cols - SIDE:
                out[number, place] = np.inf
                continue
            total = np.float32(0)
            for i in range(SIDE):
                for j in range(SIDE):
                    for plane in range(planes):
                        apart = guide[row + i, col + j, plane] - guide[down + i, right + j, plane]
                        total += apart * apart
            out[number, place] = total


@njit(nogil=True)
def _add(firsts: np.ndarray, there: np.ndarray, found: np.ndarray, variance: np.ndarray, cols: int, plane: int, sums: np.ndarray,
         ) -> None:
    """Patches' pixels added to sums (2, H W, C), of values and variances. firsts: (n, K) places of the patches' first pixels.
    there: (n, K) bool. found, variance: (n, K, SIDE^2)."""
    for number in range(firsts.shape[0]):
        for one in range(firsts.shape[1]):
            if there[number, one]:
                for pixel in range(SIDE * SIDE):
                    at = firsts[number, one] + pixel // SIDE * cols + pixel % SIDE
                    sums[0, at, plane] += found[number, one, pixel]
                    sums[1, at, plane] += variance[number, one, pixel]


def _starts(size: int) -> np.ndarray:
    """First rows, or columns, of patches that together hold all of so many."""
    return np.unique(np.append(np.arange(0, size - SIDE + 1, STEP), size - SIDE))


def _groups(guide: np.ndarray, corners: np.ndarray, like: int) -> tuple[np.ndarray, np.ndarray]:
    """(n, K) places of the first pixels of the `like` patches that are most alike those at corners, themselves among them, and
    bool (n, K), False where there are not so many."""
    apart = np.empty((len(corners), (2 * REACH + 1) ** 2), np.float32)
    _differences(guide, corners, apart)
    places = np.argpartition(apart, like - 1, 1)[:, :like]
    there = np.isfinite(np.take_along_axis(apart, places, 1))
    down, right = corners[:, :1] + places // (2 * REACH + 1) - REACH, corners[:, 1:] + places % (2 * REACH + 1) - REACH
    return np.where(there, down * guide.shape[1] + right, corners[:, :1] * guide.shape[1] + corners[:, 1:]), there


def _covariances(patches: np.ndarray, share: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Means (n, 1, P) and covariances (n, P, P) of groups of patches (n, K, P). share: (n, K, 1), 1 / their number, or 0."""
    mean = (patches * share).sum(1, keepdims=True)
    centred = (patches - mean) * np.sqrt(share)
    number = 1 / share.max(1, keepdims=True)
    return mean, centred.transpose(0, 2, 1) @ centred * (number / np.maximum(number - 1, 1))


def _without_noise(covariance: np.ndarray, noise: float) -> np.ndarray:
    """(n, P, P), covariances less what noise of a variance may have in each principal component."""
    values, axes = np.linalg.eigh(covariance)
    kept = np.maximum(0, values - NOISE_EDGE * noise)
    return np.asarray((axes * kept[:, None]) @ axes.transpose(0, 2, 1))


def _given_data(data: np.ndarray, seen: np.ndarray, share: np.ndarray, mean: np.ndarray, covariance: np.ndarray, noise: float,
                ) -> tuple[np.ndarray, np.ndarray]:
    """(n, K, P) each: means and variances of patches given their data (n, K, P), under noise of a variance, where seen, bool.

    Variances are those of the normal distribution, and of its mean, which is one of so many noisy patches. share: as of
    `_covariances`.
    """
    eye = np.eye(covariance.shape[-1])
    gain = np.linalg.solve(covariance + noise * eye, covariance)
    found = mean + (data - mean) @ gain
    of_mean = MEAN_SHARE * share.max(1) * np.square(eye - gain).sum(1)
    variance = noise * (np.diagonal(gain, axis1=1, axis2=2) + of_mean)
    variance = np.broadcast_to(variance[:, None], found.shape).copy()
    group, one = np.nonzero(~seen.all(-1))
    if group.size:
        each = np.where(seen[group, one], noise, UNKNOWN)
        prior = covariance[group]
        gain = np.linalg.solve(prior + each[:, None] * eye, prior)
        found[group, one] = mean[group, 0] + ((data[group, one] - mean[group, 0])[:, None] @ gain)[:, 0]
        variance[group, one] = each * np.diagonal(gain, axis1=1, axis2=2)
    return found, variance


def estimated(data: np.ndarray, guide: np.ndarray, noise: np.ndarray, seen: np.ndarray | None = None, *,
              first: bool) -> tuple[np.ndarray, np.ndarray]:
    """One round: (H, W, C) float64 each, the mean of each value by all patches that it is in, and the mean of its variances.

    data: (H, W, C), planes of independent noise. guide: (H, W, C), what is alike. noise: (C,), variances above 0. seen: (H, W)
    bool, None for everywhere; data elsewhere are not used. first: groups' covariances are those of the data, without the noise;
    else the guide's. H and W are SIDE at least.
    """
    rows, cols, planes = data.shape
    like = min(FIRST_LIKE if first else LIKE, (2 * REACH + 1) ** 2)
    filled = data if seen is None else np.where(seen[..., None], data, guide)
    known = np.ones(rows * cols, bool) if seen is None else seen.ravel()
    flat, of_guide = filled.reshape(-1, planes), guide.reshape(-1, planes)
    within = (np.arange(SIDE)[:, None] * cols + np.arange(SIDE)).ravel()
    corners = np.stack(np.meshgrid(_starts(rows), _starts(cols), indexing="ij"), -1).reshape(-1, 2)
    single = np.ascontiguousarray(guide, np.float32)

    def of(some: np.ndarray) -> list[tuple[np.ndarray, ...]]:
        firsts, there = _groups(single, some, like)
        at = firsts[..., None] + within
        share = (there / there.sum(1, keepdims=True))[..., None]
        results: list[tuple[np.ndarray, ...]] = []
        for plane, variance in enumerate(noise):
            patches = flat[:, plane][at]
            mean, covariance = _covariances(patches if first else of_guide[:, plane][at], share)
            if first:
                covariance = _without_noise(covariance, variance)
            results.append((firsts, there, *_given_data(patches, known[at], share, mean, covariance, variance)))
        return results

    sums, number = np.zeros((2, rows * cols, planes)), np.zeros(rows * cols)
    parts = np.array_split(corners, -(-len(corners) // TOGETHER))
    with compiling("what like patches have in common"), ThreadPoolExecutor(threads := threads_of(None)) as pool:
        for begin in range(0, len(parts), threads):  # added in the same order, whatever the number of threads
            for results in pool.map(of, parts[begin:begin + threads]):
                for plane, (firsts, there, found, variance) in enumerate(results):
                    _add(firsts, there, found, variance, cols, plane, sums)
                places = (results[0][0][..., None] + within)[results[0][1]]
                number += np.bincount(places.ravel(), minlength=rows * cols)
    value, variance = (sums / number[:, None]).reshape(2, rows, cols, planes)
    return value, variance


@dataclass(frozen=True, eq=False)
class LikePatches:
    """As of `mrfhw.jobs.job.Finer`. noisy: (H, W, D) of 0..255, D 1 or 3. deviations: (C,), of the noise in each plane, in units of
    the components. weights: (D, C) orthonormal, what a unit of a plane adds to the components. seen: (H, W) bool, where noisy says
    something; None for everywhere. given: whether the deviations are those before black and white cut the noise off, or what is
    left of it in the picture."""

    noisy: np.ndarray
    deviations: np.ndarray
    weights: np.ndarray
    seen: np.ndarray | None = None
    given: bool = False
    name: ClassVar[str] = "the mean by what like patches have in common"

    def __call__(self, values: np.ndarray, start: np.ndarray, interval: np.ndarray | None, /) -> Between:
        squares = self.weights**2
        deviations = np.sqrt(squares @ np.maximum(self.deviations, LEAST_DEVIATION) ** 2)  # of the components
        noise = np.maximum(self.deviations, LEAST_DEVIATION) ** 2
        if self.given:
            after = [CutNoise.of(one).deviation(means) for one, means in zip(deviations, self._of_seen(start), strict=True)]
            noise = np.square(np.maximum(after, LEAST_DEVIATION)) @ squares
        data, guide = self.noisy @ self.weights, start @ self.weights
        basic, _ = estimated(data, guide, noise, self.seen, first=True)
        found, variance = estimated(data, basic, noise, self.seen, first=False)
        answer, deviation = (found @ self.weights.T).clip(0, 255), np.sqrt(variance @ squares.T)
        if self.seen is not None and interval is not None:  # where nothing is seen the samples may be less sure than patches are
            of_samples = (interval[..., 1] - interval[..., 0]) / (2 * QUANTILES[LEVEL])
            deviation = np.where(self.seen[..., None], deviation, np.maximum(deviation, of_samples))
        ends = [answer + side * quantile * deviation for quantile in QUANTILES.values() for side in (-1, 1)]
        numbers = np.stack([answer, *ends], -1).clip(0, 255)  # (H, W, D, 5)
        for place, (one, data, means) in enumerate(zip(deviations, self._of_seen(self.noisy), self._of_seen(answer), strict=True)):
            cut = CutNoise.of(one) if self.given else CutNoise.seen(one, means)
            if cut.is_in(data, means):
                numbers[..., place, :] = cut.greys(numbers[..., place, :])
        outer, inner = (None, None) if interval is None else (numbers[..., 1:3], numbers[..., 3:])
        return Between(numbers[..., 0], outer, inner)

    def _of_seen(self, picture: np.ndarray) -> list[np.ndarray]:
        """Each component of (H, W, D), (n,), where the picture says something."""
        return list((picture.reshape(-1, picture.shape[-1]) if self.seen is None else picture[self.seen]).T)
