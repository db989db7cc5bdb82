"""Random command lines: an answer or one line, never a traceback, nothing half-written.

Drawn from the program's own commands and options: a line that is right, of which some options are added, changed or left out. What
takes long is stopped once every check before it has passed (`_stop_long_work`).
"""

from __future__ import annotations

import json
import os
import shutil
import signal

import click
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mrfhw import generate
from mrfhw.applications.stereo.field import stereo_problem
from mrfhw.backends.plan import Plan
from mrfhw.cli import MainGroup
from mrfhw.commands import application, board, build, export, plan, size_queues, tune
from mrfhw.field.problem import Run
from mrfhw.generation.files import manifest
from mrfhw.machine.config import Config
from mrfhw.machine.manifest import NAMES
from mrfhw.pictures.flow import write_flow
from mrfhw.scenes import stereo_scene, write_scene
from mrfhw.simulation import compiled
from studies import statistics as statistics_table
from studies.asic import command as asic
from studies.bench import command as bench
from studies.reproduce import command as reproduce
from studies.scaling import command as scaling

pytestmark = pytest.mark.tools

RANDOM_COMMAND_LINES = pytest.mark.claim(
    "command line", "random command lines end with an answer or one line, without a traceback and with nothing half-written")

SECONDS = 120  # of a line on a busy computer; more is a hang
WORTH = 200_000  # label evaluations that are done in earnest, where asked for

# What is not drawn, and why.
SKIPPED = {("batch",): "its lines are those of run, in other processes; what it refuses has test_batch.py",
           **dict.fromkeys((("video", verb) for verb in ("stereo", "motion", "segment", "denoise")),
                           "its frames are those of run, in other processes; what it refuses has test_video.py"),
           ("diagnose",): "all that it takes beside the machine is an address, whose faults test_mistakes.py and link's tests have",
           ("serve",): "it goes on until it is ended; what it refuses has test_service.py",
           ("share",): "it goes on until it is ended; what it refuses has test_shared_board.py",
           **{("submit", name): "its options are those of run, which go to a service; what it refuses has test_service.py"
              for name in ("stereo", "motion", "segment", "denoise", "problem")},
           ("help",): "it takes words alone, which test_options.py has"}

INTEGERS = ["-1", "0", "1", "2", "3", "7", "8", "16", "63", "64", "255", "2147483647", "2147483648", "-2147483649", "4294967296",
            "9223372036854775807", "9223372036854775808", "-9223372036854775809", "18446744073709551615", "18446744073709551616",
            "1" + "0" * 30, "-1" + "0" * 30, "1" + "0" * 400, "9" * 5000]
FLOATS = ["-1", "0", "-0.0", "1", "0.5", "3.5", "12", "255", "1000", "nan", "inf", "-inf", "1e999", "1e308", "1e-308", "5e-324",
          "1e30", "9" * 400]
TEXTS = ["", " ", "\n", "a\nb", "\0", "a\0b", "é€😀", "\udcff", "x" * 5000, "-", "--", "%s%n{}", "nan", "1e5", "0x10", "١٢", "1_0",
         "/dev/null", "missing", "[]", "'\""]
PLACES = ["new", "new/below", "here", "here/deeper/down", "left.png", "left.png/below", "/dev/null", "/proc/none/x", "", "é€", "\0",
          "x" * 300, "a\nb", "\udcff"]
FILES = ["left.png", "right.png", "field.npz", "machine.json", "colour.png", "wide.tiff", "floats.tiff", "flow.flo", "text.png",
         "empty.png",
         "missing.png", ".", "pipe", "/dev/null", "/dev/zero", "/proc/self/mem", "", "\0", "a\nb", "é.png", "\udcff", "x" * 300]
