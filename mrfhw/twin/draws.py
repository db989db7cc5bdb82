"""The probabilities of one draw of a machine, computed by enumeration: a property of the widths alone.

A uniform number is taken as uniform on its 2^k values; all else is the machine's integer arithmetic (Equations 3.1-3.4).
"""

from __future__ import annotations

import numpy as np

from mrfhw.field.energy import limited
from mrfhw.field.problem import Problem
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.samplers import Cdf, Race

__all__ = ["conditional", "exact_conditional", "total_variation"]


def total_variation(a: np.ndarray, b: np.ndarray) -> float:
    """Half the sum of |a - b|: the most that the probability of any event differs; 0 to 1."""
    return float(np.abs(np.asarray(a) - np.asarray(b)).sum() / 2)


def exact_conditional(energies: np.ndarray, temperature: float) -> np.ndarray:
    """p(l) proportional to exp(-E(l) / T); float64 of the shape of `energies`, (..., L)."""
    scaled = (np.asarray(energies, np.float64) - np.min(energies, -1, keepdims=True)) / temperature
    weight = np.exp(-scaled)
    return np.asarray(weight / weight.sum(-1, keepdims=True))


def conditional(config: Config, problem: Problem, energies: np.ndarray, coefficient: int) -> np.ndarray:
    """Probability of each label of one draw; float64 (L,), 0 for a label that no random number gives.

    energies: (L,) integers, alpha E_singleton + beta sum of E_doubleton; shift and cap of Equation 3.1 are
    applied here. coefficient: the temperature register (`mrfhw.placement.temperature.coefficient`).
    cdf: the number of uniforms of each label over 2^uniform_bits. race: the chance that the label's score
    is the least, the lowest label on ties, over the values of the Gumbel table.
    """
    config = Derived.of(config)
    draw = _race if isinstance(config.sampler, Race) else _cdf
    return draw(config, limited(energies, problem.energy_shift, config.energy_max), coefficient)


def _weights(config: Config, energy: np.ndarray, coefficient: int) -> np.ndarray:
    """P of Equation 3.4, or the integer floor of Equation 3.3; int64 (L,)."""
    config = Derived.of(config)
    cdf = config.sampler
    assert isinstance(cdf, Cdf)
    fraction = cdf.exponent_fraction_bits
    exponent = ((energy - energy.min()) * coefficient) >> (config.temperature_fraction_bits - fraction)
    mantissa = cdf.exponent_table[exponent & ((1 << fraction) - 1)]
    weight = mantissa >> np.minimum(exponent >> fraction, cdf.probability_bits)
    if cdf.floor == "power_of_two":
        # frexp's exponent of a whole number is its bit length.
        weight = np.where(weight > 0, 1 << np.maximum(np.frexp(weight)[1].astype(np.int64) - 1, 0), 0)
    return np.asarray(weight)


def _cdf(config: Config, energy: np.ndarray, coefficient: int) -> np.ndarray:
    config = Derived.of(config)
    sums = np.concatenate([[0], _weights(config, energy, coefficient).cumsum()])
    # Label l is drawn where sums[l] <= u total / 2^k < sums[l + 1]: the uniforms below each sum, rounded up.
    below = -(-(sums << config.sampler.uniform_bits) // sums[-1])
    return np.asarray(np.diff(below) / (1 << config.sampler.uniform_bits))


def _race(config: Config, energy: np.ndarray, coefficient: int) -> np.ndarray:
    """Sum over score levels s of P(score_l = s) prod_(j<l) P(score_j > s) prod_(j>l) P(score_j >= s)."""
    config = Derived.of(config)
    assert isinstance(config.sampler, Race)
    noise = (config.sampler.gumbel_table * coefficient) >> config.temperature_fraction_bits
    low, high = int(noise.min()), int(noise.max())
    # up_to[i]: chance of a noise of at most low - 1 + i.
    up_to = np.concatenate([[0], np.bincount(noise - low).cumsum()]) / len(noise)
    base = energy << config.sampler.fraction_bits
    levels = np.unique(base[:, None] - np.unique(noise))
    # The best label scores base.min() - low at the most, and nothing below base.min() - high exists.
    levels = levels[levels <= base.min() - low]
    room = (base[:, None] - levels) - low + 1
    at_least = up_to[room.clip(0, high - low + 1)]
    above = up_to[(room - 1).clip(0, high - low + 1)]
    none_before = np.ones_like(above)
    none_before[1:] = above[:-1].cumprod(0)
    none_after = np.ones_like(above)
    none_after[:-1] = at_least[:0:-1].cumprod(0)[::-1]
    return np.asarray(((at_least - above) * none_before * none_after).sum(1))
