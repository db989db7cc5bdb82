"""Whether the chains have converged, and how many independent samples theirs are worth.

Rank-normalised split R-hat and effective sample size (ESS) of bulk and tail, as ArviZ computes them:
A. Vehtari, A. Gelman, D. Simpson, B. Carpenter, P.-C. Buerkner, Rank-Normalization, Folding, and Localization: An
Improved R-hat for Assessing Convergence of MCMC, Bayesian Analysis 16(2), 2021. There, R-hat is to be below 1.01.
A run has converged where the chains agree on the energy, and on the labels at most of the watched sites (`mixing`).
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mrfhw.analysis.many_series import effective_sizes, rhats
from mrfhw.analysis.mixing import NOT_MIXED, TOLD, mixing, quantities
from mrfhw.analysis.rhat import CONVERGED, by_chance, half_of, rhat_of
from mrfhw.analysis.trace import Trace
from mrfhw.jobs.label_scale import LabelScale
from mrfhw.system.docstrings import keep_docstrings

__all__ = [
    "NO_ARVIZ", "apart", "converged", "diagnose", "doubtful", "energy_rhat", "least_looks", "mixed", "more_helps", "undiagnosed",
    "verdict",
]

NO_ARVIZ = 'No convergence diagnostics, because ArviZ cannot be imported: pip install "mrfhw[apps]"'
FALSE_ALARM = 0.01  # of converged chains whose looks are independent, the share that is called unconverged, at most about
TAILS = (0.05, 0.95)  # quantiles of the tail's effective sample size
LEAST_LOOKS = 8  # a split chain has two halves of at least four


def least_looks(chains: int) -> int:
    """Looks after the burn-in that diagnostics need; a single chain's halves stand for two."""
    return LEAST_LOOKS if chains > 1 else 2 * LEAST_LOOKS


def _arviz() -> Any:
    """The diagnostics of ArviZ on arrays, which need NumPy and SciPy alone; None without it."""
    keep_docstrings("arviz_stats")  # which adds to its own
    try:
        from arviz_stats.base import array_stats
    except ImportError:
        return None
    return array_stats


def _of_series(arviz: Any, series: np.ndarray) -> tuple[float, float, float]:
    """R-hat, bulk ESS and tail ESS of (chains, n) values that are not all equal."""
    with np.errstate(divide="ignore", invalid="ignore"), warnings.catch_warnings():
        warnings.filterwarnings("ignore", category=RuntimeWarning, module="arviz_stats")
        return (rhat_of(arviz, series), float(arviz.ess(series, method="bulk")),
                float(arviz.ess(series, method="tail", prob=TAILS)))


def _statistic(function: Callable[[np.ndarray], Any], values: np.ndarray) -> float | None:
    known = values[~np.isnan(values)]
    return float(function(known)) if known.size else None


def _of_sites(trace: Trace, scale: LabelScale, swept: int, limit: float) -> dict[str, Any]:
    labels = trace.labels[:, trace.counted]
    worst = np.full((3, labels.shape[2]), [[-math.inf], [math.inf], [math.inf]])
    moved = np.zeros(labels.shape[2], bool)
    for series in quantities(labels, scale):
        moving = np.ptp(series, axis=(1, 2)) > 0
        found = rhats(series[moving]), *effective_sizes(series[moving], TAILS)
        # Of two components the worse one counts.
        for kept, of_these, worse in zip(worst, found, (np.fmax, np.fmin, np.fmin), strict=True):
            kept[moving] = worse(kept[moving], of_these)
        moved |= moving
    rhat, bulk, tail = worst[:, moved]
    least = _statistic(np.min, bulk)
    middle = _statistic(np.median, bulk)
    return {
        "sites": labels.shape[2], "constant": 1 - rhat.size / labels.shape[2] if labels.shape[2] else None,
        "rhat_median": _statistic(np.median, rhat), "rhat_worst": _statistic(np.max, rhat),
        "rhat_infinite": _statistic(lambda r: np.isinf(r).mean(), rhat),
        "rhat_above_1.01": _statistic(lambda r: (r > 1.01).mean(), rhat),
        "rhat_above_1.05": _statistic(lambda r: (r > 1.05).mean(), rhat),
        "rhat_above_limit": _statistic(lambda r: (r >= limit).mean(), rhat),
        "ess_median": middle, "ess_least": least, "ess_tail_median": _statistic(np.median, tail),
        "ess_tail_least": _statistic(np.min, tail), "ess_per_sweep": middle / swept if middle is not None and swept else None,
    }


