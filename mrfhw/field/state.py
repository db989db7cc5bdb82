"""Where a run stands between two sweeps: all that it takes to go on with it."""

from __future__ import annotations

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
    window: of a grid in windows, how many of the round after `sweeps` have been visited.
    generators: (lanes, 4) uint32, the states of a machine's generators. random: that of NumPy's generator (float).
    more: what a sampler alone knows, arrays of integers by name: on what the model's count of cycles depends, the regions that
    event-driven sampling draws next.
    The temperature is not among these: the schedule and the number of sweeps say its coefficient, guard bits included, and a
    machine that takes up a run steps its schedule there (`mrfhw.sessions.driver.Driver.forward`).
    """

    sweeps: int
    so_far: Result
    window: int = 0
    generators: np.ndarray | None = None
    random: Mapping[str, Any] | None = None
    more: Mapping[str, np.ndarray] = field(default_factory=dict)
