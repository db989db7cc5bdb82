"""Pairs of pictures on the command line: one depth, one map, and what is said of them."""

from __future__ import annotations

import json

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from mrfhw.applications.denoising.job import APPLICATION
from mrfhw.cli import main

LEFT = np.random.default_rng(0).integers(0, 256, (12, 24), dtype=np.uint8)
LEFT[0, :2] = 0, 255
RIGHT = np.roll(LEFT, 1, 1)
VERBS = {"stereo": ("--labels", "4"), "motion": ("--vectors", "1x3")}


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def save(name, values):
    Image.fromarray(values).save(name)


def run(verb, *words, output="out"):
    result = CliRunner().invoke(main, ["run", verb, *words, *VERBS.get(verb, ()), "--sweeps", "4", "--no-report", "-o", output],
                                prog_name="mrfhw")
    labels = None if result.exit_code else np.load(f"{output}/labels.npy")
    return result, labels


@pytest.mark.parametrize("verb", VERBS)
def test_12_bits_in_16(here, verb):
    """Of 12 bits only two came through, without a word."""
    for name, values in (("l", LEFT), ("r", RIGHT)):
        save(f"{name}.png", values)
        save(f"{name}12.png", values.astype(np.uint16) << 4)
    _, wanted = run(verb, "l.png", "r.png")
    result, _ = run(verb, "l12.png", "r12.png")
    assert (result.exit_code, result.stdout) == (2, "")
    assert result.stderr == ("Error: l12.png has values up to 4080; 16-bit grey goes to 65535: "
                             "give depth 12, or depth 16 if it is that dark\n")
    result, labels = run(verb, "l12.png", "r12.png", "--depth", "12", output="twelve")
    assert (result.exit_code, result.stderr) == (0, "")
    assert np.array_equal(labels, wanted)


@pytest.mark.parametrize("verb", VERBS)
def test_floats_from_0_to_1(here, verb):
    for name, values in (("l", LEFT), ("r", RIGHT)):
        save(f"{name}.png", values)
        save(f"{name}.tiff", values.astype(np.float32) / 255)
    assert np.array_equal(run(verb, "l.png", "r.png")[1], run(verb, "l.tiff", "r.tiff", output="floats")[1])


@pytest.mark.claim("applications",
    "pictures of floats, of 12 bits in 16, of few greys, lists, alpha and EXIF orientation are read as they are meant, or refused "
    "in one line")
@pytest.mark.parametrize("verb", VERBS)
def test_a_narrow_pair_is_stretched_by_one_map(here, verb):
    narrow = [100 + values.astype(int) * 20 // 255 for values in (LEFT, RIGHT // 2)]  # 100 to 120, 100 to 109
    save("l.png", narrow[0].astype(np.uint8))
    save("r.png", narrow[1].astype(np.uint8))
    for name, values in zip("LR", narrow, strict=True):
        save(f"{name}.png", np.rint((values - 100) * 255 / 20).astype(np.uint8))
    said = f"Note: the grey of l.png and r.png is 100 to {max(map(np.max, narrow))} of 0 to 255"
    assert run(verb, "l.png", "r.png")[0].stderr == f"{said}: stretch would use all of it\n"
    result, labels = run(verb, "l.png", "r.png", "--stretch")
    assert result.stderr == f"{said}, stretched to all of it\n"
    settings = json.loads((here / "out" / "report.json").read_text())["settings"]
    assert (settings["stretch"], settings["stretched_from"]) == (True, pytest.approx([100, 120]))
    assert np.array_equal(labels, run(verb, "L.png", "R.png", output="wide")[1])


def test_the_clean_picture_follows_the_noisy_one(here):
    save("n.png", (LEFT // 8 + 100))
    save("c.png", (RIGHT // 8 + 100))
    job = APPLICATION.job_of(dict(image="n.png", levels=8, noise=4.0, truth="c.png", sweeps=4, stretch=True))
    wanted = np.rint((np.stack([LEFT, RIGHT]) // 8).astype(float) * 255 / 31)
    assert np.array_equal(job.inputs["noisy picture"], wanted[0])
    assert np.array_equal(job.truth.clean, wanted[1])
    assert job.settings["stretched_from"] == pytest.approx([100, 131])


@pytest.mark.parametrize("verb", ["stereo", "motion", "segment", "denoise"])
def test_every_application_has_the_options(verb):
    shown = CliRunner().invoke(main, ["help", "run", verb]).stdout
    assert "--depth BITS" in shown
    assert "--stretch" in shown
