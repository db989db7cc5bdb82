"""Fields whose chains stay for long where they have come to, and what is known of their laws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mrfhw.field.problem import Problem, Schedule

__all__ = ["FIELDS", "Field"]

COLD = Schedule.constant(4.0)


@dataclass(frozen=True)
class Field:
    """symmetric: the labels, in an order in which the law is the same, so that the run's shares are off by half of what they differ
    from those in that order, at least. seed: of a run whose two chains have not come to the same labels by chance."""

    problem: Problem
    symmetric: np.ndarray
    seed: int = 0


def _nothing(rows: int, columns: int, labels: int) -> np.ndarray:
    return np.zeros((rows, columns, labels), int)


def _domains() -> Field:
    """Four labels that differ in nothing, in domains that grow slowly and do not turn."""
    return Field(Problem(labels=4, unary=_nothing(16, 16, 4), doubleton="potts", beta=9, schedule=COLD),
                 np.roll(np.arange(4), 1), 2)


def _frozen() -> Field:
    """A ferromagnet of 16 labels on a line, whose first and last one are the best: what a chain has come to does not move."""
    unary = _nothing(16, 16, 16) + 40
    unary[:, :, [0, 15]] = 0
    return Field(Problem(labels=16, unary=unary, doubleton="absolute", tau=8, beta=20, schedule=COLD), np.arange(16)[::-1])


def _blocks() -> Field:
    """16 blocks that do not touch, each of one label or the other; the energy is the same."""
    edges = np.ones((24, 24, 2), int)
    edges[:, 5::6, 0] = edges[5::6, :, 1] = 0
    return Field(Problem(labels=2, unary=_nothing(24, 24, 2), doubleton="potts", beta=6, edges=edges, schedule=COLD),
                 np.array([1, 0]))


def _two_answers() -> Field:
    """Stripes without texture, that fit at either of two disparities far apart."""
    unary = np.full((20, 20, 12), 10)
    unary[:, :, [2, 9]] = 4
    edges = np.ones((20, 20, 2), int)
    edges[4::5, :, 1] = 0
    return Field(Problem(labels=12, unary=unary, doubleton="absolute", tau=3, beta=4, edges=edges, schedule=COLD),
                 np.arange(12)[::-1])


def _turning() -> Field:
    """Eight labels that differ in nothing, just below where one takes over: domains turn, each within hundreds of sweeps."""
    return Field(Problem(labels=8, unary=_nothing(16, 16, 8), doubleton="potts", beta=11, schedule=Schedule.constant(8.0)),
                 np.roll(np.arange(8), 4), 4)


FIELDS: dict[str, Callable[[], Field]] = {
    "domains": _domains, "frozen": _frozen, "blocks": _blocks, "two answers": _two_answers, "turning": _turning}
