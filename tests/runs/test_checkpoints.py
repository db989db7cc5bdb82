"""A run that is killed and taken up from its checkpoint ends with the bits of one that was never interrupted."""

from __future__ import annotations

import contextlib
import dataclasses
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from mrfhw.backends.backend import Pauses
from mrfhw.backends.plan import Plan, solve
from mrfhw.cli import main
from mrfhw.field.problem import ProblemError, Run, Schedule, save_problem
from mrfhw.field.records import Record, read_record, write_record
from mrfhw.field.result import first_difference
from mrfhw.machine.config import Config
from mrfhw.runs.chains import sample
from mrfhw.runs.checkpoint import Checkpoint, Keeping, pauses_of
from support.begun import begun
from support.boards import TINY, TINY_OPTIONS, board
from support.interrupted import SCHEDULES, Stop, assert_same, in_pieces, small_problem, whole
from support.watching import Told
from support.windowed import PROBLEMS, SMALL

RUN_KILLED_RESUMED = pytest.mark.claim("checkpoints",
    "a run that is killed and resumed ends with the bits of one that was not: every backend, chains, windows, all schedules "
    "(boards, cpu, float, events, gpu, lanes that share a site, twenty kills: make long)")


@RUN_KILLED_RESUMED
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize(("backend", "sampler"), [("float", "race"), ("model", "race"), ("model", "cdf")])
def test_chains_go_on(tmp_path, backend, sampler, schedule):
    """Three chains that die five times, at any sweep: in the burn-in, between chains, after them."""
    config, problem, run = dataclasses.replace(SMALL, sampler=sampler, counter_bits=2), whole(schedule), Run(sweeps=11, burn_in=4)
    wanted = sample(backend, config, problem, run, chains=3)
    found, turns = in_pieces(backend, config, problem, run, tmp_path / "kept", [2, 5, 6, 11, 17], "2", chains=3)
    assert turns == 5
    assert_same(found, wanted, cycles=True)
    assert [path.name for path in tmp_path.iterdir()] == ["kept"]
    again = sample(backend, config, problem, run, chains=3, keeping=Keeping(resume=tmp_path / "kept"))
    assert_same(again, wanted, cycles=True)  # of a run that is over


def test_a_file_with_the_former_name_of_arrays_goes_on(tmp_path):
    path, problem, run = tmp_path / "kept", whole("constant"), Run(sweeps=6)
    wanted = sample("model", SMALL, problem, run)

    def progress(done: int) -> None:
        if done > 4:
            raise Stop

    with pytest.raises(Stop):
        sample("model", SMALL, problem, run, keeping=Keeping(path, pauses_of("3")), watch=Told(progress))
    held = read_record(path, "checkpoint")
    arrays = {name.replace("more.", "timing."): array for name, array in held.arrays.items()}
    assert arrays.keys() != held.arrays.keys()
    write_record(path, Record("checkpoint", held.scalars, arrays))
    assert_same(sample("model", SMALL, problem, run, keeping=Keeping(resume=path)), wanted, cycles=True)


@RUN_KILLED_RESUMED
@pytest.mark.parametrize("name", PROBLEMS)
def test_windows_go_on(tmp_path, name):
    """Deaths between the visits of a round, too; a cooling schedule goes on with its own coefficients."""
    run = Run(sweeps=7, burn_in=3, seed=11)
    wanted = sample("model", SMALL, PROBLEMS[name], run, chains=2, visit=3)
    found, turns = in_pieces("model", SMALL, PROBLEMS[name], run, tmp_path / "kept", [1, 3, 4, 8, 13], "0s", chains=2, visit=3)
    assert turns == 5
    # What a machine held is loaded again.
    assert found.results[0].loading_cycles > wanted.results[0].loading_cycles
    found.results[0].loading_cycles, found.results[1].loading_cycles = (one.loading_cycles for one in wanted.results)
    assert_same(found, wanted, cycles=True)


