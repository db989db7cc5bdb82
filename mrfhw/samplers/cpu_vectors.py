"""A site's weights by vector instructions, which LLVM's own vectorizer does not find; beside each part, the same in NumPy.

Vectors have LANES elements, of which LLVM makes what the processor has. Each operation rounds by itself, so that every processor
gives the same bits, and so does NumPy (tests/samplers/test_cpu_vectors.py compares). Functions that take an `ir.IRBuilder` write
LLVM's language: what they return stands for a value that there will be. Those that end in `_in_numpy` say what comes of it.

Weights are float32, an array of a multiple of LANES: blocks of labels. With them come SUMS sums, by which a label is found in three
short steps: the first QUARTER of the labels with the same l mod QUARTER; then LANES of those with the same l mod LANES, where those
with the same l mod QUARTER lie together.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

from mrfhw.samplers.random import SHIFTS

__all__ = ["LANES", "POLYNOMIAL", "QUARTER", "STEEPEST", "SUMS", "add_energies", "fetch", "lowest_bit", "multiply_weights",
           "pass_three", "power_weights", "reaching", "step_generators", "sum_without"]

LANES, QUARTER = 16, 4
SUMS = LANES + QUARTER
# 2^-x on [0, 1] from x^0 on, of least squares of the relative error, which is below 2.6e-7 with float32's rounding.
POLYNOMIAL = (0.9999999403953552, -0.6931421756744385, 0.24017158150672913, -0.05527813360095024, 0.009186874143779278,
              -0.0009381164563819766)
STEEPEST = 64.0  # octaves below the largest weight at which weights end
_EXPONENT, _BIAS = 23, 127  # where float32 has its exponent, and what is added to it
_INT32, _INT64, _FLOAT = ir.IntType(32), ir.IntType(64), ir.FloatType()
Value = Any  # an ir.Value
Pointers = dict[int, Value]  # to the elements of an array, by its argument's place


def _constant(kind: ir.Type, value: float) -> ir.Constant:
    """In each lane."""
    return ir.Constant(ir.VectorType(kind, LANES), [value] * LANES)


def _vector(b: ir.IRBuilder, elements: Value, at: Value, lanes: int = LANES) -> tuple[Value, int]:
    """The address of `lanes` elements from `at` on, and what it is a multiple of."""
    kind = elements.type.pointee
    multiple = kind.width // 8 if isinstance(kind, ir.IntType) else 4
    return b.bitcast(b.gep(elements, [at]), ir.VectorType(kind, lanes).as_pointer()), multiple


def _load(b: ir.IRBuilder, elements: Value, at: Value, lanes: int = LANES) -> Value:
    address, multiple = _vector(b, elements, at, lanes)
    return b.load(address, align=multiple)


def _store(b: ir.IRBuilder, vector: Value, elements: Value, at: Value) -> None:
    address, multiple = _vector(b, elements, at, vector.type.count)
    b.store(vector, address, align=multiple)


def _chosen(b: ir.IRBuilder, vector: Value, lanes: list[int], other: Value | None = None) -> Value:
    """The lanes of a vector, and of another one after it, in that order; NumPy: concatenate([vector, other])[lanes]."""
    other = ir.Constant(vector.type, ir.Undefined) if other is None else other
    return b.shuffle_vector(vector, other, ir.Constant(ir.VectorType(_INT32, len(lanes)), lanes))


def _spread(b: ir.IRBuilder, scalar: Value, lanes: int = LANES) -> Value:
    """A scalar in each lane; NumPy: full(lanes, scalar)."""
    nothing = ir.Constant(ir.VectorType(scalar.type, lanes), ir.Undefined)
    return _chosen(b, b.insert_element(nothing, scalar, _INT32(0)), [0] * lanes)


def _folded(b: ir.IRBuilder, vector: Value, fold: Callable[[Value, Value], Value], lanes: int) -> Value:
    """`fold` of the halves, of the halves of that, and so on down to `lanes`."""
    while vector.type.count > lanes:
        half = vector.type.count // 2
        vector = fold(_chosen(b, vector, list(range(half))), _chosen(b, vector, list(range(half, 2 * half))))
    return vector


def folded_in_numpy(vector: np.ndarray, fold: Callable[..., np.ndarray], lanes: int) -> np.ndarray:
    """`_folded`, and for one lane `_whole`."""
    while len(vector) > lanes:
        vector = fold(vector[:len(vector) // 2], vector[len(vector) // 2:])
    return vector


def _whole(b: ir.IRBuilder, vector: Value, fold: Callable[[Value, Value], Value]) -> Value:
    """The same down to a scalar."""
    return b.extract_element(_folded(b, vector, fold, 1), _INT32(0))


def _each(b: ir.IRBuilder, labels: Value, starts: list[Value], step: Callable[..., list[Value]], lanes: int = LANES) -> list[Value]:
    """`step` of (first label, what it gave before, ...) for each `lanes` labels, at first `starts`; what the last one gave."""
    entry, block, after = b.block, b.append_basic_block("labels"), b.append_basic_block("after")
    b.branch(block)
    b.position_at_end(block)
    first, held = b.phi(_INT64), [b.phi(start.type) for start in starts]
    made = step(first, *held)
    following = b.add(first, _INT64(lanes))
    for phi, before, then in zip([first, *held], [_INT64(0), *starts], [following, *made], strict=True):
        phi.add_incoming(before, entry)
        phi.add_incoming(then, block)
    b.cbranch(b.icmp_unsigned("<", following, labels), block, after)
    b.position_at_end(after)
    return made


def _each_of(b: ir.IRBuilder, blocks: Value, starts: list[Value], step: Callable[..., list[Value]]) -> list[Value]:
    """`step` of (first label, where it is stored, what it gave before, ...) for each of the blocks, bits of which one is set."""
    entry, block, after = b.block, b.append_basic_block("blocks"), b.append_basic_block("after")
    b.branch(block)
    b.position_at_end(block)
    left, stored, held = b.phi(_INT64), b.phi(_INT64), [b.phi(start.type) for start in starts]
    made = step(b.mul(b.cttz(left, ir.IntType(1)(1)), _INT64(LANES)), stored, *held)
    others, following = b.and_(left, b.sub(left, _INT64(1))), b.add(stored, _INT64(LANES))
    for phi, before, then in zip([left, stored, *held], [blocks, _INT64(0), *starts], [others, following, *made], strict=True):
        phi.add_incoming(before, entry)
        phi.add_incoming(then, block)
    b.cbranch(b.icmp_unsigned("!=", others, _INT64(0)), block, after)
    b.position_at_end(after)
    return made


def each_in_numpy(labels: int, lanes: int = LANES) -> list[slice]:
    """The labels of each step of `_each`."""
    return [slice(first, first + lanes) for first in range(0, labels, lanes)]


def each_of_in_numpy(blocks: int) -> list[tuple[slice, slice]]:
    """Of each step of `_each_of` the labels, and where they are stored."""
    of = (slice(number * LANES, (number + 1) * LANES) for number in range(blocks.bit_length()) if blocks >> number & 1)
    return [(labels, slice(n * LANES, (n + 1) * LANES)) for n, labels in enumerate(of)]


class _Weights:
    """Stores the weights of a site's labels but the old one, and their sums."""

    def __init__(self, b: ir.IRBuilder, weights: Value, place: Value, old: Value, sums: Value, sums_at: Value):
        self._b, self._weights, self._place, self._sums, self._sums_at = b, weights, place, sums, sums_at
        self._old = _spread(b, b.trunc(old, _INT32))
        self.starts = [_constant(_FLOAT, 0.0), _constant(_FLOAT, 0.0)]

    def add(self, label: Value, stored: Value, found: Value, others: Value, held: Value) -> list[Value]:
        b, none = self._b, _constant(_FLOAT, 0.0)
        here = b.add(_spread(b, b.trunc(label, _INT32)), ir.Constant(ir.VectorType(_INT32, LANES), list(range(LANES))))
        mine = b.icmp_signed("==", here, self._old)
        other = b.select(mine, none, found)
        _store(b, other, self._weights, b.add(self._place, stored))
        return [b.fadd(others, other), b.select(mine, found, held)]

    def sum(self, context: Any, signature: Any, others: Value, held: Value) -> Value:
        """(sum of the others, weight of the old one)."""
        b = self._b
        quarters = _folded(b, others, b.fadd, QUARTER)
        _store(b, quarters, self._sums, self._sums_at)
        by_quarter = [first + step for first in range(QUARTER) for step in range(0, LANES, QUARTER)]
        _store(b, _chosen(b, others, by_quarter), self._sums, b.add(self._sums_at, _INT64(QUARTER)))
        found = _whole(b, quarters, b.fadd), _whole(b, held, b.fadd)
        return context.make_tuple(b, signature.return_type, found)


