"""The vector instructions of the processor's sampler against the same in NumPy, bit for bit."""

import llvmlite
import numba
import numpy as np
import pytest
from numba.core import types
from numba.extending import intrinsic

from mrfhw.samplers import cpu_vectors as vectors
from mrfhw.samplers import random_kernel
from mrfhw.samplers.cpu_vectors import LANES, QUARTER, STEEPEST, SUMS
from mrfhw.samplers.random import lane_states

U = np.uint64


def compiled(part):
    """A part, called from Python."""
    return numba.njit(lambda *arguments: part(*arguments))


MULTIPLY, ADD, POWER, THREE, WITHOUT, LOWEST, REACHING, STEP = map(compiled, (
    vectors.multiply_weights, vectors.add_energies, vectors.power_weights, vectors.pass_three, vectors.sum_without,
    vectors.lowest_bit, vectors.reaching, vectors.step_generators))


def equal(found, wanted):
    """Whether arrays and numbers have the same bits."""
    return [np.asarray(one).tobytes() for one in found] == [np.asarray(one, np.asarray(mine).dtype).tobytes()
                                                            for one, mine in zip(wanted, found, strict=True)]


def floats(rng, size):
    """Weights of many octaves, some of them 0."""
    return (np.exp2(-rng.uniform(0, 40, size)) * (rng.random(size) > 0.1)).astype(np.float32)


def both(part, twin, rng, size, before, after):
    """What a part and its twin give and leave, with weights and sums that begin somewhere."""
    place, at = (int(n) for n in rng.integers(0, 40, 2))
    outcomes = []
    for function, whole in ((part, U), (twin, int)):
        weights, sums = np.full(place + size + 3, -1, np.float32), np.full(at + SUMS + 3, -2, np.float32)
        given = [whole(one) if isinstance(one, int) else one for one in before]
        outcomes.append((*function(*given, weights, whole(place), whole(after), sums, whole(at)), weights, sums))
    return outcomes


@pytest.mark.parametrize("seed", range(6))
def test_products_of_tables(seed):
    rng = np.random.default_rng(seed)
    blocks_n = int(rng.integers(1, 17))
    size = LANES * blocks_n
    own, pairs = floats(rng, size + 9), floats(rng, 5 * size)
    chosen = [n for n in range(blocks_n) if rng.random() < 0.6] or [blocks_n - 1]
    rows = [int(rng.integers(0, 5)) * size for _ in range(4)]
    old = int(rng.choice(chosen)) * LANES + int(rng.integers(LANES))
    before = (own, int(rng.integers(0, 9)), pairs, *rows, sum(1 << n for n in chosen))
    found, wanted = both(MULTIPLY, vectors.multiply_weights_in_numpy, rng, size, before, old)
    assert equal(found, wanted)
    assert found[1] > 0 or found[0] > 0


