"""The search for a machine that serves a job: what it keeps to, what it says, and what it refuses."""

from __future__ import annotations

import json
import shlex
from dataclasses import replace
from pathlib import Path

import click
import numpy as np
import pytest
from click.testing import CliRunner

from mrfhw.cli import main
from mrfhw.commands import build
from mrfhw.cost.seconds import Delays
from mrfhw.field.problem import Problem, Schedule
from mrfhw.fpga.boards import BOARDS
from mrfhw.fpga.errors import BuildError
from mrfhw.generation.identity import circuit_digest
from mrfhw.machine.config import Config
from mrfhw.machine.manifest import config_from_options
from mrfhw.machine.registers import INTERFACE_VERSION
from mrfhw.placement.fit import check_fits
from mrfhw.system.errors import ProblemError
from mrfhw.tuning import residuals, truth, tuner
from mrfhw.tuning.estimates import Estimates, Limits
from mrfhw.tuning.job import Job
from mrfhw.tuning.points import STORE, Point, add_point, points_of
from mrfhw.tuning.search import front, order, searched
from mrfhw.tuning.space import Choice, Space, changed
from mrfhw.tuning.tuner import Asked, Tuner

TUNED = pytest.mark.claim(
    "tuning", "a tuning names machines that hold the job within every limit, and no slower one than the board's own")
BOARD = BOARDS["icebreaker"]
OWN = Config.preset("icebreaker")
QUICK = ("tune", "--board", "icebreaker", "--sites", "16x32", "--labels", "8", "--sweeps", "40", "--estimate", "mean")


def job(estimate: str = "mean", labels: int = 8) -> Job:
    return Job.of("stereo", (16, 32), labels, 40, estimate, OWN)


def estimates(of: Job, deviation: float | None = None) -> Estimates:
    return Estimates(BOARD, of, Limits(deviation), Delays(0.001), points_of(families=["ice40"]))


@TUNED
@pytest.mark.slow
@pytest.mark.parametrize("estimate", ["mode", "mean"])
def test_the_answer_keeps_every_limit(estimate: str) -> None:
    asked = job(estimate)
    space, known = Space(BOARD, asked, {}), estimates(asked, 0.01)
    found = searched(space, known, 5000, print)
    assert len(found) > 50
    preset = known.of(space.preset)
    best = front(found)
    assert order(best[0]) == min(map(order, found))
    assert best[0].seconds < 0.6 * preset.seconds
    for one in best:
        assert one.deviation <= 0.01
        assert one.logic[0] <= one.logic[1]
        assert one.ram[0] <= one.ram[1]
        check_fits(one.choice.config, asked.problem)
        assert not any(other.seconds < 0.98 * one.seconds and other.logic[0] < 0.98 * one.logic[0]
                       and other.deviation < 0.8 * one.deviation for other in found)
    # Nothing next to it is better: it is the end of the climb.
    assert all(order(known.of(choice)) >= order(best[0]) for _, choice in space.neighbours(best[0].choice))


