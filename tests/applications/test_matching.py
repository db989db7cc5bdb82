"""What stereo and motion are made of: descriptors, weights by contrast, matching both ways, windows of motions."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from click.testing import CliRunner

import mrfhw
from mrfhw.applications.descriptors import CENSUS, census, edge_weights, takes_census
from mrfhw.applications.motion.field import motion_problem
from mrfhw.applications.motion.window import block_motions, find_window
from mrfhw.applications.stereo.field import DOUBT, DOUBT_OUTSIDE, TUNED, both_ways, stereo_problem
from mrfhw.applications.two_ways import SQUARE, Way, behind, filled, matched_to, mirrored, shown_behind, unmatched
from mrfhw.cli import main
from mrfhw.field.energy import singleton_energies
from mrfhw.field.problem import LABELS_MAX, Run, load_problem
from mrfhw.machine.config import Config
from mrfhw.samplers.boxes import least_in_boxes
from mrfhw.samplers.data import energy_bound, sources
from mrfhw.scenes import motion_scene, stereo_scene, write_motion_scene, write_scene
from mrfhw.twin.machine import solve

CENSUS_CONTRAST = pytest.mark.claim("applications",
    "census, contrast, matching both ways, first labels and windows of motions are those of plain Python; hidden pixels are found")

RNG = np.random.default_rng(3)


def clamp(value, size):
    return min(max(value, 0), size - 1)


@CENSUS_CONTRAST
def test_census_in_plain_python():
    grey = RNG.integers(0, 9, (7, 11))
    found = census(grey)
    for row, col in np.ndindex(7, 11):
        bits = [grey[clamp(row + r, 7), clamp(col + c, 11)] < grey[row, col] for r, c in CENSUS]
        assert found[row, col] == sum(1 << n for n, bit in enumerate(bits) if bit)
    assert (census(grey + 100) == found).all()
    assert (census(grey * 3) == found).all(), "only the order of greys counts"


@CENSUS_CONTRAST
@pytest.mark.parametrize("channels", [(), (3,)])
def test_edge_weights_in_plain_python(channels):
    picture = RNG.integers(0, 256, (5, 6, *channels), dtype=np.uint8)
    found = edge_weights(picture, 3, 1, 90)
    for row, col in np.ndindex(5, 6):
        for side, (r, c) in enumerate(((row, col + 1), (row + 1, col))):
            if r < 5 and c < 6:
                apart = np.abs(picture[row, col].astype(int) - picture[r, c].astype(int)).max()
                assert found[row, col, side] == (1 if apart > 90 else 3)


def test_edges_of_floats_are_those_of_whole_numbers():
    picture = np.random.default_rng(0).integers(0, 256, (12, 14, 3))
    assert np.array_equal(edge_weights(picture / 256, 2, 1, 15 / 256), edge_weights(picture, 2, 1, 15))
    assert edge_weights(np.array([[0.9, 16.0]]), 2, 1, 15.5)[0, 0, 0] == 2


@pytest.mark.parametrize(("arguments", "said"), [
    ((np.ones(4), 2, 1, 15), r"picture has values of type float64 and shape \(4,\)"), ((np.ones((0, 3)), 2, 1, 15), "picture has"),
    ((np.array([[1.0, np.nan]]), 2, 1, 15), "it is finite numbers"), ((np.ones((2, 2)), 300, 1, 15), "smooth is 300"),
    ((np.ones((2, 2)), 2, -1, 15), "edge is -1"), ((np.ones((2, 2)), 1.5, 1, 15), "smooth is 1.5"),
    ((np.ones((2, 2)), 2, 1, float("nan")), "threshold is nan")])
def test_no_edges_of(arguments, said):
    with pytest.raises(mrfhw.ProblemError, match=said):
        edge_weights(*arguments)


def test_who_takes_census():
    assert not takes_census(Config())
    assert takes_census(Config(**TUNED.needs))
    assert not takes_census(Config(distance="hamming", data_bits=7))


@CENSUS_CONTRAST
def test_both_ways_in_plain_python():
    left, right = RNG.integers(0, 6, (2, 4, 15))
    problem = stereo_problem(left, right, labels=6)
    there, back = Way(problem, problem.offsets), Way(problem, -problem.offsets, mirror=True)
    missing = unmatched(there.found(left), back.found(mirrored(right)), 1)
    for row, col in np.ndindex(4, 15):
        there = col - left[row, col]
        assert missing[row, col] == (there < 0 or abs(right[row, there] - left[row, col]) > 1)
    met = matched_to(right - 2)  # of either sign
    for row, col in np.ndindex(4, 15):
        assert met[row, col] == any(there + right[row, there] - 2 == col for there in range(15))
    whole = filled(left, missing)
    for row, col in np.ndindex(4, 15):
        sides = [next((left[row, c] for c in cols if not missing[row, c]), None)
                 for cols in (range(col, -1, -1), range(col, 15))]
        wanted = min((value for value in sides if value is not None), default=left[row, col])
        assert whole[row, col] == (wanted if missing[row, col] else left[row, col])
    assert (filled(left.astype(np.int32), missing) == whole).all()
    nothing = np.ones_like(missing)
    assert (filled(left, nothing) == left).all()
    assert (mirrored(mirrored(left)) == left).all()


@pytest.mark.claim(
    "applications", "pixels that the second frame does not show are found, have no datum, and may have any motion")
def test_motions_both_ways_in_plain_python():
    there, back = RNG.integers(-3, 4, (2, 9, 11, 2))
    missing = unmatched(there, back, 1)
    for row, col in np.ndindex(9, 11):
        at = there[row, col] + (row, col)
        inside = (at >= 0).all() and (at < (9, 11)).all()
        assert missing[row, col] == (not inside or np.abs(there[row, col] + back[tuple(at)]).max() > 1)


def test_what_lies_behind_in_plain_python():
    labels, missing = RNG.integers(0, 40, (12, 17)), RNG.random((12, 17)) < 0.4
    missing[5] = True
    rows = filled(labels, missing)
    around = np.pad(rows, SQUARE // 2, mode="edge")
    found = behind(labels, missing)
    assert found.dtype == np.uint8
    for row, col in np.ndindex(12, 17):
        wanted = np.median(around[row:row + SQUARE, col:col + SQUARE]) if missing[row, col] else labels[row, col]
        assert found[row, col] == wanted
    left, right = RNG.integers(0, 256, (2, 12, 17))
    disparity = found.astype(int) - 3  # of either sign
    datum, seen = shown_behind(left, right, disparity, missing)
    for row, col in np.ndindex(12, 17):
        there = col - int(labels[row, col] if not missing[row, col] else found[row, col]) + 3
        inside = 0 <= there < 17 and row != 5  # where nothing is known
        assert seen[row, col] == (inside or not missing[row, col])
        assert datum[row, col] == (right[row, there] if missing[row, col] and inside else left[row, col])


@CENSUS_CONTRAST
@pytest.mark.parametrize(("rows", "cols", "size", "threads"), [(30, 40, 9, 1), (4, 5, 9, 1), (1, 7, 3, 2), (50, 60, 1, 1),
                                                                (400, 250, 5, 2)])
@pytest.mark.parametrize("alpha", [1, 1 << 26])  # sums of more than 32 bits, too
@pytest.mark.parametrize("kind", ["observed in part", "whole", "limited", "motion", "grey"])
def test_least_in_boxes_in_plain_python(rows, cols, size, threads, alpha, kind):
    left, right = RNG.integers(0, 256, (2, rows, cols))
    energy = {"singleton": "absolute" if kind == "grey" else "hamming", "out_of_range": 3, "alpha": alpha,
              "singleton_max": 4 if kind == "limited" else None}
    if kind == "motion":
        problem = motion_problem(left, right, rows=3, cols=4, centre=(1, -1) if rows > 2 else (0, 0), **energy)
    else:
        observed = RNG.random((rows, cols)) < 0.8 if kind == "observed in part" else None
        problem = stereo_problem(left, right, labels=6, observed=observed, **energy)
    padded = np.pad(singleton_energies(problem), [(size // 2, size // 2)] * 2 + [(0, 0)], mode="edge")
    sums = sum(padded[row:row + rows, col:col + cols] for row in range(size) for col in range(size))
    kind = np.int32 if energy_bound(problem) * size**2 < 1 << 31 else np.int64
    assert (least_in_boxes(sources(problem), problem.labels, size, kind, threads) == sums.argmin(-1)).all()


@CENSUS_CONTRAST
def test_the_stereo_of_both_ways_finds_what_is_hidden():
    """On the built-in scene: hidden pixels are marked, and get data and disparities of what lies behind."""
    scene = stereo_scene(72, 96, 12, 0)
    energy = {name: value for name, value in TUNED.census.items() if name != "temperature"}
    problem = stereo_problem(census(scene.left), census(scene.right), labels=12, temperature=1.9, **energy)
    config, run = Config(**TUNED.needs), Run(sweeps=60, burn_in=30, seed=1)
    first = both_ways(TUNED, problem, run, 0, edge_weights(scene.left, 2, 1, 15))
    assert [one.sweeps for _, one in first.runs] == [TUNED.first_sweeps] * 2
    assert [(one.beta, one.tau, one.schedule.start) for one, _ in first.runs] == [(2, 2, 1.4)] * 2  # of one way
    assert (problem.beta, problem.tau) == (1, 3)
    results = [solve(config, *pair) for pair in first.runs]
    changes = first.then(results)
    occluded = changes["maps"]["occluded"]
    hidden = occluded & ~matched_to(mirrored(results[1].labels.astype(int)))
    assert 0 < np.count_nonzero(hidden) < np.count_nonzero(occluded)
    final, start = changes["problem"], changes["run"].initial
    column = np.arange(96) - start.astype(int)
    assert (final.observed == ~(hidden & (column < 0))).all()
    assert 0 < np.count_nonzero(~final.observed) < np.count_nonzero(hidden)
    assert (final.singleton1[~hidden] == problem.singleton1[~hidden]).all()
    fits = np.take_along_axis(singleton_energies(final), start[..., None].astype(int), 2)[..., 0]
    assert (fits[hidden & final.observed] == 0).all()
    assert (changes["doubt"][~occluded] == 0).all()
    assert (changes["doubt"][occluded & final.observed] == DOUBT).all()
    assert (changes["doubt"][~final.observed] == DOUBT_OUTSIDE).all()
    longer = dataclasses.replace(run, sweeps=60 + 2 * TUNED.first_sweeps)
    wrong = [np.mean(np.abs(solve(config, one, r).counts.argmax(-1) - scene.disparity) > 1)
             for one, r in ((problem, longer), (changes["problem"], changes["run"]))]
    assert wrong[1] < 0.95 * wrong[0]
    column = np.arange(96) - np.rint(scene.disparity).astype(int)
    beyond = column < 0
    assert occluded[beyond].mean() > 0.8


@pytest.mark.parametrize("least", [-3, 253, 300])
def test_hidden_pixels_have_data_wherever_the_range_of_disparities_begins(least):
    left = RNG.integers(0, 256, (24, 400)).astype(np.uint8)
    right = np.roll(left, -least - 3, 1)
    right[4:20, 20:80] = RNG.integers(0, 256, (16, 60))  # not what the left one has there
    job = mrfhw.stereo(left, right, labels=8, min_disparity=least, sweeps=4)._job
    hidden, start = job.maps["occluded"], job.run.initial.astype(int)
    column = np.arange(400) - least - 3
    assert hidden[:, (column >= 8) & (column < 392)].mean() < 0.3  # the square
    seen = job.problem.singleton1 != census(left)  # whose data are not their own
    assert seen.any()
    assert (hidden & job.problem.observed)[seen].all()
    row, col = np.nonzero(seen)
    assert (job.problem.singleton1[seen] == census(right)[row, col - start[seen] - least]).all()


@CENSUS_CONTRAST
@pytest.mark.parametrize("motion", [(0, 0), (2, -3), (-5, 9), (0, 20)])
def test_the_window_of_a_shift_holds_it(motion):
    wide = RNG.integers(0, 256, (160, 200))
    row, col = 40 + np.arange(96), 40 + np.arange(120)
    first = wide[np.ix_(row, col)]
    second = wide[np.ix_(row - motion[0], col - motion[1])]
    found = find_window(first, second)
    low = np.array(found.centre) - ((found.rows - 1) // 2, (found.cols - 1) // 2)
    assert (low <= motion).all()
    assert (np.array(motion) - low < (found.rows, found.cols)).all()
    assert found.rows * found.cols <= 30


def test_windows_of_what_moves_much_hold_no_more_vectors_than_labels():
    scene = motion_scene(96, 128, 1)
    assert find_window(scene.first, scene.second, 12).rows * find_window(scene.first, scene.second, 12).cols <= 12
    flat = np.full((60, 70), 7)
    assert find_window(flat, flat).centre == (0, 0)


def test_a_run_says_which_motions_it_found(tmp_path):
    scene = motion_scene(32, 40, 1)
    frames = [str(path) for path in write_motion_scene(scene, tmp_path)[:2]]
    window = find_window(scene.first, scene.second)
    top, left = window.centre[0] - (window.rows - 1) // 2, window.centre[1] - (window.cols - 1) // 2
    said = f"motions of {top} to {top + window.rows - 1} rows and {left} to {left + window.cols - 1} columns, found from the frames"
    for more, here in (([], True), (["--vectors", "3x3"], False)):
        words = ["run", "motion", *frames, *more, "--sweeps", "4", "--no-report", "-o", str(tmp_path / "out")]
        done = CliRunner().invoke(main, words)
        assert (done.exit_code, said in done.stdout.splitlines()) == (0, here)


@CENSUS_CONTRAST
def test_block_motions_in_plain_python():
    first, second = RNG.integers(0, 256, (2, 9, 10)).astype(np.uint32)
    found = block_motions(first, second, range(-1, 2), range(-2, 3), 3)
    for row, col in [(0, 0), (4, 5), (8, 9), (2, 7)]:
        def cost(r, c, row=row, col=col):
            return sum(bin(int(first[clamp(row + i, 9), clamp(col + j, 10)])
                           ^ int(second[clamp(clamp(row + i, 9) + r, 9), clamp(clamp(col + j, 10) + c, 10)])).count("1")
                       for i in (-1, 0, 1) for j in (-1, 0, 1))
        motions = sorted(((r, c) for r in range(-1, 2) for c in range(-2, 3)), key=lambda m: m[0] ** 2 + m[1] ** 2)
        assert tuple(found[row, col]) == min(motions, key=lambda m: cost(*m))


@CENSUS_CONTRAST
def test_blocks_of_many_motions():
    """More than are summed at a time; of equal ones the first."""
    first, second = RNG.integers(0, 4, (2, 9, 10)).astype(np.uint32)
    rows = cols = range(-9, 10)
    assert len(rows) * len(cols) > LABELS_MAX
    found = block_motions(first, second, rows, cols, 3)
    motions = sorted(((r, c) for r in rows for c in cols), key=lambda m: m[0] ** 2 + m[1] ** 2)
    there = np.pad(second, 9, mode="edge")
    sums = []
    for row, col in motions:
        costs = np.pad(np.bitwise_count(first ^ there[9 + row:18 + row, 9 + col:19 + col]), 1, mode="edge").astype(int)
        sums.append(sum(costs[r:r + 9, c:c + 10] for r in range(3) for c in range(3)))
    assert np.array_equal(found, np.array(motions)[np.argmin(sums, 0)])


def test_more_than_64_motions_on_a_machine():
    first, second = RNG.integers(0, 64, (2, 12, 16))
    problem = motion_problem(first, second, rows=9, cols=11, tau=3)
    result = solve(Config(label_bits=7, vector_bits=5), problem, Run(sweeps=4, burn_in=1))
    assert (result.counts.sum(-1) == 3).all()
    assert result.last.max() > 64


def test_the_machine_of_a_field_has_what_it_needs():
    from mrfhw.applications.motion import field as motion
    from mrfhw.applications.segmentation import field as segmentation
    from mrfhw.applications.stereo import field as stereo

    for app in (stereo, motion, segmentation):
        config = Config(**app.TUNED.needs)
        assert config.edge_bits >= app.TUNED.contrast.smooth.bit_length()
    assert all(takes_census(Config(**app.TUNED.needs)) for app in (stereo, motion))


@pytest.mark.parametrize("options", [("--edge-bits", "0"), ("--singleton-cap", "0"), ("--initial", "minimum")])
def test_stereo_takes_what_the_machine_and_the_options_leave(tmp_path, options):
    """No weights on a machine without them, no limit either, and the first labels that are asked for."""
    write_scene(stereo_scene(24, 40, 8, 0), tmp_path)
    pictures = [str(tmp_path / f"{side}.png") for side in ("left", "right")]
    files = ["--save-problem", str(tmp_path / "p.npz"), "--no-report", "-o", str(tmp_path / "o")]
    result = CliRunner().invoke(main, ["run", "stereo", *pictures, "--labels", "8", "--sweeps", "4", *options, *files])
    assert result.exit_code == 0, result.output
    problem, run = load_problem(tmp_path / "p.npz")
    assert (problem.edges is None) == ("--edge-bits" in options)
    assert (problem.singleton_max is None) == ("--singleton-cap" in options)
    assert isinstance(run.initial, str) == ("--initial" in options)
    first = json.loads((tmp_path / "o" / "report.json").read_text())["first"]
    assert first["label_evaluations"] == 2 * TUNED.first_sweeps * 24 * 40 * 8
    assert f"{first['label_evaluations']} before that, in " in result.stdout


@CENSUS_CONTRAST
@pytest.mark.parametrize(("options", "beta", "tau", "temperature"), [
    ([], 1, 3, 1.9), (["--one-way"], 2, 2, 1.4), (["--anneal"], 2, 2, 1.3 * 1.4), (["--one-way", "--beta", "3"], 3, 2, 1.4),
    (["--one-way", "--data", "grey"], 4, 2, 3.5)])
def test_one_way_is_matched_with_the_energies_of_one_way(tmp_path, options, beta, tau, temperature):
    write_scene(stereo_scene(24, 40, 8, 0), tmp_path)
    pictures = [str(tmp_path / f"{side}.png") for side in ("left", "right")]
    files = ["--save-problem", str(tmp_path / "p.npz"), "--no-report", "-o", str(tmp_path / "o")]
    result = CliRunner().invoke(main, ["run", "stereo", *pictures, "--labels", "8", "--sweeps", "4", *options, *files])
    assert result.exit_code == 0, result.output
    problem, _ = load_problem(tmp_path / "p.npz")
    assert (problem.beta, problem.tau) == (beta, tau)
    assert problem.schedule.start == pytest.approx(temperature)
    assert (problem.edges is not None) == (not options)
