"""Labels that stand for numbers, and costs that are floats: what answers have of them, and what is refused in one line."""

from __future__ import annotations

import numpy as np
import pytest
from click.testing import CliRunner

import mrfhw
from mrfhw.cli import main
from mrfhw.field.costs import NEVER, field_of_costs
from mrfhw.field.energy import Energy
from mrfhw.field.problem import Problem, ProblemError

RNG = np.random.default_rng(5)
EVEN, UNEVEN = np.array([2.0, 2.5, 3.0, 3.5]), np.array([1.0, 1.5, 2.5, 4.0])
UNARY = RNG.integers(0, 40, (10, 12, 4))
COSTS = RNG.normal(0, 2, (10, 12, 4))


def field(values=None, labels=4):
    return mrfhw.Problem(labels=labels, unary=UNARY, doubleton="potts", beta=8, values=values,
                         schedule=mrfhw.Schedule.constant(12.0))


@pytest.fixture(scope="module")
def nameless():
    return mrfhw.solve(field(), sweeps=40, seed=3)


@pytest.mark.parametrize("values", [EVEN, UNEVEN, UNEVEN[::-1]], ids=["even", "uneven", "falling"])
def test_mean_deviation_and_interval_are_of_the_values(nameless, values):
    """The same samples as without values, and the moments of their histogram."""
    answer = mrfhw.solve(field(values), sweeps=40, seed=3)
    assert (answer.counts == nameless.counts).all()
    assert (answer.labels == nameless.labels).all()
    share = answer.counts / answer.counts.sum(-1, keepdims=True)
    mean = share @ values
    assert answer.mean[..., 0] == pytest.approx(mean)
    assert answer.std == pytest.approx(np.sqrt(np.maximum(0, share @ values**2 - mean**2)), abs=1e-7)
    low, high = answer.interval[..., 0], answer.interval[..., 1]
    if values is not EVEN:  # ends are values that were drawn
        assert answer.median is None
        assert np.isin(answer.interval, values).all()
        inside = (share * ((values >= low[..., None]) & (values <= high[..., None]))).sum(-1)
        assert (inside >= 0.9 - 1e-9).all()
    else:
        below = (share * (values < answer.median[..., None] - 0.25)).sum(-1)
        assert (below <= 0.5 + 1e-9).all()
        assert (low <= answer.median).all()
        assert (answer.median <= high).all()
        assert (low >= 1.75).all()
        assert (high <= 3.75).all()
    assert nameless.mean is None
    assert nameless.interval is None


def test_values_are_of_the_file_and_its_digest(tmp_path):
    plain, valued = field(), field(UNEVEN)
    assert plain != valued
    assert plain.digest != valued.digest
    valued.save(tmp_path / "field.npz")
    again = Problem.load(tmp_path / "field.npz")
    assert again == valued
    assert again.values.tolist() == UNEVEN.tolist()
    assert not again.values.flags.writeable
    ran = CliRunner().invoke(main, ["run", "problem", str(tmp_path / "field.npz"), "--sweeps", "40", "-o", str(tmp_path / "out")])
    assert ran.exit_code == 0, ran.output
    assert np.load(tmp_path / "out" / "mean.npy").shape == (10, 12, 1)
    assert not (tmp_path / "out" / "classes.png").exists()
    assert not (tmp_path / "out" / "median.npy").exists()
    field(EVEN).save(tmp_path / "even.npz")
    ran = CliRunner().invoke(main, ["run", "problem", str(tmp_path / "even.npz"), "--sweeps", "40", "-o", str(tmp_path / "even")])
    assert ran.exit_code == 0, ran.output
    assert np.load(tmp_path / "even" / "median.npy").shape == (10, 12)


def test_the_mean_of_labels_is_that_of_even_values():
    summed = mrfhw.solve(field(EVEN), sweeps=40, seed=3, machine=None, backend="cpu")
    assert np.isfinite(summed.mean).all()
    with pytest.raises(ProblemError, match="values are in uneven steps") as error:
        mrfhw.run(mrfhw.Request("problem", file=field(UNEVEN), sweeps=40, estimate="mean"))
    assert "\n" not in str(error.value)
    by_sums = mrfhw.run(mrfhw.Request("problem", file=field(EVEN), sweeps=40, seed=3, estimate="mean"))
    assert by_sums.mean == pytest.approx(summed.mean)


@pytest.mark.parametrize(("values", "said"), [
    ([1, 2, 3], r"values has shape \(3,\); 4 labels need \(4,\): give a number a label"),
    ([1, 2, np.nan, 3], "values has the value nan; values are finite numbers: replace it"),
    (["a", "b", "c", "d"], "values has values of type <U1; they are real numbers: give an array of floats")])
