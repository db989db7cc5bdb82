"""Fields and runs of the sampler of devices, and its twin in NumPy."""

from __future__ import annotations

import dataclasses

import numpy as np

from mrfhw.field.colours import COLOURS
from mrfhw.field.initial import initial_labels
from mrfhw.field.problem import Problem, Run, Schedule
from mrfhw.samplers.gpu.fields import key_of
from mrfhw.samplers.gpu.reference import draw, draw_of_subsets
from mrfhw.samplers.gpu.source import Variant
from mrfhw.samplers.gpu.tables import GpuTables
from support.enumerated import random_problem

__all__ = ["VARIANTS", "a_problem", "twin"]

VARIANTS = [Variant(), Variant(group=(3, 2), keep=False), Variant(group=(8, 4), local_labels=True),
            Variant(group=(16, 1), keep=False, local_doubles=True, fixed=True), Variant(fixed=True),
            Variant(group=(5, 3), local_doubles=True, local_labels=True)]


def twin(problem: Problem, run: Run, subset: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Last labels and histogram by NumPy; subset: labels among which a site is drawn, 0 for all."""
    tables, labels = GpuTables(problem), np.array(initial_labels(problem, run), np.uint8)
    counts, free = np.zeros((*problem.shape, problem.labels), int), np.nonzero(tables.clamped == 0)
    for sweep, temperature in zip(range(run.sweeps), problem.schedule.temperatures(), strict=False):
        for colour in COLOURS:
            if subset:
                draw_of_subsets(tables, labels, colour, sweep, temperature, key_of(run.seed), subset)
            else:
                draw(tables, labels, colour, sweep, temperature, key_of(run.seed))
        if sweep >= run.counts_from:
            counts[(*free, labels[free])] += 1
    return labels, counts


def a_problem(seed: int) -> Problem:
    """A random field; some with weights of edges, without clamped sites, or with doubletons that are not symmetric."""
    rng, problem = np.random.default_rng(seed), random_problem(np.random.default_rng(seed))
    if seed % 3 == 0:
        problem = dataclasses.replace(problem, clamped=None)
    if seed % 2 == 0:
        problem = dataclasses.replace(problem, edges=rng.integers(0, 4, (*problem.shape, 2)))
    if seed % 5 == 0:
        problem = dataclasses.replace(problem, schedule=Schedule.constant(3.5))
    if seed % 4 < 2:
        table = rng.integers(0, 9, (problem.labels, problem.labels))
        problem = dataclasses.replace(problem, doubleton="table", pairwise=table, vectors=None)
    return problem
