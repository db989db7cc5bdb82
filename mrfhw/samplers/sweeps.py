"""A sampler that is advanced sweep by sweep, and how it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from mrfhw.field.problem import Run
from mrfhw.field.state import RunState

__all__ = ["Observe", "Sampler", "advance"]

# Called with the number of finished sweeps, the labels (H, W) uint8 and the field's energy, None where nobody follows it.
Observe = Callable[[int, np.ndarray, int | None], object]


class Sampler(Protocol):
    """What `mrfhw.samplers.exact.Chain` and `mrfhw.twin.machine.Machine` have in common.

    sweeps: done so far. sample: (H, W) uint8, the labels after them; a copy or a view, which the next sweep may change.
    energy: that of the field where the sampler follows it, unshifted; else None.
    state: after `wall` seconds, as a copy that later sweeps do not change; with or without what was counted.
    """

    run: Run
    sweeps: int

    @property
    def sample(self) -> np.ndarray: ...

    @property
    def energy(self) -> int | None: ...

    def sweep(self) -> None: ...

    def state(self, wall: float = 0.0, counted: bool = True) -> RunState: ...


def advance(sampler: Sampler, progress: Callable[[int], object] | None = None,
            observe: Observe | None = None, pause: Callable[[int], bool] | None = None) -> None:
    """Sweep to the end of the run, or until `pause`, asked after each sweep with the number of sweeps, says so."""
    while sampler.sweeps < sampler.run.sweeps:
        sampler.sweep()
        if observe is not None:
            observe(sampler.sweeps, sampler.sample, sampler.energy)
        if progress is not None:
            progress(sampler.sweeps)
        if pause is not None and pause(sampler.sweeps):
            break
