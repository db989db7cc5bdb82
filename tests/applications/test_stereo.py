"""The stereo problem: its offsets, its measure of error, and what its defaults reach."""

from pathlib import Path

import numpy as np
import pytest

from mrfhw.applications.stereo.field import (
    DOUBT,
    DOUBT_OUTSIDE,
    TUNED,
    StereoTruth,
    bad_pixels,
    disparity_scale,
    stereo_problem,
)
from mrfhw.field.energy import doubleton_table, singleton_energies
from mrfhw.field.problem import ProblemError, Run, Schedule
from mrfhw.machine.config import PRESETS, Config
from mrfhw.machine.derived import Derived
from mrfhw.pictures.images import load_disparity, load_grey
from mrfhw.placement.fit import check_fits
from mrfhw.samplers.exact import solve
from mrfhw.scenes import stereo_scene
from support.data import data_directory


def test_label_means_right_at_column_minus_disparity():
    rng = np.random.default_rng(0)
    left, right = rng.integers(0, 64, (2, 5, 20))
    problem = stereo_problem(left, right, labels=6, min_disparity=3, out_of_range=17)
    energies = singleton_energies(problem)
    for row, col, label in np.ndindex(5, 20, 6):
        at = col - (3 + label)
        assert energies[row, col, label] == (abs(left[row, col] - right[row, at]) if at >= 0 else 17)


def test_negative_disparities():
    left, right = np.random.default_rng(1).integers(0, 64, (2, 3, 9))
    energies = singleton_energies(stereo_problem(left, right, labels=4, min_disparity=-2))
    assert energies[1, 4, 0] == abs(left[1, 4] - right[1, 6])


def test_squared_doubleton_is_that_of_the_labels():
    image = np.zeros((2, 40), int)
    problem = stereo_problem(image, image, labels=16, doubleton="squared", tau=None)
    labels = np.arange(16)
    assert np.array_equal(doubleton_table(problem), (labels[:, None] - labels) ** 2)
    check_fits(Config(vector_bits=4), problem)


def test_a_schedule_takes_the_place_of_the_temperature():
    image = np.zeros((2, 9), int)
    assert stereo_problem(image, image, labels=2, temperature=7.0).schedule == Schedule.constant(7.0)
    cooling = Schedule.geometric(8.0, 0.5, 1.0)
    assert stereo_problem(image, image, labels=2, schedule=cooling).schedule == cooling


@pytest.mark.parametrize(("changes", "message"), [
    ({"labels": 1}, "labels is 1"), ({"labels": 257}, "labels is 257"), ({"labels": -3}, "labels is -3"),
    ({"labels": 4, "min_disparity": 9}, "min-disparity is 9"),
    ({"labels": 4, "min_disparity": -12}, "min-disparity is -12"),
    ({"labels": 4, "temperature": 0.0}, "temperature is 0"),
    ({"labels": 4, "temperature": float("nan")}, "temperature is"),
    ({"labels": 4, "singleton": "cubic"}, "cubic"), ({"labels": 4, "doubleton": "cubic"}, "cubic"),
    ({"labels": 4, "right": np.zeros((3, 9), int)}, "one size"),
])
def test_refused(changes, message):
    image = np.zeros((2, 9), int)
    with pytest.raises(ProblemError, match=message):
        stereo_problem(**{"left": image, "right": image, **changes})


def test_extreme_disparities_still_have_a_pixel():
    image = np.zeros((2, 9), int)
    assert (singleton_energies(stereo_problem(image, image, labels=4, min_disparity=8))[:, 8, 0] == 0).all()
    assert (singleton_energies(stereo_problem(image, image, labels=4, min_disparity=-11))[:, 0, 3] == 0).all()


def test_bad_pixels_by_hand():
    labels = np.array([[0, 1, 2], [3, 4, 5]], np.uint8)
    truth = np.array([[10.0, 12.0, 14.5], [0.0, 14.0, 17.25]])  # errors 0, 1, 2.5, unknown, 0, 2.25
    assert bad_pixels(labels, 10, truth, 1) == pytest.approx(40.0)
    assert bad_pixels(labels, 10, truth, 2) == pytest.approx(40.0)
    assert bad_pixels(labels, 10, truth, 2.25) == pytest.approx(20.0)
    assert bad_pixels(labels, 10, truth, 0.5) == pytest.approx(60.0)
    assert bad_pixels(labels, 10, np.zeros((2, 3)), 1) is None
    with pytest.raises(ProblemError, match="the true disparities are 2x3"):
        bad_pixels(labels, 10, truth.T, 1)