class WeightsInNumpy:
    """`_Weights`; weights: from the site's place on, sums: from its sums on."""

    def __init__(self, weights: np.ndarray, old: int, sums: np.ndarray):
        self._weights, self._old, self._sums = weights, old, sums
        self._others = self._held = np.zeros(LANES, np.float32)

    def add(self, labels: slice, stored: slice, found: np.ndarray) -> None:
        mine = np.arange(labels.start, labels.stop) == self._old
        self._weights[stored] = other = np.where(mine, np.float32(0), found)
        self._others, self._held = self._others + other, np.where(mine, found, self._held)

    def sum(self) -> tuple[np.float32, np.float32]:
        quarters = folded_in_numpy(self._others, np.add, QUARTER)
        self._sums[:QUARTER], self._sums[QUARTER:SUMS] = quarters, self._others.reshape(-1, QUARTER).T.reshape(-1)
        return folded_in_numpy(quarters, np.add, 1)[0], folded_in_numpy(self._held, np.add, 1)[0]


def _pointers(context: Any, b: ir.IRBuilder, signature: Any, arguments: Any) -> Pointers:
    return {n: context.make_array(kind)(context, b, arguments[n]).data for n, kind in enumerate(signature.args)
            if isinstance(kind, types.Array)}


_PAIR = types.UniTuple(types.float32, 2)


