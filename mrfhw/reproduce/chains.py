"""Chains of a scene, sweep by sweep: on the model of a machine, and in float64."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import numpy as np

from mrfhw.config import Config
from mrfhw.model.machine import Machine
from mrfhw.placement import Placement
from mrfhw.problem import Problem, ProblemError, Run, doubleton_table, initial_labels, singleton_energies
from mrfhw.reproduce.kernel import float_colour

__all__ = ["SAMPLERS", "float_labels", "machine_for", "machine_labels", "tiles_for"]

S2_WORDS_MAX = 1 << 16

# Samplers of Figure 3.12 by name, as (preset, changes); float64 has no machine.
SAMPLERS: dict[str, tuple[str, dict[str, Any]] | None] = {
    "float64": None,
    "race": ("default", {}),
    "cdf, integer": ("default", {"sampler": "cdf"}),
    "cdf, power of two (published)": ("paper-16x2", {}),
}


def tiles_for(config: Config, problem: Problem) -> Config:
    """`config` with tiles of just the size that the problem takes, and as much singleton-2 memory as it needs."""
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
            words *= 2
            if words > S2_WORDS_MAX:
                raise
    needed = max(1, placed.replication) * placed.patch_words * config.spus
    return dataclasses.replace(config, **tile, s2_words=needed)


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


def float_labels(problem: Problem, sweeps: int, seed: int) -> Iterator[np.ndarray]:
    """The labels (H, W) uint8 after each sweep in float64 (Equation 3.1 without shift or cap); a view.

    Draws as `mrfhw.model.exact.solve` does, from the same uniforms, for a problem of constant temperature without
    clamped sites.
    """
    labels = initial_labels(problem, Run(sweeps=sweeps, seed=seed)).copy()
    singles = (problem.alpha * singleton_energies(problem)).astype(np.int32)
    doubles = (problem.beta * doubleton_table(problem)).T.astype(np.int32)
    # Beyond 746 T the weight is 0 in float64.
    weights = np.exp(np.arange(int(746 * problem.schedule.start) + 2) / -problem.schedule.start)
    colours = np.indices(problem.shape).sum(0) & 1
    sites = [int((colours == parity).sum()) for parity in (0, 1)]
    rng = np.random.Generator(np.random.PCG64([seed, 2]))
    for _ in range(sweeps):
        for parity in (0, 1):
            float_colour(parity, labels, singles, doubles, weights, rng.random(sites[parity]))
        yield labels
