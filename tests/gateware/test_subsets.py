"""Subsets of a site's slots: the compiled RTL equals the model, and the model's draws are Gibbs sampling of label and window."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from mrfhw.backends.backend import Pauses
from mrfhw.backends.plan import Plan, solve
from mrfhw.field.problem import Problem, ProblemError, Run, Schedule
from mrfhw.field.result import first_difference
from mrfhw.machine.config import Config, ConfigError
from mrfhw.machine.derived import Derived
from mrfhw.machine.samplers import Race
from mrfhw.placement.label_groups import LabelGroups
from mrfhw.placement.placement import Placement
from mrfhw.placement.subsets import Subsets
from mrfhw.samplers.sites_kernel import EXISTS, LEFT, RIGHT
from mrfhw.simulation.chip import CompiledChip
from mrfhw.twin import machine, paired
from mrfhw.twin.kernel import choose_slots, near_slots
from support.begun import begun
from support.comparing import compare, prefixes
from support.random_lanes import lane_placement, random_subset_machine
from support.random_problems import with_estimates
from support.small_grids import Copies, SmallGrid, tail

TILES_CHOOSE_SLOTS = pytest.mark.claim(
    "SubsetSlots", "tiles that choose their slots do what the model does, whatever the machine (more machines: make long)")
DRAW_AMONG_SUBSET = pytest.mark.claim("subsets of slots",
    "a draw among a subset leaves the field's distribution as it is, also after cooling and heating, at a false-failure rate of "
    "1e-6")

RUN = Run(sweeps=3, burn_in=1, seed=3)
MACHINES = ((1, 1), (8, 2), (2, 7), (4, 6))  # lanes and seeds of random machines; the first two are in every test run


@pytest.mark.tools
@TILES_CHOOSE_SLOTS
@pytest.mark.parametrize(("lanes", "seed"), [*MACHINES[:2], *(
    pytest.param(*case, marks=pytest.mark.long)
    for case in (*MACHINES[2:], *((lanes, seed) for lanes in (1, 2, 4, 8, 16) for seed in range(10, 16))))])
def test_rtl_equals_model(lanes, seed, request):
    rng = np.random.default_rng(seed)
    config = random_subset_machine(rng, lanes)
    with CompiledChip(config, quick=True) as chip:
        for number in range(request.config.getoption("--problems")):
            placement = with_estimates(lane_placement(rng, config))
            for part in prefixes(placement) if number % 5 == 0 else [placement]:  # after each of its sweeps
                compare(chip, part)


@TILES_CHOOSE_SLOTS
def test_problems_meet_what_subsets_differ_in():
    found = []
    for lanes, seed in MACHINES:
        rng = np.random.default_rng(seed)
        config = random_subset_machine(rng, lanes)
        found += [lane_placement(rng, config) for _ in range(25)]  # as many as --problems by default
    assert sum(p.overlap and p.slots < p.label_groups.slots for p in found) >= 5
    assert {p.config.subset_slots - p.config.near_slots > 1 for p in found} == {False, True}
    assert 18 <= sum(p.slots < p.label_groups.slots for p in found) <= 65
    assert sum(p.slots == p.label_groups.slots for p in found) >= 12
    assert sum(bool((p.label_groups.counts < p.config.lanes)[:-1].any()) for p in found if p.slots < p.label_groups.slots) >= 6


# -- the draw

SITES = 3  # in a row, of which the middle one has two neighbours


def choices(config: Config, groups: int, labels: np.ndarray, slot: np.ndarray, flags: int) -> list[tuple[tuple[int, ...], int]]:
    """(slots of the window and of M, how many of the former) for each of the numbers that choose, of a site in a row."""
    c = Derived.of(config)
    near, bits = np.empty(5, np.int64), 8
    count = near_slots(near, slot, c.near_slots, labels, flags, np.uint64(1), np.uint64(SITES))
    chosen, found = np.empty(c.subset_slots, np.int64), []
    for number in range(1 << bits):
        choose_slots(chosen, near, count, slot[labels[1]], c.subset_slots, groups - count, number, bits)
        found.append((tuple(map(int, chosen)), c.subset_slots - count))
    return found


@DRAW_AMONG_SUBSET
@pytest.mark.parametrize("subset_slots", [2, 3, 4])
@pytest.mark.parametrize("around", [(), (0,), (5,), (2, 2), (1, 6), (7, 0)])
def test_windows_are_uniform_and_hold_the_site_s_own_slot(subset_slots, around):
    """q(W | x) is 1 / r of the windows with x, or 1 / F of all; of 2^8 numbers each window has its share, rounded."""
    lanes, groups = 2, 8
    config = Config.preset("smallest", lanes=lanes, subset_slots=subset_slots, lmem_banks=4, label_bits=4)
    slot = np.repeat(np.arange(groups), lanes)
    flags = EXISTS | (LEFT if around else 0) | (RIGHT if len(around) > 1 else 0)
    for own in range(groups):
        labels = np.zeros(SITES, np.uint8)
        labels[1] = own * lanes
        labels[[0, 2][:len(around)]] = [label * lanes for label in around]
        near = sorted(set(around))[:Derived.of(config).near_slots]
        others = [n for n in range(groups) if n not in near]
        size = subset_slots - len(near)
        windows = [tuple(others[(first + n) % len(others)] for n in range(size)) for first in range(len(others))]
        allowed = [window for window in windows if own in near or own in window]
        assert len(allowed) == (len(others) if own in near else size)
        seen = dict.fromkeys(allowed, 0)
        for chosen, window in choices(config, groups, labels, slot, flags):
            assert (window, list(chosen[window:])) == (size, near)
            seen[chosen[:window]] += 1
        assert max(seen.values()) - min(seen.values()) <= 1


@DRAW_AMONG_SUBSET
def test_gibbs_sampling_of_label_and_window_keeps_the_distribution():
    """By enumeration in float64: p P = p for the kernel P(x -> y) = sum over W of q(W | x) p(y | W)."""
    rng = np.random.default_rng(3)
    for groups, lanes, size, near in ((8, 1, 4, (1, 5)), (6, 2, 2, (3,)), (9, 2, 3, ()), (7, 3, 4, (0, 2, 6))):
        p = rng.dirichlet(np.ones(groups * lanes) * 0.3)
        slot = np.repeat(np.arange(groups), lanes)
        others = np.setdiff1d(np.arange(groups), near)
        room = size - len(near)
        kernel = np.zeros((len(p), len(p)))
        for first in range(len(others)):
            window = others[(first + np.arange(room)) % len(others)]
            weight = p * (np.isin(slot, near) + np.isin(slot, window) * len(others) / room)
            q = np.where(np.isin(slot, near), 1 / len(others), np.isin(slot, window) / room)
            kernel += q[:, None] * weight / weight.sum()
        assert kernel.sum(1) == pytest.approx(1)
        assert p @ kernel == pytest.approx(p)


# Two free sites between walls: two neighbours' slots and more near most sites, and a near slot may be the only other's.
PAIR = SmallGrid(rows=1, cols=2, temperature=6.0, sweeps=40, energy={
    "labels": 12, "constants": np.arange(0, 48, 4), "doubleton": "absolute", "tau": 3, "alpha": 1, "beta": 3})
SCHEDULES = {"constant": Schedule.constant(PAIR.temperature),
             "cooled and heated again": Schedule.of_table((20.0, 0.5, *(PAIR.temperature,) * 4), PAIR.sweeps // 2)}
FALSE_FAILURE = 1e-6


def samples(subset_slots, schedule, scale=1.0):
    """How often the last labels of many copies were each configuration, and the plain machine's stationary distribution."""
    room, total = (256, 256), 0
    config = Config(mesh_rows=1, mesh_cols=1, spus=1, lanes=2, subset_slots=subset_slots, lmem_banks=4, tile_rows=256,
                    tile_cols=256, label_bits=4, sampler=Race(uniform_bits=14, fraction_bits=8))
    sweeps = 3 * PAIR.sweeps
    for seed in (1, 2, 3):
        copies = Copies(PAIR, room, seed)
        kernel = copies.kernel(dataclasses.replace(config, subset_slots=0), scale)
        problem = dataclasses.replace(copies.problem, schedule=schedule)
        run = Run(sweeps=sweeps, burn_in=sweeps - 1, seed=seed, initial=copies.initial)
        last = machine.solve(config, problem, run).last
        total += np.bincount(kernel.index(copies.cut(last)), minlength=len(kernel.states))
    return total, kernel.stationary()


