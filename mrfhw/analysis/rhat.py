"""R-hat of a few chains, as ArviZ computes it, and how large it is by chance.

A. Vehtari, A. Gelman, D. Simpson, B. Carpenter, P.-C. Buerkner, Rank-Normalization, Folding, and Localization: An
Improved R-hat for Assessing Convergence of MCMC, Bayesian Analysis 16(2), 2021.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

__all__ = ["CONVERGED", "by_chance", "half_of", "rhat_of", "split_if_alone"]

CONVERGED = 1.05  # an R-hat from here on is none of a converged chain, where there are enough looks


def split_if_alone(series: np.ndarray) -> np.ndarray:
    """(chains, n); a single chain's halves count as two chains, because R-hat compares chains."""
    if len(series) > 1:
        return series
    half = series.shape[1] // 2
    return np.stack([series[0, :half], series[0, -half:]])


def rhat_of(arviz: Any, series: np.ndarray, method: str = "rank") -> float:
    """R-hat of (chains, n) values: the larger one of ranks and of folded ranks, or by another method of ArviZ.

    Infinite where no half of a chain moves and they differ: the variance within is 0, which rounding would hide. 1 where all
    halves have the one same value.
    """
    chains = split_if_alone(series)
    half = chains.shape[1] // 2
    halves = np.concatenate([chains[:, :half], chains[:, -half:]])
    if not np.ptp(halves, axis=1).any():
        return math.inf if np.ptp(halves) > 0 else 1.0
    # A folded series may not vary at all; ArviZ then takes the other one, but divides by zero on the way.
    with np.errstate(divide="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=RuntimeWarning, module="arviz_stats")
        return float(arviz.rhat(chains, method=method))


def half_of(chains: int, looks: float) -> float:
    """Looks of half a chain, of so many at each; of a single chain, whose halves count as chains, of a quarter."""
    return looks / 2 if chains > 1 else looks / 4


def by_chance(chains: int, half: float, share: float) -> float:
    """An R-hat that this share of converged chains has or passes. half: independent looks of half a chain; of fewer than 2 it is
    infinite.

    n R-hat^2 = B / W + n - 1 of m halves of n looks, and of independent normal looks B / W has an F distribution. R-hat is the
    larger one of ranks and of folded ranks, so that each may pass half as often.
    """
    from scipy.special import fdtri  # which ArviZ needs as well

    halves = 2 * max(chains, 2)
    if half < 2:
        return math.inf
    return math.sqrt((float(fdtri(halves - 1, halves * (half - 1), 1 - share / 2)) + half - 1) / half)