def test_messages_that_were_folded_stay_counted(tmp_path, monkeypatch):
    from mrfhw.twin import machine

    monkeypatch.setattr(machine, "_KEPT", 500)
    config, run = dataclasses.replace(SMALL, counter_bits=1), Run(sweeps=12, burn_in=1)
    wanted = sample("model", config, whole("constant"), run)
    assert wanted.results[0].messages is None
    found, _ = in_pieces("model", config, whole("constant"), run, tmp_path / "kept", [2, 5], "2")
    assert_same(found, wanted, cycles=True)


@pytest.fixture(scope="module")
def saturated() -> Config:
    return dataclasses.replace(SMALL, counter_bits=1, hub_depth=1)


def test_cycles_go_on_where_the_log_stalls(tmp_path, saturated):
    problem = dataclasses.replace(whole("constant"), labels=2, constants=np.array([20, 40]), schedule=Schedule.constant(900.0))
    wanted = sample("model", saturated, problem, Run(sweeps=9))
    assert wanted.results[0].stall_cycles
    found, _ = in_pieces("model", saturated, problem, Run(sweeps=9), tmp_path / "kept", [1, 3, 4, 7], "1")
    assert_same(found, wanted, cycles=True)


@pytest.mark.tools
@RUN_KILLED_RESUMED
@pytest.mark.parametrize(("schedule", "stops", "chains"), [
    pytest.param("geometric", [2, 3], 1, marks=pytest.mark.long), ("table", [1, 7], 2)])
def test_the_compiled_chip_goes_on(tmp_path, schedule, stops, chains):
    """LMem with its counts, generators, order of rows and temperature are taken back into a chip that was switched off."""
    run = Run(sweeps=17, burn_in=6, seed=3)
    wanted = sample("model", SMALL, whole(schedule), run, chains=chains, traced=False)
    found, turns = in_pieces("rtl", SMALL, whole(schedule), run, tmp_path / schedule, stops, "3", chains=chains, traced=False)
    assert turns == 2
    assert_same(found, wanted, cycles=False)


@pytest.mark.tools
@RUN_KILLED_RESUMED
def test_windows_on_the_compiled_chip_go_on(tmp_path):
    problem, run = PROBLEMS["cooling"], Run(sweeps=7, burn_in=3)
    wanted = sample("model", SMALL, problem, run, visit=3, traced=False)
    found, turns = in_pieces("rtl", SMALL, problem, run, tmp_path / "windows", [4], "0s", visit=3, traced=False)
    assert turns == 1
    assert_same(found, wanted, cycles=False)
    assert found.results[0].cycles == wanted.results[0].cycles  # a visit is never cut


@pytest.mark.tools
def test_pauses_change_nothing(tmp_path):
    """On a chip that goes on in place; by sweeps and by the clock."""
    run = Run(sweeps=17, burn_in=6, seed=3)
    wanted = solve("model", SMALL, whole("geometric"), run)
    plan = Plan.of("rtl", SMALL, whole("geometric"))
    with plan.open(run.sweeps) as session:
        for pauses in (Pauses(sweeps=4), Pauses(seconds=0)):
            pauses.restart(0)
            active, paused = begun(plan, session, run, pauses=pauses), 0
            while not active.finished:
                paused += 1
                assert active.state().sweeps == active.sweeps
                pauses.restart(active.sweeps)
                active.advance()
            assert paused >= 2
            found = active.result()
            assert found.cycles > wanted.cycles
            found = dataclasses.replace(found, cycles=wanted.cycles, gap_cycles=wanted.gap_cycles, stall_cycles=wanted.stall_cycles)
            assert first_difference(found, wanted) is None


@pytest.mark.slow
@RUN_KILLED_RESUMED
@pytest.mark.parametrize("windows", [False, True])
def test_a_board_goes_on(tmp_path, windows):
    problem = small_problem(23 if windows else 16)
    run, visit = Run(sweeps=16, burn_in=5, seed=2), 4 if windows else None
    wanted = sample("model", TINY, problem, run, chains=2, visit=visit, traced=False)
    with board("tcp://127.0.0.1:0", *TINY_OPTIONS) as one:
        found, turns = in_pieces(one.address, TINY, problem, run, tmp_path / "kept", [1, 4], "5", chains=2, visit=visit,
                                 traced=False)
    assert turns == 2
    for result, other in zip(found.results, wanted.results, strict=True):
        assert np.array_equal(result.counts, other.counts)
        assert np.array_equal(result.last, other.last)
        assert result.log_messages == other.log_messages
        if not windows:
            assert np.array_equal(result.lmem, other.lmem)