def _multiply_weights(_: Any, own: Any, at: Any, pairs: Any, up: Any, down: Any, left: Any, right: Any, blocks: Any, weights: Any,
                     place: Any, old: Any, sums: Any, sums_at: Any) -> Any:
    """weights[place + n] = own[at + l] x ((pairs[up + l] x pairs[down + l]) x (pairs[left + l] x pairs[right + l])), l of `blocks`.

    own, pairs, weights: float32, flat. blocks: bits; n counts their labels alone. sums: float32, SUMS from sums_at on. Returns the
    sum, and the weight of the label `old`, of one of the blocks, which is 0 in weights and sums. Others: uint64.
    """
    signature = _PAIR(own, at, pairs, up, down, left, right, blocks, weights, place, old, sums, sums_at)

    def code(context: Any, b: ir.IRBuilder, signature: Any, a: Any) -> Value:
        data = _pointers(context, b, signature, a)
        kept = _Weights(b, data[8], a[9], a[10], data[11], a[12])

        def step(label: Value, stored: Value, others: Value, held: Value) -> list[Value]:
            single = _load(b, data[0], b.add(a[1], label))
            above, below, left_, right_ = (_load(b, data[2], b.add(row, label)) for row in a[3:7])
            return kept.add(label, stored, b.fmul(single, b.fmul(b.fmul(above, below), b.fmul(left_, right_))), others, held)

        return kept.sum(context, signature, *_each_of(b, a[7], kept.starts, step))

    return signature, code


def multiply_weights_in_numpy(own: np.ndarray, at: int, pairs: np.ndarray, up: int, down: int, left: int, right: int, blocks: int,
                              weights: np.ndarray, place: int, old: int, sums: np.ndarray, sums_at: int) -> Any:
    kept = WeightsInNumpy(weights[place:], old, sums[sums_at:])
    for labels, stored in each_of_in_numpy(blocks):
        single, (above, below, before, behind) = own[at:][labels], (pairs[row:][labels] for row in (up, down, left, right))
        kept.add(labels, stored, single * ((above * below) * (before * behind)))
    return kept.sum()


def _sum_without(_: Any, sums: Any, at: Any, size: Any, blocks: Any) -> Any:
    """Of sums[at + n], n < size, those whose bit n of `blocks` is not set. sums: float32. size: a multiple of QUARTER."""
    signature = types.float32(sums, at, size, blocks)

    def code(context: Any, b: ir.IRBuilder, signature: Any, a: Any) -> Value:
        data, wide = _pointers(context, b, signature, a)[0], ir.VectorType(_INT32, QUARTER)
        bits, no_bit = ir.Constant(wide, [1 << n for n in range(QUARTER)]), ir.Constant(wide, [0] * QUARTER)
        none = ir.Constant(ir.VectorType(_FLOAT, QUARTER), [0.0] * QUARTER)

        def step(first: Value, before: Value) -> list[Value]:
            here = _spread(b, b.trunc(b.lshr(a[3], first), _INT32), QUARTER)
            absent = b.icmp_unsigned("==", b.and_(here, bits), no_bit)
            return [b.fadd(before, b.select(absent, _load(b, data, b.add(a[1], first), QUARTER), none))]

        total, = _each(b, a[2], [none], step, QUARTER)
        return _whole(b, total, b.fadd)

    return signature, code


