"""The energies: in NumPy, compiled, and in plain Python from what a Problem says of its parts; and who imports what."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

from mrfhw.field.energy import Energy, doubleton_table, limited, singleton_energies
from mrfhw.model.data import doubles, energy_bound, singles
from mrfhw.model.field_energy import FieldEnergy
from mrfhw.placement.placement import Placement
from support.random_problems import random_config, random_placement


def plain_singleton(problem, row, col, label):
    """alpha E_singleton in Python's integers, independent of `mrfhw.field.energy` on purpose."""
    if problem.observed is not None and not problem.observed[row, col]:
        return 0
    if problem.constants is not None:
        other = int(problem.constants[label])
    else:
        r = row + problem.singleton2_origin[0] + int(problem.offsets[label][0])
        c = col + problem.singleton2_origin[1] + int(problem.offsets[label][1])
        if r < 0 or c < 0 or r >= problem.singleton2.shape[0] or c >= problem.singleton2.shape[1]:
            return int(problem.alpha) * int(problem.out_of_range)
        other = int(problem.singleton2[r, c])
    apart = abs(int(problem.singleton1[row, col]) - other)
    return int(problem.alpha) * (apart if problem.singleton == "absolute" else apart**2)


def plain_doubleton(problem, one, other):
    """beta E_doubleton, as independent."""
    if problem.doubleton == "absolute":
        apart = abs(one - other)
    elif problem.doubleton == "potts":
        apart = int(one != other)
    else:
        apart = sum((int(a) - int(b)) ** 2 for a, b in zip(problem.vectors[one], problem.vectors[other], strict=True))
    return int(problem.beta) * (apart if problem.tau is None else min(apart, int(problem.tau)))


def plain_field(problem, labels):
    total = 0
    for row, col in np.ndindex(*problem.shape):
        total += plain_singleton(problem, row, col, int(labels[row, col]))
        for r, c in ((row + 1, col), (row, col + 1)):
            if r < problem.shape[0] and c < problem.shape[1]:
                total += plain_doubleton(problem, int(labels[row, col]), int(labels[r, c]))
    return total


@pytest.fixture(params=range(12))
def placement(request):
    rng = np.random.default_rng(request.param)
    p = random_placement(rng, random_config(rng))
    if p.problem.singleton2 is not None and request.param % 3 == 0:
        second = rng.integers(0, p.config.data_max + 1, (9, 40))
        moved = dataclasses.replace(p.problem, singleton2=second, singleton2_origin=(2, -3), clamped=np.ones(p.problem.shape, bool))
        p = Placement(p.config, moved, p.run)
    return p


def test_energies_are_those_of_plain_python(placement):
    problem, rng = placement.problem, np.random.default_rng(1)
    energy, (rows, cols) = Energy(problem), problem.shape
    single = np.array([[[plain_singleton(problem, row, col, label) for label in range(problem.labels)] for col in range(cols)]
                       for row in range(rows)])
    assert energy.singles.dtype == energy.doubles.dtype == np.int64
    assert np.array_equal(energy.singles, single)
    assert np.array_equal(energy.singles, problem.alpha * singleton_energies(problem))
    pairs = np.array([[plain_doubleton(problem, one, other) for other in range(problem.labels)] for one in range(problem.labels)])
    assert np.array_equal(energy.doubles, pairs)
    assert np.array_equal(energy.doubles, problem.beta * doubleton_table(problem))
    fields = rng.integers(0, problem.labels, (3, 2, rows, cols)).astype(np.uint8)
    assert np.array_equal(energy(fields), [[plain_field(problem, field) for field in some] for some in fields])
    for row, col in zip(rng.integers(0, rows, 9), rng.integers(0, cols, 9), strict=True):
        # What changing a site's label changes is the difference of its energies.
        tried = np.repeat(fields[0, 0][None], problem.labels, 0)
        tried[:, row, col] = np.arange(problem.labels)
        of = energy.of_site(fields, row, col)
        assert of.shape == (3, 2, problem.labels)
        assert np.array_equal(of[0, 0] - of[0, 0, 0], energy(tried) - energy(tried)[0])
        assert np.array_equal(of[2, 1], energy.of_site(fields[2, 1], row, col))


def test_the_compiled_energies_are_the_same(placement):
    problem, rng = placement.problem, np.random.default_rng(2)
    energy, fast = Energy(problem), FieldEnergy(problem)
    for kind in (np.int32, np.int64):
        table = placement.order.table(3)
        loaded = singles(problem, table, placement.order.columns, kind)
        row, col = np.divmod(table, placement.order.columns)
        inside = (table >= 0) & (row < problem.shape[0]) & (col < problem.shape[1])
        assert loaded.dtype == kind
        assert np.array_equal(loaded[inside], energy.singles[row[inside], col[inside]])
        assert np.array_equal(doubles(problem, kind), np.concatenate([energy.doubles.T, np.zeros((1, problem.labels), int)]))
    for _ in range(3):
        labels = rng.integers(0, problem.labels, problem.shape).astype(np.uint8)
        assert fast(labels) == energy(labels)
    assert energy.of_site(labels, 0, 0).max() <= energy_bound(problem)
    assert energy.singles.max() + 4 * energy.doubles.max() <= energy_bound(problem)


def test_limits_are_the_shift_s_and_the_greatest_energy():
    assert limited(np.array([0, 7, 8, 9, 4000]), 3, 200).tolist() == [0, 0, 1, 1, 200]


def test_a_field_knows_no_machine():
    """Nothing of mrfhw.field imports, by whatever way, what a problem is put on."""
    program = ("import pkgutil, importlib, sys, mrfhw.field\n"
               "for found in pkgutil.iter_modules(mrfhw.field.__path__, 'mrfhw.field.'): importlib.import_module(found.name)\n"
               "print([name for name in sys.modules if name.startswith(('mrfhw.machine', 'mrfhw.placement', 'mrfhw.model'))])")
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip() == "[]"
