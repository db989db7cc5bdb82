"""Samples of the model and of the compiled chip against the quantized kernel's distributions; energies per site.

Each comparison fails by chance with probability FALSE_FAILURE at most, were its seed drawn anew; the seeds are
fixed. The tail of Pearson's statistic is a little heavier than chi-square's, so that limits are ten times lower.
"""

from functools import cache

import numpy as np
import pytest
from scipy.stats import t as student

from mrfhw.field.energy import Energy
from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.machine.config import Config
from mrfhw.machine.samplers import Cdf, Race
from mrfhw.placement.placement import Placement
from mrfhw.simulation.chip import CompiledChip, run_placed
from mrfhw.twin import draws, paired
from mrfhw.twin.machine import Machine
from studies import quantized
from studies.quantized import SweepKernel
from support.small_grids import GRIDS, Copies, tail

MODEL_SAMPLES = pytest.mark.claim("statistics",
    "the model samples the stationary distribution of the quantized kernel and moves by it, false-failure rate 1e-6")
TESTS_SEE_ERROR = pytest.mark.claim(
    "statistics", "the tests see a 5 % error of T, a wrong tie rule, a wrong comparison and quantization itself")

FALSE_FAILURE = 1e-6
pytestmark = pytest.mark.slow

LIMIT = FALSE_FAILURE / 10
TILE = {"mesh_rows": 1, "mesh_cols": 1, "spus": 1, "tile_rows": 256, "tile_cols": 256}
WIDTHS = {
    "race 12/6": Race(),
    "race 8/2": Race(uniform_bits=8, fraction_bits=2),
    "cdf integer 12": Cdf(),
    "cdf integer 4": Cdf(probability_bits=4, uniform_bits=8),
    "cdf power of two 8": Cdf(probability_bits=8, floor="power_of_two"),
}
CHAIN = "3 in a row, 4 labels"


def config_of(widths):
    return Config(**TILE, sampler=WIDTHS[widths])


@cache
def model_counts(widths, grid, visits=20):
    """How often the model's copies were in each configuration, looked at after every `grid.sweeps` sweeps."""
    config, copies = config_of(widths), Copies(GRIDS[grid], (256, 256))
    kernel, total = copies.kernel(config), 0
    # So that each sample has forgotten the one before, and the samples are as good as independent.
    assert kernel.mixing(copies.grid.sweeps) < 1e-6
    sweeps = visits * copies.grid.sweeps
    machine = Machine(config, copies.problem, Run(sweeps=sweeps, burn_in=sweeps - 1, seed=7, initial=copies.initial))
    for sweep in range(1, sweeps + 1):
        machine.sweep()
        if sweep % copies.grid.sweeps == 0:
            at = kernel.index(copies.cut(machine.image(machine.labels)))
            total = total + np.bincount(at, minlength=len(kernel.states))
    return total


def stationary_of(widths, grid, scale=1.0):
    return Copies(GRIDS[grid], (256, 256)).kernel(config_of(widths), scale).stationary()


# Every sampler on one grid, and the default one on every grid.
CASES = [pytest.param(widths, grid, marks=[pytest.mark.long] * (grid != CHAIN and widths != next(iter(WIDTHS))))
         for widths in WIDTHS for grid in GRIDS]


@MODEL_SAMPLES
@pytest.mark.parametrize(("widths", "grid"), CASES)
def test_model_samples_the_stationary_distribution(widths, grid):
    counts = model_counts(widths, grid)
    assert counts.sum() >= 79_000
    assert tail(counts, stationary_of(widths, grid)) > LIMIT


@MODEL_SAMPLES
@pytest.mark.parametrize("widths", WIDTHS)
def test_model_moves_by_the_kernel(widths):
    """Pairs (before, after one sweep), from uniform random labels: each transition has its probability."""
    config, pairs = config_of(widths), 0
    for seed in range(12):
        copies = Copies(GRIDS[CHAIN], (256, 256), seed)
        kernel: SweepKernel = copies.kernel(config)
        machine = Machine(config, copies.problem, Run(sweeps=1, seed=seed, initial=copies.initial))
        before = kernel.index(copies.cut(copies.initial))
        machine.sweep()
        after = kernel.index(copies.cut(machine.image(machine.labels)))
        states = len(kernel.states)
        pairs = pairs + np.bincount(before * states + after, minlength=states**2)
    assert tail(pairs, kernel.matrix().ravel() / states) > LIMIT


