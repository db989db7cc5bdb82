"""The command `mrfhw statistics`: what each sampler's widths cost, as total variation to the exact distribution."""

from __future__ import annotations

import csv
import dataclasses
import io
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np
from tqdm import tqdm  # type: ignore[import-untyped,unused-ignore]

from mrfhw.config import Config
from mrfhw.machine_options import OneLineCommand
from mrfhw.model.quantized import (
    ReducibleError,
    conditional,
    exact_conditional,
    exact_distribution,
    stationary,
    total_variation,
)
from mrfhw.problem import Problem, ProblemError, Schedule
from mrfhw.temperature import coefficient, realized

__all__ = ["SHIFTS", "TEMPERATURES", "WIDTHS", "Row", "command", "rows", "widths_of"]

WIDTHS: tuple[tuple[str, dict[str, Any]], ...] = (
    *((f"cdf {floor}", {"sampler": "cdf", "probability_floor": floor, "probability_bits": bits})
      for floor in ("power_of_two", "integer") for bits in (4, 8, 12)),
    *(("race", {"sampler": "race", "gumbel_uniform_bits": uniform, "gumbel_fraction_bits": fraction})
      for uniform, fraction in ((8, 4), (10, 6), (12, 6), (12, 8))),
)
SHIFTS = (0, 3, 4)
TEMPERATURES = (2.0, 8.0, 32.0)
LABELS = 64
ENERGIES = 256  # the 64 energies of a conditional are uniform below this
CHAIN_LABELS = 4


@dataclass(frozen=True)
class Row:
    """Total variations to the exact distribution, of one sampler, width and shift; one line of the table.

    conditional_mean, conditional_max: of a 64-label conditional, over temperatures and random energies.
    stationary_mean, stationary_max: of the joint distribution of three sites in a row with four labels, over
    temperatures and random data; None where a chain has no single stationary distribution.
    """

    sampler: str
    bits: str
    energy_shift: int
    conditional_mean: float
    conditional_max: float
    stationary_mean: float | None
    stationary_max: float | None


def widths_of(config: Config) -> str:
    """The width of P, or the bits of the uniform number / the fraction of the Gumbel number."""
    if config.sampler == "cdf":
        return str(config.probability_bits)
    return f"{config.gumbel_uniform_bits}/{config.gumbel_fraction_bits}"


def _conditionals(config: Config, shift: int, draws: int, seed: int) -> list[float]:
    """Of `draws` vectors of energies, the same for every width, at each temperature."""
    found = []
    for temperature in TEMPERATURES:
        rng = np.random.default_rng([seed, 1])
        problem = Problem(labels=LABELS, singleton1=np.zeros((1, 1), int), constants=np.zeros(LABELS, int),
                          energy_shift=shift, schedule=Schedule.constant(temperature))
        value = coefficient(config, temperature, shift)
        for energies in rng.integers(0, ENERGIES, (draws, LABELS)):
            exact = exact_conditional(energies, realized(config, value, shift))
            found.append(total_variation(conditional(config, problem, energies, value), exact))
    return found


def _chains(config: Config, shift: int, draws: int, seed: int) -> list[float]:
    """Of `draws` rows of three sites, data and constants uniform on 6 bits, weights in proportion to T."""
    found = []
    for temperature in TEMPERATURES:
        rng = np.random.default_rng([seed, 2])
        for _ in range(draws):
            problem = Problem(
                labels=CHAIN_LABELS, singleton1=rng.integers(0, 64, (1, 3)), constants=rng.integers(0, 64, CHAIN_LABELS),
                alpha=max(1, round(temperature / 16)), beta=max(1, round(temperature / 2)), energy_shift=shift,
                schedule=Schedule.constant(temperature))
            states, kept = stationary(config, problem)
            found.append(total_variation(kept, exact_distribution(config, problem, states)))
    return found


def rows(draws: int = 20, seed: int = 0) -> Iterator[Row]:
    """The table's rows, in the order of WIDTHS and SHIFTS; `draws` random cases at each temperature."""
    for name, widths in WIDTHS:
        config = Config(**widths)
        for shift in SHIFTS:
            each = _conditionals(config, shift, draws, seed)
            joint: tuple[float | None, float | None]
            try:
                chains = _chains(config, shift, draws, seed)
                joint = float(np.mean(chains)), max(chains)
            except ReducibleError:
                joint = None, None
            yield Row(name, widths_of(config), shift, float(np.mean(each)), max(each), *joint)


def _csv(table: list[Row]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in dataclasses.fields(Row)], lineterminator="\n")
    writer.writeheader()
    for row in table:
        writer.writerow({k: f"{v:.6f}" if isinstance(v, float) else v for k, v in dataclasses.asdict(row).items()})
    return text.getvalue()


def _aligned(table: list[Row]) -> str:
    lines = [f"{'':16} {'':>5} {'energy':>6}   {'conditional':^15}   {'stationary':^15}",
             f"{'sampler':16} {'bits':>5} {'shift':>6}   {'mean':>7} {'max':>7}   {'mean':>7} {'max':>7}"]
    for row in table:
        numbers = [f"{x:7.4f}" if x is not None else f"{'none':>7}" for x in
                   (row.conditional_mean, row.conditional_max, row.stationary_mean, row.stationary_max)]
        lines.append(f"{row.sampler:16} {row.bits:>5} {row.energy_shift:>6}   {numbers[0]} {numbers[1]}   "
                     f"{numbers[2]} {numbers[3]}")
    return "\n".join(lines)


@click.command("statistics", cls=OneLineCommand)
@click.option("--draws", type=int, default=20, show_default=True, help="Random cases at each temperature, 1 to 10000.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random cases.")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False, writable=True), metavar="FILE",
              help="Write the table as CSV, too.")
def command(draws: int, seed: int, output: Path | None) -> None:
    """Print how far each sampler's widths are from the exact distribution, computed by enumeration.

    Total variation, 0 to 1, at temperatures 2, 8 and 32: of one draw among 64 labels whose energies are random
    below 256, and of the joint distribution of three sites in a row with four labels.
    """
    if not 1 <= draws <= 10_000:
        raise ProblemError(f"draws is {draws}; the limits are 1 to 10000: give a number between them")
    if not 0 <= seed < 1 << 64:
        raise ProblemError(f"seed is {seed}; the limits are 0 to 2^64 - 1: give one between them")
    if output is not None and not output.parent.is_dir():
        raise ProblemError(f"output is {output}; {output.parent} is no directory: make it, or give another place")
    total = len(WIDTHS) * len(SHIFTS)
    table = list(tqdm(rows(draws, seed), total=total, unit="row", delay=2, mininterval=0.5, leave=False))
    click.echo(_aligned(table))
    if output is not None:
        output.write_text(_csv(table))
        click.echo(f"wrote {output}")


if __name__ == "__main__":
    command()
