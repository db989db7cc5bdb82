"""What a board cannot be."""

from __future__ import annotations

from mrfhw.system.errors import ProblemError

__all__ = ["BuildError"]


class BuildError(ProblemError):
    """A board cannot be built as asked. One line: what, and what to do."""
