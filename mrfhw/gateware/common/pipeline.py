"""Registers in a row."""

from __future__ import annotations

from typing import Any

from amaranth import Module, Signal

__all__ = ["delayed"]


def delayed(m: Module, value: Any, cycles: int, name: str, *, reset_less: bool = False) -> Any:
    """`value`, of any shape, delayed by `cycles` registers; `value` itself for 0 cycles."""
    if cycles < 0:
        raise ValueError(f"cycles is {cycles}; {name} cannot come before it is known: give 0 or more")
    for stage in range(1, cycles + 1):
        held = Signal(value.shape(), name=f"{name}_{stage}", reset_less=reset_less)
        m.d.sync += held.eq(value)
        value = held
    return value
