"""How fast machines mix that evaluate subsets of a site's slots, beside one that evaluates all: effective samples a visit.

    python -m studies.subset_mixing [--machines 4:4,2:4] [--fields 50] [--sweeps 2000] [--seed 1]

By the bit-exact model, of fields of 24x24 sites: 64 labels without order (Potts) with random costs; isolated pairs of such sites,
which have no other neighbour; and random ones of 16 to 64 labels, whose costs are noise, a plane of labels in noise, or none, whose
doubletons are those of Potts, truncated linear ones or random ones, at a random weight and temperature. A machine is LANES:SLOTS.
Of each kind of field: the effective samples a visit and site of all slots, the median one of every third site that moves, and how
many times as many each machine has. Of random fields the median, the least, and how many have half as many or more. A field that
hardly moves (less than .02 effective samples a visit of all slots) is drawn again: its number would be that of a few steps.
Last, how far what is predicted before a run (`mrfhw.runs.subset_mixing`) is from that, of all fields and each machine.
"""

from __future__ import annotations

from typing import Any

import click
import numpy as np
from tqdm import tqdm

from mrfhw.analysis.many_series import effective_sizes
from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.fpga.report import markdown
from mrfhw.machine.config import Config
from mrfhw.machine.samplers import Race
from mrfhw.runs.subset_mixing import predicted_mixing
from mrfhw.twin.machine import Machine
from studies.lanes_and_slots import LanesAndSlots

__all__ = ["MOVES", "drawn", "effective", "machine", "pairs", "potts"]

SIDE = 24
LABELS = 64
MOVES = 0.02  # effective samples a visit of all slots, from which on a field is compared
_STILL = np.zeros((SIDE, SIDE, 2), np.int64)


def machine(lanes: int, slots: int) -> Config:
    """A tile that holds a field, whose draws deviate little: slots is 0 for all of them."""
    return Config.preset("matching", mesh_rows=1, mesh_cols=1, spus=1, lanes=lanes, subset_slots=slots, lmem_banks=4, tile_rows=32,
                         tile_cols=32, s2_words=1 << 16, label_bits=6, edge_bits=1, doubletons="table", pairwise_bits=4,
                         vector_bits=0, sampler=Race(uniform_bits=14, fraction_bits=6))


def potts(rng: np.random.Generator, beta: int = 8, temperature: float = 16.0, **more: Any) -> Problem:
    """Labels without order, whose costs are any numbers below 64."""
    return Problem(labels=LABELS, unary=rng.integers(0, 64, (SIDE, SIDE, LABELS)), doubleton="absolute", tau=1, beta=beta,
                   schedule=Schedule.constant(temperature), **more)


def pairs(rng: np.random.Generator) -> Problem:
    """Pairs of sites side by side without other neighbours."""
    edges = _STILL.copy()
    edges[:, ::2, 0] = 1
    return potts(rng, 32, 16.0, edges=edges)


def drawn(rng: np.random.Generator) -> Problem:
    """A random field."""
    labels, of_label = int(rng.integers(16, LABELS + 1)), np.arange(LABELS)
    kind = rng.integers(3)
    unary = rng.integers(0, (64, 24, 1)[kind], (SIDE, SIDE, labels))
    if kind == 1:
        plane = np.add.outer(np.arange(SIDE), np.arange(SIDE)) * labels // (2 * SIDE)
        unary = unary + np.minimum(np.abs(plane[..., None] - of_label[:labels]) * int(rng.integers(1, 6)), 40)
    tau = int(rng.choice([1, 1, 2, 4, 8]))
    pairwise = np.minimum(np.abs(np.subtract.outer(of_label[:labels], of_label[:labels])), tau)
    if rng.random() < 0.25:
        some = rng.integers(0, 8, (labels, labels))
        pairwise = np.minimum(some, some.T)
    return Problem(labels=labels, unary=unary, doubleton="table", pairwise=pairwise, beta=int(rng.integers(1, 9)),
                   schedule=Schedule.constant(float(rng.uniform(4, 24))))


def effective(config: Config, problem: Problem, sweeps: int, seed: int) -> float:
    """Effective samples a visit and site, from all sweeps but the first tenth: the median of every third site that moves."""
    chain = Machine(config, problem, Run(sweeps=sweeps, burn_in=0, seed=seed))
    looks = np.empty((sweeps, len(range(0, problem.sites, 3))), np.uint8)
    for look in looks:
        chain.sweep()
        look[:] = chain.image(chain.labels).reshape(-1)[::3]
    counted = looks[sweeps // 10:].T[:, None].astype(float)
    moving = counted[np.ptp(counted, axis=(1, 2)) > 0]
    return float(np.median(effective_sizes(moving, (0.05, 0.95))[0])) / counted.shape[2] if len(moving) else 0.0


@click.command()
@click.option("--machines", type=LanesAndSlots(), default="4:4,2:4,1:6", show_default=True, help="Lanes and slots of subsets.")
@click.option("--fields", type=click.IntRange(1, 10_000), default=50, show_default=True, help="Random ones.")
@click.option("--sweeps", type=click.IntRange(100, 1_000_000), default=2000, show_default=True)
@click.option("--seed", type=click.IntRange(0, 10_000), default=1, show_default=True)
def main(machines: list[tuple[int, int]], fields: int, sweeps: int, seed: int) -> None:
    """Effective samples a visit of subsets of slots, beside those of all slots."""
    rng = np.random.default_rng(seed)

    apart = list[list[float]]()  # what is predicted less what is measured

    def compared(problem: Problem) -> tuple[float, list[float]]:
        of_all = effective(machine(1, 0), problem, sweeps, seed)
        if of_all < MOVES:
            return of_all, [0.0] * len(machines)
        shares = [effective(machine(*one), problem, sweeps, seed) / of_all for one in machines]
        told = [predicted_mixing(machine(*one), problem, Run(sweeps=sweeps, burn_in=0)) for one in machines]
        apart.append([(one or 0.0) - share for one, share in zip(told, shares, strict=True)])
        return of_all, shares

    rows = [("field", "all slots", *(f"K = {lanes}, N = {slots}" for lanes, slots in machines))]
    for name, problem in (("Potts", potts(rng)), ("Potts, colder", potts(rng, 16, 8.0)), ("isolated pairs", pairs(rng))):
        of_all, shares = compared(problem)
        rows.append((name, f"{of_all:.2f}", *(f"{share:.2f}" for share in shares)))
    found: list[tuple[float, list[float]]] = []
    with tqdm(total=fields, leave=False) as bar:
        while len(found) < fields:
            one = compared(drawn(rng))
            if one[0] >= MOVES:
                found.append(one)
                bar.update()
    of_all, of_machines = np.array([one for one, _ in found]), np.array([shares for _, shares in found])
    rows += [(f"{fields} random ones: median", f"{np.median(of_all):.2f}", *(f"{one:.2f}" for one in np.median(of_machines, 0))),
             ("least", f"{of_all.min():.2f}", *(f"{one:.2f}" for one in of_machines.min(0))),
             ("half as many or more", "", *(f"{one}" for one in (of_machines >= 0.5).sum(0)))]
    click.echo(markdown(rows))
    for (lanes, slots), far in zip(machines, np.abs(apart).T, strict=True):
        click.echo(f"predicted, K = {lanes}, N = {slots}: {np.median(far):.2f} off in the median of {len(far)} fields, "
                   f"{np.quantile(far, 0.9):.2f} in nine of ten, {far.max():.2f} at most")


if __name__ == "__main__":
    main()
