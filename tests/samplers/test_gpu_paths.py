"""First labels by paths on an OpenCL device are those of the processor."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import mrfhw
from mrfhw.backends.first_labels import FirstLabels
from mrfhw.field.problem import Problem
from mrfhw.samplers.gpu import paths as module
from mrfhw.samplers.gpu.device import of_name
from mrfhw.samplers.gpu.paths import device_paths
from mrfhw.samplers.gpu.source import LANGUAGES, paths_source
from mrfhw.samplers.path_start import path_start
from mrfhw.scenes import stereo_scene
from support.enumerated import random_problem

pytestmark = pytest.mark.claim("gpu", "first labels by paths are those of the processor, whatever the work-group, and those of a "
                               "job whose field is drawn on a device are worked out there")
DEVICE = "0"


@pytest.mark.parametrize("seed", range(8))
def test_the_labels_of_the_processor(seed: int) -> None:
    """Random fields, of doubletons that are not symmetric, weights, masks and up to 256 labels, and lines of a single site."""
    rng = np.random.default_rng(seed)
    problem = dataclasses.replace(random_problem(rng), clamped=None)
    if seed % 4 == 0:
        shape, labels = (int(rng.integers(1, 9)), int(rng.integers(1, 30))), int(rng.integers(60, 257))
        problem = Problem(labels=labels, unary=rng.integers(0, 1 << 16, (*shape, labels)), beta=int(rng.integers(1, 2000)),
                          doubleton="absolute", tau=int(rng.integers(1, 9)), edges=rng.integers(0, 4, (*shape, 2)))
    wanted = path_start(problem, 3)
    for group in (1, 16, 64):
        found = device_paths(of_name(DEVICE), problem, 3, group)
        assert found is not None
        assert found.dtype == np.uint8
        assert np.array_equal(found, wanted)


def test_what_a_device_does_not_hold_is_worked_out_here(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = random_problem(np.random.default_rng(1))
    large = Problem(labels=2, unary=np.full((2, 2, 2), 1 << 28), beta=1)
    device = of_name(DEVICE)
    assert device_paths(device, large, 3) is None
    assert device_paths(device, problem, 3, 1 << 20) is None
    monkeypatch.setattr(device, "room", 64)
    assert device_paths(device, problem, 3) is None
    assert np.array_equal(FirstLabels(3, f"gpu?device={DEVICE}").of(problem), path_start(problem, 3))


def test_a_job_on_a_device_begins_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both ways of a stereo job, whose answer on the device is that of labels worked out here."""
    scene = stereo_scene(rows=24, cols=40, labels=8)
    asked = []

    def counted(*arguments: object) -> np.ndarray | None:
        asked.append(device_paths(*arguments))  # type: ignore[arg-type]
        return asked[-1]

    answers = []
    for there in (counted, lambda *_: None):
        monkeypatch.setattr("mrfhw.backends.gpu.device_paths", there)
        answers.append(mrfhw.stereo(scene.left, scene.right, labels=8, sweeps=20, first_sweeps=4, chains=1,
                                    backend=f"gpu?device={DEVICE}"))
    assert len(asked) == 2
    assert all(one is not None for one in asked)
    assert np.array_equal(answers[0].counts, answers[1].counts)


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_text_has_no_word_of_one_language_alone(language: str) -> None:
    text = paths_source(language, 64, 64, module.ROW)
    body = text[text.index("#define ROW"):]
    assert not any(word in body for word in ("__global", "__local", "get_global_id", "blockIdx", "half"))
