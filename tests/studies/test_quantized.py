"""The quantized machine's distributions: against every uniform number, one by one, and against small sums by hand."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from mrfhw.field.energy import Energy
from mrfhw.field.problem import Problem, ProblemError, Run, Schedule
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.samplers import Cdf, Race
from mrfhw.placement.temperature import coefficient, realized
from mrfhw.twin.kernel import draw_cdf, draw_race
from mrfhw.twin.machine import Machine
from studies.quantized import (
    ReducibleError,
    SweepKernel,
    conditional,
    exact_conditional,
    exact_distribution,
    stationary,
    sweep_kernel,
    total_variation,
)

ENUMERATED_CONDITIONAL = pytest.mark.claim(
    "statistics", "the enumerated conditional equals the model's own draw for every uniform number")

NARROW_RACE = Race(uniform_bits=8, fraction_bits=2)
CDF = [Cdf(uniform_bits=bits, probability_bits=p, floor=floor, exponent_fraction_bits=fraction)
       for bits, p, fraction in ((8, 4, 3), (10, 8, 6), (12, 12, 6)) for floor in ("integer", "power_of_two")]
ALL = [*CDF, NARROW_RACE, Race(), Race(uniform_bits=10)]


def one_site(labels, temperature=4.0, shift=0):
    return Problem(labels=labels, singleton1=np.zeros((1, 1), int), constants=np.zeros(labels, int),
                   energy_shift=shift, schedule=Schedule.constant(temperature))


def unshift_right(value, by):
    """x with x ^ (x >> by) = value, 32 bits."""
    out = value
    for _ in range(32 // by + 1):
        out = value ^ (out >> by)
    return out


def unshift_left(value, by):
    """x with x ^ (x << by) = value, 32 bits."""
    out = value
    for _ in range(32 // by + 1):
        out = value ^ (out << by) & 0xFFFFFFFF
    return out


def state_that_gives(first, second, bits):
    """(1, 4) uint32: a generator's state whose next two outputs are these values of `bits` bits."""
    first, second = first << 32 - bits, second << 32 - bits
    # Outputs are w + y: with x = w = 0 the first is z; the second is the third word's image of y.
    return np.array([[0, unshift_left(unshift_right(second, 8), 11), first, 0]], np.uint32)


@ENUMERATED_CONDITIONAL
@pytest.mark.parametrize("sampler", CDF)
def test_cdf_counts_every_uniform_that_the_model_would_draw(sampler):
    config, rng = Derived(sampler=sampler), np.random.default_rng(1)
    for labels in (2, 3, 7):
        value = coefficient(config, 4.0, 0)
        energy = rng.integers(0, 30, labels)
        counts = np.zeros(labels, int)
        sums = np.empty(labels, np.int64)
        for uniform in range(1 << sampler.uniform_bits):
            state = state_that_gives(uniform, 0, sampler.uniform_bits)
            counts[draw_cdf(energy, labels, value, state, 0, sampler.uniform_bits, sampler.exponent_table,
                             sampler.exponent_fraction_bits, config.temperature_fraction_bits,
                             sums)] += 1
        assert np.array_equal(conditional(config, one_site(labels), energy, value) * (1 << sampler.uniform_bits), counts)


@ENUMERATED_CONDITIONAL
@pytest.mark.parametrize("energy", [(0, 0), (3, 0), (0, 2), (5, 40), (0, 300)])
def test_race_counts_every_pair_of_uniforms_that_the_model_would_draw(energy):
    config, energy = Derived(sampler=NARROW_RACE), np.array(energy)
    value, counts = coefficient(config, 4.0, 0), np.zeros(2, int)
    for first, second in itertools.product(range(256), repeat=2):
        counts[draw_race(energy, 2, value, state_that_gives(first, second, 8), 0, 8, config.sampler.gumbel_table,
                          config.sampler.fraction_bits, config.temperature_fraction_bits)] += 1
    assert np.array_equal(conditional(config, one_site(2), energy, value) * 2**16, counts)


@pytest.mark.slow
@ENUMERATED_CONDITIONAL
@pytest.mark.parametrize(("energy", "temperature"), [((4, 0, 2), 4.0), ((0, 0, 0), 1.0), ((1, 9, 0), 0.5)])
def test_race_of_three_labels_counts_every_triple(energy, temperature):
    config = Derived(sampler=NARROW_RACE)
    value = coefficient(config, temperature, 0)
    noise = (config.sampler.gumbel_table * value) >> config.temperature_fraction_bits
    a, b, c = ((e << config.sampler.fraction_bits) - noise for e in energy)
    scores = np.stack(np.broadcast_arrays(a[:, None, None], b[:, None], c))
    counts = np.bincount(scores.argmin(0).ravel(), minlength=3)  # argmin takes the lowest index on ties
    assert conditional(config, one_site(3), np.array(energy), value) * 2**24 == pytest.approx(counts, abs=1e-6)