@TESTS_SEE_ERROR
@pytest.mark.parametrize("scale", [0.95, 1.05])
@pytest.mark.parametrize("widths", ["race 12/6", "race 8/2", "cdf integer 12"])
@pytest.mark.parametrize("grid", GRIDS)
def test_power_a_temperature_wrong_by_5_percent_is_seen(widths, grid, scale):
    """Against the kernel at 0.95 T and 1.05 T. (A cdf of few bits may hold no difference between the two.)"""
    assert tail(model_counts(widths, grid), stationary_of(widths, grid, scale)) < LIMIT


def break_the_rules(monkeypatch):
    """Let the enumeration give ties to the highest label, and count the sums below the threshold alone."""
    right = draws._race

    def wrong(config, energy, value):
        sums = draws._weights(config, energy, value).cumsum()
        threshold = (np.arange(1 << config.sampler.uniform_bits) * sums[-1]) >> config.sampler.uniform_bits
        drawn = np.searchsorted(sums, threshold, "left")
        return np.bincount(drawn, minlength=len(sums)) / (1 << config.sampler.uniform_bits)

    monkeypatch.setattr(draws, "_race", lambda config, energy, value: right(config, energy[::-1], value)[::-1])
    monkeypatch.setattr(draws, "_cdf", wrong)


@TESTS_SEE_ERROR
@pytest.mark.parametrize("widths", ["race 8/2", "cdf integer 4"])
def test_power_a_wrong_rule_for_ties_is_seen(widths, monkeypatch):
    counts = model_counts(widths, CHAIN)
    break_the_rules(monkeypatch)
    assert tail(counts, stationary_of(widths, CHAIN)) < LIMIT


@TESTS_SEE_ERROR
def test_power_quantization_itself_is_seen():
    """The power-of-two samples are told from the exact distribution."""
    config, counts = config_of("cdf power of two 8"), model_counts("cdf power of two 8", CHAIN)
    copies = Copies(GRIDS[CHAIN], (256, 256))
    exact_one = quantized.exact_distribution(config, copies.cell(), copies.kernel(config).states)
    assert tail(counts, exact_one) < LIMIT


# -- the compiled chip

CHIPS = {
    "race": Race(uniform_bits=8, fraction_bits=2),
    "cdf": Cdf(probability_bits=4, uniform_bits=8, floor="power_of_two"),
}


def chip_config(sampler):
    return Config.preset("smallest", tile_rows=128, tile_cols=128, label_bits=2, energy_bits=10, sampler=CHIPS[sampler])


@cache
def chip_counts(sampler, runs=10):
    """How often the chip's copies were in each configuration, one sample of each copy and run."""
    config, total, sweeps = chip_config(sampler), 0, GRIDS[CHAIN].sweeps
    with CompiledChip(config) as chip:
        for seed in range(runs):
            copies = Copies(GRIDS[CHAIN], (128, 128), seed)
            kernel = copies.kernel(config)
            run = Run(sweeps=sweeps, burn_in=sweeps - 1, seed=seed, initial=copies.initial)
            last = run_placed(chip, Placement(config, copies.problem, run), patience=10_000_000).last
            total = total + np.bincount(kernel.index(copies.cut(last)), minlength=len(kernel.states))
    assert kernel.mixing(sweeps) < 1e-6
    return total


def chip_stationary(sampler, scale=1.0):
    return Copies(GRIDS[CHAIN], (128, 128)).kernel(chip_config(sampler), scale).stationary()


@pytest.mark.tools
@pytest.mark.claim(
    "statistics", "the RTL samples the stationary distribution of the quantized kernel, false-failure rate 1e-6 (make long)")
@pytest.mark.long
@pytest.mark.parametrize("sampler", CHIPS)
def test_chip_samples_the_stationary_distribution(sampler):
    counts = chip_counts(sampler)
    assert counts.sum() >= 19_000
    assert tail(counts, chip_stationary(sampler)) > LIMIT


@pytest.mark.tools
@pytest.mark.long
@pytest.mark.parametrize(("sampler", "scale"), [("race", 0.95), ("race", 1.05), ("cdf", 1.05)])
def test_power_a_temperature_of_the_chip_wrong_by_5_percent_is_seen(sampler, scale):
    assert tail(chip_counts(sampler), chip_stationary(sampler, scale)) < LIMIT


