"""The model's fast loops against the definition of a draw, one site after the other; threads, windows and uniforms."""

import dataclasses
import subprocess
import sys

import numpy as np
import pytest

from mrfhw.field.energy import Energy, limited, singleton_energies
from mrfhw.field.problem import Problem, ProblemError, Run, Schedule
from mrfhw.machine.config import Config
from mrfhw.machine.samplers import Cdf, Race
from mrfhw.placement.placement import Placement
from mrfhw.placement.temperature import coefficients
from mrfhw.samplers.data import singles
from mrfhw.samplers.energy_kernel import fill_singles
from mrfhw.samplers.random_kernel import step
from mrfhw.twin import machine
from mrfhw.twin.kernel import draw_cdf, draw_race
from mrfhw.twin.machine import Machine
from support.random_problems import random_config, random_placement

VECTORISED_LOOPS_EQUAL = pytest.mark.claim("model",
    "the vectorised loops equal the definition of a draw for every type, and nothing depends on the number of threads")

WIDEST = {"energy_bits": 20, "weight_bits": 12, "data_bits": 8, "vector_bits": 6, "temperature_bits": 24}
WIDEST_SAMPLERS = {"race": Race(uniform_bits=14, fraction_bits=8),
                   "cdf": Cdf(probability_bits=16, exponent_fraction_bits=8, uniform_bits=24)}


class Plain:
    """The machine by loops over sites, with the kernel's `draw_race`, `draw_cdf` and `step` alone."""

    def __init__(self, placement):
        self.p, self.state = placement, Machine(placement.config, placement.problem, placement.run).random
        shape = placement.padded_shape
        self.labels, self.lmem = placement.pad(placement.initial), np.zeros((*shape, 3), int)
        self.of_site = Energy(placement.problem).of_site
        self.coefficients = coefficients(placement.config, placement.problem)
        self.messages, self.sweeps = [], 0

    def energy(self, row, col):
        return limited(self.of_site(self.labels, row, col), self.p.problem.energy_shift, self.p.config.energy_max)

    def count(self, row, col, new, old):
        """Algorithm 1."""
        limit, (mrp_count, lrp, lrp_count) = self.p.config.count_max, self.lmem[row, col]
        address = row * self.p.problem.shape[1] + col
        if new == old:
            if mrp_count == limit:
                self.messages.append((address, new, mrp_count))
                mrp_count = 0
            self.lmem[row, col, 0] = mrp_count + 1
            return
        first = 1
        if new == lrp:
            if lrp_count == limit:
                self.messages.append((address, new, lrp_count))
            else:
                first = lrp_count + 1
        elif lrp_count:
            self.messages.append((address, int(lrp), int(lrp_count)))
        self.lmem[row, col] = first, old, mrp_count

    def sweep(self):
        c, p, count = self.p.config, self.p, self.p.problem.labels
        sampler, t = c.sampler, next(self.coefficients)
        race, bits = isinstance(sampler, Race), sampler.uniform_bits
        draw, table, fraction, extra = (
            (draw_race, sampler.gumbel_table, sampler.fraction_bits, ()) if race else
            (draw_cdf, sampler.exponent_table, sampler.exponent_fraction_bits, (np.empty(count, np.int64),)))
        for colour in (0, 1):
            for lane in range(c.units):
                sites = p.order.flat(*p.order.site(self.sweeps, colour, np.arange(p.order.turns), lane))
                for row, col in zip(*np.divmod(sites, p.order.columns), strict=True):
                    if not p.exists[row, col] or p.clamped[row, col]:
                        for _ in range(count if race else 1):
                            step(self.state, lane)
                        continue
                    new = int(draw(self.energy(row, col), count, t, self.state, lane, bits, table, fraction,
                                   c.temperature_fraction_bits, *extra))
                    old, self.labels[row, col] = int(self.labels[row, col]), new
                    if self.sweeps >= p.run.burn_in:
                        self.count(row, col, new, old)
        self.sweeps += 1


def assert_same(placement, sweeps, threads=None):
    plain, fast = Plain(placement), Machine(placement.config, placement.problem, placement.run, threads)
    for _ in range(sweeps):
        plain.sweep()
        fast.sweep()
        assert np.array_equal(fast.labels, plain.labels)
        assert np.array_equal(fast.random, plain.state)
    kept = np.stack([fast.mrp_count, fast.lrp_label, fast.lrp_count], -1)
    assert np.array_equal(kept, plain.lmem)
    assert sorted(map(tuple, fast.messages.tolist())) == sorted(tuple(map(int, m)) for m in plain.messages)
    return fast