# -- real deaths


ARRAYS = ("labels.npy", "last.npy", "entropy.npy", "histogram.npz")


def outputs(directory: Path) -> dict[str, object]:
    """The files' arrays, byte for byte, and what of the report does not depend on the time."""
    report = json.loads((directory / "report.json").read_text())
    kept = {name: report[name] for name in ("cycles", "stall_cycles", "gap_cycles", "log_messages", "label_evaluations",
                                            "uncertainty", "convergence")}
    # A last sample alone has no entropy and no histogram.
    return {**{name: (directory / name).read_bytes() for name in ARRAYS if name in report["files"]}, **kept}


def killed_and_resumed(tmp_path: Path, options: list[str], kills: int, seed: int) -> int:
    """Run a field as a program that is killed at random moments, and resumed until it ends; the number of kills."""
    rng, kept = np.random.default_rng(seed), tmp_path / "kept"
    command = [sys.executable, "-m", "mrfhw", "run", "problem", str(tmp_path / "field.npz"), *options, "-o", str(tmp_path / "out"),
               "--checkpoint", str(kept)]
    environment = {**os.environ, "MRFHW_THREADS": "1"}
    for done in range(4 * kills):
        resume = ["--resume", str(kept)] if kept.exists() else []
        process = subprocess.Popen([*command, *resume], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)
        writes, seen = int(rng.integers(0, 8)) if done < kills else 1 << 30, None
        # Most die soon after they have written a checkpoint, every fifth at any time: before the first one, while it reads one.
        seconds = float(rng.uniform(0, 1.5)) if done < kills and done % 5 == 0 else 200
        try:
            deadline = time.monotonic() + seconds
            while process.poll() is None and writes >= 0 and time.monotonic() < deadline:
                now = kept.stat().st_ino if kept.exists() else None
                if now != seen:
                    seen, writes = now, writes - 1
                time.sleep(0.0005)
            if writes < 0:
                time.sleep(float(rng.uniform(0, 0.004)))
        finally:
            process.send_signal(signal.SIGKILL)
            _, errors = process.communicate()
        if process.returncode == 0:
            return done
        assert process.returncode == -signal.SIGKILL, errors
    raise AssertionError("the run does not end")


