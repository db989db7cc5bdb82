"""Label evaluations a second of backend gpu on an OpenCL device: by variant, and by chains in a launch, beside backend cpu.

    python -m studies.gpu [--device 0] [--rows 375] [--cols 450] [--labels 64] [--chains 1,8] [--points DIR]

A field of noise with doubletons truncated at 2, whose histograms are not counted: what a sweep takes is the same for any of its
size. Each variant is what differs from the one before in one respect (`mrfhw.samplers.gpu.tuning`). With several chains a launch
draws them all. Points are added to DIR as `mrfhw.samplers.gpu.points` keeps them.
"""

from __future__ import annotations

import math
import time
from pathlib import Path

import click
import numpy as np

from mrfhw.field.initial import initial_labels
from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.fpga.report import markdown
from mrfhw.samplers.cpu import CpuChain
from mrfhw.samplers.gpu.device import Device, of_name
from mrfhw.samplers.gpu.fields import Fields, Sweep
from mrfhw.samplers.gpu.points import KernelPoint, add_points
from mrfhw.samplers.gpu.source import Variant
from mrfhw.samplers.gpu.tables import GpuTables
from mrfhw.samplers.gpu.tuning import tried

__all__ = ["chains_a_launch", "field", "numbers"]

_WARM, _TIMED = 2, 6  # sweeps


def field(rows: int, cols: int, labels: int) -> Problem:
    """Noise, as any field of its size takes as long."""
    unary = np.random.default_rng(0).integers(0, 64, (rows, cols, labels))
    return Problem(labels=labels, unary=unary, beta=12, tau=2, schedule=Schedule.constant(8.0))


def chains_a_launch(device: Device, tables: GpuTables, chains: int, variant: Variant) -> float:
    """Seconds of a sweep of so many chains."""
    problem = tables.problem
    runs = [Run(sweeps=1, seed=seed, estimate="last") for seed in range(chains)]
    fields = Fields(device, [tables] * chains, runs, [initial_labels(problem, run) for run in runs], variant)
    for sweeps in (_WARM, _TIMED):
        began = time.perf_counter()
        fields.sweep([[Sweep(number, 8.0, False)] * chains for number in range(sweeps)])
        device.wait()
    return (time.perf_counter() - began) / _TIMED


def numbers(context: click.Context, option: click.Parameter, value: str) -> list[int]:
    numbers = value.split(",")
    if not all(number.isdecimal() and int(number) for number in numbers):
        raise click.BadParameter(f"{value!r} has chains such as 1,8")
    return [int(number) for number in numbers]


@click.command()
@click.option("--device", default="", help="Number or a part of its name.  [default: the first GPU]")
@click.option("--rows", type=click.IntRange(1, 10_000), default=375, show_default=True)
@click.option("--cols", type=click.IntRange(1, 10_000), default=450, show_default=True)
@click.option("--labels", type=click.IntRange(2, 256), default=64, show_default=True)
@click.option("--chains", callback=numbers, default="1,8", show_default=True)
@click.option("--points", type=click.Path(path_type=Path, file_okay=False), help="A folder that points are added to.")
def main(device: str, rows: int, cols: int, labels: int, chains: list[int], points: Path | None) -> None:
    """Label evaluations a second on an OpenCL device."""
    problem, opened = field(rows, cols, labels), of_name(device)
    tables, evaluations = GpuTables(problem), rows * cols * labels
    trials = tried(opened, tables, 600.0)
    found = [("variant", "M labels/s")]
    found += [(trial.variant.text, f"{evaluations / trial.sweep_s / 1e6:,.0f}") for trial in trials]
    best = min(trials, key=lambda trial: trial.sweep_s)
    found += [(f"the soonest, {number} chains a launch",
               f"{number * evaluations / chains_a_launch(opened, tables, number, best.variant) / 1e6:,.0f}") for number in chains]
    beside = CpuChain(problem, Run(sweeps=1, estimate="last"))
    for _ in range(_WARM + _TIMED):
        began = time.perf_counter()
        beside.sweep()
    found.append(("backend cpu, all threads", f"{evaluations / (time.perf_counter() - began) / 1e6:,.0f}"))
    click.echo(markdown(found))
    click.echo(f"{opened.name}, {opened.driver}; {rows}x{cols} sites, {labels} labels")
    if points is not None:
        taken = [trial for trial in trials if math.isfinite(trial.sweep_s)]
        add_points((KernelPoint.of(opened, tables, trial.variant, trial.sweep_s) for trial in taken), points)


if __name__ == "__main__":
    main()