@DRAW_AMONG_SUBSET
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("subset_slots", [2, 3, 4])
def test_model_samples_the_stationary_distribution(subset_slots, schedule):
    """Chi-square at a false-failure rate of 1e-6; the limit is ten times lower, as its tail is a little heavier than the law's."""
    counts, wanted = samples(subset_slots, SCHEDULES[schedule])
    assert counts.sum() >= 24_000
    assert tail(counts, wanted) > FALSE_FAILURE / 10


@DRAW_AMONG_SUBSET
def test_power_a_temperature_wrong_by_5_percent_is_seen():
    assert tail(*samples(3, SCHEDULES["constant"], scale=1.05)) < FALSE_FAILURE / 10


@DRAW_AMONG_SUBSET
def test_power_weights_left_out_are_seen(monkeypatch):
    right = Subsets.of

    def without(config: Config, groups: LabelGroups) -> Subsets:
        found = right(config, groups)
        return dataclasses.replace(found, weights=0 * found.weights)

    monkeypatch.setattr(Subsets, "of", without)
    assert tail(*samples(3, SCHEDULES["constant"])) < FALSE_FAILURE / 10


# -- runs


def a_machine(**changes) -> Config:
    plain = {"mesh_cols": 2, "lanes": 2, "subset_slots": 3, "lmem_banks": 4, "tile_rows": 8, "tile_cols": 8, "label_bits": 4,
             "counter_bits": 2, "s2_words": 512}
    return Config.preset("smallest", **plain | changes)


