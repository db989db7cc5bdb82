"""What labels stand for: values with a unit, and how a map of them is drawn."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["LEVEL", "LabelScale", "between"]

LEVEL = 0.9  # of the intervals and sets of values that an answer has


def between(values: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """(H, W) float64: values (L,) at labels (H, W), whole ones or numbers between them."""
    return np.interp(labels, np.arange(len(values)), values)


@dataclass(frozen=True, kw_only=True)
class LabelScale:
    """What labels stand for, and how a map of them is drawn.

    values: (L, D) float64. D = 1: a disparity, a grey value, a class's grey; D = 2: a motion (row, column). Of "colour": those of
    the labels of each field that a colour is made of (`mrfhw.jobs.fields.Fields`), which are no colours.
    name: with its unit, such as "disparity (pixels)".
    kind: "scalar" (a colour bar over the values), "grey" (a picture of grey values 0..255), "flow" (the colours
    of flow vectors), "colour" (a picture of red, green and blue of 0..255) or "classes" (names without order: no
    mean, deviation or interval).
    """

    values: np.ndarray
    name: str
    kind: str = "scalar"

    @property
    def ordered(self) -> bool:
        """Whether a mean of labels means anything."""
        return self.kind != "classes"

    @property
    def between(self) -> bool:
        """Whether the quantity lies between the labels' values, as disparities and motions of parts of a pixel do: intervals are
        then those of the histogram as a density, before `Job.finer`. Values in uneven steps have no such density."""
        return self.kind in ("flow", "colour") or (self.kind == "scalar" and self.even)

    @property
    def even(self) -> bool:
        """Whether values of one component are in even steps, in whatever order."""
        steps = np.diff(np.unique(self.values))
        return self.values.shape[1] == 1 and (steps.size == 0 or bool(np.allclose(steps, steps[0])))

    def at(self, labels: np.ndarray) -> np.ndarray:
        """(H, W, D) float64: the values of labels (H, W); of D = 1 also of numbers between labels, on the line between two."""
        if labels.dtype.kind != "f":
            return np.asarray(self.values[labels])
        assert self.values.shape[1] == 1
        return between(self.values[:, 0], labels)[..., None]

    def __post_init__(self) -> None:
        assert self.values.ndim == 2
        assert self.kind in ("scalar", "grey", "flow", "colour", "classes")
