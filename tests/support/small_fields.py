"""Small fields whose law is enumerated, and how far a run's shares are from it."""

from __future__ import annotations

import math

import numpy as np

from mrfhw.field.problem import Problem, Schedule

__all__ = ["law", "random_small_field", "spread", "total_variation"]


def random_small_field(rng: np.random.Generator) -> Problem:
    """3x3 sites of 2 to 4 labels, or 3x4 of 2; some move slowly."""
    columns = int(rng.integers(3, 5))
    labels = int(rng.integers(2, 5)) if columns == 3 else 2
    return Problem(labels=labels, unary=rng.integers(0, 20, (3, columns, labels)), doubleton=str(rng.choice(["potts", "absolute"])),
                   beta=int(rng.integers(1, 9)), schedule=Schedule.constant(float(rng.choice([6.0, 8.0, 12.0, 16.0]))))


def law(problem: Problem) -> np.ndarray:
    """(H, W, L) float64: the probability of each label at each site, by enumeration of all states."""
    (rows, columns), count = problem.shape, problem.labels
    assert problem.unary is not None
    sites, labels = rows * columns, np.arange(count)
    unlike = np.abs(labels[:, None] - labels) if problem.doubleton == "absolute" else (labels[:, None] != labels)

    def along(values: np.ndarray, *axes: int) -> np.ndarray:
        """Values of some sites' labels, over the labels of all."""
        return values.reshape([count if site in axes else 1 for site in range(sites)])

    energy = np.zeros([count] * sites)
    for site, costs in enumerate(problem.unary.reshape(sites, count)):
        energy += along(problem.channels[0].alpha * costs, site)
        if (site + 1) % columns:
            energy += along(problem.beta * unlike, site, site + 1)
        if site + columns < sites:
            energy += along(problem.beta * unlike, site, site + columns)
    weight = np.exp(-(energy - energy.min()) / problem.schedule.start)
    axes = set(range(sites))
    of_sites = [weight.sum(tuple(axes - {site})) for site in range(sites)]
    return np.asarray(of_sites / weight.sum()).reshape(rows, columns, count)


def total_variation(counts: np.ndarray, wanted: np.ndarray) -> np.ndarray:
    """(H, W) float64: of histograms (H, W, L) to probabilities."""
    return np.abs(counts / counts.sum(-1, keepdims=True) - wanted).sum(-1) / 2


def spread(wanted: np.ndarray, samples: int) -> np.ndarray:
    """(H, W) float64: the mean total variation that so many independent samples of the probabilities (H, W, L) have."""
    return np.sqrt(2 / math.pi * wanted * (1 - wanted) / samples).sum(-1) / 2
