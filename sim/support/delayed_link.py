"""A link whose bytes are under way for a while, for benches and tests."""

from __future__ import annotations

from mrfhw.simulation.delayed_link import DelayedLink

__all__ = ["DelayedLink"]
