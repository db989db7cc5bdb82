"""A denoised grey back in the picture that it came from: its size, depth and colours."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from mrfhw.apps.picture_arrays import LUMA

__all__ = ["Source", "restored"]


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


def restored(source: Source, grey: np.ndarray, stretched_from: tuple[float, float] | None = None,
             observed: np.ndarray | None = None) -> np.ndarray:
    """The source with another grey, in its own type: uint8, uint16, or float32 of floats.

    grey: (H, W) float64 of 0..255, after a stretch of the source from `stretched_from` (of 0..255), if there was one. Colours keep
    what they have beside their grey: noise of colour stays. observed: (H, W) bool; pixels that were not known have the colour of
    the nearest known one.
    """
    share = grey / 255
    if stretched_from is not None:
        low, high = stretched_from
        share = (low + share * (high - low)) / 255
    values = source.values
    if values.ndim == 3:
        whole = values / source.white
        beside = whole - (whole @ LUMA)[..., None]
        share = share[..., None] + (beside if observed is None else _from_nearest(beside, observed))
    share = np.clip(share, 0, 1) * source.white
    if values.dtype.kind == "f":
        return share.astype(np.float32)
    return np.rint(share).astype(np.uint8 if source.white <= 0xFF else np.uint16)


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
