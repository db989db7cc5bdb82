"""What a run says of truths that no label can have, and of files that are read in a way that a user should know."""

from __future__ import annotations

import json

import numpy as np
import pytest
from PIL import Image

import mrfhw
from mrfhw.system.errors import ProblemError

SAID = pytest.mark.claim("applications",
    "true disparities and motions that no label has are counted and said, those that no picture of that size can have are unknown")
ROWS, COLS = 24, 40
GREY = np.random.default_rng(0).integers(0, 256, (ROWS, COLS), dtype=np.uint8)


def stereo(truth, **options):
    return mrfhw.stereo(GREY, np.roll(GREY, -2, 1), labels=6, data="grey", sweeps=4, truth=truth, **options)


def motion(truth, **options):
    return mrfhw.motion(GREY, np.roll(GREY, 1, 1), vectors=(3, 3), data="grey", sweeps=4, truth=truth, **options)


def of_truth(answer):
    return [note for note in answer.notes if "true " in note]


@SAID
def test_disparities_outside_the_labels_are_counted_and_said(tmp_path):
    """-1, which matchers write for invalid, is a disparity as good as any: the user is told."""
    truth = np.full((ROWS, COLS), 2.0)
    answer = stereo(truth)
    assert of_truth(answer) == []
    truth[::3] = -1
    other = stereo(truth)
    assert of_truth(other) == ["Note: 320 of 960 true disparities, most often -1 pixels, lie outside the labels, 0 to 5, and count "
                               "as errors: make them 0 where that stands for unknown"]
    assert other.metrics["epe"] > answer.metrics["epe"]
    other.save(tmp_path, report=False)
    assert json.loads((tmp_path / "report.json").read_text())["notes"] == list(other.notes)


def test_a_disparity_within_half_a_pixel_of_a_label_is_none_outside():
    assert of_truth(stereo(np.linspace(-0.5, 5.5, ROWS * COLS).reshape(ROWS, COLS))) == []
    assert of_truth(stereo(np.full((ROWS, COLS), 5.6)))[0].startswith("100 % of the true disparities, 5.6 pixels in the middle")


@SAID
def test_disparities_wider_than_the_picture_are_unknown(tmp_path):
    """4095, which -16 is as 16 bits without a sign, by its unit."""
    held = np.full((ROWS, COLS), 2 * 16)
    held[::3] = -16
    path = tmp_path / "u.png"
    Image.fromarray(held.astype(np.int16).view(np.uint16)).save(path)
    said = f"Note: 320 of 960 true disparities in {path}, such as 4095 pixels, are beyond its 40 columns: they are taken as unknown"
    answer = stereo(path, truth_scale=16)
    assert of_truth(answer) == [said]
    assert answer.metrics == stereo(np.where(held < 0, 0, 2)).metrics
    assert of_truth(stereo(path, truth_scale=16, window=(0, 0, 30, ROWS))) == [said]  # of the picture, not of the window
    with pytest.raises(ProblemError, match=r"has disparities of 4095 pixels, and 40 columns: give truth-scale"):
        stereo(np.full((ROWS, COLS), 4095.0))


@SAID
@pytest.mark.parametrize("unknown", [1e9, 1e10, np.nan, np.inf])
def test_unknown_motions_do_not_count(unknown):
    truth = np.zeros((ROWS, COLS, 2))
    truth[..., 0] = 1
    truth[:10] = unknown
    answer = motion(truth)
    assert of_truth(answer) == []
    assert answer.metrics["epe_least"] == 0
    assert answer.metrics["epe"] < 5


@SAID
def test_motions_that_no_label_has():
    truth = np.zeros((ROWS, COLS, 2))
    truth[:10] = 3, 0  # along columns
    assert of_truth(motion(truth)) == ["Note: 400 of 960 true motions lie outside the labels, motions of -1 to 1 rows and -1 to 1 "
                                       "columns"]
    truth[:10] = 99999, 0
    answer = motion(truth)
    assert of_truth(answer) == ["Note: 400 of 960 true motions in the truth, such as 0 rows and 99999 columns, are beyond its "
                                "40x24 pixels: they are taken as unknown"]
    assert answer.metrics["epe"] < 5


@SAID
def test_void_does_not_count(tmp_path):
    """A segmentation by hand that is right but for its marked boundaries is right."""
    segments = np.repeat([[1, 2, 3]], ROWS, 0).repeat([12, 14, 14], 1).astype(np.uint8)
    picture, void = 80 * segments - 20, segments.copy()
    void[:, [11, 12, 25, 26]] = 255
    void[0] = 0
    path = tmp_path / "void.png"
    Image.fromarray(void).save(path)
    answer = mrfhw.segment(picture, sweeps=6, data="grey", truth=[path])
    assert answer.metrics["vi"] == 0
    assert answer.notes == (f"Note: 92 of 960 pixels of {path} are 255, which is taken for void, like the 40 of 0: they are "
                            "unknown; number a segment otherwise",)


def test_notes_of_masks_and_pictures(tmp_path):
    pages = [Image.fromarray(GREY), Image.fromarray(GREY // 2)]
    pages[0].save(tmp_path / "a.tif", save_all=True, append_images=pages[1:])
    Image.fromarray(np.full_like(GREY, 255)).save(tmp_path / "m.jpg")
    answer = mrfhw.denoise(tmp_path / "a.tif", mask=tmp_path / "m.jpg", truth=tmp_path / "a.tif", levels=8, sweeps=2)
    assert answer.notes == (f"Note: the first of 2 pictures in {tmp_path / 'a.tif'} is read",
                            f"Note: {tmp_path / 'm.jpg'} is a JPEG, which does not keep black exactly: give a PNG")
