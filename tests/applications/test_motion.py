"""The motion problem: its vectors, energies and measures of error, and what its defaults reach."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

import mrfhw
from mrfhw.applications.descriptors import census
from mrfhw.applications.motion.field import (
    ASTRAY,
    DOUBT,
    TUNED,
    MotionTruth,
    both_ways,
    motion_problem,
    motion_scale,
    motion_vectors,
)
from mrfhw.cli import main
from mrfhw.field.energy import doubleton_table, singleton_energies
from mrfhw.field.problem import ProblemError, Run, load_problem
from mrfhw.machine.config import PRESETS, Config
from mrfhw.machine.derived import Derived
from mrfhw.pictures.flow import read_flow
from mrfhw.pictures.images import load_grey
from mrfhw.placement.fit import check_fits
from mrfhw.runs.first import prepared
from mrfhw.scenes import motion_scene, write_motion_scene
from mrfhw.twin.machine import solve
from support.data import data_directory

PIXELS_SECOND_FRAME = pytest.mark.claim(
    "applications", "pixels that the second frame does not show are found, have no datum, and may have any motion")


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


@pytest.mark.claim("applications", "measures of quality equal those computed by hand, unknown truth left out")
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


@pytest.mark.claim("applications",
    "every application runs from files by its defaults and is better than what the pictures say by themselves")
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


def two_planes():
    """Two frames of a square that moves by 6 columns over a still background, and what it hides, bool."""
    behind, square = np.random.default_rng(6).integers(0, 256, (2, 64, 80)).astype(np.uint8)
    first, second = behind.copy(), behind.copy()
    first[16:48, 20:50] = second[16:48, 26:56] = square[16:48, 20:50]
    hidden = np.zeros(first.shape, bool)
    hidden[16:48, 50:56] = True
    return first, second, hidden


def unconfirmed(problem):
    return both_ways(TUNED, problem, Run(sweeps=2), start=False).then([])["maps"]["occluded"]


@pytest.mark.parametrize("astray", [0, 1, 2, 3])
def test_how_far_astray_a_way_back_may_lead(monkeypatch, astray):
    """Of a pair of frames whose paths are given: there by a row, back by a row less `astray` columns."""
    monkeypatch.setattr("mrfhw.samplers.path_start.path_start", lambda problem, stiffness: np.full(
        (12, 20), vectors.index((1, 0) if problem.offsets[0, 0] < 0 else (1, astray)), np.uint8))
    vectors = [tuple(vector) for vector in motion_vectors(3, 7).tolist()]
    frame = np.zeros((12, 20), int)
    found = unconfirmed(motion_problem(frame, frame, rows=3, cols=7))
    assert found[-1].all()
    assert found[:-1].all() == (astray > 1)
    assert found[:-1].any() == (astray > 1)


@PIXELS_SECOND_FRAME
def test_pixels_that_the_second_frame_does_not_show():
    first, second, hidden = two_planes()
    energy = {name: value for name, value in TUNED.census.items() if name != "temperature"}
    found = unconfirmed(motion_problem(census(first), census(second), rows=5, cols=15, **energy))
    # A descriptor looks two pixels around itself, so that those beside what moves have no partner, either.
    near = np.zeros_like(hidden)
    near[14:50, 18:58] = True
    assert found[hidden].mean() > 0.9
    assert found[near & ~hidden].mean() < 0.15
    assert not found[~near].any()


@PIXELS_SECOND_FRAME
def test_hidden_pixels_have_no_datum_and_any_motion_may_be_theirs():
    first, second, hidden = two_planes()
    answer = mrfhw.motion(first, second, vectors=(5, 15), sweeps=200)
    assert answer.occluded[hidden].mean() > 0.9
    width = (answer.interval[..., 1] - answer.interval[..., 0]).max(-1)
    assert np.median(width[answer.occluded]) > 5 > 1 > np.median(width[~answer.occluded])
    alone = mrfhw.motion(first, second, vectors=(5, 15), sweeps=200, one_way=True)
    assert alone.occluded is None
    alone_width = (alone.interval[..., 1] - alone.interval[..., 0]).max(-1)
    assert np.median(width[hidden]) > 2 * np.median(alone_width[hidden])
    assert np.median(np.linalg.norm(answer.flow, axis=-1)[hidden]) < 0.5  # the motion of what lies around


@PIXELS_SECOND_FRAME
@pytest.mark.parametrize(("options", "both"), [
    ([], True), (["--initial", "random"], True), (["--one-way"], False), (["--anneal"], False), (["--data", "grey"], False)])
def test_which_runs_of_motion_match_both_ways(tmp_path, options, both):
    frames = [str(path) for path in write_motion_scene(motion_scene(24, 40), tmp_path)[:2]]
    words = ["run", "motion", *frames, "--vectors", "3x5", "--sweeps", "4", *options, "--save-problem", str(tmp_path / "p.npz"),
             "--no-report", "-o", str(tmp_path / "o")]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output
    problem, _ = load_problem(tmp_path / "p.npz")
    report = json.loads((tmp_path / "o" / "report.json").read_text())
    assert report["settings"]["both_ways"] is both
    assert ("occluded.npy" in report["files"]) is both
    if both:
        assert np.array_equal(np.load(tmp_path / "o" / "occluded.npy"), ~problem.observed)
    else:
        assert problem.observed is None


@PIXELS_SECOND_FRAME
def test_the_share_of_doubt_is_the_constant():
    from mrfhw.applications.motion.job import APPLICATION

    first, second, _ = two_planes()
    job = prepared("model", APPLICATION.job_of({"first": first, "second": second, "vectors": "5x15"}))
    assert job.maps["occluded"].any()
    assert np.array_equal(job.doubt, DOUBT * job.maps["occluded"])
    assert APPLICATION.job_of({"first": first, "second": second, "vectors": "5x15", "one_way": True}).doubt is None


def test_the_documents_have_the_numbers_of_the_code():
    docs = Path(__file__).parents[2] / "docs"
    text, uncertain = (" ".join((docs / f"{name}.md").read_text().split()) for name in ("applications", "uncertainty"))
    assert ASTRAY == 1
    assert "the motion back differs by more than a row or a column, is hidden there" in text
    assert f"and {DOUBT} of its distribution (`mrfhw.applications.motion.field.DOUBT`)" in text
    assert f"and {DOUBT} of their distribution is spread evenly over all motions" in uncertain
