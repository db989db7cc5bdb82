"""Images larger than the machine: windows, and that they change nothing but the order of the sites."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from mrfhw.apps.motion import motion_problem
from mrfhw.apps.stereo import stereo_problem
from mrfhw.config import Config
from mrfhw.problem import Problem, ProblemError, Run, Schedule
from mrfhw.runtime.backends import solve
from mrfhw.runtime.windows import WindowPlan
from support.window_reference import windowed_run

SMALL = Config(mesh_rows=2, mesh_cols=2, spus=1, tile_rows=8, tile_cols=8)


def _stereo(rows: int, cols: int, labels: int = 5, **changes: object) -> Problem:
    rng = np.random.default_rng(4)
    right = rng.integers(0, 64, (rows, cols))
    left = np.roll(right, 3, 1) + rng.integers(0, 3, (rows, cols))
    return stereo_problem(left.clip(0, 63), right, labels=labels, min_disparity=2, **changes)  # type: ignore[arg-type]


def _motion(rows: int, cols: int) -> Problem:
    rng = np.random.default_rng(5)
    first = rng.integers(0, 64, (rows, cols))
    return motion_problem(first, np.roll(first, (1, -1), (0, 1)), rows=3, cols=5)


def _denoise(rows: int, cols: int) -> Problem:
    rng = np.random.default_rng(6)
    clamped, observed = rng.random((2, rows, cols)) < 0.2
    return Problem(labels=6, singleton1=rng.integers(0, 64, (rows, cols)), constants=np.arange(0, 60, 10), beta=3, tau=3,
                   clamped=clamped, observed=~observed, schedule=Schedule.geometric(8, 0.9, 2))


PROBLEMS = {"stereo": _stereo(21, 40), "motion": _motion(37, 19), "denoise": _denoise(30, 33), "column": _denoise(50, 3),
            "cooling": _stereo(20, 19, schedule=Schedule.of_table((9.0, 5.0, 2.5), 2))}


@pytest.mark.parametrize("name", PROBLEMS)
@pytest.mark.parametrize("sampler", ["race", "cdf"])
def test_windows_equal_the_whole_grid(name, sampler):
    config, problem = dataclasses.replace(SMALL, sampler=sampler), PROBLEMS[name]
    run = Run(sweeps=7, burn_in=4, seed=11)
    result = solve("model", config, problem, run, visit=3)
    labels, counts = windowed_run(config, problem, run, 3)
    assert result.extra["windows"] > 1
    assert result.extra["visits"] == 3 * result.extra["windows"]
    assert np.array_equal(result.last, labels)
    assert np.array_equal(result.counts, counts)


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
    problem = _stereo(16, 16)
    assert len(WindowPlan(SMALL, problem).windows) == 1
    run = Run(sweeps=4, burn_in=1)
    result = solve("model", SMALL, problem, run)
    assert result.messages is not None
    assert "windows" not in result.extra


@pytest.mark.parametrize("name", ["stereo", "denoise"])
def test_hardware_sweeps_windows_as_the_model_does(name):
    run = Run(sweeps=5, burn_in=2, seed=3)
    rtl, model = (solve(backend, SMALL, PROBLEMS[name], run, visit=2) for backend in ("rtl", "model"))
    assert np.array_equal(rtl.counts, model.counts)
    assert np.array_equal(rtl.last, model.last)
    for what in ("cycles", "stall_cycles", "gap_cycles", "log_messages"):
        assert getattr(rtl, what) == getattr(model, what), what
    assert rtl.extra["loading_cycles"] - model.extra["loading_cycles"] == 0
    # A chip's first read after a run starts a cycle sooner than one that follows another access.
    assert model.extra["reading_cycles"] - rtl.extra["reading_cycles"] == rtl.extra["visits"]


def test_observed_after_each_round():
    seen: list[tuple[int, int]] = []
    solve("model", SMALL, PROBLEMS["stereo"], Run(sweeps=5, burn_in=2), visit=2,
          observe=lambda done, labels: seen.append((done, labels.size)))
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
        solve("model", SMALL, _stereo(20, 90, labels=40), Run(sweeps=4))


@pytest.mark.parametrize("sampler", ["race", "cdf"])
def test_full_hd_on_sixteen_tiles_of_two_lanes(sampler):
    """1920x1080 sites, 8 labels, on the default machine: 40 windows."""
    problem = _stereo(1080, 1920, 8)
    config, run = Config(sampler=sampler), Run(sweeps=3, burn_in=1, seed=2)
    result = solve("model", config, problem, run, visit=2)
    labels, counts = windowed_run(config, problem, run, 2)
    assert result.extra["windows"] == 40
    assert np.array_equal(result.last, labels)
    assert np.array_equal(result.counts, counts)
