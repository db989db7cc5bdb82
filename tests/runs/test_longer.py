"""Chains that do not agree at the end of their run go on, with the bits of a longer run from the start."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest
from click.testing import CliRunner

import mrfhw
from mrfhw.analysis.convergence import apart, converged, diagnose
from mrfhw.analysis.solution import Solution
from mrfhw.applications.field.job import label_scale
from mrfhw.backends.plan import Plan
from mrfhw.cli import main
from mrfhw.field.problem import Run, Schedule
from mrfhw.field.records import Record, read_record, write_record
from mrfhw.runs.chains import Look, sample, visit_of
from mrfhw.runs.checkpoint import Keeping, pauses_of
from mrfhw.runs.longer import may_go_on
from mrfhw.scenes import stereo_scene
from support.interrupted import assert_same, in_pieces
from support.slow_chains import MOST, RUN, SLOW
from support.watching import Told
from support.windowed import SMALL

CHAINS_WHOSE_ENERGIES = pytest.mark.claim("sessions",
    "chains whose energies do not agree after the default sweeps go on, with the bits of a longer run from the start: every "
    "backend that shows sweeps, in windows, killed and resumed, from Python and from the command line")

LONGER = dataclasses.replace(RUN, sweeps=80, burn_in=40)
AGREEING = dataclasses.replace(SLOW, doubleton="absolute", beta=1, schedule=Schedule.constant(20.0))
WIDE = dataclasses.replace(SLOW, singleton1=np.full((12, 40), 20), clamped=None)  # three windows of SMALL


def assert_the_longer_run(found: Solution, wanted: Solution) -> None:
    """All that was drawn and counted is that of a run of so many sweeps; the log of the first sweeps has been sent as well."""
    assert found.longer == LONGER
    assert np.array_equal(found.counts if found.sums is None else found.sums, wanted.counts if wanted.sums is None else wanted.sums)
    for one, other in zip(found.results, wanted.results, strict=True):
        assert np.array_equal(one.last, other.last)
        assert np.array_equal(one.initial, other.initial)
        assert one.label_evaluations == other.label_evaluations
        assert one.log_messages == other.log_messages
        assert one.messages_counted == other.messages_counted
        if one.lmem is not None:
            held = one.lmem[..., 1] + one.lmem[..., 3] > 0
            assert np.array_equal(one.lmem[held], other.lmem[held])
    for name in ("sweeps", "energy", "sites", "labels", "burn_in"):
        assert np.array_equal(getattr(found.trace, name), getattr(wanted.trace, name)), name


@CHAINS_WHOSE_ENERGIES
@pytest.mark.parametrize("estimate", ["mode", "mean"])
@pytest.mark.parametrize("add_up", [False, True])
@pytest.mark.parametrize("backend", ["cpu", "float", "model"])
def test_bits_are_those_of_the_longer_run(backend, add_up, estimate):
    done, lengths = [], []
    found = sample(backend, SMALL, SLOW, dataclasses.replace(RUN, estimate=estimate), chains=2, most=MOST, add_up=add_up,
                   watch=Told(done.append, lengths.append))
    wanted = sample(backend, SMALL, SLOW, dataclasses.replace(LONGER, estimate=estimate), chains=2)
    found = dataclasses.replace(found, longer=dataclasses.replace(found.longer, estimate="mode"))
    assert_the_longer_run(found, wanted)
    assert [(run.sweeps, run.burn_in) for run in lengths] == [(40, 20), (80, 40)]
    assert done == sorted(done)
    assert done[-1] == 2 * 80


@pytest.mark.tools
@CHAINS_WHOSE_ENERGIES
@pytest.mark.parametrize("backend", ["model", "rtl"])
def test_windows_go_on(backend):
    """A compiled chip shows its labels after each round of windows."""
    found = sample(backend, SMALL, WIDE, RUN, chains=2, most=MOST if backend == "model" else 30, visit=1)
    assert found.longer is not None
    assert found.results[0].windows == 3
    wanted = sample("model", SMALL, WIDE, found.longer, chains=2, visit=1)
    assert np.array_equal(found.counts, wanted.counts)
    assert found.results[0].rounds == found.longer.sweeps


@pytest.mark.tools
@CHAINS_WHOSE_ENERGIES
@pytest.mark.parametrize(("backend", "problem", "visit", "most", "may"), [
    ("model", WIDE, 4, 80, True), ("model", WIDE, 3, 80, False), ("rtl", WIDE, 4, 80, True),  # of 3 the last round is cut short
    ("model", SLOW, 3, 80, True), ("cpu", WIDE, 3, 80, True), ("rtl", SLOW, 4, 80, False), ("cpu", SLOW, 4, 20, False)])
def test_who_may_go_on(backend, problem, visit, most, may):
    assert may_go_on(Plan.of(backend, SMALL, problem, visit), RUN, most) == may


@CHAINS_WHOSE_ENERGIES
@pytest.mark.parametrize(("sweeps", "most", "visit"), [
    (200, 0, 11), (200, 200, 11), (200, 800, 10), (500, 2000, 20), (62, 200, 2), (67, 200, 3)])  # 67 has no part of 2 or 3
def test_visits_are_parts_of_a_run_that_may_go_on(sweeps, most, visit):
    assert visit_of(SMALL, Run(sweeps=sweeps, burn_in=sweeps // 2), 2, most) == visit


@CHAINS_WHOSE_ENERGIES
@pytest.mark.parametrize("backend", ["cpu", "float", "model"])
def test_a_run_that_dies_goes_on(tmp_path, backend):
    """Between any sweeps of the first run and the longer ones, and between them."""
    wanted = sample(backend, SMALL, SLOW, RUN, chains=2, most=MOST)
    stops = [1, 4, 7, 8, 9, 14, 15, 20, 23]
    found, turns = in_pieces(backend, SMALL, SLOW, RUN, tmp_path / "kept", stops, "7", chains=2, most=MOST)
    assert turns == 9
    assert found.longer == LONGER
    assert_same(found, wanted, cycles=True)
    again, turns = in_pieces(backend, SMALL, SLOW, RUN, tmp_path / "kept", [], "7", chains=2, most=MOST)
    assert turns == 0
    assert_same(again, wanted, cycles=True)


@CHAINS_WHOSE_ENERGIES
@pytest.mark.parametrize("changed", [{"length": [40]}, {"length": ["many", 20]}, {"length": 40}, {"begun": []}])
def test_a_checkpoint_of_other_content_is_refused(tmp_path, changed):
    kept = tmp_path / "kept"
    sample("cpu", SMALL, SLOW, RUN, chains=2, most=40, keeping=Keeping(kept, pauses_of("30")))
    held = read_record(kept, "checkpoint")
    assert held.scalars["length"] == [40, 20]
    assert len(held.scalars["begun"]) == 2
    changed = {name: value or held.scalars[name][:1] for name, value in changed.items()}
    write_record(kept, Record("checkpoint", {**held.scalars, **changed}, held.arrays))
    with pytest.raises(mrfhw.ProblemError, match=r"is no whole checkpoint \(TypeError: .*: give a file that --checkpoint wrote"):
        sample("cpu", SMALL, SLOW, RUN, chains=2, most=40, keeping=Keeping(resume=kept))


@CHAINS_WHOSE_ENERGIES
def test_chains_that_agree_or_cannot_tell_end():
    run = dataclasses.replace(RUN, sweeps=60, burn_in=10)
    for problem, given, most in ((AGREEING, run, 240), (SLOW, dataclasses.replace(RUN, burn_in=15), MOST), (SLOW, RUN, 20)):
        found = sample("cpu", SMALL, problem, given, chains=2, most=most)
        assert found.longer is None
        assert int(found.counts.sum(-1).max()) == 2 * (given.sweeps - given.burn_in)
    assert sample("cpu", SMALL, SLOW, RUN, chains=2, most=MOST, traced=False).longer is None


@CHAINS_WHOSE_ENERGIES
def test_a_great_limit_leaves_the_looks_as_they_are(tmp_path):
    """Of longer runs the looks are as many as a run of their length has, whatever the limit is."""
    found = sample("cpu", SMALL, SLOW, RUN, chains=2, most=2**31 - 1)
    assert found.longer is not None
    assert np.array_equal(found.trace.sweeps, np.arange(1, found.longer.sweeps + 1))


@CHAINS_WHOSE_ENERGIES
def test_another_limit_is_another_run(tmp_path):
    kept = tmp_path / "kept"
    sample("cpu", SMALL, SLOW, RUN, chains=2, most=MOST, keeping=Keeping(kept, pauses_of("30")))
    for most in (0, 20, 40):
        with pytest.raises(mrfhw.ProblemError, match=r"is a checkpoint of most_sweeps 80; this run has most_sweeps (None|40)"):
            sample("cpu", SMALL, SLOW, RUN, chains=2, most=most, keeping=Keeping(resume=kept))


def test_progress_of_a_longer_run_that_is_taken_up(tmp_path):
    lengths: list[Run] = []
    in_pieces("cpu", SMALL, SLOW, RUN, tmp_path / "kept", [9], "7", chains=2, most=MOST, watch=Told(going_on=lengths.append))
    assert [run.sweeps for run in lengths] == [40, 40, 80]  # again, where it is taken up


@CHAINS_WHOSE_ENERGIES
def test_as_many_as_are_allowed():
    found = sample("cpu", SMALL, SLOW, RUN, chains=2, most=50)
    assert (found.longer.sweeps, found.longer.burn_in) == (50, 40)


@pytest.mark.slow
@CHAINS_WHOSE_ENERGIES
def test_apart_is_what_diagnostics_say():
    verdicts = set()
    for problem, run in ((SLOW, RUN), (AGREEING, dataclasses.replace(RUN, sweeps=60, burn_in=10)), (AGREEING, RUN)):
        for seed in range(0, 12, 2):
            trace = sample("cpu", SMALL, problem, dataclasses.replace(run, seed=seed), chains=2).trace
            verdicts.add(found := converged(diagnose(trace, label_scale(4))))
            assert apart(trace) == (found is False)
    assert {False, True} <= verdicts


@CHAINS_WHOSE_ENERGIES
def test_answers_in_python():
    answer = mrfhw.solve(SLOW, sweeps=20, seed=8, backend="cpu", most_sweeps=80)
    wanted = mrfhw.solve(SLOW, sweeps=80, seed=8, backend="cpu")
    assert np.array_equal(answer.counts, wanted.counts)
    assert np.array_equal(answer.energies[1], wanted.energies[1])
    assert answer.rhat == wanted.rhat
    assert (answer.report["sweeps"], answer.report["burn_in"], answer.report["settings"]["most_sweeps"]) == (80, 40, 80)
    assert answer.notes == ("20 sweeps were too few, by R-hat: the run went on to 80, of which 40 are burn-in",)
    assert not answer.stopped
    assert wanted.notes == ()


@CHAINS_WHOSE_ENERGIES
def test_a_longer_run_that_is_ended_leaves_the_one_before():
    def callback(look: Look) -> bool:
        return look.sweeps > 45

    answer = mrfhw.solve(SLOW, sweeps=20, seed=8, backend="cpu", most_sweeps=80, callback=callback, every=4)
    wanted = mrfhw.solve(SLOW, sweeps=40, seed=8, backend="cpu")
    assert answer.stopped
    assert np.array_equal(answer.counts, wanted.counts)
    assert np.array_equal(answer.energies[1], wanted.energies[1])
    said = "stopped in a longer run of 80 sweeps: this is the answer of the 40 before, which were too few by R-hat"
    assert said in answer.warnings
    assert answer.report["sweeps_asked"] is None


@pytest.mark.tools
@CHAINS_WHOSE_ENERGIES
def test_command_says_where_it_went_on(tmp_path):
    SLOW.save(tmp_path / "field.npz", RUN)
    words = ["run", "problem", str(tmp_path / "field.npz"), "--backend", "cpu", "--no-report", "-o"]
    found = CliRunner().invoke(main, [*words, str(tmp_path / "one"), "--most-sweeps", "80"])
    assert found.exit_code == 0, found.output
    assert "20 sweeps were too few, by R-hat: the run went on to 80, of which 40" in found.output
    report = json.loads((tmp_path / "one" / "report.json").read_text())
    assert (report["sweeps"], report["burn_in"]) == (80, 40)
    wanted = CliRunner().invoke(main, [*words, str(tmp_path / "two"), "--sweeps", "80"])
    assert "too few" not in wanted.output
    histograms = [np.load(tmp_path / name / "histogram.npz")["counts"] for name in ("one", "two")]
    assert np.array_equal(*histograms)
    assert report["settings"]["sweeps_too_few"] == 20
    alone = CliRunner().invoke(main, [*words, str(tmp_path / "three")])
    assert json.loads((tmp_path / "three" / "report.json").read_text())["sweeps"] == 20, alone.output
    told = CliRunner().invoke(main, ["run", "problem", str(tmp_path / "field.npz"), "--backend", "rtl", "--no-report", "-o",
                                     str(tmp_path / "four"), "--most-sweeps", "80"])
    assert "Note: most-sweeps is for chains that do not agree; rtl shows no sweeps" in told.output


@CHAINS_WHOSE_ENERGIES
@pytest.mark.parametrize(("options", "most"), [
    ({}, 2000), ({"sweeps": 30}, 0), ({"burn_in": 30}, 0), ({"anneal": True}, 0), ({"final_temperature": 1.0}, 0),
    ({"estimate": "last"}, 0), ({"estimate": "mean"}, 2000), ({"sweeps": 30, "most_sweeps": 70}, 70), ({"data": "grey"}, 2000)])
def test_who_goes_on_by_itself(options, most):
    from mrfhw.applications.stereo.job import APPLICATION

    scene = stereo_scene(24, 20, 4, 1)
    job = APPLICATION.job_of({"left": scene.left, "right": scene.right, "labels": 4, **options})
    assert job.most_sweeps == most
    assert job.settings["most_sweeps"] == (most or None)


@pytest.mark.tools
@CHAINS_WHOSE_ENERGIES
@pytest.mark.parametrize("verb", ["stereo", "problem"])
def test_help_lists_the_limit_where_runs_go_on(verb):
    said = {command: CliRunner().invoke(main, ["help", command, verb]).output for command in ("run", "verify")}
    assert "--most-sweeps" in said["run"]
    assert "--most-sweeps" not in said["verify"]


@pytest.mark.parametrize(("options", "most"), [
    ({}, 2000), ({"sweeps": 30}, 0), ({"burn_in": 30}, 0), ({"estimate": "last"}, 0), ({"sweeps": 30, "most_sweeps": 40}, 40)])
def test_whose_fields_go_on_by_themselves(tmp_path, options, most):
    from mrfhw.applications.field.job import APPLICATION

    assert APPLICATION.job_of({"file": SLOW, **options}).most_sweeps == most
    SLOW.save(tmp_path / "field.npz", RUN)
    assert APPLICATION.job_of({"file": tmp_path / "field.npz"}).most_sweeps == 0  # its sweeps are given


def test_where_no_run_goes_on():
    with pytest.raises(mrfhw.ProblemError, match=r"^most_sweeps is 40; a session goes on by continue_: leave most_sweeps out$"):
        mrfhw.Session(SLOW, burn_in=10, most_sweeps=40)


@pytest.mark.parametrize(("options", "message"), [
    ({"most_sweeps": 10}, "most-sweeps is 10; the run has 500 sweeps: give as many or more"),
    ({"most_sweeps": 0}, "most-sweeps is 0; the limits are 1 to 2147483647: give the sweeps of a chain at most"),
    ({"most_sweeps": 900, "anneal": True},
     "most-sweeps is 900; where the temperature changes no more sweeps are added: drop it, or hold the temperature"),
    ({"most_sweeps": 900, "estimate": "last"},
     "most-sweeps is 900; to an estimate that is the last sample no more sweeps are added: drop it, or give estimate mode or "
     "mean")])
def test_wrong_words(options, message):
    scene = stereo_scene(24, 20, 4, 1)
    with pytest.raises(mrfhw.ProblemError) as found:
        mrfhw.stereo(scene.left, scene.right, labels=4, **options)
    assert str(found.value) == message
