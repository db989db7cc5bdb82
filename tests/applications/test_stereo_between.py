"""Disparities between pixels, of what like colours share: right where greys tell them, never far off, and left out on demand."""

import dataclasses
import json

import numpy as np
import pytest

import mrfhw
from mrfhw.analysis.uncertainty import quantify
from mrfhw.applications.stereo.between import FARTHEST, SharedDisparity
from mrfhw.pictures.images import load_disparity
from mrfhw.scenes import stereo_scene
from mrfhw.system.errors import ProblemError
from support.data import data_directory

SHARED = pytest.mark.claim("applications",
    "stereo's numbers are of histograms that like colours share, disparities lie between pixels; an option leaves both out")
ROWS, COLS = 40, 72
SCENE = stereo_scene(72, 96, 12, 0)


def texture(shift: float = 0.0) -> np.ndarray:
    """What a camera to the right by so many pixels of disparity sees."""
    y, x = np.mgrid[0:ROWS, 0:COLS].astype(float)
    x = x + shift
    return 128 + 40 * np.sin(0.55 * x + 0.2 * y) + 30 * np.sin(0.45 * y - 0.3 * x)


@SHARED
@pytest.mark.parametrize("disparity", [3.3, 2.75, 4.0])
def test_greys_tell_parts_of_pixels(disparity):
    mode = np.full((ROWS, COLS), np.rint(disparity))
    found, deviation = SharedDisparity(texture(), texture(disparity)).fitted(mode, mode)
    inner = (slice(6, -6), slice(12, -12))
    assert np.abs(found - disparity)[inner].max() < 0.1
    assert deviation[inner].max() < 0.4


@SHARED
def test_where_greys_tell_nothing_shares_do_and_no_disparity_moves_far():
    flat, mode = np.full((ROWS, COLS), 80.0), np.full((ROWS, COLS), 5.0)
    found, deviation = SharedDisparity(flat, flat).fitted(mode, mode + 0.25)
    assert np.allclose(found, 5.25)
    assert np.allclose(deviation, 12**-0.5)
    found, _ = SharedDisparity(texture(), texture(3.0)).fitted(mode, mode - 0.4)
    assert np.abs(found - mode).max() <= FARTHEST


@pytest.fixture(scope="module")
def answers() -> tuple[mrfhw.Disparity, mrfhw.Disparity]:
    def of(**options):
        return mrfhw.stereo(SCENE.left, SCENE.right, labels=12, min_disparity=0, sweeps=60, truth=SCENE.disparity, **options)

    return of(), of(alone=True)


@SHARED
def test_what_was_drawn_stays(answers):
    shared, alone = answers
    for name in ("counts", "last", "labels"):
        assert np.array_equal(getattr(shared, name), getattr(alone, name))
    assert shared.energies[1].tolist() == alone.energies[1].tolist()


@SHARED
def test_alone_all_numbers_are_of_the_pixels_own_samples(answers):
    job, alone = answers[1].parts[0], answers[1]
    found = quantify(alone.counts, alone.last, job.scale, doubt=job.doubt)
    assert np.array_equal(alone.disparity, found.halves.astype(np.float32))
    assert np.array_equal(alone.entropy, found.entropy)
    assert np.array_equal(alone.interval, found.interval[:, :, 0])
    assert alone.report["shared"] is None
    assert set(alone.report["calibration"]["auroc"]) == {"entropy", "std"}
    for name in ("confidence", "interval_50"):
        with pytest.raises(ProblemError, match=rf"^{name} of a run in which each pixel has numbers of its own alone: leave out "):
            getattr(alone, name)


@SHARED
def test_shared_numbers_are_nearer_to_the_truth(answers):
    shared, alone = answers
    assert shared.metrics["epe"] < 0.95 * alone.metrics["epe"]
    off = [np.mean(np.abs(one.disparity - SCENE.disparity) > 0.5) for one in answers]
    assert off[0] < off[1]
    assert shared.report["answer"] == SharedDisparity.name
    assert "confidence" in shared.report["shared"]
    assert shared.report["calibration"]["auroc"]["confidence"] > alone.report["calibration"]["auroc"]["entropy"]


def test_intervals_hold_one_another_and_the_files_are_the_answer(answers, tmp_path):
    shared = answers[0]
    ninety, fifty = shared.interval, shared.interval_50
    assert (ninety[..., 0] <= fifty[..., 0]).all()
    assert (fifty[..., 1] <= ninety[..., 1]).all()
    assert ((shared.confidence >= 0) & (shared.confidence <= 1 + 1e-9)).all()
    shared.save(tmp_path)
    assert np.array_equal(np.load(tmp_path / "confidence.npy"), shared.confidence)
    assert np.array_equal(np.load(tmp_path / "interval_50.npy")[:, :, 0], fifty)
    assert "pixels of like colours share" in (tmp_path / "report.html").read_text()
    inner = json.loads((tmp_path / "report.json").read_text())["calibration"]
    assert inner["inner_level"] == 0.5
    assert 0 < inner["inner_coverage"] < inner["coverage"]


@pytest.mark.parametrize("options", [{"estimate": "mean"}, {"estimate": "last"}, {"anneal": True}, {"cooling": "1.5"}])
def test_other_estimates_stay_what_they_were(options):
    shared, alone = (mrfhw.stereo(SCENE.left, SCENE.right, labels=12, min_disparity=0, sweeps=24, alone=alone, **options)
                     for alone in (False, True))
    assert np.array_equal(shared.disparity, alone.disparity)
    with pytest.raises(ProblemError):
        _ = shared.confidence


def test_hidden_pixels_do_not_draw_those_beside_them_away():
    hidden = np.zeros((ROWS, COLS), bool)
    hidden[10:26, 30:38] = True
    left = np.where(hidden, np.random.default_rng(3).integers(0, 256, (ROWS, COLS)), texture())
    mode = np.full((ROWS, COLS), 3.0)
    beside = np.zeros_like(hidden)
    beside[12:24, 27:30] = beside[12:24, 38:41] = True
    unknown = SharedDisparity(left, texture(3.3))
    known = dataclasses.replace(unknown, hidden=hidden)
    errors = [np.abs(one.fitted(mode, mode)[0] - 3.3)[beside].mean() for one in (known, unknown)]
    assert errors[0] < 0.1 < errors[1]


@pytest.mark.slow
def test_both_intervals_hold_what_they_say_on_published_pairs():
    data = data_directory() / "stereo"
    for name, scale, labels, least in (("poster", 8, 18, 3), ("teddy", 4, 42, 12)):
        truth = load_disparity(data / name / "disp_left.png", scale)
        answer = mrfhw.stereo(data / name / "left.png", data / name / "right.png", labels=labels, min_disparity=least, truth=truth)
        found = answer.report["calibration"]
        assert 0.85 < found["coverage"] < 0.95
        assert 0.45 < found["inner_coverage"] < 0.60
        assert found["auroc"]["confidence"] > found["auroc"]["entropy"]
