"""Subsets of a site's slots: which of them a visit evaluates, and with what weight.

M are the slots of the labels of some neighbours: of `near` of them, which one after another around the site, from a random one on;
each slot once. F others are left. A subset of S slots has M and r = S - |M| others, drawn one by one, each of the F as likely as
another; if the site's own label is of an other, that takes the place of one of the r, at random. So label x, drawn others W and M
have the probability p(x) q(W | x), with q = F^-r for labels of M, and F^-(r - 1) m(x) / r for those of an other that W has m(x)
times. A draw of x given W has the weights p(x) of labels of M and p(x) F / r of W's, each as often as W has it: Gibbs sampling of
label and others, which leaves p unchanged, whatever the field, and whatever M, as that does not depend on the site's own label.
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

    size: S. near: how many neighbours' slots M has, at most. slot: (L,) int64, the slot of each label. others: (near + 1,) int64, F
    by |M|; all 0 where the subset has every slot. weights: (near + 1,) int64, ln(F / r) by |M|, in units of a Gumbel number
    (`Race.fraction_bits`).
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