@VECTORISED_LOOPS_EQUAL
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1, 12))])
@pytest.mark.parametrize("widest", [False, True])
def test_fast_loops_equal_the_definition(seed, widest):
    rng = np.random.default_rng(seed)
    config = random_config(rng)
    if widest:
        config = dataclasses.replace(config, **WIDEST, sampler=WIDEST_SAMPLERS[config.sampler.name])
    for _ in range(2):
        placement = random_placement(rng, config)
        assert_same(placement, min(placement.run.sweeps, 4))


@VECTORISED_LOOPS_EQUAL
@pytest.mark.parametrize("sampler", ["race", "cdf"])
def test_largest_energies_and_hottest_temperature(sampler):
    """Where a sum or a key of 32 bits might overflow."""
    config = Config(mesh_rows=1, mesh_cols=2, tile_rows=4, tile_cols=8, sampler=WIDEST_SAMPLERS[sampler], **WIDEST)
    rng = np.random.default_rng(0)
    for temperature in (30.0, 60000.0 if sampler == "race" else 300.0):
        problem = Problem(labels=64, singleton1=rng.integers(0, 256, (4, 16)), constants=rng.integers(0, 256, 64),
                          singleton="squared", doubleton="squared", vectors=rng.integers(-32, 32, (64, 2)), alpha=4095, beta=4095,
                          schedule=Schedule.constant(temperature))
        assert assert_same(Placement(config, problem, Run(sweeps=3)), 3)._wide
    small = dataclasses.replace(problem, alpha=1, beta=1)
    assert_same(Placement(config, small, Run(sweeps=3)), 3)


def stereo(labels=9, shape=(21, 30), **changes):
    rng = np.random.default_rng(5)
    return Problem(**{
        "labels": labels, "singleton1": rng.integers(0, 40, shape), "singleton2": rng.integers(0, 40, shape),
        "offsets": np.stack([np.zeros(labels, int), -np.arange(labels)], 1), "tau": 2, "beta": 4, "out_of_range": 10,
        "schedule": Schedule.constant(6.0), **changes})


@VECTORISED_LOOPS_EQUAL
@pytest.mark.parametrize("sampler", ["race", "cdf"])
def test_nothing_depends_on_the_number_of_threads(sampler, monkeypatch):
    monkeypatch.setattr(machine, "_WORTH_A_THREAD", 1)
    config = Config(mesh_rows=3, mesh_cols=4, spus=4, sampler=sampler, counter_bits=2)
    run = Run(sweeps=5, burn_in=1, seed=4)
    one, *others = (machine.solve(config, stereo(), run, threads=n) for n in (1, 2, 3, 16))
    assert len(one.messages) > 100
    for other in others:
        assert np.array_equal(one.counts, other.counts)
        assert np.array_equal(one.messages, other.messages)
        assert (one.cycles, one.stall_cycles) == (other.cycles, other.stall_cycles)


@pytest.mark.parametrize("given", ["0", "two", "-1"])
def test_threads_of_the_environment_are_checked(given, monkeypatch):
    monkeypatch.setenv("MRFHW_THREADS", given)
    with pytest.raises(ProblemError, match=f"threads is {given}; the model takes a whole number from 1"):
        Machine(Config(), stereo(), Run(sweeps=1))


def test_a_machine_starts_from_given_generators():
    first = Machine(Config(), stereo(), Run(sweeps=2, seed=3))
    first.sweep()
    states = first.random.copy()
    # An even number of tile rows: the second visit starts at row 0 again, so the constant problem has the same draws.
    visits = [Machine(Config(), stereo(), Run(sweeps=2, seed=seed, initial=first.image(first.labels)), random=states)
              for seed in (3, 8)]
    for visit in visits:
        visit.sweep()
    assert np.array_equal(visits[0].labels, visits[1].labels)
    assert np.array_equal(states, first.random)
    assert not np.array_equal(visits[0].random, states)


def test_solve_shows_labels_after_every_sweep():
    seen = []
    result = machine.solve(Config(), stereo(), Run(sweeps=3, burn_in=2),
                           observe=lambda n, labels, _: seen.append((n, labels.copy())))
    assert [n for n, _ in seen] == [1, 2, 3]
    assert np.array_equal(seen[-1][1], result.last)
    assert not np.array_equal(seen[0][1], result.last)


