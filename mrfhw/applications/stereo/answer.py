"""What `mrfhw.stereo` gives."""

from __future__ import annotations

import numpy as np

from mrfhw.applications.answer import Answer

__all__ = ["Disparity"]


class Disparity(Answer):
    """The answer of `mrfhw.stereo`; see Answer."""

    @property
    def disparity(self) -> np.ndarray:
        """(H, W) float32, pixels, positive where the right picture has the pixel further to the left: the most frequent one, to
        half a pixel (`mrfhw.analysis.uncertainty.Uncertainty.halves`); with estimate="mean" the mean; of the last sample, or where
        the run annealed, whole pixels. What metrics, disparity.pfm and disparity.png have is the same."""
        return self._analysis.answer[..., 0].astype(np.float32)

    @property
    def occluded(self) -> np.ndarray | None:
        """(H, W) bool: pixels that the right picture does not show, or whose two matches disagree, or of which nothing
        is known; None where only one way was matched."""
        return self._analysis.maps.get("occluded")
