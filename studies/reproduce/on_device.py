"""Seconds of chains on a device (backend gpu), for the figures whose baseline is a GPU: `--gpu`."""

from __future__ import annotations

import dataclasses
import time

from mrfhw.field.problem import Problem, Run
from mrfhw.samplers.events import Skipping
from mrfhw.samplers.gpu.chain import Choice, GpuChain
from mrfhw.samplers.gpu.device import of_name
from mrfhw.samplers.gpu.tables import GpuTables

__all__ = ["device_of", "seconds_of", "speedups"]


def device_of(choice: Choice) -> str:
    """Its name. Raises ProblemError where there is none."""
    return of_name(choice.device).name


def seconds_of(choice: Choice, problem: Problem, sweeps: int, seed: int, skipping: Skipping | None = None,
               tables: GpuTables | None = None) -> float:
    """Of a chain's sweeps, none counted, to its labels; of the second of two chains, as the first compiles."""
    tables = GpuTables(problem) if tables is None else tables
    took = 0.0
    for _ in range(2):
        chain = GpuChain(problem, Run(sweeps=sweeps, seed=seed, estimate="last"),
                         choice=dataclasses.replace(choice, skipping=skipping), tables=tables)
        assert chain.sample.shape == problem.shape  # it is on the device
        began = time.perf_counter()
        for _ in range(sweeps):
            chain.sweep()
        assert chain.sample.shape == problem.shape
        took = time.perf_counter() - began
    return took


def speedups(choice: Choice, problem: Problem, sweeps: int, seed: int, cutoffs: tuple[int, ...],
             regions: tuple[tuple[int, int], ...]) -> dict[float, dict[tuple[int, int], float]]:
    """Of event-driven sampling over plain sampling, by cut-off and region."""
    tables = GpuTables(problem)
    plain = seconds_of(choice, problem, sweeps, seed, tables=tables)
    return {cutoff: {region: plain / seconds_of(choice, problem, sweeps, seed, Skipping(cutoff, region), tables)
                     for region in regions} for cutoff in cutoffs}
