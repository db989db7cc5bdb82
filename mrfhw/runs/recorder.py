"""What is seen of chains while they are sampled: energies and some labels, at each look."""

from __future__ import annotations

import numpy as np

from mrfhw.analysis.trace import Trace
from mrfhw.field.problem import Problem
from mrfhw.runs.checkpoint import Looks
from mrfhw.samplers.field_energy import FieldEnergy

__all__ = ["MOST_LOOKS", "TRACED_SITES", "Recorder"]

TRACED_SITES = 256  # sites whose labels are kept at every look
MOST_LOOKS = 1 << 15  # at a chain, of half a kilobyte each; of longer runs not every sweep is looked at


class Recorder:
    """Records the energy and the labels of some sites of every chain, at each look.

    sweeps: of a chain; of more than MOST_LOOKS not each is looked at.
    """

    def __init__(self, problem: Problem, seed: int, sweeps: int = 1):
        self.expect(sweeps)
        drawn = np.arange(problem.sites) if problem.clamped is None else np.flatnonzero(~problem.clamped)
        rng = np.random.Generator(np.random.PCG64([seed, 3]))
        chosen = rng.choice(drawn, min(TRACED_SITES, len(drawn)), replace=False)
        self.sites = np.stack(np.divmod(np.sort(chosen), problem.shape[1]), 1)
        self._energy = FieldEnergy(problem)
        self.looks: list[Looks] = []

    def expect(self, sweeps: int) -> None:
        """Look so seldom from now on that a chain of so many sweeps has MOST_LOOKS."""
        self._every = -(-sweeps // MOST_LOOKS)

    def begin(self, chain: int) -> None:
        """Chains up to this one have begun."""
        while len(self.looks) <= chain:
            self.looks.append([])

    def energy(self, labels: np.ndarray) -> float:
        """The field's energy of labels (H, W)."""
        return float(self._energy(labels))

    def energy_after(self, sweeps: int, labels: np.ndarray, chain: int) -> float:
        """Of a chain's labels after so many sweeps: the last look's, where that is it."""
        seen = self.looks[chain][-1:]
        return seen[0][1] if seen and seen[0][0] == sweeps else self.energy(labels)

    def look(self, sweeps: int, labels: np.ndarray, energy: int | None, chain: int) -> None:
        """At a chain. energy: that of the labels, where it is known."""
        seen = self.looks[chain]
        if seen and sweeps < seen[-1][0] + self._every:
            return
        found = self.energy(labels) if energy is None else float(energy)
        seen.append((sweeps, found, labels[self.sites[:, 0], self.sites[:, 1]]))

    def shorten(self, lengths: list[int]) -> None:
        """Forget all but the first looks of each chain, and chains beyond."""
        del self.looks[len(lengths):]
        for chain, length in zip(self.looks, lengths, strict=True):
            del chain[length:]

    @property
    def lengths(self) -> list[int]:
        """How many looks there are at each chain that has begun."""
        return [len(chain) for chain in self.looks]

    def energies(self, burn_in: int, lengths: list[int]) -> np.ndarray:
        """(chains, n) float64: after the burn-in, of the first `lengths` looks of each chain, as far as all of them have come."""
        least = min(lengths)
        return np.array([[energy for sweeps, energy, _ in chain[:least] if sweeps > burn_in] for chain in self.looks])

    def trace(self, burn_in: int) -> Trace | None:
        """Of all chains that were looked at, as far as all of them have come; None where there was no look."""
        seen = [chain for chain in self.looks if chain]
        if not seen:
            return None
        looks = [chain[:min(map(len, seen))] for chain in seen]
        return Trace(
            sweeps=np.array([sweeps for sweeps, _, _ in looks[0]], np.int64), burn_in=burn_in,
            energy=np.array([[energy for _, energy, _ in chain] for chain in looks]), sites=self.sites,
            labels=np.array([[labels for _, _, labels in chain] for chain in looks], np.uint8))
