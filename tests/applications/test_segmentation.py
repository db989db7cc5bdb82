"""The segmentation problem: means, energies and variation of information, and what its defaults reach."""

import builtins
import math
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from mrfhw.applications.segmentation.field import (
    SegmentationTruth,
    class_means,
    class_scale,
    segmentation_problem,
    segments,
    variation_of_information,
    worse_than_none,
)
from mrfhw.applications.segmentation.job import means_from_text
from mrfhw.cli import main
from mrfhw.field.energy import doubleton_table, singleton_energies
from mrfhw.field.problem import ProblemError, Run
from mrfhw.machine.config import PRESETS, Config
from mrfhw.machine.derived import Derived
from mrfhw.pictures.images import grey_data, load_grey, load_segments
from mrfhw.placement.fit import check_fits
from mrfhw.scenes import segmentation_scene
from mrfhw.twin.machine import solve
from support.data import data_directory


def test_means_of_separate_greys():
    image = np.array([[3, 3, 5, 20], [20, 22, 60, 62]])
    assert class_means(image, 3).tolist() == [4, 21, 61]
    assert class_means(image, 6).tolist() == [3, 5, 20, 22, 60, 62]
    assert class_means(np.repeat(image, 9, 1), 3).tolist() == [4, 21, 61]


def test_means_are_weighted_and_repeatable():
    image = np.array([[0] * 9 + [10, 50, 50]])
    assert class_means(image, 2).tolist() == [1, 50]
    noisy = np.random.default_rng(0).integers(0, 64, (40, 40))
    assert np.array_equal(class_means(noisy, 5), class_means(noisy, 5))
    assert (np.diff(class_means(noisy, 5)) > 0).all()


@pytest.mark.parametrize(("classes", "message"), [(1, "classes is 1"), (257, "classes is 257"), (-4, "classes is -4"),
                                                  (4, "greys is 3")])
def test_classes_refused(classes, message):
    with pytest.raises(ProblemError, match=message):
        class_means(np.array([[1, 2, 3, 3]]), classes)


def test_without_scikit_learn(monkeypatch):
    real = builtins.__import__

    def missing(name, *arguments, **options):
        if name.startswith("sklearn"):
            raise ImportError(name)
        return real(name, *arguments, **options)

    monkeypatch.setattr(builtins, "__import__", missing)
    for name in [name for name in sys.modules if name.split(".")[0] == "sklearn"]:
        monkeypatch.delitem(sys.modules, name)
    with pytest.raises(ProblemError, match=r'pip install "mrfhw\[apps\]"') as error:
        class_means(np.arange(16).reshape(4, 4), 4)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(("text", "means"), [("10,80,160", [2, 20, 40]), ("255,0", [63, 0]), (" 4 , 8 ", [1, 2])])
def test_means_given(text, means):
    assert means_from_text(text, 6).tolist() == means
    assert means_from_text("10,80", 8).tolist() == [10, 80]


@pytest.mark.parametrize("text", ["", "10", "10,", "10,x", "10,1.5", "-1,9", "10,256", "80,81", ",".join(map(str, range(257)))])
def test_means_refused(text):
    with pytest.raises(ProblemError, match="means") as error:
        means_from_text(text, 6 if len(text) < 99 else 8)
    assert "\n" not in str(error.value)


def test_energies_are_distances_to_the_means():
    image = np.array([[0, 10, 63], [20, 21, 40]])
    problem = segmentation_problem(image, [5, 20, 60])
    assert np.array_equal(singleton_energies(problem), np.abs(image[..., None] - [5, 20, 60]))
    assert np.array_equal(doubleton_table(problem), 1 - np.eye(3))


@pytest.mark.parametrize("preset", [name for name in PRESETS if Config.preset(name).distance != "hamming"])
def test_defaults_fit_every_machine_without_saturation(preset):
    config = Derived.preset(preset)
    problem = segmentation_problem(np.zeros((8, 8), int), [0, 20, 40, 60])
    check_fits(config, problem)
    assert problem.alpha * config.data_max + 4 * problem.beta <= config.energy_max


