"""report.html: whole, self-contained, safe, and true to the run."""

import base64
import dataclasses
import io
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from mrfhw.analysis import convergence
from mrfhw.analysis.solution import Solution
from mrfhw.analysis.trace import Trace
from mrfhw.applications.segmentation.field import SegmentationTruth
from mrfhw.applications.stereo.field import bad_pixels, stereo_problem
from mrfhw.cli import main
from mrfhw.field.problem import Problem, Run
from mrfhw.field.result import Result
from mrfhw.jobs.job import Job
from mrfhw.jobs.label_scale import LabelScale
from mrfhw.jobs.registry import application
from mrfhw.machine.config import Config
from mrfhw.report import pictures
from mrfhw.report.outputs import write_outputs
from mrfhw.report.pictures import labelled
from mrfhw.scenes import motion_scene, stereo_scene, write_motion_scene
from mrfhw.twin.machine import Machine, solve

VOID = {"meta", "img", "br", "hr"}


class Page(HTMLParser):
    """Checks that tags close in order, and keeps what is on the page."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.images, self.words, self.rows = [], [], [], [], []
        self.feed(text)
        self.close()
        assert self.open == []
        self.text = re.sub(r"\s+", " ", " ".join(self.words))

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        attributes = dict(attrs)
        if tag == "tr":
            self.rows.append([])
        if tag == "img":
            self.images.append(attributes)
        for name in ("href", "srcset", "onclick", "onload"):
            assert name not in attributes
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" in self.open:
            assert "url(" not in data
            assert "@import" not in data
            return
        self.words.append(data)
        if self.open and self.open[-1] in ("td", "th"):
            self.rows[-1].append(data)

    def row(self, name):
        """The cells after `name` in the first row that it heads."""
        return next(row[1:] for row in self.rows if row and row[0] == name)


def page(directory):
    text = (directory / "report.html").read_text(encoding="utf-8")
    assert text.startswith("<!DOCTYPE html>")
    assert "http" not in text
    found = Page(text)
    assert not {"script", "link", "iframe", "object"} & set(found.tags)
    for image in found.images:
        kind, data = image["src"].split(",")
        assert kind == "data:image/png;base64"
        assert image["alt"]
        with Image.open(io.BytesIO(base64.b64decode(data))) as picture:
            picture.verify()
    return found


def small_job(**changes):
    problem = Problem(labels=3, singleton1=np.zeros((4, 6), np.int64), constants=np.arange(3))
    return Job(**{**dict(application=application("stereo"), config=Config(), problem=problem, run=Run(sweeps=30, burn_in=10),
                         inputs={"left": np.zeros((4, 6), np.uint8)},
                         scale=LabelScale(values=np.arange(3.0)[:, None], name="disparity (pixels)"),
                         settings={"labels": 3}), **changes})


def small_result(**changes):
    counts = np.random.default_rng(0).integers(0, 9, (4, 6, 3)).astype(np.uint32)
    last = np.zeros((4, 6), np.uint8)
    return Result(**{**dict(backend="model", counts=counts, last=last, initial=last, label_evaluations=1440, wall_seconds=0.5),
                     **changes})


def small_trace(labels):
    return Trace(sweeps=np.arange(1, 31), burn_in=10, energy=np.random.default_rng(0).random((2, 30)),
                 sites=np.zeros((1, 2), np.int64), labels=labels)


class Truth:
    error_name = "error of disparity (pixels)"
    wrong_above = 1.0
    wrong = "disparity off by more than 1 pixel"
    title, note = "truth", ""

    def __init__(self, disparity):
        self.picture = disparity[..., None]

    def metrics(self, labels, mean, median=None):
        return {f"bad_{k}": bad_pixels(labels, 0, self.picture[..., 0], k) for k in (1, 2)}

    def error(self, labels):
        return np.abs(labels - self.picture[..., 0])


@pytest.fixture(scope="module")
def stereo(tmp_path_factory):
    """The built-in scene on the model, two chains and their trace: its job, solution, report and page."""
    scene = stereo_scene(48, 64, 12, 0)
    config = Config(mesh_rows=2, mesh_cols=2)
    problem = stereo_problem(scene.left >> 2, scene.right >> 2, labels=12)
    results, energies, labels = [], [], []
    for seed in (0, 1):
        run = Run(sweeps=60, burn_in=20, seed=seed)
        results.append(solve(config, problem, run))
        machine = Machine(config, problem, run)
        seen = []
        for _ in range(60):
            machine.sweep()
            seen.append(machine.image(machine.labels).copy())
        assert np.array_equal(seen[-1], results[-1].last)
        labels.append([look[::8, ::8].ravel() for look in seen])
        energies.append([float(np.abs(np.diff(look.astype(int), axis=1)).sum()) for look in seen])
    trace = Trace(sweeps=np.arange(1, 61), burn_in=20, energy=np.array(energies),
                  sites=np.argwhere(np.ones((6, 8)))[:] * 8, labels=np.array(labels, np.uint8))
    job = Job(application=application("stereo"), config=config, problem=problem, run=Run(sweeps=60, burn_in=20),
              inputs={"left picture": scene.left, "right picture": scene.right},
              scale=LabelScale(values=np.arange(12.0)[:, None], name="disparity (pixels)"), truth=Truth(scene.disparity),
              settings={"labels": 12, "seed": 0})
    solution = Solution(results=results, trace=trace)
    directory = tmp_path_factory.mktemp("stereo")
    report = write_outputs(directory, job, solution, command="mrfhw run stereo left.png right.png --labels 12", clock_hz=100e6)
    return job, solution, report, page(directory)


def test_the_built_in_scene(stereo):
    _, solution, report, found = stereo
    assert found.text.count("Stereo matching: disparity (pixels)") == 2  # title and heading
    assert len(found.images) == 10
    for heading in ("Inputs", "Estimate", "Quality against the truth", "Uncertainty", "Does uncertainty tell of error?",
                    "Convergence", "Hardware", "Settings", "How to reproduce"):
        assert heading in found.text
    assert found.row("cycles")[0] == f"{sum(r.cycles for r in solution.results):,}"
    assert found.row("bad 1 px")[0] == f"{report['metrics']['bad_1']:.2f}"
    assert found.row("time at 100 MHz")[0] == f"{report['cycles'] / 1e5:.4g}"
    assert found.row("watched sites")[0] == "48"
    assert "of known truth are wrong (disparity off by more than 1 pixel), and" in found.text
    assert "mrfhw run stereo left.png right.png --labels 12" in found.text
    assert report["config_digest"] in found.text
    assert convergence.verdict(report["convergence"]) in found.text


def test_uncertainty_tells_of_error_in_the_built_in_scene(stereo):
    _, _, report, _ = stereo
    assert report["calibration"]["auroc"]["entropy"] > 0.75
    assert 0 <= report["calibration"]["ause"]["entropy"] < 0.5
    assert 0.6 < report["calibration"]["coverage"] <= 1
    assert report["convergence"]["sites"]["ess_median"] > 10
    assert 0 < report["uncertainty"]["mean_entropy"] < np.log2(12)


def test_a_page_speaks_of_hardware_where_a_machine_drew_the_labels(stereo, tmp_path):
    """And of the share of doubt where there is one."""
    job, solution, _, found = stereo
    assert "sampling units each" in found.text
    assert "share of doubt" not in found.text
    none = [dataclasses.replace(one, cycles=None, lanes=None) for one in solution.results]
    write_outputs(tmp_path, dataclasses.replace(job, doubt=np.zeros(job.problem.shape)), Solution(results=none))
    text = page(tmp_path).text
    assert "<h2>Hardware" not in text
    assert "sampling units each" not in text
    assert "Computation" in text
    assert "No machine drew the labels" in text
    assert "with its share of doubt" in text


def test_without_truth_trace_and_cycles(tmp_path):
    write_outputs(tmp_path, small_job(inputs={}), Solution(results=[small_result(backend="float")]))
    found = page(tmp_path)
    for heading in ("Quality", "Convergence", "tell of error", "Inputs", "By chain", "time at"):
        assert heading not in found.text
    assert len(found.images) == 4
    assert "bits of entropy a site on average" in found.text
    with pytest.raises(StopIteration):
        found.row("cycles")


def test_a_run_that_went_on(tmp_path):
    job = small_job()
    went_on = job.of_run(Run(sweeps=60, burn_in=30))
    write_outputs(tmp_path, went_on, Solution(results=[small_result()] * 2))
    assert "after 60 sweeps in each of 2 chains (30 were too few, by R-hat)" in page(tmp_path).text
    assert "too few" not in " ".join(job.of_run(Run(sweeps=20, burn_in=10)).notes)  # which a callback ended


def test_windows_of_a_large_image(tmp_path):
    found = small_result(cycles=10_000, lanes=2, windows=6, visits=24, replication=3, loading_cycles=1000, reading_cycles=500,
                         messages_counted=77)
    write_outputs(tmp_path, small_job(), Solution(results=[found]), clock_hz=1e6)
    found = page(tmp_path)
    assert [found.row(name)[0] for name in ("windows", "visits", "replication", "log messages")] == ["6", "24", "3", "77"]
    assert found.row("time at 1 MHz")[0] == "10"
    assert found.row("loading and reading at that")[0] == "1.5"


def test_what_users_write_is_escaped(tmp_path):
    nasty = '<script>alert("&")</script>'
    truth = Truth(np.zeros((4, 6)))
    truth.metrics = lambda labels, mean, median: {nasty: 1.0}
    job = small_job(truth=truth, inputs={nasty: np.zeros((4, 6), np.uint8)}, settings={nasty: nasty},
                    scale=LabelScale(values=np.arange(3.0)[:, None], name=nasty))
    write_outputs(tmp_path, job, Solution(results=[small_result()]), command=f"mrfhw run '{nasty}'")
    found = page(tmp_path)
    assert found.text.count(nasty) > 5
    assert found.row(nasty)[0] == "1"


def test_infinite_r_hat_is_shown(tmp_path):
    stuck = np.array([0, 2], np.uint8)[:, None, None].repeat(30, 1)
    write_outputs(tmp_path, small_job(), Solution(results=[small_result()] * 2, trace=small_trace(stuck)))
    found = page(tmp_path)
    assert found.row("R-hat")[2] == "∞"
    assert found.row("R-hat infinite")[0] == "100 %"


def test_no_arviz_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setattr(convergence, "_arviz", lambda: None)
    moving = np.random.default_rng(0).integers(0, 3, (2, 30, 1)).astype(np.uint8)
    write_outputs(tmp_path, small_job(), Solution(results=[small_result()] * 2, trace=small_trace(moving)))
    found = page(tmp_path)
    assert 'pip install "mrfhw[apps]"' in found.text
    assert "Energy of each chain" in found.text


def test_annealing_is_said_to_give_no_probabilities(tmp_path):
    moving = np.random.default_rng(0).integers(0, 3, (2, 30, 1)).astype(np.uint8)
    write_outputs(tmp_path, small_job(annealing=True), Solution(results=[small_result()], trace=small_trace(moving)))
    assert "no posterior probabilities" in page(tmp_path).text
    write_outputs(tmp_path, small_job(annealing=True, run=Run(sweeps=30, burn_in=10, estimate="last")),
                  Solution(results=[small_result(counts=None)], trace=small_trace(moving)))
    found = page(tmp_path)
    assert "The last sample of annealing" in found.text
    assert "Uncertainty" not in found.text
    assert "no stationary distribution" in found.text


def test_colour_inputs_and_classes(tmp_path):
    job = small_job(application=application("segment"), inputs={"colour": np.zeros((4, 6, 3), np.uint8)},
                    scale=LabelScale(values=np.arange(3.0)[:, None], name="class", kind="classes"))
    write_outputs(tmp_path, job, Solution(results=[small_result()]))
    found = page(tmp_path)
    assert "Segmentation: class" in found.text
    assert "standard deviation" not in found.text
    assert len(found.images) == 3


def test_a_page_says_which_segmentation_it_shows_and_where_segments_are_worse_than_none(tmp_path, monkeypatch):
    drawn = []
    monkeypatch.setattr(pictures, "labelled", lambda panels, scale: (drawn.extend(panels), labelled(panels, scale))[1])
    labels, scale = np.arange(24, dtype=np.uint8).reshape(4, 6) % 3, LabelScale(values=np.arange(3.0)[:, None], name="class",
                                                                               kind="classes")
    whole = np.ones((4, 6), int)
    for truth, title in (([whole, labels + 1], "truth: the first of 2 segmentations, as classes"),
                         ([whole], "truth: the segmentation, as classes")):
        job = small_job(application=application("segment"), scale=scale,
                        truth=SegmentationTruth(truth, labels, np.arange(3), scale))
        counts = np.eye(3, dtype=np.uint32)[labels]
        report = write_outputs(tmp_path, job, Solution(results=[small_result(counts=counts, last=labels)]))
        text = page(tmp_path).text
        assert title in drawn
        assert "wrong (not of the class of its segment in more than half of the segmentations)" in text
        assert f"Of the truth, {title[7:-12]} is shown: each of its segments has the colour of the class" in text
    said = "the segments are worse than none: their variation of information is 2.585 bits, and that of one single segment 0.000"
    assert report["warnings"] == [said]
    assert said[1:] in text


@pytest.mark.parametrize(("value", "text"), [
    (None, "\N{EN DASH}"), (float("nan"), "\N{EN DASH}"), (float("inf"), "∞"), (1234567, "1,234,567"), (0.0, "0"),
    (0.12345, "0.1235"), (12345.6, "12,346"), (1.5e-7, "1.50e-07"), (np.int64(5), "5"), (np.float64(2.5), "2.5"), ("text", "text"),
    (True, "yes"),
])
def test_numbers_for_people(value, text):
    from mrfhw.report.html_report import _number

    assert _number(value) == text


@pytest.mark.parametrize(("options", "both"), [([], True), (["--one-way"], False), (["--estimate", "last"], True)])
def test_what_the_other_picture_does_not_confirm_is_shown(tmp_path, options, both):
    frames = [str(path) for path in write_motion_scene(motion_scene(24, 40), tmp_path)[:2]]
    result = CliRunner().invoke(main, ["run", "motion", *frames, "--vectors", "3x5", "--sweeps", "4", *options, "-o",
                                       str(tmp_path / "o")])
    assert result.exit_code == 0, result.output
    shown = [image for image in page(tmp_path / "o").images if image["alt"].startswith("White: pixels that the other picture")]
    assert len(shown) == both
    if both:
        found = np.load(tmp_path / "o" / "occluded.npy")
        assert np.array_equal(np.asarray(Image.open(tmp_path / "o" / "occluded.png")), 255 * found.astype(np.uint8))
        with Image.open(io.BytesIO(base64.b64decode(shown[0]["src"].split(",")[1]))) as picture:
            assert picture.size == found.shape[::-1]
