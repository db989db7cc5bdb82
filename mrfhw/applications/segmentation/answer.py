"""What `mrfhw.segment` gives."""

from __future__ import annotations

import numpy as np

from mrfhw.applications.answer import Answer

__all__ = ["Segmentation"]


class Segmentation(Answer):
    """The answer of `mrfhw.segment`; see Answer. labels are the classes."""

    @property
    def segments(self) -> np.ndarray:
        """(H, W) int32: numbers of the connected regions of the classes, from 1 to as many as there are; small ones belong to the
        nearest."""
        return self._analysis.maps["segments"]