@pytest.mark.claim("applications", "measures of quality equal those computed by hand, unknown truth left out")
def test_variation_of_information_by_hand():
    a = np.array([[1, 1, 2, 2]])
    assert variation_of_information(a, a) == 0
    assert variation_of_information(a, np.array([[9, 9, 4, 4]])) == 0  # names do not count
    assert variation_of_information(a, np.zeros_like(a)) == pytest.approx(1)  # one bit says which half
    assert variation_of_information(a, np.array([[1, 2, 1, 2]])) == pytest.approx(2)  # nothing in common
    # Joint 1/2, 1/4, 1/4: H = 1.5; margins (3/4, 1/4) and (1/2, 1/2).
    margin = -(0.75 * math.log2(0.75) + 0.25 * math.log2(0.25))
    assert variation_of_information(np.array([1, 1, 1, 2]), np.array([1, 1, 2, 2])) == pytest.approx(3 - margin - 1)


def test_truth_by_hand():
    image = np.array([[2, 2, 40, 40]])
    one, two = np.array([[1, 1, 2, 2]]), np.array([[7, 7, 7, 0]])
    scale = class_scale(np.array([0, 40]), 6)
    truth = SegmentationTruth([one, two], image, np.array([0, 40]), scale)
    assert np.array_equal(truth.picture[..., 0], [[1.5, 1.5, 161.5, 161.5]])
    labels = np.array([[0, 0, 1, 1]], np.uint8)
    assert np.array_equal(truth.error(labels), [[0, 0, 0.5, 0]])  # the second has three alike, and says nothing of the last
    parts = variation_of_information(np.array([0, 0, 1]), np.array([7, 7, 7]))
    single = variation_of_information(np.zeros((1, 4), int), one) / 2  # the second is one segment itself
    assert truth.metrics(labels, None) == {"vi": pytest.approx(parts / 2), "vi_classes": pytest.approx(parts / 2),
                                           "vi_single": pytest.approx(single)}
    assert single == pytest.approx(0.5)
    assert truth.metrics(np.zeros_like(labels), None) == dict.fromkeys(("vi", "vi_classes", "vi_single"), pytest.approx(0.5))
    nothing = SegmentationTruth([np.zeros((1, 4), int)], image, np.array([0, 40]), scale)
    assert nothing.metrics(labels, None) == dict.fromkeys(("vi", "vi_classes", "vi_single"))
    assert np.isnan(nothing.error(labels)).all()
    assert np.isnan(nothing.picture).all()


def test_segments_that_are_worse_than_none_are_told_of():
    assert worse_than_none({"vi": 1.5, "vi_single": 0.6}) == (
        "the segments are worse than none: their variation of information is 1.500 bits, and that of one single segment 0.600")
    for others in ({"vi": 0.6, "vi_single": 0.6}, {"vi": None, "vi_single": None}, {"bad_1": 3.0}, {}):
        assert worse_than_none(others) is None


def test_pictures_as_lists():
    image, segments = [[3, 3, 5, 20], [20, 22, 60, 62]], [[1, 1, 1, 2], [2, 2, 3, 3]]
    assert class_means(image, 3).tolist() == [4, 21, 61]
    assert segmentation_problem(image, [4, 21, 61]) == segmentation_problem(np.array(image), [4, 21, 61])
    scale = class_scale(np.array([4, 21, 61]), 6)
    truth, again = (SegmentationTruth([kind(segments)], kind(image), [4, 21, 61], scale) for kind in (list, np.array))
    assert np.array_equal(truth.picture, again.picture)
    labels = np.array(segments) - 1
    assert truth.metrics(labels, None)["vi_classes"] == variation_of_information(segments, segments) == 0


