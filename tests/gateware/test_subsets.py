"""Subsets of a site's slots: the compiled RTL equals the model, whose draws are Gibbs sampling of label and drawn others."""

from __future__ import annotations

import dataclasses
import itertools
from collections import Counter

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
MACHINES = ((2, 13), (8, 11), (1, 7), (4, 7), (2, 1))  # lanes and seeds of random machines; the first two are in every test run


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
    assert {p.config.near_slots for p in found} == {0, 1, 2, 3, 4}
    assert 18 <= sum(p.slots < p.label_groups.slots for p in found) <= 65
    assert sum(p.slots == p.label_groups.slots for p in found) >= 12
    assert sum(bool((p.label_groups.counts < p.config.lanes)[:-1].any()) for p in found if p.slots < p.label_groups.slots) >= 6


# -- the draw

SITES = 3  # in a row, of which the middle one has two neighbours


def choice(config: Config, labels: np.ndarray, slot: np.ndarray, flags: int, first: int, numbers: np.ndarray,
           place: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(drawn others, M) of the middle one of a row of sites. numbers, place: of `BITS` bits."""
    c, near = Derived.of(config), np.empty(5, np.int64)
    count = near_slots(near, slot, c.near_slots, first, labels, flags, np.uint64(1), np.uint64(SITES))
    chosen = np.empty(c.subset_slots, np.int64)
    choose_slots(chosen, near, count, slot[labels[1]], int(slot.max()) + 1 - count, numbers, BITS, place, BITS)
    found = tuple(map(int, chosen))
    return found[:c.subset_slots - count], found[c.subset_slots - count:]


BITS = 4


@DRAW_AMONG_SUBSET
@pytest.mark.parametrize("subset_slots", [2, 3, 4, 6])
@pytest.mark.parametrize("around", [(), (0,), (5,), (2, 2), (1, 6), (7, 0)])
def test_drawn_others_are_uniform_and_hold_the_site_s_own_slot(subset_slots, around):
    """A slot at a place has F^-1 of its numbers, rounded; the own one 1 / r of the numbers of a place, unless it is in M."""
    lanes, groups = 2, 8
    config = Config.preset("smallest", lanes=lanes, subset_slots=subset_slots, lmem_banks=4, label_bits=4)
    slot = np.repeat(np.arange(groups), lanes)
    flags, most = EXISTS | (LEFT if around else 0) | (RIGHT if len(around) > 1 else 0), Derived.of(config).near_slots
    for own, first in itertools.product(range(groups), range(4)):
        labels = np.zeros(SITES, np.uint8)
        labels[1] = own * lanes
        labels[[0, 2][:len(around)]] = [label * lanes for label in around]
        ways = {2: around[:1], 3: around[1:]}  # left and right
        near = sorted({label for n in range(most) for label in ways.get((first + n) % 4, ())})
        others = [n for n in range(groups) if n not in near]
        size, places, drawn = subset_slots - len(near), Counter(), Counter()
        for number, place in itertools.product(range(1 << BITS), repeat=2):
            numbers = np.roll(np.arange(subset_slots) * 0 + number, 1)
            found, of_neighbours = choice(config, labels, slot, flags, first, numbers, place)
            assert (of_neighbours, len(found)) == (tuple(near), size)
            assert own in near or own in found
            assert set(found) <= {others[number * len(others) >> BITS], *([] if own in near else [own])}
            drawn[others[number * len(others) >> BITS]] += 1
            where = place * size >> BITS
            assert own in near or found[where] == own
            places[where] += 1
        for shares in (places, drawn):
            assert max(shares.values()) - min(shares.values()) <= 1 << BITS
        assert (set(drawn), set(places)) == (set(others), set(range(size)))


@DRAW_AMONG_SUBSET
@pytest.mark.parametrize("subset_slots", [2, 3, 4, 5, 6, 7])
def test_each_visit_may_go_to_any_slot(subset_slots):
    """Wherever the site is, and whatever its neighbours are, which may never change: else some labels were never drawn."""
    config = Config.preset("smallest", lanes=1, subset_slots=subset_slots, lmem_banks=4, label_bits=3)
    for own, left, right in itertools.product(range(8), repeat=3):
        labels = np.array([left, own, right], np.uint8)
        reached = {slot for number, place in itertools.product(range(1 << BITS), (0, (1 << BITS) - 1))
                   for part in choice(config, labels, np.arange(8), EXISTS | LEFT | RIGHT, 2, np.full(subset_slots, number), place)
                   for slot in part}
        assert reached == set(range(8)), (own, left, right)


@DRAW_AMONG_SUBSET
def test_each_place_has_a_number_of_its_own():
    config = Config.preset("smallest", lanes=2, subset_slots=6, lmem_banks=4, label_bits=4)
    slot, labels = np.repeat(np.arange(8), 2), np.zeros(SITES, np.uint8)
    found, _ = choice(config, labels, slot, EXISTS, 0, np.array([2, 4, 6, 8, 10, 12]), 0)
    assert found == (0, 2, 3, 4, 5, 6)


@DRAW_AMONG_SUBSET
def test_gibbs_sampling_of_label_and_others_keeps_the_distribution():
    """By enumeration in float64: p P = p for the kernel P(x -> y) = sum over W of q(W | x) p(y | W)."""
    rng = np.random.default_rng(3)
    for groups, lanes, size, near in ((8, 1, 4, (1, 5)), (6, 2, 2, (3,)), (5, 2, 3, ()), (7, 3, 4, (0, 2, 6))):
        p = rng.dirichlet(np.ones(groups * lanes) * 0.3)
        slot = np.repeat(np.arange(groups), lanes)
        others = np.setdiff1d(np.arange(groups), near)
        room = size - len(near)
        kernel = np.zeros((len(p), len(p)))
        for drawn in itertools.product(others, repeat=room):
            times = np.array([drawn.count(one) for one in slot])
            inside = np.isin(slot, near)
            weight = p * (inside + times * len(others) / room)
            q = np.where(inside, len(others) ** -float(room), times / room * len(others) ** -float(room - 1))
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
@pytest.mark.parametrize("scale", [0.9, 1.1])
def test_power_a_temperature_wrong_by_10_percent_is_seen(scale):
    assert tail(*samples(3, SCHEDULES["constant"], scale=scale)) < FALSE_FAILURE / 10


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
