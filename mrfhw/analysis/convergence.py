"""Whether the chains have converged, and how many independent samples theirs are worth.

Rank-normalised split R-hat and effective sample size (ESS) of bulk and tail, as ArviZ computes them:
A. Vehtari, A. Gelman, D. Simpson, B. Carpenter, P.-C. Buerkner, Rank-Normalization, Folding, and Localization: An
Improved R-hat for Assessing Convergence of MCMC, Bayesian Analysis 16(2), 2021. There, R-hat is to be below 1.01.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from mrfhw.analysis.trace import Trace
from mrfhw.apps.job import LabelScale

__all__ = ["CONVERGED", "NO_ARVIZ", "diagnose", "energy_rhat", "least_looks", "undiagnosed", "verdict"]

NO_ARVIZ = 'No convergence diagnostics, because ArviZ cannot be imported: pip install "mrfhw[apps]"'
CONVERGED = 1.05  # an R-hat from here on is none of a converged chain
TAILS = (0.05, 0.95)  # quantiles of the tail's effective sample size
LEAST_LOOKS = 8  # a split chain has two halves of at least four


def least_looks(chains: int) -> int:
    """Looks after the burn-in that diagnostics need; a single chain's halves stand for two."""
    return LEAST_LOOKS if chains > 1 else 2 * LEAST_LOOKS


def _arviz() -> Any:
    """The diagnostics of ArviZ on arrays, which need NumPy and SciPy alone; None without it."""
    try:
        from arviz_stats.base import array_stats
    except ImportError:
        return None
    return array_stats


def _quantities(labels: np.ndarray, scale: LabelScale) -> np.ndarray:
    """What is diagnosed of one site: (Q, chains, n) float64, its value's components, or for classes whether it has its mode.

    labels: (chains, n) uint8.
    """
    if scale.ordered:
        return np.moveaxis(scale.values[labels], -1, 0)
    mode = np.bincount(labels.ravel(), minlength=len(scale.values)).argmax()
    return (labels == mode).astype(np.float64)[None]


def _split_if_alone(series: np.ndarray) -> np.ndarray:
    """(chains, n); a single chain's halves count as two chains, because R-hat compares chains."""
    if len(series) > 1:
        return series
    half = series.shape[1] // 2
    return np.stack([series[0, :half], series[0, -half:]])