@pytest.mark.tools
@pytest.mark.long
@pytest.mark.parametrize("sampler", CHIPS)
def test_power_a_wrong_rule_for_ties_of_the_chip_is_seen(sampler, monkeypatch):
    counts = chip_counts(sampler)
    break_the_rules(monkeypatch)
    assert tail(counts, chip_stationary(sampler)) < LIMIT


# -- energies per site

SIDE, BETA = 64, 16
CHAINS, BURN_IN, SAMPLES, APART = 16, 60, 10, 15
# (labels, T over the transition's temperature): Ising is the Potts model of two labels, T_c = beta / log(1 + sqrt(L)).
POINTS = [(2, 1.15), *(pytest.param(*point, marks=pytest.mark.long) for point in ((4, 1.02), (2, 1.02), (2, 1.5), (4, 1.2)))]


def potts(labels, ratio):
    temperature = ratio * BETA / np.log(1 + np.sqrt(labels))
    return Problem(labels=labels, singleton1=np.zeros((SIDE, SIDE), int), constants=np.zeros(labels, int), beta=BETA,
                   doubleton="potts", schedule=Schedule.constant(temperature))


def machine_of(sampler):
    return Config(mesh_rows=1, mesh_cols=1, spus=1, sampler=sampler)


def mean_energy(problem, labels):
    """Energy per site over beta."""
    return float(Energy(problem)(labels)) / (BETA * problem.sites)


@cache
def exact_chains(labels, ratio):
    """(CHAINS,) means of float64 chains, each of SAMPLES samples APART sweeps apart after BURN_IN sweeps."""
    problem, means = potts(labels, ratio), []
    for chain in range(CHAINS):
        now, energies = "random", []
        for k in range(SAMPLES + 1):
            run = Run(sweeps=APART if k else BURN_IN, seed=1000 * chain + k, initial=now)
            now = paired.solve(problem, run, config=machine_of("race")).last
            energies.append(mean_energy(problem, now))
        means.append(np.mean(energies[1:]))
    return np.array(means)


def model_chains(config, labels, ratio):
    """(CHAINS,) means of the model's chains, of the same lengths."""
    problem, means, sweeps = potts(labels, ratio), [], BURN_IN + SAMPLES * APART
    for chain in range(CHAINS):
        machine, energies = Machine(config, problem, Run(sweeps=sweeps, burn_in=sweeps - 1, seed=chain)), []
        for sweep in range(1, sweeps + 1):
            machine.sweep()
            if sweep > BURN_IN and (sweep - BURN_IN) % APART == 0:
                energies.append(mean_energy(problem, machine.image(machine.labels)))
        means.append(np.mean(energies))
    return np.array(means)


def difference_and_tolerance(a, b):
    """Of the means of two sets of chains: Welch's test, false failures by FALSE_FAILURE."""
    shares = np.array([a.var(ddof=1), b.var(ddof=1)]) / CHAINS
    freedom = shares.sum() ** 2 / (shares**2).sum() * (CHAINS - 1)
    return a.mean() - b.mean(), student.isf(FALSE_FAILURE / 2, freedom) * np.sqrt(shares.sum())


@pytest.mark.claim(
    "statistics", "Ising and 4-label Potts (make long) energies per site agree with float64, false-failure rate 1e-6")
@pytest.mark.parametrize("sampler", ["race", "cdf"])
@pytest.mark.parametrize(("labels", "ratio"), POINTS)
def test_energy_per_site_of_ising_and_potts_is_that_of_float64(labels, ratio, sampler):
    """Widths at which quantization moves the energy by less than the tolerance: the default machine's.

    All chains start from random labels and are equally long, so that the comparison does not need them to be
    in equilibrium.
    """
    reference = exact_chains(labels, ratio)
    difference, tolerance = difference_and_tolerance(model_chains(machine_of(sampler), labels, ratio), reference)
    assert abs(difference) < tolerance
    assert tolerance < 0.03


def test_power_energies_at_a_temperature_wrong_by_5_percent_are_seen():
    chains = model_chains(machine_of("race"), 2, 1.15 * 1.05)
    difference, tolerance = difference_and_tolerance(chains, exact_chains(2, 1.15))
    assert difference > tolerance
