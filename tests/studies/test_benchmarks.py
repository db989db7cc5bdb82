"""Benchmarks that need no peer: the search over parameters, and the table of stereo with the peers that there are."""

import csv
import importlib
import importlib.util
import os
import re
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from mrfhw.applications.field.job import APPLICATION
from mrfhw.jobs.registry import application
from mrfhw.pictures.flow import read_flow
from mrfhw.runs.first import prepared
from mrfhw.scenes import stereo_scene, write_scene
from mrfhw.twin.machine import solve
from support.slow_chains import MOST, RUN, SLOW

INTERVALS_DISPARITIES = pytest.mark.claim("applications",
    "intervals of disparities are those of the histogram as a density; the shares of doubt are found by likelihood, of scenes that"
    " can be named")
ONE_ANSWER = pytest.mark.claim("applications",
    "files, pictures, measures and Python have one answer, which was chosen by its errors on scenes that can be named")
INTERVALS_MOTIONS = pytest.mark.claim("applications",
    "intervals of motions are those of the fit's deviation and of a share of the picture's motion, found on scenes that can be "
    "named")

ROOT = Path(__file__).parents[2]


def run(*words, cwd):
    return subprocess.run([sys.executable, "-m", f"studies.{words[0].removesuffix('.py')}", *words[1:]], cwd=cwd,
                          capture_output=True, text=True, timeout=300, env=os.environ | {"PYTHONPATH": str(ROOT)})


@pytest.fixture
def search(monkeypatch):
        return importlib.import_module("studies.search")


@pytest.mark.slow
@pytest.mark.parametrize(("verb", "constant"), [
    ("stereo", "contrast.edge 0"), ("motion", "contrast.edge 0"),
    pytest.param("segment", "least_segment 100", marks=pytest.mark.long)])