def _of_series(arviz: Any, series: np.ndarray) -> tuple[float, float, float]:
    """R-hat, bulk ESS and tail ESS of (chains, n) values that are not all equal.

    R-hat is infinite where no half of a chain moves: the variance within is 0, which rounding would hide.
    """
    half = series.shape[1] // 2
    stuck = not any(np.ptp(part, axis=1).any() for part in (series[:, :half], series[:, -half:]))
    # A folded series may not vary at all; ArviZ then takes the other one, but divides by zero on the way.
    with np.errstate(divide="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=RuntimeWarning, module="arviz_stats")
        rhat = math.inf if stuck else float(arviz.rhat(_split_if_alone(series), method="rank"))
        return rhat, float(arviz.ess(series, method="bulk")), float(arviz.ess(series, method="tail", prob=TAILS))


def _statistic(function: Callable[[np.ndarray], Any], values: np.ndarray) -> float | None:
    known = values[~np.isnan(values)]
    return float(function(known)) if known.size else None


def _of_sites(arviz: Any, trace: Trace, scale: LabelScale, swept: int) -> dict[str, Any]:
    labels = trace.labels[:, trace.counted]
    rows = []
    for site in range(labels.shape[2]):
        moving = [series for series in _quantities(labels[:, :, site], scale) if np.ptp(series) > 0]
        if moving:
            # Of two components the worse one counts.
            found = np.array([_of_series(arviz, series) for series in moving])
            rows.append((found[:, 0].max(), found[:, 1].min(), found[:, 2].min()))
    rhat, bulk, tail = np.array(rows).reshape(-1, 3).T
    least = _statistic(np.min, bulk)
    middle = _statistic(np.median, bulk)
    return {
        "sites": labels.shape[2], "constant": 1 - len(rows) / labels.shape[2] if labels.shape[2] else None,
        "rhat_median": _statistic(np.median, rhat), "rhat_worst": _statistic(np.max, rhat),
        "rhat_infinite": _statistic(lambda r: np.isinf(r).mean(), rhat),
        "rhat_above_1.01": _statistic(lambda r: (r > 1.01).mean(), rhat),
        "rhat_above_1.05": _statistic(lambda r: (r > 1.05).mean(), rhat),
        "ess_median": middle, "ess_least": least, "ess_tail_median": _statistic(np.median, tail),
        "ess_tail_least": _statistic(np.min, tail), "ess_per_sweep": middle / swept if middle is not None and swept else None,
    }


def energy_rhat(energy: np.ndarray | None) -> float | None:
    """R-hat of (chains, n) energies; None for None, where there are too few, where they do not vary, and without ArviZ."""
    if energy is None or not energy.size:
        return None
    if energy.shape[1] < least_looks(len(energy)) or not np.ptp(energy) > 0:
        return None
    arviz = _arviz()
    return None if arviz is None else _of_series(arviz, energy)[0]


def undiagnosed(trace: Trace, note: str | None) -> dict[str, Any]:
    """The answer of `diagnose` without numbers, for the reason `note`."""
    chains = len(trace.energy)
    swept = chains * max(0, int(trace.sweeps[-1]) - trace.burn_in) if len(trace.sweeps) else 0
    return {"chains": chains, "looks": int(trace.counted.sum()), "sweeps": swept, "note": note, "energy": None, "sites": None}


def diagnose(trace: Trace, scale: LabelScale) -> dict[str, Any]:
    """R-hat and ESS of the energy and of the trace's sites, from the looks after the burn-in.

    Of a site with ordered labels, its label's value is diagnosed (of D = 2 the worse of the two components); of
    classes, whether the site has its most frequent one. A single chain is diagnosed by its halves.

    "chains", "looks" (a chain), "sweeps" (counted ones, of all chains added), "note" (why there is nothing, else None).
    "energy": None or {"rhat", "ess_bulk", "ess_tail", "ess_per_sweep", "constant"}; a constant energy has None.
    "sites": None or {"sites": how many were watched, "constant": share that never moved, which have no R-hat and do
    not count in what follows, "rhat_median", "rhat_worst", "rhat_infinite": share whose chains each stay at another
    label, "rhat_above_1.01" and "rhat_above_1.05": shares, "ess_median", "ess_least" (bulk), "ess_tail_median",
    "ess_tail_least", "ess_per_sweep": median bulk ESS / sweeps}. Values may be infinite.
    """
    answer = undiagnosed(trace, None)
    chains, looks, swept = answer["chains"], answer["looks"], answer["sweeps"]
    least = least_looks(chains)
    arviz = _arviz() if looks >= least else None
    if looks < least:
        answer["note"] = (f"No convergence diagnostics: the chain was looked at {looks} times after the burn-in, and {least} are "
                          "needed: run more sweeps, or fewer a visit")
    elif arviz is None:
        answer["note"] = NO_ARVIZ
    if answer["note"] is not None or arviz is None:
        return answer
    energy = trace.energy[:, trace.counted]
    answer["energy"] = {"rhat": None, "ess_bulk": None, "ess_tail": None, "ess_per_sweep": None, "constant": True}
    if np.ptp(energy) > 0:
        rhat, bulk, tail = _of_series(arviz, energy)
        answer["energy"] = {"rhat": rhat, "ess_bulk": bulk, "ess_tail": tail, "ess_per_sweep": bulk / swept if swept else None,
                            "constant": False}
    answer["sites"] = _of_sites(arviz, trace, scale, swept)
    return answer


def verdict(found: dict[str, Any]) -> str:
    """What `diagnose` found, in words."""
    if found["note"] is not None:
        return str(found["note"])
    energy, sites = found["energy"], found["sites"]
    words = []
    if energy["constant"]:
        words.append("The energy never changed after the burn-in.")
    elif energy["rhat"] < 1.01:
        words.append("The energy has converged (R-hat below 1.01).")
    elif energy["rhat"] < CONVERGED:
        words.append("The energy has nearly converged (R-hat below 1.05 but not 1.01): more sweeps would help.")
    else:
        words.append("The energy has not converged (R-hat 1.05 or more): use a longer burn-in and more sweeps.")
    if sites["rhat_median"] is None:
        words.append("No watched site moved, so nothing can be said of single sites.")
    else:
        share = sites["rhat_above_1.05"]
        if share <= 0.01:
            words.append("The watched sites that moved agree among the chains." if found["chains"] > 1 else
                         "The watched sites that moved agree between the chain's halves.")
        else:
            words.append(f"Of the watched sites that moved, {100 * share:.3g} % have an R-hat above 1.05: their "
                         "distributions differ by chain, and their uncertainty is not to be trusted yet.")
        if sites["ess_median"] < 100:
            words.append(f"Half of them are worth fewer than {math.ceil(sites['ess_median'])} independent samples, "
                         "so their probabilities are coarse.")
    if found["chains"] == 1:
        words.append("There was one chain, which cannot show whether another start would end elsewhere: run several.")
    return " ".join(words)