@pytest.mark.parametrize("kind", [np.int16, np.int32])
@pytest.mark.parametrize("seed", range(4))
def test_energies_and_their_powers(seed, kind):
    rng = np.random.default_rng(seed)
    size, most = LANES * int(rng.integers(1, 17)), 1 << (11 if kind == np.int16 else 28)
    own, pairs = rng.integers(0, most, size + 9).astype(kind), rng.integers(0, most, 5 * size).astype(kind)
    at, place, rows = int(rng.integers(0, 9)), int(rng.integers(0, 9)), [int(rng.integers(0, 5)) * size for _ in range(4)]
    energies, wanted = np.zeros((2, place + size + 2), kind)
    least = ADD(own, U(at), pairs, *map(U, rows), U(size), energies, U(place))
    assert least == vectors.add_energies_in_numpy(own, at, pairs, *rows, size, wanted, place)
    assert np.array_equal(energies, wanted)
    scale, old = np.float32(3 * STEEPEST / most), int(rng.integers(size))
    outcomes = []
    for function, whole in ((POWER, U), (vectors.power_weights_in_numpy, int)):
        weights, sums = np.full(place + size + 3, -1, np.float32), np.full(SUMS + 5, -2, np.float32)
        found = function(energies, np.int64(least), scale, whole(size), weights, whole(place), whole(old), sums, whole(2))
        outcomes.append((*found, weights, sums))
    assert equal(*outcomes)
    exact = np.exp2(-np.minimum((energies[place:place + size].astype(float) - least) * scale, STEEPEST))
    exact[old] = 0
    assert outcomes[0][2][place:place + size] == pytest.approx(exact, rel=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_the_first_of_four_sums_that_a_point_does_not_pass(seed):
    rng = np.random.default_rng(seed)
    numbers = set()
    for _ in range(40):
        sums, at = floats(rng, 12), int(rng.integers(0, 8))
        point = np.float32(rng.random() * sums[at:at + QUARTER].sum())
        found, wanted = THREE(sums, U(at), point), vectors.pass_three_in_numpy(sums, at, point)
        assert equal(found, wanted)
        numbers.add(int(found[0]))
    assert numbers == {0, 1, 2, 3}


@pytest.mark.parametrize("seed", range(4))
def test_sums_of_the_blocks_left_out(seed):
    rng = np.random.default_rng(seed)
    for _ in range(20):
        size, at, sums = QUARTER * int(rng.integers(1, 5)), int(rng.integers(0, 9)), floats(rng, 30)
        blocks = int(rng.integers(0, 1 << size))
        assert equal([WITHOUT(sums, U(at), U(size), U(blocks))], [vectors.sum_without_in_numpy(sums, at, size, blocks)])


@pytest.mark.parametrize("seed", range(4))
def test_generators_that_step_together_are_those_that_step_alone(seed):
    rng = np.random.default_rng(seed)
    states = lane_states(seed, LANES)
    most = rng.integers(0, 20, LANES).astype(np.int32)
    many = int(most.max()) + int(rng.integers(0, 3))
    outcomes = []
    for function, whole in ((STEP, U), (vectors.step_generators_in_numpy, int)):
        words, numbers = states.T.reshape(-1).copy(), np.zeros((many + 1, LANES), np.uint32)
        function(words, whole(many), most, numbers.reshape(-1))
        outcomes.append((words.reshape(4, LANES).T, numbers))
    assert equal(*outcomes)
    (after, numbers), alone = outcomes[0], states.copy()
    for lane, steps in enumerate(most):
        for number in range(steps):
            random_kernel.step(alone, lane)
            assert numbers[number, lane] == random_kernel.output(alone, lane, 32)
    assert np.array_equal(after, alone)
    assert not numbers[many].any()


@pytest.mark.parametrize("seed", range(4))
def test_numbers_that_reach_their_bounds(seed):
    rng = np.random.default_rng(seed)
    numbers, bounds = (rng.integers(0, 1 << 32, size, np.uint32) for size in (LANES * LANES + 9, LANES + 9))
    at, place = (int(n) for n in rng.integers(0, 9, 2))
    bounds[place], bounds[place + 1], bounds[place + 2] = numbers[at], numbers[at + LANES], numbers[at + 2 * LANES]
    bounds[place + 1] += 1  # the least that is not reached
    bits = int(REACHING(numbers, U(at), bounds, U(place)))
    assert bits == vectors.reaching_in_numpy(numbers, at, bounds, place)
    assert bits & 7 == (5 if bounds[place + 1] else 7)


def test_lowest_bits():
    for bits in (1, 6, 1 << 15, (1 << 63) + (1 << 40)):
        assert LOWEST(U(bits)) == vectors.lowest_bit_in_numpy(bits)


def through(make):
    """`make` of a vector of LANES float32, as a function of an array that gives one of as many."""
    def instructions(_, source, target):
        def code(context, b, signature, arguments):
            data, first = vectors._pointers(context, b, signature, arguments), vectors._INT64(0)
            vectors._store(b, make(b, vectors._load(b, data[0], first)), data[1], first)
            return context.get_dummy_value()

        return types.void(source, target), code

    part = intrinsic(instructions)
    run = numba.njit(lambda source, target: part(source, target))

    def of(array):
        target = np.zeros(LANES, np.float32)
        run(array, target)
        return target

    return of


def test_parts_of_vectors():
    rng = np.random.default_rng(0)
    array, lanes = floats(rng, LANES), [int(n) for n in rng.integers(0, 2 * LANES, LANES)]
    assert equal([through(lambda b, vector: vectors._chosen(b, vector, lanes, b.fadd(vector, vector)))(array)],
                 [np.concatenate([array, array + array])[lanes]])
    assert equal([through(lambda b, vector: vectors._spread(b, b.extract_element(vector, vectors._INT32(3))))(array)],
                 [np.full(LANES, array[3])])
    for size in (8, QUARTER):
        found = through(lambda b, vector, size=size: vectors._folded(b, vector, b.fadd, size))(array)
        assert equal([found[:size]], [vectors.folded_in_numpy(array, np.add, size)])
    whole = through(lambda b, vector: vectors._spread(b, vectors._whole(b, vector, b.fadd)))(array)
    assert equal([whole[:1]], [vectors.folded_in_numpy(array, np.add, 1)])


def test_the_version_of_llvm_is_one_that_was_tried():
    """A part is written in LLVM's language, whose writer changes between versions."""
    import tomllib
    from pathlib import Path

    from packaging.requirements import Requirement

    text = (Path(__file__).parents[2] / "pyproject.toml").read_text()
    bound, = (found for found in map(Requirement, tomllib.loads(text)["project"]["dependencies"]) if found.name == "llvmlite")
    assert bound.specifier.contains(llvmlite.__version__)
    assert any(one.operator == "<" for one in bound.specifier)
