"""Medians of squares of pixels: what single pixels got wrong goes, edges stay."""

from __future__ import annotations

import numpy as np
from PIL import Image, ImageFilter

__all__ = ["medians"]


def medians(image: np.ndarray, side: int) -> np.ndarray:
    """Of side x side pixels around each of (H, W), side odd; beyond the edges the nearest pixel stands.

    image: uint8, or float32; the answer is of the same type.
    """
    reach = side // 2
    padded = Image.fromarray(np.pad(image, reach, mode="edge"))
    return np.asarray(padded.filter(ImageFilter.MedianFilter(side)))[reach:reach + image.shape[0], reach:reach + image.shape[1]]
