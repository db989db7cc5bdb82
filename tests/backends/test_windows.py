"""Images larger than the machine: windows, and that they change nothing but the order of the sites."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from mrfhw.backends.plan import solve
from mrfhw.backends.windows import WindowPlan
from mrfhw.driver.driver import ChipError, Driver, transfer_cycles
from mrfhw.field.problem import ProblemError, Run, Schedule
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.registers import register
from mrfhw.placement.placement import Placement
from mrfhw.samplers.random import lane_states
from support.window_reference import windowed_run
from support.windowed import LANES, PROBLEMS, SMALL, Recording, stereo_grid

IMAGES_LARGER_MACHINE = pytest.mark.claim("runtime",
    "images larger than the machine are swept in windows with the machine's arithmetic on the whole grid, by model and by hardware")
VISIT_WINDOW_WRITES = pytest.mark.claim("driver",
    "a visit of a window writes what the chip does not hold, and the chip then holds all of it, after failed writes too")


@IMAGES_LARGER_MACHINE
@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("sampler", ["race", "cdf"])
def test_windows_equal_the_whole_grid(name, sampler):
    config, problem = dataclasses.replace(SMALL, sampler=sampler), PROBLEMS[name]
    run = Run(sweeps=7, burn_in=4, seed=11)
    result = solve("model", config, problem, run, visit=3)
    labels, counts = windowed_run(config, problem, run, 3)
    assert result.windows > 1
    assert result.visits == 3 * result.windows
    assert np.array_equal(result.last, labels)
    assert np.array_equal(result.counts, counts)


@IMAGES_LARGER_MACHINE
@pytest.mark.parametrize("backend", ["cpu", "float", "model"])
@pytest.mark.parametrize("name", ["stereo", "motion"])
def test_pixels_that_the_second_image_does_not_show_are_as_if_it_ended_there(name, backend):
    whole = PROBLEMS[name]
    shown = np.zeros(whole.singleton2.shape, bool)
    shown[2:-1, 3:-4] = True
    cut = dataclasses.replace(whole, singleton2=whole.singleton2[2:-1, 3:-4], singleton2_origin=(-2, -3))
    run = Run(sweeps=7, burn_in=4, seed=11)
    result, same, other = (solve(backend, SMALL, problem, run) for problem in (dataclasses.replace(whole, shown=shown), cut, whole))
    assert np.array_equal(result.last, same.last)
    assert np.array_equal(result.counts, same.counts)
    assert not np.array_equal(result.counts, other.counts)


def test_a_chip_is_told_which_pixels_the_second_image_shows():
    whole = stereo_grid(8, 12, 3)
    shown = np.random.default_rng(3).random(whole.singleton2.shape) < 0.7
    placements = [Placement(SMALL, problem, Run(sweeps=2)) for problem in (whole, dataclasses.replace(whole, shown=shown))]
    words, fewer = (np.concatenate([word.ravel() for _, _, word in placement.s2_loads()]) for placement in placements)
    valid = 1 << Derived.of(SMALL).datum_bits
    assert (fewer[fewer != words] == 0).all()
    assert np.count_nonzero(words & valid) == shown[:, :-2].size  # the first disparity is 2
    assert np.count_nonzero(fewer & valid) == np.count_nonzero(shown[:, :-2])


@IMAGES_LARGER_MACHINE
@pytest.mark.parametrize("name", PROBLEMS)
def test_every_site_is_drawn_in_one_window(name):
    problem = PROBLEMS[name]
    drawn = np.zeros(problem.shape, int)
    for window in WindowPlan(SMALL, problem).windows:
        drawn[window.drawn] += 1
        held = np.zeros(problem.shape, bool)
        held[window.held] = True
        inside = np.zeros(problem.shape, bool)
        inside[window.drawn] = True
        ring = np.zeros(problem.shape, bool)
        for shift, axis in ((1, 0), (-1, 0), (1, 1), (-1, 1)):
            edge = np.roll(inside, shift, axis)
            edge[(0 if shift == 1 else -1, slice(None)) if axis == 0 else (slice(None), 0 if shift == 1 else -1)] = False
            ring |= edge
        assert held[ring | inside].all()
    assert (drawn == 1).all()


def test_one_window_where_the_machine_holds_the_grid():
    problem = stereo_grid(16, 16)
    assert len(WindowPlan(SMALL, problem).windows) == 1
    run = Run(sweeps=4, burn_in=1)
    result = solve("model", SMALL, problem, run)
    assert result.messages is not None
    assert result.windows is None


@pytest.mark.tools
@IMAGES_LARGER_MACHINE
@VISIT_WINDOW_WRITES
@pytest.mark.parametrize(("config", "name"), [(SMALL, "stereo"), (SMALL, "denoise"), (LANES, "stereo"), (LANES, "motion")])
def test_hardware_sweeps_windows_as_the_model_does(config, name):
    run = Run(sweeps=5, burn_in=2, seed=3)
    rtl, model = (solve(backend, config, PROBLEMS[name], run, visit=2) for backend in ("rtl", "model"))
    assert np.array_equal(rtl.counts, model.counts)
    assert np.array_equal(rtl.last, model.last)
    for what in ("cycles", "stall_cycles", "gap_cycles", "log_messages"):
        assert getattr(rtl, what) == getattr(model, what), what
    assert (rtl.loading_cycles, rtl.reading_cycles) == (model.loading_cycles, model.reading_cycles)


@pytest.mark.parametrize("name", PROBLEMS)
def test_windows_of_tiles_that_hold_their_reach_have_one_site_around_what_they_draw(name):
    """Tiles whose lanes share a site read no other tile's words of the second image."""
    problem = PROBLEMS[name]
    rows, cols = problem.shape
    for window in WindowPlan(LANES, problem).windows:
        for (first, last), (low, high), size in ((window.rows, window.drawn_rows, rows), (window.cols, window.drawn_cols, cols)):
            assert (first, last) == (max(0, low - 1), min(size, high + 1))


