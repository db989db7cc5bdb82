"""Input that cannot be used."""

from __future__ import annotations

__all__ = ["ProblemError"]


class ProblemError(ValueError):
    """Input that cannot be solved. The message names the value, the limit and a way out."""
