"""The command line: what a run writes, and that every mistake is one line, exit code 2 and no file."""

import dataclasses
import inspect
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from click.testing import CliRunner
from PIL import Image

from mrfhw import __version__, cli
from mrfhw.config import PRESETS, Config, ConfigError
from mrfhw.machine_options import HELP, MESH_FIELDS, NAMES, config_from_options
from mrfhw.model import exact
from mrfhw.problem import Problem, ProblemError, Run, Schedule
from mrfhw.runtime import backends
from mrfhw.runtime.outputs import FILES
from mrfhw.scenes import stereo_scene, write_scene

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
    return invoke(*arguments(pictures, "--backend", "float", "--sweeps", 6, "--burn-in", 2, "-o", output, *more,
                             **files))


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
    assert sorted(path.name for path in out.iterdir()) == sorted(FILES)
    with np.load(out / "histogram.npz") as archive:
        assert archive["counts"].shape == (24, 40, LABELS)
        assert (archive["counts"].sum(-1) == 4).all()
    report = json.loads((out / "report.json").read_text())
    assert report["label_evaluations"] == 24 * 40 * LABELS * 6
    assert report["cycles"] is None
    assert 0 <= report["metrics"]["bad_2"] <= report["metrics"]["bad_1"] <= 100
    assert report["settings"]["sweeps"] == 6
    assert report["settings"]["machine"]["mesh_rows"] == 4


def test_a_run_is_the_library_and_depends_on_the_seed(pictures, tmp_path):
    scene = stereo_scene(24, 40, LABELS, 1)
    from mrfhw.apps.stereo import stereo_problem

    problem = stereo_problem(scene.left >> 2, scene.right >> 2, labels=LABELS)
    expected = exact.solve(problem, Run(sweeps=6, burn_in=2, seed=5), config=Config())
    for seed, same in ((5, True), (6, False)):
        assert run(pictures, tmp_path / str(seed), "--seed", seed).exit_code == 0
        last = np.load(tmp_path / str(seed) / "last.npy")
        assert np.array_equal(last, expected.last) == same


