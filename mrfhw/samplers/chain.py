"""What a chain of a field is, and the chains in software by name.

A further sampler in software is a class of `mrfhw.samplers.field_chain.FieldChain` in a file of its own, and a line of `CHAINS`.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from mrfhw.field.problem import Run
from mrfhw.field.state import RunState

if TYPE_CHECKING:
    from mrfhw.samplers.field_chain import FieldChain

__all__ = ["CHAINS", "Observe", "Sampler", "advance", "chain_type"]

# The class of each by its name, which is also that of its backend; imported when it is asked for.
CHAINS = {"cpu": "mrfhw.samplers.cpu:CpuChain", "float": "mrfhw.samplers.exact:FloatChain",
          "events": "mrfhw.samplers.events:EventChain", "gpu": "mrfhw.samplers.gpu.chain:GpuChain"}

# Called with the number of finished sweeps, the labels (H, W) uint8 and the field's energy, None where nobody follows it.
Observe = Callable[[int, np.ndarray, int | None], object]


class Sampler(Protocol):
    """What chains in software and a machine's twin (`mrfhw.twin.machine.Machine`) have in common. Making one runs no sweep.

    run: sweeps, burn-in, seed and what is estimated.
    sweeps: done so far.
    """

    run: Run
    sweeps: int

    @property
    def sample(self) -> np.ndarray:
        """(H, W) uint8, the labels after the sweeps so far; a copy or a view, which the next sweep may change."""

    @property
    def energy(self) -> int | None:
        """That of the field where the sampler follows it, unshifted; else None."""

    def sweep(self) -> None:
        """Update every site once: black, then white."""

    def state(self, wall: float = 0.0, counted: bool = True) -> RunState:
        """After `wall` seconds, as a copy that later sweeps do not change; without what was counted, `RunState.uncounted`."""

    def restore(self, state: RunState) -> None:
        """Continue from the state of a sampler with the same problem and run."""


def chain_type(backend: str) -> tuple[type[FieldChain], dict[str, Any]]:
    """The class of a name of CHAINS, and what its constructor takes besides, of the options that may stand behind a question
    mark. Raises ProblemError for options that it does not take."""
    name, _, text = backend.partition("?")
    module, of = CHAINS[name].split(":")
    found: type[FieldChain] = getattr(importlib.import_module(module), of)
    return found, found.options(text)


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
