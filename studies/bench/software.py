"""Speeds of samplers in software on this computer: the model, float64, and two that know nothing of the machine."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from functools import cache
from typing import Protocol

from mrfhw.applications.stereo.field import stereo_problem
from mrfhw.field.energy import doubleton_table, singleton_energies
from mrfhw.field.problem import Problem, Run
from mrfhw.field.result import Result
from mrfhw.machine.config import Config
from mrfhw.samplers import cpu, exact
from mrfhw.samplers.gpu.chain import Choice, GpuChain
from mrfhw.scenes import stereo_scene
from mrfhw.twin import machine
from studies.bench.numpy_sampler import NumpySampler
from studies.bench.tables_sampler import TablesSampler

__all__ = ["RUN", "SHAPE", "cpu_speed", "cpu_weighed", "float_speed", "gpu_speed", "model_speed", "numpy_speed", "problem",
           "tables_speed"]

SHAPE = (192, 256)  # sites
RUN = Run(sweeps=60, burn_in=30)  # half counted, as the first sweeps from random labels have the most log messages
NUMPY_SWEEPS = 2


class _Sweeps(Protocol):
    def sweep(self) -> None: ...


def problem(labels: int) -> Problem:
    """The built-in stereo scene."""
    scene = stereo_scene(*SHAPE, labels, 0)
    return stereo_problem(scene.left >> 2, scene.right >> 2, labels=labels)


def _median(measure: Callable[[], float], repeats: int) -> float:
    """Of label evaluations a second, after one run that compiles."""
    measure()
    return statistics.median(measure() for _ in range(repeats))


def _solved_speed(solve: Callable[[Problem], Result], labels: int, repeats: int) -> float:
    def once() -> float:
        result = solve(problem(labels))
        return result.label_evaluations / result.wall_seconds

    return _median(once, repeats)


def model_speed(config: Config, labels: int, threads: int | None, repeats: int) -> float:
    """The bit-exact model of `config`; threads: None for all cores."""
    return _solved_speed(lambda p: machine.solve(config, p, RUN, threads=threads), labels, repeats)


def cpu_speed(labels: int, threads: int | None, repeats: int) -> float:
    """The backend cpu; threads: None for all cores. Sites whose label is known to stay count with all their labels."""
    return _solved_speed(lambda p: cpu.solve(p, RUN, threads=threads), labels, repeats)


@cache
def cpu_weighed(labels: int) -> float:
    """Share of the visits in which the backend cpu weighs all labels; in the others it knows that the site keeps its own."""
    chain = cpu.CpuChain(problem(labels), RUN)
    for _ in range(RUN.sweeps):
        chain.sweep()
    return chain.drawn / (chain.problem.unclamped_sites * RUN.sweeps)


def gpu_speed(choice: Choice, labels: int, repeats: int) -> float:
    """The backend gpu on a device, a chain alone."""
    def solved(p: Problem) -> Result:
        chain = GpuChain(p, RUN, choice=choice)
        assert chain.sample.shape == p.shape  # it is on the device
        began = time.perf_counter()
        for _ in range(RUN.sweeps):
            chain.sweep()
        assert chain.counts is not None
        return chain.result(time.perf_counter() - began)

    return _solved_speed(solved, labels, repeats)


def float_speed(labels: int, repeats: int) -> float:
    """float64, one core."""
    return _solved_speed(lambda p: exact.solve(p, RUN), labels, repeats)


def _sweeps_speed(make: Callable[..., _Sweeps], labels: int, sweeps: int, repeats: int) -> float:
    p = problem(labels)
    sampler = make(singleton_energies(p), p.beta * doubleton_table(p), p.schedule.start)

    def once() -> float:
        began = time.perf_counter()
        for _ in range(sweeps):
            sampler.sweep()
        return p.labels * p.sites * sweeps / (time.perf_counter() - began)

    return _median(once, repeats)


def tables_speed(labels: int, repeats: int) -> float:
    """Tables of exp() by energy in numba, one core; counts nothing."""
    return _sweeps_speed(TablesSampler, labels, RUN.sweeps, repeats)


def numpy_speed(labels: int, repeats: int) -> float:
    """NumPy, one core; counts nothing."""
    return _sweeps_speed(NumpySampler, labels, NUMPY_SWEEPS, repeats)
