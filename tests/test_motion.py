"""The motion problem: its vectors, energies and measures of error, and what its defaults reach."""

import numpy as np
import pytest

from mrfhw.apps.flow import read_flow
from mrfhw.apps.images import load_grey
from mrfhw.apps.motion import MotionTruth, motion_problem, motion_scale, motion_vectors
from mrfhw.field.energy import doubleton_table, singleton_energies
from mrfhw.field.problem import ProblemError, Run
from mrfhw.machine.config import PRESETS, Config
from mrfhw.machine.derived import Derived
from mrfhw.model.machine import solve
from mrfhw.placement.fit import check_fits
from mrfhw.scenes import motion_scene
from support.data import data_directory


def posterior_mean(result, vectors):
    return result.counts @ vectors / result.counts.sum(-1, keepdims=True)


def test_vectors_are_the_window_in_raster_order():
    assert motion_vectors(3, 2, (5, -1)).tolist() == [[4, -1], [4, 0], [5, -1], [5, 0], [6, -1], [6, 0]]
    assert motion_vectors(7, 7).min() == -3
    assert motion_vectors(8, 8).tolist()[0] == [-3, -3]
    assert motion_vectors(8, 8).tolist()[-1] == [4, 4]


@pytest.mark.parametrize(("rows", "cols"), [(0, 4), (4, 0), (-1, -4), (1, 1), (17, 16), (257, 1)])
def test_windows_refused(rows, cols):
    with pytest.raises(ProblemError, match=f"vectors is {rows}x{cols}"):
        motion_vectors(rows, cols)


def test_label_means_second_at_site_plus_vector():
    first, second = np.random.default_rng(0).integers(0, 64, (2, 6, 9))
    problem = motion_problem(first, second, rows=3, cols=4, centre=(1, -2), out_of_range=17)
    energies = singleton_energies(problem)
    for row, col, label in np.ndindex(6, 9, 12):
        r, c = row + label // 4 - 1 + 1, col + label % 4 - 1 - 2
        inside = 0 <= r < 6 and 0 <= c < 9
        assert energies[row, col, label] == problem.alpha * (abs(first[row, col] - second[r, c]) if inside else 17)


def test_doubleton_is_the_squared_distance_of_the_motions():
    image = np.zeros((40, 40), int)
    problem = motion_problem(image, image, centre=(20, -9), tau=None)
    v = motion_vectors(7, 7)
    assert np.array_equal(doubleton_table(problem), ((v[:, None] - v) ** 2).sum(-1))
    check_fits(Config(), problem)  # vectors are relative to the centre, so that they stay narrow
    check_fits(Config(), motion_problem(image, image, rows=1, cols=16, centre=(20, -9)))  # all that four bits hold


@pytest.mark.parametrize("preset", [
    name for name, machine in zip(PRESETS, map(Config.preset, PRESETS), strict=True)
    if machine.label_bits == 6 and machine.distance != "hamming"])
def test_defaults_fit_every_machine_without_saturation(preset):
    config = Derived.preset(preset)
    image = np.zeros((16, 16), int)
    problem = motion_problem(image, image)
    check_fits(config, problem)
    assert problem.tau is not None
    assert problem.alpha * config.data_max + 4 * problem.beta * problem.tau <= config.energy_max


@pytest.mark.parametrize(("changes", "message"), [
    ({"second": np.zeros((3, 9), int)}, "one size"), ({"rows": 17, "cols": 17}, "vectors is 17x17"),
    ({"centre": (0, 12)}, "centre is 0,12"), ({"centre": (-6, 0)}, "centre is -6,0"), ({"doubleton": "cubic"}, "cubic"),
    ({"temperature": 0.0}, "temperature is 0"),
])
def test_refused(changes, message):
    image = np.zeros((3, 9), int) if "second" not in changes else np.zeros((2, 9), int)
    with pytest.raises(ProblemError, match=message):
        motion_problem(**{"first": image, "second": image, **changes})


