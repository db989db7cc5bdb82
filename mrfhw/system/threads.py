"""Threads of the compiled loops: how many, and work that is shared among them."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from typing import TypeVar

from mrfhw.system.errors import ProblemError
from mrfhw.system.processors import THREADS, processors

__all__ = ["ENTRIES_WORTH_A_THREAD", "PIXELS_WORTH_A_THREAD", "in_shares", "threads_of"]

ENTRIES_WORTH_A_THREAD = 1 << 18  # of a table of singletons or weights; fewer take less time than to hand them over
PIXELS_WORTH_A_THREAD = 1 << 13  # of which each takes what is around it

Made = TypeVar("Made")


def threads_of(threads: int | None) -> int:
    """`threads`, or what MRFHW_THREADS says, or the processors that this process may use."""
    given = os.environ.get(THREADS, "") if threads is None else str(threads)
    if not given:
        return processors()
    if not given.isdecimal() or int(given) < 1:
        raise ProblemError(f"threads is {given}; the model takes a whole number from 1: give one, or leave out {THREADS}")
    return int(given)


@lru_cache(maxsize=1)
def _pool(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, "mrfhw-model")


if hasattr(os, "register_at_fork"):  # a forked child inherits the pool but not its threads, and would wait for them forever
    os.register_at_fork(after_in_child=_pool.cache_clear)


def in_shares(work: Callable[[int, int], Made], parts: int, shares: int, threads: int) -> list[Made]:
    """`work`(first, after the last) of `parts` things in about equal shares, in their order, at most one for each of `threads`."""
    shares = max(1, min(threads, parts, shares))
    edges = [parts * n // shares for n in range(shares + 1)]
    if shares == 1:
        return [work(0, parts)]
    futures = [_pool(threads - 1).submit(work, first, last) for first, last in itertools.pairwise(edges[:-1])]
    own = work(edges[-2], edges[-1])
    return [*(future.result() for future in futures), own]