def test_values_refused(values, said):
    with pytest.raises(ProblemError, match=f"^{said}$"):
        field(values)


def test_fields_of_other_values_are_not_packed():
    assert (mrfhw.pack([field(EVEN), field(EVEN)]).problem.values == EVEN).all()
    with pytest.raises(ProblemError, match=r"values\[0\] is 2.0 in field 0 and 1.0 in field 1"):
        mrfhw.pack([field(EVEN), field(UNEVEN)])


@pytest.mark.parametrize("terms", [
    {"beta": 1.3}, {"beta": 0.4, "doubleton": "absolute", "tau": 2}, {"beta": 0},
    {"beta": 2.0, "pairwise": RNG.uniform(0, 3, (4, 4))},
], ids=["potts", "absolute", "none", "table"])
def test_energies_are_those_of_the_floats(terms):
    """Differences of whole energies, in the units given, are those of the formula within the rounding that is stated."""
    found = field_of_costs(COSTS, temperature=0.7, **terms)
    assert found.cut == 0
    assert found.problem.schedule.start / found.scale == pytest.approx(0.7)
    energy, rng = Energy(found.problem), np.random.default_rng(1)
    table = terms.get("pairwise")
    if table is None:
        apart = np.abs(np.subtract.outer(np.arange(4), np.arange(4)))
        table = np.minimum(apart, terms["tau"]) if "tau" in terms else apart > 0

    def of(labels):
        own = np.take_along_axis(COSTS, labels[..., None], 2).sum()
        return own + terms["beta"] * (table[labels[:, :-1], labels[:, 1:]].sum() + table[labels[:-1], labels[1:]].sum())

    one, other = (rng.integers(0, 4, COSTS.shape[:2]) for _ in range(2))
    edges = 2 * COSTS.shape[0] * COSTS.shape[1]
    most = 2 * (COSTS.shape[0] * COSTS.shape[1] * found.error + edges * (found.error + abs(found.beta - terms["beta"]) * 3))
    assert (energy(one) - energy(other)) / found.scale == pytest.approx(of(one) - of(other), abs=most)
    assert most < 0.2


def test_solve_says_what_rounding_changed():
    answer = mrfhw.solve(COSTS, beta=1.3, sweeps=40, values=UNEVEN)
    assert answer.mean is not None
    assert answer.notes[-1].startswith("costs are whole numbers of 1/")
    assert "rounded by at most" in answer.notes[-1]
    small = mrfhw.solve(COSTS, beta=1.3, sweeps=10, backend="model")
    assert small.problem.unary.max() <= 255 < answer.problem.unary.max()
    assert mrfhw.solve(np.zeros((4, 4, 2)), sweeps=10).labels.shape == (4, 4)


def test_what_is_never_drawn_is_cut_off():
    costs = COSTS.copy()
    costs[2, 3, 1] = 1e9
    found = field_of_costs(costs, beta=1.0)
    assert found.cut == 1 / costs.size
    assert found.error < 1e-3
    above = found.problem.unary[2, 3, 1] / found.scale
    assert above == pytest.approx(NEVER + 4)
    assert "are cut off" in found.said


@pytest.mark.parametrize(("costs", "terms", "said"), [
    (COSTS, {"beta": -1}, "beta is -1; it must be a finite number above 0: give one, or 0"),
    (COSTS, {"edges": "a"}, "edges has values of type <U1; they are whole numbers"),
    (COSTS, {"tau": "x", "doubleton": "absolute"}, "tau is 'x'; it must be a whole number from 0"),
    (COSTS, {"edges": np.full((10, 12, 2), 16)}, "edges has values from 16 to 16; the limits are 0 to 15"),
    (COSTS, {"temperature": 0}, "temperature is 0; it must be a finite number above 0"),
    (COSTS, {"doubleton": "squared"}, "doubleton is 'squared'; of costs that are floats it is potts or absolute"),
    (COSTS, {"pairwise": np.ones((3, 3))}, r"pairwise has shape \(3, 3\)"),
    (COSTS, {"beta": 1e-5, "temperature": 100.0}, "beta is 1e-05, which becomes 0 in whole numbers"),
    (np.full((2, 2, 2), np.nan), {}, "costs has 8 values that are not finite"),
    (COSTS[0], {}, "costs has shape"), (COSTS, {"values": [1, 2]}, "values has shape")])
def test_floats_refused(costs, terms, said):
    with pytest.raises(ProblemError, match=said) as error:
        mrfhw.solve(costs, sweeps=4, **terms)
    assert "\n" not in str(error.value)


def test_terms_of_costs_go_with_costs():
    with pytest.raises(ProblemError, match="beta is given beside a Problem"):
        mrfhw.solve(field(), sweeps=4, beta=2.0)