def test_search_prints_every_try_and_the_choice_once_held_back(verb, constant, tmp_path):
    done = run("search.py", verb, "--quick", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    head, *tries = done.stdout.split("chosen: ")[0].splitlines()
    chosen, held_back, *shown = done.stdout.split("chosen: ")[1].splitlines()
    assert head.split() == [{"stereo": "bad_1", "motion": "epe", "segment": "vi"}[verb], "covered", "of", "1", "2"]
    rows = [re.fullmatch(r"([*< ]) +([\d.]+) +([\d.]+|-)  ([\d. ]+)  (\S.*)", line) for line in tries]
    assert all(rows), tries
    assert rows[0][1] == "*"
    assert rows[0][5] == "defaults"
    assert any("--temperature" in row[5] for row in rows)
    assert any(constant in row[5] for row in rows)
    best = [row for row in rows if row[1] == "*"]
    assert [float(row[2]) for row in best] == sorted((float(row[2]) for row in best), reverse=True)
    assert chosen == best[-1][5]
    assert held_back == "held back: 3"
    assert [line.split("  ")[-1] for line in shown] == list(dict.fromkeys(["defaults", chosen]))


@pytest.mark.slow
def test_search_of_the_parameters_that_are_asked_for(tmp_path):
    done = run("search.py", "stereo", "--quick", "--parameters", "stiffness", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    tries = done.stdout.splitlines()[1:3]
    assert tries[0].endswith("defaults")
    assert tries[1].endswith("stiffness 1")


@pytest.mark.slow
def test_other_numbers_make_another_field_and_widen_the_machine(search, tmp_path):
    write_scene(stereo_scene(24, 40, 8, 0), tmp_path)

    def field(values):
        """With these numbers, without its last run."""
        app = search.tuned("stereo", values)
        words = [str(tmp_path / "left.png"), str(tmp_path / "right.png"), "--labels", "8"]
        job = importlib.import_module("studies.scene_jobs").job_of(app, words)
        return app.tuned, job.config, job.first.then([solve(job.config, *run) for run in job.first.runs])["problem"]

    before = application("stereo").tuned
    numbers, config, problem = field({"contrast.smooth": 4, "one_way.tau": 3, "one_way.temperature": 1.1, "singleton_max": 6})
    assert numbers.needs["edge_bits"] == 3
    assert numbers.one_way == {**before.one_way, "tau": 3, "temperature": 1.1}
    assert (config.edge_bits, problem.edges.max(), problem.singleton_max) == (3, 4, 6)
    assert application("stereo").tuned is before
    _, config, problem = field({})
    assert (config.edge_bits, problem.edges.max(), problem.singleton_max) == (2, 2, before.singleton_max)


def test_defaults_are_those_of_the_application(search):
    for verb, space in search.SPACES.items():
        found = search.defaults(verb, list(space.values))
        assert all(value in space.values[name] for name, value in found.items()), found


@pytest.mark.slow
@pytest.mark.parametrize(("words", "said"), [
    (("--data", "."), "scenes is missing"),
    (("--data", ".", "--scenes", "moon"), "scenes has moon, whose scale is not known"),
    (("--data", ".", "--scenes", "moon:4"), "left.png is missing"),
    (("--data", ".", "--scenes", "moon:x"), "scale is 'x'; it is the grey value"),
    (("--scenes", "1,2", "--held-back", "2"), "held-back has 2"),
    (("--scenes", "teddy"), "scenes has a name that is no seed"),
    (("--parameters", "stiffness,tau"), "parameters has tau; stereo has --temperature, --tau, "),
])
def test_mistakes_are_one_line(words, said, tmp_path):
    done = run("search.py", "stereo", *words, cwd=tmp_path)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.count("\n") == 1
    assert said in done.stderr


@pytest.mark.slow
def test_stereo_table_has_our_rows_and_those_of_the_peers_that_there_are(tmp_path):
    done = run("stereo_peer.py", "--size", "48", "64", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    ours = [line for line in lines if line.split()[:2] in (["built-in", "mrfhw"], ["built-in", "mrfhw,"])]
    assert len(ours) == 2
    for module, row in (("cv2", "SGBM, filled"), ("gco", "gco, alpha-expansion"), ("thrml", "thrml, 2 chains")):
        assert any(line.startswith(f"{module} is skipped") for line in lines) != any(row in line for line in lines)


@pytest.mark.slow
def test_stereo_table_of_chosen_peers_and_its_means(tmp_path):
    """Two built-in scenes as published ones: a row for each and the mean, and no word of peers that were not asked for."""
    for seed, name in enumerate(("one", "two")):
        folder = tmp_path / "data" / "stereo" / name
        left, right, truth = write_scene(stereo_scene(48, 64, 8, seed), folder)
        truth.rename(folder / "disp_left.png")
        assert {left.name, right.name} == {"left.png", "right.png"}
    words = ("--data", "data", "--scenes", "one:2048,two:2048", "--backend", "cpu", "--peers", "cv2")
    done = run("stereo_peer.py", *words, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "gco" not in done.stdout
    rows = [line.split() for line in done.stdout.splitlines() if " mrfhw  " in line]
    assert [row[0] for row in rows] == ["one:2048", "two:2048", "mean"]
    assert float(rows[2][4]) == pytest.approx((float(rows[0][2]) + float(rows[1][2])) / 2, abs=0.02)
    wrong = run("stereo_peer.py", "--peers", "sgbm", cwd=tmp_path)
    assert wrong.returncode == 2
    assert wrong.stderr.splitlines() == ["Error: peers has sgbm; they are cv2, gco, thrml: give some of these"]


@pytest.mark.slow
@pytest.mark.parametrize(("machines", "says"), [
    ("x", "'x' is no LANES:SLOTS: give such as 16:0,2:4"), ("4:4,2:4:1", "'2:4:1' is no LANES:SLOTS: give such as 16:0,2:4"),
    ("3:0", "lanes is 3; it must be one of 1, 2, 4, 8, 16: choose one"),
])
def test_a_wrong_list_of_machines_is_one_line(machines, says, tmp_path):
    done = run("tiles.py", "--machines", machines, cwd=tmp_path)
    assert done.returncode == 2
    assert says in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert done.stdout == ""


@pytest.mark.slow
def test_wide_counters_send_less_than_raw_labels(tmp_path):
    done = run("log_rate.py", "--scenes", "teddy,Venus-210x190", "--counter-bits", "1,8", "--sweeps", "40", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = [line.split(",") for line in done.stdout.splitlines()[1:]]
    assert [line[0] for line in lines] == 2 * ["teddy"] + 2 * ["Venus-210x190"]
    for narrow, wide in (lines[:2], lines[2:]):
        assert 1 >= float(narrow[2]) > 2 * float(wide[2]) > 0
        assert float(wide[-1]) > 1 > float(narrow[-1])


@pytest.mark.slow
def test_annealed_chains_count_what_they_evaluate(tmp_path):
    done = run("annealing.py", "--scenes", "Venus-210x190", "--sweeps", "6,12", "--seeds", "1", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    made = {(line.split(",")[1], int(line.split(",")[2])): float(line.split(",")[-1]) for line in
            (row.replace("events, C", "events C") for row in done.stdout.splitlines()[1:])}
    labels = 49
    for sweeps in (6, 12):
        assert made["plain", sweeps] == sweeps
        assert made["subsets of 6", sweeps] == pytest.approx(6 / labels * sweeps, abs=0.06)
        assert 0 < made["events C = 4", sweeps] < made["events C = 16", sweeps] < sweeps
    wrong = run("annealing.py", "--sweeps", "3", cwd=tmp_path)
    assert (wrong.returncode, wrong.stdout, wrong.stderr.count("\n")) == (2, "", 1)
    assert "sweeps is '3'; it is a list of lengths of 4 sweeps or more" in wrong.stderr


@pytest.mark.slow
@pytest.mark.parametrize(("words", "says"), [
    (("--counter-bits", "1;8"), "'1;8' is no list of widths: give such as 1,4,8"),
    (("--scenes", "nonsense"), "scenes has 'nonsense'; a built-in scene stands in for teddy,"), (("--sweeps", "1"), "x>=4")])
def test_wrong_words_of_the_logs_rate_are_one_line(words, says, tmp_path):
    done = run("log_rate.py", *words, cwd=tmp_path)
    assert (done.returncode, done.stdout, done.stderr.count("\n")) == (2, "", 1)
    assert says in done.stderr


@INTERVALS_DISPARITIES
def test_the_doubt_of_most_likelihood_is_the_share_of_pixels_that_have_any_label(monkeypatch, tmp_path):
    """Of truths drawn from it: 20,000 of each kind, whose estimate lies within 0.03: a deviation is less than 0.004."""
    doubt = importlib.import_module("studies.doubt")
    write_scene(stereo_scene(100, 400, 16, 0), tmp_path)
    job = doubt.job_of("stereo", [str(tmp_path / f"{name}.png") for name in ("left", "right")] + [
        "--labels", "16", "--min-disparity", "1", "--truth", str(tmp_path / "disparity.png"), "--truth-scale", "2048"])
    rng = np.random.default_rng(3)
    seen, label = rng.integers(0, 2, (100, 400)).astype(bool), rng.integers(0, 16, (100, 400))
    anything = rng.random((100, 400)) < np.where(seen, 0.25, 0.6)
    truth = doubt.stereo.StereoTruth(np.where(anything, rng.integers(0, 16, (100, 400)), label) + 1.0, 1)
    job = doubt.dataclasses.replace(job, truth=truth, maps={"occluded": np.ones((100, 400), bool)},
                                    problem=doubt.dataclasses.replace(job.problem, observed=seen))
    counts = np.where(np.arange(16) == label[..., None], 18, 0) + np.where(np.arange(16) == (label[..., None] + 1) % 16, 2, 0)
    found = doubt.likeliest([doubt.logarithms(job, doubt.Solution(results=[], total=counts))])
    # One in ten samples is a label that only truths of "any" have, so that a little less is put down to those.
    assert found["DOUBT"] == pytest.approx(0.25, abs=0.03)
    assert found["DOUBT_OUTSIDE"] == pytest.approx(0.6, abs=0.03)


def test_the_doubt_of_motions(monkeypatch, tmp_path):
    """The labels of true motions along both axes; pixels of unknown truth say nothing."""
    doubt = importlib.import_module("studies.doubt")
    words = importlib.import_module("studies.scene_jobs").built_in("motion", tmp_path, 1, 40, 60)
    job = prepared("cpu", doubt.job_of("motion", [*words, "--vectors", "9x13"]))
    true, values = job.truth.picture, job.scale.values
    assert np.array_equal(values[doubt.true_labels(job)], np.rint(true).clip(values.min(0), values.max(0)))
    hidden, rng = job.maps["occluded"], np.random.default_rng(2)
    unknown = hidden & (rng.random(hidden.shape) < 0.5)
    true[unknown] = np.nan
    counts = rng.integers(1, 9, (*hidden.shape, len(values)))
    found = doubt.logarithms(job, doubt.Solution(results=[], total=counts))["DOUBT"]
    counts[unknown] = 1
    assert np.array_equal(doubt.logarithms(job, doubt.Solution(results=[], total=counts))["DOUBT"], found)
    counts[hidden & ~unknown, 0] = 99
    assert not np.array_equal(doubt.logarithms(job, doubt.Solution(results=[], total=counts))["DOUBT"], found)


@pytest.mark.slow
@INTERVALS_DISPARITIES
def test_doubts_by_scene_and_together(tmp_path):
    done = run("doubt.py", "--scenes", "1", "--held-back", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    head, own, held_back, together = (line.split(",") for line in done.stdout.splitlines())
    assert head[2:4] == ["DOUBT", "DOUBT_OUTSIDE"]
    assert own[2:4] == together[2:4]
    assert (held_back[0], held_back[1]) == ("2", "held back")
    assert all(50 < float(share) < 100 for share in (*own[4:], *held_back[4:]))


@pytest.mark.slow
@ONE_ANSWER
def test_the_answer_is_the_candidate_of_least_errors(tmp_path):
    """By the built-in scene of seed 1; that of seed 2 is held back."""
    done = run("candidates.py", "--scenes", "1", "--held-back", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    head, *rows = csv.reader(done.stdout.splitlines())
    assert head == ["scene", "part", "truth", "answer", "bad_0.5", "bad_1", "bad_2", "epe"]
    for part in ("chosen on", "held back"):
        together = {row[3]: float(row[-1]) for row in rows if row[:2] == ["together", part]}
        assert together["mode"] == 1
        assert min(together, key=together.get) == "the same, to halves"


@pytest.mark.slow
@ONE_ANSWER
def test_the_table_of_answers(monkeypatch):
    answers = importlib.import_module("studies.answers")
    monkeypatch.setattr(answers, "SIZE", (96, 128))
    found = CliRunner().invoke(answers.main, ["--scenes", "1", "--held-back", "2"])
    assert found.exit_code == 0, found.output
    head, *rows = csv.reader(found.stdout.splitlines())
    assert head == [*answers.COLUMNS]
    named = {(row[0], row[1], row[2]): dict(zip(head[3:], row[3:], strict=True)) for row in rows}
    for scene, part in (("1", "chosen on"), ("2", "held back"), ("mean", "held back")):
        shared, alone = named[scene, part, "mrfhw"], named[scene, part, "mrfhw, alone"]
        assert float(shared["error"]) < float(alone["error"])
        assert float(shared["auroc"]) > 0.8
        assert alone["held_50"] == ""
        assert 40 < float(shared["held_50"]) < float(shared["held_90"]) < 100
    others = [row for row in rows if row[2].startswith("SGBM of eight paths")]
    assert bool(others) == (importlib.util.find_spec("cv2") is not None)
    assert all(float(row[head.index("seen_bad_2")]) < 40 for row in others)


@pytest.mark.slow
def test_colours_by_channel_and_by_planes(tmp_path):
    """Of a picture whose channels are much alike, planes of brightness and colour are better."""
    grey = stereo_scene(48, 64, 8, seed=1).left.astype(int)
    Image.fromarray(np.stack([grey, grey * 3 // 4 + 20, grey // 2 + 60], -1).astype(np.uint8)).save(tmp_path / "picture.png")
    done = run("colours.py", "picture.png", "--noise", "25", "--sweeps", "20", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    head, row, mean = csv.reader(done.stdout.splitlines())
    assert head == ["picture", "deviation", "input", "channels", "denoise", "held"]
    assert row[2:] == mean[2:]
    assert float(row[2]) + 1 < float(row[3]) < float(row[4])


@pytest.mark.parametrize(("given", "said"), [
    (["--scenes", "teddy"], "scenes has a name that is no seed; built-in scenes are whole numbers: give --data, or such as 1,2"),
    (["--scenes", "1", "--held-back", "1"], "held-back has 1, on which the choice is made: give others"),
    (["--scenes", ""], "scenes is empty: give what the choice is made on, such as 1,2"),
])
def test_what_a_choice_cannot_be_made_on(monkeypatch, given, said):
    for name in ("answers", "candidates", "doubt", "motion_intervals"):
        done = CliRunner().invoke(importlib.import_module(f"studies.{name}").main, given)
        assert (done.exit_code, done.output) == (2, f"Error: {said}\n")


def test_a_stereo_pair_is_a_motion_scene(monkeypatch, tmp_path):
    scene = stereo_scene(24, 32, 4, seed=1)
    (tmp_path / "stereo" / "pair").mkdir(parents=True)
    _, _, truth = write_scene(scene, tmp_path / "stereo" / "pair")
    truth.rename(truth.with_name("disp_left.png"))
    name = f"pair:{scene.truth_scale}"
    scenes = importlib.import_module("studies.scene_jobs").chosen_on_and_held_back("motion", tmp_path, name, "", tmp_path / "work")
    *frames, _, flow = scenes["chosen on"][name]
    assert frames == [str(tmp_path / "stereo" / "pair" / f"{side}.png") for side in ("left", "right")]
    true = np.where(scene.disparity > 0, -scene.disparity, np.nan)
    assert np.array_equal(read_flow(flow), np.stack([0 * true, true], -1), equal_nan=True)


@pytest.mark.slow
@INTERVALS_MOTIONS
def test_scenes_go_on_where_a_benchmark_shows_what_run_does(monkeypatch):
    solved = importlib.import_module("studies.scene_jobs").solved
    job = replace(APPLICATION.job_of({"file": SLOW}), run=RUN, most_sweeps=MOST)
    assert solved(job, backend="cpu", to_agree=True)[1].longer.sweeps == MOST
    assert solved(job, backend="cpu")[1].longer is None


def test_widths_are_judged_as_reports_judge_them(monkeypatch, tmp_path):
    """With the constant, and hidden pixels' share of doubt."""
    intervals, scenes = importlib.import_module("studies.motion_intervals"), importlib.import_module("studies.scene_jobs")
    words = scenes.built_in("motion", tmp_path, 1, 40, 60)
    job, solution = scenes.solved(scenes.job_of("motion", words), backend="cpu", to_agree=True)
    assert job.doubt.any()
    wanted = scenes.judged(job, solution.counts, solution.last).coverage
    assert intervals.Fitted.of(words, "cpu").covered(intervals.OF_MOTION).mean() == pytest.approx(wanted)


@pytest.mark.slow
@INTERVALS_MOTIONS
def test_widths_of_motions_that_hold_what_they_say(monkeypatch, tmp_path):
    intervals = importlib.import_module("studies.motion_intervals")
    rng = np.random.default_rng(5)
    flow, deviation = rng.normal(0, 1, (120, 160, 2)), rng.uniform(0.02, 0.2, (120, 160, 2))
    # 90 % of a uniform error lie within .9 of its bound, and no other motion was sampled.
    error = rng.uniform(-1, 1, flow.shape) * 1.6449 * np.sqrt(0.03**2 * (flow**2).sum(-1).mean() + deviation**2) / 0.9
    scene = intervals.Fitted(flow + error, flow, deviation, np.stack([flow, flow], -1), np.mgrid[-9:10, -9:10].reshape(2, -1).T)
    assert intervals.nearest([scene]) == 0.03
    assert np.abs(scene.covered(0.03) - 90).max() < 1  # a deviation of the share is 0.2
    done = run("motion_intervals.py", "--scenes", "1", "--held-back", "2", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    _, chosen, held_back, together = (line.split(",") for line in done.stdout.splitlines())
    assert (chosen[:2], held_back[:2]) == (["1", "chosen on"], ["2", "held back"])
    assert chosen[4:7] == [""] * 3  # there is no other scene
    assert held_back[5:7] == held_back[2:4]  # of which all that are chosen on are the others
    assert together[2] == f"OF_MOTION {held_back[4]}"
    assert all(80 < float(share) < 100 for share in (*chosen[2:4], *chosen[7:], *held_back[5:]))


@pytest.mark.slow
def test_verdicts_on_scenes_are_beside_what_a_longer_run_says(monkeypatch):
    verdict = importlib.import_module("studies.verdict")
    monkeypatch.setattr(verdict, "TIMES", 2)
    done = CliRunner().invoke(verdict.main, ["--size", "24", "40"])
    assert done.exit_code == 0, done.output
    head, *rows, last = done.output.splitlines()
    rows = [row.split(",") for row in rows]
    assert {len(row) for row in rows} == {len(head.split(","))} == {9}
    assert [row[2] for row in rows] == ["250", "500", "1000", "200", "400", "800"]
    assert {row[6] for row in rows} <= {*verdict.SAID.values()}
    assert all(0 <= float(row[7]) < 0.2 for row in rows)
    assert last.startswith("built-in: 2 times the sweeps leave ")


@pytest.mark.parametrize(("words", "says"), [
    (["--data", ".", "--scenes", "teddy"], "scenes has teddy, of which"),
    (["--data", ".", "--scenes", "", "--held-back", ""], "scenes and held-back are empty: give some, such as teddy")])
def test_wrong_words_of_verdicts_are_one_line(words, says):
    done = CliRunner().invoke(importlib.import_module("studies.verdict").main, words)
    assert done.exit_code == 2
    assert says in done.output
