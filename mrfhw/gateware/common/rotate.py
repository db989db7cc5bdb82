"""A rotation of several values."""

from __future__ import annotations

from collections.abc import Sequence

from amaranth import Mux, Value

__all__ = ["rotated"]


def rotated(values: Sequence[Value], amount: Value, unit: int = 1) -> list[Value]:
    """values[(unit x amount + n) mod their number] for each n. A level of multiplexers a bit of `amount`."""
    found, count = list(values), len(values)
    for bit in range(len(amount)):
        step = unit << bit
        found = [Mux(amount[bit], found[(n + step) % count], found[n]) for n in range(count)]
    return found
