"""What a histogram of labels says of each site: mode, entropy, mean, standard deviation, credible interval and set.

All of it comes from the relative frequencies p(l) = counts(l) / sum of counts, the estimate of the site's marginal
posterior distribution. Work goes over the image in blocks of rows, one for each thread at a time, so that what is
held besides the input and the answer does not grow with the image.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mrfhw.jobs.label_scale import LEVEL, LabelScale
from mrfhw.system.threads import in_shares, threads_of

__all__ = ["INNER", "Uncertainty", "entropy", "modes", "quantify"]

DOUBT_UNIT = 1 << 12  # shares of doubt are whole multiples of its inverse
INNER = 0.5  # level of inner intervals
BLOCK = 1 << 20  # histogram bins at a time: some temporary float64 arrays of 8 MB


@dataclass(frozen=True, kw_only=True)
class Uncertainty:
    """The marginal distributions of the sites of an image, in numbers.

    Of several fields see `mrfhw.analysis.fields.quantify_fields`: entropy, std and the like have a number for each.
    counted: (H, W) bool, where labels were counted. Elsewhere (clamped sites) the last label has probability 1.
    mode: (H, W) uint8, the most frequent label, the lowest on ties.
    entropy: (H, W) float64, bits: - sum p(l) log2 p(l).
    set_size: (H, W) uint16, the least number of labels whose probabilities sum to `level` or more: the size of the
    highest-probability credible set.
    Of ordered labels only, else None, in the units of LabelScale.values (L, D):
    mean: (H, W, D) float64. std: (H, W) float64, sqrt of the trace of the D x D covariance (D = 1: the standard
    deviation), of the histogram as it is (divided by n). interval: (H, W, D, 2) float64, lower and upper end of
    each component's equal-tailed credible interval: the shortest with at most (1 - level) / 2 of the samples below
    it and as many above it. Ends are values of labels and belong to it; of `LabelScale.between` they are those quantiles of the
    histogram as a density, each label's samples spread evenly over a step around its value, or what `Job.finer` makes of them.
    median: (H, W) float64, of D = 1 with values in even steps, else None: the median of the histogram as a density, each label's
    samples spread evenly over a step around its value, so that it lies between values.
    halves: (H, W) float64, of the same with values between (`LabelScale.between`), else None: the mode's value, or half a step
    from it where the samples within a step of it have a mean that is nearer to there. near: (H, W) float64, that mean.
    inner: (H, W, D, 2) float64, the intervals of level INNER, of what is shared (`mrfhw.jobs.job.Shared`) or of `Job.finer`; else
    None. between: (H, W, D) float64, the answer that is made of what is shared; else None.
    confidence: (H, W) float64, the probability of all labels whose value is at most so far from the mode's as is asked for (of
    classes, of the mode); None where nothing is asked for. Of what is shared, that the value is so far from the answer.
    """

    level: float
    counted: np.ndarray
    mode: np.ndarray
    entropy: np.ndarray
    set_size: np.ndarray
    mean: np.ndarray | None = None
    std: np.ndarray | None = None
    interval: np.ndarray | None = None
    median: np.ndarray | None = None
    halves: np.ndarray | None = None
    near: np.ndarray | None = None
    inner: np.ndarray | None = None
    between: np.ndarray | None = None
    confidence: np.ndarray | None = None

    @property
    def width(self) -> np.ndarray | None:
        """(H, W) float64: upper less lower end of the credible interval, of D = 2 the diagonal's length, of several fields the root
        of the components' mean square; None as interval."""
        if self.interval is None:
            return None
        squares = np.square(self.interval[..., 1] - self.interval[..., 0])
        return np.sqrt(squares.mean(-1) if self.entropy.ndim == 3 else squares.sum(-1))

    @property
    def site_entropy(self) -> np.ndarray:
        """(H, W) float64: entropy, of several fields their mean."""
        return self.entropy if self.entropy.ndim == 2 else self.entropy.mean(-1)

    @property
    def site_std(self) -> np.ndarray | None:
        """(H, W) float64: std, of several components the root of their mean square; None as std."""
        return self.std if self.std is None or self.std.ndim == 2 else np.sqrt(np.square(self.std).mean(-1))

    def summary(self) -> dict[str, Any]:
        """Means over the counted sites for the report; None where there is nothing to take them of."""
        def mean(field: np.ndarray | None) -> float | None:
            return None if field is None or not self.counted.any() else float(field[self.counted].mean())

        return {
            "level": self.level, "sites": int(self.counted.sum()), "mean_entropy": mean(self.entropy),
            "certain": mean(self.entropy == 0), "mean_set_size": mean(self.set_size),
            "mean_std": mean(self.std), "mean_interval_width": mean(self.width),
        }


