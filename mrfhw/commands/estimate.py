"""`mrfhw estimate`: memory, multipliers and cycles of a machine, without synthesis."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import click
import numpy as np

from mrfhw.commands.machine_options import OneLineCommand, machine_options
from mrfhw.field.problem import Problem, ProblemError, Run
from mrfhw.jobs.machine import config_from_options
from mrfhw.machine.derived import Derived
from mrfhw.sessions import estimate

__all__ = ["command"]

SITES_MAX = 1 << 24  # of a picture that is asked for


@click.command("estimate", cls=OneLineCommand)
@click.option("--labels", type=int, metavar="L", help="Labels of the problem.  [default: as many as the machine has]")
@click.option("--rows", type=int, metavar="H", help="Rows of the grid.  [default: as many as the machine holds]")
@click.option("--cols", type=int, metavar="W", help="Columns of the grid.  [default: as many as the machine holds]")
@click.option("--sweeps", type=int, default=100, show_default=True, metavar="N", help="Sweeps of the run, 1 to 100000.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@machine_options
def command(labels: int | None, rows: int | None, cols: int | None, sweeps: int, as_json: bool, **options: Any) -> None:
    """Print a machine's memory and multipliers by use, and the cycles of a problem, without synthesis.

    The cycles are the machine's where its log never waits; a problem of constants for labels is loaded and read.
    """
    config = Derived.of(config_from_options(**options))
    shape = (config.mesh_rows * config.tile_rows if rows is None else rows,
             config.mesh_cols * config.tile_cols if cols is None else cols)
    labels = config.max_labels if labels is None else labels
    if min(shape) < 1 or shape[0] * shape[1] > SITES_MAX:
        raise ProblemError(f"the grid is {shape[0]}x{shape[1]}; it has 1 to {SITES_MAX} sites: give rows and cols for that")
    if not 2 <= labels <= config.max_labels:
        raise ProblemError(f"labels is {labels}; the limits are 2 to {config.max_labels}: give a number between them")
    if not 1 <= sweeps <= 100_000:
        raise ProblemError(f"sweeps is {sweeps}; the limits are 1 to 100000: give a number between them")
    problem = Problem(labels=labels, singleton1=np.zeros(shape, np.int64), constants=np.zeros(labels, np.int64))
    found = estimate.cycles(config, problem, Run(sweeps=sweeps))
    memories, products = estimate.memory_bits(config), estimate.multipliers(config)
    if as_json:
        click.echo(json.dumps({
            "parameters": config.to_dict(), "problem": {"rows": shape[0], "cols": shape[1], "labels": labels, "sweeps": sweeps},
            "cycles": dataclasses.asdict(found), "memory_bits": memories,
            "multipliers": {use: {"count": count, "bits": [a, b]} for use, (count, a, b) in products.items()}}, indent=1))
        return
    click.echo(f"{shape[1]}x{shape[0]} sites, {labels} labels, {sweeps} sweeps: {found.running} cycles without stalls, "
               f"{found.loading} to load, {found.reading} to read")
    click.echo(f"memory: {sum(memories.values())} bits")
    for use, bits in memories.items():
        click.echo(f"  {use:18} {bits:>12}")
    click.echo(f"multipliers: {sum(of[0] for of in products.values())}")
    for use, (count, a, b) in products.items():
        click.echo(f"  {use:24} {count:>6} of {a} x {b} bits")
