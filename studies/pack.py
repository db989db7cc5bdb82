"""`python -m studies.pack`: cycles of many small fields one after the other on a large machine, and packed into one."""

from __future__ import annotations

import click
import numpy as np

from mrfhw.cost.estimate import Cycles
from mrfhw.field.problem import Problem, ProblemError, Run
from mrfhw.fpga.report import markdown
from mrfhw.machine.derived import Derived
from mrfhw.placement.packing import Packed, pack
from studies.reproduce.performance import SIDE

__all__ = ["MACHINE", "SIZES", "measure"]

# The published 1024x2 machine, with the weights of edges that a pack needs.
MACHINE = Derived.preset("paper-16x2", mesh_rows=SIDE, mesh_cols=SIDE, tile_rows=32, tile_cols=32, edge_bits=1)
SIZES = (((64, 64), 4), ((96, 128), 16), ((128, 128), 64), ((256, 256), 16), ((256, 256), 64))  # (rows, columns), labels
_HEAD = ("field", "labels", "packs", "laid out as", "filled", "sampling, alone", "packed", "sooner",
         "with loading and reading, alone", "packed", "sooner")


def _field(shape: tuple[int, int], labels: int) -> Problem:
    return Problem(labels=labels, singleton1=np.zeros(shape, np.int64), constants=np.zeros(labels, np.int64),
                   singleton=MACHINE.singletons[0], tau=3)


def _packs(field: Problem, count: int, run: Run) -> list[tuple[Packed, Cycles]]:
    """So many fields, as many at a time as the machine holds."""
    found, at_once = [], count
    while count:
        at_once = min(at_once, count)
        packed = pack([field] * at_once, MACHINE)
        try:
            found.append((packed, Cycles.of(MACHINE, packed.problem, run)))
        except ProblemError:
            if at_once == 1:
                raise
            at_once -= 1
            continue
        count -= at_once
    return found


def measure(shape: tuple[int, int], labels: int, count: int, run: Run) -> tuple[list[Packed], tuple[int, int], tuple[int, int]]:
    """The packs of `count` fields, and cycles, (sampling, with loading and reading), of the fields alone and of the packs."""
    field = _field(shape, labels)
    alone, packs = Cycles.of(MACHINE, field, run), _packs(field, count, run)
    one, many = ((sum(of.running for of in some), sum(of.running + of.loading + of.reading for of in some))
                 for some in ([alone] * count, [cycles for _, cycles in packs]))
    return [packed for packed, _ in packs], one, many


@click.command()
@click.option("--fields", type=click.IntRange(1, 1000), default=20, show_default=True, help="How many.")
@click.option("--sweeps", type=click.IntRange(1, 100_000), default=500, show_default=True, help="Of each.")
def main(fields: int, sweeps: int) -> None:
    """Cycles of many fields of one size on the 1024x2 machine, without stalls of its log: one after the other, and packed."""
    rows = []
    for shape, labels in SIZES:
        packs, alone, packed = measure(shape, labels, fields, Run(sweeps=sweeps))
        high, wide = packs[0].problem.shape
        rows.append((f"{shape[1]}x{shape[0]}", str(labels), str(len(packs)), f"{wide}x{high}", f"{packs[0].filled:.0%}",
                     *(text for one, many in zip(alone, packed, strict=True)
                       for text in (f"{one:,}", f"{many:,}", f"{one / many:.2f}"))))
    click.echo(markdown([_HEAD, *rows]))
    click.echo(f"{fields} fields, {sweeps} sweeps; cycles of the machine, those of its bus for loading and reading")


if __name__ == "__main__":
    main()
