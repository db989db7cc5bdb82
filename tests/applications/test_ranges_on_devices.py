"""Ranges of disparities and windows of motions are found on the device that samples, as on the processor."""

from __future__ import annotations

import numpy as np
import pytest

import mrfhw
from mrfhw.applications.motion import window
from mrfhw.applications.motion.window import block_motions, find_window
from mrfhw.applications.stereo.disparity_range import find_range
from mrfhw.samplers.gpu import blocks
from mrfhw.samplers.gpu.device import DeviceMemoryError, of_name
from mrfhw.scenes import motion_scene, stereo_scene

pytestmark = pytest.mark.claim("gpu", "ranges of disparities and windows of motions are those of the processor, found on the "
                               "device that samples")
DEVICE = "0"  # of OpenCL, any


@pytest.mark.parametrize(("shape", "size", "held"), [((11, 17), 5, 4), ((3, 2), 7, 32), ((9, 30), 13, 32), ((1, 8), 3, 3)])
@pytest.mark.parametrize("masks", [False, True])
def test_motions_of_blocks_are_the_processor_s(shape, size, held, masks, device, monkeypatch):
    rng = np.random.default_rng(shape[1] + masks)
    first, second = (rng.integers(0, 256, shape).astype(np.uint32) for _ in range(2))
    known = tuple(rng.random(shape) < 0.7 for _ in range(2)) if masks else (None, None)
    rows, cols, asked = range(-2, 3), range(-3, 2), []

    def some(*words):
        asked.append(blocks.device_blocks(*words, held=held))
        return asked[-1]

    wanted = block_motions(first, second, rows, cols, size, known)
    monkeypatch.setattr(window, "device_blocks", some)
    found = block_motions(first, second, rows, cols, size, known, device)
    assert asked[0] is not None
    assert np.array_equal(found, wanted)


def test_ranges_and_windows_are_the_processor_s(monkeypatch):
    """Also where the device does not hold the pictures."""
    pair, frames, opened = stereo_scene(64, 96, 20, 1), motion_scene(60, 70, 1), of_name(DEVICE)
    wanted = find_range(pair.left, pair.right), find_window(frames.first, frames.second)

    def full(nbytes):
        raise DeviceMemoryError("it has too little memory")

    for name, value in (("name", opened.name), ("room", 64), ("zeros", full)):
        with monkeypatch.context() as patch:
            patch.setattr(opened, name, value)
            assert find_range(pair.left, pair.right, device=opened) == wanted[0]
            assert find_window(frames.first, frames.second, device=opened) == wanted[1]


@pytest.mark.parametrize("application", ["stereo", "motion"])
def test_a_job_s_range_is_found_on_its_device(application, monkeypatch):
    asked = []
    monkeypatch.setattr(window, "device_blocks", lambda *words: asked.append(words[0].name) or blocks.device_blocks(*words))
    run = dict(sweeps=20, backend=f"gpu?device={DEVICE}")
    if application == "stereo":
        pair = stereo_scene(48, 64, 8, 0)
        found = mrfhw.stereo(pair.left, pair.right, **run)
    else:
        frames = motion_scene(48, 56, 0)
        found = mrfhw.motion(frames.first, frames.second, **run)
    assert found.labels.shape[0] == 48
    assert set(asked) == {of_name(DEVICE).name}
