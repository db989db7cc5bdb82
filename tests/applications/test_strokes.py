"""Segmentation by strokes: what is refused, what is clamped, what colours are fitted to, and one result from every side."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

import mrfhw
from mrfhw.applications.descriptors import graded_weights
from mrfhw.applications.segmentation import strokes as module
from mrfhw.applications.segmentation.strokes import Strokes
from mrfhw.cli import main
from mrfhw.pictures.lab import lab

SIZE = (48, 64)
INSIDE = np.hypot(*(np.mgrid[:48, :64] - np.array([22, 34])[:, None, None])) < 13


@pytest.fixture(scope="module")
def picture() -> np.ndarray:
    """A disc of another colour under noise; the disc's half without a stroke is as bright as the ground."""
    rng = np.random.default_rng(4)
    colours = np.where(INSIDE[..., None], (150, 90, 90), (90, 110, 150)) + rng.normal(0, 12, (*SIZE, 3))
    return np.rint(colours).clip(0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def scribbles() -> np.ndarray:
    drawn = np.zeros(SIZE, np.uint8)
    drawn[4:6, 5:40], drawn[20:22, 28:36] = 1, 2
    return drawn


@pytest.mark.claim("applications", "strokes of two colours segment a picture rightly, and keep their labels in every draw")
def test_a_disc_from_two_strokes(picture, scribbles):
    answer = mrfhw.segment(picture, scribbles=scribbles, sweeps=60)
    assert (answer.labels != INSIDE).mean() < 0.01
    assert answer.problem.labels == 2
    seen = []
    mrfhw.segment(picture, scribbles=scribbles, sweeps=12, burn_in=2, chains=1, every=1,
                  callback=lambda look: seen.append(look.labels))
    drawn = scribbles > 0
    assert len(seen) >= 12
    for labels in (*seen, answer.labels, answer.last):
        assert np.array_equal(labels[drawn], scribbles[drawn] - 1)
    assert not answer.counts[drawn].any()
    assert not answer.entropy[drawn].any()


def test_strokes_that_contradict_the_colours_stay(picture, scribbles):
    wrong = scribbles.copy()
    wrong[24:26, 30:34] = 1  # the ground's number within the disc
    for initial in (None, "minimum", np.ones(SIZE, int)):
        answer = mrfhw.segment(picture, scribbles=wrong, sweeps=10, initial=initial)
        assert np.array_equal(answer.last[wrong > 0], wrong[wrong > 0] - 1)


def test_three_labels_and_a_grey_picture(scribbles):
    rng = np.random.default_rng(0)
    truth = np.repeat(np.arange(3), (20, 24, 20))[None].repeat(48, 0)
    drawn = np.zeros(SIZE, np.uint8)
    for label in range(3):
        drawn[20:24, 20 * label + 8:20 * label + 12] = label + 1
    grey = (60 + 60 * truth + rng.normal(0, 12, SIZE)).clip(0, 255).astype(np.uint8)
    answer = mrfhw.segment(grey, scribbles=drawn, sweeps=40)
    assert (answer.labels != truth).mean() < 0.02
    assert answer.values[:, 0] == pytest.approx([60, 120, 180], abs=8)  # the strokes' greys


def test_colours_are_fitted_to_the_labels_that_are_drawn(picture, scribbles, monkeypatch):
    """Where a stroke has one of a label's two colours, the second fit knows the other."""
    two = picture.copy()
    two[INSIDE & (np.arange(64) > 36)] = (160, 130, 60)
    drawn = scribbles.copy()
    strokes = Strokes(two, drawn)
    before = strokes.costs()
    after = strokes.costs(np.where(INSIDE, 2, 1))
    other = INSIDE & (np.arange(64) > 38)
    assert (after - before)[other][:, 1].mean() < -0.2  # cheaper than by the stroke's own colour
    fits = []
    real = Strokes.costs
    monkeypatch.setattr(Strokes, "costs", lambda self, drawn=None: fits.append(drawn) or real(self, drawn))
    mrfhw.segment(picture, scribbles=scribbles, sweeps=10)
    assert [fit is None for fit in fits] == [True, False]
    sure = fits[1] > 0
    assert sure.mean() > 0.5
    assert (fits[1][sure] - 1 == INSIDE[sure]).mean() > 0.98


def test_costs_are_those_of_a_kept_definition(picture, scribbles):
    """Distances by every path of a small picture, densities by the formula."""
    from scipy.stats import multivariate_normal

    small, drawn = picture[16:24, 24:33], np.zeros((8, 9), np.uint8)
    drawn[0, 0], drawn[7, 8] = 1, 2
    strokes = Strokes(small, drawn)
    tuned = strokes.tuned
    from scipy.ndimage import gaussian_filter
    smooth = gaussian_filter(lab(small), (1, 1, 0))
    far = np.full((8, 9), np.inf)
    far[0, 0] = 0
    for _ in range(72):  # Bellman and Ford
        for row in range(8):
            for col in range(9):
                for to in ((row + 1, col), (row - 1, col), (row, col + 1), (row, col - 1)):
                    if 0 <= to[0] < 8 and 0 <= to[1] < 9:
                        step = 1 + tuned.contrast * np.linalg.norm(smooth[to] - smooth[row, col])
                        far[row, col] = min(far[row, col], far[to] + step)
    light = lab(small)[..., 0]
    spread = np.sqrt(np.maximum(gaussian_filter(light**2, 2) - gaussian_filter(light, 2)**2, 0))
    features = np.concatenate([smooth, spread[..., None]], -1)
    density = multivariate_normal(features[0, 0], module.FLOOR * np.eye(4)).logpdf(features)  # one pixel: one component
    expected = -tuned.colour * density + tuned.place * np.log(far + tuned.near)
    assert np.allclose(strokes.costs()[..., 0], expected)


def test_graded_weights_by_hand():
    colours = np.array([[0.0, 0.0, 3.0], [0.0, 1.0, 3.0]])[..., None]
    mean = (0 + 9 + 1 + 4 + 0 + 1 + 0) / 7
    found = graded_weights(colours)
    assert found.dtype == np.uint8
    assert found[0, 0].tolist() == [15, 15]
    assert found[1, 0, 0] == round(15 * np.exp(-1 / (2 * mean)))
    assert found[0, 1, 0] == max(1, round(15 * np.exp(-9 / (2 * mean))))
    assert (graded_weights(np.zeros((2, 3, 1))) == 15).all()
    assert graded_weights(np.zeros((1, 1, 3))).shape == (1, 1, 2)


def test_lab_of_known_colours():
    """White, black, and the primaries of sRGB, as tables have them."""
    found = lab(np.array([[[255, 255, 255], [0, 0, 0], [255, 0, 0], [0, 0, 255]]], np.uint8))
    assert np.allclose(found[0], [[100, 0, 0], [0, 0, 0], [53.24, 80.09, 67.20], [32.30, 79.19, -107.86]], atol=0.02)
    assert lab(np.array([[255, 0, 119]], np.uint8))[0, :, 0] == pytest.approx([100, 0, 50.03], abs=0.05)


def files(folder: Path, picture: np.ndarray, scribbles: np.ndarray) -> None:
    Image.fromarray(picture).save(folder / "picture.png")
    Image.fromarray(scribbles).save(folder / "strokes.png")


@pytest.mark.slow
@pytest.mark.claim("applications", "strokes give the same bits from Python, the command line and a batch, and again")
def test_python_command_line_and_batch_are_one(tmp_path, monkeypatch, picture, scribbles):
    monkeypatch.chdir(tmp_path)
    files(tmp_path, picture, scribbles)
    words = ["picture.png", "--scribbles", "strokes.png", "--sweeps", "20", "--seed", "5"]
    ran = CliRunner().invoke(main, ["run", "segment", *words, "--no-report", "-o", "alone"])
    assert ran.exit_code == 0, ran.output
    Path("jobs").write_text(f"segment {' '.join(words)}\n" + json.dumps({
        "application": "segment", "image": "picture.png", "scribbles": "strokes.png", "sweeps": 20, "seed": 5}) + "\n")
    ran = CliRunner().invoke(main, ["batch", "jobs", "--no-report", "--workers", "1", "-o", "out"])
    assert ran.exit_code == 0, ran.output
    answers = [mrfhw.segment(picture, scribbles=given, sweeps=20, seed=5)
               for given in (scribbles, scribbles.astype(float), "strokes.png")]
    requests = [mrfhw.Request("segment", image=picture, scribbles=scribbles, sweeps=20, seed=5)]
    answers += [one for _, one in mrfhw.batch(requests, workers=1)]
    for folder in (Path("alone"), *sorted(Path("out").glob("000*"))):
        for name in ("labels", "entropy"):
            held = np.load(folder / f"{name}.npy")
            for answer in answers:
                assert np.array_equal(getattr(answer, name), held)
    assert len(list(Path("out").glob("000*"))) == 2
    report = json.loads((Path("alone") / "report.json").read_text())
    assert report["settings"]["scribbles"] == "strokes.png"


def test_the_digest_covers_the_strokes_by_their_contents(tmp_path, monkeypatch, picture, scribbles):
    monkeypatch.chdir(tmp_path)
    files(tmp_path, picture, scribbles)
    Image.fromarray(scribbles).save("copy.png")
    other = scribbles.copy()
    other[40, 40] = 1
    Image.fromarray(other).save("other.png")

    def digest(name):
        return mrfhw.Request("segment", image="picture.png", scribbles=name).digest

    assert digest("strokes.png") == digest("copy.png") != digest("other.png")
    assert digest(scribbles) == digest(scribbles.copy()) != digest(other)


@pytest.mark.slow
def test_a_machine_holds_the_field(picture, scribbles):
    """Of a model of hardware, and of windows of it."""
    parts = picture[12:36, 20:52], scribbles[12:36, 20:52].copy()
    parts[1][1, 2:8] = 1
    answer = mrfhw.segment(parts[0], scribbles=parts[1], sweeps=30, backend="model", mesh=(1, 2))
    assert answer.machine.data_bits == 8
    assert (answer.labels != INSIDE[12:36, 20:52]).mean() < 0.15


PLACES = np.zeros(SIZE, int)
TWO = PLACES.copy()
TWO[0, :9], TWO[40, :9] = 1, 2


def changed(value: object, kind: type = int) -> np.ndarray:
    found = TWO.astype(kind)
    found[9, 9] = value
    return found


HAS = "scribbles has "
LACKS = "each label needs one: draw it, or number the strokes without gaps"
ALONE = "alone; at least two labels need strokes: draw another number where the rest is"
WHOLE = "strokes are whole numbers from 0: give 0 where there is no stroke, and k on those of label k - 1"
BOTH = "and scribbles are given, from whose colours the labels' costs follow: drop one of the two"


@pytest.mark.parametrize(("options", "said"), [
    ({"scribbles": TWO[:44]}, "the map of scribbles is 64x44; the image is 64x48: give images of one size"),
    ({"scribbles": PLACES}, f"{HAS}no stroke here, it is 0 everywhere; each label needs one: draw 1 for the first label, 2 for "
                            "the second and so on"),
    ({"scribbles": (TWO == 2) * 2}, f"{HAS}strokes of the number 2 {ALONE}"),
    ({"scribbles": (TWO == 2) * 255}, f"{HAS}strokes of the number 255 {ALONE}"),
    ({"scribbles": TWO, "window": (0, 0, 64, 20)}, f"{HAS}strokes of the number 1 {ALONE}"),
    ({"scribbles": changed(4), "classes": 2}, f"{HAS}the number 4 and classes is 2; the strokes of the last label are 2: draw "
                                              "numbers from 1 on, or give more classes"),
    ({"scribbles": changed(257)}, f"{HAS}the number 257; the limit is 256 labels: draw numbers from 1 on"),
    ({"scribbles": changed(4)}, f"{HAS}no stroke of the number 3, of 1 to 4; {LACKS}"),
    ({"scribbles": TWO, "classes": 3}, f"{HAS}no stroke of the number 3, of 1 to 3; {LACKS}"),
    ({"scribbles": changed(1.5, float)}, f"the map of scribbles has the value 1.5; {WHOLE}"),
    ({"scribbles": changed(-1)}, f"the map of scribbles has the value -1; {WHOLE}"),
    ({"scribbles": changed(np.nan, float)}, f"the map of scribbles has the value nan; {WHOLE}"),
    ({"scribbles": np.stack([TWO] * 3, -1)}, "the map of scribbles is of type int64 and shape (48, 64, 3); it is 0 where there "
                                             "is no stroke, and k on those of label k - 1: give a path, or an array (rows, "
                                             "columns) of numbers"),
    ({"scribbles": TWO, "means": (50, 90)}, f"means is 50,90 {BOTH}"),
    ({"scribbles": TWO, "data": "grey"}, f"data is grey {BOTH}"),
    ({"scribbles": TWO, "initial": "random"}, "initial is random and scribbles are given, whose pixels keep the labels that they "
                                              "start from: give minimum or labels, or drop it"),
])
def test_wrong_strokes_are_one_line(picture, options, said):
    with pytest.raises(mrfhw.ProblemError) as error:
        mrfhw.segment(picture, sweeps=4, **options)
    assert str(error.value) == said


@pytest.mark.slow
def test_the_study_takes_a_folder(tmp_path, picture):
    """Every row of both kinds of task, and the means of them."""
    from studies.strokes import main as study

    for name, content in (("images/1.jpg", picture), ("labels/1_0.png", (INSIDE + 1).astype(np.uint8))):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        Image.fromarray(content).save(tmp_path / name)
    ran = CliRunner().invoke(study, [str(tmp_path), "--scenes", "1", "--held-back", "", "--sweeps", "20"])
    assert ran.exit_code == 0, ran.output
    rows = [line.split(",") for line in ran.output.splitlines() if line.startswith("mean of 1,chosen on")]
    found = {(row[2], row[3].strip('"')): float(row[-6]) for row in rows if "GrabCut" not in row[3]}
    assert found["two", "mrfhw"] > 0.9
    assert set(found) == {(labels, method) for labels in ("two", "several") for method in ("mrfhw", "watershed")}
    lacking = CliRunner().invoke(study, [str(tmp_path)])
    assert lacking.exit_code == 2
    assert "101085.jpg is not there; a folder has images/NAME.jpg and labels/NAME_K.png" in lacking.stderr
    assert len(lacking.stderr.splitlines()) == 1
