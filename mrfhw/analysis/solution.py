"""What a run of one or several chains gives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mrfhw.analysis.trace import Trace
from mrfhw.field.result import Result

__all__ = ["Solution"]


@dataclass(frozen=True, kw_only=True)
class Solution:
    """Independent chains of one problem.

    results: one a chain. trace: None where a backend shows no sweeps. total: the histograms of all chains added, where those of the
    results were given up for it. asked: sweeps, where the chains were ended before.
    """

    results: list[Result]
    trace: Trace | None = None
    total: np.ndarray | None = None
    asked: int | None = None

    @cached_property
    def counts(self) -> np.ndarray:
        """(H, W, L) uint32: the histograms of all chains added."""
        if self.total is not None:
            return self.total
        first, *others = (result.counts for result in self.results)
        if not others:
            return first
        total = first + others[0]
        for counts in others[1:]:
            total += counts
        return total

    @property
    def last(self) -> np.ndarray:
        """(H, W) uint8: the last sample of the first chain."""
        return self.results[0].last

    @cached_property
    def mode(self) -> np.ndarray:
        """(H, W) uint8: the most frequent label of all chains, the lowest on ties; the last label where none was counted."""
        return np.where(self.counts.any(-1), self.counts.argmax(-1).astype(np.uint8), self.last)