def _row_blocks(rows: int, row_size: int) -> list[slice]:
    step = max(1, BLOCK // max(1, row_size))
    return [slice(start, min(rows, start + step)) for start in range(0, rows, step)]


def _shares_entropy(share: np.ndarray) -> np.ndarray:
    # log2 of 1 where p is 0, because the limit of p log p is 0; + 0.0 turns the -0.0 of a certain site into 0.0.
    return -np.einsum("...l,...l", share, np.log2(np.where(share > 0, share, 1.0))) + 0.0


def entropy(counts: np.ndarray) -> np.ndarray:
    """Entropy in bits of each site's histogram, float64 (H, W); counts: (H, W, L). 0 where nothing was counted."""
    out = np.empty(counts.shape[:2])
    for rows in _row_blocks(counts.shape[0], counts[:1].size):
        block = counts[rows]
        out[rows] = _shares_entropy(block / np.maximum(block.sum(-1, keepdims=True), 1))
    return out


def _moments(share: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean (..., D) and sqrt of the covariance's trace (...). Deviations are squared, not values: nothing cancels."""
    # einsum and not matmul: every site's sum is made in the same order, whatever the size of the block.
    mean = np.einsum("...l,ld->...d", share, values)
    variance = np.zeros(share.shape[:-1])
    for component in range(values.shape[1]):
        deviation = values[:, component] - mean[..., component, None]
        variance += np.einsum("...l,...l,...l", share, deviation, deviation)
    certain = share.max(-1) == 1
    mean[certain] = values[share[certain].argmax(-1)]  # exact, where rounding would leave a residue
    return mean, np.sqrt(np.where(certain, 0.0, variance))


def _interval(counts: np.ndarray, values: np.ndarray, level: float) -> np.ndarray:
    """(..., 2): the ends of the credible interval of one component; counts: (..., L), values: (L,)."""
    order = np.argsort(values, kind="stable")
    below = np.cumsum(counts[..., order], -1, dtype=np.int64)
    total = below[..., -1:]
    # Whole samples that each tail may have; the margin keeps 5 % of 100 at 5 and not at 4.
    tail = np.floor(total * ((1 - level) / 2) + 1e-6).astype(np.int64)
    lower = np.argmax(below > tail, -1)
    upper = np.argmax(below >= total - tail, -1)
    return values[order][np.stack([lower, upper], -1)]


def _even(scale: LabelScale) -> bool:
    """Whether labels are values of one component in even, rising steps."""
    if not scale.ordered or scale.values.shape[1] != 1:
        return False
    steps = np.diff(scale.values[:, 0])
    return bool((steps > 0).all() and np.allclose(steps, steps[0]))


def _quantile(counts: np.ndarray, values: np.ndarray, share: float) -> np.ndarray:
    """(...): the value below which `share` of the histogram as a density lies; counts: (..., L), values: (L,) in even steps."""
    below = np.cumsum(counts, -1, dtype=np.int64)
    wanted = below[..., -1:] * share
    at = (below < wanted).sum(-1, keepdims=True)
    here = np.take_along_axis(counts, at, -1)
    before = np.take_along_axis(below, at, -1) - here
    return np.asarray((values[0] + (values[1] - values[0]) * (at - 0.5 + (wanted - before) / here))[..., 0])


def _halves(counts: np.ndarray, mode: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(...) each: `Uncertainty.halves` and `near`; counts: (..., L), mode: (...) labels, values: (L,) in even steps."""
    beside = np.pad(counts.astype(np.int64), [(0, 0)] * (counts.ndim - 1) + [(1, 1)])
    below, here, above = (np.take_along_axis(beside, mode[..., None].astype(np.int64) + place, -1)[..., 0] for place in range(3))
    all_three, step, mean = below + here + above, values[1] - values[0], values[mode]
    away = np.sign(above - below) * (4 * np.abs(above - below) > all_three)
    return mean + step / 2 * away, mean + step * (above - below) / all_three


def _dense_interval(counts: np.ndarray, values: np.ndarray, level: float) -> np.ndarray:
    """(..., 2): the same of the histogram as a density; values: (L,), in even steps. Of one value alone, that value twice."""
    rising, place = np.unique(values, return_inverse=True)
    if rising.size == 1:
        return np.full((*counts.shape[:-1], 2), rising[0])
    of_value = counts if np.array_equal(rising, values) else counts.astype(np.int64) @ (place[:, None] == np.arange(rising.size))
    return np.stack([_quantile(of_value, rising, share) for share in ((1 - level) / 2, (1 + level) / 2)], -1)


def _set_size(counts: np.ndarray, level: float) -> np.ndarray:
    falling = np.cumsum(np.sort(counts, -1)[..., ::-1], -1, dtype=np.int64)
    needed = np.ceil(falling[..., -1:] * level - 1e-6)
    return (np.argmax(falling >= needed, -1) + 1).astype(np.uint16)


def modes(counts: np.ndarray, last: np.ndarray) -> np.ndarray:
    """(H, W) uint8: `Uncertainty.mode` of histograms (H, W, L). last: (H, W), the label of sites that were not counted."""
    found = np.empty(last.shape, np.uint8)
    for rows in _row_blocks(counts.shape[0], counts[:1].size):
        found[rows] = np.where(counts[rows].any(-1), counts[rows].argmax(-1), last[rows])
    return found


def _near(scale: LabelScale, within: float) -> np.ndarray:
    """(L, L) bool: labels whose values are at most `within` apart; of classes, the same label."""
    if not scale.ordered:
        return np.eye(len(scale.values), dtype=bool)
    return np.linalg.norm(scale.values[:, None] - scale.values, axis=-1) <= within + 1e-9


def _doubted(block: np.ndarray, doubt: np.ndarray) -> np.ndarray:
    """Counts (..., L) of which a share `doubt` (...) is spread evenly over all labels; int64, in other units."""
    share = np.rint(doubt * DOUBT_UNIT).astype(np.int64)[..., None]
    total = block.sum(-1, keepdims=True, dtype=np.int64)
    return np.asarray(block.astype(np.int64) * ((DOUBT_UNIT - share) * block.shape[-1]) + share * total)


def quantify(counts: np.ndarray, last: np.ndarray, scale: LabelScale, level: float = LEVEL, *, within: float | None = None,
             doubt: np.ndarray | None = None) -> Uncertainty:
    """The numbers of `Uncertainty` from histograms.

    counts: (H, W, L) unsigned, how often each label was drawn. last: (H, W) uint8, the label of sites that were not
    counted. scale: its values are (L, D). level: probability of intervals and sets, above 0 and below 1. within: of `confidence`,
    in the units of values. doubt: (H, W) float64 of 0..1, the share of each site's distribution that is even over all labels,
    beside that of its histogram (`mrfhw.jobs.job.Job.doubt`). The mean of several components, beside which there is no median, is
    that of the histogram alone, which the share would only draw to the middle of all labels.
    """
    rows, cols, labels = counts.shape
    dims = scale.values.shape[1]
    values = np.asarray(scale.values, np.float64)
    assert 0 < level < 1
    assert values.shape[0] == labels
    counted = np.empty((rows, cols), bool)
    mode, set_size, confidence = np.empty((rows, cols), np.uint8), np.empty((rows, cols), np.uint16), np.empty((rows, cols))
    median = np.empty((rows, cols)) if _even(scale) else None
    halves = np.empty((rows, cols)) if _even(scale) and scale.between else None
    beside = None if halves is None else np.empty((rows, cols))
    near = None if within is None else _near(scale, within)
    bits, std = np.empty((rows, cols)), np.empty((rows, cols))
    mean, interval = np.empty((rows, cols, dims)), np.empty((rows, cols, dims, 2))

    def fill(part: slice) -> None:
        block = counts[part]
        counted[part] = seen = block.any(-1)
        if not seen.all():
            block = block.copy()
            block[~seen, last[part][~seen]] = 1
        drawn = block
        if doubt is not None:
            block = _doubted(block, doubt[part] * seen)
        mode[part] = block.argmax(-1)
        share = block / block.sum(-1, keepdims=True)
        bits[part] = _shares_entropy(share)
        set_size[part] = _set_size(block, level)
        if near is not None:
            confidence[part] = np.einsum("...l,...l", share, near[mode[part]])
        if scale.ordered:
            mean[part], std[part] = _moments(share, values)
            if doubt is not None and dims > 1:
                mean[part] = _moments(drawn / drawn.sum(-1, keepdims=True), values)[0]
            if median is not None:
                median[part] = _quantile(block, values[:, 0], 0.5)
            if halves is not None and beside is not None:
                halves[part], beside[part] = _halves(drawn, mode[part], values[:, 0])
            for d in range(dims):
                interval[part][:, :, d] = (_dense_interval if scale.between else _interval)(block, values[:, d], level)

    parts = _row_blocks(rows, cols * labels)

    def share_of(first: int, last: int) -> None:
        for part in parts[first:last]:
            fill(part)

    in_shares(share_of, len(parts), len(parts), threads_of(None))
    ordered = {"mean": mean, "std": std, "interval": interval} if scale.ordered else {}
    return Uncertainty(level=level, counted=counted, mode=mode, entropy=bits, set_size=set_size, **ordered, median=median,
                       halves=halves, near=beside, confidence=None if near is None else confidence)
