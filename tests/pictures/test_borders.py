"""Black borders of pictures, and what stands in for what is not known."""

from __future__ import annotations

import numpy as np
import pytest

from mrfhw.pictures.borders import black_border, filled_beside

BORDERS = pytest.mark.claim(
    "pictures", "black borders are found where they are exactly 0, reach the edge and end abruptly, and dark scenes are none")


def textured(rows=60, cols=80, least=1):
    return np.random.default_rng(3).integers(least, 256, (rows, cols)).astype(np.uint8)


def frame(shape):
    hidden = np.ones(shape, bool)
    hidden[5:-7, 9:-4] = False
    return hidden


def wedge(shape):
    row, col = np.indices(shape)
    return row < 0.15 * col


@BORDERS
@pytest.mark.parametrize("shape_of", [frame, wedge])
@pytest.mark.parametrize("channels", [0, 3])
@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.float32])
def test_borders_are_found(shape_of, channels, kind):
    picture = textured().astype(kind)
    hidden = shape_of(picture.shape)
    if channels:
        picture = np.stack([picture] * channels, -1)
    picture[hidden] = 0
    if channels:
        picture[30, 40, :2] = 0  # one pixel of one colour, and no border either
    found = black_border(picture)
    assert found is not None
    assert (found == hidden).all()


@BORDERS
@pytest.mark.parametrize("picture", [
    textured(), np.zeros((40, 50)), np.full((40, 50), 7), np.zeros((1, 1)), np.zeros((3, 90)),
    np.where(frame((60, 80)), 1, textured()),  # nearly black
    np.where(np.pad(frame((40, 40)), ((10, 10), (20, 20))), 0, textured()),  # a black ring within
    np.where(np.arange(60)[:, None] < 3, 0, textured()),  # three rows
], ids=["texture", "black", "grey", "pixel", "narrow", "nearly black", "ring", "three rows"])
def test_no_borders_of(picture):
    assert black_border(picture) is None


@BORDERS
@pytest.mark.parametrize("dark", [0.1, 0.2, 0.4])
def test_the_dark_parts_of_a_scene_are_no_border(dark):
    """Light that falls off to a side, under noise, in which all below a grey is black."""
    rng = np.random.default_rng(5)
    row, col = np.indices((90, 120))
    for light in (col / 120, (row + col) / 210, np.hypot(row - 45, col - 60) / 75):
        scene = 200 * light + rng.normal(0, 6, light.shape)
        assert black_border(np.maximum(0, scene - np.quantile(scene, dark)).astype(np.uint8)) is None


@pytest.mark.parametrize("channels", [(), (2,)])
def test_filled_beside_in_plain_python(channels):
    rng = np.random.default_rng(1)
    values, known = rng.integers(0, 1000, (9, 12, *channels)), rng.random((9, 12)) < 0.3
    found = filled_beside(values, known)
    for row, col in np.ndindex(9, 12):
        ways = [abs(r - row) + abs(c - col) for r, c in np.argwhere(known) if r == row or c == col]
        if known[row, col]:
            assert (found[row, col] == values[row, col]).all()
        elif ways:
            beside = [values[r, c] for r, c in np.argwhere(known) if (r == row or c == col)
                      and abs(r - row) + abs(c - col) == min(ways)]
            assert any((found[row, col] == one).all() for one in beside)
    hidden = np.ones((9, 12), bool)
    hidden[2:5, 3:6] = False
    assert (filled_beside(values, ~hidden)[0, 0] == values[2, 3]).all()  # from what stands beside what is known
    assert filled_beside(values, None) is values
    assert filled_beside(values, np.zeros((9, 12), bool)) is values
