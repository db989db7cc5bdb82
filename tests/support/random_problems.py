"""Random machines and problems: what the RTL and the model are compared on."""

from __future__ import annotations

import dataclasses

import numpy as np

from mrfhw.field.problem import Problem, ProblemError, Run, Schedule
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.samplers import Cdf, Race
from mrfhw.placement.placement import Placement

__all__ = ["random_config", "random_placement", "with_estimates"]


def random_config(rng: np.random.Generator) -> Config:
    """A machine of random structure, small enough to compile in seconds."""
    pick = rng.choice
    spus, banks = int(pick([1, 2, 4])), int(pick([1, 4]))
    rows, cols = ((1, 1), (1, 2), (2, 1), (2, 2), (2, 3), (3, 3), (1, 5))[rng.integers(7)]
    sampler = str(pick(["cdf", "race"]))
    row_step, col_step = (4 if banks == 4 else 2), max(2 * spus, 4 if banks == 4 else 2)
    tile_rows, tile_cols = row_step * int(rng.integers(1, 5)), col_step * int(rng.integers(1, 4))
    label_bits, data_bits, energy_bits = int(pick([2, 4, 5, 6])), int(pick([4, 6, 8])), int(pick([8, 10, 12, 16]))
    weight_bits, vector_bits = int(pick([4, 8])), int(pick([3, 4]))
    # Both are drawn, so that the draws that follow do not depend on which one the machine has.
    cdf = Cdf(probability_bits=int(pick([4, 8, 12])), floor=str(pick(["power_of_two", "integer"])),
              exponent_fraction_bits=int(pick([3, 6])), uniform_bits=int(pick([12, 18])))
    race = Race(uniform_bits=int(pick([8, 12])), fraction_bits=int(pick([4, 6])))
    return Config(
        mesh_rows=rows, mesh_cols=cols, spus=spus, tile_rows=tile_rows, tile_cols=tile_cols, lmem_banks=banks,
        label_bits=label_bits, data_bits=data_bits, energy_bits=energy_bits, weight_bits=weight_bits, vector_bits=vector_bits,
        sampler=race if sampler == "race" else cdf, temperature_bits=int(pick([16, 18])), temperature_table=int(pick([2, 16])),
        counter_bits=int(pick([1, 2, 6, 8])), address_bits=int(pick([0, 20])),
        s2_words=int(pick([0, 1, 4])) * tile_rows * tile_cols, hub_fan_in=int(pick([2, 4])), hub_depth=int(pick([1, 2, 4])),
        line_bits=int(pick([64, 128, 512])))


def _schedule(rng: np.random.Generator, config: Config, shift: int) -> Schedule:
    scale = float(1 << shift)
    hot = float(rng.uniform(1, 40)) * scale
    kind = rng.integers(3)
    if kind == 0:
        return Schedule.constant(hot)
    if kind == 1:
        return Schedule.geometric(hot, float(rng.uniform(0.5, 0.99)), max(hot / 20, 0.5 * scale) if hot > scale else hot / 2)
    table = tuple(float(t) * scale for t in rng.uniform(0.5, 40, rng.integers(1, config.temperature_table + 1)))
    return Schedule.of_table(table, int(rng.integers(1, 4)))


def _problem(rng: np.random.Generator, config: Config) -> Problem:
    config = Derived.of(config)
    rows = int(rng.integers(1, config.mesh_rows * config.tile_rows + 1))
    cols = int(rng.integers(1, config.mesh_cols * config.tile_cols + 1))
    labels = int(rng.integers(2, config.max_labels + 1))
    levels, shape = config.data_max + 1, (rows, cols)
    reach = 1 << max(0, config.vector_bits - 1)
    in_table = config.doubletons == "table"
    vectors = rng.integers(-reach, reach, (labels, 2)) if config.vector_bits or in_table else None
    shift = min(int(rng.choice([0, 0, 1, 3])), config.shift_max)
    data: dict[str, object]
    if rng.random() < 0.7:
        far = int(rng.choice([1, 3, 8, 20, 40]))
        low = rng.integers(-far, far + 1, 2)
        offsets = low + rng.integers(0, far + 1, (labels, 2)) * (rng.random(2) < 0.7)
        data = {"singleton2": rng.integers(0, levels, shape), "offsets": offsets}
    else:
        data = {"constants": rng.integers(0, levels, labels)}
    mask = lambda share: rng.random(shape) < share  # noqa: E731
    return Problem(
        labels=labels, singleton1=rng.integers(0, levels, shape), vectors=vectors,
        singleton=str(rng.choice(["absolute", "squared"])),
        doubleton=str(rng.choice([name for name in config.doubleton_kinds if name != "table"])),
        alpha=int(rng.integers(0, config.weight_max + 1) >> rng.integers(0, 4)),
        beta=int(rng.integers(0, config.weight_max + 1) >> rng.integers(0, 4)),
        tau=None if rng.random() < 0.3 and not in_table else int(rng.integers(0, min(12, 1 << config.doubleton_bits))),
        energy_shift=shift,
        out_of_range=int(rng.integers(0, 1 << config.singleton_bits)),
        observed=mask(0.8) if rng.random() < 0.3 else None, clamped=mask(0.3) if rng.random() < 0.4 else None,
        schedule=_schedule(rng, config, shift), **data)  # type: ignore[arg-type]


def random_placement(rng: np.random.Generator, config: Config) -> Placement:
    """A random problem that fits `config`, placed."""
    while True:
        problem = _problem(rng, config)
        sweeps = int(rng.integers(1, 9))
        initial = rng.integers(0, problem.labels, problem.shape) if rng.random() < 0.5 else str(rng.choice(["random", "minimum"]))
        run = Run(sweeps=sweeps, burn_in=int(rng.integers(0, sweeps)), seed=int(rng.integers(0, 1 << 32)), initial=initial)
        try:
            return Placement(config, problem, run)
        except ProblemError as error:
            # Only limits that a random draw may meet.
            if not any(word in str(error) for word in ("temperature", "labels reach", "slots")):
                raise


def with_estimates(placement: Placement) -> Placement:
    """The same problem with another estimate in three of five runs, by the run's seed: the mean, or the last sample."""
    estimate = ("mode", "mean", "mode", "mean", "last")[placement.run.seed % 5]
    return placement.again(dataclasses.replace(placement.run, estimate=estimate))
