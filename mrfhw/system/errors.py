"""Input that cannot be used, and how the command line ends when it is interrupted."""

from __future__ import annotations

__all__ = ["ABORTED", "ProblemError"]

ABORTED = 130  # exit status, as of a shell for SIGINT


class ProblemError(ValueError):
    """Input that cannot be solved. The message names the value, the limit and a way out."""
