"""Where a run stands between two sweeps: all that it takes to go on with it."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mrfhw.field.result import Result

__all__ = ["RunState"]


@dataclass(frozen=True, kw_only=True, eq=False)
class RunState:
    """A run after `sweeps` finished sweeps, as windows, chains, checkpoints and machines hand it on.

    so_far: what the run would give if it ended here: labels (`last`), LMem with its counts (`lmem`), histogram, messages as far
    as they are kept, and numbers up to here. Its `initial` are the labels of sweep 0.
    Where its counts and sums are None, nothing has been counted yet.
    window: of a grid in windows, how many of the round after `sweeps` have been visited.
    generators: (lanes, 4) uint32, the states of a machine's generators. random: that of NumPy's generator (float).
    more: what a sampler alone knows, arrays of integers by name: on what the model's count of cycles depends, the regions that
    event-driven sampling draws next.
    The temperature is not among these: the schedule and the number of sweeps say its coefficient, guard bits included, and a
    machine that takes up a run steps its schedule there (`mrfhw.driver.driver.Driver.forward`).
    """

    sweeps: int
    so_far: Result
    window: int = 0
    generators: np.ndarray | None = None
    random: Mapping[str, Any] | None = None
    more: Mapping[str, np.ndarray] = field(default_factory=dict)

    def uncounted(self) -> RunState:
        """The state with nothing counted: what the same sweeps give as the burn-in of a longer run. Its cycles and seconds stay."""
        found = self.so_far
        lmem = None if found.lmem is None else found.lmem * (np.arange(found.lmem.shape[-1]) == 0)
        messages = None if found.messages is None else found.messages[:0]
        return dataclasses.replace(self, so_far=dataclasses.replace(
            found, counts=None, sums=None, lmem=lmem, messages=messages,
            messages_counted=None if found.messages_counted is None else 0))
