"""What is said of pairs that cannot be matched, before they are sampled and afterwards."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

import mrfhw
from mrfhw.applications.unlike import FEW_OF_FRAMES, FEW_OF_PAIR
from mrfhw.cli import main
from mrfhw.scenes import motion_scene, stereo_scene
from support.data import data_directory

UNLIKE = pytest.mark.claim(
    "applications", "pairs that cannot be matched are said in one line before they are sampled, with what is likely; no others are")
SCENE = stereo_scene(96, 128, 12, 0)
LEFT, RIGHT = SCENE.left, SCENE.right
FRAMES = motion_scene(96, 128, 1)
STRANGE = stereo_scene(96, 128, 12, 7).right
SAID = r"\d\d % of the pixels of left picture are not confirmed by right picture, too many for an answer to mean much: "
OF_FRAMES = r"\d\d % of the pixels of first frame are not confirmed by second frame, too many for an answer to mean much: "


def noisy(picture, deviation):
    return np.clip(picture + np.random.default_rng(2).normal(0, deviation, picture.shape), 0, 255).astype(np.uint8)


def of_pair(left, right, **options):
    return mrfhw.Request("stereo", left=left, right=right, **options).job()


@UNLIKE
@pytest.mark.parametrize(("left", "right", "options", "likely"), [
    (LEFT, np.roll(RIGHT, 8, 0), {}, "rows seem to be about 8 apart: rectify the pair"),
    (LEFT, np.roll(RIGHT, -4, 0), {"labels": 24}, "rows seem to be about 4 apart: rectify the pair"),
    (LEFT, 255 - RIGHT, {}, "one seems to be the negative of the other: invert it"),
    (RIGHT, LEFT, {"labels": 24}, r"disparities seem to be -\d+ to -?\d+, and 0 to 23 are told apart: exchange LEFT and RIGHT"),
    (LEFT, RIGHT, {"labels": 8, "min_disparity": 40},
     r"disparities seem to be \d to 1\d, and 40 to 47 are told apart: leave labels and min-disparity out"),
    (LEFT, np.random.default_rng(1).permutation(STRANGE.ravel()).reshape(STRANGE.shape), {},
     "rectify the pair if its rows are apart, exchange LEFT and RIGHT if RIGHT is given first, or give two pictures of one scene")])
def test_why_a_pair_has_no_match(left, right, options, likely):
    job = of_pair(left, right, **options)
    assert job.first.unconfirmed > FEW_OF_PAIR
    (line,) = job.doubts
    assert re.fullmatch(SAID + likely, line), line


@UNLIKE
@pytest.mark.parametrize("options", [{}, {"labels": 12}, {"labels": 40}])
@pytest.mark.parametrize("right", [RIGHT, noisy(RIGHT, 3), (RIGHT * 0.6 + 10).astype(np.uint8)], ids=["as it is", "noise", "gain"])
def test_nothing_is_said_of_pairs_that_match(right, options):
    job = of_pair(LEFT, right, **options)
    assert job.first.unconfirmed < FEW_OF_PAIR
    assert job.doubts == ()


def test_exchanged_pictures_whose_range_is_found_match():
    assert of_pair(RIGHT, LEFT).doubts == ()
    assert of_pair(LEFT, LEFT).doubts == ()


@UNLIKE
@pytest.mark.parametrize(("second", "options", "likely"), [
    (255 - FRAMES.second, {}, "one seems to be the negative of the other: invert it"),
    (np.roll(FRAMES.second, 9, 0), {"vectors": (5, 5)},
     r"motions seem to be \d+ to \d+ rows and -?\d to \d columns: leave vectors and centre out"),
    (np.random.default_rng(1).permutation(FRAMES.second.ravel()).reshape(FRAMES.second.shape), {},
     "give two frames of one scene, in which nothing moves by more than 32 pixels, or vectors and their centre")])
def test_why_frames_have_no_match(second, options, likely):
    job = mrfhw.Request("motion", first=FRAMES.first, second=second, **options).job()
    assert job.first.unconfirmed > FEW_OF_FRAMES
    (line,) = job.doubts
    assert re.fullmatch(OF_FRAMES + likely, line), line


def test_nothing_is_said_of_frames_that_match():
    for options in ({}, {"vectors": (7, 7)}):
        assert mrfhw.Request("motion", first=FRAMES.first, second=FRAMES.second, **options).job().doubts == ()


def test_it_is_said_before_sampling_and_afterwards_without_advice_to_sample_more(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, picture in (("left.png", LEFT), ("right.png", np.roll(RIGHT, 8, 0))):
        Image.fromarray(picture).save(name)
    done = CliRunner().invoke(main, ["run", "stereo", "left.png", "right.png", "--labels", "12", "--sweeps", "8", "--no-report",
                                     "-o", "out"])
    assert done.exit_code == 0, done.output
    warnings = json.loads((tmp_path / "out" / "report.json").read_text())["warnings"]
    assert sum("not confirmed by right.png" in line for line in warnings) == 1
    assert not any("more sweeps" in line for line in warnings)
    said = warnings[-1]
    assert [said in stream.splitlines() for stream in (done.stderr, done.stdout)] == [True, True]
    assert done.output.index(said) < done.output.index("label evaluations")


@pytest.mark.parametrize("scene", ["teddy", "poster", "art"])
def test_nothing_is_said_of_published_pairs(scene):
    folder = data_directory() / "stereo" / scene
    job = of_pair(folder / "left.png", folder / "right.png")
    assert job.doubts == ()
    assert not any("border" in note for note in job.notes)
