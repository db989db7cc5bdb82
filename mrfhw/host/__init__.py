"""Boards and systems that run a machine: links to them, and sessions that solve problems on them. Nothing of gateware."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mrfhw.host.remote import connect

__all__ = ["connect"]


def __getattr__(name: str) -> Any:
    # A link or an address alone needs no board's backend.
    if name == "connect":
        from mrfhw.host.remote import connect

        return connect
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