@TUNED
def test_the_line_builds_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parsed by `mrfhw build` itself, up to where it would begin."""
    taken: list[object] = []

    def stop(board: object, config: object, clock: int, baud: int, directory: object) -> None:
        taken.extend([config, clock, baud, board])
        raise click.Abort

    monkeypatch.setattr(build, "Flow", stop)
    choice = Choice(OWN.changed(label_bits=3, vector_bits=0, gumbel_fraction_bits=5, mesh_cols=2), 24_000_000, 3_000_000, 256, 512)
    words = shlex.split(choice.build_line(BOARD, "icebreaker"))
    assert words[:2] == ["mrfhw", "build"]
    CliRunner().invoke(main, words[1:])
    config, clock, baud, board = taken
    assert config == choice.config
    assert (clock, baud, board.words, board.log_bytes) == (24_000_000, 3_000_000, 256, 512)  # type: ignore[attr-defined]
    own = Choice(OWN, BOARD.clock_hz, BOARD.baud, BOARD.words, BOARD.log_bytes)
    assert own.build_line(BOARD, "icebreaker") == "mrfhw build --board icebreaker"


@TUNED
@pytest.mark.parametrize("changes", [
    {}, {"label_bits": 3, "counter_bits": 6}, {"label_bits": 3, "counter_bits": 6, "words": 128, "log_bytes": 256},
    {"label_bits": 4, "counter_bits": 6, "words": 256}, {"label_bits": 5, "counter_bits": 6, "words": 256}])
def test_small_memories_and_a_larger_link_take_cells(changes: dict[str, int]) -> None:
    """As Yosys and nextpnr packed whole iCEBreakers, by a model without them; within 1 % with those that are kept."""
    asked = job()
    choice = changed(Space(BOARD, asked, {}).preset, {"words": 32, "log_bytes": 512 if "words" in changes else 256} | changes)
    true = next(one.cells["logic"] for one in points_of(families=["ice40"]) if truth.matches(one, choice, BOARD, "synthesized"))
    assert Estimates(BOARD, asked, Limits(), Delays(), []).of(choice).logic[0] == pytest.approx(true, rel=0.04)
    assert estimates(asked).of(choice).logic[0] == pytest.approx(true, rel=0.01)


@TUNED
def test_limits_that_are_missed_are_named() -> None:
    asked = job()
    space = Space(BOARD, asked, {})
    tight = estimates(asked, 0.001).of(space.preset)
    assert tight.missed.startswith("draws deviate by 0.00")
    assert tight.missed.endswith("in total variation, and the bound is 0.001")
    large = changed(space.preset, {"mesh_cols": 8})
    assert "with the link, and iCE40UP5K has 5,280" in estimates(asked).of(large).missed
    wide = changed(space.preset, {"words": 4096})
    assert estimates(asked).of(wide).broken["ram"][1].endswith("memory blocks, and iCE40UP5K has 30")
    small = changed(space.preset, {"label_bits": 2})
    assert estimates(asked).of(small).missed.startswith("labels is 8; a machine with label_bits = 2 takes 4")
    fast = changed(space.preset, {"clock": 60_000_000, "baud": 3_000_000})
    assert estimates(asked).of(fast).missed.startswith("60 MHz, and machines of this device were placed at ")


def test_a_deviation_is_that_of_narrow_words() -> None:
    asked = job()
    found = [asked.deviation(OWN.changed(gumbel_uniform_bits=bits)) for bits in (8, 10, 12)]
    assert found[0] > found[1] > found[2] > 0
    assert asked.deviation(Config(energy_bits=16)) < 0.01
    narrow = replace(asked, problem=asked.problem)
    assert narrow.deviation(OWN.changed(energy_bits=5)) > 5 * found[1]  # energies are cut off


def test_a_field_that_is_held_a_window_at_a_time() -> None:
    """Four windows take more than four times as long as a field of a window's size, as their margins are loaded, too."""
    large = Job.of("stereo", (24, 40), 4, 40, "mean", OWN)
    found = estimates(large).of(Space(BOARD, large, {}).preset)
    assert found.fits
    small = Job.of("stereo", (12, 20), 4, 40, "mean", OWN)
    assert found.seconds > 4 * estimates(small).of(Space(BOARD, small, {}).preset).seconds


def test_the_link_is_counted() -> None:
    """About what the kept builds have beyond their machines; with what whole boards of the present circuit say, where there are
    some, of the same machine and of others that are alike."""
    asked = job()
    known = Estimates(BOARD, asked, Limits(), Delays(), [])
    assert 1000 < known.link_cells < 1500
    own = changed(Space(BOARD, asked, {}).preset, {})
    true = known.of(own).logic[0] + 300
    newer = Estimates(BOARD, asked, Limits(), Delays(), 3 * [point(own, "synthesized", cells={"logic": true})])
    assert newer.of(own).logic[0] == true
    differ = ({"words": 128}, {"words": 128, "line_bits": 64}, {"words": 128, "line_bits": 64, "counter_bits": 6})
    more = [newer.of(other).logic[0] - known.of(other).logic[0] for other in (changed(own, what) for what in differ)]
    assert more == pytest.approx([293, 263, 163], abs=2)
    old = Estimates(BOARD, asked, Limits(), Delays(), [replace(point(own, "synthesized", cells={"logic": true}), interface=1)])
    assert old.of(own) == known.of(own)