def test_cdf_by_hand():
    """P = 4 bits, T = 1: P_s = 15, floor(15/e) = 5, floor(15/e^2) = 2; their powers of two 8, 4, 2."""
    energies = np.array([0, 1, 2])
    for floor, weights in (("integer", (15, 5, 2)), ("power_of_two", (8, 4, 2))):
        config = Config(sampler=Cdf(probability_bits=4, floor=floor, uniform_bits=24))
        found = conditional(config, one_site(3, 1.0), energies, coefficient(config, 1.0, 0))
        assert found == pytest.approx(np.array(weights) / sum(weights), abs=2**-22)


def test_race_ties_go_to_the_lowest_label():
    """Of two equal labels the first wins all ties: 1/2 + half the chance of a tie."""
    config = Derived(sampler=NARROW_RACE)
    value = coefficient(config, 1.0, 0)
    share = [Fraction(int(n), 256) for n in np.unique(config.sampler.gumbel_table, return_counts=True)[1]]
    tie = sum(s * s for s in share)
    assert conditional(config, one_site(2, 1.0), np.array([7, 7]), value)[0] == (1 + tie) / 2


def test_race_never_draws_what_its_table_cannot_reach():
    config = Config()
    value, span = coefficient(config, 1.0, 0), int(np.ptp(config.sampler.gumbel_table))
    steps = 1 << config.sampler.fraction_bits
    inside, outside = span // steps, span // steps + 1
    assert conditional(config, one_site(2, 1.0), np.array([0, inside]), value)[1] > 0
    assert conditional(config, one_site(2, 1.0), np.array([0, outside]), value)[1] == 0


@pytest.mark.parametrize("sampler", ALL)
@pytest.mark.parametrize("labels", [2, 5, 64])
def test_probabilities_sum_to_one_and_do_not_depend_on_an_offset(sampler, labels):
    config, rng = Config(sampler=sampler), np.random.default_rng(labels)
    for temperature in (0.3, 2.0, 30.0):
        value, energies = coefficient(config, temperature, 0), rng.integers(0, 200, labels)
        found = conditional(config, one_site(labels, temperature), energies, value)
        assert found.sum() == pytest.approx(1, abs=1e-12)
        assert found.min() >= 0
        again = conditional(config, one_site(labels, temperature), energies + 1000, value)
        assert found == pytest.approx(again, abs=1e-15)


@pytest.mark.parametrize("sampler", ALL)
def test_shift_and_cap_of_the_energy(sampler):
    config, energies = Config(sampler=sampler, energy_bits=6), np.array([100, 107, 180, 400, 900])
    value = coefficient(config, 40.0, 3)
    plain = conditional(config, one_site(5, 5.0), np.array([12, 13, 22, 50, 63]), value)
    assert np.array_equal(conditional(config, one_site(5, 40.0, 3), energies, value), plain)


def test_wide_samplers_come_near_the_exact_conditional():
    rng = np.random.default_rng(0)
    for sampler in ("cdf", "race"):
        config = Config(sampler=sampler)
        for temperature in (1.0, 6.0, 40.0):
            value, energies = coefficient(config, temperature, 0), rng.integers(0, 256, 64)
            found = conditional(config, one_site(64, temperature), energies, value)
            assert total_variation(found, exact_conditional(energies, realized(config, value, 0))) < 0.0025


def grid_problem(**changes):
    grid = {"labels": 3, "singleton1": np.array([[5, 20, 9], [12, 9, 1]]), "constants": np.array([3, 11, 24]),
                "beta": 6, "schedule": Schedule.constant(9.0)}
    return Problem(**{**grid, **changes})


@pytest.mark.parametrize("sampler", ALL)
@pytest.mark.parametrize("shape", [(2, 2), (2, 3), (1, 3), (3, 1)])
def test_stationary_is_kept_by_the_whole_transition_matrix(sampler, shape):
    problem = grid_problem(singleton1=np.random.default_rng(4).integers(0, 30, shape))
    kernel = sweep_kernel(Config(sampler=sampler), problem)
    matrix, kept = kernel.matrix(), kernel.stationary()
    assert matrix.shape == (3 ** problem.sites,) * 2
    assert matrix.sum(1) == pytest.approx(1)
    assert kept.sum() == pytest.approx(1)
    assert kept @ matrix == pytest.approx(kept, abs=1e-13)
    uniform = np.full(len(matrix), 1 / len(matrix))
    assert kernel.after(3) == pytest.approx(uniform @ np.linalg.matrix_power(matrix, 3), abs=1e-13)
    far = np.linalg.matrix_power(matrix, 4)
    assert kernel.mixing(4) == pytest.approx(max(total_variation(row, kept) for row in far), abs=1e-12)


