"""Widths of numbers."""

from __future__ import annotations

__all__ = ["bits_for"]


def bits_for(n: int) -> int:
    """Bits that hold the values 0..n-1, at least 1."""
    return max(1, (n - 1).bit_length())
