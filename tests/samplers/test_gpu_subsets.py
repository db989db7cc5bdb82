"""Sites drawn among some labels on a device: the bits of the twin, and the law of the field."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from mrfhw.backends.gpu import GpuBackend
from mrfhw.field.initial import initial_labels
from mrfhw.field.problem import Problem, ProblemError, Run, Schedule
from mrfhw.samplers.chain import chain_type
from mrfhw.samplers.gpu.chain import Choice, GpuChain
from mrfhw.samplers.gpu.device import of_name
from mrfhw.samplers.gpu.fields import Fields, Sweep
from mrfhw.samplers.gpu.tables import GpuTables
from support.cuda_on_threads import cupy_there
from support.enumerated import chi_square_tail, enumerated
from support.gpu_fields import VARIANTS, a_problem, twin

pytestmark = pytest.mark.claim("gpu", "subsets of labels on a device have the bits of their twin, whatever the variant, and the "
                               "enumerated distribution at a false-failure rate of 1e-6")
DEVICE = "0"  # of OpenCL, any
FALSE_FAILURE = 1e-6


def same_as_the_twin(problem: Problem, subset: int, choice: Choice) -> None:
    run = Run(sweeps=12, burn_in=3, seed=subset)
    chain = GpuChain(problem, run, choice=dataclasses.replace(choice, subset=subset))
    for _ in range(run.sweeps):
        chain.sweep()
    labels, counts = twin(problem, run, subset)
    assert np.array_equal(chain.sample, labels)
    assert np.array_equal(chain.counts, counts)
    assert chain.label_evaluations == subset * problem.unclamped_sites * run.sweeps


@pytest.mark.parametrize("variant", range(len(VARIANTS)))
@pytest.mark.parametrize("seed", range(4))
def test_the_bits_of_the_twin(seed: int, variant: int) -> None:
    same_as_the_twin(a_problem(seed), 2 + 5 * variant % 15, Choice(DEVICE, VARIANTS[variant]))


@pytest.mark.parametrize(("shape", "labels"), [((1, 1), 7), ((1, 6), 200), ((5, 1), 2), ((6, 5), 256)])
def test_few_neighbours_and_few_and_many_labels(shape: tuple[int, int], labels: int) -> None:
    rng = np.random.default_rng(labels)
    problem = Problem(labels=labels, unary=rng.integers(0, 60, (*shape, labels)), beta=5, tau=9, schedule=Schedule.constant(11.0))
    for subset in (2, 16):
        same_as_the_twin(problem, subset, Choice(DEVICE))


@pytest.mark.tools
def test_the_bits_of_the_twin_as_cuda() -> None:
    with cupy_there():
        same_as_the_twin(a_problem(2), 7, Choice("cuda:0", VARIANTS[2]))


@pytest.mark.slow
@pytest.mark.parametrize("subset", [2, 3, 8])
def test_open_2x2_grid_has_the_enumerated_distribution(subset: int) -> None:
    """Of six labels, so that most of a subset are not drawn; each of 4,000 chains is looked at once."""
    constants = np.array([3, 9, 11, 18, 24, 30])
    problem = Problem(labels=6, singleton1=np.array([[5, 20], [12, 9]]), constants=constants, doubleton="absolute", beta=5,
                      schedule=Schedule.constant(16.0))
    states, probabilities = enumerated(problem, 16.0, [0, 1, 2, 3])
    keys = np.asarray(states).reshape(len(states), -1)
    tables, seeds, sweeps = GpuTables(problem), range(4000), {2: 60, 3: 40, 8: 24}[subset]
    runs = [Run(sweeps=sweeps, burn_in=0, seed=seed, estimate="last") for seed in seeds]
    many = Fields(of_name(DEVICE), [tables] * len(runs), runs, [initial_labels(problem, run) for run in runs], subset=subset)
    many.sweep([[Sweep(number, 16.0, False)] * len(runs) for number in range(sweeps)])
    last = np.array(many.labels()).reshape(len(runs), -1)
    # Of 1,296 states those that are rare go together, so that each cell expects 20 or more.
    order = np.argsort(probabilities)
    cell = np.empty(len(keys), int)
    expected, now = [0.0], 0
    for state in order:
        if expected[now] >= 20:
            expected.append(0.0)
            now += 1
        cell[state] = now
        expected[now] += probabilities[state] * len(runs)
    place = {tuple(key): number for number, key in enumerate(keys.tolist())}
    seen = np.bincount([cell[place[tuple(one)]] for one in last.tolist()], minlength=len(expected))
    assert chi_square_tail(seen, np.array(expected)) > FALSE_FAILURE
    wrong = np.array(enumerated(problem, 24.0, [0, 1, 2, 3])[1])
    elsewhere = np.bincount(cell, weights=wrong * len(runs))
    assert chi_square_tail(seen, elsewhere) < FALSE_FAILURE


def test_what_is_asked_for() -> None:
    assert chain_type("gpu?subset=8")[1]["choice"].subset == 8
    assert GpuBackend.identity("gpu?subset=8&device=3") == "gpu?subset=8"
    for options, line in (("subset=1", "subset is '1', not 2 to 16 labels"), ("subset=17", "subset is '17', not 2 to 16 labels"),
                          ("subset=4&cutoff=3", "a subset keeps the law, and a cutoff does not: leave one out")):
        with pytest.raises(ProblemError, match=line):
            chain_type(f"gpu?{options}")
