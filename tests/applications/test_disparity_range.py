"""The range of disparities that a pair without one gets."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from mrfhw.applications.stereo.disparity_range import find_range
from mrfhw.applications.stereo.field import LABELS
from mrfhw.cli import main
from mrfhw.field.problem import LABELS_MAX
from mrfhw.scenes import stereo_scene, write_scene
from support.data import data_directory

RANGE_DISPARITIES_PAIR = pytest.mark.claim("applications",
    "the range of disparities that a pair without one gets holds its disparities and few others; the run is that with the range "
    "given")


@RANGE_DISPARITIES_PAIR
@pytest.mark.parametrize(("rows", "cols", "labels"), [(144, 192, 32), (48, 64, 8), (24, 40, 8), (16, 16, 4)])
@pytest.mark.parametrize("seed", range(3))
def test_it_holds_all_disparities_and_few_others(rows: int, cols: int, labels: int, seed: int) -> None:
    scene = stereo_scene(rows, cols, labels, seed)
    true = scene.disparity[scene.disparity > 0]
    first, found = find_range(scene.left, scene.right)
    assert true.min() - 3 <= first <= true.min() + 0.5
    assert true.max() - 0.5 <= first + found - 1 <= true.max() + 3


@RANGE_DISPARITIES_PAIR
@pytest.mark.parametrize(("name", "scale", "most"), [("teddy", 4, 12), ("poster", 8, 5), ("art", 3, 5), ("art-348x278", 4, 23)])
def test_published_pairs(name: str, scale: int, most: int) -> None:
    """most: disparities that no pixel has."""
    folder = data_directory() / "stereo" / name
    left, right = (np.asarray(Image.open(folder / f"{side}.png").convert("L")) for side in ("left", "right"))
    true = np.asarray(Image.open(folder / "disp_left.png")) / scale
    true = true[true > 0]
    first, found = find_range(left, right)
    assert ((true >= first - 0.5) & (true <= first + found - 0.5)).mean() > 0.999
    assert found <= true.max() - true.min() + 1 + most
    first, found = find_range(right, left)  # exchanged
    assert -true.max() - 6 <= first <= -true.max() + 1
    assert first + found - 1 <= 2


@RANGE_DISPARITIES_PAIR
def test_where_it_begins_can_be_given() -> None:
    scene = stereo_scene(48, 64, 8, 1)
    first, found = find_range(scene.left, scene.right)
    for least in (-7, 0, 3):
        assert find_range(scene.left, scene.right, least)[0] == least
        assert abs(sum(find_range(scene.left, scene.right, least)) - (first + found)) <= 1
    assert find_range(scene.left, scene.right, 40) == (40, LABELS)  # where no pixel is matched


@RANGE_DISPARITIES_PAIR
def test_negative_disparities_are_looked_for_where_they_are_given() -> None:
    scene = stereo_scene(48, 64, 8, 1)
    first, found = find_range(scene.left[:, 12:], scene.right[:, :-12], -14)  # of 12 less
    true = scene.disparity.max() - 12
    assert first == -14
    assert true - 0.5 <= first + found - 1 <= true + 3


@RANGE_DISPARITIES_PAIR
def test_pictures_that_are_exchanged(tmp_path: Path) -> None:
    scene = stereo_scene(48, 64, 8, 1)
    first, found = find_range(scene.right, scene.left)
    assert -scene.disparity.max() - 3 <= first <= -scene.disparity.max() + 0.5
    assert -scene.disparity[scene.disparity > 0].min() - 0.5 <= first + found - 1 <= 1
    left, right, _ = map(str, write_scene(scene, tmp_path))
    done = CliRunner().invoke(main, ["run", "stereo", right, left, "--sweeps", "4", "--no-report", "-o", str(tmp_path / "out")])
    assert (f"disparities {first} to {first + found - 1}, found from the pictures: they are negative where LEFT and RIGHT are "
            "exchanged\n") in done.stdout


def test_more_disparities_than_labels() -> None:
    left = np.random.default_rng(1).integers(0, 256, (60, 900))
    right = left.copy()
    right[30:] = np.roll(left[30:], -LABELS_MAX, 1)
    assert find_range(left, right) == (0, LABELS_MAX)


@RANGE_DISPARITIES_PAIR
def test_pictures_that_tell_nothing() -> None:
    noise = np.random.default_rng(0).integers(0, 256, (2, 40, 1000))
    first, found = find_range(*noise)
    assert first >= 0
    assert 2 <= found <= LABELS_MAX
    assert find_range(noise[0, :1, :1], noise[1, :1, :1]) == (0, LABELS)
    assert find_range(np.zeros((30, 3)), np.zeros((30, 3))) == (0, 2)


@RANGE_DISPARITIES_PAIR
def test_a_run_without_labels_is_one_with_those_that_are_found(tmp_path: Path) -> None:
    scene = stereo_scene(48, 64, 8, 1)
    left, right, _ = map(str, write_scene(scene, tmp_path))
    first, labels = find_range(scene.left, scene.right)
    answers = []
    for name, options in (("found", []), ("given", ["--labels", str(labels), "--min-disparity", str(first)])):
        words = ["run", "stereo", left, right, *options, "--sweeps", "6", "--no-report", "-o", str(tmp_path / name)]
        done = CliRunner().invoke(main, words)
        said = f"disparities {first} to {first + labels - 1}, found from the pictures\n"
        assert (done.exit_code, said in done.stdout) == (0, name == "found")
        answers.append(np.load(tmp_path / name / "labels.npy"))
        settings = json.loads((tmp_path / name / "report.json").read_text())["settings"]
        assert (settings["labels"], settings["min_disparity"], settings["range_found"]) == (labels, first, name == "found")
    assert np.array_equal(*answers)
