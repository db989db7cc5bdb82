"""What help shows of the options, the parameters of a machine by --set and its name, and one option for cooling."""

from __future__ import annotations

import json
import re
import shlex

import click
import numpy as np
import pytest
from click.testing import CliRunner, Result

from mrfhw import cli
from mrfhw.applications.options import cooling_from_text, schedule_from_options
from mrfhw.commands import application
from mrfhw.field.schedule import Schedule
from mrfhw.generation.files import manifest
from mrfhw.machine.config import Config
from mrfhw.scenes import stereo_scene, write_scene
from mrfhw.system.errors import ProblemError

MOST = 28  # options that a command's help shows
COMMANDS = ["generate", "build", "board", "diagnose", "estimate", "export", "report", "demo-scene", "help",
            *(f"{group} {verb}" for group in ("run", "verify") for verb in ("stereo", "motion", "segment", "denoise", "problem"))]


def invoke(*words: object) -> Result:
    return CliRunner().invoke(cli.main, [str(word) for word in words], prog_name="mrfhw")


def shown(text: str) -> list[str]:
    return re.findall(r"^  (?:-\w, )?(--[\w-]+)", text, re.MULTILINE)


def command(words: str) -> click.Command:
    found: click.Command = cli.main
    for word in words.split():
        assert isinstance(found, click.Group)
        inner = found.get_command(click.Context(found), word)
        assert inner is not None
        found = inner
    return found


@pytest.mark.tools
@pytest.mark.parametrize("words", COMMANDS)
def test_help_is_short_and_says_where_the_rest_stands(words: str) -> None:
    text, whole = invoke(*words.split(), "--help").stdout, invoke("help", *words.split()).stdout
    options = [p for p in command(words).params if isinstance(p, click.Option)]
    rare = [p.opts[-1] for p in options if isinstance(p, application.Rare) and not p.hidden]
    assert len(shown(text)) <= MOST
    assert set(shown(whole)) == set(shown(text)) | set(rare)
    assert not set(shown(text)) & {*rare, "--preset", "--label-bits", "--cooling-ratio"}
    end = f"{len(rare)} options that are wanted less often stand in `mrfhw help {words}`."
    assert (end in " ".join(text.split())) == bool(rare)
    if any(p.name == "assignments" for p in options):
        assert {"--machine", "--set", "--spes", "--spus", "--mesh", "--lanes"} <= set(shown(text))


def test_every_parameter_stands_in_help_machine() -> None:
    text = " ".join(invoke("help", "machine").stdout.split())
    for parameter in Config.space():
        name, value = parameter.name, "4x4" if "mesh" in parameter.name else str(parameter.default)
        assert f"{name.removesuffix('_rows') if name == 'mesh_rows' else name.replace('mesh_cols', 'mesh')}={value} " in text
        if "mesh" not in name:
            assert f"{parameter.text} {'One of ' if parameter.choices else ''}{parameter.limits}." in text
    assert "lanes=16 " in " ".join(invoke("help", "machine", "census").stdout.split())


@pytest.mark.parametrize(("topic", "message"), [
    ("sterio", "topic is 'sterio'; topics are machine and the commands: give stereo"),
    ("machine censu", "machine is 'censu'; the names are"), ("run ster", "give run stereo")])
def test_help_of_nothing(topic: str, message: str) -> None:
    result = invoke("help", *topic.split())
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1)
    assert message in result.stderr


def test_help_finds_commands() -> None:
    assert invoke("help", "stereo").stdout == invoke("help", "run", "stereo").stdout
    assert invoke("help").stdout.startswith(invoke("--help").stdout)


@pytest.mark.parametrize(("new", "old"), [
    ("--set label_bits=4", "--label-bits 4"), ("--set label-bits=4 --set sampler=cdf", "--label-bits 4 --sampler cdf"),
    ("--machine census", "--preset census"), ("--machine census --lanes 8", "--preset census --lanes 8"),
    ("--machine paper-16x2 --set mesh=2x2 --set uniform_bits=12", "--preset paper-16x2 --mesh 2x2 --uniform-bits 12"),
    ("--set spes=2", "--spes 2"), ("--set spus=4 --spus 4", "--spus 4"),
    ("--machine smallest --preset smallest", "--preset smallest")])
def test_both_spellings_are_one_machine(new: str, old: str) -> None:
    results = [invoke("estimate", "--json", *shlex.split(words)) for words in (new, old)]
    assert results[0].exit_code == 0, results[0].output
    assert results[0].stdout == results[1].stdout
    assert results[0].stdout != invoke("estimate", "--json").stdout


def test_a_manifest_states_all(tmp_path) -> None:
    path = tmp_path / "census"
    path.write_text(json.dumps(manifest(Config.preset("smallest"), {})))
    assert invoke("estimate", "--machine", path).stdout == invoke("estimate", "--machine", "smallest").stdout
    refused = invoke("estimate", "--machine", path, "--set", "lanes=2")
    assert refused.exit_code == 2
    assert "machine is given, and lanes too" in refused.stderr


