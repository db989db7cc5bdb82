"""What is made of a stereo run's histograms on a device is what the processor makes of them, bit for bit."""

from __future__ import annotations

import numpy as np
import pytest

import mrfhw
from mrfhw.analysis import alike, alike_device
from mrfhw.analysis.alike import shared
from mrfhw.applications.stereo import between_device
from mrfhw.applications.stereo.between import SharedDisparity
from mrfhw.samplers.gpu.device import DeviceMemoryError, of_name
from mrfhw.scenes import stereo_scene

pytestmark = pytest.mark.claim("gpu", "histograms are averaged, and disparities between pixels fitted, on the device that samples, "
                               "with the bits of the processor")
DEVICE = "0"  # of OpenCL, any


def drawn(rows: int, cols: int, labels: int, kind: type) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Histograms, some empty, last labels and greys."""
    rng = np.random.default_rng(rows * labels)
    counts = rng.multinomial(300, rng.dirichlet(np.full(labels, 0.3), (rows, cols))).astype(kind)
    counts[rng.random((rows, cols)) < 0.1] = 0
    return counts, rng.integers(0, labels, (rows, cols)).astype(np.uint8), rng.integers(0, 256, (rows, cols)) / 3


@pytest.mark.parametrize(("shape", "held"), [((13, 17, 3), 3), ((5, 14, 9), 4), ((1, 1, 2), 1), ((14, 2, 5), 2), ((2, 14, 4), 4)])
@pytest.mark.parametrize("kind", [np.uint16, np.uint32])
def test_like_colours_share_as_on_the_processor(shape, held, kind, device, monkeypatch):
    counts, last, guide = drawn(*shape, kind)
    wanted, asked = shared(counts, last, guide), []

    def some(*words):
        asked.append(alike_device.device_shared(*words, held=held))
        return asked[-1]

    monkeypatch.setattr(alike, "device_shared", some)
    assert np.array_equal(shared(counts, last, guide, device), wanted)
    assert asked[0] is not None


@pytest.mark.parametrize("shape", [(12, 17), (2, 2), (14, 3)])
@pytest.mark.parametrize("hides", [False, True])
def test_disparities_are_fitted_as_on_the_processor(shape, hides, device, monkeypatch):
    rng = np.random.default_rng(shape[0])
    left, right = (rng.integers(0, 256, shape).astype(float) for _ in range(2))
    mode = rng.integers(-3, 9, shape).astype(float)
    near = mode + rng.normal(0, 0.4, shape)
    hidden = rng.random(shape) < 0.3 if hides else None
    wanted = SharedDisparity(left, right, hidden).fitted(mode, near)
    monkeypatch.setattr(SharedDisparity, "_rounds", None)  # the processor has no part in it
    monkeypatch.setattr(SharedDisparity, "device", device)
    found = SharedDisparity(left, right, hidden, backend="gpu").fitted(mode, near)
    for one, other in zip(found, wanted, strict=True):
        assert np.array_equal(one, other)


def test_what_a_device_does_not_hold_the_processor_does(monkeypatch):
    counts, last, guide = drawn(6, 7, 3, np.uint16)
    disparity = SharedDisparity(guide, guide[::-1], backend=f"gpu?device={DEVICE}")
    opened, mode = of_name(DEVICE), np.round(guide / 80)
    wanted = shared(counts, last, guide), SharedDisparity(guide, guide[::-1]).fitted(mode, mode)

    def full(nbytes):
        raise DeviceMemoryError("it has too little memory")

    for name, value in (("doubles", False), ("room", 64), ("zeros", full)):
        with monkeypatch.context() as patch:
            patch.setattr(opened, name, value)
            assert alike_device.device_shared(opened, counts, last, counts.sum(-1, dtype=np.int64), alike_device.Windows(
                guide, guide, guide, guide, 5, 40.0), np.arange(9.0)) is None
            assert np.array_equal(shared(counts, last, guide, opened), wanted[0])
            assert np.array_equal(disparity.fitted(mode, mode), wanted[1])


def test_a_job_on_a_device_is_answered_there(monkeypatch):
    scene, asked = stereo_scene(24, 40, 8, 0), []
    job = dict(labels=8, min_disparity=0, sweeps=40, backend=f"gpu?device={DEVICE}")

    def counting(module, name):
        worked = getattr(module, name)
        return lambda *words: asked.append(name) or worked(*words)

    with monkeypatch.context() as patch:
        patch.setattr(alike, "device_shared", counting(alike_device, "device_shared"))
        patch.setattr("mrfhw.applications.stereo.between.device_fitted", counting(between_device, "device_fitted"))
        there = mrfhw.stereo(scene.left, scene.right, **job)
        answered = there.disparity, there.confidence, there.interval
    assert asked == ["device_shared", "device_fitted"]
    monkeypatch.setattr(alike, "device_shared", lambda *_: None)
    monkeypatch.setattr("mrfhw.applications.stereo.between.device_fitted", lambda *_: None)
    here = mrfhw.stereo(scene.left, scene.right, **job)
    for one, other in zip(answered, (here.disparity, here.confidence, here.interval), strict=True):
        assert np.array_equal(one, other)
