"""What models of cells leave unsaid, from machines that were tried: the more alike one is, the more it counts."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields

import numpy as np

from mrfhw.machine.config import Config

__all__ = ["Residuals"]

ALIKE_MOST = 8  # parameters that differ, beyond which machines count as if no more did
LESS = 6.0  # how many times less a machine counts for each parameter that differs; of those tried, left out, the best of 2 to 10
UNTRIED = 1 / 256  # weight of what holds where nothing was tried, where a machine that is the same has 1


@dataclass(frozen=True)
class Residuals:
    """Cells that machines have more than a model says.

    A machine that differs in d parameters counts 6^-d as much as one that is the same, divided by how many tried machines are like
    it in the same measure, so that many machines of one place count no more elsewhere than a few.

    rows: (n, parameters) int64, a number for each value of each; cells, shares: (n,) of each. otherwise: where nothing was tried.
    """

    rows: np.ndarray
    cells: np.ndarray
    shares: np.ndarray
    otherwise: float

    @classmethod
    def of(cls, tried: Iterable[tuple[Config, int, float]], otherwise: float) -> Residuals:
        """tried: machine, words of its link's memories, cells beyond the model's."""
        held = list(tried)
        if not held:
            return cls(np.zeros((0, 0), np.int64), np.zeros(0), np.zeros(0), otherwise)
        rows = np.array([_row(config, words) for config, words, _ in held])
        shares = np.array([1 / _weights(rows, row).sum() for row in rows])
        return cls(rows, np.array([cells for *_, cells in held], float), shares, otherwise)

    def of_machine(self, config: Config, words: int) -> float:
        """Expected of a machine."""
        if not len(self.cells):
            return self.otherwise
        row = _row(config, words)
        if (same := (self.rows == row).all(1)).any():
            return float(self.cells[same].mean())
        weights = _weights(self.rows, row) * self.shares
        return float((weights @ self.cells + UNTRIED * self.otherwise) / (weights.sum() + UNTRIED))


def _row(config: Config, words: int) -> np.ndarray:
    return np.array([hash(value) for value in (*(getattr(config, one.name) for one in fields(Config)), words)], np.int64)


def _weights(rows: np.ndarray, row: np.ndarray) -> np.ndarray:
    return LESS ** -np.minimum((rows != row).sum(1), ALIKE_MOST)