@pytest.mark.parametrize("image", [np.linspace(0, 1, 12).reshape(3, 4), [[0.25, 0.5], [0.5, 0.25]], np.full((2, 2), 0.5)])
def test_floats_from_0_to_1_are_no_data(image):
    """k-means of these means was 0 and 1."""
    for make in (lambda: class_means(image, 2), lambda: segmentation_problem(image, [0, 1])):
        with pytest.raises(ProblemError, match=r"^image has values from .*; data are whole numbers.*grey_data$") as error:
            make()
        assert "\n" not in str(error.value)
    assert grey_data(image)[0].max() == int(np.rint(255 * np.max(image))) >> 2


@pytest.mark.parametrize("image", [[[1.5, 9], [3, 4]], [["a", "b"], ["c", "d"]], [[1, 2], [3]], np.full((2, 2), np.nan)])
def test_data_that_are_no_whole_numbers(image):
    with pytest.raises(ProblemError, match=r"^image ") as error:
        class_means(image, 2)
    assert "\n" not in str(error.value)


def test_scale_is_the_middle_of_the_bin():
    scale = class_scale(np.array([0, 1, 63]), 6)
    assert scale.values[:, 0].tolist() == [1.5, 5.5, 253.5]
    assert not scale.ordered


@pytest.mark.claim("applications",
    "every application runs from files by its defaults and is better than what the pictures say by themselves")
def test_defaults_on_the_built_in_scene():
    """0.10 bits and 0.6 % of the pixels when measured; the nearest mean alone has 1.9 bits and 30 %."""
    scene = segmentation_scene(seed=1)
    image = scene.image >> 2
    means = class_means(image, 4)
    result = solve(Config(), segmentation_problem(image, means), Run(sweeps=100, burn_in=50))
    nearest = np.abs(image[..., None].astype(int) - means).argmin(-1)
    assert (result.mode != scene.classes).mean() < 0.02 < 0.2 < (nearest != scene.classes).mean()
    found, plain = (variation_of_information(labels, scene.classes) for labels in (result.mode, nearest))
    assert found < 0.25 < 1.5 < plain


def test_defaults_on_a_photograph():
    data = data_directory() / "bsds"
    image = load_grey(data / "images" / "101085.jpg")
    segments = [load_segments(path) for path in sorted((data / "labels").glob("101085_*.png"))]
    assert len(segments) == 5
    means = class_means(image, 4)
    truth = SegmentationTruth(segments, image, means, class_scale(means, 6))
    result = solve(Config(tile_rows=128, tile_cols=128), segmentation_problem(image, means), Run(sweeps=60, burn_in=30))
    nearest = np.abs(image[..., None].astype(int) - means).argmin(-1)
    assert truth.metrics(result.mode, None)["vi_classes"] < truth.metrics(nearest, None)["vi_classes"] - 0.2


def test_segments_are_numbered_without_gaps():
    """Where small regions have become parts of others, too."""
    classes = np.zeros((40, 40), np.uint8)
    classes[:, 20:] = 2
    classes[5, ::3] = 1
    found = segments(classes, 10)
    assert found.dtype == np.int32
    assert np.unique(found).tolist() == [1, 2]
    assert len(np.unique(segments(classes, 1))) == segments(classes, 1).max() > 2


def test_more_segments_than_a_picture_holds_numbers(tmp_path):
    """Each is in the array; the picture is left out."""
    path = tmp_path / "noise.png"
    Image.fromarray(np.random.default_rng(0).integers(0, 256, (300, 300), np.uint8)).save(path)
    words = ["run", "segment", str(path), "--classes", "40", "--sweeps", "2", "--temperature", "1", "--beta", "0", "--no-report"]
    result = CliRunner().invoke(main, [*words, "-o", str(tmp_path / "o")])
    assert result.exit_code == 0, result.output
    found = np.load(tmp_path / "o" / "segments.npy")
    assert len(np.unique(found)) == found.max() > 65535
    assert not (tmp_path / "o" / "segments.png").exists()
    assert "segments.png" not in result.stdout
