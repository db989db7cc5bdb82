"""Registers in a row."""

from __future__ import annotations

from typing import Any

from amaranth import Module, Signal

__all__ = ["copied", "delayed"]


def delayed(m: Module, value: Any, cycles: int, name: str, *, reset_less: bool = False) -> Any:
    """`value`, of any shape, delayed by `cycles` registers; `value` itself for 0 cycles."""
    if cycles < 0:
        raise ValueError(f"cycles is {cycles}; {name} cannot come before it is known: give 0 or more")
    for stage in range(1, cycles + 1):
        held = Signal(value.shape(), name=f"{name}_{stage}", reset_less=reset_less)
        m.d.sync += held.eq(value)
        value = held
    return value


def copied(m: Module, value: Any, name: str, *, reset_less: bool = True) -> Any:
    """`value`, of any shape, a cycle later, in a register beside the part that uses it.

    Synthesis merges registers that are alike, and the copies of many parts are: `keep` asks it not to.
    """
    copy = Signal(value.shape(), name=name, reset_less=reset_less, attrs={"keep": 1})
    m.d.sync += copy.eq(value)
    return copy