# -- truths


def asked_of(budget: float = 0.0, placed: int = 0, fixed: dict[str, str] | None = None) -> Asked:
    return Asked(BOARD, "icebreaker", job(), Delays(0.001), Limits(), budget, placed, fixed or {})


def point(choice: Choice, level: str, **values: object) -> Point:
    return Point(level, "ice40", choice.config.to_dict(), "icebreaker", {**choice.options, "link": truth.link_digest()}, "00",
                 INTERFACE_VERSION, **values)  # type: ignore[arg-type]


@TUNED
@pytest.mark.slow
def test_truths_are_asked_for_and_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tools that say that what is fullest does not fit: it is not in the answer; a later call asks them nothing."""
    monkeypatch.setattr(tuner, "SEARCH_MOST", 300)
    monkeypatch.setattr(truth, "check_tools", lambda board, placed: None)
    calls: list[str] = []

    def told(level: str):
        def tell(choice: Choice, board: object, *others: object, **named: object) -> Point:
            calls.append(level)
            if level == "simulated":
                made = point(choice, level, seconds=10.0)
                made.options.update({"job": job().said, "delay": 0.001, "run_s": 0.123})
                return made
            cells = {"ram": 20, "dsp": 4} if level == "gates" else {"logic": 5400 if calls.count("synthesized") < 3 else 5000}
            return point(choice, level, seconds=100.0, cells=cells, clock_hz=31e6 if level == "placed" else None)
        return tell

    for level in truth.LEVELS:
        monkeypatch.setattr(truth, level, told(level))
    first = Tuner(asked_of(5000, 1), tmp_path, STORE, lambda said: None)
    found = first.run()
    assert "synthesized" in calls
    assert any(one.marked == "simulated" and one.seconds == 0.123 for one in found)
    assert all(one.refused is None for one in found)
    record = json.loads((tmp_path / "tune.json").read_text())
    assert record["spent_s"] == first.spent == sum(10.0 if call == "simulated" else 100.0 for call in calls)
    assert any(one["refused"] == "synthesized: 5400 logic, and the device has 5280" for one in record["refused"])
    assert len(list(points_of(tmp_path / "points"))) == len(calls)
    before = list(calls)
    again = Tuner(asked_of(first.spent, 1), tmp_path, STORE, lambda said: None)
    assert any(one.fits_truly for one in again.run())  # its estimates know those truths from the beginning, and it asks nothing
    assert calls == before
    assert again.spent == first.spent


@TUNED
def test_another_choice_is_placed_where_one_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As many as are asked for meet their clocks; but tools are not asked for ever."""
    monkeypatch.setattr(tuner, "SEARCH_MOST", 300)
    asking = Tuner(asked_of(5000, 1), None, tmp_path, lambda said: None)
    asking.found = asking._shortlist()
    for one in asking.found:
        one.truths["synthesized"] = point(one.choice, "synthesized", cells={"logic": one.logic})
    tried = []
    while (step := asking._next()) is not None and step[1] == "placed":
        tried.append(step[0])
        step[0].truths["placed"] = point(step[0].choice, "placed", failure="no legal placement")
    assert len(tried) == tuner.PLACED_TRIES
    assert not any(one in asking.front for one in tried)
    tried[-1].truths["placed"] = point(tried[-1].choice, "placed", cells={"logic": 5000}, clock_hz=31e6)
    tried[-2].truths.pop("placed")
    assert asking._next()[1] == "simulated"  # one that meets its clock is enough


def test_a_failure_names_no_log_that_is_gone() -> None:
    error = BuildError("nextpnr-gowin failed: ERROR: no place (all of it in /tmp/x/nextpnr.log)\nmore")
    assert truth._line(error) == "nextpnr-gowin failed: ERROR: no place"