@pytest.mark.claim("applications", "measures of quality equal those computed by hand, unknown truth left out")
def test_truth_by_hand():
    labels = np.array([[0, 1, 2], [3, 4, 5]], np.uint8)
    truth = StereoTruth(np.array([[10.0, 12.0, 14.5], [0.0, 14.0, 17.25]]), 10)
    assert np.array_equal(truth.error(labels), [[0, 1, 2.5], [np.nan, 0, 2.25]], equal_nan=True)
    assert np.array_equal(truth.picture[..., 0], [[10, 12, 14.5], [np.nan, 14, 17.25]], equal_nan=True)
    mean = np.array([[[10.0], [11.0], [14.0]], [[99.0], [14.0], [17.0]]])
    assert truth.metrics(labels, mean) == pytest.approx({"bad_1": 40, "bad_2": 40, "epe": 5.75 / 5, "epe_mean": 1.75 / 5})
    assert set(truth.metrics(labels, None)) == {"bad_1", "bad_2", "epe"}
    unknown = StereoTruth(np.zeros((2, 3)), 10)
    assert unknown.metrics(labels, mean) == dict.fromkeys(("bad_1", "bad_2", "epe", "epe_mean"))
    assert np.isnan(unknown.error(labels)).all()


def test_scale():
    assert disparity_scale(3, -2).values.tolist() == [[-2], [-1], [0]]
    assert disparity_scale(3, 0).ordered


@pytest.mark.parametrize("preset", [
    name for name, machine in zip(PRESETS, map(Config.preset, PRESETS), strict=True)
    if machine.label_bits == 6 and machine.distance != "hamming"
])
def test_defaults_fit_every_machine_without_saturation(preset):
    config = Derived.preset(preset)
    image = np.zeros((8, 60), int)
    problem = stereo_problem(image, image)
    check_fits(config, problem)
    assert problem.tau is not None
    assert problem.alpha * config.data_max + 4 * problem.beta * problem.tau <= config.energy_max


@pytest.mark.claim("applications",
    "every application runs from files by its defaults and is better than what the pictures say by themselves")
def test_defaults_on_the_built_in_scene():
    """10.4 % when measured; 11.8 % of the pixels are hidden from the right camera or outside its picture."""
    scene = stereo_scene()
    problem = stereo_problem(scene.left >> 2, scene.right >> 2, labels=scene.labels)
    result = solve(problem, Run(sweeps=200, burn_in=100))
    bad = bad_pixels(result.mode, 0, scene.disparity, 1)
    assert bad is not None
    assert bad < 14


def test_defaults_on_a_photograph():
    poster = data_directory() / "stereo" / "poster"
    left, right = (load_grey(poster / f"{side}.png") for side in ("left", "right"))
    truth = load_disparity(poster / "disp_left.png", 8)
    area = (slice(100, 220), slice(60, 300))
    problem = stereo_problem(left[area], right[area], labels=18, min_disparity=3)
    result = solve(problem, Run(sweeps=120, burn_in=60))
    bad = bad_pixels(result.mode, 3, truth[area], 1)
    assert bad is not None
    assert bad < 35


def test_the_documents_have_the_sweeps_and_the_shares_of_doubt():
    pages = {name: " ".join((Path(__file__).parents[2] / "docs" / f"{name}.md").read_text().split())
             for name in ("applications", "uncertainty")}
    for text in pages.values():
        assert f"{DOUBT} of the" in text
        assert f"{DOUBT_OUTSIDE} where the right picture ends before" in text
    assert f"| 2 x {TUNED.first_sweeps}, then {TUNED.census_sweeps} |" in pages["applications"]
    assert f"| {TUNED.census_sweeps} (default) |" in pages["uncertainty"]
