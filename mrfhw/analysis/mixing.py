"""Which sites have mixed: whether the chains agree on their labels.

A site has not mixed where R-hat of its labels is at its limit or above: of ordered labels the rank-normalised one of the value, of
classes the worst one of whether the site has a label, over the labels that it has often.

The limit is CONVERGED, or where the looks are few what mixed sites reach by chance in ALARM of the cases. Labels of successive
sweeps are alike, so that a look counts for one in APART sweeps at most. Of mixed sites more than NOT_MIXED are then above it in
less than ALARM / NOT_MIXED, half a percent, of the runs, however the sites of a field depend on one another (Markov's inequality).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from mrfhw.analysis.many_series import rhats
from mrfhw.analysis.rhat import CONVERGED, by_chance, half_of
from mrfhw.analysis.trace import Trace
from mrfhw.jobs.label_scale import LabelScale

__all__ = ["NOT_MIXED", "TOLD", "Mixing", "mixing", "quantities"]

NOT_MIXED = 0.1  # of the watched sites: a run with a greater share of sites that have not mixed has not converged
ALARM = 0.0005  # of mixed sites, the share whose R-hat is at the limit or above, about
APART = 4  # sweeps, after which a mixed site's label is taken for an independent one
TOLD = 1.2  # where mixed sites reach this by chance, a site of it or more may have mixed or not
_AT_ONCE = 256  # series
OFTEN = 0.1  # of the looks: a class that a site has less often says little of it


@dataclass(frozen=True)
class Mixing:
    """Of the watched sites of a trace.

    sites: (m, 2) int64, their (row, column). rhat: (m,) float64, 1 of a site that never moved, infinite of one at which each chain
    stays at a label of its own. limit: from which on a site has not mixed; infinite where so few looks tell nothing of sites.
    """

    sites: np.ndarray
    rhat: np.ndarray
    limit: float

    @property
    def known(self) -> bool:
        """Whether there is a site, and looks enough to judge it."""
        return bool(len(self.rhat)) and math.isfinite(self.limit)

    @property
    def not_mixed(self) -> np.ndarray:
        """(m,) bool."""
        return self.rhat >= self.limit if self.known else np.zeros(len(self.rhat), bool)

    @property
    def share(self) -> float | None:
        """Of the sites, those that have not mixed; None where it cannot be told."""
        return float(self.not_mixed.mean()) if self.known else None

    @property
    def too_many(self) -> bool:
        return self.share is not None and self.share > NOT_MIXED

    @property
    def unsure(self) -> float:
        """Of the sites, those of which so few looks cannot tell: chance or not, their R-hat is far from 1."""
        return float((self.rhat[~self.not_mixed] >= TOLD).sum() / len(self.rhat)) if len(self.rhat) and self.limit > TOLD else 0.0

    def with_more(self, times: float) -> bool:
        """Whether so many times as many sweeps may be enough: with them R-hat^2 - 1 is that many times less, at best. An infinite
        one tells nothing of how many it takes."""
        later = np.sqrt(1 + (self.rhat ** 2 - 1) / times)
        return not len(later) or bool((later >= CONVERGED).mean() <= NOT_MIXED)


def quantities(labels: np.ndarray, scale: LabelScale) -> np.ndarray:
    """What is diagnosed of sites: (Q, sites, chains, n) float64, the components of values; of classes, whether each has its mode.

    labels: (chains, n, sites) uint8.
    """
    of_sites = np.moveaxis(labels, 2, 0)
    if scale.ordered:
        return np.moveaxis(scale.values[of_sites], -1, 0)
    modes = np.array([np.bincount(one.ravel(), minlength=len(scale.values)).argmax() for one in of_sites], int)
    return (of_sites == modes[:, None, None]).astype(np.float64)[None]


def _often(labels: np.ndarray) -> np.ndarray:
    """The labels that a site has often. labels: (chains, n)."""
    counts = np.bincount(labels.ravel())
    return np.flatnonzero(counts >= min(OFTEN * labels.size, counts.max()))


def _worst(labels: np.ndarray, scale: LabelScale | None) -> np.ndarray:
    """R-hat of each site's labels (chains, n, sites)."""
    found = np.ones(labels.shape[2])
    moving = np.flatnonzero(np.ptp(labels, axis=(0, 1)))
    if scale is not None and scale.ordered:
        for series in quantities(labels[:, :, moving], scale):
            found[moving] = np.maximum(found[moving], rhats(series))
        return found
    # Ranks of two values are a line through them.
    pairs = [(site, label) for site in moving for label in _often(labels[:, :, site])]
    for first in range(0, len(pairs), _AT_ONCE):
        some = pairs[first:first + _AT_ONCE]
        series = np.stack([(labels[:, :, site] == label).astype(np.float64) for site, label in some])
        np.maximum.at(found, [site for site, _ in some], rhats(series, ranks=False))
    return found


def mixing(trace: Trace, scale: LabelScale | None) -> Mixing:
    """Of a trace's looks after the burn-in. scale: None for labels without order."""
    labels, sweeps = trace.labels[:, trace.counted], trace.sweeps[trace.counted]
    looks = len(sweeps)
    # The first look stands for as many sweeps as each later one.
    swept = looks * (int(sweeps[-1]) - int(sweeps[0])) / (looks - 1) if looks > 1 else 0.0
    limit = max(CONVERGED, by_chance(len(labels), half_of(len(labels), min(looks, swept / APART)), ALARM))
    return Mixing(trace.sites, _worst(labels, scale), limit)
