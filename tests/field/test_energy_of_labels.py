"""The energies: in NumPy, compiled, and in plain Python from what a Problem says of its parts; and who imports what."""

from __future__ import annotations

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

from mrfhw.field.energy import Energy, doubleton_table, least_energies, limited, singleton_energies
from mrfhw.placement.placement import Placement
from mrfhw.samplers.data import doubles, energy_bound, singles
from mrfhw.samplers.field_energy import FieldEnergy
from support.random_fields import random_field, random_field_machine
from support.random_problems import random_config, random_placement

ENERGIES_NUMPY = pytest.mark.claim(
    "field", "energies in NumPy, compiled and in plain Python are the same; nothing of the field imports a machine")
UNLIKE_BITS_UP = pytest.mark.claim("field",
    "unlike bits, up to three channels, limits, costs, doubleton tables, weights of edges and 256 labels: energies are those of "
    "plain Python, in NumPy and compiled")


def values(array, *at):
    """The channels of an array's entry, as a list."""
    found = array[at]
    return [int(found)] if np.ndim(found) == 0 else [int(value) for value in found]


def once_a_channel(value, channels):
    return list(value) if isinstance(value, tuple) else [value] * channels


def plain_singleton(problem, row, col, label):
    """alpha E_singleton in Python's integers, independent of `mrfhw.field.energy` on purpose."""
    if problem.observed is not None and not problem.observed[row, col]:
        return 0
    mine = [0] if problem.singleton1 is None else values(problem.singleton1, row, col)
    alpha, kinds, most = (once_a_channel(value, len(mine)) for value in (problem.alpha, problem.singleton, problem.singleton_max))
    if problem.unary is not None:
        others = [int(problem.unary[row, col, label])]
    elif problem.constants is not None:
        others = values(problem.constants, label)
    else:
        r = row + problem.singleton2_origin[0] + int(problem.offsets[label][0])
        c = col + problem.singleton2_origin[1] + int(problem.offsets[label][1])
        if (r < 0 or c < 0 or r >= problem.singleton2.shape[0] or c >= problem.singleton2.shape[1]
                or (problem.shown is not None and not problem.shown[r, c])):
            return int(alpha[0]) * int(problem.out_of_range)
        others = values(problem.singleton2, r, c)
    total = 0
    for weight, kind, limit, one, other in zip(alpha, kinds, most, mine, others, strict=True):
        apart = {"absolute": abs(one - other), "squared": (one - other)**2, "hamming": bin(one ^ other).count("1")}[kind]
        total += weight * (apart if limit is None else min(apart, limit))
    return total


def plain_doubleton(problem, one, other):
    """beta E_doubleton of an edge, the label to the left or above first, as independent."""
    if problem.doubleton == "table":
        apart = int(problem.pairwise[one, other])
    elif problem.doubleton == "absolute":
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
        for side, (r, c) in enumerate(((row, col + 1), (row + 1, col))):
            if r < problem.shape[0] and c < problem.shape[1]:
                weight = 1 if problem.edges is None else int(problem.edges[row, col, side])
                total += weight * plain_doubleton(problem, int(labels[row, col]), int(labels[r, c]))
    return total


@pytest.fixture(params=range(24))
def placement(request):
    rng = np.random.default_rng(request.param)
    if request.param >= 12:
        return random_field(rng, random_field_machine(rng))
    p = random_placement(rng, random_config(rng))
    if p.problem.singleton2 is not None and request.param % 3 == 0:
        second = rng.integers(0, p.config.data_max + 1, (9, 40))
        moved = dataclasses.replace(p.problem, singleton2=second, singleton2_origin=(2, -3), clamped=np.ones(p.problem.shape, bool),
                                    shown=None if request.param % 2 else rng.random(second.shape) < 0.7)
        p = Placement(p.config, moved, p.run)
    return p


@ENERGIES_NUMPY
@UNLIKE_BITS_UP
def test_energies_are_those_of_plain_python(placement):
    problem, rng = placement.problem, np.random.default_rng(1)
    energy, (rows, cols) = Energy(problem), problem.shape
    single = np.array([[[plain_singleton(problem, row, col, label) for label in range(problem.labels)] for col in range(cols)]
                       for row in range(rows)])
    assert energy.singles.dtype == energy.doubles.dtype == np.int64
    assert np.array_equal(energy.singles, single)
    assert np.array_equal(energy.singles, singleton_energies(problem))
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
        assert least_energies(problem, fields[2, 1])[row, col] == of[2, 1].min()


@ENERGIES_NUMPY
@UNLIKE_BITS_UP
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
        both = doubles(problem, kind)
        assert (both[:, -1] == 0).all()
        assert np.array_equal(both[0, :-1], energy.doubles)
        assert np.array_equal(both[-1, :-1], energy.doubles.T)
    for _ in range(3):
        labels = rng.integers(0, problem.labels, problem.shape).astype(np.uint8)
        assert fast(labels) == energy(labels)
    assert energy.of_site(labels, 0, 0).max() <= energy_bound(problem)
    assert energy.singles.max() + energy.weights.sum(-1).max() * energy.doubles.max() <= energy_bound(problem)


def test_limits_are_the_shift_s_and_the_greatest_energy():
    assert limited(np.array([0, 7, 8, 9, 4000]), 3, 200).tolist() == [0, 0, 1, 1, 200]


@pytest.mark.slow
@ENERGIES_NUMPY
def test_a_field_knows_no_machine():
    """Nothing of mrfhw.field imports, by whatever way, what a problem is put on."""
    program = ("import pkgutil, importlib, sys, mrfhw.field\n"
               "for found in pkgutil.iter_modules(mrfhw.field.__path__, 'mrfhw.field.'): importlib.import_module(found.name)\n"
               "print([name for name in sys.modules if name.startswith(('mrfhw.machine', 'mrfhw.placement', 'mrfhw.samplers'))])")
    assert subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.strip() == "[]"