FILE_NAMES = {"as_json", "left", "right", "first", "second", "image", "mask", "truth", "records", "file", "machine", "resume"}
# Words that options of text take, beside wrong ones.
WORDS = {
    "singleton": ["absolute", "squared", "potts"], "doubleton": ["absolute", "squared", "potts"], "initial": ["random", "minimum"],
    "window": ["0,0,8,8", "1,2,20,12", "0,0,0,0", "-1,0,4,4", "0,0,1,1", "0,0,99999999999999999999,1", "0,0,2,2,2", "1e3,0,1,1"],
    "cooling_table": ["8,4,2", "1e999", ",", "8,,4", "1e-320", "4" + ",4" * 300, "-1,4", "99999999999999999999"],
    "means": ["10,80,160", "99999999999999999999,1", "1,2", "0,255", ",", "-5,9", "1" + ",1" * 70, "9" * 5000],
    "vectors": ["3x3", "99999999999999999999x1", "-3x-3", "0x0", "1x1", "2x32", "x", "9" * 5000 + "x1"],
    "centre": ["0,0", "0,-4", "99999999999999999999,0", "4096,0", "-1,-1", ","],
    "mesh": ["1x1", "2x1", "99999999999999999999x1", "0x0", "-1x-1", "64x64", "x", "9" * 5000 + "x1"],
    "preset": ["default", "smallest", "paper-16x1", "icebreaker", "huge"], "sampler": ["race", "cdf"],
    "probability_floor": ["power_of_two", "integer"], "backend": ["float", "model", "rtl", "abacus"],
    "listen": ["pty", "tcp://127.0.0.1:0", "tcp://127.0.0.1:99999", "tcp://[::1", "tcp://:x", "udp://a:1"],
    "boards": ["icebreaker", "ulx3s-85f", "arty-a7-35", "serial:///dev/none", "udp://", "sim://", "none"],
    "name": ["icebreaker", "ulx3s-85f", "arty-a7-35", "tang-nano-9k", "spartan"],
    "kind": ["chip", "axi"], "application": ["stereo", "motion", "segment", "denoise", "video"],
    "what": [*reproduce.FIGURES, "all"],
    "assignments": ["label_bits=8", "lanes=2", "mesh=1x1", "spes=2", "label_bits=" + "9" * 5000, "=", "label_bit=8", "sampler=cdf"],
    "size": ["16x32", "2x2", "0x0", "1x9", "9999999x9999999", "x", "16X16"],
    "job_name": ["stereo", "motion", "denoise", "field.npz"],
    "delay": ["1ms", "0s", "9us", "2s", "1e3ms", "9" * 400 + "ms"], "budget": ["0h", "1s", "2d", "1", "9" * 400 + "h"],
    "fix": ["counter_bits=6", "mesh=1x2", "clock=24", "clock=inf", "words=7", "tile_rows=16", "sampler=cdf", "baud=0", "a=b", "="],
    "estimate": ["mode", "mean", "last"], "store": ["here", "missing", "left.png"],
    "cooling": ["1", "1:0.9", "8,4,2/2", "1e999", ":", "8,4/99999999999999999999", "0", "4" + ",4" * 300],
    "scenes": ["teddy", "venus", "none"], "data": ["here", "missing", "left.png", "\0", ""],
}
# A short line that is right, for each command.
SHORT = ["--sweeps", "4", "--burn-in", "2", "--spes", "1", "--tile-rows", "16", "--tile-cols", "16", "--s2-words", "1024"]
RIGHT = {
    ("bench",): ["--no-measure"], ("board",): ["--preset", "smallest"], ("build",): ["--board", "icebreaker"],
    ("demo-scene",): ["stereo", "--rows", "16", "--cols", "24", "--labels", "5", "-o", "new"],
    ("generate",): ["--preset", "smallest"], ("export",): ["field.npz", "--machine", "machine.json", "-o", "new"],
    ("asic",): [], ("estimate",): ["--preset", "smallest"],
    ("report",): [],
    ("size-queues",): ["--board", "icebreaker", "--sites", "16x32", "--labels", "8"],
    ("tune",): ["--board", "icebreaker", "--sites", "16x32", "--labels", "8"],
    ("reproduce",): ["table-3.2", "--scene", "teddy"], ("scaling",): [], ("statistics",): ["--draws", "1"],
    **{(group, verb): [*given, *SHORT, *(("--clock", "50") if group == "plan" else ())]
       for group in ("plan", "run", "verify") for verb, given in (
        ("stereo", ["left.png", "right.png", "--labels", "5"]), ("motion", ["left.png", "right.png", "--vectors", "3x3"]),
        ("segment", ["left.png"]), ("denoise", ["left.png", "--levels", "8"]),
        ("problem", ["field.npz"]))},
}


