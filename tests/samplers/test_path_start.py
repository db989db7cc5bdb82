"""First labels of least energies along paths, against the same in plain Python."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import mrfhw.samplers.path_start as module
from mrfhw.field.energy import doubleton_table, singleton_energies
from mrfhw.field.problem import Problem
from mrfhw.samplers.path_start import path_start

RNG = np.random.default_rng(5)


def fields(rows: int, cols: int) -> dict[str, Problem]:
    unary, labels = RNG.integers(0, 30, (rows, cols, 6)), 6
    plain = Problem(labels=labels, unary=unary)
    table = RNG.integers(0, 9, (labels, labels))
    return {
        "truncated": dataclasses.replace(plain, doubleton="absolute", beta=3, tau=2),
        "not truncated": dataclasses.replace(plain, doubleton="absolute", beta=2, tau=None),
        "Potts": dataclasses.replace(plain, doubleton="potts", beta=7),
        "a table that is not symmetric": dataclasses.replace(plain, doubleton="table", pairwise=table, beta=2),
        "alone": dataclasses.replace(plain, beta=0),
        "weights": dataclasses.replace(plain, doubleton="absolute", beta=2, tau=2, edges=RNG.integers(0, 4, (rows, cols, 2))),
        "vectors": Problem(labels=labels, unary=unary, doubleton="squared", tau=4, beta=4,
                           vectors=np.stack(np.divmod(np.arange(labels), 3), 1)),
        "large energies": dataclasses.replace(plain, unary=(unary << 21) + RNG.integers(0, 2, unary.shape), doubleton="absolute",
                                              beta=(1 << 19) + 1, tau=3),
        "data": Problem(labels=labels, singleton1=RNG.integers(0, 64, (rows, cols)), singleton2=RNG.integers(0, 64, (rows, cols)),
                        offsets=np.stack([np.zeros(labels, int), -np.arange(labels)], 1), beta=4, tau=2, out_of_range=9,
                        observed=RNG.random((rows, cols)) < 0.8),
    }


def in_plain_python(problem: Problem, stiffness: int) -> np.ndarray:
    own, table = singleton_energies(problem), problem.beta * doubleton_table(problem)
    (rows, cols), total = problem.shape, -3 * own
    edges = np.ones((rows, cols, 2), int) if problem.edges is None else problem.edges
    for down, along in ((1, 0), (-1, 0), (0, 1), (0, -1)):
        energy = np.zeros_like(own)
        for row in range(rows)[::down or 1]:
            for col in range(cols)[::along or 1]:
                energy[row, col] = own[row, col]
                above, before = row - down, col - along
                if 0 <= above < rows and 0 <= before < cols:
                    weight = stiffness * edges[min(row, above), min(col, before), 1 if down else 0]
                    pairs = table if down + along > 0 else table.T  # the label above or to the left comes first
                    energy[row, col] += (energy[above, before][:, None] + weight * pairs).min(0)
        total += energy
    return np.asarray(total.argmin(-1))


@pytest.mark.claim("applications",
    "census, contrast, matching both ways, first labels and windows of motions are those of plain Python; hidden pixels are found")
@pytest.mark.parametrize("name", fields(1, 1))
@pytest.mark.parametrize(("rows", "cols", "entries", "threads"), [(9, 7, 1 << 20, 1), (9, 7, 100, 2), (1, 8, 1, 1), (8, 1, 1, 2),
                                                                  (1, 1, 1, 1)])
def test_labels_in_plain_python(monkeypatch, name, rows, cols, entries, threads):
    """In blocks of any number of rows, and in shares of several threads."""
    monkeypatch.setattr(module, "ENTRIES", entries)
    monkeypatch.setattr(module, "ENTRIES_WORTH_A_THREAD", 1)
    problem = fields(rows, cols)[name]
    for stiffness in (1, 3):
        found = path_start(problem, stiffness, threads)
        assert found.dtype == np.uint8
        assert (found == in_plain_python(problem, stiffness)).all()
