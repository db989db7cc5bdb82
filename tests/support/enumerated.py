"""Random problems, distributions by enumeration of all states, and how far counts are from them."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.stats import chi2

from mrfhw.field.energy import Energy
from mrfhw.field.problem import Problem, Schedule


def random_problem(rng, **changes):
    rows, cols, labels = rng.integers(1, 7), rng.integers(1, 8), rng.integers(2, 6)
    arguments = {
        "labels": int(labels), "singleton1": rng.integers(0, 64, (rows, cols)),
        "singleton2": rng.integers(0, 64, (rows, cols)),
        "offsets": rng.integers(-3, 4, (labels, 2)), "singleton": str(rng.choice(["absolute", "squared"])),
        "doubleton": str(rng.choice(["absolute", "squared", "potts"])), "vectors": rng.integers(-3, 4, (labels, 2)),
        "alpha": int(rng.integers(0, 4)), "beta": int(rng.integers(0, 20)), "tau": int(rng.integers(1, 9)),
        "out_of_range": int(rng.integers(0, 40)), "clamped": rng.random((rows, cols)) < 0.2,
        "observed": rng.random((rows, cols)) < 0.8, "schedule": Schedule.geometric(60.0, 0.8, 5.0),
    }
    return Problem(**{**arguments, **changes})


def chi_square_tail(counts, expected):
    """P(chi-square >= what was seen); cells of few expected counts are merged."""
    seen, want = [0.0], [0.0]
    for index in np.argsort(expected):
        if want[-1] >= 8:
            seen.append(0.0)
            want.append(0.0)
        seen[-1] += counts[index]
        want[-1] += expected[index]
    assert len(want) >= 9, "too few cells to say anything"
    return chi2.sf(sum((s - w) ** 2 / w for s, w in zip(seen, want, strict=True)), len(want) - 1)


def enumerated(problem, temperature, free):
    """(states, probabilities) of the labels at the flat sites `free`; the other sites have label 0."""
    states = np.array(list(itertools.product(range(problem.labels), repeat=len(free))))
    energies = []
    for state in states:
        labels = np.zeros(problem.shape, int)
        labels.flat[free] = state
        energies.append(Energy(problem)(labels))
    weight = np.exp(-(np.array(energies) - min(energies)) / temperature)
    return states, weight / weight.sum()
