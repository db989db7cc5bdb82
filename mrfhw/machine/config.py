"""The parameters of a machine, as its user gives them. What follows from them is in `mrfhw.machine.derived`."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass
from typing import Any, Self

from mrfhw.machine.constraints import first_broken
from mrfhw.machine.fields import MESH_SIDE, Fields
from mrfhw.machine.latency import Latency
from mrfhw.machine.parameters import ConfigError, Parameter, check, described, parameters
from mrfhw.machine.samplers import SAMPLERS, Cdf, Race, sampler_of, sampler_parameters

__all__ = ["CLOCK_HZ", "MESH_SIDE", "PRESETS", "Config", "ConfigError", "mesh_shape"]

CLOCK_HZ = 1_000_000, 1_000_000_000  # of a machine or a board, least and most


def mesh_shape(spes: int) -> tuple[int, int]:
    """The (rows, columns) nearest to a square whose product is `spes`, rows <= columns."""
    if not 1 <= spes <= MESH_SIDE**2:
        raise ConfigError(f"spes is {spes}; the limits are 1 to {MESH_SIDE**2}: give a number between them")
    rows = next(r for r in range(math.isqrt(spes), 0, -1) if spes % r == 0)
    if spes // rows > MESH_SIDE:
        raise ConfigError(f"spes is {spes}; no mesh of at most {MESH_SIDE} rows and columns has so many: give a number with "
                          "smaller factors")
    return rows, spes // rows


@described
@dataclass(frozen=True, kw_only=True, eq=False)
class Config(Fields):
    """Parameters of one accelerator. Every argument is checked; `ConfigError` says what to change.

    sampler: how a label is drawn, `mrfhw.machine.samplers.Race` or `Cdf` with their own parameters; "race" or "cdf" stands for that
        sampler with its defaults.

    Two machines are equal where their parameters are, `mrfhw.machine.derived.Derived` or not.
    """

    def __post_init__(self) -> None:
        check(self)
        object.__setattr__(self, "sampler", sampler_of(self.sampler))
        object.__setattr__(self, "latency", Latency.of_lanes(self.lanes, self.subset_slots))
        broken = first_broken(self)
        if broken is not None:
            raise ConfigError(broken)

    def with_latency(self, latency: Latency) -> Self:
        """This machine with other register stages in its parts; what `changed` makes of it has the gateware's own."""
        config = type(self)(**self._fields())
        object.__setattr__(config, "latency", latency)
        return config

    @property
    def cluster(self) -> Self:
        """One of its clusters, or of its contexts, as a machine of its own."""
        if self.seats == 1:
            return self
        one = self.changed(clusters=1, contexts=1)
        return one if one.latency == self.latency else one.with_latency(self.latency)

    def _values(self) -> tuple[Any, ...]:
        return (*(getattr(self, field.name) for field in dataclasses.fields(self)), self.latency)

    def __eq__(self, other: object) -> bool:
        return self._values() == other._values() if isinstance(other, Config) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._values())

    def to_dict(self) -> dict[str, Any]:
        """The parameters as JSON has them; those of the sampler in a mapping of their own, with its name.

        `latency` is among them where it is not the gateware's own, `clusters` and `contexts` where there are several.
        """
        own = self.latency == Latency.of_lanes(self.lanes, self.subset_slots)
        stages = {} if own else {"latency": dataclasses.asdict(self.latency)}
        fields = self._fields() | {"sampler": self.sampler.to_dict()} | stages
        for several in ("clusters", "contexts"):
            if fields[several] == 1:  # as machines were described before they had several
                del fields[several]
        return fields

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> Self:
        """The machine that `to_dict` describes; what is left out has its default. Raises ConfigError."""
        if "latency" in values:
            stages = values["latency"]
            plain = cls.from_dict({name: value for name, value in values.items() if name != "latency"})
            return plain.with_latency(Latency(**stages))
        known = {field.name for field in dataclasses.fields(cls)}
        for name in values:
            if name not in known:
                raise ConfigError(f"{name} is not a parameter; the parameters are {', '.join(sorted(known))}")
        return cls(**values)

    @classmethod
    def preset(cls, name: str, **changes: Any) -> Self:
        """A named machine, with `changes` applied over it. The name of the sampler that it has already leaves that as it is."""
        if name not in PRESETS:
            raise ConfigError(f"preset is {name!r}; the presets are {', '.join(PRESETS)}: choose one")
        values = PRESETS[name]
        if changes.get("sampler") == values.get("sampler", Race()).name:
            changes = {field: value for field, value in changes.items() if field != "sampler"}
        return cls(**{**values, **changes})

    def changed(self, **options: Any) -> Self:
        """This machine with other values of parameters, by the names of `space`, those of a sampler among them.

        Raises ConfigError, also for a parameter of a sampler that the machine does not have.
        """
        sampler = self.sampler
        if "sampler" in options and options["sampler"] != sampler.name:
            sampler = sampler_of(options["sampler"])
        own = {p.name: p for p in sampler_parameters()}
        inner = {}
        for name in [name for name in options if name in own]:
            if own[name].sampler != sampler.name:
                raise ConfigError(f"{name} is given, a parameter of the {own[name].sampler} sampler, and the machine's sampler is "
                                  f"{sampler.name}: give sampler {own[name].sampler}, or leave {name} out")
            inner[own[name].field] = options[name]
        fields = {name: value for name, value in options.items() if name not in own}
        return self.from_dict({**self._fields(), **fields, "sampler": dataclasses.replace(sampler, **inner)})

    def _fields(self) -> dict[str, Any]:
        return {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}

    @classmethod
    def space(cls) -> list[Parameter]:
        """Every parameter that a machine can have, in order, each sampler's own after the sampler.

        `mrfhw.machine.constraints.CONSTRAINTS` are the limits between them; `changed` takes values by their names.
        """
        at = [field.name for field in dataclasses.fields(cls)].index("sampler")
        own, sampler = parameters(cls), Parameter(
            "sampler", "sampler", Race.name, "How a label is drawn.", choices=tuple(SAMPLERS))
        return [*own[:at], sampler, *sampler_parameters(), *own[at:]]