@pytest.mark.parametrize(("words", "message"), [
    ("--set label_bit=4", "set is 'label_bit=4'; no parameter of a machine is called 'label_bit': give label_bits"),
    ("--set label_bits", "set is 'label_bits'; it is FIELD=VALUE: give label_bits"),
    ("--set zzz=1", "give such as label_bits=8, a parameter of mrfhw help machine"), ("--set =", "no parameter of a machine"),
    ("--set label_bits=four", "label_bits is a whole number: give 1 to 8"), ("--set label_bits=40", "label_bits is 40; the limits"),
    ("--set sampler=rase", "it must be one of cdf, race"), ("--set mesh=4", "'4' is not a mesh"),
    ("--set mesh_rows=2", "or mesh"),
    ("--set label_bits=4 --label-bits 5", "label_bits is 5, and set says label_bits=4; they differ: drop one"),
    ("--set lanes=4 --set lanes=2", "lanes is 4, and set says lanes=2; they differ"),
    ("--machine cencus", "machine is 'cencus'; it is no file, and the names are"), ("--machine cencus", "give census"),
    ("--machine census --preset smallest", "machine is census and preset is smallest; they differ"),
    ("--machine nothing.json", "nothing.json"), ("--set uniform_bits=9", "parameter of the cdf sampler")])
def test_what_is_no_machine(words: str, message: str) -> None:
    result = invoke("estimate", *shlex.split(words))
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (2, "", 1), result.output
    assert message in result.stderr


@pytest.fixture(scope="module")
def scene(tmp_path_factory):
    directory = tmp_path_factory.mktemp("scene")
    write_scene(stereo_scene(16, 24, 4), directory)
    return directory


def test_set_and_names_count_as_given(scene, tmp_path, monkeypatch) -> None:
    """A run by them is by the model, on their machine, and the report has the words that were given."""
    monkeypatch.chdir(scene)
    said, write = [], application.outputs.write_outputs
    monkeypatch.setattr(application.outputs, "write_outputs",
                        lambda *given, command, **more: said.append(command) or write(*given, command=command, **more))
    run = ("run", "stereo", "left.png", "right.png", "--labels", 4, "--sweeps", 4, "--no-report")
    for out, words in (("new", ("--machine", "paper-16x1", "--set", "counter_bits=7")),
                       ("old", ("--preset", "paper-16x1", "--counter-bits", 7))):
        result = invoke(*run, *words, "-o", tmp_path / out)
        assert result.exit_code == 0, result.output
    new, old = (json.loads((tmp_path / out / "report.json").read_text()) for out in ("new", "old"))
    assert np.array_equal(*(np.load(tmp_path / out / "labels.npy") for out in ("new", "old")))
    assert new["backend"] == "model"
    assert new["settings"] == old["settings"]
    assert new["settings"]["preset"] == "paper-16x1"
    assert said[0].endswith(" --machine paper-16x1 --set counter_bits=7")


@pytest.mark.parametrize(("text", "schedule"), [
    ("2", Schedule.geometric(8.0, 0.25 ** (1 / 20), 2.0)), ("2:0.5", Schedule.geometric(8.0, 0.5, 2.0)),
    ("9, 3,1.5/4", Schedule.of_table((9.0, 3.0, 1.5), 4)), ("9,3", Schedule.of_table((9.0, 3.0), 1)),
    ("3/1", Schedule.of_table((3.0,), 1))])
def test_cooling(text: str, schedule: Schedule) -> None:
    assert schedule_from_options(sweeps=50, burn_in=20, temperature=8.0, **cooling_from_text(text)) == schedule


@pytest.mark.parametrize("text", ["", "cold", "2:", ":0.5", "2:0.5:1", "8,,4", "8,4/", "8,4/x", "8,4/2/2", "2;1"])
def test_what_is_no_cooling(text: str) -> None:
    with pytest.raises(ProblemError, match=r"^cooling is .*: give such as 2, 2:0\.95, 8,4,2 or 8,4,2/10$"):
        cooling_from_text(text)


def test_cooling_is_the_four_of_earlier_days(scene, monkeypatch) -> None:
    """In the shell, by either; and both at once are refused."""
    monkeypatch.chdir(scene)
    seen = []
    monkeypatch.setattr(application, "solved", lambda runner: seen.append(runner.prepare().problem.schedule) or 1 / 0)
    run = ("run", "stereo", "left.png", "right.png", "--labels", 4, "--one-way")
    pairs = [("--cooling 1", "--final-temperature 1"), ("--cooling 1:0.9", "--final-temperature 1 --cooling-ratio 0.9"),
             ("--cooling 4,2,1/5", "--cooling-table 4,2,1 --cooling-stride 5"),
             ("--cooling 1 --anneal", "--final-temperature 1 --anneal")]
    for pair in pairs:
        for words in pair:
            assert isinstance(invoke(*run, *shlex.split(words)).exception, ZeroDivisionError)
        assert seen[-1] == seen[-2]
        refused = invoke(*run, "--cooling", "1", *shlex.split(pair[1]))
        assert "cooling is 1, and " in refused.stderr
    assert len(set(map(repr, seen))) == len(pairs)
