"""Chains that a device draws in the same launches."""

from __future__ import annotations

import weakref
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from mrfhw.samplers.gpu.device import DeviceMemoryError
from mrfhw.samplers.gpu.fields import Fields, Kept, Sweep

if TYPE_CHECKING:
    from mrfhw.samplers.gpu.chain import GpuChain

__all__ = ["TOGETHER", "Group"]

TOGETHER = 32  # sweeps of a chain that a device is asked for at once


class _Part:
    """Chains whose fields are on the device together. Labels and energies are read with those of all, and kept until the next
    sweep."""

    def __init__(self, chains: Sequence[GpuChain]):
        """Raises DeviceMemoryError where they do not fit."""
        first, held = chains[0], [chain.held for chain in chains]
        self._chains = [weakref.ref(chain) for chain in chains]
        self.fields = Fields(first.device, [one.tables for one in chains], [one.run for one in chains], [of.labels for of in held],
                             first.variant, first.choice.memory, first.choice.skipping, first.choice.subset)
        self.fields.restore(held)
        self._labels: list[np.ndarray] | None = None
        self._energies: list[int] | None = None

    def place(self, chain: GpuChain) -> int | None:
        """Of a chain there; None for one that is not."""
        return next((place for place, one in enumerate(self._chains) if one() is chain), None)

    def give_back(self) -> None:
        """To the chains what the device has."""
        if any(one() is not None for one in self._chains):
            for one, kept in zip(self._chains, self.fields.kept(), strict=True):
                chain = one()
                if chain is not None:
                    chain.take(kept)

    def restored(self, place: int, chain: GpuChain) -> None:
        kept = self.fields.kept()
        kept[place] = chain.held
        self.fields.restore(kept)
        self._labels = self._energies = None

    def carry_out(self) -> None:
        chains = [one() for one in self._chains]
        waiting: list[list[Sweep]] = [[] if chain is None else chain.pending for chain in chains]
        if not any(waiting):
            return
        steps = [[of[number] if number < len(of) else None for of in waiting] for number in range(max(map(len, waiting)))]
        self._labels = self._energies = None
        self.fields.sweep(steps)
        for of in waiting:
            of.clear()

    def labels(self, place: int) -> np.ndarray:
        if self._labels is None:
            self._labels = self.fields.labels()
        return self._labels[place]

    def energy(self, place: int) -> int | None:
        if self._energies is None:
            self._energies = self.fields.energies()
        return None if self._energies is None else self._energies[place]


class Group:
    """Chains as long as there are any others who hold them. What one of them is asked for is carried out together with what the
    others have been asked for, of as many at once as the device has memory for.
    """

    def __init__(self) -> None:
        self._chains: list[weakref.ref[GpuChain]] = []
        self._parts: list[_Part] = []

    def join(self, chain: GpuChain) -> None:
        """One more. What the device has of the others is taken back, as it will have other fields."""
        self.carry_out()
        for part in self._parts:
            part.give_back()
        self._parts = []
        self._chains = [*(one for one in self._chains if one() is not None), weakref.ref(chain)]

    def _of(self, chain: GpuChain) -> tuple[_Part, int]:
        """What the chain is on the device with, and its place there."""
        if not self._parts:
            self._parts = _fitting([one for one in (one() for one in self._chains) if one is not None])
        return next((part, place) for part in self._parts if (place := part.place(chain)) is not None)

    def restored(self, chain: GpuChain) -> None:
        """A chain goes on from other labels and counts than the device has."""
        if self._parts:
            part, place = self._of(chain)
            part.restored(place, chain)

    def carry_out(self) -> None:
        """The sweeps that chains have been asked for."""
        asked = next((chain for chain in (one() for one in self._chains) if chain is not None and chain.pending), None)
        if asked is not None:
            self._of(asked)
        for part in self._parts:
            part.carry_out()

    def labels(self, chain: GpuChain) -> np.ndarray:
        """(H, W) uint8, after the sweeps that it has been asked for."""
        self.carry_out()
        part, place = self._of(chain)
        return part.labels(place)

    def energy(self, chain: GpuChain) -> int | None:
        """Likewise; None where it is not known."""
        self.carry_out()
        part, place = self._of(chain)
        return part.energy(place)

    def kept(self, chain: GpuChain) -> Kept:
        """All that the device has of it."""
        self.carry_out()
        part, place = self._of(chain)
        return part.fields.kept()[place]


def _fitting(chains: Sequence[GpuChain]) -> list[_Part]:
    """All of them on the device: together, or where it has too little memory for that, half of them beside the other half and so
    on. Raises DeviceMemoryError for one that does not fit alone."""
    try:
        return [_Part(chains)]
    except DeviceMemoryError:
        if len(chains) == 1:
            raise
    half = len(chains) // 2
    return [*_fitting(chains[:half]), *_fitting(chains[half:])]
