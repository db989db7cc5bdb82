"""Colours as a brightness and two differences of colours, planes whose noises are independent where those of the channels are."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

__all__ = ["NAMES", "Opponents"]

NAMES = ("brightness", "red less blue", "red and blue less green")
# (planes, channels), orthonormal: noise of a deviation in all channels has that deviation in all planes.
_AXES = np.array([[1, 1, 1], [1, 0, -1], [1, -2, 1]]) / np.sqrt([[3], [2], [6]])
_LEAST = 32.0  # greys to both sides that a plane of differences has at least


@dataclass(frozen=True, kw_only=True, eq=False)
class Opponents:
    """Three planes of 8-bit grey for colours of 0..255. ends: (3, 2), what a plane's 0 and 255 stand for, in units of the
    colours."""

    ends: np.ndarray

    @classmethod
    def of(cls, colours: np.ndarray, seen: np.ndarray | None = None) -> Opponents:
        """Planes that hold colours (H, W, 3) of 0..255 where seen, bool (H, W); None for everywhere."""
        found = (colours if seen is None else colours[seen]).reshape(-1, 3) @ _AXES.T
        most = np.maximum(np.abs(found[:, 1:]).max(0, initial=0.0), _LEAST)
        return cls(ends=np.array([[0.0, 255 * np.sqrt(3)], *([-one, one] for one in most)]))

    @property
    def gains(self) -> np.ndarray:
        """(3,): greys of a plane in a unit of the colours."""
        return np.asarray(255 / (self.ends[:, 1] - self.ends[:, 0]))

    @property
    def weights(self) -> np.ndarray:
        """(3, 3), channels and planes: what a unit of a plane adds to the channels."""
        return np.asarray(_AXES.T)

    def planes(self, colours: np.ndarray) -> list[np.ndarray]:
        """uint8 (H, W) each, of colours (H, W, 3) of 0..255; what is beyond a plane's ends is cut off."""
        found = (colours @ _AXES.T - self.ends[:, 0]) * self.gains
        return list(np.moveaxis(np.rint(found.clip(0, 255)).astype(np.uint8), -1, 0))

    def values(self, greys: np.ndarray) -> np.ndarray:
        """(3, n): what greys (n,) of 0..255 stand for in each plane, in units of the colours."""
        return np.asarray(self.ends[:, :1] + greys / self.gains[:, None])