# The seed's widths: 8-bit energies, power-of-two cdf, 32-bit messages, 256K sites.
_PAPER: dict[str, Any] = dict(
    mesh_rows=4, mesh_cols=4, tile_rows=128, tile_cols=128, energy_bits=8, sampler=Cdf(probability_bits=8, floor="power_of_two"),
    counter_bits=6, address_bits=20, lmem_banks=4,
)

# For stereo by census alone, whose doubletons are truncated at 3.
_CENSUS: dict[str, Any] = dict(
    mesh_rows=3, mesh_cols=1, spus=1, lanes=16, tile_rows=64, tile_cols=64, data_bits=8, distance="hamming", singleton_cap=1,
    doubletons="table", pairwise_bits=2, edge_bits=2, weight_bits=4, vector_bits=0, shift_bits=0, lmem_banks=4,
    sampler=Race(uniform_bits=14, segments=8), line_bits=128)

PRESETS: dict[str, dict[str, Any]] = {
    "default": {},
    # What the applications' own fields need: descriptors of 8 bits with weights of edges, and three colours with them.
    "matching": dict(distance="both", data_bits=8, singleton_cap=1, edge_bits=2),
    "colour": dict(data_bits_2=6, data_bits_3=6, edge_bits=2),
    "paper-16x1": {**_PAPER, "spus": 1},
    "paper-16x2": {**_PAPER, "spus": 2},
    "smallest": dict(mesh_rows=1, mesh_cols=1, spus=1, tile_rows=16, tile_cols=16, line_bits=64, hub_depth=1,
                     temperature_table=2),
    # The machines of boards (`mrfhw build --board`).
    "ulx3s-85f": dict(mesh_rows=2, mesh_cols=4, tile_rows=64, tile_cols=64, line_bits=128),
    # Sixteen lanes that share a site; two, which take as many cycles for a subset of its slots.
    "census": _CENSUS,
    "census-subsets": {**_CENSUS, "mesh_rows": 4, "mesh_cols": 2, "lanes": 2, "subset_slots": 4, "tile_rows": 32},
    "icebreaker": dict(mesh_rows=1, mesh_cols=1, spus=1, tile_rows=16, tile_cols=32, label_bits=5, energy_bits=8, weight_bits=5,
                       vector_bits=2, shift_bits=1, sampler=Race(uniform_bits=8, fraction_bits=4), temperature_bits=12,
                       temperature_table=2, counter_bits=4, hub_depth=1, line_bits=32),
    "tang-nano-9k": dict(mesh_rows=1, mesh_cols=1, spus=1, tile_rows=32, tile_cols=32, sampler=Race(uniform_bits=10),
                         temperature_table=2, hub_depth=1, line_bits=32),
    "tang-nano-20k": dict(mesh_rows=1, mesh_cols=2, tile_rows=64, tile_cols=32, line_bits=128),
    "arty-a7-35": dict(mesh_rows=2, mesh_cols=2, tile_rows=64, tile_cols=64, line_bits=128),
    "arty-a7-100": dict(mesh_rows=3, mesh_cols=4),
}
