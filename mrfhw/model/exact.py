"""Gibbs sampling in double precision: the mathematics without quantization (backend "float").

Equation 3.1 without shift, floor or cap, and p(l) = exp(-E(l) / T) / sum of exp(-E / T), for all black
sites ((row + column) even) at once and then for all white ones.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator

import numpy as np

from mrfhw.config import Config
from mrfhw.problem import Problem, Run, Schedule, doubleton_table, initial_labels, singleton_energies
from mrfhw.result import Result
from mrfhw.temperature import coefficients, realized

__all__ = ["solve", "sweep_energy", "temperatures"]


def _scheduled(schedule: Schedule) -> Iterator[float]:
    sweep = 0
    while True:
        if schedule.kind == "table":
            yield schedule.table[min(sweep // schedule.stride, len(schedule.table) - 1)]
        elif schedule.kind == "geometric":
            yield max(schedule.start * schedule.ratio**sweep, schedule.limit)
        else:
            yield schedule.start
        sweep += 1


def temperatures(problem: Problem, config: Config | None = None) -> Iterator[float]:
    """T of sweep 0, 1, 2, ... without end, in units of unshifted energy.

    With a machine, the T that it realizes; without, the schedule's own values.
    """
    if config is None:
        return _scheduled(problem.schedule)
    return (realized(config, value, problem.energy_shift) for value in coefficients(config, problem))


class _Colour:
    """The unclamped sites of one colour, in raster order, and what their update needs.

    sites: (n,) flat indices. neighbours: (4, n) flat indices into the labels; the index H x W, one past
    the last site, stands for a neighbour outside the image. energies: (n, L) float64, alpha E_singleton.
    """

    def __init__(self, problem: Problem, energies: np.ndarray, parity: int) -> None:
        rows, cols = problem.shape
        row, col = np.indices((rows, cols))
        chosen = (row + col) % 2 == parity
        if problem.clamped is not None:
            chosen &= ~problem.clamped
        outside = rows * cols
        framed = np.full((rows + 2, cols + 2), outside)
        framed[1:-1, 1:-1] = np.arange(outside).reshape(rows, cols)
        self.sites = np.flatnonzero(chosen)
        around = (framed[:-2, 1:-1], framed[2:, 1:-1], framed[1:-1, :-2], framed[1:-1, 2:])
        self.neighbours = np.stack([side[chosen] for side in around])
        self.energies = energies[chosen]

    def draw(self, labels: np.ndarray, doubletons: np.ndarray, temperature: float, uniforms: np.ndarray) -> np.ndarray:
        """New labels (n,) of the sites: the first label whose running sum of probability exceeds the uniform.

        labels: (H x W + 1,), the last one L. doubletons: (L + 1, L) float64, beta E_doubleton, the last row 0.
        """
        energy = self.energies.copy()
        for neighbour in self.neighbours:
            energy += doubletons[labels[neighbour]]
        # The least energy is taken off so that exp() of it is 1: it cancels in the quotient.
        energy -= energy.min(1, keepdims=True)
        running = np.exp(energy / -temperature).cumsum(1)
        return (running > (uniforms * running[:, -1])[:, None]).argmax(1)


def solve(problem: Problem, run: Run, *, config: Config | None = None,
          progress: Callable[[int], None] | None = None) -> Result:
    """Sample `problem` for `run.sweeps` sweeps in float64.

    config: the machine whose realized temperatures are used and whose words the problem must fit
    (ProblemError where it does not); None uses the schedule as it stands.
    progress: called after each sweep with the number of finished sweeps.
    Uniforms come from NumPy's PCG64 seeded by (run.seed, 2): one for each unclamped site, black sites in
    raster order and then white ones, sweep after sweep.
    Result: backend "float"; no messages, cycles or lanes.
    """
    if config is not None:
        problem.check_fits(config)
    began = time.perf_counter()
    rng = np.random.Generator(np.random.PCG64([run.seed, 2]))
    initial = initial_labels(problem, run)
    energies = problem.alpha * singleton_energies(problem).astype(np.float64)
    doubletons = np.zeros((problem.labels + 1, problem.labels))
    doubletons[:-1] = problem.beta * doubleton_table(problem).T
    colours = [_Colour(problem, energies, parity) for parity in (0, 1)]
    labels = np.append(initial.ravel(), np.uint8(problem.labels)).astype(np.intp)
    counts = np.zeros((problem.sites, problem.labels), np.uint32)
    drawn = np.concatenate([colour.sites for colour in colours])
    for sweep, temperature in zip(range(run.sweeps), temperatures(problem, config), strict=False):
        for colour in colours:
            labels[colour.sites] = colour.draw(labels, doubletons, temperature, rng.random(len(colour.sites)))
        if sweep >= run.burn_in:
            counts[drawn, labels[drawn]] += 1
        if progress is not None:
            progress(sweep + 1)
    return Result(
        backend="float", counts=counts.reshape(*problem.shape, problem.labels),
        last=labels[:-1].reshape(problem.shape).astype(np.uint8), initial=initial,
        label_evaluations=problem.labels * problem.unclamped_sites * run.sweeps,
        wall_seconds=time.perf_counter() - began,
    )


def sweep_energy(problem: Problem, labels: np.ndarray) -> float:
    """Total energy of a configuration (H, W): alpha E_singleton of each site, beta E_doubleton of each edge once."""
    table = doubleton_table(problem)
    picked = np.take_along_axis(singleton_energies(problem), labels[..., None].astype(np.intp), 2)
    pairs = table[labels[1:], labels[:-1]].sum() + table[labels[:, 1:], labels[:, :-1]].sum()
    return float(problem.alpha * picked.sum() + problem.beta * pairs)
