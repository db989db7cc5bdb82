"""A denoised grey back in the picture that it came from: its size, depth and colours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mrfhw.pictures.greys import LUMA

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
    """From a denoised grey to the picture that it came from.

    source: the picture. stretched_from: (least, greatest) of 0..255 that a stretch has made 0 and 255, or None. observed: (H, W)
    bool; pixels that were not known get the colour of the nearest known one.
    """

    source: Source
    stretched_from: tuple[float, float] | None = None
    observed: np.ndarray | None = None

    def picture(self, grey: np.ndarray) -> np.ndarray:
        """The source with another grey, in its own type: uint8, uint16, or float32 of floats.

        grey: (H, W) float64 of 0..255. Colours keep what they have beside their grey: noise of colour stays.
        """
        share, values, white = grey / 255, self.source.values, self.source.white
        if self.stretched_from is not None:
            low, high = self.stretched_from
            share = (low + share * (high - low)) / 255
        if values.ndim == 3:
            whole = values / white
            beside = whole - (whole @ LUMA)[..., None]
            share = share[..., None] + (beside if self.observed is None else _from_nearest(beside, self.observed))
        share = np.clip(share, 0, 1) * white
        if values.dtype.kind == "f":
            return share.astype(np.float32)
        return np.rint(share).astype(np.uint8 if white <= 0xFF else np.uint16)


def _from_nearest(values: np.ndarray, known: np.ndarray) -> np.ndarray:
    """Values (H, W, C), where they are not known those of the nearest pixel that is; zero without SciPy."""
    try:
        from scipy import ndimage
    except ImportError:
        return np.where(known[..., None], values, 0.0)
    if known.all() or not known.any():
        return values if known.any() else np.zeros_like(values)
    nearest = ndimage.distance_transform_edt(~known, return_distances=False, return_indices=True)
    return np.asarray(values[tuple(nearest)])
