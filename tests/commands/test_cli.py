"""The command line: what a run writes, and that every mistake is one line, exit code 2 and no file."""

import dataclasses
import inspect
import json
import os
import shutil
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from mrfhw import __version__, cli
from mrfhw.applications.denoising.field import denoising_problem
from mrfhw.applications.motion.field import motion_problem
from mrfhw.applications.options import schedule_from_options
from mrfhw.applications.segmentation.field import segmentation_problem
from mrfhw.applications.stereo.field import stereo_problem
from mrfhw.backends import plan as backends
from mrfhw.commands import application
from mrfhw.field.problem import Problem, ProblemError, Run, Schedule
from mrfhw.generation.files import manifest
from mrfhw.jobs import registry
from mrfhw.machine.config import PRESETS, Config, ConfigError
from mrfhw.machine.manifest import MESH_FIELDS, NAMES, config_from_options
from mrfhw.report.outputs import FILES
from mrfhw.samplers import exact
from mrfhw.scenes import stereo_scene, write_scene
from mrfhw.twin import paired
from support.boards import board

EVERY_MISTAKE_LINE = pytest.mark.claim("command line", "every mistake is one line with exit code 2 and leaves nothing behind")

LABELS = 8


@pytest.fixture(scope="module")
def pictures(tmp_path_factory):
    directory = tmp_path_factory.mktemp("scene")
    scene = stereo_scene(24, 40, LABELS, 1)
    write_scene(scene, directory)
    Image.fromarray(scene.left[:-1]).save(directory / "small.png")
    (directory / "cut.png").write_bytes((directory / "left.png").read_bytes()[:400])
    (directory / "text.png").write_text("not a picture")
    return directory


def invoke(*arguments):
    return CliRunner().invoke(cli.main, [str(argument) for argument in arguments], prog_name="mrfhw")


def arguments(pictures, *more, command="run", left="left.png", right="right.png", labels=LABELS):
    return (command, "stereo", pictures / left, pictures / right, "--labels", labels, *more)


def run(pictures, output, *more, **files):
    return invoke(*arguments(pictures, "--backend", "float", "--sweeps", 6, "--burn-in", 2, "--chains", 1, "-o", output,
                             *more, **files))


def assert_refused(result, message, directory):
    assert result.exit_code == 2, result.output
    assert result.stdout == ""
    assert result.stderr.startswith("Error: ")
    assert result.stderr.count("\n") == 1
    assert message in result.stderr
    assert not list(directory.iterdir())


def test_a_run_writes_everything(pictures, tmp_path):
    out = tmp_path / "out"
    result = run(pictures, out, "--truth", pictures / "disparity.png", "--truth-scale", 8192)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    assert "bad 1 px" in result.stdout
    names = {path.name for path in out.iterdir()}
    assert set(FILES) | {"truth.png", "error.png"} <= names
    assert all(name in result.stdout for name in names)
    assert str(out / "report.html") in result.stdout
    with np.load(out / "histogram.npz") as archive:
        assert archive["counts"].shape == (24, 40, LABELS)
        assert (archive["counts"].sum(-1) == 4).all()
    report = json.loads((out / "report.json").read_text())
    assert report["label_evaluations"] == 24 * 40 * LABELS * 6
    assert report["cycles"] is None
    assert 0 <= report["metrics"]["bad_2"] <= report["metrics"]["bad_1"] <= 100
    assert report["settings"]["sweeps"] == 6
    assert report["settings"]["machine"] is None  # of software


def test_a_run_is_the_library_and_depends_on_the_seed(pictures, tmp_path):
    scene = stereo_scene(24, 40, LABELS, 1)

    problem = stereo_problem(scene.left >> 2, scene.right >> 2, labels=LABELS)
    expected = exact.solve(problem, Run(sweeps=6, burn_in=2, seed=5))
    for seed, same in ((5, True), (6, False)):
        assert run(pictures, tmp_path / str(seed), "--seed", seed, "--data", "grey").exit_code == 0
        last = np.load(tmp_path / str(seed) / "last.npy")
        assert np.array_equal(last, expected.last) == same


