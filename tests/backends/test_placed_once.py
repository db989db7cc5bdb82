"""What follows from a problem on a machine is worked out once, whatever the number of chains, rounds and visits."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from mrfhw.backends import plan as backends
from mrfhw.backends.plan import solve
from mrfhw.backends.windows import WindowPlan
from mrfhw.field.problem import Problem, ProblemError, Run, Schedule
from mrfhw.machine.config import Config
from mrfhw.placement import placement as placing
from mrfhw.placement.placement import Placement, place
from mrfhw.runs.chains import sample
from mrfhw.samplers.exact import FloatTables
from mrfhw.twin import machine
from mrfhw.twin.machine import Tables

pytestmark = pytest.mark.claim("placement",
    "a problem is checked, placed and put into tables once for all chains, rounds and visits, and that changes no result")

SMALL = Config(mesh_rows=2, mesh_cols=2, spus=1, tile_rows=8, tile_cols=8)
RUN = Run(sweeps=9, burn_in=2, seed=4)


def field(shape, schedule=None):
    rng = np.random.default_rng(6)
    clamped, observed = rng.random((2, *shape)) < 0.2
    return Problem(labels=6, singleton1=rng.integers(0, 64, shape), constants=np.arange(0, 60, 10), beta=3, tau=3, clamped=clamped,
                   observed=~observed, schedule=schedule or Schedule.geometric(8, 0.9, 2))


@pytest.fixture
def counted(monkeypatch):
    """How often a problem is placed (and so checked), put into tables, and a float's problem is."""
    calls = Counter()

    def count(owner, name):
        inner = getattr(owner, name)

        def wrapper(*arguments, **options):
            calls[name] += 1
            return inner(*arguments, **options)
        monkeypatch.setattr(owner, name, wrapper)

    count(placing, "check_fits")
    count(backends, "check_fits")
    for table in ("singles", "doubles", "energy_bound"):
        count(machine, table)
    count(Problem, "__post_init__")
    count(FloatTables, "__init__")
    return calls


@pytest.mark.parametrize("schedule", [None, Schedule.constant(5.0), Schedule.of_table((3.0, 20.0, 6.0), 2)])
def test_windows_are_placed_once_for_all_chains_and_rounds(counted, schedule):
    problem = field((30, 33), schedule)
    counted.clear()
    solution = sample("model", SMALL, problem, RUN, chains=2, visit=2)
    windows = solution.results[0].windows
    assert windows > 4
    assert [result.rounds for result in solution.results] == [5, 5]
    assert counted["singles"] == counted["doubles"] == counted["energy_bound"] == windows
    # The whole problem is checked, and a few windows of plans that were not taken.
    placed = counted["check_fits"] - 1
    assert windows <= placed == counted["__post_init__"] <= windows + 8
    counted.clear()
    sample("model", SMALL, problem, RUN, chains=1, visit=9)
    assert counted["singles"] == windows


def test_a_whole_grid_is_placed_once_for_all_chains(counted):
    problem = field((16, 16))
    counted.clear()
    sample("model", SMALL, problem, RUN, chains=3)
    assert counted == {"check_fits": 2, "singles": 1, "doubles": 1, "energy_bound": 1}  # the problem, and the one as it is placed
    sample("float", SMALL, problem, RUN, chains=3)
    assert counted["__init__"] == 1


def test_shared_tables_change_nothing():
    problem = field((30, 33))
    together = sample("model", SMALL, problem, RUN, chains=2, visit=2).results
    for seed, one in zip((4, 5), together, strict=True):
        alone = solve("model", SMALL, problem, Run(sweeps=9, burn_in=2, seed=seed), visit=2)
        assert np.array_equal(alone.last, one.last)
        assert np.array_equal(alone.counts, one.counts)
        assert (alone.cycles, alone.log_messages) == (one.cycles, one.log_messages)


def test_tables_are_kept_where_there_is_room():
    plan = WindowPlan(SMALL, field((30, 33)))
    assert len({placed.room for placed in plan.placements}) == 1
    roomy = plan.placements[0]
    assert Tables.of(roomy.again(RUN), False) is Tables.of(roomy.again(RUN), False)
    wide = Tables.of(roomy.again(RUN), True)
    assert wide.wide
    assert Tables.of(roomy, False) is wide  # what is wide serves narrow energies too
    narrow = Placement(SMALL, field((9, 9)), RUN).with_room(100)
    assert Tables.of(narrow, False) is not Tables.of(narrow, False)
    assert "tables" not in narrow.derived


def test_a_further_run_shares_all_but_its_labels_and_schedule():
    first = Placement(SMALL, field((12, 14)), RUN)
    initial = first.initial
    other = Run(sweeps=3, seed=9, initial=np.full((12, 14), 2))
    again = first.again(other, Schedule.constant(4.0))
    assert again.derived is first.derived
    assert again.order is first.order
    assert again.clamped is first.clamped
    assert (again.initial == 2).all()
    assert first.initial is initial
    assert (first.run, again.run) == (RUN, other)
    assert again.problem.schedule == Schedule.constant(4.0)
    assert again.problem.singleton1 is first.problem.singleton1
    assert place(SMALL, again, other) is again
    with pytest.raises(ProblemError, match="temperature is 1e\\+09; this machine realizes"):
        first.again(other, Schedule.constant(1e9))