@pytest.mark.slow
@RUN_KILLED_RESUMED
@pytest.mark.parametrize("kills", [6, pytest.param(20, marks=pytest.mark.long)])
def test_many_kills(tmp_path, kills):
    save_problem(tmp_path / "field.npz", whole("geometric"), Run(sweeps=150, burn_in=50, seed=6))
    options = ["--mesh", "2x2", "--spus", "1", "--tile-rows", "8", "--tile-cols", "8", "--counter-bits", "3"]
    result = CliRunner().invoke(main, ["run", "problem", str(tmp_path / "field.npz"), *options, "-o", str(tmp_path / "whole")])
    assert result.exit_code == 0, result.output
    assert killed_and_resumed(tmp_path, [*options, "--checkpoint-every", "1"], kills, 1) == kills
    assert outputs(tmp_path / "out") == outputs(tmp_path / "whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["field.npz", "kept", "out", "whole"]


SHARED = ("--lanes", "4", "--lmem-banks", "4")  # lanes that share a site
WINDOWS = ("--mesh", "1x1")


@pytest.mark.tools
@RUN_KILLED_RESUMED
@pytest.mark.parametrize(("backend", "more", "kills"), [
    ("rtl", (), 2), ("model", WINDOWS, 2), ("tcp", (), 2), ("cpu", (), 2), ("gpu?device=0", (), 2),
    *(pytest.param(*case, marks=pytest.mark.long) for case in (
        ("rtl", (), 20), ("tcp", (), 20), ("cpu", (), 20), ("model", SHARED, 2), ("float", (), 2), ("rtl", SHARED, 2),
        ("events?cutoff=8&region=3x2", ("--estimate", "last"), 2)))])
def test_kills_of_other_backends(tmp_path, backend, more, kills):
    """A board stays as it is when the host's program dies: it may still run, and send answers that nobody reads."""
    with board("tcp://127.0.0.1:0", *TINY_OPTIONS) if backend == "tcp" else contextlib.nullcontext() as found:
        kills_equal_one_run(tmp_path, found.address if found else backend, kills, more)


def kills_equal_one_run(tmp_path: Path, backend: str, kills: int, more: tuple[str, ...] = ()) -> None:
    on_board = backend.startswith("tcp")
    problem = small_problem() if on_board else whole("table")
    save_problem(tmp_path / "field.npz", problem, Run(sweeps=80 + 20 * kills, burn_in=50, seed=6))
    machine = TINY_OPTIONS if on_board else ["--mesh", "2x2", "--spus", "1", "--tile-rows", "8", "--tile-cols", "8"]
    options = [*machine, "--backend", backend, "--no-report", *more]
    result = CliRunner().invoke(main, ["run", "problem", str(tmp_path / "field.npz"), *options, "-o", str(tmp_path / "whole")])
    assert result.exit_code == 0, result.output
    assert killed_and_resumed(tmp_path, [*options, "--checkpoint-every", "4"], kills, 2) == kills
    found, wanted = outputs(tmp_path / "out"), outputs(tmp_path / "whole")
    if backend == "rtl" or on_board:
        assert found["cycles"] - found["stall_cycles"] > wanted["cycles"] - wanted["stall_cycles"]
        for name in ("cycles", "stall_cycles", "gap_cycles"):
            found[name] = wanted[name]
    assert found == wanted


# -- refusals


@RUN_KILLED_RESUMED
@pytest.mark.parametrize(("changes", "named"), [
    ({"problem": whole("table")}, "problem"), ({"run": Run(sweeps=11, burn_in=4, seed=1)}, "run"),
    ({"config": dataclasses.replace(SMALL, counter_bits=3)}, "machine"), ({"backend": "float"}, "backend"),
    ({"chains": 2}, "chains"),
])
def test_another_run_is_refused(tmp_path, changes, named):
    given = {"backend": "model", "config": SMALL, "problem": whole("constant"), "run": Run(sweeps=11, burn_in=4), "chains": 1}
    sample(*list(given.values())[:4], chains=1, keeping=Keeping(tmp_path / "kept", pauses_of("2")))
    given |= changes
    with pytest.raises(ProblemError) as error:
        sample(*list(given.values())[:4], chains=given["chains"], keeping=Keeping(resume=tmp_path / "kept"))
    text = str(error.value)
    assert text.startswith(f"{tmp_path / 'kept'} is a checkpoint of {named} ")
    assert text.endswith(": give the options that it was written with, or leave resume out")
    assert "\n" not in text


@pytest.mark.parametrize("every", ["s", "x", "1.5", "0", "-3s", "nans", ""])
def test_refused_times(every):
    with pytest.raises(ProblemError, match="checkpoint-every is"):
        pauses_of(every)


def test_damaged_checkpoints_are_refused(tmp_path):
    sample("model", SMALL, whole("constant"), Run(sweeps=6), keeping=Keeping(tmp_path / "kept", pauses_of("2")))
    data = (tmp_path / "kept").read_bytes()
    for length in range(0, len(data), len(data) // 97):
        (tmp_path / "cut").write_bytes(data[:length])
        with pytest.raises(ProblemError):
            Checkpoint.load(tmp_path / "cut")
    save_problem(tmp_path / "field", whole("constant"))
    with pytest.raises(ProblemError, match="has the format 'mrfhw problem', not 'mrfhw checkpoint'"):
        Checkpoint.load(tmp_path / "field")


def test_a_time_without_a_file_is_refused(tmp_path):
    save_problem(tmp_path / "field", whole("constant"))
    result = CliRunner().invoke(main, shlex.split(f"run problem {tmp_path / 'field'} --checkpoint-every 5s -o {tmp_path / 'out'}"))
    assert (result.exit_code, result.stderr) == (
        2, "Error: checkpoint-every is 5s, but there is no file to write to: give --checkpoint FILE as well\n")
