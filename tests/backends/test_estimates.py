"""Runs that keep what their estimate needs and no more: sums of labels in LMem for the mean, nothing for the last sample."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from mrfhw.backends.backend import Pauses
from mrfhw.backends.plan import Plan, solve
from mrfhw.driver.driver import ChipError, Driver
from mrfhw.driver.readout import read_result
from mrfhw.field.problem import ESTIMATES, Problem, ProblemError, Run
from mrfhw.field.result import Result, first_difference
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.entry_sums import entries_of_sums, sums_of_entries
from mrfhw.machine.registers import MODE_BITS, register
from mrfhw.placement.placement import Placement
from mrfhw.runs.chains import sample
from mrfhw.simulation.chip import CompiledChip, run_placed
from support.begun import begun
from support.boards import TINY, TINY_OPTIONS, board
from support.comparing import check_sums
from support.interrupted import assert_same, in_pieces, small_problem, whole
from support.windowed import PROBLEMS, SMALL, Recording

RUNS_MEAN_KEEP = pytest.mark.claim("runtime",
    "runs for the mean keep sums and runs for the last sample nothing; RTL, board and model are equal, however long and "
    "interrupted (more cases: make long)")

# An entry of 5 bits holds the sums of 6 sweeps of 6 labels.
NARROW = dataclasses.replace(SMALL, label_bits=3, counter_bits=1)
PIECE = 6
RUN = Run(sweeps=4 + 4 * PIECE + 3, burn_in=4, seed=7, estimate="mean")


def of_histogram(config: Config, problem: Problem, run: Run, **options: object) -> np.ndarray:
    """(H, W, 2): the sums of a run from the histogram of the same run."""
    counts = solve("model", config, problem, dataclasses.replace(run, estimate="mode"), **options).counts
    return np.stack([counts @ np.arange(problem.labels), counts.sum(-1)], -1)


@RUNS_MEAN_KEEP
def test_an_entry_holds_what_is_stated():
    config = Derived.of(NARROW)
    assert (config.sum_bits, config.sum_sweeps(6), config.sum_sweeps(2)) == (5, PIECE, 31)
    assert Derived().sum_bits == 22
    sums = np.arange(32).reshape(4, 8)
    lmem = entries_of_sums(config, np.full((4, 8), 5), sums)
    assert np.array_equal(sums_of_entries(config, lmem), sums)
    assert (lmem[..., 0] == 5).all()
    assert (lmem[..., 1].max(), lmem[..., 2].max(), lmem[..., 3].max()) == (1, 7, 1)
    ends, at = [], 0
    p = Placement(NARROW, whole("constant"), RUN)
    while at < RUN.sweeps:
        assert p.sums_end(at) == (at in ends)
        at = p.piece_end(at)
        ends.append(at)
    assert ends == [10, 16, 22, 28, 31]
    assert p.again(dataclasses.replace(RUN, estimate="mode")).piece_end(5) == RUN.sweeps


@pytest.mark.tools
@RUNS_MEAN_KEEP
@pytest.mark.parametrize("changes", [*(pytest.param(one, marks=pytest.mark.long) for one in (
                                         {}, {"spus": 2, "lmem_banks": 4}, {"sampler": "cdf", "spus": 4})),
                                     {"lanes": 4, "lmem_banks": 4}],
                         ids=str)
def test_hardware_adds_labels_as_the_model_does(changes):
    """More sweeps than an entry holds, some sites clamped, temperatures that change; every bit and every cycle."""
    config = dataclasses.replace(NARROW, **changes)
    placement = Placement(config, whole("table"), RUN)
    model = solve("model", config, placement.problem, RUN)
    with CompiledChip(config, quick=True) as chip:
        for run in (RUN, dataclasses.replace(RUN, sweeps=4 + PIECE), dataclasses.replace(RUN, sweeps=5 + PIECE)):
            rtl, wanted = run_placed(chip, placement.again(run)), solve("model", config, placement.problem, run)
            assert first_difference(rtl, wanted) is None
            assert (rtl.messages_counted, len(rtl.messages), rtl.counts) == (0, 0, None)
            check_sums(placement.again(run), rtl)
        # Between runs of sums the same chip makes histograms, and none.
        for estimate in ("mode", "last", "mean"):
            run = dataclasses.replace(RUN, estimate=estimate)
            found = run_placed(chip, placement.again(run))
            assert first_difference(found, solve("model", config, placement.problem, run)) is None
            # The last sample alone is in the first of an entry's words, and nothing in the second.
            assert estimate != "last" or not Driver(config, chip).lmem(placement)[..., 1:].any()
            way = Derived.of(config).bus_read_cycles(0)
            # An entry that is read as one word has both.
            parts = 2 if estimate == "last" and not Derived.of(config).lmem_row_reads else 1
            assert found.reading_cycles - way == (rtl.reading_cycles - way) // parts
    assert (model.sums[..., 1] == np.where(placement.problem.clamped, 0, RUN.counted)).all()
    assert (model.sums[placement.problem.clamped] == 0).all()


@RUNS_MEAN_KEEP
@pytest.mark.parametrize("estimate", ["mean", "last"])
@pytest.mark.parametrize("backend", ["float", "model"])
def test_chains_go_on(tmp_path, backend, estimate):
    """Deaths in the burn-in, in a piece, where sums are cleared, and between chains."""
    run = dataclasses.replace(RUN, estimate=estimate)
    wanted = sample(backend, NARROW, whole("geometric"), run, chains=2)
    for every, stops in (("2", [1, 4, 5, 8, 11, 20]), (str(4 + PIECE), [1, 3, 5])):
        found, turns = in_pieces(backend, NARROW, whole("geometric"), run, tmp_path / every, stops, every, chains=2)
        assert turns == len(stops)
        assert_same(found, wanted, cycles=True)
        assert (found.sums is None) == (estimate == "last")
        if found.sums is not None:
            assert np.array_equal(found.sums, sum(result.sums for result in wanted.results))
            assert np.array_equal(found.sums[..., 1], 2 * RUN.counted * ~whole("geometric").clamped)


@pytest.mark.tools
@RUNS_MEAN_KEEP
@pytest.mark.parametrize("estimate", ["mean", pytest.param("last", marks=pytest.mark.long)])
def test_a_chip_goes_on(tmp_path, estimate):
    """Switched off in a piece and where the sums are cleared."""
    run = dataclasses.replace(RUN, estimate=estimate)
    wanted = sample("model", NARROW, whole("geometric"), run, traced=False)
    for every, stops in (("3", [1, 4]), (str(4 + PIECE), [1, 2])):
        found, turns = in_pieces("rtl", NARROW, whole("geometric"), run, tmp_path / every, stops, every, traced=False)
        assert turns == 2
        assert_same(found, wanted, cycles=False)
    problem, run = PROBLEMS["cooling"], Run(sweeps=7, burn_in=3, estimate=estimate)
    wanted = sample("model", SMALL, problem, run, visit=3, traced=False)
    found, _ = in_pieces("rtl", SMALL, problem, run, tmp_path / "windows", [4], "0s", visit=3, traced=False)
    assert_same(found, wanted, cycles=False)


@pytest.mark.tools
@RUNS_MEAN_KEEP
@pytest.mark.parametrize("pauses", [Pauses(sweeps=4), Pauses(sweeps=PIECE), Pauses(sweeps=4 + PIECE), Pauses(seconds=0)])
def test_pauses_change_no_sums(pauses):
    wanted, plan = solve("model", NARROW, whole("geometric"), RUN), Plan.of("rtl", NARROW, whole("geometric"))
    with plan.open(RUN.sweeps) as session:
        pauses.restart(0)
        active = begun(plan, session, RUN, pauses=pauses)
        while not active.finished:
            so_far = active.state().so_far
            assert np.array_equal(so_far.sums, solve("model", NARROW, whole("geometric"), dataclasses.replace(
                RUN, sweeps=active.sweeps, burn_in=min(RUN.burn_in, active.sweeps - 1),
                estimate="mean")).sums * (active.sweeps > RUN.burn_in))
            pauses.restart(active.sweeps)
            active.advance()
        found = active.result()
    found = dataclasses.replace(found, cycles=wanted.cycles, gap_cycles=wanted.gap_cycles, stall_cycles=wanted.stall_cycles)
    assert first_difference(found, wanted) is None


@pytest.mark.slow
@RUNS_MEAN_KEEP
@pytest.mark.parametrize("windows", [False, True])
def test_a_board_adds_labels(tmp_path, windows):
    """More than an entry of 7 bits holds, whole, in windows, and taken up again after a death."""
    problem = small_problem(23 if windows else 16)
    run, visit = Run(sweeps=77, burn_in=5, seed=2, estimate="mean"), 40 if windows else None
    problem = problem.with_schedule(whole("constant").schedule)
    assert Derived.of(TINY).sum_sweeps(problem.labels) == 31
    wanted = sample("model", TINY, problem, run, visit=visit, traced=False)
    with board("tcp://127.0.0.1:0", *TINY_OPTIONS) as one:
        whole_run = solve(one.address, TINY, problem, run, visit=visit)
        found, turns = in_pieces(one.address, TINY, problem, run, tmp_path / "kept", [1], "36", visit=visit, traced=False)
    assert turns == 1
    for result in (whole_run, *found.results):
        other = wanted.results[0]
        assert np.array_equal(result.sums, other.sums)
        assert np.array_equal(result.last, other.last)
        assert result.log_messages == other.log_messages == 0
    assert first_difference(whole_run, wanted.results[0]) is None
    assert np.array_equal(wanted.results[0].sums, of_histogram(TINY, problem, run, visit=visit))


@pytest.mark.tools
@RUNS_MEAN_KEEP
@pytest.mark.parametrize("name", PROBLEMS)
def test_sums_of_windows(name):
    """Each site's sum is that of the histogram, visits longer than an entry holds included; in hardware as in the model."""
    problem = PROBLEMS[name]
    config = dataclasses.replace(SMALL, label_bits=4, counter_bits=1)
    most = Derived.of(config).sum_sweeps(problem.labels)
    run, visit = Run(sweeps=2 * most + 7, burn_in=3, seed=11, estimate="mean"), most + 4
    model = solve("model", config, problem, run, visit=visit)
    assert model.windows > 1
    assert model.counts is None
    assert np.array_equal(model.sums, of_histogram(config, problem, run, visit=visit))
    if name in ("motion", "cooling"):
        rtl = solve("rtl", config, problem, run, visit=visit)
        assert first_difference(rtl, model) is None


