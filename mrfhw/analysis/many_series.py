"""R-hat and effective sample sizes of many series at once: ArviZ's definitions, which it computes one series after the other.

A. Vehtari, A. Gelman, D. Simpson, B. Carpenter, P.-C. Buerkner, Rank-Normalization, Folding, and Localization: An Improved R-hat
for Assessing Convergence of MCMC, Bayesian Analysis 16(2), 2021. ArviZ gives the same numbers
(tests/analysis/test_many_series.py), a millisecond for each series: of the sites of a video's frame longer than it is sampled.
"""

from __future__ import annotations

import math

import numpy as np

__all__ = ["effective_sizes", "rhats"]

_OFFSET = 3 / 8  # of ranks (Blom, 1958)
_ALIKE = 1e-15  # values that differ by less do not vary


def _halves(series: np.ndarray) -> np.ndarray:
    """(m, 2 x chains, n // 2): both halves of each chain; the middle one of an odd number of values is in none."""
    half = series.shape[2] // 2
    return np.concatenate([series[:, :, :half], series[:, :, -half:]], 1)


def _normal_of_ranks(series: np.ndarray) -> np.ndarray:
    """Of each value the normal's quantile of its rank among all of its series."""
    from scipy.special import ndtri
    from scipy.stats import rankdata

    flat = series.reshape(len(series), -1)
    ranks = rankdata(flat, axis=1)
    return np.asarray(ndtri((ranks - _OFFSET) / (flat.shape[1] - 2 * _OFFSET + 1))).reshape(series.shape)


def _rhats_of(halves: np.ndarray) -> np.ndarray:
    """Gelman and Rubin's, not a number where nothing varies."""
    n = halves.shape[2]
    within, between = halves.var(2, ddof=1).mean(1), n * halves.mean(2).var(1, ddof=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.sqrt((between / within + n - 1) / n)


def rhats(series: np.ndarray, ranks: bool = True) -> np.ndarray:
    """(m,) float64, R-hat of each of (m, chains, n) series, as `mrfhw.analysis.rhat.rhat_of` has it of one.

    ranks: the larger one of ranks and of folded ranks; otherwise of the values.
    """
    if series.shape[1] == 1:
        series = _halves(series)
    halves = np.asarray(_halves(series), np.float64)
    if ranks and len(halves):
        folded = np.abs(halves - np.median(halves, axis=(1, 2), keepdims=True))
        found = np.fmax(_rhats_of(_normal_of_ranks(halves)), _rhats_of(_normal_of_ranks(folded)))
    else:
        found = _rhats_of(halves)
    still = (np.ptp(halves, axis=2) == 0).all(1)
    return np.where(still, np.where(np.ptp(halves, axis=(1, 2)) > 0, math.inf, 1.0), found)


def _sizes(halves: np.ndarray) -> np.ndarray:
    """Effective sample sizes, by Geyer's initial positive and monotone sequences."""
    from scipy.fft import next_fast_len

    values = np.asarray(halves, np.float64)
    (_, chains, n), many = values.shape, values[0].size if len(values) else 0
    room = next_fast_len(2 * n)
    spectrum = np.fft.rfft(values - values.mean(2, keepdims=True), room, axis=2)
    # In ArviZ's order: where a sum is zero, rounding decides.
    lags = np.mean(np.fft.irfft(spectrum * spectrum.conj(), room, axis=2)[:, :, :n] / n, 1)
    variance = lags[:, :1] * n / (n - 1.0)
    total = variance * (n - 1.0) / n + (values.mean(2).var(1, ddof=1)[:, None] if chains > 1 else 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        rho = 1 - (variance - lags) / total
    rho[:, 0] = 1
    most = max(math.ceil((n - 4) / 2), 0)  # pairs at most
    pairs = rho[:, :2 * most + 2].reshape(len(rho), -1, 2).sum(2)
    ended = ~(pairs > 0)
    ended[:, most] = True
    used = ended.argmax(1)
    taken = np.arange(pairs.shape[1]) < used[:, None]
    falling = np.where(taken, np.minimum.accumulate(pairs, 1), 0).sum(1)
    row = np.arange(len(rho))
    last = rho[row, 2 * used]
    last = np.where((last > 0) | (pairs[row, used] >= 0), last, 0)
    size = many / np.maximum(2 * falling - 1 + last, 1 / math.log10(max(many, 2)))
    return np.where(np.ptp(values, axis=(1, 2)) < _ALIKE, many, size)


def effective_sizes(series: np.ndarray, tails: tuple[float, float]) -> tuple[np.ndarray, np.ndarray]:
    """(m,) float64 each, of (m, chains, n) series the effective sample sizes of the bulk, and of the worse one of two quantiles."""
    series = np.asarray(series, np.float64)
    if not len(series):
        return np.empty(0), np.empty(0)
    ends = np.quantile(series, tails, axis=(1, 2), keepdims=True)
    bulk, *worse = (_sizes(values) for values in (_normal_of_ranks(_halves(series)), *(_halves(series <= end) for end in ends)))
    return bulk, np.minimum(*worse)
