"""Which labels of a site the lanes of its unit evaluate together."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from mrfhw.field.problem import Problem
from mrfhw.machine.config import Config

__all__ = ["LabelGroups"]


@dataclass(frozen=True)
class LabelGroups:
    """The slots of a site: in slot s, lane k evaluates label firsts[s] + k.

    labels: L. lanes: of a unit. firsts: the first label of each slot, rising from 0; a slot ends where the next one begins.
    mirrored: whether the singleton-2 words of neighbouring lanes lie to the left of one another, not to the right.
    subset: slots that a visit evaluates at most; 0 for all.
    """

    labels: int
    lanes: int
    firsts: tuple[int, ...]
    mirrored: bool = False
    subset: int = 0

    @classmethod
    def of(cls, config: Config, problem: Problem) -> LabelGroups:
        """Of a problem's labels on a machine."""
        groups = (cls.filled(problem.labels, config.lanes) if problem.offsets is None
                  else cls.of_offsets(np.asarray(problem.offsets), config.lanes))
        return replace(groups, subset=config.subset_slots)

    @classmethod
    def filled(cls, labels: int, lanes: int = 1) -> LabelGroups:
        """As few slots as possible: `lanes` labels each, but for the last."""
        return cls(labels, lanes, tuple(range(0, labels, lanes)))

    @classmethod
    def of_offsets(cls, offsets: np.ndarray, lanes: int) -> LabelGroups:
        """Slots whose labels have neighbouring pixels of a row; offsets: (L, 2) of the labels.

        The lanes of a slot read pixels from left to right, or those of all slots from right to left, whichever takes fewer slots.
        """
        if lanes == 1:
            return cls.filled(len(offsets))
        found = []
        for step in (1, -1):
            firsts = [0]
            for label in range(1, len(offsets)):
                follows = np.array_equal(offsets[label] - offsets[label - 1], (0, step))
                if not follows or label - firsts[-1] == lanes:
                    firsts.append(label)
            found.append(cls(len(offsets), lanes, tuple(firsts), step < 0))
        return min(found, key=lambda groups: groups.slots)

    @property
    def slots(self) -> int:
        """Slots that the labels fill."""
        return len(self.firsts)

    @property
    def visited(self) -> int:
        """Slots that a visit to a site evaluates."""
        return min(self.slots, self.subset or self.slots)

    @cached_property
    def evaluated(self) -> int:
        """Labels that a visit evaluates: all; of a subset, those of the slots that have the most."""
        return int(np.sort(self.counts)[-self.visited:].sum())

    @cached_property
    def counts(self) -> np.ndarray:
        """(slots,) int64: labels of each slot."""
        return np.diff([*self.firsts, self.labels])

    @cached_property
    def slot(self) -> np.ndarray:
        """(L,) int64: the slot of each label."""
        return np.repeat(np.arange(self.slots), self.counts)

    @cached_property
    def lane(self) -> np.ndarray:
        """(L,) int64: the lane of each label."""
        return np.arange(self.labels) - np.array(self.firsts)[self.slot]

    @property
    def utilization(self) -> float:
        """Share of the lanes' slots that have a label."""
        return self.labels / (self.slots * self.lanes)
