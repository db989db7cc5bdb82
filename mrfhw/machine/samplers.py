"""The samplers that a machine may have: the parameters of each, and what follows from them."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from mrfhw.machine.parameters import ConfigError, Parameter, check, choice, described, parameters, whole

__all__ = ["SAMPLERS", "Cdf", "Race", "Sampler", "sampler_of"]


@dataclass(frozen=True, kw_only=True)
class _Sampler:
    name: ClassVar[str]

    def __post_init__(self) -> None:
        check(self)

    def to_dict(self) -> dict[str, Any]:
        """Name and parameters, as JSON has them."""
        return {"name": self.name, **dataclasses.asdict(self)}


@described
@dataclass(frozen=True, kw_only=True)
class Race(_Sampler):
    """Gumbel-max: the label with the least E(l) - T G(u), G from a table."""

    name: ClassVar[str] = "race"

    uniform_bits: int = whole(12, 8, 14, "Bits of the uniform number u, and of the Gumbel table's address.",
                              option="gumbel_uniform_bits", sampler=name)
    fraction_bits: int = whole(6, 2, 8, "Fraction bits of a Gumbel number.", option="gumbel_fraction_bits", sampler=name)
    segments: int = choice(1, (1, 4, 8), "Segments of the Gumbel table, each of half as many numbers u as the one before and "
                           "with as many entries; with 1 the table has an entry for each u.", option="gumbel_segments",
                           sampler=name)

    @property
    def place_bits(self) -> int:
        """Bits of u that are a place in a segment. The bits above them say which: as many as are set one after the other."""
        return self.uniform_bits - (self.segments - 1)

    @cached_property
    def gumbel_entries(self) -> np.ndarray:
        """G(u) = -log(-log u) in units of 2^-fraction_bits, a segment after the other; int64.

        u is the middle of the numbers that share an entry: segment s begins at 1 - 2^-s, and each has 2^place_bits entries.
        """
        places = (np.arange(1 << self.place_bits) + 0.5) / (1 << self.place_bits)
        begins = 1 - 0.5 ** np.arange(self.segments)
        u = begins[:, None] + np.diff(begins, append=1)[:, None] * places
        return np.rint(-np.log(-np.log(u.ravel())) * (1 << self.fraction_bits)).astype(np.int64)

    @cached_property
    def gumbel_table(self) -> np.ndarray:
        """(2^uniform_bits,) int64: the entry of each u."""
        u = np.arange(1 << self.uniform_bits)
        segment = np.zeros_like(u)
        for bit in range(self.uniform_bits - 1, self.place_bits - 1, -1):
            segment += (segment == self.uniform_bits - 1 - bit) & (u >> bit & 1)
        return self.gumbel_entries[segment << self.place_bits | u & (1 << self.place_bits) - 1]

    @cached_property
    def gumbel_bits(self) -> int:
        """Signed width of an entry."""
        return int(max(self.gumbel_entries.max() + 1, -self.gumbel_entries.min())).bit_length() + 1

    def temperature_fraction_bits(self, temperature_bits: int) -> int:
        """Fraction bits of the coefficient T, whatever its width."""
        return 8

    def derived(self, label_bits: int) -> dict[str, int]:
        """The numbers that follow, by name."""
        return {"gumbel_bits": self.gumbel_bits}


@described
@dataclass(frozen=True, kw_only=True)
class Cdf(_Sampler):
    """Inverse transform over scaled energies (Equations 3.2-3.4)."""

    name: ClassVar[str] = "cdf"

    probability_bits: int = whole(12, 2, 16, "Width of a probability.", sampler=name)
    floor: str = choice("integer", ("power_of_two", "integer"), "What a probability is rounded down to.",
                        option="probability_floor", sampler=name)
    exponent_fraction_bits: int = whole(6, 1, 8, "Fraction bits of the exponent, and address bits of the exponential's table.",
                                        sampler=name)
    uniform_bits: int = whole(18, 8, 24, "Bits of the uniform number.", sampler=name)

    @property
    def probability_max(self) -> int:
        return (1 << self.probability_bits) - 1

    @cached_property
    def exponent_table(self) -> np.ndarray:
        """floor((2^P - 1) 2^-f) for each fraction f of an octave (Equation 3.3); int64.

        With the power-of-two floor (Equation 3.4) its highest bit alone: shifted right by whole octaves, that
        is the highest bit of the shifted value too.
        """
        f = np.arange(1 << self.exponent_fraction_bits) / (1 << self.exponent_fraction_bits)
        table = np.floor(self.probability_max * np.exp2(-f)).astype(np.int64)
        return table if self.floor == "integer" else 1 << np.log2(table).astype(np.int64)

    def total_bits(self, label_bits: int) -> int:
        """Width of the running sum of the probabilities of 2^label_bits labels."""
        return self.probability_bits + label_bits

    def temperature_fraction_bits(self, temperature_bits: int) -> int:
        """Fraction bits of the coefficient log2(e)/T of that width."""
        return temperature_bits - 4

    def derived(self, label_bits: int) -> dict[str, int]:
        """The numbers that follow, by name."""
        return {"probability_max": self.probability_max, "total_bits": self.total_bits(label_bits)}


Sampler = Race | Cdf
SAMPLERS: dict[str, type[Race] | type[Cdf]] = {cls.name: cls for cls in (Cdf, Race)}


def sampler_of(value: Any) -> Sampler:
    """The sampler that a name, a mapping of name and parameters (`to_dict`), or a sampler says. Raises ConfigError."""
    if isinstance(value, (Race, Cdf)):
        return value
    name, given = value, {}
    if isinstance(value, dict):
        name = value.get("name")
        given = {field: item for field, item in value.items() if field != "name"}
    if not isinstance(name, str) or name not in SAMPLERS:
        raise ConfigError(f"sampler is {name!r}; it must be one of {', '.join(SAMPLERS)}: choose one")
    known = [p.field for p in parameters(SAMPLERS[name])]
    for field in given:
        if field not in known:
            raise ConfigError(f"{field} is not a parameter of the {name} sampler; its parameters are {', '.join(known)}")
    return SAMPLERS[name](**given)


def sampler_parameters() -> list[Parameter]:
    """The parameters of all samplers."""
    return [parameter for cls in SAMPLERS.values() for parameter in parameters(cls)]
