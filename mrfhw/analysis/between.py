"""Intervals and probabilities of a value between those of labels, where the most frequent one is known better than to a step.

A pixel's distribution is made of two parts. The samples at most a step from the most frequent label are one value, normal around
where it was found. The others are what they were: each label's spread evenly over a step around its value.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from mrfhw.system.numba_alone import njit
from mrfhw.system.progress import compiling
from mrfhw.system.threads import PIXELS_WORTH_A_THREAD, in_shares, threads_of

__all__ = ["BESIDE", "quantiles_and_confidence"]

BESIDE = 1  # labels on each side of the most frequent one that are of the same value
HALVINGS = 24  # of what a quantile lies in: to a hundred-thousandth of a step
FAR = 8.0  # deviations from a normal value, beyond which nothing is
_CELLS = 32  # of a deviation, at whose ends the normal distribution is kept
_ROUNDED = 1e-12  # of its values
_NORMAL = np.array([0.5 * math.erfc(-cell / _CELLS / math.sqrt(2)) for cell in range(-int(FAR) * _CELLS, int(FAR) * _CELLS + 1)])


@njit(nogil=True)
def _below(at: float, shares: np.ndarray) -> float:
    """The share below a place, in labels. shares: (L + 1,), those below each label, which is spread evenly."""
    place = min(max(at + 0.5, 0.0), len(shares) - 1.0)
    label = min(int(place), len(shares) - 2)
    return shares[label] + (place - label) * (shares[label + 1] - shares[label])


@njit(nogil=True)
def _reached(tail: float, below: float, near: float, away: float, normal: np.ndarray) -> bool:
    """Whether below + near x the normal distribution `away` deviations from its middle is `tail` or more.

    normal: _NORMAL, which mostly decides it: the function itself takes long.
    """
    if below >= tail:
        return True
    if below + near < tail:
        return False
    cell = int((min(max(away, -FAR), FAR) + FAR) * _CELLS)
    if below + near * normal[cell] * (1 - _ROUNDED) >= tail and away > -FAR:
        return True
    if below + near * normal[min(cell + 1, len(normal) - 1)] * (1 + _ROUNDED) < tail and away < FAR:
        return False
    return below + near * 0.5 * math.erfc(-away / math.sqrt(2.0)) >= tail


@njit(nogil=True)
def _of_rows(counts: np.ndarray, last: np.ndarray, doubt: np.ndarray, mode: np.ndarray, centre: np.ndarray, deviation: np.ndarray,
             tails: np.ndarray, within: float, normal: np.ndarray, first: int, after: int, ends: np.ndarray,
             confidence: np.ndarray) -> None:
    """As of `quantiles_and_confidence`, of rows `first` to `after`; values and distances in labels."""
    labels = counts.shape[2]
    others, every = np.zeros(labels + 1), np.zeros(labels + 1)
    for row in range(first, after):
        for col in range(counts.shape[1]):
            total = 0.0
            for label in range(labels):
                total += counts[row, col, label]
            share_of_doubt = doubt[row, col] if total else 0.0
            for label in range(labels):
                share = counts[row, col, label] / total if total else 1.0 * (label == last[row, col])
                share = share * (1 - share_of_doubt) + share_of_doubt / labels
                every[label + 1] = every[label] + share
                others[label + 1] = others[label] + (0.0 if abs(label - mode[row, col]) <= BESIDE else share)
            near, middle, spread = 1 - others[labels], centre[row, col], deviation[row, col]
            for tail in range(len(tails)):
                low, high = min(-0.5, middle - FAR * spread), max(labels - 0.5, middle + FAR * spread)
                for _ in range(HALVINGS):
                    at = (low + high) / 2
                    if _reached(tails[tail], _below(at, others), near, (at - middle) / spread, normal):
                        high = at
                    else:
                        low = at
                ends[row, col, tail] = (low + high) / 2
            confidence[row, col] = _below(middle + within, every) - _below(middle - within, every)


def quantiles_and_confidence(
        counts: np.ndarray, last: np.ndarray, doubt: np.ndarray | None, mode: np.ndarray, values: np.ndarray, centre: np.ndarray,
        deviation: np.ndarray, levels: Sequence[float], within: float) -> tuple[list[np.ndarray], np.ndarray]:
    """Equal-tailed intervals of these levels, (H, W, 2) float64 each, and the share of the samples, all spread evenly, that is at
    most `within` from the centre, (H, W) float64: labels on each side of a sure one are less sure of it, which ranks errors better
    than the probability by the normal part.

    counts: (H, W, L) unsigned. last: (H, W), the label of sites that were not counted. doubt: (H, W), the share that is even over
    all labels, as of `quantify`. mode: (H, W) labels. values: (L,), in rising, even steps. centre, deviation: (H, W), of the value
    beside the mode, in the units of values as `within` is.
    """
    step, ends = values[1] - values[0], np.empty((*mode.shape, 2 * len(levels)))
    tails = np.array([side for level in levels for side in ((1 - level) / 2, (1 + level) / 2)])
    confidence = np.empty(mode.shape)
    doubt = np.zeros(mode.shape) if doubt is None else doubt
    place, spread = (centre - values[0]) / step, deviation / step

    def share(first: int, after: int) -> None:
        _of_rows(counts, last, doubt, mode, place, spread, tails, within / step, _NORMAL, first, after, ends, confidence)

    with compiling("intervals between labels", counts.dtype):
        in_shares(share, len(mode), mode.size // PIXELS_WORTH_A_THREAD, threads_of(None))
    ends = values[0] + step * ends
    return [ends[..., 2 * n:2 * n + 2] for n in range(len(levels))], confidence
