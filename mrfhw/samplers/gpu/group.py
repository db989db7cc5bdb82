"""Chains that a device draws in the same launches."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING

import numpy as np

from mrfhw.samplers.gpu.fields import Fields, Sweep

if TYPE_CHECKING:
    from mrfhw.samplers.gpu.chain import GpuChain

__all__ = ["TOGETHER", "Group"]

TOGETHER = 32  # sweeps of a chain that a device is asked for at once


class Group:
    """Chains as long as there are any others who hold them. What one of them is asked for is carried out together with what the
    others have been asked for.

    Labels and energies are read with those of all, and kept until the next sweep.
    """

    def __init__(self) -> None:
        self._chains: list[weakref.ref[GpuChain]] = []
        self._made: list[weakref.ref[GpuChain]] = []  # whose fields are on the device
        self._fields: Fields | None = None
        self._labels: list[np.ndarray] | None = None
        self._energies: list[int] | None = None

    def join(self, chain: GpuChain) -> None:
        """One more. What the device has of the others is taken back, as it will have other fields."""
        self.carry_out()
        if self._fields is not None and any(one() is not None for one in self._made):
            for one, labels, counts, sums in zip(self._made, self._fields.labels(), *self._fields.counted(), strict=True):
                before = one()
                if before is not None:
                    before.take(labels, counts, sums)
        self._fields = None
        self._chains = [*(one for one in self._chains if one() is not None), weakref.ref(chain)]

    def _of(self, chain: GpuChain) -> tuple[Fields, int]:
        """What is on the device, and the chain's place there."""
        if self._fields is None:
            chains = [one for one in (one() for one in self._chains) if one is not None]
            self._made = [weakref.ref(one) for one in chains]
            self._fields = Fields(chain.device, [one.tables for one in chains], [one.run for one in chains],
                                  [one.labels for one in chains], chain.variant, chain.choice.memory)
            held = [one.held for one in chains]
            self._fields.restore([of[0] for of in held], [of[1] for of in held], [of[2] for of in held])
            self._labels = self._energies = None
        return self._fields, next(place for place, one in enumerate(self._made) if one() is chain)

    def restored(self, chain: GpuChain) -> None:
        """A chain goes on from other labels and counts than the device has."""
        if self._fields is None:
            return
        fields, place = self._of(chain)
        labels, (counts, sums) = fields.labels(), fields.counted()
        labels[place], counts[place], sums[place] = chain.held
        fields.restore(labels, counts, sums)
        self._labels = self._energies = None

    def carry_out(self) -> None:
        """The sweeps that chains have been asked for."""
        asked = [chain for chain in (one() for one in self._chains) if chain is not None and chain.pending]
        if not asked:
            return
        fields, _ = self._of(asked[0])
        chains = [one() for one in self._made]
        waiting: list[list[Sweep]] = [[] if chain is None else chain.pending for chain in chains]
        steps = [[of[number] if number < len(of) else None for of in waiting] for number in range(max(map(len, waiting)))]
        self._labels = self._energies = None
        fields.sweep(steps)
        for of in waiting:
            of.clear()

    def labels(self, chain: GpuChain) -> np.ndarray:
        """(H, W) uint8, after the sweeps that it has been asked for."""
        self.carry_out()
        fields, place = self._of(chain)
        if self._labels is None:
            self._labels = fields.labels()
        return self._labels[place]

    def energy(self, chain: GpuChain) -> int | None:
        """Likewise; None where it is not known."""
        self.carry_out()
        fields, place = self._of(chain)
        if self._energies is None:
            self._energies = fields.energies()
        return None if self._energies is None else self._energies[place]

    def counted(self, chain: GpuChain) -> tuple[np.ndarray | None, np.ndarray | None]:
        """Its histogram and its sums, None for what it does not have."""
        self.carry_out()
        fields, place = self._of(chain)
        counts, sums = fields.counted()
        return counts[place], sums[place]
