"""Disparities between whole pixels: from what pixels that look alike share to where the right picture's greys fit best.

The labels' shares say where within a pixel a disparity lies, and so do greys, by the fit of `mrfhw.applications.slopes`: the two
are weighed by their precision, a few times, with medians that take away what single fits get wrong. No disparity moves farther than
half a pixel from the most frequent one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from mrfhw.applications.slopes import BEYOND, NOISE, PRECISION, STEP, STIFF, moved_by, squares
from mrfhw.applications.stereo.between_device import Weighing, device_fitted
from mrfhw.backends.registry import backend_type
from mrfhw.pictures.medians import medians
from mrfhw.samplers.gpu.device import Device
from mrfhw.system.progress import compiling
from mrfhw.system.threads import PIXELS_WORTH_A_THREAD, in_shares, threads_of

__all__ = ["SharedDisparity"]

SHARES = 80.0  # 1 / the variance of a disparity that shares of labels tell
FARTHEST = 0.5  # pixels from the most frequent disparity
MEDIAN = 5  # rows and columns of the medians
ROUNDS = 3
# What no fit sees, such as pictures that are not aligned to the truth or surfaces that turn, is larger where shares and greys
# disagree: so many times as far as the fit would still move a pixel that both pictures show, the median of the whole picture.
DISAGREED = 4.0


@dataclass(frozen=True, eq=False)
class SharedDisparity:
    """As of `mrfhw.jobs.job.Shared`. left, right: (H, W) greys of 0..255; both sides have at least two pixels. hidden: bool (H, W),
    pixels of the left picture that the right one does not show: their greys count among themselves alone; None for none. backend:
    of the run, whose device works this out, where it has one."""

    left: np.ndarray
    right: np.ndarray
    hidden: np.ndarray | None = None
    within: float = 1.0
    backend: str = "cpu"
    name: ClassVar[str] = "the disparity between pixels, by what like colours share"

    @property
    def guide(self) -> np.ndarray:
        return self.left

    @property
    def device(self) -> Device | None:
        return backend_type(self.backend).device(self.backend)

    def _fit(self, surfaces: np.ndarray, disparity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(H, W) each: by what the greys' squared error is least where it is linear, and 1 / the variance of that.

        surfaces: (H, W, 2), whose greys are fitted together."""
        moved = moved_by(self.right, np.stack([np.zeros_like(disparity), -disparity], -1))
        down, along = np.gradient((self.left + moved) / 2)
        found = np.empty((7, *self.left.shape))

        def share(begin: int, end: int) -> None:
            squares(down, along, moved - self.left, surfaces, begin, end, found)

        with compiling("disparities between pixels"):
            in_shares(share, len(down), down.size // PIXELS_WORTH_A_THREAD, threads_of(None))
        _, _, slopes, _, apart, error, number = found
        return (apart / (slopes + STIFF / number)).clip(-STEP, STEP), np.maximum(0, slopes) * number / (error + NOISE)

    def _rounds(self, mode: np.ndarray, near: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Disparities, and what a further fit says of them."""
        least, most = mode - FARTHEST, mode + FARTHEST
        surfaces = np.stack([np.zeros_like(mode), mode], -1)
        if self.hidden is not None:
            surfaces = np.where(self.hidden[..., None], surfaces + BEYOND, surfaces)
        found = near
        for _ in range(ROUNDS):
            step, precision = self._fit(surfaces, found)
            found = (precision * (found + step) + SHARES * near) / (precision + SHARES)
            found = medians(found.clip(least, most).astype(np.float32), MEDIAN).astype(np.float64).clip(least, most)
        return found, *self._fit(surfaces, found)

    def fitted(self, mode: np.ndarray, near: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        device, worked = self.device, None
        if device is not None:
            weighing = Weighing(SHARES, FARTHEST, MEDIAN, ROUNDS)
            worked = device_fitted(device, self.left, self.right, self.hidden, mode, near, weighing)
        found, step, precision = self._rounds(mode, near) if worked is None else worked
        seen = np.ones(mode.shape, bool) if self.hidden is None or self.hidden.all() else ~self.hidden
        of_all = DISAGREED * np.median(np.abs(step[seen]))
        return found, np.sqrt(of_all**2 + 1 / (precision + PRECISION))
