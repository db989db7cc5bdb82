"""Several fields of one picture, sampled one after the other, and the answer that is made of them together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from mrfhw.field.problem import Problem
from mrfhw.jobs.label_scale import LabelScale, between

__all__ = ["Fields"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Fields:
    """F fields of the same sites and of L labels each, of whose values the C components of an answer are weighted sums.

    problems: the fields. names: of each, for reports. values: (F, L) float64, what their labels stand for, in rising, even steps.
    weights: (C, F) float64. ends: the least and the greatest value that a component has.
    """

    problems: tuple[Problem, ...]
    names: tuple[str, ...]
    values: np.ndarray
    weights: np.ndarray
    ends: tuple[float, float]

    @property
    def scales(self) -> list[LabelScale]:
        """Of each field."""
        return [LabelScale(values=values[:, None], name=name, kind="grey")
                for values, name in zip(self.values, self.names, strict=True)]

    def mixed(self, values: Sequence[np.ndarray]) -> np.ndarray:
        """(H, W, C) float64, the answer of values (H, W), one array for each field."""
        return np.asarray((np.stack(values, -1) @ self.weights.T).clip(*self.ends))

    def at(self, labels: np.ndarray) -> np.ndarray:
        """(H, W, C) float64, the answer of labels (H, W, F), whole ones or numbers between them."""
        return self.mixed([between(values, labels[..., place]) for place, values in enumerate(self.values)])
