"""What every backend returns: labels, histogram, messages and cycles of one run."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

import numpy as np

from mrfhw.field.records import Fields, Record, Recorded, check_arrays, read_record, take
from mrfhw.system.errors import ProblemError
from mrfhw.system.large_arrays import zeros

__all__ = ["ARRAYS", "NUMBERS", "Adding", "Result", "added", "first_difference", "histogram", "mean_label", "numbers",
           "result_of"]


class Adding(Enum):
    """How a number of several runs - the visits of windows, the chains of a problem - is made of theirs.

    SUM: their sum. MAX: the largest. SAME: they have one value. A number that one of the runs does not have is not there.
    """

    SUM = "sum"
    MAX = "max"
    SAME = "same"


def _number(adding: Adding) -> Any:
    return field(default=None, metadata={"adding": adding})


@dataclass(kw_only=True, eq=False)
class Result(Recorded):
    """Outcome of one run of one backend. What a backend does not have is None.

    counts: (H, W, L) unsigned, how often each label was drawn after the burn-in; 0 at clamped sites; of runs whose estimate is the
    mode. sums: (H, W, 2) int64, the sum of the labels drawn after the burn-in, and their number; 0 at clamped sites; of runs whose
    estimate is the mean. last: (H, W) uint8, the last sample. initial: (H, W) uint8.
    messages: (n, 3) int64 rows (address, label, count) in the order of arrival; None where there is no log, or too long a one.
    lmem: (H, W, 4) int32, what is left in LMem: current label and count, the other label and count, or in place of the last three
    a sum (`mrfhw.machine.entry_sums`); of runs whose estimate is the last sample the first two, and 0; None of windows.
    label_evaluations: L x unclamped sites x sweeps, or those that were not skipped. lanes: label evaluations a cycle at most.
    cycles: from start to the last write-back, stalls included; of windows all visits'.
    stall_cycles, gap_cycles: cycles waiting for the log, cycles of no labels between colours.
    label_cycles: slots with labels. simulated_cycles: clock cycles that a simulated chip took to run.
    loading_cycles, reading_cycles: cycles of the chip's bus for problem and answer; of the model, what a chip would need.
    loading_seconds, reading_seconds: the same on a host's clock.
    messages_counted: log messages by the count of the chip or model.
    replication: words of the second image stored for each of its own. windows: parts of the grid that the machine holds one
    at a time; rounds: sweeps over all of them; visits: loads of one.
    repeated_requests, damaged_frames, reconnections: what the link to a board went through.
    Equal where all values but the seconds are.
    """

    backend: str
    last: np.ndarray
    initial: np.ndarray
    label_evaluations: int = field(metadata={"adding": Adding.SUM})
    wall_seconds: float = field(metadata={"adding": Adding.SUM})
    counts: np.ndarray | None = None
    sums: np.ndarray | None = None
    messages: np.ndarray | None = None
    lmem: np.ndarray | None = None
    cycles: int | None = _number(Adding.SUM)
    stall_cycles: int | None = _number(Adding.SUM)
    gap_cycles: int | None = _number(Adding.SUM)
    lanes: int | None = _number(Adding.SAME)
    label_cycles: int | None = _number(Adding.SUM)
    simulated_cycles: int | None = _number(Adding.SUM)
    loading_cycles: int | None = _number(Adding.SUM)
    reading_cycles: int | None = _number(Adding.SUM)
    loading_seconds: float | None = _number(Adding.SUM)
    reading_seconds: float | None = _number(Adding.SUM)
    messages_counted: int | None = _number(Adding.SUM)
    replication: int | None = _number(Adding.MAX)
    windows: int | None = _number(Adding.SAME)
    rounds: int | None = _number(Adding.MAX)
    visits: int | None = _number(Adding.SUM)
    repeated_requests: int | None = _number(Adding.SUM)
    damaged_frames: int | None = _number(Adding.SUM)
    reconnections: int | None = _number(Adding.SUM)

    @property
    def labels(self) -> np.ndarray:
        """(H, W) uint8: the estimate: the mode, the label nearest to the mean, or the last sample."""
        return self.mode if self.sums is None else np.rint(mean_label(self.sums, self.last)).astype(np.uint8)

    @property
    def mode(self) -> np.ndarray:
        """(H, W) uint8: the most frequent label, the lowest on ties; the last label where nothing was counted."""
        if self.counts is None:
            return self.last
        return np.where(self.counts.any(-1), self.counts.argmax(-1).astype(np.uint8), self.last)

    @property
    def log_messages(self) -> int | None:
        """Messages that were sent; None where there is no log."""
        return self.messages_counted if self.messages is None else len(self.messages)

    @property
    def utilization(self) -> float | None:
        """label_evaluations / (lanes x cycles); None without cycles."""
        if not self.cycles or not self.lanes:
            return None
        return self.label_evaluations / (self.lanes * self.cycles)

    # -- comparison and files

    @property
    def record(self) -> Record:
        named = {one.name: getattr(self, one.name) for one in dataclasses.fields(self)}
        arrays = {name: array for name in ARRAYS if (array := named.pop(name)) is not None}
        return Record("result", named, arrays)

    @property
    def compared(self) -> Record:
        """All values but the seconds."""
        record = self.record
        return dataclasses.replace(record, scalars={name: value for name, value in record.scalars.items() if name not in SECONDS})

    __hash__ = None  # type: ignore[assignment]  # its numbers may be set

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Result:
        """The result in a file. Raises ProblemError in one line."""
        return result_of(read_record(path, "result", lambda held: result_of(held, path)), path)


def histogram(labels: int, messages: np.ndarray, lmem: np.ndarray) -> np.ndarray:
    """(H, W, L) uint32: the log's counts plus what is left in LMem; lmem as in Result, messages (n, 3)."""
    rows, cols, _ = lmem.shape
    counts = zeros((rows * cols * labels,), np.uint32)
    np.add.at(counts, messages[:, 0] * labels + messages[:, 1], messages[:, 2].astype(np.uint32))
    site = np.arange(rows * cols) * labels
    for pair in (0, 2):
        label, count = lmem[..., pair].ravel(), lmem[..., pair + 1].ravel()
        held = count > 0  # an empty pair's label means nothing
        np.add.at(counts, (site + label)[held], count[held].astype(np.uint32))
    return counts.reshape(rows, cols, labels)


