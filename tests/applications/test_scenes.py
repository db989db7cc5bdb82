"""The built-in scene: its truth holds in the pictures."""

import numpy as np
import pytest
from PIL import Image

from mrfhw.field.problem import ProblemError
from mrfhw.pictures.images import load_disparity, load_grey
from mrfhw.scenes import stereo_scene, write_scene


def test_same_arguments_same_scene():
    one, two, other = stereo_scene(48, 64, 12, 7), stereo_scene(48, 64, 12, 7), stereo_scene(48, 64, 12, 8)
    for name in ("left", "right", "disparity"):
        assert np.array_equal(getattr(one, name), getattr(two, name))
        assert not np.array_equal(getattr(one, name), getattr(other, name))


@pytest.mark.parametrize("shape", [(144, 192, 24), (16, 16, 4), (40, 200, 50), (300, 256, 64)])
def test_shapes_types_and_range(shape):
    rows, cols, labels = shape
    scene = stereo_scene(rows, cols, labels, 3)
    assert scene.left.shape == scene.right.shape == scene.disparity.shape == (rows, cols)
    assert scene.left.dtype == scene.right.dtype == np.uint8
    assert scene.disparity.min() > 0
    assert scene.disparity.max() <= labels - 1
    assert np.array_equal(scene.disparity * 256, np.rint(scene.disparity * 256))


@pytest.mark.claim("applications", "the built-in scenes' truth holds in their pictures")
@pytest.mark.parametrize("seed", range(4))
def test_left_is_found_in_right_at_the_true_disparity(seed):
    """Warping right by the truth gives left, but for what right hides (no more than a fifth of the picture)."""
    scene = stereo_scene(seed=seed)
    rows, cols = scene.left.shape
    at = np.arange(cols) - scene.disparity
    warped = np.stack([np.interp(at[r], np.arange(cols), scene.right[r]) for r in range(rows)])
    # The truth's nearest surface at each right pixel says what is seen there.
    nearest = np.zeros((rows, cols + 1))
    landing = np.clip(np.rint(at).astype(int), 0, cols)
    np.maximum.at(nearest, (np.arange(rows)[:, None], landing), scene.disparity)
    seen = (at >= 0) & (np.take_along_axis(nearest, landing, 1) - scene.disparity < 1)
    error = np.abs(warped - scene.left)
    assert seen.mean() > 0.8
    assert np.median(error[seen]) < 2
    assert (error[seen] > 16).mean() < 0.05
    # One pixel off is much worse, so the test sees an error of a pixel.
    off = np.stack([np.interp(at[r] + 1, np.arange(cols), scene.right[r]) for r in range(rows)])
    assert np.median(np.abs(off - scene.left)[seen]) > 4


def test_a_hidden_part_exists_and_several_depths():
    scene = stereo_scene()
    assert len(np.unique(np.rint(scene.disparity))) >= 12
    landing = np.rint(np.arange(192) - scene.disparity).astype(int)
    hidden = [len(row) - len(set(row)) for row in landing]
    assert sum(hidden) > 500


def test_pictures_keep_the_truth(tmp_path):
    scene = stereo_scene(48, 64, 16, 1)
    paths = write_scene(scene, tmp_path / "scene")
    assert [path.name for path in paths] == ["left.png", "right.png", "disparity.png"]
    assert np.array_equal(load_grey(paths[0], 8), scene.left)
    assert np.array_equal(load_grey(paths[1], 6), scene.right >> 2)
    assert np.array_equal(load_disparity(paths[2], scene.truth_scale), scene.disparity)
    with Image.open(paths[2]) as image:
        assert image.mode == "I;16"


@pytest.mark.parametrize(("arguments", "message"), [
    ((15, 192, 24, 0), "16x16"), ((144, 8, 4, 0), "16x16"), ((144, 192, 3, 0), "labels is 3"),
    ((144, 192, 65, 0), "labels is 65"), ((144, 40, 24, 0), "4 to 10"), ((144, 192, 24, -1), "seed is -1"),
    ((100000, 100000, 24, 0), "16777216"),
])
def test_refused(arguments, message):
    with pytest.raises(ProblemError, match=message):
        stereo_scene(*arguments)