def sum_without_in_numpy(sums: np.ndarray, at: int, size: int, blocks: int) -> np.float32:
    total = np.zeros(QUARTER, np.float32)
    for some in each_in_numpy(size, QUARTER):
        absent = blocks >> np.arange(some.start, some.stop) & 1 == 0
        total = total + np.where(absent, sums[at:][some], np.float32(0))
    return np.float32(folded_in_numpy(total, np.add, 1)[0])


def _fetch(_: Any, elements: Any, at: Any) -> Any:
    """Have the processor bring elements[at] from memory, while it goes on."""
    def code(context: Any, b: ir.IRBuilder, signature: Any, a: Any) -> Value:
        address = b.bitcast(b.gep(_pointers(context, b, signature, a)[0], [a[1]]), ir.IntType(8).as_pointer())
        kind = ir.FunctionType(ir.VoidType(), [address.type, _INT32, _INT32, _INT32])
        b.call(cgutils.get_or_insert_function(b.module, kind, "llvm.prefetch.p0i8"), [address, _INT32(0), _INT32(3), _INT32(1)])
        return context.get_dummy_value()

    return types.void(elements, at), code


def _lowest_bit(_: Any, bits: Any) -> Any:
    """The number of the lowest bit that is set; uint64."""
    def code(context: Any, b: ir.IRBuilder, signature: Any, a: Any) -> Value:
        return b.cttz(a[0], ir.IntType(1)(1))

    return types.uint64(bits), code


def lowest_bit_in_numpy(bits: int) -> int:
    return (bits & -bits).bit_length() - 1


def _add_energies(_: Any, own: Any, at: Any, pairs: Any, up: Any, down: Any, left: Any, right: Any, size: Any, energies: Any,
                 place: Any) -> Any:
    """energies[place + l] = own[at + l] + pairs[up + l] + pairs[down + l] + pairs[left + l] + pairs[right + l], l < size.

    own, pairs, energies: all int16 or all int32, flat. Others: uint64. Returns the least, int64.
    """
    signature = types.int64(own, at, pairs, up, down, left, right, size, energies, place)

    def code(context: Any, b: ir.IRBuilder, signature: Any, a: Any) -> Value:
        data = _pointers(context, b, signature, a)
        kind = data[0].type.pointee

        def lower(one: Value, other: Value) -> Value:
            return b.select(b.icmp_signed("<", one, other), one, other)

        def step(label: Value, least: Value) -> list[Value]:
            single = _load(b, data[0], b.add(a[1], label))
            above, below, left_, right_ = (_load(b, data[2], b.add(row, label)) for row in a[3:7])
            found = b.add(single, b.add(b.add(above, below), b.add(left_, right_)))
            _store(b, found, data[8], b.add(a[9], label))
            return [lower(found, least)]

        least, = _each(b, a[7], [_constant(kind, (1 << kind.width - 1) - 1)], step)
        return b.sext(_whole(b, least, lower), _INT64)

    return signature, code


def add_energies_in_numpy(own: np.ndarray, at: int, pairs: np.ndarray, up: int, down: int, left: int, right: int, size: int,
                          energies: np.ndarray, place: int) -> int:
    for labels in each_in_numpy(size):
        single, (above, below, before, behind) = own[at:][labels], (pairs[row:][labels] for row in (up, down, left, right))
        energies[place:][labels] = single + ((above + below) + (before + behind))
    return int(energies[place:place + size].min())


