"""What a run of one or several chains gives."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from mrfhw.analysis.trace import Trace
from mrfhw.field.problem import Run
from mrfhw.field.result import Result, mean_label
from mrfhw.system.large_arrays import as_type, copied

__all__ = ["Solution", "histograms_apart"]


@dataclass(frozen=True, kw_only=True)
class Solution:
    """Independent chains of one problem.

    results: one a chain. trace: None where a backend shows no sweeps. total: the histograms of all chains added, where those of the
    results were given up for it, and total_apart: what `apart` says of them. asked: sweeps, where the chains were ended before.
    given_up: whether that was in a longer run than the one that was asked for, which is not in this.
    longer: the run that each chain has done, where it went on after the one that was asked for.
    What a run's estimate does not need is None.
    """

    results: list[Result]
    trace: Trace | None = None
    total: np.ndarray | None = None
    total_apart: np.ndarray | None = None
    asked: int | None = None
    given_up: bool = False
    longer: Run | None = None

    @cached_property
    def counts(self) -> np.ndarray | None:
        """(H, W, L) unsigned: the histograms of all chains added; None where there are none."""
        return self.total if self.total is not None else _added(result.counts for result in self.results)

    @cached_property
    def apart(self) -> np.ndarray | None:
        """(H, W) float32: how far the histogram of a chain is from that of all chains before it, in total variation, of the
        farthest chain; 0 at sites that were not counted. None of a single chain, and where there are no histograms."""
        counts = [result.counts for result in self.results]
        if self.total_apart is not None or len(counts) < 2 or counts[0] is None:
            return self.total_apart
        before, found = counts[0].astype(np.uint32), np.zeros(counts[0].shape[:2], np.float32)
        for one in counts[1:]:
            if one is None:
                return None
            np.maximum(found, histograms_apart(before, one), out=found)
            before += one
        return found

    @cached_property
    def sums(self) -> np.ndarray | None:
        """(H, W, 2) int64: the sums of the labels and their numbers, of all chains added; None where there are none."""
        return _added(result.sums for result in self.results)

    @property
    def seen(self) -> Trace | None:
        """The trace; None also where it has no look."""
        return self.trace if self.trace is not None and len(self.trace.sweeps) else None

    @property
    def last(self) -> np.ndarray:
        """(H, W) uint8: the last sample of the first chain."""
        return self.results[0].last

    @cached_property
    def mean(self) -> np.ndarray | None:
        """(H, W) float64: the mean of all chains' counted labels; the last label where none was counted. None without sums."""
        return None if self.sums is None else mean_label(self.sums, self.last)


def histograms_apart(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """(H, W) float32: the total variation between the shares of two histograms (H, W, L); 0 where nothing was counted."""
    found = np.empty(one.shape[:2], np.float32)
    for row, (a, b) in enumerate(zip(one, other, strict=True)):  # by rows, as both may be large
        shares = [part / np.maximum(part.sum(-1, keepdims=True), 1) for part in (a, b)]
        found[row] = np.abs(shares[0] - shares[1]).sum(-1) / 2
    return found


def _added(arrays: Iterable[np.ndarray | None]) -> np.ndarray | None:
    """The sum of the arrays, in 32 bits at least; a single one may be returned itself. None where any is None."""
    first, *others = arrays
    if first is None:
        return None
    kind = np.promote_types(first.dtype, np.uint32)
    total = copied(first) if others and first.dtype == kind else as_type(first, kind)
    assert total is not None
    for other in others:
        if other is None:
            return None
        total += other
    return total
