"""What `mrfhw.stereo` gives."""

from __future__ import annotations

import numpy as np

from mrfhw.applications.answer import Measured
from mrfhw.applications.stereo.depth import Camera
from mrfhw.system.errors import ProblemError

__all__ = ["Disparity"]


class Disparity(Measured):
    """The answer of `mrfhw.stereo`; see Answer.

    entropy, mean, std, interval, interval_50 and confidence are made of histograms that pixels of like colours share
    (`mrfhw.analysis.alike`), but for alone=True; labels, counts and last are what was drawn.
    """

    @property
    def disparity(self) -> np.ndarray:
        """(H, W) float32, pixels, positive where the right picture has the pixel further to the left: between pixels, by what like
        colours share and where greys fit (`mrfhw.applications.stereo.between`); with alone=True the most frequent one of the
        pixel's own samples, to half a pixel (`mrfhw.analysis.uncertainty.Uncertainty.halves`); with estimate="mean" the mean; of
        the last sample, or where the run annealed, whole pixels. What metrics, disparity.pfm and disparity.png have is the same."""
        return self._analysis.answer[..., 0].astype(np.float32)

    @property
    def confidence(self) -> np.ndarray:
        """(H, W) float64, 0 to 1: the share of the samples, each spread evenly over its pixel, that is at most a pixel from the
        disparity. Of all numbers it tells wrong pixels best.
        Raises ProblemError where nothing is shared (alone=True, estimate, anneal)."""
        return self._of_shared("confidence")

    @property
    def interval_50(self) -> np.ndarray:
        """(H, W, 2) float64, pixels: the ends of the 50 % credible interval, as `interval` has those of the 90 % one.
        Raises ProblemError where nothing is shared (alone=True, estimate, anneal)."""
        return np.asarray(self._of_shared("inner", "interval_50")[:, :, 0])

    def _of_shared(self, field: str, name: str = "") -> np.ndarray:
        found = self._uncertainty(name or field)
        if found.between is None:
            raise ProblemError(f"{name or field} of a run in which each pixel has numbers of its own alone: leave out alone, "
                               "anneal and cooling, and give pictures of at least 2x2 pixels")
        return np.asarray(getattr(found, field))

    @property
    def depth(self) -> np.ndarray:
        """(H, W) float32: the distance of each pixel along the left camera's axis, in the unit of the baseline; infinite where the
        disparity is that of no point. Raises ProblemError of a run without focal and baseline, or calib."""
        return self._camera("depth").depth(self._analysis.answer[..., 0]).astype(np.float32)

    @property
    def depth_interval(self) -> np.ndarray:
        """(H, W, 2) float64: the near and the far end of the 90 % interval of the depth, from that of the disparity; the far one is
        infinite where that holds disparities of no point. Raises ProblemError as depth and interval."""
        camera = self._camera("depth_interval")
        return camera.interval(self.interval)

    @property
    def points(self) -> np.ndarray:
        """(H, W, 3) float32: where pixels lie, to the right of, down and ahead of the left camera; not finite where depth is not.
        Raises ProblemError as depth."""
        depth = self._camera("points").depth(self._analysis.answer[..., 0])
        return self._camera("points").points(np.where(np.isfinite(depth), depth, np.nan)).astype(np.float32)

    def _camera(self, name: str) -> Camera:
        camera = self._job.own
        if camera is None:
            raise ProblemError(f"{name} of a run that knows nothing of the cameras: give focal and baseline, or calib")
        assert isinstance(camera, Camera)
        return camera

    @property
    def occluded(self) -> np.ndarray | None:
        """(H, W) bool: pixels that the right picture does not show, or whose two matches disagree, or of which nothing
        is known; None where only one way was matched."""
        return self._analysis.maps.get("occluded")