def _power_weights(_: Any, energies: Any, least: Any, scale: Any, size: Any, weights: Any, place: Any, old: Any, sums: Any,
                  sums_at: Any) -> Any:
    """weights[place + l] = 2^-min((energies[place + l] - least) x scale, STEEPEST), by POLYNOMIAL, l < size.

    energies: int16 or int32. least: int64. scale: float32. The rest as of `multiply_weights`.
    """
    signature = _PAIR(energies, least, scale, size, weights, place, old, sums, sums_at)

    def code(context: Any, b: ir.IRBuilder, signature: Any, a: Any) -> Value:
        data = _pointers(context, b, signature, a)
        kept = _Weights(b, data[4], a[5], a[6], data[7], a[8])
        lowest, factor, most = _spread(b, b.trunc(a[1], _INT32)), _spread(b, a[2]), _constant(_FLOAT, STEEPEST)
        floats, integers = (ir.VectorType(kind, LANES) for kind in (_FLOAT, _INT32))

        def step(label: Value, others: Value, held: Value) -> list[Value]:
            energy = _load(b, data[0], b.add(a[5], label))
            above = b.sub(energy if energy.type == integers else b.sext(energy, integers), lowest)
            octaves = b.fmul(b.sitofp(above, floats), factor)
            octaves = b.select(b.fcmp_ordered("<", octaves, most), octaves, most)
            whole = b.fptosi(octaves, integers)
            part = b.fsub(octaves, b.sitofp(whole, floats))
            found = _constant(_FLOAT, POLYNOMIAL[-1])
            for coefficient in POLYNOMIAL[-2::-1]:
                found = b.fadd(b.fmul(found, part), _constant(_FLOAT, coefficient))
            exponent = b.shl(b.sub(_constant(_INT32, _BIAS), whole), _constant(_INT32, _EXPONENT))
            return kept.add(label, label, b.fmul(found, b.bitcast(exponent, floats)), others, held)

        return kept.sum(context, signature, *_each(b, a[3], kept.starts, step))

    return signature, code


def power_weights_in_numpy(energies: np.ndarray, least: int, scale: np.float32, size: int, weights: np.ndarray, place: int,
                           old: int, sums: np.ndarray, sums_at: int) -> Any:
    kept = WeightsInNumpy(weights[place:], old, sums[sums_at:])
    for labels in each_in_numpy(size):
        octaves = (energies[place:][labels].astype(np.int32) - np.int32(least)).astype(np.float32) * scale
        octaves = np.minimum(octaves, np.float32(STEEPEST))
        whole = octaves.astype(np.int32)
        part, found = octaves - whole.astype(np.float32), np.full(LANES, POLYNOMIAL[-1], np.float32)
        for coefficient in POLYNOMIAL[-2::-1]:
            found = found * part + np.float32(coefficient)
        kept.add(labels, labels, found * ((_BIAS - whole) << _EXPONENT).view(np.float32))  # times 2^-whole
    return kept.sum()


def _pass_three(_: Any, sums: Any, at: Any, point: Any) -> Any:
    """How many of sums[at], sums[at + 1] and sums[at + 2] `point` passes, one after the other, and what is left of it.

    sums: float32, of which sums[at + 3] is read, too. at: uint64. point: float32. No branch: what is passed cannot be predicted.
    """
    signature = types.Tuple((types.uint64, types.float32))(sums, at, point)

    def code(context: Any, b: ir.IRBuilder, signature: Any, a: Any) -> Value:
        four = _load(b, _pointers(context, b, signature, a)[0], a[1], QUARTER)
        none = ir.Constant(four.type, [0.0] * QUARTER)
        ends = b.fadd(four, _chosen(b, none, [3, 4, 5, 6], four))
        ends = b.fadd(ends, _chosen(b, none, [2, 3, 4, 5], ends))
        passed = b.and_(b.fcmp_ordered(">=", _spread(b, a[2], QUARTER), ends),
                        ir.Constant(ir.VectorType(ir.IntType(1), QUARTER), [True, True, True, False]))
        gone = _whole(b, b.select(passed, four, none), b.fadd)
        number = _whole(b, b.zext(passed, ir.VectorType(_INT32, QUARTER)), b.add)
        return context.make_tuple(b, signature.return_type, (b.zext(number, _INT64), b.fsub(a[2], gone)))

    return signature, code


def pass_three_in_numpy(sums: np.ndarray, at: int, point: np.float32) -> tuple[int, np.float32]:
    four = sums[at:at + QUARTER]
    ends = four + np.append(np.float32(0), four[:3])
    ends = ends + np.append(np.zeros(2, np.float32), ends[:2])  # the running sums
    passed = (point >= ends) & (np.arange(QUARTER) < 3)
    gone = folded_in_numpy(np.where(passed, four, np.float32(0)), np.add, 1)[0]
    return int(passed.sum()), np.float32(point - gone)


