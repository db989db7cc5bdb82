"""Fields side by side in one: what is laid out, what comes back, and that no field's samples depend on another's data."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import mrfhw
from mrfhw.backends.plan import solve
from mrfhw.field.energy import Energy, edge_weights, singleton_energies
from mrfhw.field.problem import Problem, ProblemError, Run, Schedule
from mrfhw.machine.config import Config
from mrfhw.placement.packing import Packed, pack
from support.enumerated import chi_square_tail, enumerated, random_problem

PACKS = pytest.mark.claim("packs",
    "a field in a pack has the energies, and so the law, that it has alone; no datum of it changes a sample of another, by cpu and "
    "by the model")
FALSE_FAILURE = 1e-6  # of each chi-square test, were its seed drawn anew
MACHINE = Config(mesh_rows=2, mesh_cols=2, tile_rows=16, tile_cols=16, edge_bits=4)


def some_fields(seed: int, **changes: object) -> list[Problem]:
    """Of unlike sizes, masks, data and edges, with what they must have in common."""
    rng = np.random.default_rng(seed)
    first = random_problem(rng, **changes)
    common = {name: getattr(first, name) for name in (
        "labels", "offsets", "singleton", "doubleton", "vectors", "alpha", "beta", "tau", "out_of_range", "schedule", "constants")}
    fields = []
    for _ in range(int(rng.integers(1, 9))):
        shape = tuple(int(size) for size in rng.integers(1, 9, 2))
        own = {"singleton1": rng.integers(0, 64, shape)}
        if first.singleton2 is not None:
            own |= {"singleton2": rng.integers(0, 64, rng.integers(1, 12, 2)), "singleton2_origin": tuple(rng.integers(-4, 5, 2))}
            own |= {"shown": rng.random(own["singleton2"].shape) < 0.7} if rng.random() < 0.5 else {}
        own |= {"clamped": rng.random(shape) < 0.3} if rng.random() < 0.5 else {}
        own |= {"observed": rng.random(shape) < 0.7} if rng.random() < 0.5 else {}
        own |= {"edges": rng.integers(0, 16, (*shape, 2))} if rng.random() < 0.5 else {}
        fields.append(Problem(**common, **own))
    return fields


def check_laid_out(packed: Packed) -> None:
    """Energies, weights and masks of each field are its own; no other site is drawn."""
    shape, seen = packed.problem.shape, np.zeros(packed.problem.shape, int)
    clamped = np.zeros(shape, bool) if packed.problem.clamped is None else packed.problem.clamped
    parts = zip(packed.fields, packed.cut(singleton_energies(packed.problem)), packed.cut(edge_weights(packed.problem)),
                packed.cut(clamped), packed.places, strict=True)
    for field, singles, weights, still, (row, col) in parts:
        drawn = np.ones(field.shape, bool) if field.clamped is None else ~field.clamped
        assert np.array_equal(singles, singleton_energies(field))
        assert np.array_equal(weights, edge_weights(field))
        assert np.array_equal(still, ~drawn)
        seen[row:row + field.shape[0], col:col + field.shape[1]] += 1
    assert seen.max() == 1
    assert clamped[seen == 0].all()
    assert packed.filled == seen.sum() / seen.size


@PACKS
@pytest.mark.parametrize("seed", range(30))
def test_each_field_has_its_own_energies(seed: int) -> None:
    check_laid_out(pack(some_fields(seed)))


@PACKS
@pytest.mark.parametrize("seed", range(6))
def test_and_with_constants_and_costs(seed: int) -> None:
    fields = some_fields(seed, singleton2=None, offsets=None, constants=np.array([1, 9, 40]), labels=3,
                         vectors=np.array([[0, 1], [2, -1], [0, 0]]))
    for machine in (None, MACHINE):
        check_laid_out(pack(fields, machine))
    costs = [dataclasses.replace(field, singleton1=None, constants=None, singleton="absolute", unary=singleton_energies(field))
             for field in fields]
    check_laid_out(pack(costs))


def plain(shape: tuple[int, int], seed: int = 0, **changes: object) -> Problem:
    return Problem(**{"labels": 4, "singleton1": np.random.default_rng(seed).integers(0, 64, shape), "beta": 3, "tau": 2,
                      "constants": np.array([8, 24, 40, 56]), "schedule": Schedule.constant(6.0), **changes})


def test_equal_fields_fill_what_they_take_and_tiles() -> None:
    twenty = pack([plain((8, 8))] * 20)
    assert twenty.filled == 1
    assert twenty.problem.clamped is None
    # On two by two tiles sixteen are 32 sites high and wide, where a row of them would take eight times the columns.
    sixteen = pack([plain((8, 8))] * 16, MACHINE)
    assert sixteen.problem.shape == (32, 32)
    unlike = pack([plain((int(rows), int(cols))) for rows, cols in np.random.default_rng(1).integers(8, 30, (40, 2))])
    assert unlike.filled > 0.8
    one = pack([plain((5, 7))])
    assert one.problem == plain((5, 7))


@PACKS
@pytest.mark.parametrize("backend", ["cpu", "float", "model"])
@pytest.mark.parametrize("estimate", ["mode", "mean"])
def test_each_gets_its_own_answer(backend: str, estimate: str) -> None:
    fields = [plain((7, 9), 1), plain((4, 12), 2), plain((10, 3), 3)]
    packed = pack(fields, MACHINE)
    start = [np.full(field.shape, number) for number, field in enumerate(fields)]
    run = Run(sweeps=12, burn_in=4, seed=3, initial=packed.initial(start), estimate=estimate)
    result = solve(backend, MACHINE, packed.problem, run)
    found = packed.unpacked(result)
    for number, (field, one, first) in enumerate(zip(fields, found, packed.cut(result.initial), strict=True)):
        assert one.problem is field
        assert (first == number).all()
        assert one.labels.shape == one.last.shape == field.shape
        kept = one.counts.sum(-1) if estimate == "mode" else one.sums[..., 1]
        assert (kept == 8).all()
        assert (one.counts is None) == (estimate == "mean")
        assert (one.sums is None) == (estimate == "mode")
        assert one.energy == Energy(field)(one.labels)
    again = packed.unpacked(solve(backend, MACHINE, packed.problem, run))
    assert all(np.array_equal(one.last, other.last) for one, other in zip(found, again, strict=True))


def test_an_answer_is_unpacked_too() -> None:
    packed = mrfhw.pack([plain((6, 8), 1), plain((6, 5), 2)])
    for estimate in ("mode", "mean"):
        answer = mrfhw.solve(packed.problem, sweeps=8, chains=2, backend="cpu", estimate=estimate, most_sweeps=8)
        found = packed.unpacked(answer)
        assert [one.labels.shape for one in found] == [(6, 8), (6, 5)]
        assert np.array_equal(found[1].labels, packed.cut(answer.labels)[1])
        assert (found[0].counts is None) == (estimate == "mean")


def bits(backend: str, packed: Packed, seed: int) -> list[np.ndarray]:
    result = solve(backend, MACHINE, packed.problem, Run(sweeps=20, burn_in=10, seed=seed))
    assert result.counts is not None
    return [np.concatenate([one.ravel(), last.ravel()]) for one, last in zip(packed.cut(result.counts), packed.cut(result.last),
                                                                             strict=True)]


@PACKS
@pytest.mark.parametrize("backend", ["cpu", "model"])
@pytest.mark.parametrize("changes", [{}, {"edges": True}])
def test_no_datum_changes_another_field_s_samples(backend: str, changes: dict[str, bool]) -> None:
    """Exactly: each generator steps as often whatever the labels are."""
    fields = [plain((7, 9), 1), plain((7, 9), 2), plain((10, 4), 3), plain((5, 5), 4)]
    before = bits(backend, pack(fields, MACHINE), 5)
    for number, field in enumerate(fields):
        new = (dataclasses.replace(field, edges=np.full((*field.shape, 2), 3)) if changes
               else dataclasses.replace(field, singleton1=63 - field.singleton1))
        after = bits(backend, pack([*fields[:number], new, *fields[number + 1:]], MACHINE), 5)
        same = [np.array_equal(one, other) for one, other in zip(before, after, strict=True)]
        assert same == [other != number for other in range(len(fields))]


@PACKS
@pytest.mark.slow
@pytest.mark.parametrize("backend", ["cpu", "float"])
def test_a_packed_field_has_the_enumerated_distribution(backend: str) -> None:
    """Joint states of 2x2 sites, of 3,000 copies at once between others that pull hard: false-failure rate 1e-6."""
    grid = {"labels": 3, "constants": np.array([3, 11, 24]), "doubleton": "absolute", "beta": 6, "schedule": Schedule.constant(9.0)}
    field = Problem(singleton1=np.array([[5, 20], [12, 9]]), **grid)
    cold = Problem(singleton1=np.full((2, 1), 63), **grid)  # drawn to the label that is least often the other's
    packed = pack([field, cold] * 3000)
    result = solve(backend, None, packed.problem, Run(sweeps=14, seed=2))
    states, probabilities = enumerated(field, 9.0, [0, 1, 2, 3])
    seen = [int(one.last.ravel() @ [27, 9, 3, 1]) for one in packed.unpacked(result)[::2]]
    counts = np.bincount(seen, minlength=len(states))
    assert chi_square_tail(counts, len(seen) * probabilities) > FALSE_FAILURE


@pytest.mark.parametrize(("changes", "said"), [
    ({"labels": 3, "constants": np.array([8, 24, 40])}, "labels is 4 in field 0 and 3 in field 1"),
    ({"beta": 4}, "beta is 3 in field 0 and 4 in field 1"), ({"alpha": 2}, "alpha is 1 in field 0 and 2 in field 1"),
    ({"tau": None}, "tau is 2 in field 0 and None in field 1"), ({"energy_shift": 1}, "energy_shift is 0 in field 0 and 1"),
    ({"doubleton": "potts"}, "doubleton is absolute in field 0 and potts in field 1"),
    ({"singleton": "squared"}, "singleton is absolute in field 0 and squared in field 1"),
    ({"constants": np.array([8, 24, 40, 57])}, r"constants\[3\] is 56 in field 0 and 57 in field 1"),
    ({"schedule": Schedule.constant(7)}, r"start of the schedule is 6.0 in field 0 and 7.0 in field 1"),
    ({"constants": None, "singleton2": np.zeros((3, 3), int), "offsets": np.zeros((4, 2), int)},
     "singleton2 is not given in field 0 and given in field 1"),
    ({"vectors": np.zeros((4, 2), int)}, r"vectors is not given in field 0 and an array of shape \(4, 2\) in field 1"),
    ({"singleton1": None, "constants": None, "unary": np.zeros((2, 2, 4), int)},
     "unary is not given in field 0 and given in field 1"),
    ({"singleton1": np.zeros((2, 2, 2), int), "constants": np.zeros((4, 2), int)}, "the data have 1 channels in field 0 and 2 in")])
def test_unlike_fields_are_refused(changes: dict[str, object], said: str) -> None:
    with pytest.raises(ProblemError, match=said) as refused:
        pack([plain((3, 3)), plain((4, 3), **changes)])
    assert "\n" not in str(refused.value)


def test_other_mistakes() -> None:
    packed = pack([plain((3, 3)), plain((2, 5))])
    for call, said in ((lambda: pack([]), "there are no fields"), (lambda: pack([plain((2, 2)), 3]), "field 1 is 3; a pack has"),
                       (lambda: pack([plain((2, 2))] * 2, Config()), "the machine has edge_bits = 0; .* edge_bits = 1 or more"),
                       (lambda: packed.initial([np.zeros((3, 3))]), "there are 1 arrays of labels; the pack has 2 fields"),
                       (lambda: packed.initial([np.zeros((3, 3)), np.zeros((5, 2))]), r"labels of field 1 have shape \(5, 2\)"),
                       (lambda: packed.cut(np.zeros((3, 3))), r"the array has shape \(3, 3\); the pack has")):
        with pytest.raises(ProblemError, match=said):
            call()


@pytest.mark.tools
@pytest.mark.slow
@pytest.mark.claim("packs", "of a pack the compiled machine and the model have the same bits")
def test_the_chip_has_the_model_s_bits() -> None:
    from mrfhw.field.result import first_difference

    config = Config.preset("smallest", edge_bits=1)
    rows, cols = config.mesh_rows * config.tile_rows // 2, config.mesh_cols * config.tile_cols // 2
    constants = np.array([0, 1, 3])
    fields = [Problem(labels=3, singleton1=np.random.default_rng(seed).integers(0, 4, (rows, cols - seed)), constants=constants,
                      singleton="absolute", schedule=Schedule.constant(2.0)) for seed in range(4)]
    packed, run = pack(fields, config), Run(sweeps=6, burn_in=2, seed=4)
    assert first_difference(solve("model", config, packed.problem, run), solve("rtl", config, packed.problem, run)) is None
