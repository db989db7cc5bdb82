"""Widths of numbers, and names of what each channel of the data has."""

from __future__ import annotations

__all__ = ["bits_for", "of_channel"]


def bits_for(n: int) -> int:
    """Bits that hold the values 0..n-1, at least 1."""
    return max(1, (n - 1).bit_length())


def of_channel(name: str, channel: int) -> str:
    """The name of a parameter, register or field of a channel: `name` of the first, then name_2, name_3."""
    return f"{name}_{channel + 1}" if channel else name
