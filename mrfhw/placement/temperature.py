"""The temperature as the hardware holds it: a coefficient by sweep, exact integers.

The `race` sampler multiplies by T, the `cdf` sampler by log2(e) / T. Both are unsigned fixed point with
`Derived.temperature_fraction_bits` fraction bits, in units of shifted energy.
"""

from __future__ import annotations

import math
from collections.abc import Iterator

from mrfhw.field.problem import Problem, Schedule
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.samplers import Race

__all__ = ["coefficient", "coefficients", "geometric_registers", "least_ratio", "realized", "realized_limits"]


def coefficient(config: Config, temperature: float, energy_shift: int) -> int:
    """The register value nearest to `temperature` (units of unshifted energy)."""
    config = Derived.of(config)
    scaled = temperature / (1 << energy_shift)
    value = scaled if isinstance(config.sampler, Race) else math.log2(math.e) / scaled
    return round(value * (1 << config.temperature_fraction_bits))


def realized(config: Config, value: int, energy_shift: int) -> float:
    """The temperature that a register value stands for, in units of unshifted energy."""
    config = Derived.of(config)
    number = value / (1 << config.temperature_fraction_bits)
    scaled = number if isinstance(config.sampler, Race) else math.log2(math.e) / number
    return scaled * (1 << energy_shift)


def realized_limits(config: Config, energy_shift: int) -> tuple[float, float]:
    """Lowest and highest temperature that the coefficient holds to 5 % or better."""
    coarse, full = 10, (1 << config.temperature_bits) - 1
    ends = (realized(config, coarse, energy_shift), realized(config, full, energy_shift))
    return min(ends), max(ends)


def geometric_registers(config: Config, schedule: Schedule, energy_shift: int) -> tuple[int, int]:
    """(ratio, limit) of the hardware's geometric schedule: coefficient x ratio a sweep, up to the limit.

    The ratio must not be below `least_ratio`.
    """
    config = Derived.of(config)
    ratio = schedule.ratio if isinstance(config.sampler, Race) else 1 / schedule.ratio
    return round(ratio * (1 << config.ratio_fraction_bits)), coefficient(config, schedule.limit, energy_shift)


def least_ratio(config: Config) -> float:
    """The fastest cooling that the ratio's register holds, as a factor a sweep."""
    config = Derived.of(config)
    one = 1 << config.ratio_fraction_bits
    return 1 / one if isinstance(config.sampler, Race) else one / ((1 << config.ratio_bits) - 1)


def coefficients(config: Config, problem: Problem) -> Iterator[int]:
    """The coefficient of sweep 0, 1, 2, ... without end, bit for bit as the hardware steps it."""
    config = Derived.of(config)
    schedule, shift = problem.schedule, problem.energy_shift
    if schedule.kind == "table":
        for value in schedule.table:
            for _ in range(schedule.stride):
                yield coefficient(config, value, shift)
        while True:
            yield coefficient(config, schedule.table[-1], shift)
    start = coefficient(config, schedule.start, shift)
    if schedule.kind == "constant":
        while True:
            yield start
    ratio, limit = geometric_registers(config, schedule, shift)
    guard = config.temperature_guard_bits
    held, stop = start << guard, limit << guard
    while True:
        yield held >> guard
        product = (held * ratio) >> config.ratio_fraction_bits
        held = max(product, stop) if isinstance(config.sampler, Race) else min(product, stop)
