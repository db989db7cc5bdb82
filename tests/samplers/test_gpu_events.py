"""Event-driven sampling on a device: what it skips could not have changed, and what Equation 4.1 leaves is what it draws."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator

import numpy as np
import pytest

from mrfhw.backends import plan as backends
from mrfhw.backends.gpu import GpuBackend
from mrfhw.field.colours import COLOURS
from mrfhw.field.initial import initial_labels
from mrfhw.field.problem import Problem, ProblemError, Run, Schedule
from mrfhw.machine.config import Config
from mrfhw.samplers.events import Skipping
from mrfhw.samplers.gpu.chain import Choice, GpuChain
from mrfhw.samplers.gpu.fields import key_of
from mrfhw.samplers.gpu.group import Group
from mrfhw.samplers.gpu.reference import draw
from mrfhw.samplers.gpu.tables import GpuTables
from support.enumerated import random_problem
from support.gpu_fields import VARIANTS

pytestmark = pytest.mark.claim("gpu", "event-driven sampling on a device draws every site that could have changed, whatever the "
                               "regions and the variant, and the labels that Equation 4.1 leaves")
DEVICE = "0"
SCHEDULES = {"cools": Schedule.geometric(40.0, 0.85, 2.0), "rises": Schedule.of_table((20.0, 2.0, 25.0), 8)}
SWEEPS = 40


def a_problem(seed: int, schedule: str) -> Problem:
    rng = np.random.default_rng(seed)
    size = (21, 18)
    return dataclasses.replace(random_problem(rng), singleton1=rng.integers(0, 64, size), singleton2=rng.integers(0, 64, size),
                               observed=None, clamped=rng.random(size) < 0.15, schedule=SCHEDULES[schedule])


def every_site(problem: Problem, run: Run, cutoff: float) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """After each sweep, without skipping: labels, where there was a choice, and where they are others than before it."""
    tables, labels = GpuTables(problem), np.array(initial_labels(problem, run), np.uint8)
    for sweep, temperature in zip(range(run.sweeps), problem.schedule.temperatures(), strict=False):
        before, several = labels.copy(), np.zeros(problem.shape, bool)
        for colour in COLOURS:
            several |= draw(tables, labels, colour, sweep, temperature, key_of(run.seed), cutoff)
        yield labels.copy(), several, labels != before


def chain_of(problem: Problem, run: Run, skipping: Skipping, number: int = 0, group: Group | None = None) -> GpuChain:
    return GpuChain(problem, run, choice=Choice(DEVICE, VARIANTS[number], skipping=skipping), group=group)


def around(where: np.ndarray) -> np.ndarray:
    found = np.zeros_like(where)
    found[1:] |= where[:-1]
    found[:-1] |= where[1:]
    found[:, 1:] |= where[:, :-1]
    found[:, :-1] |= where[:, 1:]
    return found


@pytest.mark.parametrize("schedule", SCHEDULES)
@pytest.mark.parametrize("cutoff", [1.5, 4.0, 16.0])
def test_what_is_skipped_could_not_have_changed(cutoff: float, schedule: str) -> None:
    """Labels are those of all sites drawn; of single sites as many are drawn as had a choice, or a neighbour that changed."""
    problem, run = a_problem(int(cutoff), schedule), Run(sweeps=SWEEPS, seed=3, estimate="last")
    chains = [chain_of(problem, run, Skipping(cutoff, region), number)
              for number, region in enumerate(((1, 1), (8, 8), (3, 5), (10**20, 1)))]
    black = np.indices(problem.shape).sum(0) % 2 == 0
    several, changed, last, drawn = np.ones(problem.shape, bool), np.zeros(problem.shape, bool), np.inf, 0
    temperatures = problem.schedule.temperatures()
    free = GpuTables(problem).clamped == 0
    for labels, now_several, now_changed in every_site(problem, run, cutoff):
        temperature = next(temperatures)
        if temperature > last:
            several[...] = True
        last = temperature
        # White sites see black neighbours that changed in this sweep, black ones what changed in the sweep before.
        turn = free & (several | (around(changed & ~black) & black) | (around(now_changed & black) & ~black))
        drawn += int(turn.sum())
        several, changed = now_several, now_changed
        for chain in chains:
            chain.sweep()
            assert np.array_equal(chain.sample, labels)
    evaluated = [chain.label_evaluations for chain in chains]
    assert evaluated[0] == drawn * problem.labels
    assert 0 < evaluated[0] < problem.unclamped_sites * problem.labels * SWEEPS
    assert all(evaluated[0] <= one for one in evaluated[1:])
    assert evaluated[3] > evaluated[0]


def test_a_chain_goes_on_from_its_state() -> None:
    problem, run = a_problem(2, "rises"), Run(sweeps=SWEEPS, seed=5, estimate="last")
    whole, half, rest = (chain_of(problem, run, Skipping(3.0, (4, 4)), number) for number in (0, 0, 2))
    for sweep in range(SWEEPS):
        whole.sweep()
        if sweep < 19:
            half.sweep()
    rest.restore(half.state())
    for _ in range(SWEEPS - 19):
        rest.sweep()
    assert np.array_equal(rest.sample, whole.sample)
    assert rest.label_evaluations == whole.label_evaluations
    with pytest.raises(ProblemError):
        chain_of(problem, run, Skipping(3.0, (2, 4))).restore(half.state())


def test_chains_beside_are_each_as_alone() -> None:
    """Also where one joins when the others have begun."""
    group, run = Group(), Run(sweeps=SWEEPS, seed=1, estimate="last")
    problems = [a_problem(seed, "cools") for seed in range(3)]
    together, skipping = list[GpuChain](), Skipping(4.0, (4, 4))
    for problem in problems:
        together.append(chain_of(problem, run, skipping, group=group))
        for chain in together:
            for _ in range(10):
                chain.sweep()
    for number, (problem, chain) in enumerate(zip(problems, together, strict=True)):
        alone = chain_of(problem, run, skipping)
        for _ in range(10 * (3 - number)):
            alone.sweep()
        assert np.array_equal(chain.sample, alone.sample)
        assert chain.label_evaluations == alone.label_evaluations


def test_the_backend_is_that_chain() -> None:
    problem, run = a_problem(1, "cools"), Run(sweeps=SWEEPS, seed=3, estimate="last")
    chain = chain_of(problem, run, Skipping(8.0, (3, 5)))
    for _ in range(SWEEPS):
        chain.sweep()
    result = backends.solve(f"gpu?device={DEVICE}&cutoff=8&region=3x5", Config(), problem, run)
    assert np.array_equal(result.last, chain.sample)
    assert result.label_evaluations == chain.label_evaluations


def test_identities_tell_what_is_skipped() -> None:
    assert GpuBackend.identity("gpu?device=0&group=8x8") == "gpu"
    assert len({GpuBackend.identity(f"gpu?{text}") for text in ("cutoff=4", "region=1x1", "cutoff=4&device=7", "cutoff=5")}) == 2


@pytest.mark.parametrize("estimate", ["mode", "mean"])
def test_no_uncertainty_comes_of_it(estimate: str) -> None:
    with pytest.raises(ProblemError, match=rf"^estimate is {estimate}; event-driven .* last, or leave cutoff and region out$"):
        chain_of(a_problem(1, "cools"), Run(sweeps=4, estimate=estimate), Skipping(2.0))  # type: ignore[arg-type]
