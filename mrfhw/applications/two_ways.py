"""Matching from one picture to another and back: where the two agree, and what stands in where they do not."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mrfhw.backends.first_labels import FirstLabels
from mrfhw.field.archive import read_npy
from mrfhw.field.given import array_of
from mrfhw.field.problem import Problem, Run
from mrfhw.field.result import Result
from mrfhw.jobs.job import First
from mrfhw.jobs.options import Option
from mrfhw.pictures.images import is_path, name_of
from mrfhw.pictures.medians import medians
from mrfhw.system.errors import ProblemError

__all__ = ["BEFORE", "NOT_CONFIRMED", "Way", "behind", "filled", "from_before", "hidden_from", "matched_to", "mirrored",
           "shown_behind", "stage", "unmatched"]

NOT_CONFIRMED = "White: pixels that the other picture does not confirm."
BEFORE = Option(name="before", file=True, rare=True, metavar="LABELS",
                help="labels.npy of the frame before, with the same labels: pixels that the other picture does not confirm start "
                     "from it.")
SQUARE = 9  # rows and columns of the medians of what is filled in


def mirrored(image: np.ndarray) -> np.ndarray:
    """An image (H, W) or (H, W, C) from right to left. A pair that is mirrored and exchanged is a pair again."""
    return np.ascontiguousarray(image[:, ::-1])


def unmatched(there: np.ndarray, back: np.ndarray, most: int, known: np.ndarray | None = None,
              other: np.ndarray | None = None) -> np.ndarray:
    """Pixels of a picture that another one does not confirm, bool (H, W): occluded ones, and wrong ones.

    there: (H, W, 2) whole motions, along rows and columns, of this picture's pixels to the other one; back: of the other one's to
    this. Confirmed: where a pixel comes to is in the picture, and the motion from there leads back to it or past it by at most
    `most` rows and columns. known, other: (H, W) bool, pixels of this picture and of the other one of which something is known; the
    rest confirms nothing, as what is outside the picture; None for all.
    """
    shape = there.shape[:2]
    row, col = (np.arange(shape[0])[:, None] + there[..., 0], np.arange(shape[1]) + there[..., 1])
    inside = (row >= 0) & (row < shape[0]) & (col >= 0) & (col < shape[1])
    place = row.clip(0, shape[0] - 1), col.clip(0, shape[1] - 1)
    if other is not None:
        inside &= other[place]
    if known is not None:
        inside &= known
    return ~inside | (np.abs(there + back[place]) > most).any(-1)


@dataclass(frozen=True, eq=False)
class Way:
    """One picture matched with the other.

    problem: its field.
    motions: (L, 2) whole motions, along rows and columns, that its labels stand for on the picture as it is.
    mirror: whether the field is that of the mirrored picture.
    """

    problem: Problem
    motions: np.ndarray
    mirror: bool = False

    def found(self, labels: np.ndarray) -> np.ndarray:
        """(H, W, 2) motions of the picture's pixels, of the field's labels (H, W)."""
        return np.asarray(self.motions[mirrored(labels) if self.mirror else labels])

    @property
    def known(self) -> np.ndarray | None:
        """(H, W) bool: the picture's pixels that have a datum; None for all."""
        seen = self.problem.observed
        return mirrored(seen) if self.mirror and seen is not None else seen


