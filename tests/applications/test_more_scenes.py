"""The built-in scenes of motion, segmentation and denoising: their truth holds in the pictures."""

import numpy as np
import pytest
from PIL import Image

from mrfhw.applications.segmentation.scene import MEANS, NOISE
from mrfhw.field.problem import ProblemError
from mrfhw.pictures.flow import read_flow
from mrfhw.pictures.images import load_grey, load_segments
from mrfhw.scenes import (
    denoising_scene,
    motion_scene,
    segmentation_scene,
    write_denoising_scene,
    write_motion_scene,
    write_segmentation_scene,
)

BUILT_SCENES_TRUTH = pytest.mark.claim("applications", "the built-in scenes' truth holds in their pictures")

SCENES = (motion_scene, segmentation_scene, denoising_scene)


@pytest.mark.tools
@pytest.mark.parametrize("make", SCENES)
def test_same_arguments_same_scene(make):
    one, two, other = (vars(make(32, 40, seed=seed)) for seed in (7, 7, 8))
    assert all(np.array_equal(one[name], two[name]) for name in one)
    assert any(not np.array_equal(one[name], other[name]) for name in one)


@pytest.mark.tools
@pytest.mark.parametrize("make", SCENES)
@pytest.mark.parametrize(("arguments", "message"), [((15, 192), "16x16"), ((144, 8), "16x16"), ((100000, 100000), "16777216")])
def test_refused(make, arguments, message):
    with pytest.raises(ProblemError, match=message):
        make(*arguments)
    with pytest.raises(ProblemError, match="seed is -1"):
        make(seed=-1)


@pytest.mark.parametrize("deviation", [-1.0, 256.0, float("nan")])
def test_noise_refused(deviation):
    with pytest.raises(ProblemError, match="noise is"):
        denoising_scene(deviation=deviation)


@BUILT_SCENES_TRUTH
@pytest.mark.parametrize("seed", range(3))
def test_first_is_found_in_second_at_the_true_motion(seed):
    """Where the motion is whole, the second frame has the same grey, but for what it hides and for outlines."""
    scene = motion_scene(seed=seed)
    rows, cols = scene.first.shape
    assert scene.flow.min() >= -3
    assert scene.flow.max() <= 3
    assert len(np.unique(scene.flow.reshape(-1, 2), axis=0)) == 5
    row, col = np.indices((rows, cols))
    whole = (scene.flow == np.rint(scene.flow)).all(-1)
    motion = np.rint(scene.flow).astype(int)
    r, c = row + motion[..., 0], col + motion[..., 1]
    inside = whole & (r >= 0) & (r < rows) & (c >= 0) & (c < cols)
    error = np.abs(scene.first.astype(int) - scene.second[r.clip(0, rows - 1), c.clip(0, cols - 1)])[inside]
    assert inside.mean() > 0.7
    assert (error == 0).mean() > 0.93
    off = np.abs(scene.first.astype(int) - scene.second[r.clip(0, rows - 1), (c + 1).clip(0, cols - 1)])[inside]
    assert (off == 0).mean() < 0.2


def test_parts_of_a_pixel_are_between_the_whole_ones():
    """Along a motion of half a row, the mean of the two nearest pixels is nearer than either."""
    scene = motion_scene(seed=0)
    half = (scene.flow == (0.5, 2.5)).all(-1)
    inner = half & np.roll(half, 4, 1) & np.roll(half, -4, 1) & np.roll(half, 2, 0) & np.roll(half, -2, 0)
    row, col = np.nonzero(inner)
    second = scene.second.astype(float)
    first = scene.first[inner]
    corners = [second[row + dr, col + dc] for dr in (0, 1) for dc in (2, 3)]
    assert np.abs(np.mean(corners, 0) - first).mean() < 0.7 * min(np.abs(corner - first).mean() for corner in corners)


@BUILT_SCENES_TRUTH
def test_classes_have_their_means_and_noise():
    scene = segmentation_scene(seed=3)
    assert scene.image.dtype == np.uint8
    for kind, mean in enumerate(MEANS):
        greys = scene.image[scene.classes == kind]
        assert len(greys) > 1000
        assert greys.mean() == pytest.approx(mean, abs=2)
        assert greys.std() == pytest.approx(NOISE, rel=0.06)


@BUILT_SCENES_TRUTH
@pytest.mark.parametrize("deviation", [0.0, 20.0])
def test_noise_and_scratches(deviation):
    scene = denoising_scene(deviation=deviation, seed=4)
    difference = scene.noisy.astype(float) - scene.clean
    assert difference[scene.observed].std() == pytest.approx(deviation, rel=0.03)
    assert (scene.noisy[~scene.observed] == 0).all()
    assert 0.02 < (~scene.observed).mean() < 0.15


def test_files_keep_the_truth(tmp_path):
    motion, segments, noise = (make(40, 56, seed=2) for make in SCENES)
    first, second, flow = write_motion_scene(motion, tmp_path / "m")
    assert np.array_equal(load_grey(first, 8), motion.first)
    assert np.array_equal(load_grey(second, 8), motion.second)
    assert np.array_equal(read_flow(flow), motion.flow)
    image, labels = write_segmentation_scene(segments, tmp_path / "s")
    assert np.array_equal(load_grey(image, 8), segments.image)
    assert np.array_equal(load_segments(labels), segments.classes + 1)
    clean, noisy, mask = write_denoising_scene(noise, tmp_path / "d")
    assert np.array_equal(load_grey(clean, 8), noise.clean)
    assert np.array_equal(load_grey(noisy, 8), noise.noisy)
    with Image.open(mask) as picture:
        assert np.array_equal(np.asarray(picture) > 0, noise.observed)
