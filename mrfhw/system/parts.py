"""How long named parts of a run take, for who listens."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from contextvars import ContextVar

__all__ = ["part", "timed"]

_listening: ContextVar[dict[str, float] | None] = ContextVar("parts", default=None)


@contextlib.contextmanager
def timed() -> Iterator[dict[str, float]]:
    """Seconds of each `part` within, by its name, added up; of a part within another both have them."""
    found: dict[str, float] = {}
    token = _listening.set(found)
    try:
        yield found
    finally:
        _listening.reset(token)


@contextlib.contextmanager
def part(name: str) -> Iterator[None]:
    """What is done within is a part of that name."""
    found = _listening.get()
    if found is None:
        yield
        return
    began = time.perf_counter()
    try:
        yield
    finally:
        found[name] = found.get(name, 0.0) + time.perf_counter() - began
