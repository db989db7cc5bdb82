"""What every backend returns: labels, histogram, messages and cycles of one run."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

__all__ = ["Result", "first_difference"]


@dataclass(kw_only=True)
class Result:
    """Outcome of one run of one backend.

    counts: (H, W, L) uint32, how often each label was drawn after the burn-in; 0 at clamped sites.
    last: (H, W) uint8, the last sample. initial: (H, W) uint8.
    messages: (n, 3) int64 rows (address, label, count) in the order of arrival; None where there is no log.
    lmem: (H, W, 4) int32, what is left in LMem: current label and count, the other label and count.
    cycles: from start to the last write-back, stalls included; None for `float`.
    stall_cycles, gap_cycles: cycles waiting for the log, cycles of no labels between colours.
    label_evaluations: L x unclamped sites x sweeps. lanes: label evaluations a cycle at most.
    """

    backend: str
    counts: np.ndarray
    last: np.ndarray
    initial: np.ndarray
    label_evaluations: int
    wall_seconds: float
    messages: np.ndarray | None = None
    lmem: np.ndarray | None = None
    cycles: int | None = None
    stall_cycles: int | None = None
    gap_cycles: int | None = None
    lanes: int | None = None
    extra: dict[str, Any] = field(default_factory=dict)

    @property
    def mode(self) -> np.ndarray:
        """(H, W) uint8: the most frequent label, the lowest on ties; the last label where nothing was counted."""
        mode = self.counts.argmax(-1).astype(np.uint8)
        return np.where(self.counts.any(-1), mode, self.last)

    @property
    def log_messages(self) -> int | None:
        """Messages that were sent; None where there is no log."""
        return self.extra.get("log_messages") if self.messages is None else len(self.messages)

    @property
    def utilization(self) -> float | None:
        """label_evaluations / (lanes x cycles); None without cycles."""
        if not self.cycles or not self.lanes:
            return None
        return self.label_evaluations / (self.lanes * self.cycles)


def first_difference(a: Result, b: Result) -> str | None:
    """One line that says where two results first differ; None if labels, histogram, LMem, messages and cycles are equal."""
    names = f"{a.backend} and {b.backend}"
    for what, x, y in (("last sample", a.last, b.last), ("histogram", a.counts, b.counts)):
        if x.shape != y.shape:
            return f"{names} differ in the shape of the {what}: {x.shape}, {y.shape}"
        if not np.array_equal(x, y):
            where = tuple(int(i) for i in np.argwhere(x != y)[0])
            return f"{names} differ first in the {what} at {where}: {x[where]}, {y[where]}"
    if (a.lmem is None) != (b.lmem is None):
        return f"{names} differ: only one has an LMem"
    if a.lmem is not None and b.lmem is not None and not np.array_equal(a.lmem, b.lmem):
        row, col, _ = (int(i) for i in np.argwhere(a.lmem != b.lmem)[0])
        return f"{names} differ first in LMem at {row, col}: {a.lmem[row, col].tolist()}, {b.lmem[row, col].tolist()}"
    if (a.messages is None) != (b.messages is None):
        return f"{names} differ: only one has log messages"
    if a.messages is not None and b.messages is not None:
        x, y = (m[np.lexsort(m.T[::-1])] for m in (a.messages, b.messages))
        if x.shape != y.shape:
            return f"{names} differ in the number of log messages: {len(x)}, {len(y)}"
        if not np.array_equal(x, y):
            row = int(np.argwhere((x != y).any(1))[0, 0])
            return f"{names} differ in the sorted log messages at {row}: {x[row].tolist()}, {y[row].tolist()}"
    for key in ("cycles", "stall_cycles", "gap_cycles", "log_messages"):
        if getattr(a, key) != getattr(b, key):
            return f"{names} differ in {key}: {getattr(a, key)}, {getattr(b, key)}"
    return None
