"""A denoised picture back in the one that it came from: its size and depth."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["Restoring", "Source"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Source:
    """A picture as it came. values: (H, W) grey or (H, W, 3) colour, integers or floats. white: the value that is white."""

    values: np.ndarray
    white: float

    def cut(self, window: tuple[int, int, int, int] | None) -> Source:
        """The part in a window (x, y, width, height), or all of it."""
        if window is None:
            return self
        x, y, width, height = window
        return Source(values=self.values[y:y + height, x:x + width], white=self.white)


@dataclass(frozen=True, kw_only=True, eq=False)
class Restoring:
    """From a denoised picture to the one that it came from.

    source: the picture. stretched_from: (least, greatest) of 0..255 that a stretch has made 0 and 255, or None.
    """

    source: Source
    stretched_from: tuple[float, float] | None = None

    def picture(self, answer: np.ndarray) -> np.ndarray:
        """The answer in the source's own type: uint8, uint16, or float32 of floats.

        answer: (H, W, 1) float64 of 0..255, which all channels of a source of (H, W, 3) get, or (H, W, 3).
        """
        share, values, white = answer / 255, self.source.values, self.source.white
        if self.stretched_from is not None:
            low, high = self.stretched_from
            share = (low + share * (high - low)) / 255
        share = np.clip(share[..., 0] if values.ndim == 2 else np.broadcast_to(share, values.shape), 0, 1) * white
        if values.dtype.kind == "f":
            return share.astype(np.float32)
        return np.rint(share).astype(np.uint8 if white <= 0xFF else np.uint16)