def test_options_reach_the_problem(pictures, monkeypatch):
    options = ("--alpha", 2, "--beta", 9, "--tau", 5, "--temperature", 4.5, "--singleton", "squared", "--doubleton",
               "potts", "--out-of-range", 33, "--energy-shift", 1, "--min-disparity", 2, "--window", "3,2,20,10",
               "--initial", "minimum", "--mesh", "2x3", "--tile-rows", 8, "--tile-cols", 12, "--spus", 1,
               "--chains", 3, "--visit", 7)
    seen = []
    monkeypatch.setattr(application, "solved", lambda runner: seen.append(runner) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        CliRunner().invoke(cli.main, [str(a) for a in arguments(pictures, *options, "-o", "x")], catch_exceptions=False)
    (request,), job = seen[0].requests, seen[0].prepare()
    scene = stereo_scene(24, 40, LABELS, 1)
    problem: Problem = job.problem
    assert (request.backend, request.chains, request.visit) == ("model", 3, 7)
    assert (problem.alpha, problem.beta, problem.tau, problem.schedule) == (2, 9, 5, Schedule.constant(4.5))
    assert (problem.singleton, problem.doubleton) == ("squared", "potts")
    assert (problem.out_of_range, problem.energy_shift) == (33, 1)
    assert np.array_equal(problem.offsets, [[0, -(2 + label)] for label in range(LABELS)])
    assert np.array_equal(problem.singleton1, scene.left[2:12, 3:23] >> 2)
    assert np.array_equal(problem.singleton2, scene.right[2:12, 3:23] >> 2)
    assert job.scale.values[0] == 2
    assert (job.run.sweeps, job.run.burn_in, job.run.initial) == (500, 250, "minimum")
    assert job.config == Config(mesh_rows=2, mesh_cols=3, tile_rows=8, tile_cols=12, spus=1)


@pytest.mark.tools
@pytest.mark.parametrize(("verb", "problem"), [
    ("stereo", stereo_problem), ("motion", motion_problem), ("segment", segmentation_problem), ("denoise", denoising_problem)])
@pytest.mark.parametrize("group", ["run", "verify"])
def test_defaults_are_the_librarys(group, verb, problem):
    library = {name: p.default for name, p in inspect.signature(problem).parameters.items()}
    command = cli.main.get_command(None, group).get_command(None, verb)
    options, said = {p.name: p.default for p in command.params}, {one.name: one.said for one in registry.application(verb).common}
    for name in ("alpha", "beta", "tau", "singleton", "doubleton", "energy_shift"):
        assert options[name] == (None if said[name] else library[name]), name
    assert options.get("out_of_range") == (None if said.get("out_of_range") else library.get("out_of_range"))


@EVERY_MISTAKE_LINE
@pytest.mark.parametrize(("options", "message"), [
    (("--temperature", "nan"), "temperature is nan"), (("--temperature", 0), "temperature is 0"),
    (("--temperature", -1), "temperature is -1"), (("--temperature", "inf"), "temperature is inf"),
    (("--temperature", 0.001, "--spes", 16), "this machine realizes"), (("--temperature", "warm"), "'warm' is not a valid float"),
    (("--sweeps", 0), "sweeps is 0"), (("--sweeps", 2), "burn_in is 2"),
    (("--chains", 0), "chains is 0"), (("--visit", 0), "visit is 0"), (("--burn-in", -1), "burn_in is -1"),
    (("--sweeps", "many"), "'many' is not a valid integer"), (("--seed", -1), "seed is -1"),
    (("--labels", 1), "labels is 1"), (("--labels", 257), "labels is 257"), (("--labels", 0), "labels is 0"),
    (("--label-bits", 2), "label_bits = 2"), (("--min-disparity", 40), "min-disparity is 40"),
    (("--spes", 0), "spes is 0"), (("--mesh", "0x4"), "mesh_rows is 0"), (("--mesh", "4"), "'4' is not a mesh"),
    (("--mesh", "2x2", "--spes", 5), "they differ"), (("--spus", 3), "spus is 3"),
    (("--tile-cols", 6), "tile_cols is 6"), (("--tile-rows", 7), "tile_rows is 7"),
    (("--tile-rows", 0), "tile_rows is 0"), (("--tile-rows", 1024, "--tile-cols", 1024), "1048576 sites"),
    (("--preset", "huge"), "preset is 'huge'"), (("--sampler", "guess"), "sampler is 'guess'"),
    (("--backend", "abacus"), "backend is 'abacus'"), (("--initial", "best"), "initial is 'best'"),
    (("--alpha", -1), "alpha is -1"), (("--beta", 256, "--spes", 16), "beta is 256"), (("--beta", "nan"), "not a valid integer"),
    (("--tau", -1), "tau is -1"), (("--out-of-range", -1), "out_of_range is -1"),
    (("--energy-shift", 16, "--spes", 16), "energy_shift is 16"), (("--singleton", "cubic"), "singleton is 'cubic'"),
    (("--doubleton", "cubic"), "doubleton is 'cubic'"),
    (("--window", "0,0,41,5"), "window is 0,0,41,5"), (("--window", "0,0,0,5"), "0x5 pixels"),
    (("--window", "left"), "window is 'left'"), (("--window", ""), "window is ''"),
    (("--truth", "none.png"), "none.png cannot be read"), (("--no-such-option",), "--no-such-option"),
    (("--final-temperature", 9), "temperature limit is 9"), (("--final-temperature", "nan"), "temperature is nan"),
    (("--final-temperature", 0), "temperature is 0"), (("--cooling-ratio", 0.9), "give final-temperature"),
    (("--cooling-ratio", 1.5, "--final-temperature", 1), "ratio is 1.5"),
    (("--cooling-table", "8,x"), "cooling-table is '8,x'"), (("--cooling-table", "8,nan"), "temperature is nan"),
    (("--cooling-table", "8,4", "--final-temperature", 1), "drop one"),
    (("--cooling-table", "8,4", "--cooling-stride", 0), "stride is 0"),
    (("--cooling-table", "8,4,2", "--temperature-table", 2), "3 entries"),
])
def test_wrong_options(pictures, tmp_path, options, message):
    assert_refused(run(pictures, tmp_path / "out", *options), message, tmp_path)


@EVERY_MISTAKE_LINE
@pytest.mark.parametrize(("files", "message"), [
    ({"right": "small.png"}, "the right image is 40x23; the left image is 40x24"),
    ({"left": "none.png"}, "No such file"), ({"left": "."}, "Is a directory"), ({"right": "cut.png"}, "cut off"),
    ({"left": "text.png"}, "not an image"),
])
def test_wrong_pictures(pictures, tmp_path, files, message):
    assert_refused(run(pictures, tmp_path / "out", **files), message, tmp_path)


@EVERY_MISTAKE_LINE
@pytest.mark.parametrize(("truth", "options", "message"), [
    ("small.png", (), "the truth image is 40x23"), ("cut.png", (), "cut off"),
    ("disparity.png", ("--truth-scale", 0), "truth-scale is 0"),
    ("disparity.png", ("--truth-scale", "nan"), "truth-scale is nan"),
])
def test_wrong_truth(pictures, tmp_path, truth, options, message):
    assert_refused(run(pictures, tmp_path / "out", "--truth", pictures / truth, *options), message, tmp_path)


def test_an_image_larger_than_the_machine_goes_window_by_window(pictures, tmp_path):
    small = ("--spes", 1, "--tile-rows", 16, "--tile-cols", 16, "--visit", 2)
    result = run(pictures, tmp_path / "out", *small, "--backend", "model")
    assert result.exit_code == 0, result.output
    with np.load(tmp_path / "out" / "histogram.npz") as archive:
        assert (archive["counts"].sum(-1) == 4).all()


@pytest.mark.tools
@pytest.mark.parametrize("command", [("run", "stereo"), ("run", "stereo", "a.png"), ("run", "motion", "a.png"),
                                     ("run", "segment"), ("walk",), ("run", "walk"), ("verify", "denoise"), ("demo-scene",)])
def test_what_is_missing(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    assert_refused(invoke(*command), "--help", tmp_path)


@EVERY_MISTAKE_LINE
def test_output_that_cannot_be_written(pictures, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("mine")
    monkeypatch.setattr(application, "solved", lambda runner: 1 / 0)  # refused before the work, not after it
    for place in ("file", "file/below"):
        result = run(pictures, tmp_path / place)
        assert result.exit_code == 2
        assert "Not a directory" in result.stderr
        assert result.stderr.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_full_disk(pictures, tmp_path, monkeypatch):
    def full(*arguments, **options):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(np, "save", full)
    assert_refused(run(pictures, tmp_path / "out"), "No space left", tmp_path)


def test_out_of_memory(pictures, tmp_path, monkeypatch):
    def full(*arguments, **options):
        raise MemoryError

    monkeypatch.setattr(application, "solved", full)
    assert_refused(run(pictures, tmp_path / "out"), "memory", tmp_path)


@pytest.mark.parametrize(("options", "schedule"), [
    ({}, Schedule.constant(8.0)),
    ({"final_temperature": 2.0, "cooling_ratio": 0.5}, Schedule.geometric(8.0, 0.5, 2.0)),
    ({"final_temperature": 2.0}, Schedule.geometric(8.0, 0.25 ** (1 / 20), 2.0)),
    ({"final_temperature": 2.0, "anneal": True}, Schedule.geometric(8.0, 0.25 ** (1 / 49), 2.0)),
    ({"final_temperature": 2.0, "burn_in": 0}, Schedule.geometric(8.0, 0.25 ** (1 / 49), 2.0)),
    ({"final_temperature": 2.0, "burn_in": 0, "sweeps": 1}, Schedule.geometric(8.0, 0.25, 2.0)),
    ({"cooling_table": "9, 3,1.5", "cooling_stride": 4}, Schedule.of_table((9.0, 3.0, 1.5), 4)),
])
def test_schedules(options, schedule):
    built = schedule_from_options(**{"sweeps": 50, "burn_in": 20, "temperature": 8.0, **options})
    assert built == schedule


def fake_backends(monkeypatch, change=None):
    """rtl and model by the float sampler, named as they are; rtl's last sample is changed where asked."""

    def solve(backend, config, problem, run, progress=None, observe=None, visit=1):
        result = paired.solve(problem, run, config=config, progress=progress)
        result = dataclasses.replace(result, backend=backend, messages=np.zeros((5, 3), np.int64), cycles=77, lanes=32,
                                     stall_cycles=0)
        if backend == "rtl" and change:
            result.last[change] ^= 1
        return result

    monkeypatch.setattr(backends, "solve", solve)


@pytest.mark.tools
def test_verify_says_equal(pictures, tmp_path, monkeypatch):
    fake_backends(monkeypatch)
    result = invoke(*arguments(pictures, "--sweeps", 4, "--burn-in", 1, command="verify"))
    assert result.exit_code == 0, result.output
    first, second = result.stdout.splitlines()
    assert first == ("equal: rtl and model have the same labels at 960 sites, the same histogram of 2880 "
                     "samples, 5 log messages and 77 cycles")
    assert second.endswith("the histogram of 960 of 960 unclamped sites sums to the 3 counted sweeps")
    out = tmp_path / "out"
    result = invoke(*arguments(pictures, "--sweeps", 4, "--burn-in", 1, "-o", out, command="verify"))
    assert json.loads((out / "report.json").read_text())["backend"] == "rtl"
    assert "77 cycles, utilization" in result.stdout


@pytest.mark.tools
def test_verify_says_where_they_differ(pictures, monkeypatch):
    fake_backends(monkeypatch, change=(3, 7))
    result = invoke(*arguments(pictures, "--sweeps", 4, "--burn-in", 1, command="verify"))
    assert result.exit_code == 1
    assert "different: rtl and model differ first in the last sample at (3, 7)" in result.stdout


def test_an_unknown_backend_is_refused():
    problem = Problem(labels=2, singleton1=np.zeros((4, 4), int), constants=np.array([0, 1]))
    with pytest.raises(ProblemError, match="abacus"):
        backends.solve("abacus", Config(), problem, Run(sweeps=1))


def test_every_field_of_a_machine_has_an_option():
    names = [parameter.name for parameter in Config.space()]
    assert {field.name for field in dataclasses.fields(Config)} < set(names)
    assert sorted(NAMES) == sorted({*names, "machine", "preset", "spes", "mesh"} - set(MESH_FIELDS))


@pytest.mark.claim(
    "boards", "a board may be a file outside the package, and is known by its digest where its machine was generated")
def test_a_manifest_stands_for_all_options_of_a_machine(tmp_path):
    config = Config.preset("smallest", label_bits=4, sampler="cdf")
    path = tmp_path / "manifest.json"
    held = manifest(config, {})
    path.write_text(json.dumps(held))
    assert config_from_options(machine=path) == config == config_from_options(machine=config)
    options = ("--preset", "smallest", "--label-bits", 4, "--sampler", "cdf")
    assert invoke("estimate", "--machine", path).stdout == invoke("estimate", *options).stdout
    for changed, message in [
            ("{", "is no manifest of a machine"), ([], "is no manifest"), ({**held, "interface": 1}, "has interface 1"),
            ({**held, "parameters": 3}, "parameters of no machine"),
            ({**held, "parameters": {**held["parameters"], "label_bits": 5}}, "was changed by hand"),
            ({**held, "parameters": {**held["parameters"], "label_bits": 99}}, "label_bits is 99")]:
        path.write_text(changed if isinstance(changed, str) else json.dumps(changed))
        with pytest.raises(ConfigError, match=message):
            config_from_options(machine=path)
    with pytest.raises(ConfigError, match="machine is given, and preset, label_bits too"):
        config_from_options(machine=path, preset="smallest", label_bits=3)


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_and_their_changes(preset):
    assert config_from_options(preset=preset, spes=None, spus=None) == Config.preset(preset)
    changed = config_from_options(preset=preset, spes=6, hub_depth=9)
    assert changed == Config.preset(preset, mesh_rows=2, mesh_cols=3, hub_depth=9)
    assert config_from_options(preset=preset, spes=6, mesh=(6, 1)).mesh_cols == 1
    with pytest.raises(ConfigError, match="differ"):
        config_from_options(preset=preset, spes=6, mesh=(2, 2))


@pytest.mark.claim("model",
    "the processor's sampler is a backend: estimates, states, pictures of any size; it is taken where "
    "nothing of a machine is given")
def test_a_placement_changes_nothing_without_a_machine_and_that_is_said(pictures, tmp_path):
    plain, placed = run(pictures, tmp_path / "plain"), run(pictures, tmp_path / "placed", "--mesh", "2x2", "--tile-rows", 16)
    assert (plain.exit_code, placed.exit_code) == (0, 0), placed.output
    note = "Note: mesh, tile_rows place a field on a machine; backend float has none: backend model takes them"
    assert set(placed.stderr.splitlines()) - set(plain.stderr.splitlines()) == {note}
    labels, same = (np.load(tmp_path / name / "labels.npy") for name in ("plain", "placed"))
    assert np.array_equal(labels, same)


@pytest.mark.parametrize("name", ["stereo", "motion", "segment", "denoise", None])
def test_demo_scene_can_be_solved(tmp_path, name):
    given = () if name is None else (name,)
    result = invoke("demo-scene", *given, "--rows", 24, "--cols", 40, "--labels", 8, "-o", tmp_path / "scene")
    assert result.exit_code == 0, result.output
    command = result.stdout.split("mrfhw ", 1)[1].replace("-o DIR", f"-o {tmp_path / 'out'}").split()
    assert command[1] == (name or "stereo")
    solved = invoke(*command, "--backend", "float", "--sweeps", 6, "--burn-in", 3)
    assert solved.exit_code == 0, solved.output
    assert (tmp_path / "out" / "error.png").is_file()


def test_demo_scene_refuses(tmp_path):
    assert_refused(invoke("demo-scene", "--rows", 3, "-o", tmp_path / "scene"), "16x16", tmp_path)


@pytest.mark.tools
@pytest.mark.parametrize("command", [(), ("run",), *((group, verb) for group in ("run", "verify")
                                                     for verb in registry.names()), *((name,) for name in cli.LAZY)])
def test_help(command):
    result = invoke(*command, "--help")
    assert result.exit_code == 0
    assert "Usage: mrfhw" in result.stdout


@pytest.mark.parametrize(("command", "preset"), [
    ("build", "the board's own"), ("estimate", "default, or with --board the board's own"), ("generate", "default")])
def test_help_says_which_preset_is_changed(command, preset):
    assert f"which states all of it. [default: {preset}] --set" in " ".join(invoke(command, "--help").stdout.split())


@pytest.mark.slow
def test_as_a_program(pictures, tmp_path):
    """The real thing once: exit codes and streams of a process, good and bad."""
    program = [sys.executable, "-W", "error", "-m", "mrfhw"]
    version = subprocess.run([*program, "--version"], capture_output=True, text=True, check=True)
    assert __version__ in version.stdout
    command = [*program, *map(str, arguments(pictures, "--backend", "float", "--sweeps", 4, "--burn-in", 1, "-o",
                                             tmp_path / "out"))]
    good = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (good.returncode, good.stderr) == (0, "")
    assert (tmp_path / "out" / "labels.npy").is_file()
    shutil.rmtree(tmp_path / "out")
    bad = subprocess.run([*command, "--temperature", "nan"], capture_output=True, text=True, check=False)
    assert (bad.returncode, bad.stdout, bad.stderr.count("\n")) == (2, "", 1)
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@EVERY_MISTAKE_LINE
@pytest.mark.parametrize(("name", "locale", "way_out"), [
    ("ä".encode(), "C", "set LC_ALL=C.UTF-8"), (b"\xe4", "C.UTF-8", "rename the file")])
def test_words_that_are_no_text(name, locale, way_out):
    """In a locale without UTF-8, which Python would mend by itself, and in one with it."""
    done = subprocess.run([sys.executable, "-m", "mrfhw", "generate", "-o", name], capture_output=True, text=True, check=False,
                          env={**os.environ, "LC_ALL": locale, "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"})
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.endswith(f"; arguments are text in UTF-8: {way_out}\n")


@pytest.mark.parametrize("terminal", [True, False])
def test_a_bar_appears_on_a_terminal_after_two_seconds(monkeypatch, capsys, terminal):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal)
    bars = []
    real = application.tqdm

    def make(**options):
        bar = real(**options)
        bars.append((bar, bar.disable))
        return bar

    monkeypatch.setattr(application, "tqdm", make)
    with application.Bars("float") as told:
        for done in (1, 2, 5, 8, 10):
            told.sweeps(done, 10)
    (bar, hidden), = bars
    assert hidden is not terminal
    if terminal:
        assert (bar.n, bar.total, bar.delay) == (10, 10, 2)
    assert capsys.readouterr().err == ""


def test_the_report_has_the_command(pictures, tmp_path):
    out = tmp_path / "o u t"
    assert run(pictures, out, "--mesh", "2x3", "--anneal", "--min-disparity", -1).exit_code == 0
    page = (out / "report.html").read_text().replace("&#x27;", "'")
    assert "mrfhw run stereo" in page
    for part in ("--mesh 2x3", "--anneal", "--min-disparity -1", f"-o '{out}'", f"--labels {LABELS}"):
        assert part.replace("-o ", "--output ") in page, part
    assert "--alpha" not in page.split("mrfhw run stereo", 1)[1].split("<", 1)[0]


@pytest.mark.tools
def test_verify_compares_a_board(pictures):
    """A compiled board behind a socket, of a machine that the options state once more."""
    machine = ("--mesh", "1x2", "--spus", 1, "--tile-rows", 32, "--tile-cols", 32)
    given = arguments(pictures, "--sweeps", 3, "--burn-in", 1, "--data", "grey", "--one-way", *machine, command="verify", labels=4)
    with board("tcp://127.0.0.1:0", *map(str, machine)) as found:
        result = invoke(*given, "--backend", found.address)
    assert result.exit_code == 0, result.output
    assert result.stdout.startswith(f"equal: the board at {found.address} and model have the same labels at 960 sites, ")
    assert "log messages; the board took " in result.stdout
    result = invoke(*given, "--backend", "cpu")
    assert result.exit_code == 2
    assert ("backend is 'cpu'; hardware that is compared with the model is rtl, or a board at an address: give one of them"
            in result.output)
