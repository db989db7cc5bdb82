"""The machines that a scene runs on, and their chains sweep by sweep."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from mrfhw.field.problem import Problem, ProblemError, Run
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.fields import WORDS_MAX
from mrfhw.placement.placement import Placement
from mrfhw.twin.machine import Machine

__all__ = ["SAMPLERS", "machine_for", "machine_labels", "tiles_for"]


# The machines of Figure 3.12 by name, as (preset, changes).
SAMPLERS: dict[str, tuple[str, dict[str, Any]]] = {
    "race": ("default", {}),
    "cdf, integer": ("default", {"sampler": "cdf"}),
    "cdf, power of two (published)": ("paper-16x2", {}),
}


def tiles_for(config: Config, problem: Problem) -> Config:
    """`config` with tiles of just the size that the problem takes, and as much singleton-2 memory as it needs."""
    config = Derived.of(config)
    rows, cols = problem.shape
    tile: dict[str, Any] = {"tile_rows": max(2, -(-rows // (config.mesh_rows * config.row_step))) * config.row_step,
                            "tile_cols": max(1, -(-cols // (config.mesh_cols * config.col_step))) * config.col_step}
    words = tile["tile_rows"] * tile["tile_cols"]
    while True:
        try:
            placed = Placement(dataclasses.replace(config, **tile, s2_words=words), problem, Run(sweeps=1))
            break
        except ProblemError:
            # Not enough singleton-2 words, or a problem that fits no machine, which more words do not help.
            if words == WORDS_MAX:
                raise
            words = min(2 * words, WORDS_MAX)
    return dataclasses.replace(config, **tile, s2_words=placed.s2_used)


def machine_for(problem: Problem, preset: str = "paper-16x2", **changes: Any) -> Config:
    """The preset with tiles and singleton-2 memory of the problem's size."""
    return tiles_for(Config.preset(preset, **changes), problem)


def machine_labels(config: Config, problem: Problem, sweeps: int, seed: int,
                   initial: str | np.ndarray = "random") -> Iterator[np.ndarray]:
    """The labels (H, W) uint8 after each sweep of the bit-exact model; a view that the next sweep changes."""
    # Only the last sweep is logged: whoever asks for labels counts them.
    machine = Machine(config, problem, Run(sweeps=sweeps, burn_in=sweeps - 1, seed=seed, initial=initial))
    for _ in range(sweeps):
        machine.sweep()
        yield machine.image(machine.labels)
