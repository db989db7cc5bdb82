"""Colours in CIELAB, where equal distances look alike."""

from __future__ import annotations

import numpy as np

__all__ = ["lab"]

_XYZ = np.array([[0.4124564, 0.3575761, 0.1804375], [0.2126729, 0.7151522, 0.0721750], [0.0193339, 0.1191920, 0.9503041]])
_WHITE = _XYZ.sum(1)  # D65
_CUT = 6 / 29


def lab(picture: np.ndarray) -> np.ndarray:
    """(H, W, 3) float64: lightness of 0 to 100, green to red and blue to yellow, of an sRGB picture; of a grey one (H, W, 1), the
    lightness alone. picture: uint8 (H, W) or (H, W, 3).
    """
    values = np.asarray(picture) / 255
    linear = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055)**2.4)
    relative = linear[..., None] if linear.ndim == 2 else (linear[..., None, :] * _XYZ).sum(-1) / _WHITE
    cubic = np.where(relative > _CUT**3, np.cbrt(relative), relative / (3 * _CUT**2) + 4 / 29)
    lightness = 116 * cubic[..., 1 if linear.ndim == 3 else 0] - 16
    if linear.ndim == 2:
        return np.asarray(lightness[..., None])
    return np.stack([lightness, 500 * (cubic[..., 0] - cubic[..., 1]), 200 * (cubic[..., 1] - cubic[..., 2])], -1)