def test_second_image_of_its_own_size_and_place():
    rng = np.random.default_rng(2)
    wide = rng.integers(0, 40, (40, 60))
    margin = np.zeros((21, 30), bool)
    margin[:, :8] = True  # their pixels lie beyond the mesh
    moved = stereo(singleton2=wide, singleton2_origin=(5, 20), clamped=margin)
    cut = stereo(singleton2=np.roll(wide, (-5, -20), (0, 1))[:21, :30], offsets=np.zeros((9, 2), int))
    assert_same(Placement(Config(s2_words=1 << 14), moved, Run(sweeps=2)), 2)
    assert np.array_equal(singleton_energies(moved)[..., 0], singleton_energies(cut)[..., 0])


@pytest.mark.slow
def test_nothing_is_imported_that_is_not_used():
    """numba by a host of boards, and SciPy's linear algebra by numba; both can be had afterwards."""
    program = """
import sys
import numpy as np
import mrfhw.driver.driver, mrfhw.host.remote
assert "numba" not in sys.modules
from mrfhw.samplers.random_kernel import step
from mrfhw.samplers.random import lane_states
state = lane_states(0, 1)
step(state, 0)
assert "scipy.linalg" not in sys.modules
import numba
assert numba.njit(lambda a: a @ a)(np.eye(2)).tolist() == [[1, 0], [0, 1]]
assert "scipy.linalg" in sys.modules
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_frozen_and_other_arrays_are_one_compiled_loop():
    """Problems hold arrays that cannot be written; a loop is compiled once for these and for what is converted."""
    rng, sites, compiled = np.random.default_rng(3), np.arange(24, dtype=np.int32), set()
    for kind in (np.int32, np.int64):  # taken as it is, and converted
        data = rng.integers(0, 9, (4, 6)).astype(kind)
        for of in ({"constants": data[0, :2], "singleton1": data}, {"unary": rng.integers(0, 9, (4, 6, 2)).astype(kind)},
                   {"singleton1": data, "singleton2": data, "offsets": [(0, 0), (0, 1)]},
                   {"constants": data[0, :2], "singleton1": data, "observed": data > 3}):
            singles(Problem(labels=2, **of), sites, 6, np.int16)
            compiled.add(len(fill_singles.signatures))
    assert len(compiled) == 1


@pytest.mark.slow
def test_a_command_without_a_field_brings_no_arithmetic():
    program = ("import sys\nfrom click.testing import CliRunner\nfrom mrfhw.cli import main\n"
               "assert CliRunner().invoke(main, ['generate', '--help']).exit_code == 0\nassert 'numba' not in sys.modules")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_tables_are_made_once_where_they_fit() -> None:
    """Wide ones serve for narrow ones, and none are kept that would take more than the placement's room."""
    config = Config.preset("smallest")
    placement = random_placement(np.random.default_rng(2), config)
    narrow = machine.Tables.of(placement, False)
    assert machine.Tables.of(placement, False) is narrow
    wide = machine.Tables.of(placement, True)
    assert wide is not narrow
    assert machine.Tables.of(placement, False) is wide
    assert machine.Tables.of(placement, True) is wide
    size = sum(array.nbytes for array in (wide.sites, wide.singles, wide.doubles, wide.edges, wide.flags))
    for room in (size, size - 1):
        other = random_placement(np.random.default_rng(2), config).with_room(room)
        assert (machine.Tables.of(other, True) is machine.Tables.of(other, True)) == (room == size)


@pytest.mark.parametrize("more", [{}, {"lanes": 2}, {"lanes": 2, "subset_slots": 2}, {"subset_slots": 4}], ids=str)
def test_energies_beyond_their_width_are_the_largest(more):
    """The label of no energy is drawn, cold, beside one of little and others of more than a machine's width, by each kind."""
    config = Config.preset("matching", mesh_rows=1, mesh_cols=1, spus=1, lmem_banks=4, tile_rows=16, tile_cols=16, label_bits=4,
                           energy_bits=8, doubletons="table", pairwise_bits=4, vector_bits=0, s2_words=1 << 12,
                           sampler=Race(uniform_bits=12, fraction_bits=6), **more)
    least, energies = np.random.default_rng(1).integers(0, 16, (16, 16)), np.full(16, 1 << config.data_bits - 1)
    energies[[0, 8]] = 0, 2
    problem = Problem(labels=16, unary=np.take(energies, np.arange(16) - least[..., None], mode="wrap"), beta=0, alpha=60,
                      schedule=Schedule.constant(4.0))
    assert 60 << config.data_bits - 1 >= 1 << config.energy_bits
    chain = Machine(config, problem, Run(sweeps=300, burn_in=0, seed=3))
    for _ in range(300):
        chain.sweep()
    assert np.array_equal(chain.image(chain.labels), least)
