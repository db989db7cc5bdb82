"""Probabilities of a classifier, smoothed by a field whose strength and temperature are chosen from data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from mrfhw.applications.answer import Answer
from mrfhw.applications.calls import solve
from mrfhw.applications.descriptors import graded_weights
from mrfhw.field.costs import Scaled, costs_of_probabilities, scaled_costs
from mrfhw.field.given import array_of, finite, unmasked
from mrfhw.field.problem import Problem, check_labels
from mrfhw.field.schedule import Schedule
from mrfhw.pictures.images import Reading, load_inputs
from mrfhw.pictures.lab import lab
from mrfhw.system.errors import ProblemError

__all__ = ["Smoothed", "smooth_probabilities"]

LARGEST = 12.0  # a probability e^-12 of a site's greatest is as good as none
COST = 255  # of a label at most, in whole units
EDGE = 15  # weight at most
STRENGTHS = (0.0, 0.25, 0.5, 1.0, 2.0)  # tried where labels are known
TEMPERATURES = (1.0, 1.5, 2.0, 3.0, 4.0)
TRIED_SWEEPS = 40
KEPT = 0.5  # share of the probabilities as they were, where no labels are known
MOST_STRENGTH = 4.0
_STRENGTH = "give the cost of two unlike neighbours, or 0 for none"
SUM = 1e-3  # that the probabilities of a pixel may differ from 1


@dataclass(frozen=True, eq=False)
class Smoothed:
    """Probabilities after smoothing.

    probabilities: (H, W, L) float64: shares of the draws, with one draw more that is divided as the probabilities were before;
        where nothing said how far neighbours can be believed, the mean of these and of the probabilities as they were.
    labels: (H, W) uint8, the most probable.
    strength: the cost of two unlike neighbours where the picture has no edge, in the units of -log p; 0 for no smoothing.
    temperature: by which all costs are divided.
    error: the largest difference of a cost -log p that rounding to whole numbers made, besides those of probabilities below e^-12
        of a pixel's greatest, which count as that; 0 where nothing is smoothed.
    tried: (strength, temperature, mean log probability of known labels) of what was tried; none without these.
    answer: of `mrfhw.solve`: counts, entropy, convergence; None where nothing is smoothed.
    """

    probabilities: np.ndarray
    labels: np.ndarray
    strength: float
    temperature: float
    error: float
    tried: tuple[tuple[float, float, float], ...]
    answer: Answer | None


def smooth_probabilities(probabilities: Any, image: Any = None, *, known: Any = None, strength: float | None = None,
                         temperature: float | None = None, sweeps: int = 200, seed: int = 0, chains: int | None = None) -> Smoothed:
    """Smooth the probabilities of a classifier, such as a network's softmax, and keep them calibrated.

        found = mrfhw.smooth_probabilities(softmax, image=picture)
        found.labels, found.probabilities, found.strength, found.temperature

    A field is sampled whose costs are -log p and `strength` for each pair of unlike neighbours, less where the picture has an
    edge, all divided by `temperature`. Its samples' shares are the probabilities.

    probabilities: (H, W, L) numbers of 0 to 1 that add up to 1 in each pixel.
    image: the picture, (H, W) or (H, W, 3), or its path, for weights of edges by contrast; None for equal ones.
    known: (H, W) whole numbers, the true label where it is known and -1, or masked, elsewhere. Strength and temperature are then
        those of most likelihood of these labels, no smoothing among them; the labels themselves have no part in the field, so that
        those that the classifier was trained on say too much.
    strength, temperature: in place of what is chosen. Without known labels the strength is that of most pseudo-likelihood of the
        probabilities themselves (Besag 1975), each pixel's predicted from its neighbours', and the temperature 1. That counts what
        neighbours have seen alike several times; so, unless the temperature is given, half of the answer is the probabilities as
        they were.
    sweeps, seed, chains: as of `mrfhw.solve`, of the last run; what is tried has 40 sweeps.
    The same arguments give the same bits. Raises ProblemError, in one line, for what cannot be.
    """
    given = _distributions(probabilities)
    labels = _known(known, given.shape)
    field = _Field(given, _weights(image, given.shape), seed)
    if strength is not None:
        strength = finite("strength", strength, -1.0, _STRENGTH)
        if strength < 0:
            raise ProblemError(f"strength is {strength:g}; the limit is 0: {_STRENGTH}")
    if temperature is not None:
        temperature = finite("temperature", temperature, 0.0, "give what costs are divided by")
    tried: list[tuple[float, float, float]] = []
    if labels is not None:
        strength, temperature = _likeliest(field, labels, strength, temperature, tried)
        kept = 0.0
    else:
        strength = field.strength() if strength is None else strength
        kept, temperature = (KEPT, 1.0) if temperature is None else (0.0, temperature)
    if strength == 0:
        found = field.tried(0.0, temperature)
        return Smoothed(found, found.argmax(-1).astype(np.uint8), 0.0, temperature, 0.0, tuple(tried), None)
    answer = solve(field.problem(strength, temperature), sweeps=sweeps, seed=seed, chains=chains, backend="cpu", initial="minimum")
    found = (1 - kept) * field.shares(answer.counts) + kept * given
    return Smoothed(found, found.argmax(-1).astype(np.uint8), strength, temperature, field.scaled.error, tuple(tried), answer)


def _distributions(probabilities: Any) -> np.ndarray:
    """(H, W, L) float64 that adds up to 1. Raises ProblemError."""
    costs_of_probabilities(probabilities)  # says what is wrong with the values
    given = np.asarray(probabilities, np.float64)
    check_labels("the number of labels, the last axis of probabilities,", given.shape[2])
    sums = given.sum(-1)
    worst = float(sums.flat[np.abs(sums - 1).argmax()])
    if abs(worst - 1) > SUM:
        raise ProblemError(f"probabilities has a pixel whose labels add up to {worst:.4g}; they add up to 1: give what a softmax "
                           "gives, labels last")
    return np.asarray(given / sums[..., None])


def _known(known: Any, shape: Sequence[int]) -> np.ndarray | None:
    """(H, W) int64, -1 where unknown. Raises ProblemError."""
    if known is None:
        return None
    given = array_of("known", unmasked(known, -1))
    if given.dtype.kind not in "iu":
        raise ProblemError(f"known has values of type {given.dtype}; it is whole numbers, -1 where unknown: give such an array")
    if given.shape != tuple(shape[:2]):
        raise ProblemError(f"known has shape {given.shape}; the probabilities have {tuple(shape[:2])}: give a label or -1 for "
                           "each pixel")
    if given.min() < -1 or given.max() >= shape[2]:
        wrong = given.max() if given.max() >= shape[2] else given.min()
        raise ProblemError(f"known has the label {wrong}; the limits are 0 to {shape[2] - 1}, and -1 where unknown: give these")
    if given.max() < 0:
        raise ProblemError("known has 0 pixels of a known label; at least 1 is needed: give their labels, or leave known out")
    return given.astype(np.int64)


def _weights(image: Any, shape: Sequence[int]) -> np.ndarray:
    """(H, W, 2) float64 weights of edges, 0 to 1. Raises ProblemError."""
    if image is None:
        return np.ones((*shape[:2], 2))
    picture = load_inputs({"image": image}, 8, Reading()).pictures[0]
    if picture.shape[:2] != tuple(shape[:2]):
        raise ProblemError(f"image is {picture.shape[1]}x{picture.shape[0]}; the probabilities are {shape[1]}x{shape[0]}: give the "
                           "picture that they are of")
    return graded_weights(lab(picture)) / EDGE


class _Field:
    """The field of some probabilities. weights: (H, W, 2) of 0 to 1."""

    def __init__(self, probabilities: np.ndarray, weights: np.ndarray, seed: int):
        self.given, self.weights, self.seed = probabilities, weights, seed
        self.scaled: Scaled = scaled_costs(costs_of_probabilities(probabilities), COST, LARGEST)

    def problem(self, strength: float, temperature: float) -> Problem:
        """With the most of the weights' 15 steps for a strength."""
        units = strength * self.scaled.scale
        beta = max(1, int(np.ceil(units / EDGE)))
        return Problem(labels=self.given.shape[2], unary=self.scaled.costs, doubleton="potts", beta=beta,
                       edges=np.rint(units / beta * self.weights).astype(np.uint8),
                       schedule=Schedule.constant(temperature * self.scaled.scale))

    def shares(self, counts: np.ndarray) -> np.ndarray:
        """Probabilities (H, W, L) of counts of draws."""
        return np.asarray((counts + self.given) / (counts.sum(-1, keepdims=True) + 1))

    def tried(self, strength: float, temperature: float) -> np.ndarray:
        """Probabilities after a short run, or as they are where there is nothing to do."""
        if strength == 0:
            powers = self.given ** (1 / temperature)
            return np.asarray(powers / powers.sum(-1, keepdims=True))
        answer = solve(self.problem(strength, temperature), sweeps=TRIED_SWEEPS, seed=self.seed, chains=1, backend="cpu",
                       initial="minimum")
        return self.shares(answer.counts)

    def strength(self) -> float:
        """Of most pseudo-likelihood: of the label of each pixel, given by its probabilities, after those of its neighbours."""
        around = np.zeros_like(self.given)
        for axis, (first, second) in enumerate((((slice(None), slice(None, -1)), (slice(None), slice(1, None))),
                                                ((slice(None, -1),), (slice(1, None),)))):
            weight = self.weights[(*first, Ellipsis)][..., axis, None]
            around[first] += weight * self.given[second]
            around[second] += weight * self.given[first]
        own = float((self.given * around).sum(-1).mean())

        def slope(strength: float) -> float:
            """Of the mean log pseudo-likelihood, which is concave."""
            raised = np.exp(strength * (around - around.max(-1, keepdims=True)))
            return own - float(((raised * around).sum(-1) / raised.sum(-1)).mean())

        low, high = 0.0, MOST_STRENGTH
        if slope(low) <= 0:
            return 0.0
        for _ in range(20):
            middle = (low + high) / 2
            low, high = (middle, high) if slope(middle) > 0 else (low, middle)
        return low


def _likeliest(field: _Field, known: np.ndarray, strength: float | None, temperature: float | None,
               tried: list[tuple[float, float, float]]) -> tuple[float, float]:
    """Strength and temperature of most likelihood of the known labels, of those that are tried; the first on ties."""
    where = known >= 0
    at = known[where][:, None]
    best = (-np.inf, 0.0, 1.0)
    for one in STRENGTHS if strength is None else (strength,):
        before = -np.inf
        for warm in TEMPERATURES if temperature is None else (temperature,):
            shares = np.take_along_axis(field.tried(one, warm)[where], at, 1)
            score = float(np.log(np.maximum(shares, 1e-6)).mean())
            tried.append((one, warm, score))
            best = max(best, (score, one, warm), key=lambda found: found[0])
            if score < before:  # the likelihood has one peak along temperatures, but for chance
                break
            before = score
    return best[1], best[2]

