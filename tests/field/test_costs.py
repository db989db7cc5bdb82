"""Fields with costs, tables and weights of a user's own: made of floats, refused in one line, and held by the machine they need."""

from __future__ import annotations

import numpy as np
import pytest

import mrfhw
from mrfhw.field.costs import costs_of_probabilities, scaled_costs
from mrfhw.field.problem import Problem, ProblemError, Run
from mrfhw.field.schedule import Schedule
from mrfhw.machine.config import Config, ConfigError
from mrfhw.placement.fit import check_fits
from mrfhw.placement.needs import needed_parameters
from mrfhw.placement.placement import Placement
from mrfhw.twin.machine import solve
from support.random_fields import random_field, random_field_machine

COSTS_FLOATS_BECOME = pytest.mark.claim("field",
    "costs of floats become whole numbers with the error stated; NaN, wrong shapes, tables that are not L x L, weights beyond "
    "their bits and what a machine lacks are one line; what a field needs of a machine is found")
COSTS_ANY_SCALE = pytest.mark.claim("applications",
    "costs of any scale become whole numbers or are refused, and fields beyond a tile's memory are sampled in smaller windows")

RNG = np.random.default_rng(8)
COSTS = RNG.normal(0, 3, (5, 7, 4))


@COSTS_FLOATS_BECOME
def test_scaled_costs_keep_what_they_say():
    found = scaled_costs(COSTS, most=255)
    assert found.costs.min() == 0
    assert found.costs.max() == 255
    assert (found.costs.min(-1) == 0).all()
    back = found.costs / found.scale + found.offsets[..., None]
    assert np.abs(back - COSTS).max() == pytest.approx(found.error, abs=1e-9)
    assert found.error <= 0.5 / found.scale
    assert found.cut == 0


def test_costs_are_cut_off_where_one_says():
    found = scaled_costs(COSTS, most=63, largest=2.0)
    above = COSTS - COSTS.min(-1, keepdims=True)
    assert found.cut == np.mean(above > 2)
    assert (found.costs[above > 2] == 63).all()
    assert found.scale == 31.5
    assert np.abs(found.costs / found.scale - above)[above <= 2].max() <= found.error <= 0.5 / 31.5
    flat = scaled_costs(np.ones((2, 2, 3)))
    assert (flat.costs == 0).all()


@COSTS_FLOATS_BECOME
@pytest.mark.parametrize(("costs", "message"), [
    (np.ones((3, 3)), r"costs has shape \(3, 3\)"), ([[1, [2]]], "costs is no array"), (np.full((2, 2, 2), np.nan), "8 values"),
    (np.full((2, 2, 2), np.inf), "not finite"), (np.ones((0, 2, 2)), "shape")])
def test_costs_refused(costs, message):
    with pytest.raises(ProblemError, match=message) as error:
        scaled_costs(costs)
    assert "\n" not in str(error.value)


def test_probabilities():
    p = RNG.dirichlet(np.ones(3), (4, 5))
    assert np.allclose(np.exp(-costs_of_probabilities(p)), p)
    assert costs_of_probabilities(np.array([[[0.0, 1.0]]]))[0, 0, 0] == pytest.approx(-np.log(1e-6))
    for strange in (p * 2, -p, np.full((1, 1, 2), np.nan), p[0]):
        with pytest.raises(ProblemError, match="probabilities has"):
            costs_of_probabilities(strange)


DATA = RNG.integers(0, 8, (4, 6))
TABLE = np.arange(9).reshape(3, 3)