def mean_label(sums: np.ndarray, last: np.ndarray) -> np.ndarray:
    """(H, W) float64: the mean of labels by their sums and numbers (H, W, 2); the `last` label where none was counted."""
    total, number = sums[..., 0], sums[..., 1]
    return np.where(number > 0, total / np.maximum(number, 1), last)


ARRAYS = ("counts", "sums", "last", "initial", "messages", "lmem")
SECONDS = ("wall_seconds", "loading_seconds", "reading_seconds")  # a run again takes others
NUMBERS: dict[str, Adding] = {one.name: one.metadata["adding"] for one in dataclasses.fields(Result) if "adding" in one.metadata}


def numbers(result: Result) -> dict[str, Any]:
    """All that adds up, by name."""
    return {name: getattr(result, name) for name in NUMBERS}


def added(several: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """The numbers of several runs as one's, each by its rule. Raises ValueError where what must be the same is not."""
    total: dict[str, Any] = {}
    for number, found in enumerate(several):
        for name, value in found.items():
            before = total.get(name, value)
            if number == 0 or value is None or before is None:
                total[name] = value if before is not None else None
            elif NUMBERS[name] is Adding.SUM:
                total[name] = before + value
            elif NUMBERS[name] is Adding.MAX:
                total[name] = max(before, value)
            elif before != value:
                raise ValueError(f"{name} is {before} in one run and {value} in another: only runs of one machine are added")
    return total


def first_difference(a: Result, b: Result) -> str | None:
    """One line that says where two results first differ; None if labels, histogram or sums, LMem, messages and cycles are equal."""
    names = f"{a.backend} and {b.backend}"
    for what, x, y in (("last sample", a.last, b.last), ("histogram", a.counts, b.counts), ("sums", a.sums, b.sums)):
        if x is None or y is None:
            if x is not y:
                return f"{names} differ: only one has a {what}"
            continue
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


def result_of(record: Record, path: object) -> Result:
    """The result of a record read from `path`. Raises ProblemError that names it."""
    fields: Fields = {"backend": (str,), **{name: (int, float, type(None)) for name in NUMBERS}}
    scalars = take(path, "the result", record.scalars, fields, ("backend", "label_evaluations", "wall_seconds"))
    arrays = record.arrays
    check_arrays(path, "a result", arrays, ARRAYS, ("last", "initial"))
    last = arrays["last"]
    grid = last.shape[:2]
    wanted: dict[str, tuple[int | None, ...]] = {
        "last": (None, None), "initial": grid, "counts": (*grid, None), "sums": (*grid, 2), "messages": (None, 3),
        "lmem": (*grid, 4)}
    for name, array in arrays.items():
        if array.ndim != len(wanted[name]) or any(w not in (None, n) for w, n in zip(wanted[name], array.shape, strict=True)):
            raise ProblemError(f"{path}: {name} has shape {array.shape}; with labels of {last.shape} it must be "
                               f"{tuple('n' if w is None else w for w in wanted[name])}: give a saved result")
    values: dict[str, Any] = {**scalars, **arrays}
    return Result(**values)
