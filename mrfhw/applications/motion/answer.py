"""What `mrfhw.motion` gives."""

from __future__ import annotations

import numpy as np

from mrfhw.applications.answer import Measured

__all__ = ["Motion"]


class Motion(Measured):
    """The answer of `mrfhw.motion`; see Answer. values, mean and interval are along rows and then along columns."""

    @property
    def occluded(self) -> np.ndarray | None:
        """(H, W) bool: pixels that the second frame does not show, or whose two matches disagree, or of which nothing
        is known; None where only one way was matched."""
        return self._analysis.maps.get("occluded")

    @property
    def flow(self) -> np.ndarray:
        """(H, W, 2) float32, pixels: along columns and then along rows, as OpenCV has it, between pixels: the sampled
        vectors, moved to where the second frame's greys fit best (`mrfhw.applications.motion.finer`)."""
        return self._analysis.answer[..., ::-1].astype(np.float32)
