"""Problems of more sites than a small machine holds, and a chip that records."""

from __future__ import annotations

import numpy as np

from mrfhw.applications.motion.field import motion_problem
from mrfhw.applications.stereo.field import stereo_problem
from mrfhw.field.problem import Problem, Schedule
from mrfhw.machine.config import Config

SMALL = Config(mesh_rows=2, mesh_cols=2, spus=1, tile_rows=8, tile_cols=8)
LANES = Config(mesh_rows=2, mesh_cols=2, spus=1, lanes=4, tile_rows=8, tile_cols=8)


def stereo_grid(rows: int, cols: int, labels: int = 5, **changes: object) -> Problem:
    rng = np.random.default_rng(4)
    right = rng.integers(0, 64, (rows, cols))
    left = np.roll(right, 3, 1) + rng.integers(0, 3, (rows, cols))
    return stereo_problem(left.clip(0, 63), right, labels=labels, min_disparity=2, **changes)  # type: ignore[arg-type]


def motion_grid(rows: int, cols: int) -> Problem:
    rng = np.random.default_rng(5)
    first = rng.integers(0, 64, (rows, cols))
    return motion_problem(first, np.roll(first, (1, -1), (0, 1)), rows=3, cols=5)


def denoise_grid(rows: int, cols: int) -> Problem:
    rng = np.random.default_rng(6)
    clamped, observed = rng.random((2, rows, cols)) < 0.2
    return Problem(labels=6, singleton1=rng.integers(0, 64, (rows, cols)), constants=np.arange(0, 60, 10), beta=3, tau=3,
                   clamped=clamped, observed=~observed, schedule=Schedule.geometric(8, 0.9, 2))


PROBLEMS = {
    "stereo": stereo_grid(21, 40), "motion": motion_grid(37, 19), "denoise": denoise_grid(30, 33), "column": denoise_grid(50, 3),
    "cooling": stereo_grid(20, 19, schedule=Schedule.of_table((9.0, 5.0, 2.5), 2)),
}


class Recording:
    """A `Chip` that keeps what it is given."""

    def __init__(self) -> None:
        self.words: dict[int, int] = {}
        self.written: list[int] = []

    def write(self, addresses: np.ndarray, data: np.ndarray) -> None:
        self.words.update(zip(addresses.tolist(), data.tolist(), strict=True))
        self.written.append(len(addresses))

    def read(self, addresses: np.ndarray) -> np.ndarray:
        return np.array([self.words.get(address, 0) for address in addresses.tolist()], np.uint32)
