"""Random machines that have what a plain one lacks, and problems that use it, alone and mixed."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from mrfhw.field.problem import Problem
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.placement.placement import Placement
from support.random_problems import random_config, random_placement

__all__ = ["random_field", "random_field_machine"]


def random_field_machine(rng: np.random.Generator) -> Config:
    """A machine of random structure with some of: unlike bits, several channels, limits, a doubleton table, weights, 256 labels."""
    config = random_config(rng)
    distance = str(rng.choice(["difference", "hamming", "both"]))
    more: dict[str, Any] = {
        "distance": distance, "singleton_cap": int(rng.integers(2)), "edge_bits": int(rng.choice([0, 1, 2, 4])),
        "pairwise_bits": int(rng.choice([0, 3, 8])), "label_bits": int(rng.choice([2, 3, 5, 7, 8])),
        "data_bits_2": int(rng.choice([0, 3, 6]))}
    more["data_bits_3"] = int(rng.choice([0, 4])) if more["data_bits_2"] else 0
    if distance == "hamming":
        more["data_bits"] = int(rng.choice([1, 5, 9, 21]))
    if more["label_bits"] == 8:
        more["tile_rows"], more["tile_cols"] = min(config.tile_rows, 4), min(config.tile_cols, 8)
    # The costs of each site and label, for a few labels.
    more["s2_words"] = int(rng.choice([4, 8])) * config.tile_rows * config.tile_cols
    return dataclasses.replace(config, **more)


def _data(rng: np.random.Generator, config: Derived, problem: Problem) -> dict[str, Any]:
    count = int(rng.integers(1, len(config.channel_bits) + 1))
    bits = config.channel_bits[:count]

    def image(*shape: int) -> np.ndarray:
        channels = np.stack([rng.integers(0, 1 << width, shape) for width in bits], -1)
        return channels[..., 0] if count == 1 and rng.random() < 0.5 else channels

    found: dict[str, Any] = {
        "singleton": tuple(str(rng.choice(config.channel_singletons(n))) for n in range(count)),
        "alpha": tuple(int(rng.integers(0, config.weight_max + 1) >> rng.integers(0, 4)) for _ in range(count))}
    if config.singleton_cap and rng.random() < 0.7:
        found["singleton_max"] = tuple(None if rng.random() < 0.3 else int(rng.integers(0, 1 << int(rng.integers(
            1, config.channel_singleton_bits(n) + 1)))) for n in range(count))
    if "absolute" in config.singletons and rng.random() < 0.3:
        labels = min(problem.labels, int(rng.integers(2, 5)))
        found |= {"labels": labels, "unary": rng.integers(0, config.data_max + 1, (*problem.shape, labels)),
                  "singleton": "absolute", "alpha": found["alpha"][0],
                  "singleton1": None, "singleton2": None, "offsets": None, "constants": None,
                  "singleton_max": found.get("singleton_max", (None,))[0]}
        return found
    first = image(*problem.shape)
    found["singleton1"] = first
    name = "singleton2" if problem.constants is None else "constants"
    second = image(*problem.shape) if name == "singleton2" else image(problem.labels)
    if second.ndim != first.ndim - (name == "constants"):
        second = second[..., None] if second.ndim < first.ndim - (name == "constants") else second[..., 0]
    return {**found, name: second}


def random_field(rng: np.random.Generator, config: Config) -> Placement:
    """A random problem that fits `config` and uses what it has, placed."""
    numbers, plain = Derived.of(config), random_placement(rng, dataclasses.replace(
        config, distance="difference" if config.distance == "both" else config.distance) if config.distance != "hamming" else
        dataclasses.replace(config, distance="difference", data_bits=min(8, config.data_bits)))
    problem = plain.problem
    changes = _data(rng, numbers, problem)
    labels = changes.get("labels", problem.labels)
    if numbers.pairwise_bits and rng.random() < 0.5:
        table = rng.integers(0, 1 << config.pairwise_bits, (labels, labels))
        changes |= {"doubleton": "table", "pairwise": table if rng.random() < 0.7 else np.minimum(table, table.T)}
    if config.edge_bits and rng.random() < 0.7:
        changes["edges"] = rng.integers(0, 1 << config.edge_bits, (*problem.shape, 2))
    changes["vectors"] = problem.vectors[:labels] if problem.vectors is not None else None
    changes["out_of_range"] = int(rng.integers(0, 1 << numbers.singleton_bits))
    run = plain.run if isinstance(plain.run.initial, str) else dataclasses.replace(
        plain.run, initial=plain.run.initial % labels)
    return Placement(config, dataclasses.replace(problem, **changes), run)
