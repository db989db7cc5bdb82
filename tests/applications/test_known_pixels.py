"""What masks and black borders hide of a pair: it has no datum, confirms nothing, and is filled in from beside."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

import mrfhw
from mrfhw.applications.descriptors import census
from mrfhw.applications.known import GivenMask
from mrfhw.applications.motion.field import DOUBT_UNKNOWN as OF_MOTION
from mrfhw.applications.motion.window import find_window
from mrfhw.applications.stereo.disparity_range import find_range
from mrfhw.applications.stereo.field import DOUBT_UNKNOWN
from mrfhw.applications.two_ways import matched_to, shown_behind, unmatched
from mrfhw.cli import main
from mrfhw.pictures.borders import filled_beside
from mrfhw.scenes import motion_scene, stereo_scene
from mrfhw.system.errors import ProblemError

HIDDEN = pytest.mark.claim(
    "applications", "what a mask or a black border hides of a pair has no datum in either picture, and is filled in with wide "
    "intervals")
RNG = np.random.default_rng(6)
SHAPE = (72, 96)
FIRST, SECOND = np.ones(SHAPE, bool), np.ones(SHAPE, bool)
FIRST[:9] = FIRST[:, :14] = False
SECOND[:, -12:] = SECOND[-6:] = False


@pytest.fixture(scope="module")
def pair():
    scene = stereo_scene(*SHAPE, 12, 0)
    return [np.maximum(1, picture) for picture in (scene.left, scene.right)], scene.disparity


@pytest.fixture(scope="module")
def bordered(pair):
    return [np.where(known, picture, 0).astype(np.uint8) for known, picture in zip((FIRST, SECOND), pair[0], strict=True)]


@HIDDEN
def test_unknown_pixels_confirm_nothing_in_plain_python():
    there, back = RNG.integers(-3, 4, (2, 9, 11, 2))
    known, other = RNG.random((2, 9, 11)) < 0.7
    missing, all_known = unmatched(there, back, 1, known, other), unmatched(there, back, 1)
    for row, col in np.ndindex(9, 11):
        r, c = there[row, col] + (row, col)
        inside = 0 <= r < 9 and 0 <= c < 11
        assert missing[row, col] == (all_known[row, col] or not known[row, col] or (inside and not other[r, c]))
    met = matched_to(back[..., 1], other)
    for row, col in np.ndindex(9, 11):
        assert met[row, col] == any(x + back[row, x, 1] == col and other[row, x] for x in range(11))
    left, right = RNG.integers(0, 256, (2, 9, 11))
    disparity, hidden = RNG.integers(-2, 4, (9, 11)), RNG.random((9, 11)) < 0.5
    datum, seen = shown_behind(left, right, disparity, hidden, other)
    for row, col in np.ndindex(9, 11):
        x = col - disparity[row, col]
        shown = 0 <= x < 11 and other[row, x]
        assert seen[row, col] == (shown or not hidden[row, col])
        assert datum[row, col] == (right[row, x] if hidden[row, col] and shown else left[row, col])


@HIDDEN
def test_borders_of_both_pictures_have_no_data(bordered):
    job = mrfhw.Request("stereo", left=bordered[0], right=bordered[1], labels=12, sweeps=8, backend="cpu").job()
    (there, _), (back, _) = job.first.runs
    assert (there.observed == FIRST).all()
    assert (there.shown == SECOND).all()
    assert (back.observed[:, ::-1] == SECOND).all()
    assert (back.shown[:, ::-1] == FIRST).all()
    assert (there.singleton1 == census(filled_beside(bordered[0], FIRST))).all()
    assert (there.singleton2 == census(filled_beside(bordered[1], SECOND))).all()
    answer = mrfhw.stereo(*bordered, labels=12, sweeps=8)
    assert not answer.problem.observed[~FIRST].any()
    assert (answer.problem.shown == SECOND).all()
    assert answer.occluded[~FIRST].all()
    assert (answer._job.doubt[~FIRST] == DOUBT_UNKNOWN).all()
    assert (answer._job.inputs["mask"] == 255 * FIRST).all()


@HIDDEN
def test_what_is_hidden_is_filled_in_with_wide_intervals(pair, bordered):
    answer = mrfhw.stereo(*bordered, labels=12, sweeps=60)
    width = answer.interval[..., 1] - answer.interval[..., 0]
    assert width[~FIRST].mean() > 2 * width[FIRST].mean()
    whole, (left, right) = mrfhw.stereo(*pair[0], labels=12, sweeps=60), (100 * (1 - known.mean()) for known in (FIRST, SECOND))
    wrong, at_best = (np.mean(np.abs(one.disparity - pair[1])[FIRST & SECOND] > 1) for one in (answer, whole))
    assert wrong < at_best + 0.05
    assert answer.report["notes"] == list(answer.notes) == [
        f"Note: {left:.0f} % of left picture and {right:.0f} % of right picture are black border, of which nothing is known: "
        "the answer there is filled in from beside, with wide intervals; mask none takes it as picture"]
    assert answer.report["settings"]["unknown"] == [1 - FIRST.mean(), 1 - SECOND.mean()]


@HIDDEN
@pytest.mark.parametrize("options", [{}, {"one_way": True}, {"anneal": True}, {"data": "grey"}])
def test_a_mask_hides_whatever_stands_there(pair, options):
    left, right = (picture.astype(np.float64) for picture in pair[0])
    answers = [mrfhw.stereo(np.where(FIRST, left, hidden), right, mask=FIRST, labels=12, sweeps=6, depth=8, **options)
               for hidden in (255, np.nan)]
    assert (answers[0].labels == answers[1].labels).all()
    assert not answers[0].problem.observed[~FIRST].any()
    assert answers[0].problem.shown is None
    assert answers[0].notes[-1] == (f"Note: the mask hides {100 * (1 - FIRST.mean()):.0f} % of left picture, of which nothing is "
                                    "known: the answer there is filled in from beside, with wide intervals")


@HIDDEN
def test_the_same_of_motion():
    scene = motion_scene(48, 64, 1)
    known = np.ones((48, 64), bool)
    known[:6] = known[:, :7] = False
    first, second = (np.where(known, np.maximum(1, picture), 0).astype(np.uint8) for picture in (scene.first, scene.second))
    for options in ({}, {"one_way": True}):
        answer = mrfhw.motion(first, second, vectors=(5, 5), sweeps=6, **options)
        assert not answer.problem.observed[~known].any()
        assert (answer.problem.shown == known).all()
        assert (answer._job.doubt[~known] == OF_MOTION).all()
        assert answer._job.finer.hidden[~known].all()
    masked = mrfhw.motion(scene.first, scene.second, mask=known, vectors=(5, 5), sweeps=6)
    assert not masked.problem.observed[~known].any()
    assert masked.occluded[~known].all()


def test_borders_have_no_part_in_what_is_found_of_the_labels():
    scene = stereo_scene(96, 128, 12, 2)
    known = np.ones((96, 128), bool)
    known[:24] = known[:, :24] = False
    far = np.roll(scene.right, -8, 1)  # no disparity is less than 8
    left, right = (np.where(known, picture, 0) for picture in (scene.left, far))
    assert find_range(left, right)[0] == 0
    assert find_range(filled_beside(left, known), filled_beside(right, known), known=(known, known))[0] >= 6
    moved = np.where(known, np.roll(scene.left, 9, 1), 0)
    window = find_window(filled_beside(left, known), filled_beside(moved, known), known=(known, known))
    assert window.centre[1] - (window.cols - 1) // 2 > 0


def test_without_what_hides_all_is_as_before(pair):
    """Neither a mask that hides nothing nor the word none changes a bit."""
    plain, *others = (mrfhw.stereo(*pair[0], labels=12, sweeps=6, **options)
                      for options in ({}, {"mask": np.ones(SHAPE, np.uint8)}, {"mask": "none"}))
    for other in others:
        assert other.problem.digest == plain.problem.digest
        assert (other.counts == plain.counts).all()
        assert other.notes == plain.notes == ()
    assert plain.problem.shown is None


def test_a_window_within_a_border_is_picture(bordered):
    job = mrfhw.Request("stereo", left=bordered[0], right=bordered[1], labels=4, window=(0, 0, 60, 8)).job()
    assert job.problem.observed is None
    inner = mrfhw.Request("stereo", left=bordered[0], right=bordered[1], labels=4, window=(20, 12, 50, 40)).job()
    assert inner.problem.observed is None
    assert inner.notes == ()


@pytest.mark.parametrize(("mask", "said"), [
    (RNG.integers(0, 256, SHAPE), r"^Note: the mask has 256 values, at \d\d % of the pixels neither 0 nor the greatest, and only 0 "
                                  r"is unknown: is it a mask, not a picture\?$"),
    (np.where(FIRST, 0, 255), r"^Note: the mask is 0, which is unknown, at \d\d % of the pixels: are 0 and the other value "
                              r"exchanged\?$"),
    (FIRST, ""), (np.where(FIRST, 128, 0), "")])
def test_masks_that_may_be_none_are_said(mask, said):
    notes = GivenMask.of(mask).notes
    assert len(notes) == bool(said)
    assert all(re.match(said, note) for note in notes)


@pytest.mark.parametrize(("mask", "said"), [
    (np.ones((3, 4)), "^the mask is 4x3; the left image is 96x72: give images of one size$"),
    (np.zeros(SHAPE), "^mask leaves 0 pixels to see; at least 1 must be other than 0: give a mask of 0 where unknown$"),
    (np.full(SHAPE, np.nan), "^the mask has values that are no finite numbers")])
def test_masks_that_are_refused(pair, mask, said):
    with pytest.raises(ProblemError, match=said):
        mrfhw.stereo(*pair[0], mask=mask, labels=4, sweeps=2)


def test_the_command_says_the_share_and_takes_none(tmp_path, bordered, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, picture in zip(("left.png", "right.png"), bordered, strict=True):
        Image.fromarray(picture).save(name)
    Image.fromarray((255 * FIRST).astype(np.uint8)).save("mask.png")
    for words, said in (([], "are black border"), (["--mask", "mask.png"], "mask.png hides"), (["--mask", "none"], "")):
        done = CliRunner().invoke(main, ["run", "stereo", "left.png", "right.png", "--labels", "12", "--sweeps", "4", "--no-report",
                                         "-o", "out", *words])
        assert done.exit_code == 0, done.output
        notes = json.loads((tmp_path / "out" / "report.json").read_text())["notes"]
        assert [said in note for note in notes] == ([True] if said else [])
        assert all(note in done.stderr for note in notes)