def a_problem(shape=(8, 14), labels=16) -> Problem:
    rng = np.random.default_rng(4)
    return Problem(labels=labels, singleton1=rng.integers(0, 64, shape), singleton2=rng.integers(0, 64, shape),
                   offsets=np.array([(0, -d) for d in range(labels)]), beta=3, tau=4, schedule=Schedule.geometric(20.0, 0.9, 4.0))


def test_a_run_goes_on_from_its_state():
    config, problem, run = a_machine(), a_problem(), Run(sweeps=9, burn_in=2, seed=6)
    whole, first, second = machine.solve(config, problem, run), *(machine.Machine(config, problem, run) for _ in range(2))
    for _ in range(4):
        first.sweep()
    second.restore(first.state())
    assert first_difference(machine.complete(second), whole) is None


@pytest.mark.tools
def test_the_compiled_chip_goes_on_from_its_state():
    config, problem, run = a_machine(), a_problem(), Run(sweeps=9, burn_in=2, seed=6)
    plan = Plan.of("rtl", config, problem)
    with plan.open(run.sweeps) as session:
        state = begun(plan, session, run, pauses=Pauses(sweeps=4)).state()
    assert state.sweeps == 4
    with plan.open(run.sweeps) as session:
        found = begun(plan, session, run, state=state).result()
    wanted = machine.solve(config, problem, run)
    # Each pause costs a chip the filling of its pipeline.
    same = dataclasses.replace(found, cycles=wanted.cycles, stall_cycles=wanted.stall_cycles, gap_cycles=wanted.gap_cycles)
    assert first_difference(same, wanted) is None


@pytest.mark.tools
def test_windows_of_the_rtl_are_the_model_s():
    config = a_machine(mesh_cols=1, tile_cols=32)
    problem = dataclasses.replace(a_problem((13, 40)), schedule=Schedule.constant(6.0))
    rtl, model = (solve(backend, config, problem, Run(sweeps=4, burn_in=1, seed=2), visit=2) for backend in ("rtl", "model"))
    assert first_difference(rtl, model) is None
    assert model.windows > 1


def test_cycles_are_those_of_the_subset_and_few_labels_take_as_many_as_without():
    plain, subset = a_machine(subset_slots=0, spus=1), a_machine(subset_slots=4)
    many, few = a_problem(), a_problem(labels=8)
    of = {(c.subset_slots, p.labels): machine.solve(c, p, RUN) for c in (plain, subset) for p in (many, few)}
    assert of[0, 8].cycles < of[4, 8].cycles < 1.3 * of[0, 8].cycles  # a longer pipeline; the same slots
    assert of[4, 16].cycles < 0.8 * of[0, 16].cycles
    assert of[4, 16].label_evaluations == of[0, 16].label_evaluations / 2
    alone = [machine.solve(dataclasses.replace(c, mesh_cols=1, tile_cols=16), few, RUN) for c in (plain, subset)]
    assert np.array_equal(alone[0].last, alone[1].last)  # on one tile, whose lanes have the same numbers
    ragged = dataclasses.replace(many, labels=9, offsets=np.array([(row, col) for row in range(3) for col in range(3)]))
    slots = Placement(dataclasses.replace(subset, subset_slots=3), ragged, RUN).label_groups
    assert (slots.counts.tolist(), slots.evaluated) == ([2, 1, 2, 1, 2, 1], 6)
    assert Derived.of(subset).generators == Derived.of(plain).generators + 2


@pytest.mark.parametrize(("changes", "message"), [
    ({"lanes": 1, "spus": 2}, "subset_slots is 3 and spus is 2; .*: give spus = 1, or subset_slots = 0"),
    ({"lanes": 1, "sampler": "cdf"}, "subset_slots is 3 and the sampler is cdf; .*: give subset_slots = 0, or the sampler race"),
    ({"lanes": 1, "label_bits": 1}, "subset_slots is 3; 2 labels fill 2 slots of 1 lane, too few for a subset: give 0, more "
                                    "label_bits or fewer lanes"),
    ({"lmem_banks": 1}, "subset_slots is 3 and lmem_banks is 1; .*: give lmem_banks = 4, or subset_slots = 0"),
    ({"subset_slots": 8}, "subset_slots is 8; 16 labels fill 8 slots of 2 lanes, .* 2 to 7 of them: give 0, or 2 to 7"),
    ({"subset_slots": 1}, "subset_slots is 1; it must be one of 0, 2, 3, .*, 16"),
    ({"label_bits": 2}, "subset_slots is 3; 4 labels fill 2 slots of 2 lanes, too few for a subset: give 0, more label_bits or "
                        "fewer lanes$")])
def test_machines_that_cannot_be(changes, message):
    with pytest.raises(ConfigError, match=message):
        a_machine(**changes)


def test_the_float_reference_has_no_numbers_of_subsets():
    problem = a_problem()
    with pytest.raises(ProblemError, match=r"subset_slots is 3; .* has no uniforms of a subset: give uniforms = \"pcg64\", or a "
                                           "machine with subset_slots = 0"):
        paired.solve(problem, RUN, config=a_machine(), uniforms="hardware")
