"""Faults put into gateware while a proof is made, which must then fail."""

from __future__ import annotations

import contextlib
import importlib
import inspect
from collections.abc import Iterator
from dataclasses import dataclass
from types import FunctionType
from typing import Any

__all__ = ["Fault", "planted"]


@dataclass(frozen=True)
class Fault:
    """module: of the gateware. old, new: a text that it has once, and what stands there instead."""

    module: str
    old: str
    new: str


@contextlib.contextmanager
def planted(fault: Fault) -> Iterator[None]:
    """The module's functions and methods are those of its text with the fault, within the context. Raises ValueError."""
    module: Any = importlib.import_module(fault.module)
    source = inspect.getsource(module)
    if source.count(fault.old) != 1:
        raise ValueError(f"{fault.module} has {fault.old!r} {source.count(fault.old)} times; a fault stands at one place: give a "
                         "text that it has once")
    other = dict(vars(module))
    exec(compile(source.replace(fault.old, fault.new), module.__file__, "exec"), other)
    kept: list[tuple[FunctionType, Any]] = []
    try:
        for function, new in _pairs(vars(module), other, fault.module):
            kept.append((function, function.__code__))
            function.__code__ = new.__code__
        yield
    finally:
        for function, code in kept:
            function.__code__ = code


def _pairs(before: dict[str, Any], after: dict[str, Any], module: str) -> Iterator[tuple[FunctionType, FunctionType]]:
    """Functions of a namespace and of its changed copy, methods among them."""
    for name, old in before.items():
        new = after.get(name)
        if isinstance(old, type) and old.__module__ == module:
            yield from _pairs(dict(vars(old)), dict(vars(new)), module)
        elif (isinstance(old, FunctionType) and isinstance(new, FunctionType) and old.__module__ == module
              and old.__code__.co_freevars == new.__code__.co_freevars):
            yield old, new