STUDIES = {"asic": asic.command, "bench": bench.command, "reproduce": reproduce.command, "scaling": scaling.command,
           "statistics": statistics_table.command}


class Everything(MainGroup):
    """The program's commands, and those of the studies of a checkout."""

    def list_commands(self, ctx):
        return [*super().list_commands(ctx), *STUDIES]

    def get_command(self, ctx, cmd_name):
        return STUDIES.get(cmd_name) or super().get_command(ctx, cmd_name)


main = Everything("mrfhw")


def commands(group=main, path=()):
    context = click.Context(group)
    for name in group.list_commands(context):
        found = group.get_command(context, name)
        if isinstance(found, click.Group):
            yield from commands(found, (*path, name))
        else:
            yield (*path, name), found


COMMANDS = dict(commands())


def values(parameter):
    """Strings for a parameter, right and wrong."""
    if parameter.name in FILE_NAMES:
        return FILES
    if parameter.name in ("output", "measured"):
        return PLACES
    if isinstance(parameter.type, click.types.IntParamType):
        return [*INTEGERS, *TEXTS]
    if isinstance(parameter.type, click.types.FloatParamType):
        return [*FLOATS, *TEXTS]
    return [*WORDS.get(parameter.name, []) * 3, *TEXTS]


@st.composite
def lines(draw):
    """(words of a command line, whether what is short is done in earnest)."""
    path = draw(st.sampled_from(sorted(set(COMMANDS) - set(SKIPPED))))
    words = list(RIGHT[path])
    options = [p for p in COMMANDS[path].params if isinstance(p, click.Option)]
    # The machine's options are many and all checked in one place, so that the command's own come as often.
    own = [option for option in options if option.name not in NAMES] or options
    for option in draw(st.lists(st.one_of(st.sampled_from(own), st.sampled_from(options)), max_size=4)):
        words.append(option.opts[draw(st.integers(0, len(option.opts) - 1))])
        if not option.is_flag:
            words.append(draw(st.sampled_from(values(option))))
    arguments = [p for p in COMMANDS[path].params if isinstance(p, click.Argument)]
    for number, argument in enumerate(arguments):
        if draw(st.integers(0, 3)) == 0:
            words[number:number + 1] = [draw(st.sampled_from(values(argument)))]
    if draw(st.integers(0, 15)) == 0 and words:
        words.pop(draw(st.integers(0, len(words) - 1)))
    return [*path, *words], draw(st.integers(0, 39)) == 0


class Passed(click.exceptions.Exit):
    """Every check before work that takes long has passed."""

    def __init__(self):
        super().__init__(0)