def test_the_last_centre_that_still_has_a_motion():
    image = np.zeros((3, 9), int)
    assert (singleton_energies(motion_problem(image, image, centre=(5, 0), out_of_range=9)) == 0).any()
    assert (singleton_energies(motion_problem(image, image, centre=(0, -11), out_of_range=9)) == 0).any()


def test_metrics_by_hand():
    vectors = motion_vectors(3, 3)  # label 4 is (0, 0), 5 is (0, 1), 0 is (-1, -1), 8 is (1, 1)
    flow = np.array([[[0.0, 0.0], [0.0, 3.0]], [[np.nan, np.nan], [1.0, 0.5]]])
    truth = MotionTruth(flow, vectors)
    labels = np.array([[4, 5], [0, 8]], np.uint8)
    assert np.array_equal(truth.error(labels), [[0, 2], [np.nan, 0.5]], equal_nan=True)
    mean = np.array([[[0.0, 0.25], [0.0, 3.0]], [[9.0, 9.0], [1.0, -0.5]]])
    quality = truth.metrics(labels, mean)
    assert quality == pytest.approx({"epe": 2.5 / 3, "epe_mean": 1.25 / 3, "epe_least": 2.5 / 3})
    assert set(truth.metrics(labels, None)) == {"epe", "epe_least"}


def test_metrics_where_nothing_is_known():
    truth = MotionTruth(np.full((2, 2, 2), np.nan), motion_vectors(3, 3))
    labels = np.zeros((2, 2), np.uint8)
    assert truth.metrics(labels, np.zeros((2, 2, 2))) == {"epe": None, "epe_mean": None, "epe_least": None}
    assert np.isnan(truth.error(labels)).all()


def test_the_nearest_label_is_the_nearest_of_all() -> None:
    flow = np.random.default_rng(0).uniform(-4, 7, (20, 30, 2))
    flow[3, 4], flow[5] = np.nan, 0.5
    vectors = motion_vectors(4, 6, (1, 2))
    least = np.sqrt(((flow[..., None, :] - vectors) ** 2).sum(-1)).min(-1)
    quality = MotionTruth(flow, vectors).metrics(np.zeros((20, 30), np.uint8), None)
    assert quality["epe_least"] == np.nanmean(least)


def test_scale():
    scale = motion_scale(3, 5, (1, 2))
    assert scale.kind == "flow"
    assert np.array_equal(scale.values, motion_vectors(3, 5, (1, 2)))


def test_defaults_on_the_built_in_scene():
    """0.22 px when measured; no labels go below 0.10 px, and no motion at all is 2.0 px off."""
    scene = motion_scene(seed=1)
    problem = motion_problem(scene.first >> 2, scene.second >> 2)
    result = solve(Config(), problem, Run(sweeps=200, burn_in=100))
    truth = MotionTruth(scene.flow, motion_vectors(7, 7))
    quality = truth.metrics(result.mode, posterior_mean(result, truth.vectors))
    still = truth.metrics(np.full(result.mode.shape, 24, np.uint8), None)["epe"]
    assert quality["epe_least"] < quality["epe"] < 0.35 < 1.5 < still
    assert quality["epe_mean"] < 0.35


def test_defaults_on_photographs():
    rubber = data_directory() / "flow" / "RubberWhale"
    first, second = (load_grey(rubber / f"frame{n}.png") for n in (10, 11))
    area = (slice(100, 220), slice(150, 350))
    truth = MotionTruth(read_flow(rubber / "flow10.flo")[area], motion_vectors(7, 7))
    result = solve(Config(), motion_problem(first[area], second[area]), Run(sweeps=200, burn_in=100))
    quality = truth.metrics(result.mode, posterior_mean(result, truth.vectors))
    still = truth.metrics(np.full(result.mode.shape, 24, np.uint8), None)["epe"]
    assert quality["epe"] < 0.5 < still
    assert quality["epe_mean"] < 0.5