def _limit(chains: int, looks: int) -> float:
    """An R-hat of the energy from here on is none of converged chains of so many looks each; at least CONVERGED."""
    return max(CONVERGED, by_chance(chains, math.floor(half_of(chains, looks)), FALSE_ALARM))


def _too_many(found: dict[str, Any]) -> bool:
    """Whether more sites have not mixed than a converged run leaves."""
    sites = found["sites"]
    return sites is not None and sites["not_mixed"] is not None and sites["not_mixed"] > sites["not_mixed_limit"]


def _unsure(found: dict[str, Any]) -> bool:
    """Whether the looks are too few to tell of so many sites."""
    return found["sites"] is not None and found["sites"]["not_told"] > NOT_MIXED


def converged(found: dict[str, Any] | None) -> bool | None:
    """Whether the chains agree on the energy and, but for a share of them, on the watched sites' labels, from `diagnose`; None
    where it cannot be told."""
    energy = None if found is None else found["energy"]
    if found is None or energy is None:
        return None
    if _too_many(found):
        return False
    if energy["rhat"] is None or CONVERGED <= energy["rhat"] < found["rhat_limit"]:
        return None
    if energy["rhat"] >= CONVERGED:
        return False
    return None if _unsure(found) else True


def mixed(found: dict[str, Any] | None) -> str | None:
    """How many of the watched sites have not mixed, in words; None where nothing is known of them."""
    if found is None or found["sites"] is None or found["sites"]["not_mixed"] is None:
        return None
    sites = found["sites"]
    share, limit = sites["not_mixed"], sites["not_mixed_rhat"]
    if not share:
        return f"all {sites['sites']} watched sites have mixed"
    percent = f"{100 * share:.0f}" if share >= 0.0995 else f"{100 * share:.2g}"
    return f"{percent} % of {sites['sites']} watched sites have not mixed (R-hat of their labels {limit:.3g} or more)"


def least_agreement(several: Sequence[dict[str, Any] | None]) -> int:
    """Of the answers of `diagnose`, one for each field, the place of that of the field whose chains agree least; where none can be
    told, 0."""
    def order(place: int) -> tuple[int, float]:
        found = several[place]
        if found is None or found["energy"] is None or found["energy"]["rhat"] is None:
            return -1, 0.0
        return {True: 0, None: 1, False: 2}[converged(found)], found["energy"]["rhat"]

    return max(range(len(several)), key=order)


def doubtful(found: dict[str, Any] | None) -> str | None:
    """One line where chains have not converged, or so few looks cannot tell; None where they have, and where nothing is known."""
    if found is None or found["energy"] is None or converged(found):
        return None
    rhat, limit = found["energy"]["rhat"], found["rhat_limit"]
    if converged(found) is None:
        if _unsure(found) and (rhat is None or rhat < CONVERGED):
            return (f"convergence cannot be told from {found['looks']} looks at each chain: the labels of "
                    f"{100 * found['sites']['not_told']:.3g} % of the watched sites have an R-hat of {TOLD:g} or more, as those of "
                    "mixed sites may have with so few (more sweeps help)")
        return None if rhat is None else (
            f"convergence cannot be told from {found['looks']} looks at each chain: the energy's R-hat is {rhat:.2f}, and "
            f"converged chains have up to {limit:.2f} with so few (more sweeps help)")
    why = [] if rhat is None or rhat < limit else [f"the energy's R-hat is {rhat:.2f}, {limit:.3g} or more"]
    if _too_many(found):
        why.append(f"{mixed(found)}, and a converged run leaves {100 * found['sites']['not_mixed_limit']:g} % at most")
    return f"not converged: {'; '.join(why)}; what the run says of probabilities may depend on the seed (more sweeps help)"