@COSTS_FLOATS_BECOME
@pytest.mark.parametrize(("given", "message"), [
    ({"unary": np.zeros((4, 6, 2), int)}, r"unary has shape \(4, 6, 2\); 3 labels need \(4, 6, 3\): give a cost for each site"),
    ({"unary": np.zeros((4, 6), int)}, r"unary has shape \(4, 6\)"), ({"unary": np.full((4, 6, 3), -1)}, "unary has the value -1"),
    ({"unary": np.full((4, 6, 3), np.nan)}, "unary has the value nan"),
    ({"unary": np.full((4, 6, 3), 0.5)}, "unary has the value 0.5; values are finite whole numbers: scale them, and "
     "round them, as mrfhw.field.costs.scaled_costs does"),
    ({"unary": np.zeros((4, 6, 3), int), "singleton1": DATA}, "unary and singleton1 are given"),
    ({"unary": np.zeros((4, 6, 3), int), "singleton": "squared"}, "unary costs are not compared"), ({}, "there are no data"),
    ({"singleton1": DATA, "constants": [1, 2, 3], "doubleton": "table"}, "give both or none"),
    ({"singleton1": DATA, "constants": [1, 2, 3], "pairwise": TABLE}, "give both or none"),
    ({"singleton1": DATA, "constants": [1, 2, 3], "doubleton": "table", "pairwise": TABLE[:2]}, r"pairwise has shape \(2, 3\)"),
    ({"singleton1": DATA, "constants": [1, 2, 3], "doubleton": "table", "pairwise": TABLE - 1}, "pairwise has the value -1"),
    ({"singleton1": DATA, "constants": [1, 2, 3], "edges": np.ones((4, 6), int)}, r"edges has shape \(4, 6\); .* \(4, 6, 2\)"),
    ({"singleton1": DATA, "constants": [1, 2, 3], "edges": np.full((4, 6, 2), 16)}, "edges has values from 16 to 16; the limits"),
    ({"singleton1": np.zeros((4, 6, 4), int), "constants": np.zeros((3, 4), int)}, "4 channels; the limits are 1 to 3"),
    ({"singleton1": np.zeros((4, 6, 2), int), "constants": [1, 2, 3]}, r"constants has shape \(3,\); 3 labels need \(3, 2\)"),
    ({"singleton1": np.zeros((4, 6, 2), int), "singleton2": DATA, "offsets": np.zeros((3, 2), int)}, "same channels"),
    ({"singleton1": DATA, "constants": [1, 2, 3], "alpha": (1, 2)}, "alpha has 2 values; the data have 1 channels"),
    ({"singleton1": -DATA - 1, "constants": [1, 2, 3], "singleton": "hamming"}, "compared bit by bit"),
    ({"singleton1": DATA, "constants": [1, 2, 3], "singleton_max": 0.5}, "singleton_max is 0.5"),
    *(({"singleton1": DATA, "constants": [1, 2, 3], name: -1}, f"^{name} is -1; the limits are 0 to 2147483647: give one of them$")
      for name in ("alpha", "beta", "tau", "out_of_range", "energy_shift", "singleton_max")),
])
def test_fields_refused(given, message):
    with pytest.raises(ProblemError, match=message) as error:
        Problem(labels=3, **given)
    assert "\n" not in str(error.value)


@COSTS_FLOATS_BECOME
@pytest.mark.parametrize(("given", "machine", "message"), [
    ({"unary": np.full((4, 6, 3), 64)}, {}, "unary has values from 64 to 64; data_bits = 6 takes 0 to 63"),
    ({"unary": np.zeros((4, 6, 3), int)}, {"distance": "hamming"}, "channel 1 of a machine with distance = hamming takes hamming"),
    ({"singleton1": DATA, "constants": [1, 2, 3], "singleton": "hamming"}, {}, "distance = difference takes absolute or squared"),
    ({"singleton1": DATA, "constants": [1, 2, 3], "singleton_max": 3}, {}, "singleton_max is 3; a machine with singleton_cap = 0"),
    ({"singleton1": np.zeros((4, 6, 2), int), "constants": np.zeros((3, 2), int)}, {}, "2 channels; the machine takes 1"),
    ({"singleton1": DATA, "constants": [1, 2, 3], "edges": np.ones((4, 6, 2), int)}, {}, "edge_bits = 0 has no weights"),
    ({"singleton1": DATA, "constants": [1, 2, 3], "edges": np.full((4, 6, 2), 9)}, {"edge_bits": 3}, "edge_bits = 3 takes 0 to 7"),
    ({"singleton1": DATA, "constants": [1, 2, 3], "doubleton": "table", "pairwise": TABLE}, {}, "pairwise_bits = 0 has none"),
    ({"singleton1": DATA, "constants": [1, 2, 3], "doubleton": "table", "pairwise": TABLE}, {"pairwise_bits": 3},
     "pairwise_bits = 3 takes 0 to 7"),
])
def test_what_a_machine_lacks_is_said(given, machine, message):
    with pytest.raises(ProblemError, match=message) as error:
        check_fits(Config(**machine), Problem(labels=3, **given))
    assert "\n" not in str(error.value)


@COSTS_FLOATS_BECOME
def test_costs_that_do_not_fit_say_what_would():
    config = Config(mesh_rows=1, mesh_cols=1, tile_rows=8, tile_cols=8)
    problem = Problem(labels=9, unary=RNG.integers(0, 64, (8, 8, 9)))
    with pytest.raises(ProblemError, match=r"costs of 9 labels take 9 times 64 singleton-2 words; a tile holds 64: .* = 576 or"):
        Placement(config, problem, Run(sweeps=1))
    needed = needed_parameters(problem, config)
    assert needed == {"s2_words": 576}
    solve(config.changed(**needed), problem, Run(sweeps=2))


@COSTS_FLOATS_BECOME
@pytest.mark.parametrize("seed", range(8))
def test_a_machine_with_what_a_field_needs_holds_it(seed):
    rng = np.random.default_rng(seed)
    problem = random_field(rng, random_field_machine(rng)).problem
    start = Config(energy_bits=20, weight_bits=12, sampler="cdf", temperature_bits=24)
    config = start.changed(**needed_parameters(problem, start))
    check_fits(config, problem.with_schedule(Schedule.constant(100.0)))  # temperatures are not looked at
    assert needed_parameters(problem, config).keys() <= {"s2_words"}


