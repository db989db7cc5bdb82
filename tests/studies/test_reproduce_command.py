"""`python -m studies.reproduce`: every table and figure on the built-in scenes, data from a directory, and mistakes."""

import csv
import io
import re
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from mrfhw.field.problem import ProblemError
from mrfhw.system import progress
from studies.report import span
from studies.reproduce.command import FIGURES, command
from studies.reproduce.context import Context
from studies.reproduce.scenes import SETTINGS, load_scene
from support.data import data_directory

SMALL = ("--scene", "venus", "--scene", "art", "--iterations", 6)  # the smallest scene of each application


def invoke(*arguments):
    return CliRunner().invoke(command, [str(argument) for argument in arguments], prog_name="python -m studies.reproduce")


def table(path):
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def setting(name):
    return next(s for s in SETTINGS if s.name == name)


def check_files(directory, name):
    rows = table(directory / f"{name}.csv")
    assert rows
    text = (directory / f"{name}.txt").read_text()
    for column in rows[0]:
        assert f"  {column}: " in text  # what it means
    with Image.open(directory / f"{name}.png") as picture:
        picture.load()
        assert min(picture.size) > 300
        assert len(np.unique(np.asarray(picture.convert("L")))) > 5
    return rows


@pytest.mark.parametrize("what", FIGURES)
def test_each_writes_a_table_and_a_picture_from_built_in_scenes(what, tmp_path):
    result = invoke(what, *SMALL, "--chains", 2, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    assert sorted(path.name for path in (tmp_path / "out").iterdir()) == [f"{what}.{kind}" for kind in ("csv", "png", "txt")]
    rows = check_files(tmp_path / "out", what)
    lines = result.stdout.splitlines()
    assert lines[0].startswith(f"{what}: ")
    assert lines[-1] == f"wrote {what}.csv, {what}.png, {what}.txt to {tmp_path / 'out'}"
    assert "published" in result.stdout or what == "table-3.2"
    if what == "figure-4.17":
        assert {(row["picture"], row["data"]) for row in rows} == {("scene", "built-in scene")}
        assert "one built-in scene: give --data with bsds/images" in result.stdout
    elif what != "figure-3.10":
        assert {row["scene"] for row in rows} <= {"venus", "art"}
        assert {row["data"] for row in rows} == {"built-in scene"}
        assert "built-in scenes of half the rows and columns stand in for venus, art" in result.stdout


@pytest.mark.parametrize("alone", [["figure-3.8", "table-3.3"], pytest.param(list(FIGURES), marks=pytest.mark.long)],
                         ids=["some", "each"])
def test_all_writes_every_one_and_what_each_writes_alone(alone, tmp_path):
    """Twice the same, too."""
    every = invoke("all", *SMALL, "--chains", 1, "-o", tmp_path / "all")
    assert every.exit_code == 0, every.output
    for what in FIGURES:
        check_files(tmp_path / "all", what)
    assert every.stdout.splitlines()[-1] == f"wrote {len(FIGURES)} figures to {tmp_path / 'all'}"
    agree_with_each_other(tmp_path / "all")
    for what in alone:
        assert invoke(what, *SMALL, "--chains", 1, "-o", tmp_path / "alone").exit_code == 0
        assert (tmp_path / "all" / f"{what}.csv").read_bytes() == (tmp_path / "alone" / f"{what}.csv").read_bytes()


def test_how_far_it_is_is_said_without_a_terminal(tmp_path, monkeypatch):
    quiet = invoke("figure-3.8", *SMALL, "-o", tmp_path / "out")
    assert (quiet.exit_code, quiet.stderr) == (0, "")  # short work
    monkeypatch.setattr(progress, "SECONDS", 0.0)
    said = invoke("figure-3.8", *SMALL, "-o", tmp_path / "out")
    assert said.stdout == quiet.stdout
    assert said.stderr.splitlines() == [f"{scene}: {done} of 6 sweeps"
                                        for scene in ("venus (1 of 2)", "art (2 of 2)") for done in range(1, 6)]


def test_on_a_terminal_a_bar_is_drawn(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    monkeypatch.setattr(sys, "stderr", Terminal())
    with Context().bar(4, "venus") as bar:
        bar.start_t -= 3  # as if these seconds had passed
        bar.last_print_t -= 3
        bar.update(2)
        assert "venus:  50%" in sys.stderr.getvalue()


def test_the_help_says_what_takes_minutes():
    said = " ".join(invoke("--help").stdout.split())
    assert "the others minutes, such as four for figure-3.8" in said
    assert "--scene and --iterations" in said


def agree_with_each_other(directory):
    """What several tables say."""
    seen = [row for row in table(directory / "figure-3.2.csv") if row["scene"] == "venus"]
    assert len(seen) == 49
    assert sum(float(row["percent"]) for row in seen) == pytest.approx(100, abs=1e-3)
    demand = table(directory / "figure-3.8.csv")
    assert len(demand) == 2 * 2 * 8
    two = {row["scene"]: row for row in demand if (row["policy"], row["pairs"]) == ("LRP", "2")}
    for row in table(directory / "figure-3.13.csv"):
        if row["heat"] == "1":
            assert float(row["messages_per_update"]) == pytest.approx(float(two[row["scene"]]["mean_rate"]), rel=1e-4)
        raw, log = float(row["no_log_bytes"]), float(row["log_bytes"])
        assert float(row["saved_percent"]) == pytest.approx(100 * (1 - log / raw), abs=0.01)
        worse = float(row["messages_per_update"]) > float(row["break_even"])
        assert worse == (log > raw)
    for row in demand:
        assert float(row["mean_rate"]) <= float(row["largest_rate"]) <= 1
        spus_a_label = 2048 / {"venus": 49, "art": 28}[row["scene"]]
        assert float(row["share"]) == pytest.approx(spus_a_label * float(row["largest_rate"]) * 32 / 512, rel=1e-4)


def test_scenes_are_chosen_and_stereo_alone_leaves_out_the_motion_figure(tmp_path):
    result = invoke("all", "--scene", "art", "--iterations", 4, "--chains", 1, "-o", tmp_path)
    assert result.exit_code == 0, result.output
    assert not (tmp_path / "figure-3.2.csv").exists()
    assert {row["scene"] for row in table(tmp_path / "figure-4.1.csv")} == {"art"}


def test_one_scene_is_no_range_and_not_every_scene(tmp_path):
    said = invoke("figure-4.1", "--scene", "art", "--iterations", 4, "-o", tmp_path).stdout
    assert re.search(r"^  \d+\.\d %; published: 22 to 46 %$", said, re.MULTILINE)
    assert "4 iterations of art in place of Table 3.2's" in said
    assert "4 iterations of every scene in place" in " ".join(Context(iterations=4).provenance())
    assert [span((2.0, 1.0), ".1f"), span((1.01, 1.02), ".1f")] == ["1.0 to 2.0", "1.0"]


def test_motions_have_a_wheel_of_directions_and_lines_their_words_beside_the_bars():
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figures = {}
    for name in ("table-3.2", "table-3.3"):
        report = FIGURES[name](Context(names=("venus",), iterations=4))
        figures[name] = Figure(figsize=report.size, layout="constrained")
        FigureCanvasAgg(figures[name])
        report.draw(figures[name])
        figures[name].canvas.draw()
    assert [axes.get_xlabel() for axes in figures["table-3.2"].axes] == ["", "", "column"]
    (axes,) = figures["table-3.3"].axes
    published = [text for text in axes.texts if text.get_text().startswith("published")]
    assert len(published) == 2
    for text in published:
        assert not any(text.get_window_extent().overlaps(bar.get_window_extent()) for bar in axes.patches)
        assert text.get_window_extent().x1 <= figures["table-3.3"].bbox.x1


@pytest.mark.parametrize(("arguments", "message"), [
    (("figure-9.9",), "what is 'figure-9.9'; it must be one of table-3.2, figure-3.2,"),
    ((), "Missing argument 'WHAT'"),
    (("all", "--scene", "mars"), "scene is 'mars'; the scenes are dimetrodon, rubberwhale, venus, art, poster, teddy: choose"),
    (("figure-3.2", "--scene", "art"), "scene is art; this figure takes those of motion: give one of dimetrodon"),
    (("all", "--data", "nowhere"), "data is nowhere; it is no directory: give one with flow/Dimetrodon and others"),
    (("all", "--iterations", 3), "iterations is 3; the limits are 4 to 65535: give"),
    (("all", "--iterations", 65536), "iterations is 65536; the limits are 4 to 65535: give"),
    (("all", "--iterations", "many"), "'many' is not a valid integer"),
    (("figure-3.12", "--chains", 0), "chains is 0; the limits are 1 to 100: give"),
    (("all", "--seed", -1), "seed is -1; the limits are 0 to 4294967295: give"),
])
def test_mistakes_are_one_line_and_leave_nothing(arguments, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = invoke(*arguments)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert not list(tmp_path.iterdir())


def test_an_output_that_is_a_file_is_refused_before_the_work(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("mine")
    monkeypatch.setattr(Context, "scenes", None)  # whoever needs a scene fails
    result = invoke("all", *SMALL, "-o", tmp_path / "file")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    assert (tmp_path / "file").read_text() == "mine"


def small_data(directory, truth_shape=(24, 70)):
    """stereo/poster as a picture moved by five columns."""
    folder = directory / "stereo" / "poster"
    folder.mkdir(parents=True)
    wide = np.random.default_rng(0).integers(0, 256, (24, 80)).astype(np.uint8)
    for name, values in (("left", wide[:, 5:75]), ("right", wide[:, 10:80]), ("disp_left", np.full(truth_shape, 40, np.uint8))):
        Image.fromarray(values).save(folder / f"{name}.png")
    return directory


def test_pictures_come_from_the_directory(tmp_path):
    scene = load_scene(setting("poster"), small_data(tmp_path))
    assert (scene.source, scene.caption, scene.first.shape) == ("stereo/poster", "poster", (24, 70))
    assert set(scene.truth.ravel()) == {5.0}
    result = invoke("figure-3.12", "--data", tmp_path, "--scene", "poster", "--scene", "art", "--iterations", 30, "--chains", 1,
                    "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    rows = table(tmp_path / "out" / "figure-3.12.csv")
    assert {(row["scene"], row["data"]) for row in rows} == {("poster", "stereo/poster"), ("art", "built-in scene")}
    assert "stand in for art:" in result.stdout
    assert max(float(row["mean"]) for row in rows if row["scene"] == "poster") < 30


def test_motions_of_a_wide_window_are_labels(tmp_path):
    """The last labels of a chain are vectors of up to 7 pixels, and regions skip at most what their single sites do."""
    result = invoke("figure-4.15", "--scene", "venus", "--iterations", 4, "-o", tmp_path)
    assert result.exit_code == 0, result.output
    rows = table(tmp_path / "figure-4.15.csv")
    assert {(row["scene"], row["data"]) for row in rows} == {("venus", "built-in scene")}
    for row in rows[1:]:
        shares = [float(row[f"skipped_{region}"]) for region in ("1x1", "8x8", "8x32", "32x32")]
        assert shares == sorted(shares, reverse=True)
    refused = invoke("figure-4.15", "--scene", "teddy", "-o", tmp_path)
    assert (refused.exit_code, refused.stderr.count("\n")) == (2, 1)
    assert "this figure takes those of motion" in refused.stderr


def segmented(directory, truth_shape=(24, 32)):
    """bsds/images/bars.jpg, bright and dark halves, and one segmentation of it."""
    halves = np.repeat([[40, 200]], 16, 1).repeat(24, 0).astype(np.uint8)
    noisy = (halves + np.random.default_rng(0).integers(-30, 30, halves.shape)).astype(np.uint8)
    truth = np.resize(1 + (halves > 99), truth_shape).astype(np.uint8)
    for folder, name, values in (("images", "bars.jpg", noisy), ("labels", "bars_0.png", truth)):
        (directory / "bsds" / folder).mkdir(parents=True)
        Image.fromarray(values).save(directory / "bsds" / folder / name)
    return directory


def test_segmentations_come_from_the_directory(tmp_path):
    result = invoke("figure-4.17", "--data", segmented(tmp_path), "--iterations", 40, "-o", tmp_path / "out")
    assert result.exit_code == 0, result.output
    rows = table(tmp_path / "out" / "figure-4.17.csv")
    assert {(row["picture"], row["data"]) for row in rows} == {("bars", "bsds")}
    two = {row["cutoff"]: row for row in rows if row["labels"] == "2"}
    assert set(two) == {"", "2", "4", "8", "16"}
    assert float(two[""]["vi"]) == 0  # two halves, found
    for row in rows:
        if row["cutoff"]:
            shares = [float(row[f"skipped_{region}"]) for region in ("1x1", "8x8", "8x32", "32x32")]
            assert shares == sorted(shares, reverse=True)
    assert float(two["2"]["skipped_1x1"]) > 50


@pytest.mark.parametrize(("harm", "said"), [
    ("size", "bars_0.png is 31x24; its picture is 32x24: give files of one size"),
    ("labels", "bars.jpg has no segmentation by hand: put bars_0.png into"), ("images", "images has no .jpg: put pictures there"),
    ("greys", "bars.jpg has 1 different greys of 6 bits; 8 classes need as many: leave it out"),
    ("nothing", "bars.jpg has no pixel in a segment, in none of bars_0.png and others: leave it out")])
@pytest.mark.parametrize("what", ["figure-4.17", "all"])
def test_broken_segmentations_are_one_line(what, harm, said, tmp_path):
    """Before anything else is computed, too."""
    segmented(tmp_path, (24, 31) if harm == "size" else (24, 32))
    if harm in ("labels", "images"):
        next((tmp_path / "bsds" / harm).iterdir()).unlink()
    if harm == "greys":
        Image.fromarray(np.full((24, 32), 99, np.uint8)).save(tmp_path / "bsds" / "images" / "bars.jpg")
    if harm == "nothing":
        Image.fromarray(np.zeros((24, 32), np.uint8)).save(tmp_path / "bsds" / "labels" / "bars_0.png")
    result = invoke(what, "--data", tmp_path, "--iterations", 4, "-o", tmp_path / "out")
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert said in result.stderr
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("harm", ["size", "missing", "cut"])
def test_broken_pictures_are_one_line(harm, tmp_path):
    small_data(tmp_path, (24, 69) if harm == "size" else (24, 70))
    right = tmp_path / "stereo" / "poster" / "right.png"
    if harm == "missing":
        right.unlink()
    if harm == "cut":
        right.write_bytes(right.read_bytes()[:300])
    result = invoke("figure-4.1", "--data", tmp_path, "--scene", "poster", "--iterations", 4, "-o", tmp_path / "out")
    assert result.exit_code == 2
    assert result.stderr.count("\n") == 1
    said = {"size": "69x24; the first picture is 70x24", "missing": "cannot be read", "cut": "cut off or damaged"}
    assert said[harm] in result.stderr
    assert not (tmp_path / "out").exists()


def test_a_context_checks_its_numbers():
    with pytest.raises(ProblemError, match="chains is 101"):
        Context(chains=101)


def test_the_published_pictures_have_the_printed_sizes(tmp_path):
    result = invoke("table-3.2", "--data", data_directory(), "-o", tmp_path)
    assert result.exit_code == 0, result.output
    rows = table(tmp_path / "table-3.2.csv")
    assert len(rows) == len(SETTINGS)
    for row in rows:
        assert row["size"] == row["our_size"]
        assert float(row["outside_percent"]) < 2.5
        assert (row["labels"] == row["our_labels"]) == (row["scene"] != "art")
