"""How many processors there are to work with."""

from __future__ import annotations

import os

__all__ = ["THREADS", "processors"]

THREADS = "MRFHW_THREADS"  # the variable of the environment that says how many threads work


def processors() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
