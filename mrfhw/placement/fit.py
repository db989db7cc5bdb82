"""Whether the values of a problem are as narrow as a machine's words."""

from __future__ import annotations

from mrfhw.field.energy import doubleton_table
from mrfhw.field.given import whole_number
from mrfhw.field.problem import SPOKEN, WHOLE_NUMBERS, Problem
from mrfhw.machine.bits import of_channel
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.placement.temperature import least_ratio, realized_limits
from mrfhw.system.errors import ProblemError

__all__ = ["check_fits", "check_number", "check_schedule"]


def check_fits(config: Config, problem: Problem) -> None:
    """Raise ProblemError where a value is wider than the machine's words."""
    config = Derived.of(config)
    if problem.labels > config.max_labels:
        raise ProblemError(f"labels is {problem.labels}; a machine with label_bits = {config.label_bits} takes "
                           f"{config.max_labels}: give fewer labels or wider ones")
    for name in WHOLE_NUMBERS:
        check_number(config, name, getattr(problem, name))
    _check_channels(config, problem)
    _check_doubletons(config, problem)
    if problem.vectors is not None and config.vector_bits:
        reach = 1 << (config.vector_bits - 1)
        if problem.vectors.min() < -reach or problem.vectors.max() >= reach:
            raise ProblemError(f"vectors have components from {problem.vectors.min()} to {problem.vectors.max()}; "
                               f"vector_bits = {config.vector_bits} takes {-reach} to {reach - 1}: "
                               "give smaller ones, or a wider vector_bits")
    check_schedule(config, problem)


def _check_channels(config: Derived, problem: Problem) -> None:
    if len(problem.channels) > len(config.channel_bits):
        raise ProblemError(f"the data have {len(problem.channels)} channels; the machine takes {len(config.channel_bits)}: give "
                           f"fewer, or a machine with data_bits_{len(problem.channels)}")
    for number, channel in enumerate(problem.channels):
        kinds, bits = config.channel_singletons(number), config.channel_bits[number]
        if channel.singleton not in kinds and number:
            raise ProblemError(f"singleton is {channel.singleton!r} for channel {number + 1}; the first channel's data can be "
                               f"compared bit by bit, the others' take {' or '.join(kinds)}: give one for each channel, such as "
                               f"{'[' + ', '.join(('hamming', *('absolute' for _ in problem.channels[1:]))) + ']'}")
        if channel.singleton not in kinds:
            raise ProblemError(f"singleton is {channel.singleton!r}; channel {number + 1} of a machine with distance = "
                               f"{config.distance} takes {' or '.join(kinds)}: give one of them, or a machine with another "
                               "distance")
        check_number(config, "alpha", channel.alpha)
        if channel.most is not None and not config.singleton_cap:
            raise ProblemError(f"singleton_max is {channel.most}; a machine with singleton_cap = 0 has no limit: leave it out, or "
                               "give a machine with singleton_cap = 1")
        name_bits = of_channel("data_bits", number)
        for name in ("singleton1", "singleton2", "constants", "unary"):
            data, name = getattr(problem, name), SPOKEN.get(name, name)
            if data is None:
                continue
            if name != "unary" and problem.singleton1 is not None and problem.singleton1.ndim == 3:
                data = data[..., number]
            if data.min() < 0 or data.max() >= 1 << bits:
                raise ProblemError(f"{name} has values from {data.min()} to {data.max()}; {name_bits} = "
                                   f"{bits} takes 0 to {(1 << bits) - 1}: scale the "
                                   + ("costs, as mrfhw.field.costs.scaled_costs does" if name == "unary" else "data"))


def _check_doubletons(config: Derived, problem: Problem) -> None:
    if config.doubletons == "table":
        _check_entries(config, problem)
    elif problem.doubleton == "squared" and "squared" not in config.doubleton_kinds:
        raise ProblemError("the doubleton is squared; a machine with vector_bits = 0 has no vectors: give absolute or potts, or a "
                           "machine with vector_bits")
    for name, width, lacking in (
            ("pairwise", "pairwise_bits", "the doubleton is a table; a machine with pairwise_bits = 0 has none: give absolute, "
                                          "squared or potts"),
            ("edges", "edge_bits", "edges are given; a machine with edge_bits = 0 has no weights: leave them out")):
        values, bits = getattr(problem, name), getattr(config, width)
        if values is None or (name == "pairwise" and config.doubletons == "table"):
            continue
        if not bits:
            raise ProblemError(f"{lacking}, or give a machine with {width}")
        if values.max() >= 1 << bits:
            raise ProblemError(f"{name} has values up to {values.max()}; {width} = {bits} takes 0 to {(1 << bits) - 1}: scale "
                               "them, and beta with them")


def _check_entries(config: Derived, problem: Problem) -> None:
    """The doubleton of every pair of labels is an entry of the machine's table."""
    most, limit = int(doubleton_table(problem).max(initial=0)), config.doubleton_max
    if most > limit:
        raise ProblemError(f"the doubletons go up to {most}; the machine has them as a table, and pairwise_bits = "
                           f"{config.pairwise_bits} takes 0 to {limit}: give tau = {limit} or less, scale them and beta with them, "
                           f"or a machine with pairwise_bits = {most.bit_length()}")


def check_schedule(config: Config, problem: Problem) -> None:
    """Raise ProblemError where the machine cannot hold the problem's temperatures."""
    config = Derived.of(config)
    coldest, hottest = realized_limits(config, problem.energy_shift)
    for value in (problem.schedule.coldest, problem.schedule.hottest):
        if not coldest <= value <= hottest:
            raise ProblemError(f"temperature is {value:g}; this machine realizes {coldest:.3g} to {hottest:.4g} at "
                               f"energy_shift {problem.energy_shift}: scale alpha, beta and the temperature together, or give "
                               "more temperature_bits")
    if problem.schedule.kind == "geometric" and problem.schedule.ratio < least_ratio(config):
        raise ProblemError(f"ratio is {problem.schedule.ratio:g}; the {config.sampler.name} machine cools by at least "
                           f"{least_ratio(config):.3g} a sweep: give that or more, or a table")
    if len(problem.schedule.table) > config.temperature_table:
        raise ProblemError(f"the temperature table has {len(problem.schedule.table)} entries; the machine holds "
                           f"{config.temperature_table}: give fewer and a longer stride")


def check_number(config: Config, name: str, value: int | None) -> None:
    """Raise ProblemError where `value` of one of WHOLE_NUMBERS is none that the machine takes."""
    c = Derived.of(config)
    if name == "tau" and (value is None or c.doubletons == "table"):  # a table has the doubletons as they are truncated
        return
    if name == "energy_shift" and value and not c.shift_bits:
        raise ProblemError(f"energy_shift is {value}; a machine with shift_bits = 0 has no shift: leave it out, or give a machine "
                           "with shift_bits")
    high = {"alpha": c.weight_max, "beta": c.weight_max, "tau": c.doubleton_max,
            "energy_shift": c.shift_max, "out_of_range": (1 << c.singleton_bits) - 1}[name]
    whole_number(name, value, 0, high, "scale alpha, beta and the temperature together, or give more "
                 "weight_bits" if name in ("alpha", "beta")
                 else "give one of them", f"the machine takes whole numbers from 0 to {high}")