def stage(there: Way, back: Way, most: int, starts: FirstLabels,
          then: Callable[[np.ndarray, np.ndarray, np.ndarray], dict[str, Any]], run: Run | None = None) -> First:
    """Both ways of matching, before the field that has the answer: what a job does first.

    The labels of each way are those of its paths, `starts`, or where `run` is given those of a run that starts from them. most: as
    of `unmatched`. then: from the motions there, (H, W, 2), the motions back and the pixels that are not confirmed to what they
    change of the job. The paths alone say how many pixels are not confirmed (`unconfirmed`).
    """
    ways = (there, back)
    paths = [starts.of(way.problem) for way in ways]

    def compared(labels: Sequence[np.ndarray]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        motions, returning = there.found(labels[0]), back.found(labels[1])
        return motions, returning, unmatched(motions, returning, most, there.known, back.known)

    def agreed(results: list[Result]) -> dict[str, Any]:
        return then(*compared(paths if run is None else [result.labels for result in results]))

    missing = compared(paths)[2]
    return First(() if run is None else tuple((way.problem, replace(run, initial=labels))
                                              for way, labels in zip(ways, paths, strict=True)), agreed,
                 float((missing if there.known is None else missing[there.known]).mean()))


def from_before(first: First | None, before: Any, problem: Problem) -> First | None:
    """A stage whose run starts from labels of the frame before where the other picture does not confirm a pixel.

    before: (H, W) labels, or the file that has them; None for none. Raises ProblemError for labels that are none of the field, and
    where there is no stage that could tell which pixels these are.
    """
    if before is None:
        return first
    if first is None:
        raise ProblemError(f"before is {name_of(before, 'an array')}; what a frame hides is known only where pictures are "
                           "matched both ways, by census: leave it out, or leave out one-way, anneal and data grey")
    labels, then = _labels(before, problem), first.then

    def started(results: list[Result]) -> dict[str, Any]:
        changes = then(results)
        return changes | {"run": hidden_from(changes["run"], changes["maps"]["occluded"], labels)}

    return replace(first, then=started)


def _labels(before: Any, problem: Problem) -> np.ndarray:
    """(H, W) labels of a field, from a file or as they are. Raises ProblemError."""
    name, way_out = name_of(before, "before"), "give labels.npy of a run with the same labels and window"
    labels = read_npy(before, "labels", way_out) if is_path(before) else array_of(name, before)
    if labels.shape != problem.shape or labels.dtype.kind not in "iu":
        had, wanted = ("x".join(map(str, shape[::-1])) for shape in (labels.shape, problem.shape))
        raise ProblemError(f"{name} has {had} values of {labels.dtype}; the frame has {wanted} labels, whole numbers: {way_out}")
    if labels.min() < 0 or labels.max() >= problem.labels:
        raise ProblemError(f"{name} has labels {labels.min()} to {labels.max()}; the limits are 0 to {problem.labels - 1}: "
                           f"{way_out}")
    return labels


def hidden_from(run: Run, hidden: np.ndarray, before: np.ndarray) -> Run:
    """A run from (H, W) labels that starts at hidden pixels, bool (H, W), from those of before."""
    if isinstance(run.initial, str):
        return run
    return replace(run, initial=np.where(hidden, before, run.initial).astype(np.uint8))


def matched_to(right: np.ndarray, known: np.ndarray | None = None) -> np.ndarray:
    """Pixels of the left picture that some pixel of the right one is matched to, bool (H, W): those are seen in both pictures.

    right: (H, W) whole disparities of the right picture's pixels; its pixel x lies at x + right[x] in the left one. known: (H, W)
    bool, those of which something is known; None for all.
    """
    rows, cols = right.shape
    column = np.arange(cols)[None] + right
    row, place = np.nonzero((column >= 0) & (column < cols) & (True if known is None else known))
    found = np.zeros((rows, cols), bool)
    found[row, column[row, place]] = True
    return found


def filled(disparity: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """Disparities (H, W) with those that are missing taken from the nearest pixels of the row to the left and to the right that are
    not, the smaller one of the two: what is hidden lies behind. A row without any stays as it is.
    """
    disparity = disparity.astype(np.int64)  # which holds `most`
    columns = np.arange(disparity.shape[1])
    before = np.maximum.accumulate(np.where(missing, -1, columns), 1)
    behind = np.minimum.accumulate(np.where(missing, len(columns), columns)[:, ::-1], 1)[:, ::-1]
    most = np.iinfo(np.int64).max
    values = [np.where((at >= 0) & (at < len(columns)), np.take_along_axis(disparity, at.clip(0, len(columns) - 1), 1), most)
              for at in (before, behind)]
    found = np.minimum(*values)
    return np.where(missing & (found != most), found, disparity)


def behind(labels: np.ndarray, missing: np.ndarray) -> np.ndarray:
    """`filled` labels 0..255 (H, W), the missing ones medians of the square around: rows, which are filled one by one, go together.

    uint8.
    """
    rows = filled(labels, missing).astype(np.uint8)
    return np.where(missing, medians(rows, SQUARE), rows)


def shown_behind(left: np.ndarray, right: np.ndarray, disparity: np.ndarray, missing: np.ndarray,
                 known: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Data of the left picture, those that are missing replaced by what the right one has at their disparity; and whether it does.

    left, right: (H, W) data. disparity: (H, W) whole pixels of either sign. missing: (H, W) bool. The second answer, bool (H, W),
    is False where the right picture ends before, or is not `known`, bool (H, W), and in rows that are missing as a whole, of whose
    disparities nothing is known.
    """
    column = np.arange(left.shape[1])[None] - disparity
    inside = (column >= 0) & (column < right.shape[1]) & ~missing.all(1, keepdims=True)
    column = column.clip(0, right.shape[1] - 1)
    if known is not None:
        inside &= np.take_along_axis(known, column, 1)
    shown = np.take_along_axis(right, column, 1)
    return np.where(missing & inside, shown, left), ~missing | inside
