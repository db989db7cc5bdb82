"""Costs of sites and labels as other programs have them, floats of any scale, as the whole numbers of a field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mrfhw.field.given import NUMBER_MAX, array_of, finite, finite_array, short, whole_array, whole_number
from mrfhw.field.problem import Problem
from mrfhw.field.schedule import Schedule
from mrfhw.field.terms import EDGE_MAX
from mrfhw.system.errors import ProblemError

__all__ = ["MOST", "MOST_OF_A_MACHINE", "Costed", "Scaled", "costs_of_probabilities", "field_of_costs", "scaled_costs"]

LEAST_PROBABILITY = 1e-6
NEVER = 16.0  # times T above another label, whatever neighbours have: drawn once in 9 million
MOST, MOST_OF_A_MACHINE = (1 << 16) - 1, (1 << 8) - 1  # the largest whole cost


@dataclass(frozen=True)
class Scaled:
    """Costs as whole numbers.

    costs: int32, of the shape of those given, from 0 to the most asked for.
    scale: whole units of energy for 1 of the costs given: temperature, doubletons and weights of the same field are to be
        multiplied by it.
    offsets: (H, W) float64, what was subtracted from all labels of a site, which changes no probability.
    error: the largest difference that rounding made, in the units of the costs given.
    cut: share of the costs that were above the most and are now equal to it.
    """

    costs: np.ndarray
    scale: float
    offsets: np.ndarray
    error: float
    cut: float


def _of_labels(name: str, numbers: Any) -> np.ndarray:
    """(H, W, L) float64. Raises ProblemError for anything else."""
    array = array_of(name, numbers)
    if array.dtype.kind == "c":
        raise ProblemError(f"{name} has complex numbers; costs and probabilities are real: give their real part")
    try:
        given = array.astype(np.float64)
    except (ValueError, TypeError, OverflowError):
        raise ProblemError(f"{name} is no array of numbers: give a NumPy array (H, W, L)") from None
    if given.ndim != 3 or 0 in given.shape:
        raise ProblemError(f"{name} has shape {given.shape}; it has rows, columns and labels: give (H, W, L)")
    return given


def scaled_costs(costs: Any, most: int = 255, largest: float | None = None) -> Scaled:
    """Costs as whole numbers for `Problem(unary=...)`.

    Each site's least cost becomes 0, which changes no probability; then all are multiplied by one number and rounded.

    costs: (H, W, L) finite numbers.
    most: the largest whole number; the least is 0.
    largest: the cost above a site's least that becomes `most`; what is above it is cut off. By default the largest there is.
    Raises ProblemError for another shape, for NaN and infinite costs, for a largest that is not above 0, and for costs whose
    differences or their scale are beyond float64.
    """
    most = whole_number("most", most, 1, (1 << 31) - 1, "give one of them")
    given = _of_labels("costs", costs)
    if not np.isfinite(given).all():
        strange = given[~np.isfinite(given)]
        raise ProblemError(f"costs has {strange.size} values that are not finite, such as {strange.flat[0]}: replace them, "
                           "by a large cost where a label is impossible")
    offsets = given.min(-1)
    with np.errstate(over="ignore"):
        above = given - offsets[..., None]
    highest = float(above.max()) if largest is None else finite("largest", largest, 0, "give a cost above 0")
    scale = most / highest if highest > 0 else 1.0
    if not np.isfinite([highest, scale]).all():
        what = "the largest cost above a site's least" if largest is None else "largest"
        raise ProblemError(f"{what} is {highest:g}; the limits are about {most / 1e308:.0e} to 1e308: give costs of another unit")
    cut = above > highest
    whole = np.rint(np.minimum(above, highest) * scale)
    error = float(np.abs(whole / scale - above)[~cut].max(initial=0.0))
    return Scaled(whole.astype(np.int32), scale, offsets, error, float(cut.mean()))


def costs_of_probabilities(probabilities: Any, least: float = LEAST_PROBABILITY) -> np.ndarray:
    """-log of probabilities: costs at T = 1.

    probabilities: (H, W, L), such as a network's softmax.
    least: what is below it counts as that.
    Raises ProblemError for values outside 0..1, NaN, another shape, and a least that is not above 0 and at most 1.
    """
    least = finite("least", least, 0, "give a small probability")
    if least > 1:
        raise ProblemError(f"least is {least:g}; a probability is at most 1: give a small one")
    given = _of_labels("probabilities", probabilities)
    if not (np.isfinite(given).all() and given.min() >= 0 and given.max() <= 1):
        raise ProblemError("probabilities has values that are no numbers from 0 to 1: give what a softmax gives")
    return np.asarray(-np.log(np.maximum(given, least)))


@dataclass(frozen=True)
class Costed:
    """A field of costs that are floats.

    problem: its whole numbers. scale: of its units of energy in 1 of the costs given. error: the largest difference that rounding
    made of a cost or of an entry of pairwise, in the units given. beta: what the weight given has become, in these units. cut:
    share of the costs that are too large to be drawn, and are less now.
    """

    problem: Problem
    scale: float
    error: float
    beta: float
    cut: float

    @property
    def said(self) -> str:
        """What became of the numbers given, one line."""
        cut = f"; {100 * self.cut:.3g} % of them, too large to be drawn, are cut off" if self.cut else ""
        return (f"costs are whole numbers of 1/{self.scale:.6g} of theirs, rounded by at most {self.error:.2g}; beta is "
                f"{self.beta:.6g}{cut}")


def field_of_costs(costs: Any, *, doubleton: str = "potts", beta: float = 1.0, tau: int | None = None, edges: Any = None,
                   pairwise: Any = None, values: Any = None, temperature: float = 1.0, most: int = MOST) -> Costed:
    """The field of E(x) = sum of costs + beta sum of doubletons at a temperature, all in one unit, such as -log of probabilities.

    costs: (H, W, L) finite numbers. doubleton: potts, or absolute, of the labels' numbers; tau, edges, values: as of `Problem`.
    pairwise: (L, L) finite numbers from 0, in place of doubleton. beta: from 0. most: the largest whole cost, to which the largest
    becomes that may ever be drawn: NEVER times the temperature and all that four neighbours can add above a site's least.
    Raises ProblemError for anything else, and where rounding would change beta by more than a twentieth.
    """
    given = _of_labels("costs", costs)
    temperature = finite("temperature", temperature, 0, "give T in the units of the costs, 1 for -log of probabilities")
    weight = 0.0 if isinstance(beta, int | float | np.number) and beta == 0 else finite("beta", beta, 0, "give one, or 0")
    tau = None if tau is None else whole_number("tau", tau, 0, NUMBER_MAX, "give one of them")
    edges = None if edges is None else whole_array("edges", edges)
    labels = given.shape[2]
    table = None if pairwise is None else finite_array("pairwise", pairwise)
    if table is not None and (table.shape != (labels, labels) or table.min() < 0):
        raise ProblemError(f"pairwise has shape {table.shape} and a least value of {table.min():g}; {labels} labels need "
                           f"({labels}, {labels}) and numbers from 0: give a cost for each pair of labels")
    if table is None and doubleton not in ("potts", "absolute"):
        raise ProblemError(f"doubleton is {short(repr(doubleton))}; of costs that are floats it is potts or absolute: choose one, "
                           "give pairwise, or make a Problem")
    steepest = 1.0 if doubleton == "potts" else float(labels - 1 if tau is None else min(tau, labels - 1))
    steepest = steepest if table is None else float(table.max())
    heaviest = 1 if edges is None else min(EDGE_MAX, int(edges.max(initial=0)))
    drawn = NEVER * temperature + 4 * weight * steepest * heaviest
    highest = float((given - given.min(-1, keepdims=True)).max()) if np.isfinite(given).all() else drawn
    scaled = scaled_costs(given, most, min(highest, drawn) or drawn)
    numbers: dict[str, Any] = {"doubleton": doubleton, "beta": round(weight * scaled.scale)}
    became, error = numbers["beta"] / scaled.scale, scaled.error
    if table is not None:
        whole = np.rint(weight * table * scaled.scale)
        numbers = {"doubleton": "table", "beta": 1, "pairwise": whole.astype(np.int64)}
        became, error = weight, max(error, float(np.abs(whole / scaled.scale - weight * table).max()))
    elif abs(became - weight) > weight / 20:
        raise ProblemError(f"beta is {weight:g}, which becomes {became:g} in whole numbers; costs that may be drawn reach "
                           f"{drawn:.3g}: give a greater one, or 0")
    problem = Problem(labels=labels, unary=scaled.costs, tau=tau, edges=edges, values=values,
                      schedule=Schedule.constant(temperature * scaled.scale), **numbers)
    return Costed(problem, scaled.scale, error, became, scaled.cut)
