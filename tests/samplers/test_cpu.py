"""The processor's sampler: against the same arithmetic site by site, against enumerated distributions, and as a backend."""

import dataclasses
import itertools
import math

import numpy as np
import pytest
from numpy import float32

from mrfhw.backends import plan as backends
from mrfhw.field.energy import Energy, doubleton_table, edge_weights, singleton_energies
from mrfhw.field.initial import initial_labels
from mrfhw.field.problem import ESTIMATES, Problem, Run, Schedule
from mrfhw.machine.config import Config
from mrfhw.runs.choice import chosen_backend
from mrfhw.samplers.cpu import RESTING, CpuChain, CpuTables, solve
from mrfhw.samplers.cpu_kernel import POINT_BITS, _of_others
from mrfhw.samplers.cpu_vectors import LANES, POLYNOMIAL, QUARTER, STEEPEST
from mrfhw.samplers.random import lane_states
from support.enumerated import chi_square_tail, enumerated
from support.random_fields import random_field, random_field_machine
from support.small_grids import GRIDS, Copies, tail

PROCESSOR_SAMPLER = pytest.mark.claim("model",
    "the processor's sampler equals the same arithmetic site by site, has the enumerated distributions, and its memory of shares "
    "and its threads change nothing")
PROCESSOR_SAMPLER_BACKEND = pytest.mark.claim("model",
    "the processor's sampler is a backend: estimates, states, pictures of any size; it is taken where "
    "nothing of a machine is given")

FALSE_FAILURE = 1e-6  # of each chi-square test, were its seed drawn anew


def xorshift(state):
    """A step of a generator (4,) of Python integers; its 32 bits."""
    x, y, z, w = state
    t = (x ^ x << 11) & 0xFFFFFFFF
    state[:] = y, z, w, w ^ w >> 19 ^ t ^ t >> 8
    return (state[3] + state[1]) & 0xFFFFFFFF


def running_sum(values):
    total = float32(0)
    for value in values:
        total = total + value
    return total


