"""Temperature by sweep."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from mrfhw.field.given import finite, short, whole_number
from mrfhw.system.errors import ProblemError

__all__ = ["Schedule"]


def _entries(table: Iterable[float]) -> tuple[float, ...]:
    try:
        return tuple(table)
    except TypeError:
        raise ProblemError(f"table is {short(repr(table))}; it has temperatures one after the other: "
                           "give such as (9, 5, 2)") from None


@dataclass(frozen=True)
class Schedule:
    """Temperature by sweep, in units of unshifted energy.

    kind: "constant", start throughout; "geometric", start x ratio^sweep, not beyond limit; or "table".
    start: T of the first sweep.
    ratio: of a geometric one, of T from sweep to sweep.
    limit: of a geometric one, where T ends.
    table: temperatures, each for stride sweeps; the last one holds.
    stride: sweeps of each temperature of a table.
    """

    kind: str = "constant"
    start: float = 1.0
    ratio: float = 1.0
    limit: float = 1.0
    table: tuple[float, ...] = ()
    stride: int = 1

    def __post_init__(self) -> None:
        hint = "give a positive temperature"
        if self.kind not in ("constant", "geometric", "table"):
            raise ProblemError(f"schedule is {self.kind!r}; it must be constant, geometric or table: choose one")
        if self.kind == "table":
            object.__setattr__(self, "table", tuple(finite("temperature", value, 0, hint) for value in _entries(self.table)))
            if not self.table:
                raise ProblemError("the temperature table is empty; it needs at least 1 entry: give one")
            object.__setattr__(self, "stride", whole_number("stride", self.stride, 1, (1 << 32) - 1, "give one of them",
                                                            "a table entry holds for 1 to 2^32 - 1 sweeps"))
        else:
            object.__setattr__(self, "start", finite("temperature", self.start, 0, hint))
        if self.kind == "geometric":
            object.__setattr__(self, "ratio", finite("ratio", self.ratio, 0, "give one above 0 and at most 1"))
            if self.ratio > 1:
                raise ProblemError(f"ratio is {self.ratio}; cooling takes a ratio above 0 and at most 1: give one")
            object.__setattr__(self, "limit", finite("temperature limit", self.limit, 0, hint))
            if self.limit > self.start:
                raise ProblemError(f"temperature limit is {self.limit}; cooling from {self.start} ends at or below it: "
                                   "give a lower limit")

    @classmethod
    def constant(cls, temperature: float) -> Schedule:
        return cls("constant", start=temperature)

    @classmethod
    def geometric(cls, start: float, ratio: float, limit: float) -> Schedule:
        return cls("geometric", start=start, ratio=ratio, limit=limit)

    @classmethod
    def of_table(cls, table: Iterable[float], stride: int = 1) -> Schedule:
        return cls("table", table=_entries(table), stride=stride)

    @property
    def hottest(self) -> float:
        return max(self.table) if self.kind == "table" else self.start

    @property
    def coldest(self) -> float:
        if self.kind == "table":
            return min(self.table)
        return self.limit if self.kind == "geometric" else self.start

    def temperatures(self) -> Iterator[float]:
        """T of sweep 0, 1, 2, ... without end."""
        for sweep in itertools.count():
            if self.kind == "table":
                yield self.table[min(sweep // self.stride, len(self.table) - 1)]
            elif self.kind == "geometric":
                yield max(self.start * self.ratio**sweep, self.limit)
            else:
                yield self.start
