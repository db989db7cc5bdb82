"""The labels that a chain starts from."""

from __future__ import annotations

import numpy as np

from mrfhw.field.energy import least_singleton
from mrfhw.field.problem import Problem, ProblemError, Run

__all__ = ["initial_labels"]


def initial_labels(problem: Problem, run: Run) -> np.ndarray:
    """The labels that the chain starts from, uint8 (H, W).

    "random" draws uniformly with NumPy's PCG64 seeded by (run.seed, 1); "minimum" takes the label of
    the least singleton energy, the lowest on ties.
    """
    if isinstance(run.initial, np.ndarray):
        if run.initial.shape != problem.shape:
            raise ProblemError(f"initial labels have shape {run.initial.shape}; the grid has {problem.shape}: "
                               "give an array of that shape")
        if run.initial.min() < 0 or run.initial.max() >= problem.labels:
            raise ProblemError(f"initial labels go from {run.initial.min()} to {run.initial.max()}; the problem has labels "
                               f"0 to {problem.labels - 1}: give labels in that range")
        return run.initial.astype(np.uint8)
    if run.initial == "minimum":
        return least_singleton(problem)
    rng = np.random.Generator(np.random.PCG64([run.seed, 1]))
    return rng.integers(0, problem.labels, problem.shape).astype(np.uint8)
