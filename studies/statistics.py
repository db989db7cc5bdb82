"""The command `python -m studies.statistics`: what each sampler's widths cost, as total variation to the exact distribution."""

from __future__ import annotations

import csv
import dataclasses
import io
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import click
import numpy as np
from tqdm import tqdm  # type: ignore[import-untyped,unused-ignore]

from mrfhw.commands.machine_options import OneLineCommand
from mrfhw.field.problem import Problem, ProblemError, Schedule
from mrfhw.machine.config import Config
from mrfhw.machine.samplers import Cdf, Race, Sampler
from mrfhw.placement.temperature import coefficient, realized, realized_limits
from studies.quantized import (
    ReducibleError,
    conditional,
    exact_conditional,
    exact_distribution,
    stationary,
    total_variation,
)

__all__ = ["SHIFTS", "TEMPERATURES", "WIDTHS", "Row", "chains", "command", "conditionals", "rows", "widths_of"]

WIDTHS: tuple[tuple[str, Sampler], ...] = (
    *((f"cdf {floor}", Cdf(floor=floor, probability_bits=bits))
      for floor in ("power_of_two", "integer") for bits in (4, 8, 12)),
    *(("race", Race(uniform_bits=uniform, fraction_bits=fraction, segments=segments))
      for uniform, fraction, segments in ((8, 4, 1), (10, 6, 1), (12, 6, 1), (14, 6, 8), (12, 8, 1))),
)
SHIFTS = (0, 3, 4)
TEMPERATURES = (1.0, 4.0, 16.0, 64.0)
LABELS = 64
ENERGIES = 256  # the 64 energies of a conditional are uniform below this
CHAIN_LABELS = 4


@dataclass(frozen=True)
class Row:
    """Total variations to the exact distribution, of one sampler, width, shift and temperature.

    conditional_*: of one draw among 64 labels, over random energies. stationary_*: of the joint distribution of
    three sites in a row with four labels, over random data. None where the machine does not realize the
    temperature, and for a chain that has no single stationary distribution.
    """

    sampler: str
    bits: str
    energy_shift: int
    temperature: float
    conditional_mean: float | None = None
    conditional_max: float | None = None
    stationary_mean: float | None = None
    stationary_max: float | None = None


def widths_of(config: Config) -> str:
    """The width of P, or the bits of the uniform number / the fraction of the Gumbel number / its table's segments, if several."""
    sampler = config.sampler
    if isinstance(sampler, Cdf):
        return str(sampler.probability_bits)
    return f"{sampler.uniform_bits}/{sampler.fraction_bits}" + (f"/{sampler.segments}" if sampler.segments > 1 else "")


def conditionals(config: Config, shift: int, temperature: float, draws: int, seed: int) -> list[float]:
    """Of `draws` vectors of energies, the same for every width and temperature."""
    problem = Problem(labels=LABELS, singleton1=np.zeros((1, 1), int), constants=np.zeros(LABELS, int),
                      energy_shift=shift, schedule=Schedule.constant(temperature))
    value = coefficient(config, temperature, shift)
    drawn = np.random.default_rng([seed, 1]).integers(0, ENERGIES, (draws, LABELS))
    return [total_variation(conditional(config, problem, energies, value),
                            exact_conditional(energies, realized(config, value, shift))) for energies in drawn]


def chains(config: Config, shift: int, temperature: float, draws: int, seed: int) -> list[float]:
    """Of `draws` rows of three sites, whose energies are in proportion to the temperature."""
    rng = np.random.default_rng([seed, 2])
    levels = min(64, round(4 * temperature))
    alpha, beta = max(1, round(temperature / 16)), max(1, round(temperature / 2))
    found = []
    for _ in range(draws):
        problem = Problem(
            labels=CHAIN_LABELS, singleton1=rng.integers(0, levels, (1, 3)), alpha=alpha, beta=beta,
            constants=rng.integers(0, levels, CHAIN_LABELS), energy_shift=shift,
            schedule=Schedule.constant(temperature))
        states, kept = stationary(config, problem)
        found.append(total_variation(kept, exact_distribution(config, problem, states)))
    return found


