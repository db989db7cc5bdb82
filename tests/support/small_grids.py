"""Many independent copies of a small grid in one image, and the test of their samples against a distribution.

A copy is surrounded by clamped sites, the same around each copy, which act on it as a fixed boundary. Copies
repeat at even distances, so that a site's colour is the same in all of them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.stats import chi2

from mrfhw.field.problem import Problem, Schedule
from mrfhw.machine.config import Config
from studies.quantized import SweepKernel, sweep_kernel

__all__ = ["GRIDS", "Copies", "SmallGrid", "tail"]


@dataclass(frozen=True, kw_only=True)
class SmallGrid:
    """A grid of rows x cols free sites. sweeps: after so many, a sample has forgotten its start (to 1e-6)."""

    rows: int
    cols: int
    temperature: float
    sweeps: int
    energy: dict[str, Any] = field(default_factory=dict)


GRIDS = {
    "3 in a row, 4 labels": SmallGrid(rows=1, cols=3, temperature=4.0, sweeps=9, energy={
        "labels": 4, "constants": np.array([3, 6, 8, 13]), "doubleton": "absolute", "alpha": 1, "beta": 2}),
    "2 x 3, 3 labels, shifted": SmallGrid(rows=2, cols=3, temperature=28.0, sweeps=7, energy={
        "labels": 3, "constants": np.array([4, 12, 15]), "singleton": "squared", "doubleton": "squared",
        "vectors": np.array([[0, 0], [1, 0], [1, 2]]), "beta": 4, "energy_shift": 2}),
    "3 x 3, 2 labels": SmallGrid(rows=3, cols=3, temperature=13.3, sweeps=20, energy={
        "labels": 2, "constants": np.array([4, 9]), "doubleton": "potts", "alpha": 4, "beta": 7}),
}


class Copies:
    """`grid`'s copies in an image of at most `room` sites, and the kernel of a sweep of one copy.

    problem: the image. initial: uniform random labels at free sites, drawn with `seed`.
    """

    def __init__(self, grid: SmallGrid, room: tuple[int, int], seed: int = 0):
        self.grid = grid
        self._step = tuple((n + 2) // 2 * 2 for n in (grid.rows, grid.cols))
        down, across = ((space - 1) // step for space, step in zip(room, self._step, strict=True))
        self.count, self._tiles = down * across, (down, across)
        rng = np.random.default_rng(8)
        free = np.zeros(self._step, bool)
        free[1:1 + grid.rows, 1:1 + grid.cols] = True
        data = rng.integers(2, 16, self._step)
        walls = rng.integers(0, grid.energy["labels"], self._step)
        clamped = ~self._tiled(free)
        self._held = self._tiled(walls)
        self._arguments = {"singleton1": self._tiled(data), "clamped": clamped, **grid.energy}
        self.problem = Problem(**self._arguments, schedule=Schedule.constant(grid.temperature))
        drawn = np.random.default_rng(seed).integers(0, grid.energy["labels"], clamped.shape)
        self.initial = np.where(clamped, self._held, drawn)

    def _tiled(self, cell: np.ndarray) -> np.ndarray:
        """Cells side by side, with the next cell's first row and column as the last walls."""
        (down, across), (high, wide) = self._tiles, self._step
        return np.tile(cell, (down + 1, across + 1))[:down * high + 1, :across * wide + 1]

    def cell(self, scale: float = 1.0) -> Problem:
        """One copy with its walls, at `scale` times the grid's temperature."""
        rows, cols = self.grid.rows + 2, self.grid.cols + 2
        crop = {name: value[:rows, :cols] if name in ("singleton1", "clamped") else value
                for name, value in self._arguments.items()}
        return Problem(**crop, schedule=Schedule.constant(self.grid.temperature * scale))

    def kernel(self, config: Config, scale: float = 1.0) -> SweepKernel:
        """A sweep of one copy."""
        problem = self.cell(scale)
        return sweep_kernel(config, problem, self._held[:self.grid.rows + 2, :self.grid.cols + 2])

    def cut(self, labels: np.ndarray) -> np.ndarray:
        """(count, rows + 2, cols + 2): the copies of an image, walls included."""
        (high, wide), (down, across) = self._step, self._tiles
        corners = np.mgrid[0:down, 0:across].reshape(2, -1) * np.array([[high], [wide]])
        r, c = np.indices((self.grid.rows + 2, self.grid.cols + 2))
        return labels[corners[0][:, None, None] + r, corners[1][:, None, None] + c]


def tail(counts: np.ndarray, probabilities: np.ndarray) -> float:
    """P(chi-square >= what was seen) for independent samples; 0 where an impossible cell was seen.

    Cells are merged, from the rarest on, until each expects at least 25.
    """
    if counts[probabilities == 0].any():
        return 0.0
    expected = counts.sum() * probabilities
    seen, want = [0.0], [0.0]
    for index in np.argsort(expected, kind="stable"):
        if want[-1] >= 25:
            seen.append(0.0)
            want.append(0.0)
        seen[-1] += counts[index]
        want[-1] += expected[index]
    assert len(want) >= 20, "too few cells to say anything"
    return float(chi2.sf(sum((s - w) ** 2 / w for s, w in zip(seen, want, strict=True)), len(want) - 1))
