"""What the histograms of several fields say of the answer that is made of them together."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import NormalDist

import numpy as np

from mrfhw.analysis.uncertainty import Uncertainty, quantify
from mrfhw.jobs.fields import Fields
from mrfhw.jobs.label_scale import LEVEL

__all__ = ["quantify_fields"]

DEVIATIONS = NormalDist().inv_cdf((1 + LEVEL) / 2)  # between a mean and its interval's ends, 1.645 for 90 %


def quantify_fields(fields: Fields, counts: Sequence[np.ndarray], last: np.ndarray) -> Uncertainty:
    """The numbers of `Uncertainty` of F fields, given their data independent of each other, and of the answer's C components.

    counts: F histograms (H, W, L). last: (H, W, F) uint8. mode, entropy, set_size: (H, W, F), of the fields. mean, std, interval:
    (H, W, C), (H, W, C) and (H, W, C, 2), of the components: means and variances of weighted sums, and of intervals the normal
    distribution of these, with each label's samples spread evenly over a step around its value. No median, no confidence.
    """
    several = [quantify(of_field, last[..., place], scale)
               for place, (of_field, scale) in enumerate(zip(counts, fields.scales, strict=True))]
    means, deviations = ([], [])  # type: tuple[list[np.ndarray], list[np.ndarray]]
    for one in several:
        assert one.mean is not None
        assert one.std is not None
        means.append(one.mean[..., 0])
        deviations.append(one.std)
    squares = fields.weights.T**2
    variance = np.stack(deviations, -1) ** 2 @ squares
    spread = (fields.values[:, 1] - fields.values[:, 0]) ** 2 / 12 @ squares
    mean = fields.mixed(means)
    half = DEVIATIONS * np.sqrt(variance + spread)
    return Uncertainty(
        level=LEVEL, counted=several[0].counted, mode=np.stack([one.mode for one in several], -1),
        entropy=np.stack([one.entropy for one in several], -1), set_size=np.stack([one.set_size for one in several], -1),
        mean=mean, std=np.sqrt(variance), interval=np.stack([mean - half, mean + half], -1).clip(*fields.ends))
