"""Medians of squares of pixels: the definition, written with NumPy alone."""

from __future__ import annotations

import numpy as np
import pytest

from mrfhw.pictures.medians import medians
from mrfhw.system.threads import PIXELS_WORTH_A_THREAD

SHAPES = ((1, 1), (1, 30), (7, 2), (40, 33), (2 * PIXELS_WORTH_A_THREAD // 100, 101))  # the last in two shares


@pytest.mark.parametrize("side", [1, 3, 9])
@pytest.mark.parametrize("shape", SHAPES)
def test_they_are_those_of_all_pixels_around(side: int, shape: tuple[int, int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MRFHW_THREADS", "2")
    draw = np.random.default_rng(side)
    for image in (draw.integers(0, 256, shape).astype(np.uint8), draw.integers(0, 3, shape).astype(np.uint8),
                  draw.normal(size=shape).astype(np.float32)):
        padded = np.pad(image, side // 2, mode="edge")
        squares = np.lib.stride_tricks.sliding_window_view(padded, (side, side))
        found = medians(image, side)
        assert found.dtype == image.dtype
        assert np.array_equal(found, np.sort(squares.reshape(*shape, -1))[..., side * side // 2])