def _reaching(_: Any, numbers: Any, at: Any, bounds: Any, place: Any) -> Any:
    """Bits of n < LANES, those for which numbers[at + n x LANES] >= bounds[place + n]; uint64.

    numbers, bounds: uint32. at, place: uint64.
    """
    signature = types.uint64(numbers, at, bounds, place)

    def code(context: Any, b: ir.IRBuilder, signature: Any, a: Any) -> Value:
        data = _pointers(context, b, signature, a)
        mine: Value = ir.Constant(ir.VectorType(_INT32, LANES), ir.Undefined)
        for n in range(LANES):
            mine = b.insert_element(mine, b.load(b.gep(data[0], [b.add(a[1], _INT64(n * LANES))])), _INT32(n))
        reached = b.icmp_unsigned(">=", mine, _load(b, data[2], a[3]))
        return b.zext(b.bitcast(reached, ir.IntType(LANES)), _INT64)

    return signature, code


def reaching_in_numpy(numbers: np.ndarray, at: int, bounds: np.ndarray, place: int) -> int:
    reached = numbers[at:at + LANES * LANES:LANES] >= bounds[place:place + LANES]
    return int((reached.astype(np.uint64) << np.arange(LANES, dtype=np.uint64)).sum())


def _step_generators(_: Any, states: Any, many: Any, most: Any, numbers: Any) -> Any:
    """numbers[n x LANES + g]: what generator g gives in its step n, of the most[g] < 2^31 that it does, n < many.

    states: uint32, the words x, y, z and w of LANES generators (`mrfhw.samplers.random_kernel.step`), x of all of them first; then
    those after these steps. most: int32, LANES. numbers: uint32. many: uint64, at least 1, and all of `most` or more.
    """
    signature = types.void(states, many, most, numbers)

    def code(context: Any, b: ir.IRBuilder, signature: Any, a: Any) -> Value:
        data, words = _pointers(context, b, signature, a), [_INT64(LANES * word) for word in range(4)]
        limits = _load(b, data[2], _INT64(0))

        def step(number: Value, x: Value, y: Value, z: Value, w: Value) -> list[Value]:
            t = b.xor(x, b.shl(x, _constant(_INT32, SHIFTS[0])))
            found = b.xor(b.xor(w, b.lshr(w, _constant(_INT32, SHIFTS[2]))), b.xor(t, b.lshr(t, _constant(_INT32, SHIFTS[1]))))
            _store(b, b.add(found, z), data[3], b.mul(number, _INT64(LANES)))
            goes_on = b.icmp_signed("<", _spread(b, b.trunc(number, _INT32)), limits)
            return [b.select(goes_on, new, old) for new, old in ((y, x), (z, y), (w, z), (found, w))]

        after = _each(b, a[1], [_load(b, data[0], word) for word in words], step, 1)
        for word, vector in zip(words, after, strict=True):
            _store(b, vector, data[0], word)
        return context.get_dummy_value()

    return signature, code


def step_generators_in_numpy(states: np.ndarray, many: int, most: np.ndarray, numbers: np.ndarray) -> None:
    x, y, z, w = states.reshape(4, LANES)
    for number in range(many):
        t = x ^ (x << np.uint32(SHIFTS[0]))
        found = (w ^ (w >> np.uint32(SHIFTS[2]))) ^ (t ^ (t >> np.uint32(SHIFTS[1])))
        numbers[number * LANES:(number + 1) * LANES] = found + z
        x, y, z, w = (np.where(number < most, new, old) for new, old in ((y, x), (z, y), (w, z), (found, w)))
    states[:] = np.concatenate([x, y, z, w])


multiply_weights: Any = intrinsic(_multiply_weights)
add_energies: Any = intrinsic(_add_energies)
power_weights: Any = intrinsic(_power_weights)
pass_three: Any = intrinsic(_pass_three)
sum_without: Any = intrinsic(_sum_without)
lowest_bit: Any = intrinsic(_lowest_bit)
fetch: Any = intrinsic(_fetch)
step_generators: Any = intrinsic(_step_generators)
reaching: Any = intrinsic(_reaching)