def energy_rhat(energy: np.ndarray | None) -> float | None:
    """R-hat of (chains, n) energies; None for None, where there are too few, where they do not vary, and without ArviZ."""
    if energy is None or not energy.size:
        return None
    if energy.shape[1] < least_looks(len(energy)) or not np.ptp(energy) > 0:
        return None
    arviz = _arviz()
    return None if arviz is None else _of_series(arviz, energy)[0]


def _energies_apart(trace: Trace) -> bool:
    energy = trace.energy[:, trace.counted]
    rhat = energy_rhat(energy)
    return rhat is not None and rhat >= _limit(*energy.shape)


def apart(trace: Trace, scale: LabelScale | None = None) -> bool:
    """Whether the chains do not agree; False also where that cannot be told. The same as `converged` says False.

    scale: what the labels stand for; None for labels without order.
    """
    arviz = _arviz()
    if arviz is None or trace.counted.sum() < least_looks(len(trace.energy)):
        return False
    return _energies_apart(trace) or mixing(trace, scale).too_many


def more_helps(trace: Trace, times: float, scale: LabelScale | None = None) -> bool:
    """Whether chains that do not agree are to go on to so many times as many sweeps: where their energies do not agree, and where
    more sites have not mixed than a converged run leaves but so many sweeps may be enough for them."""
    arviz = _arviz()
    if arviz is None or trace.counted.sum() < least_looks(len(trace.energy)):
        return False
    if _energies_apart(trace):
        return True
    found = mixing(trace, scale)
    return found.too_many and found.with_more(times)


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
    "rhat_limit": None or where an R-hat of the energy tells of chains that have not converged (`converged`).
    "energy": None or {"rhat", "ess_bulk", "ess_tail", "ess_per_sweep", "constant"}; a constant energy has None.
    "sites": None or {"sites": how many were watched, "constant": share that never moved, which have no R-hat and do
    not count in what follows, "rhat_median", "rhat_worst", "rhat_infinite": share whose chains each stay at another
    label, "rhat_above_1.01", "rhat_above_1.05" and "rhat_above_limit": shares, "ess_median", "ess_least" (bulk), "ess_tail_median",
    "ess_tail_least", "ess_per_sweep": median bulk ESS / sweeps; and of all that were watched (`Mixing`) "not_mixed": share that has
    not mixed, None where so few looks cannot tell, "not_mixed_limit": the most of a converged run, "not_mixed_rhat": R-hat from
    which on a site has not mixed, "not_mixed_at": their [row, column], "not_told": share of those of which so few looks cannot
    tell}. Values may be infinite.
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
    found = mixing(trace, scale)
    answer["sites"] = _of_sites(trace, scale, swept, answer["rhat_limit"]) | {
        "not_mixed": found.share, "not_mixed_limit": NOT_MIXED, "not_mixed_rhat": found.limit,
        "not_mixed_at": found.sites[found.not_mixed].tolist(), "not_told": found.unsure}
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
    if (said := mixed(found)) is not None:
        agree = "chains" if found["chains"] > 1 else "halves of the chain"
        words.append(f"{said[0].upper()}{said[1:]}: " + (
            f"the {agree} agree on their labels." if not sites["not_mixed"] else
            "doubt what is said of these, one by one." if not _too_many(found) else
            f"their distributions differ by chain, a converged run leaves {100 * sites['not_mixed_limit']:g} % at most, and the "
            "probabilities are not to be trusted yet."))
    if sites["rhat_median"] is None:
        words.append("No watched site moved, so nothing can be said of single sites.")
    elif sites["ess_median"] < 100:
        words.append(f"Half of those that moved are worth fewer than {math.ceil(sites['ess_median'])} independent samples, "
                     "so their probabilities are coarse.")
    if found["chains"] == 1:
        words.append("There was one chain, which cannot show whether another start would end elsewhere: run several.")
    return " ".join(words)
