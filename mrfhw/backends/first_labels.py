"""First labels of a job, worked out where its fields are sampled."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mrfhw.backends.registry import backend_type
from mrfhw.field.problem import Problem

__all__ = ["FirstLabels"]


@dataclass(frozen=True)
class FirstLabels:
    """Those of the least energies along paths (`mrfhw.samplers.path_start`), the same whoever works them out.

    stiffness: of the paths. backend: who samples the field, by name or address.
    """

    stiffness: int
    backend: str = "cpu"

    def of(self, problem: Problem) -> np.ndarray:
        """(H, W) uint8."""
        return backend_type(self.backend).path_labels(self.backend, problem, self.stiffness)
