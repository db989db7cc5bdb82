"""What a job takes of a chip: visits with their cycles, for each part of the chip that it may be given."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

from mrfhw.field.given import finite, whole_number
from mrfhw.system.errors import ProblemError

__all__ = ["WHOLE", "Job", "Part", "Visit"]

MOST_PARTS = 1024  # of a mesh or a memory


@dataclass(frozen=True, order=True)
class Part:
    """A part of a chip: `units` of `of` equal parts of its mesh, and one of `contexts` equal parts of each tile's memories.

    Equal parts are equal: Part(2, 4) is Part(1, 2). Raises ProblemError for numbers that are no part.
    """

    units: int = 1
    of: int = 1
    contexts: int = 1

    def __post_init__(self) -> None:
        for name in ("of", "contexts"):
            whole_number(name, getattr(self, name), 1, MOST_PARTS, "give one of them", f"a chip is in 1 to {MOST_PARTS} parts")
        whole_number("units", self.units, 1, self.of, "give one of them", f"a part is 1 to {self.of} of {self.of} units")
        shared = math.gcd(self.units, self.of)
        object.__setattr__(self, "units", self.units // shared)
        object.__setattr__(self, "of", self.of // shared)

    def __str__(self) -> str:
        mesh = "the whole mesh" if self.of == 1 else f"{self.units}/{self.of} of the mesh"
        return mesh + ("" if self.contexts == 1 else f" with 1/{self.contexts} of the memories")


WHOLE = Part()


@dataclass(frozen=True)
class Visit:
    """What is loaded, swept and read at a time, a whole field or a window of it, in cycles of the bus, the tiles and the bus."""

    load: int
    run: int
    read: int

    def __post_init__(self) -> None:
        for name, least in (("load", 0), ("run", 1), ("read", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < least:
                raise ProblemError(f"{name} is {value!r}; a visit takes whole cycles of it, {least} at least: give so many")

    @property
    def cycles(self) -> int:
        """With nothing beside it."""
        return self.load + self.run + self.read


Chains = tuple[tuple[Visit, ...], ...]


@dataclass(frozen=True)
class Job:
    """Visits that are to be run, once each.

    name: for messages and tables. profile: for each part that it may be given, its chains' visits. The visits of a chain follow
    each other, each from what the last one's reading gave; chains do not wait for each other. arrival: the cycle from which it
    waits. owner: whose it is; weight: the share of the job's owner beside others', above 0. Raises ProblemError for a job without
    visits or with a weight that is none.
    """

    name: str
    profile: Mapping[Part, Chains]
    arrival: int = 0
    owner: str = ""
    weight: float = 1.0

    def __post_init__(self) -> None:
        if not self.profile or not all(chains and all(chains) for chains in self.profile.values()):
            raise ProblemError(f"job {self.name!r} has a chain of 0 visits; there is 1 at least: leave the job out, or "
                               "give its visits")
        finite("weight", self.weight, 0, "give such as 1")
        whole_number("arrival", self.arrival, 0, 2**62, "give one of them", "a job arrives at a whole cycle from 0 on")

    def chains(self, part: Part) -> Chains:
        """Its visits on a part. Raises ProblemError where its profile lacks it."""
        if part not in self.profile:
            raise ProblemError(f"job {self.name!r} has no cycles for {part}; it has those for "
                               f"{', '.join(map(str, sorted(self.profile)))}: give them with the job, or another policy")
        return self.profile[part]

    def visits(self, part: Part) -> int:
        """How many, of all chains."""
        return sum(map(len, self.chains(part)))

    def alone(self, part: Part = WHOLE) -> int:
        """Cycles of all visits one after the other on a part, with nothing beside them."""
        return sum(visit.cycles for chain in self.chains(part) for visit in chain)
