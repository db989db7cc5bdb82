"""Which variant draws a field soonest on a device, by trying them there: no bit depends on the choice."""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import dataclass, replace

import numpy as np

from mrfhw.field.problem import ProblemError, Run
from mrfhw.samplers.gpu.device import Device
from mrfhw.samplers.gpu.fields import Fields, Sweep
from mrfhw.samplers.gpu.points import likely
from mrfhw.samplers.gpu.source import PLAIN, Variant
from mrfhw.samplers.gpu.tables import GpuTables

__all__ = ["GROUPS", "Trial", "timed", "tried", "tuned"]

GROUPS = ((64, 1), (128, 1), (256, 1), (32, 4), (16, 8), (8, 8))
_LONGEST = 64  # sweeps that one variant is timed for
_WORTH_TIMING = 0.02  # seconds of a timing that tell variants apart


@dataclass(frozen=True)
class Trial:
    """A variant that was tried.

    variant: which.
    sweep_s: seconds of a sweep, the least of its timings; infinite where the device does not take it.
    """

    variant: Variant
    sweep_s: float


def _stages(best: Variant) -> Generator[list[Variant], Variant, None]:
    """Stages of a search: variants that differ from the best one so far in one respect. The caller sends the best one."""
    best = yield [replace(best, group=group) for group in GROUPS if group != best.group]
    best = yield [replace(best, keep=not best.keep)]
    best = yield [replace(best, fixed=not best.fixed)]
    yield [replace(best, local_doubles=doubles, local_labels=labels)
           for doubles, labels in ((True, False), (False, True), (True, True))]


def tried(device: Device, tables: GpuTables, seconds: float, memory: int | None = None) -> list[Trial]:
    """Variants of a field's draw in the order in which they were tried: the plain one, the best one that is known of a like field
    on a device of that name (`mrfhw.samplers.gpu.points`), then, from the better one on, the groups, whether energies are kept,
    whether loops over labels are written out, and what is copied into local memory, each with the best of what is before.

    seconds: after which no other one is tried.
    memory: as of `Fields`.
    """
    began = time.perf_counter()
    found = [timed(device, tables, PLAIN, memory)]
    known = likely(device, tables)
    if known is not None and known != PLAIN and time.perf_counter() - began <= seconds:
        found.append(timed(device, tables, known, memory))
    stages = _stages(_soonest(found))
    some = next(stages)
    while True:
        for variant in some:
            if time.perf_counter() - began > seconds:
                return found
            if all(trial.variant != variant for trial in found):
                found.append(timed(device, tables, variant, memory))
        try:
            some = stages.send(_soonest(found))
        except StopIteration:
            return found


def _soonest(found: list[Trial]) -> Variant:
    return min(found, key=lambda trial: trial.sweep_s).variant


def timed(device: Device, tables: GpuTables, variant: Variant, memory: int | None = None) -> Trial:
    """What a sweep takes."""
    problem = tables.problem
    temperature = next(problem.schedule.temperatures())
    try:
        fields = Fields(device, [tables], [Run(sweeps=1, estimate="last")], [np.zeros(problem.shape, np.uint8)], variant,
                        memory)
    except ProblemError:  # a group or local memory that it does not take
        return Trial(variant, float("inf"))
    least, sweeps = float("inf"), 1
    while sweeps <= _LONGEST:  # the first sweep has what is done once, and is short beside the others
        began = time.perf_counter()
        fields.sweep([[Sweep(number, temperature, False)] for number in range(sweeps)])
        device.wait()
        took = time.perf_counter() - began
        least = min(least, took / sweeps)
        if took > _WORTH_TIMING and sweeps > 1:
            break
        sweeps *= 2
    return Trial(variant, least)


def tuned(device: Device, tables: GpuTables, seconds: float, memory: int | None = None) -> Variant:
    """The one that was soonest in so many seconds."""
    return _soonest(tried(device, tables, seconds, memory))