def _stop_long_work(monkeypatch, earnest):
    """Ends at the work: of `run` and `verify` unless it is short and `earnest()`; of the others always."""
    def stop(*given, **named):
        raise Passed

    solved, one = application.solved, application.one_with_bar

    def short(backend, job, chains):
        """Whether it is done in earnest; ends here where it is not, and could be."""
        work = job.problem.sites * job.problem.labels * job.run.sweeps * max(chains, 1)
        if work <= WORTH and backend not in ("rtl",) and "://" not in backend and earnest():
            return True
        Plan.of(backend, job.config, job.problem)
        raise Passed

    def solved_if_short(runner):
        (request,), job = runner.requests, runner.prepare()
        assert short(request.backend, job, job.settings["chains"])
        return solved(runner)

    monkeypatch.setattr(application, "solved", solved_if_short)
    monkeypatch.setattr(application, "one_with_bar", lambda backend, job, visit: short("rtl", job, 1) and one(backend, job, visit))
    monkeypatch.setattr(compiled, "_library", stop)
    monkeypatch.setattr(build.Flow, "files", stop)
    monkeypatch.setattr(generate, "generate", lambda config, top, driver: stop(top.ports(config), top.memory_port(config)))
    monkeypatch.setattr(export, "load_image", stop)
    monkeypatch.setattr(size_queues.LinkQueues, "chosen", stop)
    monkeypatch.setattr(tune.Tuner, "run", stop)
    monkeypatch.setattr(plan, "measured", stop)
    monkeypatch.setattr(statistics_table, "rows", stop)
    monkeypatch.setattr(bench, "measured", stop)
    monkeypatch.setattr(scaling, "measure", stop)
    monkeypatch.setattr(scaling, "sweeps", stop)
    for name in reproduce.FIGURES:
        monkeypatch.setitem(reproduce.FIGURES, name, stop)
    assert board.CompiledBoard  # stops in `_library`


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    directory = tmp_path_factory.mktemp("fuzzed")
    scene = stereo_scene(16, 24, 5)
    write_scene(scene, directory)
    from PIL import Image

    Image.new("RGB", (24, 16)).save(directory / "colour.png")
    Image.fromarray(scene.left.astype(np.int32)).save(directory / "wide.tiff")
    Image.fromarray(scene.left.astype(np.float32)).save(directory / "floats.tiff")
    write_flow(directory / "flow.flo", np.zeros((16, 24, 2)))
    stereo_problem(scene.left >> 2, scene.right >> 2, labels=5).save(directory / "field.npz", Run(sweeps=2, burn_in=1))
    (directory / "text.png").write_text("not a picture")
    (directory / "machine.json").write_text(json.dumps(manifest(Config(), {})))
    (directory / "empty.png").write_bytes(b"")
    (directory / "here").mkdir()
    os.mkfifo(directory / "pipe")
    return directory


def tree(directory):
    return {path: path.lstat().st_mtime_ns for path in directory.rglob("*") if path != directory}


def late(number, frame):
    raise TimeoutError(f"no end within {SECONDS} s")


def invoked(words):
    handler = signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS)
    try:
        return CliRunner().invoke(main, words, prog_name="mrfhw")
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, handler)


@RANDOM_COMMAND_LINES
def test_random_lines(files, monkeypatch, request):
    monkeypatch.chdir(files)
    monkeypatch.setenv("MRFHW_CACHE", str(files.parent))
    now = {"earnest": False}
    _stop_long_work(monkeypatch, lambda: now["earnest"])
    codes = {0: 0, 2: 0}

    @settings(max_examples=request.config.getoption("--command-lines"), deadline=None, derandomize=True, database=None,
              suppress_health_check=list(HealthCheck))
    @given(lines())
    def one(drawn):
        words, now["earnest"] = drawn
        before = tree(files)
        result = invoked(words)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code in codes
        codes[result.exit_code] += 1
        if result.exit_code:
            assert result.stdout == ""
            assert result.stderr.startswith("Error: ")
            assert result.stderr.count("\n") == 1
            assert result.stderr.endswith("\n")
            assert len(result.stderr) < 1000
            assert tree(files) == before
        else:
            for path in sorted(set(tree(files)) - set(before), reverse=True):
                assert not path.name.startswith(".")  # scratch
                path.rmdir() if path.is_dir() else path.unlink()
            before.update(tree(files))

    one()
    assert min(codes.values()) > 0.05 * sum(codes.values()), codes


@RANDOM_COMMAND_LINES
def test_every_command_is_drawn_or_skipped():
    assert set(RIGHT) | set(SKIPPED) == set(COMMANDS)
    assert not set(RIGHT) & set(SKIPPED)


@pytest.mark.parametrize("path", RIGHT, ids=" ".join)
def test_the_right_lines_are_right(files, monkeypatch, path):
    monkeypatch.chdir(files)
    _stop_long_work(monkeypatch, lambda: False)
    result = invoked([*path, *RIGHT[path]])
    assert result.exit_code == 0, (result.stderr, result.exception)
    shutil.rmtree(files / "new", ignore_errors=True)