@pytest.mark.tools
@RUNS_MEAN_KEEP
@pytest.mark.parametrize("backend", ["float", "model", "rtl"])
@pytest.mark.parametrize("problem", [whole("geometric"), PROBLEMS["denoise"]], ids=["whole", "windows"])
def test_estimates_change_no_label(backend, problem):
    """The samples are the same; the last one is kept without counting, and sends no log."""
    results: dict[str, Result] = {}
    for estimate in ESTIMATES:
        run = Run(sweeps=7, burn_in=2, seed=5, estimate=estimate)
        found = results[estimate] = solve(backend, SMALL, problem, run, visit=3)
        kept = {"mode": found.counts, "mean": found.sums}
        assert [name for name, array in kept.items() if array is not None] == [name for name in kept if name == estimate]
        if backend != "float":
            assert (found.messages_counted > 0) == (estimate == "mode")
        assert np.array_equal(found.last, results["mode"].last)
    counts = results["mode"].counts
    assert np.array_equal(results["mean"].sums, np.stack([counts @ np.arange(problem.labels), counts.sum(-1)], -1))


def test_the_mode_register_says_what_entries_hold():
    for estimate, sums, burn_in in (("mode", 0, 4), ("mean", 1, 4), ("last", 0, RUN.sweeps)):
        chip = Recording()
        Driver(NARROW, chip).load(Placement(NARROW, whole("constant"), dataclasses.replace(RUN, estimate=estimate)))
        assert chip.words[register("mode")] >> MODE_BITS["sums"] & 1 == sums
        assert chip.words[register("burn_in")] == burn_in