def _row(name: str, config: Config, shift: int, temperature: float, draws: int, seed: int) -> Row:
    row = Row(name, widths_of(config), shift, temperature)
    low, high = realized_limits(config, shift)
    if not low <= temperature <= high:
        return row
    each = conditionals(config, shift, temperature, draws, seed)
    row = dataclasses.replace(row, conditional_mean=float(np.mean(each)), conditional_max=max(each))
    try:
        joint = chains(config, shift, temperature, draws, seed)
    except ReducibleError:
        return row
    return dataclasses.replace(row, stationary_mean=float(np.mean(joint)), stationary_max=max(joint))


def rows(draws: int = 20, seed: int = 0) -> Iterator[Row]:
    """The table's rows in the order of WIDTHS, SHIFTS, TEMPERATURES; `draws` random cases each."""
    for name, widths in WIDTHS:
        config = Config(sampler=widths)
        for shift, temperature in itertools.product(SHIFTS, TEMPERATURES):
            yield _row(name, config, shift, temperature, draws, seed)


def _csv(table: list[Row]) -> str:
    text = io.StringIO()
    writer = csv.DictWriter(text, [field.name for field in dataclasses.fields(Row)], lineterminator="\n")
    writer.writeheader()
    for row in table:
        numbers = {k: f"{v:.6f}" for k, v in dataclasses.asdict(row).items() if isinstance(v, float)}
        writer.writerow({**dataclasses.asdict(row), **numbers, "temperature": f"{row.temperature:g}"})
    return text.getvalue()


def _aligned(table: list[Row]) -> str:
    """One line for each width and shift: the means by temperature, and the largest of all."""
    heads = [f"T={temperature:g}" for temperature in TEMPERATURES] + ["max"]
    names = "".join(f"{head:>8}" for head in heads)
    lines = [f"{'':29}  {'conditional, 64 labels':^40}  {'stationary, 3 sites':^40}",
             f"{'sampler':17}{'bits':>5}{'shift':>7}  {names}  {names}"]
    count = len(TEMPERATURES)
    for first, *others in zip(*(table[i::count] for i in range(count)), strict=True):
        line = f"{first.sampler:17}{first.bits:>5}{first.energy_shift:>7}"
        for part in ("conditional", "stationary"):
            means = [getattr(row, f"{part}_mean") for row in (first, *others)]
            most = [x for row in (first, *others) if (x := getattr(row, f"{part}_max")) is not None]
            means.append(max(most, default=None))
            line += "  " + "".join(f"{x:8.4f}" if x is not None else f"{'-':>8}" for x in means)
        lines.append(line)
    return "\n".join(lines)


@click.command("statistics", cls=OneLineCommand)
@click.option("--draws", type=int, default=20, show_default=True, help="Random cases at each temperature, 1 to 10000.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random cases.")
@click.option("-o", "--output", type=click.Path(path_type=Path, dir_okay=False, writable=True), metavar="FILE",
              help="Write the table as CSV, too.")
def command(draws: int, seed: int, output: Path | None) -> None:
    """Print how far each sampler's widths are from the exact distribution, computed by enumeration.

    Total variation, 0 to 1, mean by temperature and largest: of one draw among 64 labels whose energies are random
    below 256, and of the joint distribution of three sites in a row with four labels. A - stands where the machine
    does not realize the temperature.
    """
    if not 1 <= draws <= 10_000:
        raise ProblemError(f"draws is {draws}; the limits are 1 to 10000: give a number between them")
    if not 0 <= seed < 1 << 64:
        raise ProblemError(f"seed is {seed}; the limits are 0 to 2^64 - 1: give one between them")
    if output is not None and not output.parent.is_dir():
        raise ProblemError(f"output is {output}; {output.parent} is no directory: make it, or give another place")
    total = len(WIDTHS) * len(SHIFTS) * len(TEMPERATURES)
    table = list(tqdm(rows(draws, seed), total=total, unit="row", delay=2, mininterval=0.5, leave=False, disable=None))
    click.echo(_aligned(table))
    if output is not None:
        output.write_text(_csv(table))
        click.echo(f"wrote {output}")


if __name__ == "__main__":
    command(prog_name="python -m studies.statistics")
