"""Speed of the compiled 16x2 chip, of the bit-exact model and of a sampler without its constraints.

Chip: cycles/s. Model, float and peer (`studies.bench.tables_sampler`): label evaluations/s on 256 x 192 sites, the model on one
core and on all. Medians of five runs after one that compiles. The chip sweeps 10 times, the last 5 counted; the others 60
times, the last 30 counted, as the first sweeps from random labels are those with the most log messages.
"""

from __future__ import annotations

import os
import platform
import statistics

import numpy as np

from mrfhw.field.problem import Run
from mrfhw.machine.config import Config
from mrfhw.machine.samplers import Cdf, Race, Sampler
from mrfhw.placement.placement import Placement
from mrfhw.simulation.chip import CompiledChip, run_placed
from studies.bench.software import cpu_speed, float_speed, model_speed, problem, tables_speed
from studies.bench.tables_sampler import TablesSampler

REPEATS = 5
CHIP_RUN = Run(sweeps=10, burn_in=5)
MACHINES = {
    "race": Race(),
    "cdf integer": Cdf(floor="integer"),
    "cdf power-of-two": Cdf(floor="power_of_two"),
}


def chip_speed(sampler: Sampler) -> float:
    config = Config(sampler=sampler)
    placement = Placement(config, problem(24), CHIP_RUN)
    speeds = []
    with CompiledChip(config) as chip:
        for _ in range(REPEATS):
            result = run_placed(chip, placement)
            speeds.append(result.simulated_cycles / result.wall_seconds)
    return statistics.median(speeds)


def check_peer() -> None:
    """The peer's labels of many two-site fields against enumeration; AssertionError where they are off by 5 sigma."""
    copies, single, double, heat = 40000, np.array([[0, 3, 5], [4, 1, 2]]), 2 * (1 - np.eye(3, dtype=int)), 2.0
    # Fields of two sites, in rows that do not touch: the columns between them have one label, and no say.
    singles = np.full((2, 2 * copies, 3), 20000)
    singles[..., 0] = 0
    singles[:, ::2] = single[:, None]
    doubles = np.zeros((3, 3), int)
    sampler = TablesSampler(singles, doubles, heat)
    for _ in range(4):
        sampler.sweep()
    for row in (0, 1):
        seen = np.bincount(sampler.labels[row, ::2], minlength=3) / copies
        wanted = np.exp(-single[row] / heat)
        wanted /= wanted.sum()
        assert (np.abs(seen - wanted) < 5 * np.sqrt(wanted / copies)).all()
    pairs = np.zeros(9)
    sampler = TablesSampler(single[:, None], double, heat)
    for _ in range(20000):
        sampler.sweep()
        pairs[sampler.labels[0, 0] * 3 + sampler.labels[1, 0]] += 1
    energies = single[0][:, None] + single[1][None] + double
    wanted = np.exp(-energies / heat).ravel()
    wanted /= wanted.sum()
    # Successive sweeps of a chain are correlated: allow for it.
    assert (np.abs(pairs / pairs.sum() - wanted) < 8 * np.sqrt(wanted / pairs.sum())).all()


def main() -> None:
    print(f"{platform.processor() or platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}")
    check_peer()
    for sampler in (Race(), Cdf()):
        print(f"chip 16x2 {sampler.name}: {chip_speed(sampler) / 1e3:.0f} k cycles/s", flush=True)
    for labels in (24, 56):
        peer = tables_speed(labels, REPEATS) / 1e6
        print(f"peer, float tables, L={labels}, one core: {peer:.0f} M label evaluations/s", flush=True)
        one, every = (cpu_speed(labels, threads, REPEATS) / 1e6 for threads in (1, None))
        print(f"cpu L={labels}: {one:.0f} M label evaluations/s on one core, {every:.0f} M on all", flush=True)
        print(f"float L={labels}, one core: {float_speed(labels, REPEATS) / 1e6:.0f} M label evaluations/s", flush=True)
        for name, sampler in MACHINES.items():
            one, every = (model_speed(Config(sampler=sampler), labels, threads, REPEATS) / 1e6 for threads in (1, None))
            print(f"model {name} L={labels}: {one:.0f} M label evaluations/s on one core ({one / peer:.2f} of the peer), "
                  f"{every:.0f} on all", flush=True)


if __name__ == "__main__":
    main()