@RUNS_MEAN_KEEP
def test_sums_that_no_labels_have_are_refused():
    """Of a clamped site, and more than so many largest labels come to."""
    problem = whole("constant")
    run = Run(sweeps=6, burn_in=2, seed=1, estimate="mean")
    placement = Placement(NARROW, problem, run)
    model = solve("model", NARROW, problem, run)
    counters = {"cycles": model.cycles, "stall_cycles": 0, "gap_cycles": model.gap_cycles, "messages": 0, "lines": 1,
                "label_cycles": 2 * placement.order.turns * run.sweeps * placement.slots}
    log = bytes(NARROW.line_bits // 8)
    assert np.array_equal(read_result(counters, placement, log, model.lmem, wall=0.0).sums, model.sums)
    free, clamped = (tuple(np.argwhere(problem.clamped == value)[0]) for value in (False, True))
    for site, wrong in ((free, 4 * 5 + 1), (clamped, 1)):
        sums = sums_of_entries(NARROW, model.lmem)
        sums[site] = wrong
        lmem = entries_of_sums(NARROW, model.last, sums)
        with pytest.raises(ChipError, match=rf"^LMem has the sum {wrong} of \d labels of the site in row {site[0]} and column "
                                            rf"{site[1]}, and there are 6 labels \(1 such sites\): solve the problem again$"):
            read_result(counters, placement, log, lmem, wall=0.0)


def test_refused_estimates():
    with pytest.raises(ProblemError, match=r"^estimate is 'median'; it must be one of mode, mean, last: choose one$"):
        Run(sweeps=4, estimate="median")