def test_options_reach_the_problem(pictures, monkeypatch):
    options = ("--alpha", 2, "--beta", 9, "--tau", 5, "--temperature", 4.5, "--singleton", "squared", "--doubleton",
               "potts", "--out-of-range", 33, "--energy-shift", 1, "--min-disparity", 2, "--window", "3,2,20,10",
               "--initial", "minimum", "--mesh", "2x3", "--tile-rows", 8, "--tile-cols", 12, "--spus", 1)
    seen = []
    monkeypatch.setattr(cli, "solve_with_bar", lambda backend, job: seen.append((backend, job)) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        CliRunner().invoke(cli.main, [str(a) for a in arguments(pictures, *options, "-o", "x")], catch_exceptions=False)
    backend, job = seen[0]
    scene = stereo_scene(24, 40, LABELS, 1)
    problem: Problem = job.problem
    assert backend == "model"
    assert (problem.alpha, problem.beta, problem.tau, problem.schedule) == (2, 9, 5, Schedule.constant(4.5))
    assert (problem.singleton, problem.doubleton) == ("squared", "potts")
    assert (problem.out_of_range, problem.energy_shift) == (33, 1)
    assert np.array_equal(problem.offsets, [[0, -(2 + label)] for label in range(LABELS)])
    assert np.array_equal(problem.singleton1, scene.left[2:12, 3:23] >> 2)
    assert np.array_equal(problem.singleton2, scene.right[2:12, 3:23] >> 2)
    assert (job.run.sweeps, job.run.burn_in, job.run.initial) == (200, 100, "minimum")
    assert job.config == Config(mesh_rows=2, mesh_cols=3, tile_rows=8, tile_cols=12, spus=1)


def test_defaults_are_the_librarys():
    from mrfhw.apps.stereo import stereo_problem

    library = {name: p.default for name, p in inspect.signature(stereo_problem).parameters.items()}
    stereo = cli.main.get_command(None, "run").get_command(None, "stereo")
    options = {p.name: p.default for p in stereo.params}
    for name in ("alpha", "beta", "tau", "temperature", "singleton", "doubleton", "out_of_range", "energy_shift",
                 "min_disparity"):
        assert options[name] == library[name], name


@pytest.mark.parametrize(("options", "message"), [
    (("--temperature", "nan"), "temperature is nan"), (("--temperature", 0), "temperature is 0"),
    (("--temperature", -1), "temperature is -1"), (("--temperature", "inf"), "temperature is inf"),
    (("--temperature", 0.001), "this machine realizes"), (("--temperature", "warm"), "'warm' is not a valid float"),
    (("--sweeps", 0), "sweeps is 0"), (("--sweeps", 2), "burn_in is 2"), (("--burn-in", -1), "burn_in is -1"),
    (("--sweeps", "many"), "'many' is not a valid integer"), (("--seed", -1), "seed is -1"),
    (("--labels", 1), "labels is 1"), (("--labels", 65), "labels is 65"), (("--labels", 0), "labels is 0"),
    (("--label-bits", 2), "label_bits = 2"), (("--min-disparity", 40), "min-disparity is 40"),
    (("--spes", 0), "spes is 0"), (("--mesh", "0x4"), "mesh_rows is 0"), (("--mesh", "4"), "'4' is not a mesh"),
    (("--mesh", "2x2", "--spes", 5), "they differ"), (("--spus", 3), "spus is 3"),
    (("--tile-cols", 6), "tile_cols is 6"), (("--tile-rows", 7), "tile_rows is 7"),
    (("--tile-rows", 0), "tile_rows is 0"), (("--tile-rows", 1024, "--tile-cols", 1024), "1048576 sites"),
    (("--preset", "huge"), "preset is 'huge'"), (("--sampler", "guess"), "sampler is 'guess'"),
    (("--backend", "abacus"), "backend is 'abacus'"), (("--initial", "best"), "initial is 'best'"),
    (("--alpha", -1), "alpha is -1"), (("--beta", 256), "beta is 256"), (("--beta", "nan"), "not a valid integer"),
    (("--tau", -1), "tau is -1"), (("--out-of-range", -1), "out_of_range is -1"),
    (("--energy-shift", 16), "energy_shift is 16"), (("--singleton", "cubic"), "singleton is 'cubic'"),
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


@pytest.mark.parametrize(("files", "message"), [
    ({"right": "small.png"}, "the right image is 40x23; the left image is 40x24"),
    ({"left": "none.png"}, "No such file"), ({"left": "."}, "Is a directory"), ({"right": "cut.png"}, "cut off"),
    ({"left": "text.png"}, "not an image"),
])
def test_wrong_pictures(pictures, tmp_path, files, message):
    assert_refused(run(pictures, tmp_path / "out", **files), message, tmp_path)


@pytest.mark.parametrize(("truth", "options", "message"), [
    ("small.png", (), "the truth image is 40x23"), ("cut.png", (), "cut off"),
    ("disparity.png", ("--truth-scale", 0), "truth-scale is 0"),
    ("disparity.png", ("--truth-scale", "nan"), "truth-scale is nan"),
])
def test_wrong_truth(pictures, tmp_path, truth, options, message):
    assert_refused(run(pictures, tmp_path / "out", "--truth", pictures / truth, *options), message, tmp_path)


def test_an_image_too_large_for_the_tiles(pictures, tmp_path):
    small = ("--spes", 1, "--tile-rows", 16, "--tile-cols", 16)
    result = run(pictures, tmp_path / "out", *small, "--backend", "model")
    assert_refused(result, "the image is 40x24; a 1x1 mesh of tiles of 16x16 sites takes 16x16", tmp_path)
    assert run(pictures, tmp_path / "out", *small).exit_code == 0


@pytest.mark.parametrize("command", [("run", "stereo"), ("run", "stereo", "a.png"), ("run", "stereo", "a", "b"),
                                     ("walk",), ("run", "walk"), ("verify", "stereo"), ("demo-scene",)])
def test_what_is_missing(tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    assert_refused(invoke(*command), "--help", tmp_path)


def test_output_that_cannot_be_written(pictures, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("mine")
    monkeypatch.setattr(cli, "solve_with_bar", lambda backend, job: 1 / 0)  # refused before the work, not after it
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

    monkeypatch.setattr(exact, "solve", full)
    assert_refused(run(pictures, tmp_path / "out"), "memory", tmp_path)


@pytest.mark.parametrize(("options", "schedule"), [
    ({}, Schedule.constant(8.0)),
    ({"final_temperature": 2.0, "cooling_ratio": 0.5}, Schedule.geometric(8.0, 0.5, 2.0)),
    ({"final_temperature": 2.0}, Schedule.geometric(8.0, 0.25 ** (1 / 20), 2.0)),
    ({"final_temperature": 2.0, "burn_in": 0}, Schedule.geometric(8.0, 0.25 ** (1 / 49), 2.0)),
    ({"final_temperature": 2.0, "burn_in": 0, "sweeps": 1}, Schedule.geometric(8.0, 0.25, 2.0)),
    ({"cooling_table": "9, 3,1.5", "cooling_stride": 4}, Schedule.of_table((9.0, 3.0, 1.5), 4)),
])
def test_schedules(options, schedule):
    built = cli.schedule_from_options(**{**{
        "sweeps": 50, "burn_in": 20, "temperature": 8.0, "final_temperature": None, "cooling_ratio": None,
        "cooling_table": None, "cooling_stride": 1}, **options})
    assert built == schedule


def fake_backends(monkeypatch, change=None):
    """rtl and model by the float sampler, named as they are; rtl's last sample is changed where asked."""

    def solve(backend, config, problem, run, progress=None):
        result = exact.solve(problem, run, config=config, progress=progress)
        result = dataclasses.replace(result, backend=backend, messages=np.zeros((5, 3), np.int64), cycles=77, lanes=32,
                                     stall_cycles=0)
        if backend == "rtl" and change:
            result.last[change] ^= 1
        return result

    monkeypatch.setattr(backends, "solve", solve)


def test_verify_says_equal(pictures, tmp_path, monkeypatch):
    fake_backends(monkeypatch)
    result = invoke(*arguments(pictures, "--sweeps", 4, "--burn-in", 1, command="verify"))
    assert result.exit_code == 0, result.output
    first, second = result.stdout.splitlines()
    assert first == ("equal: rtl and model have the same labels at 960 sites, the same histogram of 2880 "
                     "samples, the same LMem, 5 log messages and 77 cycles")
    assert second.endswith("the histogram of 960 of 960 unclamped sites sums to the 3 counted sweeps")
    out = tmp_path / "out"
    result = invoke(*arguments(pictures, "--sweeps", 4, "--burn-in", 1, "-o", out, command="verify"))
    assert json.loads((out / "report.json").read_text())["backend"] == "rtl"
    assert "77 cycles, utilization" in result.stdout


def test_verify_says_where_they_differ(pictures, monkeypatch):
    fake_backends(monkeypatch, change=(3, 7))
    result = invoke(*arguments(pictures, "--sweeps", 4, "--burn-in", 1, command="verify"))
    assert result.exit_code == 1
    assert "different: rtl and model differ first in the last sample at (3, 7)" in result.stdout


def test_backends_are_called_as_agreed(monkeypatch):
    calls = []

    class Module:
        @staticmethod
        def solve(*arguments, **options):
            calls.append((arguments, options))

    monkeypatch.setattr(backends.importlib, "import_module", lambda name: calls.append(name) or Module)
    problem = Problem(labels=2, singleton1=np.zeros((4, 4), int), constants=np.array([0, 1]))
    config, length = Config(), Run(sweeps=1)
    for backend in ("float", "model", "rtl"):
        backends.solve(backend, config, problem, length, print)
    assert calls == [
        "mrfhw.model.exact", ((problem, length), {"config": config, "progress": print}),
        "mrfhw.model.machine", ((config, problem, length), {"progress": print}),
        "mrfhw.sim.chip", ((config, problem, length), {"progress": print})]
    with pytest.raises(ProblemError, match="abacus"):
        backends.solve("abacus", config, problem, length)


def test_every_field_of_a_machine_has_an_option():
    fields = {field.name for field in dataclasses.fields(Config)}
    assert set(NAMES) == fields - set(MESH_FIELDS) | {"preset", "spes", "mesh"}
    assert set(HELP) == fields - set(MESH_FIELDS)


@pytest.mark.parametrize("preset", PRESETS)
def test_presets_and_their_changes(preset):
    assert config_from_options(preset=preset, spes=None, spus=None) == Config.preset(preset)
    changed = config_from_options(preset=preset, spes=6, hub_depth=9)
    assert changed == Config.preset(preset, mesh_rows=2, mesh_cols=3, hub_depth=9)
    assert config_from_options(preset=preset, spes=6, mesh=(6, 1)).mesh_cols == 1
    with pytest.raises(ConfigError, match="differ"):
        config_from_options(preset=preset, spes=6, mesh=(2, 2))


def test_demo_scene_can_be_solved(tmp_path):
    result = invoke("demo-scene", "--rows", 24, "--cols", 40, "--labels", 8, "-o", tmp_path / "scene")
    assert result.exit_code == 0, result.output
    command = result.stdout.split("mrfhw ", 1)[1].replace("-o DIR", f"-o {tmp_path / 'out'}").split()
    solved = invoke(*command, "--backend", "float", "--sweeps", 30, "--burn-in", 15)
    assert solved.exit_code == 0, solved.output
    assert (tmp_path / "out" / "estimate.png").is_file()


def test_demo_scene_refuses(tmp_path):
    assert_refused(invoke("demo-scene", "--rows", 3, "-o", tmp_path / "scene"), "16x16", tmp_path)


@pytest.mark.parametrize("command", [(), ("run",), ("run", "stereo"), ("verify", "stereo"), ("demo-scene",)])
def test_help(command):
    result = invoke(*command, "--help")
    assert result.exit_code == 0
    assert "Usage: mrfhw" in result.stdout


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


def test_a_bar_appears_after_two_seconds(monkeypatch, capsys):
    bars = []
    real = cli.tqdm
    monkeypatch.setattr(cli, "tqdm", lambda **options: bars.append(real(**options)) or bars[-1])
    monkeypatch.setattr(backends, "solve", lambda *arguments: [arguments[-1](n) for n in (1, 2, 5)])
    options = {"sweeps": 5, "burn_in": 1}
    job = cli.StereoJob(config=Config(), problem=Problem(labels=2, singleton1=np.zeros((2, 2), int),
                                                         constants=np.array([0, 1])),
                        run=Run(**options), min_disparity=0, truth=None, settings={})
    cli.solve_with_bar("float", job)
    assert (bars[0].n, bars[0].total, bars[0].delay) == (5, 5, 2)
    assert capsys.readouterr().err == ""