@TUNED
def test_what_fits_by_its_memories_is_synthesized_next(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of choices as good as one another, whose memories nearly fill the device, one is known before the next is looked at."""
    monkeypatch.setattr(tuner, "ASTRAY", 1.0)
    calls: list[str] = []

    def told(level: str):
        def tell(choice: Choice, *others: object, **named: object) -> Point:
            calls.append(level)
            return point(choice, level, seconds=1.0, cells={"ram": 28} if level == "gates" else {"logic": 5400})
        return tell

    for level in truth.LEVELS:
        monkeypatch.setattr(truth, level, told(level))
    asking = Tuner(asked_of(500_000, 0), tmp_path, STORE, lambda said: None)
    fast = replace(asking.preset.estimate, ram=(28, 30), time=replace(asking.preset.estimate.time, load_s=0.0, read_s=0.0))
    asking.found = [tuner.Tuned(replace(fast, choice=replace(fast.choice, words=words))) for words in (64, 128, 256)]
    asking._ask_tools()
    assert calls == 3 * ["gates", "synthesized"]


def test_a_point_is_of_its_choice() -> None:
    choice = Choice(OWN, 12_000_000, 1_000_000, 32, 256)
    one = point(choice, "synthesized", cells={"logic": 5})
    assert truth.matches(one, choice, BOARD, "synthesized")
    assert truth.matches(one, replace(choice, clock_hz=24_000_000), BOARD, "synthesized")
    assert not truth.matches(one, replace(choice, words=64), BOARD, "synthesized")
    assert not truth.matches(one, replace(choice, config=OWN.changed(counter_bits=5)), BOARD, "synthesized")
    assert not truth.matches(replace(one, interface=INTERFACE_VERSION - 1), choice, BOARD, "synthesized")
    assert not truth.matches(replace(one, options={**one.options, "link": "of before"}), choice, BOARD, "synthesized")
    assert not truth.matches(one, choice, BOARD, "placed")
    placed = replace(one, truth="placed")
    assert truth.matches(placed, choice, BOARD, "synthesized")
    assert not truth.matches(placed, replace(choice, clock_hz=24_000_000), BOARD, "placed")


@pytest.mark.tools
@pytest.mark.slow
def test_the_compiled_board_s_seconds_are_those_of_the_estimate() -> None:
    asked = job()
    choice = Choice(OWN.changed(counter_bits=6), 24_000_000, 3_000_000, 256, 512)
    found = truth.simulated(choice, BOARD, asked, Delays(0.001))
    assert found.circuit == circuit_digest(choice.config)
    assert found.options["run_s"] == pytest.approx(estimates(asked).seconds(choice).seconds, rel=0.1)


# -- the command


@TUNED
@pytest.mark.slow
def test_the_command_answers_from_estimates_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuner, "SEARCH_MOST", 300)
    result = CliRunner().invoke(main, [*QUICK, "--delay", "1ms", "-o", str(tmp_path / "out")])
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == "stereo of 16x32 sites and 8 labels, 40 sweeps for the mean, on icebreaker; 1 ms each way"
    assert lines[1].startswith("the preset icebreaker: 0.")
    assert lines[2].endswith("  estimated")
    assert lines[3].startswith("  mrfhw build --board icebreaker")
    record = json.loads((tmp_path / "out" / "tune.json").read_text())
    assert record["front"][0]["build"] == lines[3].strip()
    refused = CliRunner().invoke(main, [*QUICK, "--delay", "1ms", "-o", str(tmp_path / "out")])
    assert "has a tune.json: give --resume to go on with it, or another -o" in refused.output
    other = CliRunner().invoke(main, [*QUICK, "--delay", "2ms", "-o", str(tmp_path / "out"), "--resume"])
    assert "delay_s is 0.002, and the tuning in" in other.output
    again = CliRunner().invoke(main, [*QUICK, "--delay", "1ms", "-o", str(tmp_path / "out"), "--resume"])
    assert again.stdout == result.stdout


@pytest.mark.slow
def test_a_saved_field_and_a_fixed_value(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuner, "SEARCH_MOST", 300)
    rng = np.random.default_rng(0)
    Problem(labels=4, singleton1=rng.integers(0, 16, (12, 20)), constants=np.array([1, 5, 9, 13]),
            schedule=Schedule.constant(4.0)).save(tmp_path / "field.npz")
    result = CliRunner().invoke(main, ["tune", "--board", "tang-nano-9k", "--job", str(tmp_path / "field.npz"), "--sweeps", "20",
                                       "--estimate", "last", "--fix", "counter_bits=9", "--fix", "clock=54", "--json"])
    assert result.exit_code == 0, result.output
    for one in json.loads(result.stdout)["front"]:
        assert (one["parameters"]["counter_bits"], one["clock_hz"]) == (9, 54_000_000)


@pytest.mark.parametrize(("words", "line"), [
    (("--board", "no"), "board is 'no'; the boards are"),
    (("--job", "no"), "job is 'no'; it is stereo, motion, denoise or a file of a field that ends in .npz: give one of them"),
    (("--job", "no.npz"), "no.npz"),
    (("--sites", "3"), "sites is '3'; a field has rows and columns: give such as 16x32"),
    (("--sites", "1x9"), "sites is 1x9; a field has 2 rows and columns at least and 1048576 sites at most: give such a size"),
    (("--labels", "1"), "labels is 1; machines take 2 to 256: give a number between them"),
    (("--sweeps", "0"), "sweeps is 0; a run has 1 to 100000000: give a number between them"),
    (("--delay", "1"), "delay is '1'; it is a number and one of us, s, ms: give such as 2ms"),
    (("--delay", "2s"), "delay is 2s; a byte is under way for 1 s at most: give less"),
    (("--quality", "0"), "quality is 0; a total variation is more than 0 and at most 1: give such as 0.02"),
    (("--budget", "soon"), "budget is 'soon'; it is a number and one of s, m, min, h, d: give such as 2d"),
    (("--placed", "-1"), "placed is -1; 0 to 100 choices are placed: give a number between them"),
    (("--fix", "colour=3"), "fix is colour=3; no parameter of a machine is called 'colour', and a board has clock, baud, words, "
                            "log_bytes: give one of them, or one of mrfhw help machine"),
    (("--fix", "counter_bits"), "fix is 'counter_bits'; it is NAME=VALUE: give such as counter_bits=6"),
    (("--fix", "counter_bits=x"), "fix is counter_bits=x; counter_bits is a whole number: give one"),
    (("--fix", "counter_bits=99"), "fix is counter_bits=99; counter_bits is 99; the limits are 1 to 16: give a "),
    (("--resume",), "resume is given without -o; a tuning goes on in its directory: give -o DIR"),
    (("--quality", "0.000001", "--fix", "energy_bits=4"), "no machine of icebreaker does the job within the limits; the nearest"),
])
def test_mistakes_are_one_line(words: tuple[str, ...], line: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuner, "SEARCH_MOST", 30)
    result = CliRunner().invoke(main, [*QUICK, *words])
    assert result.exit_code == 2
    errors = [said for said in result.stderr.splitlines() if said.startswith("Error: ")]
    assert len(errors) == 1
    assert line in errors[0]


def test_a_store_and_a_record_that_are_damaged(tmp_path: Path) -> None:
    (tmp_path / "ice40.jsonl").write_text("{\n")
    result = CliRunner().invoke(main, [*QUICK, "--points", str(tmp_path)])
    assert f"{tmp_path}/ice40.jsonl is damaged in line 1" in result.stderr
    (tmp_path / "tune.json").write_text("{")
    result = CliRunner().invoke(main, [*QUICK, "-o", str(tmp_path), "--resume"])
    assert "tune.json is damaged: leave --resume out, and give another -o" in result.stderr
    result = CliRunner().invoke(main, [*QUICK, "-o", str(tmp_path / "new"), "--resume"])
    assert "has no tune.json; there is nothing to go on with: leave --resume out" in result.stderr


def test_tools_are_asked_only_where_there_are_some(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ProblemError, match="open tools make no bitstream for its 5CSEBA6U23I7, so that there are estimates alone"):
        truth.check_tools(BOARDS["de10-nano"])
    found, asked = truth.find_tool, []
    monkeypatch.setattr(truth, "find_tool", asked.append)
    truth.check_tools(BOARDS["tang-nano-9k"])
    truth.check_tools(BOARDS["tang-nano-9k"], placed=True)
    assert asked == ["yosys", "yosys", "nextpnr-gowin"]
    monkeypatch.setattr(truth, "find_tool", found)
    monkeypatch.setattr(truth, "check_tools", lambda board, placed: None)
    few = Tuner(asked_of(5), None, STORE, lambda said: None)
    with pytest.raises(ProblemError, match=r"budget is 5 s; the cheapest truth takes \d+ s: give more, or --budget 0h"):
        few.run()


@TUNED
@pytest.mark.slow
def test_measured_points_are_added_to_a_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tuner, "SEARCH_MOST", 300)
    monkeypatch.setattr(truth, "check_tools", lambda board: None)
    monkeypatch.setattr(truth, "synthesized", lambda choice, board: point(choice, "synthesized", cells={"logic": 5300}))
    result = CliRunner().invoke(main, [*QUICK, "--points", str(tmp_path), "--measure", "3"])
    assert result.exit_code == 0, result.output
    kept = list(points_of(tmp_path))
    assert len({one.line for one in kept}) == 3
    assert all(one.cells == {"logic": 5300} for one in kept)
    again = CliRunner().invoke(main, [*QUICK, "--points", str(tmp_path), "--measure", "1"])
    assert len(list(points_of(tmp_path))) == 4, again.output
    assert not {one.line for one in kept} & {list(points_of(tmp_path))[-1].line}


def test_points_of_another_store_are_used(tmp_path: Path) -> None:
    space = Space(BOARD, job(), {})
    add_point(point(space.preset, "synthesized", cells={"logic": 5111, "ram": 25, "dsp": 4}), tmp_path)
    known = Tuner(asked_of(), None, tmp_path, lambda said: None)
    assert known.preset.marked == "synthesized"
    assert known.preset.logic == 5111
    assert config_from_options(preset="icebreaker") == known.preset.choice.config


@TUNED
@pytest.mark.parametrize(("more", "fit"), [(20, True), (100, True), (2000, False)])
def test_it_searches_again_where_cells_are_others(more: int, fit: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """After a truth that says so, smaller machines are asked about, and what tools have tried stays; not for a few cells. If it
    held for all machines that they take many more, none would fit."""
    monkeypatch.setattr(tuner, "SEARCH_MOST", 300)
    monkeypatch.setattr(residuals, "UNTRIED", residuals.UNTRIED if fit else 1e-12)
    said: list[str] = []
    asking = Tuner(asked_of(5000, 0), None, tmp_path, said.append)
    estimates = asking.estimates
    asking.found = asking._shortlist()
    one = asking.found[0]
    true, before = one.estimate.logic[0] + more, one.estimate.logic[0]
    one.truths["synthesized"] = point(one.choice, "synthesized", seconds=20.0, cells={"logic": true})
    asking.points.append(one.truths["synthesized"])
    asking._search_again(one)
    assert (asking.estimates is estimates) == (more < 52)
    assert said.count(f"it takes {true:,} cells, not about {before:,}: searching again") == (more > 52)
    assert asking.estimates.of(one.choice).logic[0] == (true if more > 52 else before)
    assert [each.choice for each in asking.found if each.fits_truly] == [one.choice]
    untried = [each for each in asking.found if not each.truths]
    assert bool(untried) == fit
    assert all(each.logic <= 1.01 * 5280 for each in untried)
    assert any("no machine of icebreaker does the job" in line for line in said) == (not fit)


@TUNED
def test_an_estimate_hides_no_choice_whose_cells_are_known(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The fastest one that is synthesized stays on the front where it takes a few cells more than others of about its seconds."""
    monkeypatch.setattr(tuner, "SEARCH_MOST", 300)
    asking = Tuner(asked_of(5000, 0), None, tmp_path, lambda said: None)
    asking.found = asking._shortlist()
    first = asking.front[0]
    first.truths["synthesized"] = point(first.choice, "synthesized", cells={"logic": 5275, "ram": 25, "dsp": 4})
    other = next(one for one in asking.found if one is not first)
    other.estimate = replace(other.estimate, time=first.estimate.time, logic=(5000, 5280))  # fewer cells, and as fast
    assert first in asking.front
    slower = next(one for one in reversed(asking.found) if one.seconds > 1.1 * first.seconds)
    slower.truths["synthesized"] = point(slower.choice, "synthesized", cells={"logic": 5279, "ram": 25, "dsp": 4})
    assert slower not in asking.front  # as it is slower, and no smaller
