"""What a tile has once for each context: how its parts are named, and which of them is meant."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from amaranth import Array, Module, Value
from amaranth.lib.wiring import In, Member

from mrfhw.machine.bits import bits_for

__all__ = ["chosen", "context_ports", "join_contexts", "name_of", "of_context"]


def context_ports(contexts: int) -> dict[str, Member]:
    """The ports of a part with several contexts. context: the one that runs. bus_context: the one that the bus accesses."""
    return {"context": In(bits_for(contexts)), "bus_context": In(bits_for(contexts))} if contexts > 1 else {}


def join_contexts(m: Module, part: Any, context: Any, bus_context: Any) -> None:
    """Connect a part's `context_ports`."""
    m.d.comb += [part.context.eq(context), part.bus_context.eq(bus_context)]


def name_of(name: str, number: int, contexts: int) -> str:
    """The name of a context's part."""
    return f"{name}_{number}" if contexts > 1 else name


def of_context(here: Value, context: Any, number: int, contexts: int) -> Value:
    """Whether `here` is set and it is this context's."""
    return here & (context == number) if contexts > 1 else here


def chosen(values: Sequence[Any], context: Any) -> Any:
    """The value of a context, of one layout or width in all."""
    if len(values) == 1:
        return values[0]
    return Array([Value.cast(value) for value in values])[context]
