"""Whether memories are poisoned, for tests alone: part of what a circuit follows from, known without Amaranth."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

__all__ = ["is_poisoned", "poisoned"]

_POISON = ContextVar("poison", default=False)


@contextmanager
def poisoned() -> Iterator[None]:
    """Context in which an `UnguardedMemory` gives the inverse of the old word when an address is read and written in one cycle.

    A machine that uses such a word then differs from the model. Its circuit has a digest of its own: make it, and run it, within.
    """
    token = _POISON.set(True)
    try:
        yield
    finally:
        _POISON.reset(token)


def is_poisoned() -> bool:
    """Whether this is within `poisoned`."""
    return _POISON.get()
