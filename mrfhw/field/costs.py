"""Costs of sites and labels as other programs have them, floats of any scale, as the whole numbers of a field."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from mrfhw.field.given import array_of, finite, whole_number
from mrfhw.system.errors import ProblemError

__all__ = ["Scaled", "costs_of_probabilities", "scaled_costs"]

LEAST_PROBABILITY = 1e-6


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