def test_observed_after_each_round():
    seen: list[tuple[int, int]] = []
    solve("model", SMALL, PROBLEMS["stereo"], Run(sweeps=5, burn_in=2), visit=2,
          observe=lambda done, labels, energy: seen.append((done, labels.size)))
    assert seen == [(2, 840), (4, 840), (5, 840)]


@pytest.mark.parametrize(("changes", "line"), [
    (dict(visit=0), "visit is 0; a window is swept at least once a visit: give 1 or more"),
    (dict(visit=300), "visit is 300; a changing temperature is loaded as a table of 256 entries: give fewer sweeps a visit"),
])
def test_refused_visits(changes, line):
    with pytest.raises(ProblemError, match="^" + line):
        solve("model", SMALL, PROBLEMS["denoise"], Run(sweeps=400), **changes)


def test_refused_where_margins_leave_nothing():
    with pytest.raises(ProblemError, match="a window of this problem has 2 rows and 40 columns around what is drawn; the machine "
                                           "holds 16x16 sites: give fewer labels, more SPEs or larger tiles"):
        solve("model", SMALL, stereo_grid(20, 90, labels=40), Run(sweeps=4))


@pytest.mark.slow
@IMAGES_LARGER_MACHINE
@pytest.mark.parametrize("sampler", ["race", pytest.param("cdf", marks=pytest.mark.long)])
def test_full_hd_on_sixteen_tiles_of_two_lanes(sampler):
    """1920x1080 sites, 8 labels, on the default machine: 40 windows."""
    problem = stereo_grid(1080, 1920, 8)
    config, run = Config(sampler=sampler), Run(sweeps=3, burn_in=1, seed=2)
    result = solve("model", config, problem, run, visit=2)
    labels, counts = windowed_run(config, problem, run, 2)
    assert result.windows == 40
    assert np.array_equal(result.last, labels)
    assert np.array_equal(result.counts, counts)


@VISIT_WINDOW_WRITES
@pytest.mark.parametrize("name", PROBLEMS)
def test_a_visit_writes_what_differs_and_leaves_the_rest(name):
    """After each load the chip holds word for word what a load of everything gives it, the generators excepted."""
    problem, saved = PROBLEMS[name], 0
    chip = Recording()
    driver = Driver(SMALL, chip)
    windows = WindowPlan(SMALL, problem).windows
    for number, window in enumerate([*windows, windows[-1], windows[0]]):
        cut = dataclasses.replace(window.cut(problem), schedule=Schedule.of_table((9.0, 5.0 + number)))
        placement = Placement(SMALL, cut, Run(sweeps=3, seed=number))
        whole = Recording()
        everything = Driver(SMALL, whole).load(placement)
        chip.written.clear()
        cycles = driver.load(placement, generators=number == 0)
        assert cycles == sum(map(Derived.of(SMALL).bus_write_cycles, chip.written))
        generators = Derived.of(SMALL).bus_write_cycles(lane_states(0, Derived.of(SMALL).generators).size)
        saved += everything - cycles - (generators if number else 0)
        lanes = set(driver.map.generators().tolist())
        for address, word in whole.words.items():
            assert address in lanes or chip.words[address] == word, hex(address)
    assert saved > 0
    # What was written by another way than a load.
    driver.set(slots=2, tile_groups=1)
    driver.load(placement, generators=False)
    assert chip.words[register("slots")] == problem.labels
    # The same window again: labels, and what of the temperatures has changed.
    driver.forget()
    assert driver.load(placement, generators=False) == everything - generators
    again = driver.load(placement, generators=False)
    padded = placement.padded_shape
    assert again == Derived.of(SMALL).bus_write_cycles(padded[0] * padded[1])


@VISIT_WINDOW_WRITES
def test_what_a_failed_write_left_is_written_again():
    chip, problem = Recording(), stereo_grid(16, 16)
    placement, driver = Placement(SMALL, problem, Run(sweeps=3)), Driver(SMALL, chip)
    driver.load(placement)
    other = Placement(SMALL, dataclasses.replace(problem, singleton1=63 - problem.singleton1), Run(sweeps=3))
    kept, calls = chip.write, 0

    def broken(addresses: np.ndarray, data: np.ndarray) -> None:
        nonlocal calls
        calls += 1
        if calls == 1:
            kept(addresses[:20], data[:20])
            raise ChipError("the cable is out")
        kept(addresses, data)

    chip.write = broken  # type: ignore[method-assign]
    with pytest.raises(ChipError):
        driver.load(other, generators=False)
    whole = Recording()
    for one in (placement, other):
        driver.load(one, generators=False)
        Driver(SMALL, whole).load(one)
        lanes = set(driver.map.generators().tolist())
        assert all(chip.words[address] == word for address, word in whole.words.items() if address not in lanes)


@VISIT_WINDOW_WRITES
def test_windows_cost_less_than_loading_all_of_each():
    """In the cycles that model and chip state, beside those of whole loads."""
    for name, least in (("stereo", 0.05), ("motion", 0.05), ("denoise", 0.05)):
        problem = PROBLEMS[name]
        result = solve("model", SMALL, problem, Run(sweeps=8), visit=2)
        placements = [Placement(SMALL, window.cut(problem), Run(sweeps=2)) for window in WindowPlan(SMALL, problem).windows]
        whole = result.rounds * sum(transfer_cycles(one, False)[0] for one in placements)
        assert result.loading_cycles < (1 - least) * whole, (name, result.loading_cycles / whole)