@pytest.mark.parametrize(("machine", "message"), [
    ({"data_bits": 9}, "data_bits is 9; a machine that takes differences"), ({"data_bits_3": 2}, "the third channel follows"),
    ({"data_bits": 30, "distance": "hamming", "data_bits_2": 2}, "is 32; the limit is 31"), ({"edge_bits": 5}, "edge_bits is 5")])
def test_machines_refused(machine, message):
    with pytest.raises(ConfigError, match=message):
        Config(**machine)


@COSTS_FLOATS_BECOME
@pytest.mark.parametrize("backend", ["cpu", "float", "gpu?device=0", "model"])
def test_a_table_is_truncated_at_tau(backend):
    unary = RNG.integers(0, 30, (8, 12, 3))
    given = dict(labels=3, unary=unary, doubleton="table", beta=4, schedule=Schedule.constant(10.0))
    cut, by_hand, whole = (mrfhw.solve(Problem(**given, pairwise=table, tau=tau), sweeps=30, backend=backend).counts
                           for table, tau in ((TABLE, 3), (np.minimum(TABLE, 3), None), (TABLE, None)))
    assert np.array_equal(cut, by_hand)
    assert not np.array_equal(cut, whole)


WHOLE = np.random.default_rng(0).integers(0, 40, (6, 7, 3))


@pytest.mark.parametrize(("changes", "message"), [
    ({"unary": WHOLE * 300}, "unary has values from 0 to [0-9]+; data_bits = 8 takes 0 to 255: scale the costs, as "
     "mrfhw.field.costs.scaled_costs does"),
    ({"doubleton": "table", "pairwise": np.eye(3, dtype=int) * 1000}, "pairwise has values up to 1000; pairwise_bits = 8 takes 0"),
    ({"doubleton": "squared", "vectors": np.array([[0, 0], [0, 1000], [1, 0]])}, "vectors have components from 0 to 1000; "
     "vector_bits = 6 takes -32 to 31"),
    ({"energy_shift": 99}, "energy_shift is 99; the machine takes whole numbers from 0 to 15"),
    ({"schedule": 10.0}, "schedule is 10.0; it is a Schedule"),
])
@pytest.mark.parametrize("backend", ["cpu", "model"])
def test_what_no_machine_holds_is_said_of_the_data(changes, message, backend):
    """Of a machine; software holds it."""
    def solved():
        return mrfhw.solve(Problem(**{"labels": 3, "unary": WHOLE, "schedule": Schedule.constant(10.0), **changes}), sweeps=4,
                           backend=backend)

    if backend == "cpu" and "schedule" not in changes:
        assert solved().labels.shape == WHOLE.shape[:2]
        return
    with pytest.raises(ProblemError, match=message):
        solved()


def test_wide_data_make_descriptors_of_descriptors_alone():
    wide = np.full((4, 6), 1 << 12)
    found = needed_parameters(Problem(labels=2, singleton1=wide, constants=np.arange(2), singleton="hamming"))
    assert found["distance"] == "hamming"
    assert "distance" not in needed_parameters(Problem(labels=2, singleton1=wide, constants=np.arange(2)))


@pytest.mark.slow
@COSTS_ANY_SCALE
@pytest.mark.parametrize("shape", [(256, 256, 17), (72, 68, 256)])
def test_costs_beyond_a_tiles_memory_are_sampled_in_smaller_windows(shape):
    """The default machine becomes one whose singleton memory is the largest there is; no backend refuses the field."""
    unary = np.random.default_rng(5).integers(0, 256, shape, np.uint8)
    problem = Problem(labels=shape[2], unary=unary, doubleton="potts", beta=20, schedule=Schedule.constant(30.0))
    small = Problem(labels=shape[2], unary=unary[:8, :8], doubleton="potts", beta=20, schedule=Schedule.constant(30.0))
    assert needed_parameters(small).get("s2_words", 0) < needed_parameters(problem)["s2_words"] == 1 << 16
    least = unary.argmin(2)
    for backend in ("cpu", "float", "model"):
        assert (mrfhw.solve(problem, sweeps=2, chains=1, backend=backend).labels == least).mean() > 4 / shape[2]


@COSTS_ANY_SCALE
@pytest.mark.parametrize(("costs", "largest"), [
    (np.array([[[1.7e308, -1.7e308]]]), None), (np.array([[[3e-320, 0.0]]]), None), (np.array([[[3.0, 0.0]]]), 1e-310)])
def test_costs_beyond_what_a_float_scales(costs, largest):
    what = "the largest cost above a site.s least" if largest is None else "largest"
    with pytest.raises(ProblemError, match=rf"^{what} is .*: give costs of another unit$"):
        scaled_costs(costs, largest=largest)


@COSTS_ANY_SCALE
def test_numbers_that_no_cost_has():
    with pytest.raises(ProblemError, match=r"^costs has complex numbers; costs and probabilities are real"):
        scaled_costs(np.ones((2, 2, 2)) * (1 + 1j))
    for least in (0, -1, float("nan"), "a", 1.5):
        with pytest.raises(ProblemError, match=r"^least is "):
            costs_of_probabilities(np.array([[[0.0, 1.0]]]), least=least)
