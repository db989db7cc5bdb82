"""Registers in a row."""

from __future__ import annotations

from typing import Any

from amaranth import Module, Signal

__all__ = ["delayed"]


def delayed(m: Module, value: Any, cycles: int, name: str, *, reset_less: bool = False, own: bool = False) -> Any:
    """`value`, of any shape, delayed by `cycles` registers; `value` itself for 0 cycles.

    own: the registers are to lie beside the part that uses them. Synthesis merges those of many parts, which are alike: the
    attribute `keep` asks it not to.
    """
    if cycles < 0:
        raise ValueError(f"cycles is {cycles}; {name} cannot come before it is known: give 0 or more")
    for stage in range(1, cycles + 1):
        held = Signal(value.shape(), name=f"{name}_{stage}", reset_less=reset_less, attrs={"keep": 1} if own else {})
        m.d.sync += held.eq(value)
        value = held
    return value
