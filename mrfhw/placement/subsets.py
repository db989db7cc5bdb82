"""Subsets of a site's slots: which of them a visit evaluates, and with what weight.

M are the slots of the neighbours' labels, each once, the lowest `near` of them; the F others have ranks from 0 on. A subset of S
slots has M and r = S - |M| others, whose ranks follow one another cyclically: a window. If the site's own label is of an other, its
window is one of the r that have it; else one of all F. Each is as likely as another, so label x and window W have the probability
p(x) q(W | x), with q = 1 / r for labels of W and 1 / F for those of M. A draw of x given W has the weights p(x) of labels of M and
p(x) F / r of W's: Gibbs sampling of label and window, which leaves p unchanged, whatever the field.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.placement.label_groups import LabelGroups

__all__ = ["Subsets"]


@dataclass(frozen=True, eq=False)
class Subsets:
    """The subsets of a problem's slots on a machine with subsets.

    size: S. near: most slots of M. slot: (L,) int64, the slot of each label. others: (near + 1,) int64, F by |M|; all 0 where the
    subset has every slot. weights: (near + 1,) int64, ln(F / r) by |M|, in units of a Gumbel number (`Race.fraction_bits`).
    """

    size: int
    near: int
    slot: np.ndarray
    others: np.ndarray
    weights: np.ndarray

    @classmethod
    def of(cls, config: Config, groups: LabelGroups) -> Subsets:
        """Of the slots that `groups` has, on a machine of `config`."""
        c = Derived.of(config)
        size, near = c.subset_slots, np.arange(c.near_slots + 1)
        fraction = 1 << getattr(c.sampler, "fraction_bits", 0)
        others = np.where(groups.slots > size, groups.slots - near, 0)
        ratio = np.where(others > 0, others / (size - near), 1)
        return cls(size, c.near_slots, groups.slot, others, np.rint(np.log(ratio) * fraction).astype(np.int64))
