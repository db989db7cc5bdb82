"""Whether the chains have converged, and how many independent samples theirs are worth.

Rank-normalised split R-hat and effective sample size (ESS) of bulk and tail, as ArviZ computes them:
A. Vehtari, A. Gelman, D. Simpson, B. Carpenter, P.-C. Buerkner, Rank-Normalization, Folding, and Localization: An
Improved R-hat for Assessing Convergence of MCMC, Bayesian Analysis 16(2), 2021. There, R-hat is to be below 1.01.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mrfhw.analysis.trace import Trace
from mrfhw.jobs.label_scale import LabelScale

__all__ = ["NO_ARVIZ", "apart", "converged", "diagnose", "doubtful", "energy_rhat", "least_looks", "undiagnosed", "verdict"]

NO_ARVIZ = 'No convergence diagnostics, because ArviZ cannot be imported: pip install "mrfhw[apps]"'
CONVERGED = 1.05  # an R-hat from here on is none of a converged chain, where there are enough looks
FALSE_ALARM = 0.01  # of converged chains whose looks are independent, the share that is called unconverged, at most about
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


def _of_sites(arviz: Any, trace: Trace, scale: LabelScale, swept: int, limit: float) -> dict[str, Any]:
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
        "rhat_above_limit": _statistic(lambda r: (r >= limit).mean(), rhat),
        "ess_median": middle, "ess_least": least, "ess_tail_median": _statistic(np.median, tail),
        "ess_tail_least": _statistic(np.min, tail), "ess_per_sweep": middle / swept if middle is not None and swept else None,
    }


def _limit(chains: int, looks: int) -> float:
    """An R-hat from here on is none of converged chains of so many looks each; at least CONVERGED.

    n R-hat^2 = B / W + n - 1 of m halves of n looks, and of independent normal looks B / W has an F distribution. R-hat is the
    larger one of ranks and of folded ranks, so that each may pass half as often.
    """
    from scipy.special import fdtri  # which ArviZ needs as well

    halves = 2 * max(chains, 2)
    n = looks * chains // halves
    return max(CONVERGED, math.sqrt((float(fdtri(halves - 1, halves * (n - 1), 1 - FALSE_ALARM / 2)) + n - 1) / n))


def converged(found: dict[str, Any] | None) -> bool | None:
    """Whether the energies of the chains agree, from `diagnose`; None where it cannot be told."""
    energy = None if found is None else found["energy"]
    if found is None or energy is None or energy["rhat"] is None or CONVERGED <= energy["rhat"] < found["rhat_limit"]:
        return None
    return bool(energy["rhat"] < CONVERGED)


def worst(several: Sequence[dict[str, Any] | None]) -> dict[str, Any] | None:
    """Of the answers of `diagnose`, one for each field, that of the field whose chains agree least; of none that can be told, the
    first."""
    def order(found: dict[str, Any] | None) -> tuple[int, float]:
        if found is None or found["energy"] is None or found["energy"]["rhat"] is None:
            return -1, 0.0
        return {True: 0, None: 1, False: 2}[converged(found)], found["energy"]["rhat"]

    return max(several, key=order)


def doubtful(found: dict[str, Any] | None) -> str | None:
    """One line where chains have not converged, or so few looks cannot tell; None where they have, and where nothing is known."""
    if found is None or found["energy"] is None or found["energy"]["rhat"] is None or converged(found):
        return None
    rhat, limit = found["energy"]["rhat"], found["rhat_limit"]
    if converged(found) is None:
        return (f"convergence cannot be told from {found['looks']} looks at each chain: the energy's R-hat is {rhat:.2f}, and "
                f"converged chains have up to {limit:.2f} with so few (more sweeps help)")
    return (f"not converged: the energy's R-hat is {rhat:.2f}, {limit:.3g} or more; what the run says of probabilities may depend "
            "on the seed (more sweeps help)")


def energy_rhat(energy: np.ndarray | None) -> float | None:
    """R-hat of (chains, n) energies; None for None, where there are too few, where they do not vary, and without ArviZ."""
    if energy is None or not energy.size:
        return None
    if energy.shape[1] < least_looks(len(energy)) or not np.ptp(energy) > 0:
        return None
    arviz = _arviz()
    return None if arviz is None else _of_series(arviz, energy)[0]


def apart(trace: Trace) -> bool:
    """Whether the energies of the chains do not agree; False also where that cannot be told. The same as `converged` says False."""
    energy = trace.energy[:, trace.counted]
    rhat = energy_rhat(energy)
    return rhat is not None and rhat >= _limit(*energy.shape)


def undiagnosed(trace: Trace, note: str | None) -> dict[str, Any]:
    """The answer of `diagnose` without numbers, for the reason `note`."""
    chains = len(trace.energy)
    swept = chains * max(0, int(trace.sweeps[-1]) - trace.burn_in) if len(trace.sweeps) else 0
    return {"chains": chains, "looks": int(trace.counted.sum()), "sweeps": swept, "note": note, "rhat_limit": None,
            "energy": None, "sites": None}


def diagnose(trace: Trace, scale: LabelScale) -> dict[str, Any]:
    """R-hat and ESS of the energy and of the trace's sites, from the looks after the burn-in.

    Of a site with ordered labels, its label's value is diagnosed (of D = 2 the worse of the two components); of
    classes, whether the site has its most frequent one. A single chain is diagnosed by its halves.

    "chains", "looks" (a chain), "sweeps" (counted ones, of all chains added), "note" (why there is nothing, else None).
    "rhat_limit": None or where an R-hat tells of chains that have not converged (`converged`).
    "energy": None or {"rhat", "ess_bulk", "ess_tail", "ess_per_sweep", "constant"}; a constant energy has None.
    "sites": None or {"sites": how many were watched, "constant": share that never moved, which have no R-hat and do
    not count in what follows, "rhat_median", "rhat_worst", "rhat_infinite": share whose chains each stay at another
    label, "rhat_above_1.01", "rhat_above_1.05" and "rhat_above_limit": shares, "ess_median", "ess_least" (bulk), "ess_tail_median",
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
    answer["rhat_limit"] = _limit(chains, looks)
    answer["energy"] = {"rhat": None, "ess_bulk": None, "ess_tail": None, "ess_per_sweep": None, "constant": True}
    if np.ptp(energy) > 0:
        rhat, bulk, tail = _of_series(arviz, energy)
        answer["energy"] = {"rhat": rhat, "ess_bulk": bulk, "ess_tail": tail, "ess_per_sweep": bulk / swept if swept else None,
                            "constant": False}
    answer["sites"] = _of_sites(arviz, trace, scale, swept, answer["rhat_limit"])
    return answer


def verdict(found: dict[str, Any]) -> str:
    """What `diagnose` found, in words."""
    if found["note"] is not None:
        return str(found["note"])
    energy, sites, limit = found["energy"], found["sites"], found["rhat_limit"]
    words = []
    if energy["constant"]:
        words.append("The energy never changed after the burn-in.")
    elif energy["rhat"] < 1.01:
        words.append("The energy has converged (R-hat below 1.01).")
    elif energy["rhat"] < CONVERGED:
        words.append("The energy has nearly converged (R-hat below 1.05 but not 1.01): more sweeps would help.")
    elif energy["rhat"] < limit:
        words.append(f"Whether the energy has converged cannot be told: with {found['looks']} looks at each chain, R-hat is up to "
                     f"{limit:.3g} of converged chains.")
    else:
        words.append(f"The energy has not converged (R-hat {limit:.3g} or more): use a longer burn-in and more sweeps.")
    if sites["rhat_median"] is None:
        words.append("No watched site moved, so nothing can be said of single sites.")
    else:
        share = sites["rhat_above_limit"]
        if share <= 2 * FALSE_ALARM:
            which = f"All but {100 * share:.3g} % of the" if share else "The"
            where = "among the chains" if found["chains"] > 1 else "between the halves of the chain"
            words.append(f"{which} watched sites that moved agree {where} (R-hat below {limit:.3g}).")
        else:
            words.append(f"Of the watched sites that moved, {100 * share:.3g} % have an R-hat of {limit:.3g} or more: their "
                         "distributions differ by chain, and their uncertainty is not to be trusted yet.")
        if sites["ess_median"] < 100:
            words.append(f"Half of them are worth fewer than {math.ceil(sites['ess_median'])} independent samples, "
                         "so their probabilities are coarse.")
    if found["chains"] == 1:
        words.append("There was one chain, which cannot show whether another start would end elsewhere: run several.")
    return " ".join(words)