class Reference:
    """A chain in NumPy's float32, a site at a time and without memory of shares; resting: sweeps from which on tables are used."""

    def __init__(self, problem, run, resting):
        self.problem, self.run, self.resting = problem, run, resting
        self.labels = initial_labels(problem, run).astype(int)
        self.counts = np.zeros((*problem.shape, problem.labels), int)
        self.size = -(-problem.labels // LANES) * LANES
        self.state = lane_states(run.seed, problem.shape[0]).tolist()
        self.singles = singleton_energies(problem)
        self.table = problem.beta * doubleton_table(problem)
        self.edges = edge_weights(problem) if problem.edges is not None else np.ones((*problem.shape, 4), int)
        self.temperatures = problem.schedule.temperatures()
        self.past, self.drawn_beyond = [], 0

    def doubletons(self, row, col):
        """(4, L): beta E_doubleton with the label above, below, to the left and to the right; None where there is none."""
        rows, cols = self.problem.shape
        found = []
        for side, (r, c) in enumerate([(row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1)]):
            if 0 <= r < rows and 0 <= c < cols:
                other = self.labels[r, c]
                found.append(self.edges[row, col, side] * (self.table[other] if side in (0, 2) else self.table[:, other]))
            else:
                found.append(np.zeros(self.problem.labels, int))
        return np.array(found)

    def weights(self, row, col, temperature, tables):
        own, pairs = self.singles[row, col], self.doubletons(row, col)
        found = np.zeros(self.size, float32)
        if tables:
            single = np.exp((own - own.min()) / -temperature).astype(float32)
            found[:len(own)] = single * self.product(np.exp(pairs / -temperature).astype(float32))
            return found
        energy = own + pairs.sum(0)
        octaves = np.minimum((energy - energy.min()).astype(float32) * float32(1 / (temperature * math.log(2))), float32(STEEPEST))
        whole = octaves.astype(np.int32)
        part, power = octaves - whole.astype(float32), np.full(len(own), float32(POLYNOMIAL[-1]))
        for coefficient in POLYNOMIAL[-2::-1]:
            power = power * part + float32(coefficient)
        found[:len(own)] = power * np.exp2(-whole).astype(float32)
        found[len(own):] = float32(POLYNOMIAL[0]) * float32(2.0**-STEEPEST)
        return found

    @staticmethod
    def product(four):
        up, down, left, right = four
        return (up * down) * (left * right)

    def near_and_far(self, row, col, temperature):
        """(first labels of the blocks with a doubleton that is not the largest of its neighbour, or with the old label;
        singletons' weights in the others; the factor of these)."""
        own, pairs, old = self.singles[row, col], self.doubletons(row, col), self.labels[row, col]
        four = np.exp(pairs / -temperature).astype(float32)
        least = four.min(1, keepdims=True)
        single = np.zeros(self.size, float32)
        single[:len(own)] = np.exp((own - own.min()) / -temperature).astype(float32)
        near = [first for first in range(0, self.size, LANES)
                if first <= old < first + LANES or (four != least)[:, first:first + LANES].any()]
        for first in near:
            single[first:first + LANES] = 0
        return near, single, self.product(least[:, 0])

    def draw(self, row, col, temperature, tables):
        weights, old = self.weights(row, col, temperature, tables), self.labels[row, col]
        near, beyond, factor = list(range(0, self.size, LANES)), np.zeros(self.size, float32), float32(0)
        if tables:
            near, beyond, factor = self.near_and_far(row, col, temperature)
        held, weights[old] = weights[old], 0
        by_lane = np.zeros(LANES, float32)
        for first in near:
            by_lane = by_lane + weights[first:first + LANES]
        eighths = by_lane[:8] + by_lane[8:]
        quarters = eighths[:QUARTER] + eighths[QUARTER:]
        others = (quarters[0] + quarters[2]) + (quarters[1] + quarters[3])
        blocks = [running_sum(beyond[first:first + LANES]) for first in range(0, self.size, LANES)]
        blocks += [float32(0)] * (-len(blocks) % QUARTER)
        four = np.zeros(QUARTER, float32)
        for first in range(0, len(blocks), QUARTER):
            four = four + np.array(blocks[first:first + QUARTER])
        rest = factor * ((four[0] + four[2]) + (four[1] + four[3]))
        total = others + held + rest
        point = float32(xorshift(self.state[row]) >> (32 - POINT_BITS)) * float32(2.0**-POINT_BITS) * total
        if point < held:
            return old
        point = point - held
        if rest > 0 and point >= others:
            self.drawn_beyond += 1
            new = self.of_others(beyond, near, (point - others) / factor)
            return new if beyond[new] * factor > total * float32(2.0**-32) else old
        quarter, point = self.passed(quarters, point)
        lane, point = self.passed(by_lane[quarter::QUARTER], point)
        choice = [first + quarter + QUARTER * lane for first in near]
        running = float32(0)
        for new in choice:
            running = running + weights[new]
            if point < running:
                break
        return new if weights[new] > total * float32(2.0**-32) else old

    def of_others(self, weights, near, point):
        rest = [first for first in range(0, self.size, LANES) if first not in near]
        for first in rest:
            total = running_sum(weights[first:first + LANES])
            if point < total or first == rest[-1]:
                break
            point = point - total
        new = 0
        for label in range(first, first + LANES):
            if weights[label] > 0:
                new = label
                if point < weights[label]:
                    break
                point = point - weights[label]
        return new

    @staticmethod
    def passed(four, point):
        pairs = [four[0], four[0] + four[1], four[1] + four[2]]
        ends = [pairs[0], pairs[1], pairs[2] + pairs[0]]
        past = [point >= end for end in ends]
        gone = [float32(value) if passed else float32(0) for value, passed in zip(four, past, strict=False)] + [float32(0)]
        return sum(past), point - ((gone[0] + gone[2]) + (gone[1] + gone[3]))

    def sweep(self, number):
        temperature = next(self.temperatures)
        tables = len(self.past) >= self.resting and set(self.past[-self.resting:]) == {temperature}
        self.past.append(temperature)
        for colour in (0, 1):
            for row, col in np.ndindex(*self.problem.shape):
                if (row + col) % 2 == colour and not (self.problem.clamped is not None and self.problem.clamped[row, col]):
                    self.labels[row, col] = self.draw(row, col, temperature, tables)
                    self.counts[row, col, self.labels[row, col]] += number >= self.run.burn_in


def random_case(seed):
    """A random field of at most 9 x 9 sites, of any functions, and a temperature that rests for some sweeps."""
    rng = np.random.default_rng(seed)
    problem = random_field(rng, random_field_machine(rng)).problem
    hot = float(np.exp(rng.uniform(np.log(0.5), np.log(400))))
    table = tuple(hot * float(scale) for scale in rng.choice([1.0, 0.7, 1.3], 3))
    schedule = Schedule.of_table(table, int(rng.integers(1, 9))) if rng.random() < 0.7 else Schedule.constant(hot)
    return dataclasses.replace(problem, schedule=schedule, energy_shift=0)


def hot_case(seed):
    """Of three blocks of labels or more, by doubletons that are truncated, so that labels far from the neighbours' are drawn."""
    rng, labels = np.random.default_rng(seed), (40, 64, 97, 256)[seed % 4]
    rest = {"doubleton": "squared", "vectors": rng.integers(-9, 9, (labels, 2))} if seed % 3 == 0 else {}
    if seed % 3 == 1:
        rest = {"edges": rng.integers(0, 4, (6, 7, 2))}
    return field(labels, (6, 7), schedule=Schedule.constant(float(rng.uniform(9, 16))), beta=int(rng.integers(1, 6)), **rest)


def tall_case(seed):
    """Of more rows than there are generators that step together, some of them without a site that is drawn."""
    rng, shape = np.random.default_rng(seed), ((37, 6), (17, 3), (33, 1))[seed]
    clamped = rng.random(shape) < 0.3
    clamped[rng.integers(0, shape[0], 4)] = True
    return field(8, shape, schedule=Schedule.constant(float(rng.uniform(9, 16))), clamped=clamped)


CASES = [pytest.param(case, seed, marks=[pytest.mark.slow] * (seed >= quick))
         for case, seeds, quick in ((random_case, 16, 4), (hot_case, 6, 2), (tall_case, 3, 1)) for seed in range(seeds)]


@PROCESSOR_SAMPLER
@pytest.mark.parametrize(("case", "seed"), CASES)
def test_every_draw_equals_the_same_arithmetic_site_by_site(case, seed):
    problem = case(seed)
    run = Run(sweeps=12, burn_in=3, seed=seed)
    reference, chain = Reference(problem, run, resting=RESTING), CpuChain(problem, run, threads=1)
    if not chain.tables.weighs(min(problem.schedule.table or (problem.schedule.start,))):
        reference.resting = 1000
    for number in range(run.sweeps):
        reference.sweep(number)
        chain.sweep()
        assert np.array_equal(chain.labels, reference.labels), number
    assert np.array_equal(chain.counts, reference.counts)
    assert case != hot_case or reference.drawn_beyond > 5


@PROCESSOR_SAMPLER
def test_those_fields_have_both_kinds_of_weights():
    rests = [CpuTables(random_case(seed)).weighs(random_case(seed).schedule.coldest) for seed in range(16)]
    assert 2 <= sum(rests) <= 14


def field(labels=40, shape=(24, 31), **changes):
    rng = np.random.default_rng(labels)
    arguments = {"labels": labels, "singleton1": rng.integers(0, 64, shape), "singleton2": rng.integers(0, 64, shape),
                 "offsets": np.stack([np.zeros(labels, int), -np.arange(labels)], 1), "tau": 4, "beta": 5, "out_of_range": 30,
                 "clamped": rng.random(shape) < 0.1, "schedule": Schedule.constant(6.0)}
    return Problem(**{**arguments, **changes})


SCHEDULES = {"rests": Schedule.constant(6.0), "cools": Schedule.geometric(30.0, 0.9, 2.0),
             "rises": Schedule.of_table((8.0, 2.0, 9.0, 1.0), 7)}


@PROCESSOR_SAMPLER
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("labels", [2, 16, 40, 256])
@pytest.mark.parametrize("clamped", [True, False])
def test_the_memory_of_shares_changes_nothing_but_the_work(labels, schedule, clamped):
    run = Run(sweeps=40, burn_in=10, seed=3)
    problem = field(labels, schedule=SCHEDULES[schedule], **({} if clamped else {"clamped": None}))
    with_it, without = CpuChain(problem, run), CpuChain(problem, run, cached=False)
    for _ in range(run.sweeps):
        with_it.sweep()
        without.sweep()
        assert np.array_equal(with_it.labels, without.labels)
    assert np.array_equal(with_it.counts, without.counts)
    assert without.drawn == problem.unclamped_sites * run.sweeps
    assert with_it.drawn < without.drawn


@PROCESSOR_SAMPLER
@pytest.mark.parametrize("size", [(9, 11), (1, 12), (12, 1)])
def test_a_changed_site_leaves_its_neighbours_no_share_to_keep(size):
    """Of the sites that are drawn last no neighbour is drawn after them: those of one that changed begin anew."""
    unary = np.random.default_rng(size[0]).integers(0, 30, (*size, 5))
    problem = Problem(labels=5, unary=unary, beta=4, schedule=Schedule.constant(9.0))
    chain, half = CpuChain(problem, Run(sweeps=300, seed=1)), (size[1] + 1) // 2
    white = np.indices(size).sum(0) % 2 == 1
    ways = {(1, 0): 0, (-1, 0): 0, (0, 1): 0, (0, -1): 0}
    for _ in range(200):
        before = chain.sample
        chain.sweep()
        for row, col in np.argwhere(white & (chain.labels != before)):
            for way in ways:
                y, x = row + way[0], col + way[1]
                if 0 <= y < size[0] and 0 <= x < size[1]:
                    ways[way] += 1
                    assert chain._bounds[y * half + x // 2] == 0
    assert all(seen for way, seen in ways.items() if size[0 if way[0] else 1] > 1)


@PROCESSOR_SAMPLER
@pytest.mark.parametrize("labels", [3, 17])
def test_the_largest_number_draws_no_label_without_weight(labels):
    """Where sums round down it passes all weights: the last label may be one that there is not."""
    rng, temperature = np.random.default_rng(labels), 8.0
    costs = rng.integers(0, 400, (8000, 1, labels))
    costs[rng.random(costs.shape) < 0.3] = 3000
    chain = CpuChain(Problem(labels=labels, unary=costs, beta=0, schedule=Schedule.constant(temperature)), Run(sweeps=9, burn_in=0))
    kept = 0
    for _ in range(8):
        chain._state[:] = np.array([0, 1, 0xFFFFFFFF, 0], np.uint32)  # whose next number this is
        chain._bounds.fill(0)
        before = chain.sample[:, 0]
        chain.sweep()
        after = chain.labels[:, 0]
        assert (after < labels).all()
        costs_of, sites = costs[:, 0] - costs[:, 0].min(1, keepdims=True), np.arange(len(costs))
        small = costs_of[sites, after] > temperature * 32 * math.log(2) + 1
        assert (after == before)[small].all()
        kept += int(small.sum())
    assert kept or labels == 3


@PROCESSOR_SAMPLER
def test_a_number_that_meets_a_sum_of_weights_draws_the_label_behind_it():
    """And one that passes all of them the last that has a weight."""
    weights = np.zeros(2 * LANES, np.float32)
    weights[[0, 3, 4, LANES + 1]] = 1
    sums = weights.reshape(2, LANES).sum(1)
    for point, label in {0.0: 0, 0.5: 0, 1.0: 3, 2.0: 4, 2.5: 4, 3.0: LANES + 1, 4.0: LANES + 1}.items():
        found = _of_others(weights, np.uint64(0), sums, np.uint64(0), np.uint64(0), np.uint64(3), np.float32(point))
        assert found == label, point


@PROCESSOR_SAMPLER
def test_shares_that_save_nothing_are_not_kept_but_tried_again():
    run = Run(sweeps=400, burn_in=10)
    problem = field(40, clamped=None, schedule=Schedule.constant(8.0))
    chain, drawn = CpuChain(problem, run), []
    for _ in range(80):
        before = chain.drawn
        chain.sweep()
        drawn.append(chain.drawn - before)
    kept = [sweep for sweep, many in enumerate(drawn) if many < problem.sites]
    assert len(kept) >= 2
    assert all(later - one > 20 for one, later in itertools.pairwise(kept))


@PROCESSOR_SAMPLER
def test_a_cold_field_hardly_draws():
    cold = field(schedule=Schedule.geometric(30.0, 0.8, 0.5))
    chain = CpuChain(cold, Run(sweeps=60, burn_in=50))
    for _ in range(60):
        chain.sweep()
    before = chain.drawn
    chain.sweep()
    assert chain.drawn - before < 0.1 * cold.unclamped_sites


@PROCESSOR_SAMPLER
@pytest.mark.parametrize("seed", range(16))
def test_the_energy_followed_is_that_of_the_labels(seed):
    problem = random_case(seed)
    run = Run(sweeps=8, burn_in=3, seed=seed)
    energy, chain = Energy(problem), CpuChain(problem, run, threads=1)
    chain.sweep()
    for _ in range(1, run.sweeps):
        assert chain.energy == energy(chain.labels)
        chain.sweep()
    assert chain.energy == energy(chain.labels)
    chain.restore(CpuChain(problem, run).state())
    assert chain.energy == energy(chain.labels)


@PROCESSOR_SAMPLER
def test_the_energy_followed_by_threads():
    problem, seen = field(8, (130, 161)), []
    solve(problem, Run(sweeps=6, burn_in=4, seed=9), threads=3, observe=lambda _, labels, found: seen.append((found, labels)))
    assert [found for found, _ in seen] == Energy(problem)(np.array([labels for _, labels in seen])).tolist()


@PROCESSOR_SAMPLER
@pytest.mark.parametrize("shape", [(130, 161), (7, 300), (2, 700), (1, 900)])
def test_threads_change_nothing(shape, monkeypatch):
    for name, value in (("ENTRIES_WORTH_A_THREAD", 500), ("_AT_ONCE", 500), ("_WHILE_HANDED_OVER", 70)):
        monkeypatch.setattr(f"mrfhw.samplers.cpu.{name}", value)  # so that tables are made in shares, and these in pieces
    problem, run, energies = field(8, shape), Run(sweeps=12, burn_in=4, seed=9), {}
    for threads in (1, 3):
        seen = energies.setdefault(threads, [])
        found = solve(problem, run, threads=threads,
                      observe=lambda _, labels, energy, seen=seen: seen.append((labels.tobytes(), energy)))
        seen.append(found.counts.tobytes())
    assert energies[1] == energies[3]


@PROCESSOR_SAMPLER_BACKEND
@pytest.mark.parametrize("estimate", ESTIMATES)
def test_what_a_run_keeps_is_what_its_sweeps_say(estimate):
    problem, run = field(12), Run(sweeps=30, burn_in=9, seed=2, estimate=estimate)
    seen = []
    result = solve(problem, run, observe=lambda _, labels, energy: seen.append(labels))
    drawn, free = np.array(seen[run.burn_in:]), ~problem.clamped
    if estimate == "mode":
        assert np.array_equal(result.counts, [[np.bincount(drawn[:, r, c], minlength=12) * free[r, c] for c in range(31)]
                                              for r in range(24)])
    elif estimate == "mean":
        assert np.array_equal(result.sums, np.stack([drawn.sum(0) * free, len(drawn) * free], -1))
    else:
        assert result.counts is None
        assert result.sums is None
    assert np.array_equal(result.last, seen[-1])


@PROCESSOR_SAMPLER_BACKEND
@pytest.mark.parametrize("estimate", ESTIMATES)
@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("pause", [3, 5, 21])
def test_a_run_goes_on_from_its_state(pause, schedule, estimate):
    problem, run = field(20, schedule=SCHEDULES[schedule]), Run(sweeps=30, burn_in=8, seed=4, estimate=estimate)
    whole, first, second = (CpuChain(problem, run) for _ in range(3))
    for _ in range(run.sweeps):
        whole.sweep()
    for _ in range(pause):
        first.sweep()
    state = first.state()
    for _ in range(run.sweeps - pause):  # the first goes on, too, which does not change the state
        first.sweep()
    second.restore(state)
    for _ in range(run.sweeps - pause):
        second.sweep()
    for chain in (first, second):
        assert np.array_equal(whole.labels, chain.labels)
        for name in ("counts", "sums"):
            assert np.array_equal(getattr(whole, name), getattr(chain, name)) or getattr(whole, name) is None


@pytest.mark.slow
@PROCESSOR_SAMPLER
@pytest.mark.parametrize("cooled", [False, True])
def test_2x2_grid_has_the_enumerated_distribution(cooled):
    """After cooling and reheating, too, when shares of labels are remembered."""
    grid = {"labels": 3, "constants": np.array([3, 11, 24]), "doubleton": "absolute", "beta": 6}
    schedule = Schedule.of_table((9.0, 3.0, 1.0, 9.0), 6) if cooled else Schedule.constant(9.0)
    problem = Problem(singleton1=np.array([[5, 20], [12, 9]]), **grid, schedule=schedule)
    states, probabilities = enumerated(problem, 9.0, [0, 1, 2, 3])
    tables, runs, counts = CpuTables(problem), 3000, np.zeros(len(states))
    for seed in range(runs):
        chain = CpuChain(problem, Run(sweeps=32, seed=seed), tables=tables, threads=1)
        for _ in range(32):
            chain.sweep()
        counts[int(chain.labels.ravel() @ [27, 9, 3, 1])] += 1
    assert chi_square_tail(counts, runs * probabilities) > FALSE_FAILURE


@pytest.mark.slow
@PROCESSOR_SAMPLER
@pytest.mark.parametrize("grid", list(GRIDS))
@pytest.mark.parametrize("tables", [False, True])
def test_copies_of_small_grids_have_the_enumerated_distribution(grid, tables, monkeypatch):
    copies = Copies(GRIDS[grid], (160, 160))
    if not tables:
        monkeypatch.setattr(CpuTables, "weighs", lambda self, temperature: False)
    result = solve(copies.problem, Run(sweeps=copies.grid.sweeps + 8, seed=1, initial=copies.initial))
    free = (slice(None), slice(1, -1), slice(1, -1))
    drawn = copies.cut(result.last)[free].reshape(copies.count, -1)
    cell, labels = copies.cell(), copies.problem.labels
    states = np.array(list(itertools.product(range(labels), repeat=drawn.shape[1])))
    grids = np.repeat(copies.cut(copies.initial)[:1], len(states), 0)
    grids[free] = states.reshape(-1, copies.grid.rows, copies.grid.cols)
    energies = Energy(cell)(grids)
    weights = np.exp((energies - energies.min()) / -copies.grid.temperature)
    counts = np.bincount(drawn @ labels ** np.arange(drawn.shape[1] - 1, -1, -1), minlength=len(states))
    assert tail(counts, weights / weights.sum()) > FALSE_FAILURE


@pytest.mark.slow
@PROCESSOR_SAMPLER
@pytest.mark.parametrize("seed", range(4))
def test_a_site_of_many_labels_has_its_conditional_distribution(seed):
    """All white sites are clamped, so that every sweep draws the black ones anew, whatever their labels were."""
    problem = dataclasses.replace(hot_case(seed), clamped=np.indices((6, 7)).sum(0) % 2 == 1)
    chain, sweeps = CpuChain(problem, Run(sweeps=6000, burn_in=RESTING + 1, seed=seed)), 6000
    for _ in range(sweeps):
        chain.sweep()
    reference, counts = Reference(problem, chain.run, 0), chain.counts
    reference.labels = chain.labels.astype(int)
    for row, col in ((0, 0), (2, 2), (3, 3), (5, 5)):
        energy = reference.singles[row, col] + reference.doubletons(row, col).sum(0)
        weights = np.exp((energy - energy.min()) / -problem.schedule.start)
        assert tail(counts[row, col], weights / weights.sum()) > FALSE_FAILURE / 16


@PROCESSOR_SAMPLER
@pytest.mark.parametrize("temperature", [0.001, 1e-300])
def test_huge_energies_and_small_temperatures_stay_finite(temperature):
    problem = Problem(labels=4, singleton1=np.full((3, 3), 63), constants=np.array([0, 1, 62, 63]), alpha=4000,
                      singleton="squared", schedule=Schedule.constant(temperature))
    assert (solve(problem, Run(sweeps=8)).last == 3).all()


@PROCESSOR_SAMPLER_BACKEND
def test_it_is_a_backend_of_software():
    problem, run = field(8, (200, 150)), Run(sweeps=6, burn_in=2)
    config = Config(mesh_rows=1, mesh_cols=1)
    result = backends.solve("cpu", config, problem, run)
    assert result.backend == "cpu"
    assert result.windows is None
    assert np.array_equal(result.counts, solve(problem, run).counts)


@PROCESSOR_SAMPLER_BACKEND
@pytest.mark.parametrize(("given", "chosen"), [
    ((), "cpu"), (("labels", "sweeps", "temperature"), "cpu"), (("spes",), "model"), (("machine",), "model"),
    (("preset",), "model"),
    (("visit", "sweeps"), "model"), (("clock",), "model")])
def test_the_processor_is_taken_where_nothing_of_a_machine_is_given(given, chosen):
    assert chosen_backend("auto", given) == chosen
    assert chosen_backend("float", given) == "float"