def test_a_row_of_the_matrix_is_a_product_of_conditionals():
    """Black sites see the old white labels, white sites the new black ones."""
    config, problem = Derived(sampler=NARROW_RACE), grid_problem(clamped=np.array([[0, 0, 0], [0, 0, 1]], bool))
    held = np.full((2, 3), 2)
    kernel = sweep_kernel(config, problem, held)
    before, after = np.array([[1, 0, 2], [0, 1, 2]]), np.array([[0, 2, 1], [1, 1, 2]])
    value, single = coefficient(config, 9.0, 0), np.abs(problem.singleton1[..., None] - problem.constants)
    seen, expected = before.copy(), 1.0
    for parity in (0, 1):
        for row, col in ((0, 0), (0, 1), (0, 2), (1, 0), (1, 1)):
            if (row + col) % 2 != parity:
                continue
            around = [seen[r, c] for r, c in ((row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1))
                      if 0 <= r < 2 and 0 <= c < 3]
            energies = single[row, col] + [6 * sum(abs(label - x) for x in around) for label in range(3)]
            expected *= conditional(config, problem, energies, value)[after[row, col]]
            seen[row, col] = after[row, col]
    assert expected > 0
    assert kernel.matrix()[kernel.index(before[None])[0], kernel.index(after[None])[0]] == pytest.approx(expected)


def test_states_and_their_indices():
    problem = grid_problem(clamped=np.array([[0, 1, 0], [0, 0, 0]], bool))
    kernel = sweep_kernel(Config(), problem, np.full((2, 3), 2))
    assert kernel.states.shape == (3**5, 2, 3)
    assert kernel.states.dtype == np.uint8
    assert len(np.unique(kernel.states, axis=0)) == 3**5
    assert (kernel.states[:, 0, 1] == 2).all()
    assert np.array_equal(kernel.index(kernel.states), np.arange(3**5))


@pytest.mark.parametrize("clamped", [None, np.array([[1, 0, 1], [0, 1, 0]], bool), np.ones((2, 3), bool)])
def test_exact_distribution_and_energies(clamped):
    config, problem = Config(sampler="cdf", temperature_bits=12), grid_problem(clamped=clamped, alpha=2)
    states, kept = stationary(config, problem)
    energies = Energy(problem)(states)
    temperature = realized(config, coefficient(config, 9.0, 0), 0)
    weight = np.exp((energies.min() - energies) / temperature)
    exact = exact_distribution(config, problem, states)
    assert exact == pytest.approx(weight / weight.sum())
    assert total_variation(kept, exact) < 0.005


def test_total_variation():
    assert total_variation(np.array([0.5, 0.5, 0]), np.array([0, 0.5, 0.5])) == 0.5
    assert total_variation(np.array([1.0, 0]), np.array([0, 1.0])) == 1


def test_a_chain_with_two_ends_is_refused():
    """At low temperature no label is drawn that breaks with its neighbours: all 0 and all 1 are both final."""
    problem = Problem(labels=2, singleton1=np.zeros((2, 2), int), constants=np.zeros(2, int), doubleton="potts",
                      beta=40, schedule=Schedule.constant(1.0))
    with pytest.raises(ReducibleError, match="2 closed classes"):
        stationary(Config(), problem)


def test_transient_configurations_have_probability_zero():
    problem = Problem(labels=3, singleton1=np.zeros((1, 2), int), constants=np.array([0, 2, 60]),
                      schedule=Schedule.constant(1.0))
    states, kept = stationary(Config(), problem)
    assert (kept[(states == 2).any((1, 2))] == 0).all()
    assert (kept[(states < 2).all((1, 2))] > 0).all()


def test_what_cannot_be_enumerated_is_refused():
    with pytest.raises(ProblemError, match=r"3\^16 configurations"):
        sweep_kernel(Config(), grid_problem(singleton1=np.zeros((4, 4), int)))
    with pytest.raises(ProblemError, match="the schedule is geometric"):
        sweep_kernel(Config(), grid_problem(schedule=Schedule.geometric(9.0, 0.5, 4.0)))
    with pytest.raises(ProblemError, match="label_bits = 1"):
        sweep_kernel(Config(label_bits=1), grid_problem())


def test_one_machine_sweep_goes_only_where_the_kernel_can():
    """From the start that the host draws, each step of a model's run has a positive probability."""
    problem = grid_problem()
    for sampler in ALL:
        config = Config(sampler=sampler, mesh_rows=1, mesh_cols=1)
        machine = Machine(config, problem, Run(sweeps=40, seed=3))
        kernel: SweepKernel = sweep_kernel(config, problem)
        matrix, at = kernel.matrix(), kernel.index(machine.image(machine.labels)[None])[0]
        for _ in range(40):
            machine.sweep()
            last, at = at, kernel.index(machine.image(machine.labels)[None])[0]
            assert matrix[last, at] > 0


def test_a_kernel_of_an_integer_mask():
    held = np.ones((2, 2), np.uint8)
    held[0, 0] = 0
    problem = Problem(labels=3, singleton1=np.arange(4).reshape(2, 2), constants=np.array([0, 9, 20]), clamped=held)
    assert sum(len(sites) for sites in sweep_kernel(Config(), problem).sites) == 1
