"""The compiled loop of `mrfhw.samplers.cpu`, and a site's weights by vector instructions, which LLVM's own vectorizer does not
find.

Vectors have LANES elements, of which LLVM makes what the processor has. Each operation rounds by itself, so that every processor
gives the same bits. Weights are float32, an array of a multiple of LANES: blocks of labels. With them come SUMS sums, by which a
label is found in three short steps: the first QUARTER of the labels with the same l mod QUARTER; then LANES of those with the same
l mod LANES, where those with the same l mod QUARTER lie together.

A doubleton that is truncated is the same for all labels but those near the neighbour's: "far". Where all neighbours are far from a
block of labels, the sum of its weights is that of its singletons times one factor, so that a site is drawn by the few blocks which
are near, and by one sum of all others (Equation 3.1 with tau; exact, in float32).
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

from mrfhw.samplers.random_kernel import step
from mrfhw.samplers.sites_kernel import DOWN, LEFT, RIGHT, UP, U
from mrfhw.system.numba_alone import njit

__all__ = ["LANES", "POINT_BITS", "POLYNOMIAL", "QUARTER", "STEEPEST", "SUMS", "fill_site_weights", "sweep_sites"]

LANES, QUARTER = 16, 4
SUMS = LANES + QUARTER
# 2^-x on [0, 1] from x^0 on, of least squares of the relative error, which is below 2.6e-7 with float32's rounding.
POLYNOMIAL = (0.9999999403953552, -0.6931421756744385, 0.24017158150672913, -0.05527813360095024, 0.009186874143779278,
              -0.0009381164563819766)
STEEPEST = 64.0  # octaves below the largest weight at which weights end
_EXPONENT, _BIAS = 23, 127  # where float32 has its exponent, and what is added to it
_INT32, _INT64, _FLOAT = ir.IntType(32), ir.IntType(64), ir.FloatType()
AT_ONCE = 8  # sites
POINT_BITS = 24  # of the uniform number that chooses a label: those of a float32
_SURE = 1.0 - 2.0**-18  # of a bound: more than rounding can take away
_LEAST = np.float32(2.0**-32)  # of the sum of weights: labels below are never drawn
Int = Any  # a Python or NumPy integer
Value = Any  # an ir.Value
Pointers = dict[int, Value]  # to the elements of an array, by its argument's place


# -- vectors


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
    """The lanes of a vector, and of another one after it, in that order."""
    other = ir.Constant(vector.type, ir.Undefined) if other is None else other
    return b.shuffle_vector(vector, other, ir.Constant(ir.VectorType(_INT32, len(lanes)), lanes))


def _spread(b: ir.IRBuilder, scalar: Value, lanes: int = LANES) -> Value:
    """A scalar in each lane."""
    nothing = ir.Constant(ir.VectorType(scalar.type, lanes), ir.Undefined)
    return _chosen(b, b.insert_element(nothing, scalar, _INT32(0)), [0] * lanes)


def _folded(b: ir.IRBuilder, vector: Value, fold: Callable[[Value, Value], Value], lanes: int) -> Value:
    """`fold` of the halves, of the halves of that, and so on down to `lanes`."""
    while vector.type.count > lanes:
        half = vector.type.count // 2
        vector = fold(_chosen(b, vector, list(range(half))), _chosen(b, vector, list(range(half, 2 * half))))
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


# -- the sweep of a colour


multiply_weights: Any = intrinsic(_multiply_weights)
add_energies: Any = intrinsic(_add_energies)
power_weights: Any = intrinsic(_power_weights)
pass_three: Any = intrinsic(_pass_three)
sum_without: Any = intrinsic(_sum_without)
lowest_bit: Any = intrinsic(_lowest_bit)
fetch: Any = intrinsic(_fetch)


def _weigh(own: Any, at: Any, pairs: Any, up: Any, down: Any, left: Any, right: Any, size: Any, scale: Any, energies: Any,
           weights: Any, place: Any, old: Any, sums: Any, sums_at: Any, blocks: Any) -> Any:
    """Weights of a site, from tables of weights (`multiply_weights`, of `blocks`) or of energies (`add_energies`, `power_weights`).

    Returns the sum of the weights, that of the old label, and the least energy, or 0.
    """
    raise NotImplementedError


@overload(_weigh, inline="always")  # type: ignore[misc]
def _weigh_of_kind(own: Any, at: Any, pairs: Any, up: Any, down: Any, left: Any, right: Any, size: Any, scale: Any, energies: Any,
                   weights: Any, place: Any, old: Any, sums: Any, sums_at: Any, blocks: Any) -> Any:
    def products(own: Any, at: Any, pairs: Any, up: Any, down: Any, left: Any, right: Any, size: Any, scale: Any, energies: Any,
                 weights: Any, place: Any, old: Any, sums: Any, sums_at: Any, blocks: Any) -> Any:
        others, held = multiply_weights(own, at, pairs, up, down, left, right, blocks, weights, place, old, sums, sums_at)
        return others, held, np.int64(0)

    def powers(own: Any, at: Any, pairs: Any, up: Any, down: Any, left: Any, right: Any, size: Any, scale: Any, energies: Any,
               weights: Any, place: Any, old: Any, sums: Any, sums_at: Any, blocks: Any) -> Any:
        least = add_energies(own, at, pairs, up, down, left, right, size, energies, place)
        others, held = power_weights(energies, least, scale, size, weights, place, old, sums, sums_at)
        return others, held, least

    return products if own.dtype == types.float32 else powers


@njit(nogil=True)
def fill_site_weights(weights: np.ndarray, block_sums: np.ndarray, energies: np.ndarray, labels: int, table: np.ndarray) -> None:
    """weights (n, size) float32, of `labels` labels of each site: table's entry of the energy above the least one, or its last.

    block_sums (n, at least size / LANES) float32: of the weights of each block.
    """
    last = np.int64(len(table) - 1)
    for site in range(len(energies)):
        least = np.int64(energies[site, 0])
        for label in range(1, labels):
            least = min(least, np.int64(energies[site, label]))
        for label in range(labels):
            weights[site, label] = table[min(np.int64(energies[site, label]) - least, last)]
        for block in range(weights.shape[1] // LANES):
            total = np.float32(0)
            for label in range(block * LANES, (block + 1) * LANES):
                total += weights[site, label]
            block_sums[site, block] = total


@njit(nogil=True)
def _around(site: Any, flag: Any, stride: Any, labels: np.ndarray, edges: np.ndarray, sides: Any, weights: Any, rows: Any) -> Any:
    """The rows of `pairs`, flat, of the neighbours above, below, to the left and to the right; its last where there is none."""
    none, one = rows - U(1), U(1)
    up = U(labels[site - stride]) if flag & UP else none
    down = U(labels[site + stride]) if flag & DOWN else none
    left = U(labels[site - one]) if flag & LEFT else none
    right = U(labels[site + one]) if flag & RIGHT else none
    above = below = before = behind = one % weights
    if edges.size > 0:
        above, below, before, behind = U(edges[site, 0]), U(edges[site, 1]), U(edges[site, 2]), U(edges[site, 3])
    other = (sides - one) * weights
    return above * rows + up, (other + below) * rows + down, before * rows + left, (other + behind) * rows + right


@njit(nogil=True)
def _of_near(weights: np.ndarray, place: Any, parts: np.ndarray, parts_at: Any, blocks: Any, point: Any) -> Any:
    """The label of `blocks` until which their weights, summed up as `parts` has them, are more than `point`; and its weight."""
    quarter, point = pass_three(parts, parts_at, point)
    lane, point = pass_three(parts, parts_at + U(QUARTER) * (quarter + U(1)), point)
    label = quarter + U(QUARTER) * lane
    stored = place + label
    running = weights[stored]
    while point >= running and blocks & blocks - U(1) != U(0):
        blocks &= blocks - U(1)
        stored += U(LANES)
        running += weights[stored]
    return label + U(LANES) * lowest_bit(blocks), weights[stored]


@njit(nogil=True)
def _of_others(own: np.ndarray, at: Any, sums: np.ndarray, sums_at: Any, blocks: Any, every: Any, point: Any) -> Any:
    """The first label outside `blocks` until which the weights of `own` are more than `point`, or the last that has a weight."""
    rest, found = every & ~blocks, U(0)
    while rest != U(0):
        block = lowest_bit(rest)
        rest &= rest - U(1)
        total = sums[sums_at + block]
        if point >= total and rest != U(0):
            point -= total
            continue
        for label in range(block * U(LANES), block * U(LANES) + U(LANES)):
            weight = own[at + U(label)]
            if weight > np.float32(0):
                found = U(label)
                if point < weight:
                    break
                point -= weight
        break
    return found


@njit(nogil=True)
def sweep_sites(first: int, last: int, starts: np.ndarray, sites: np.ndarray, stride: Int, scale: np.float32, rests: bool,
                own: np.ndarray, block_sums: np.ndarray, pairs: np.ndarray, near: np.ndarray, far: np.ndarray, edges: np.ndarray,
                flags: np.ndarray, labels: np.ndarray, bounds: np.ndarray, state: np.ndarray, counts: np.ndarray, sums: np.ndarray,
                since: np.ndarray, now: Int, cached: bool, energies_own: np.ndarray, energies_pairs: np.ndarray,
                followed: bool) -> tuple[int, int]:
    """Draw a colour's sites of the rows from `first` to before `last`.

    Returns how many of them were drawn by weights, and by how much the energy of the field changed, or 0.

    starts: (H + 1,) where each row's sites begin in `sites`, flat indices. own: (n, size), of each site's labels, and pairs:
    (sides, weights of edges, L + 1, size), by the neighbour's label and the site's, size a multiple of LANES: weights, float32; or
    energies, int16 or int32, which `scale` makes octaves. The last row is that of a neighbour that does not exist. sides: 1, or 2
    where the neighbours below and to the right have others. edges: (sites, 4), as of `sites_kernel.site_energies`, or of
    size 0. rests: T does not change from here on until `bounds` are cleared; then there are block_sums: (n, blocks up to a multiple
    of QUARTER) float32, of `own`; and of each row of `pairs` near: uint64, bits of blocks whose labels do not all have the weight
    far: float32. flags, labels: (H x W,). bounds: (H x W,) uint32, a number of 32 bits below it keeps the label. state: (H, 4)
    uint32, a generator a row. counts: (H x W, L) unsigned or of size 0, sums: (H x W, 2) int64 or of size 0, since: (H x W,) the
    sweep from which on the label is not counted yet; now: the sweep that is counted, -1 for none. cached: whether bounds are kept.
    energies_own, energies_pairs: energies in the shapes of `own` and `pairs`. followed: whether the change of the energy is wanted.
    """
    size, rows, weights_n, sides = U(own.shape[1]), U(pairs.shape[2]), U(pairs.shape[1]), U(pairs.shape[0])
    every, blocks_n = (U(1) << size // U(LANES)) - U(1), U(block_sums.shape[1])
    uniforms, listed = np.empty(stride, np.int64), np.empty(stride, np.int64)
    changed, former, changed_at = np.empty(stride, np.int64), np.empty(stride, np.int64), np.empty(stride, np.int64)
    # Weights of some sites, and then their labels: each of these loops leaves the processor enough to do at once.
    weights, energies = np.empty(AT_ONCE * own.shape[1], np.float32), np.empty(AT_ONCE * own.shape[1], own.dtype)
    parts, others, helds = np.empty(AT_ONCE * SUMS, np.float32), np.empty(AT_ONCE, np.float32), np.empty(AT_ONCE, np.float32)
    leasts, beyond, factors = np.empty(AT_ONCE, np.int64), np.empty(AT_ONCE, np.float32), np.empty(AT_ONCE, np.float32)
    around, nears = np.empty((2 * AT_ONCE, 4), np.uint64), np.empty(2 * AT_ONCE, np.uint64)
    flat_own, flat_sums = own.reshape(-1), block_sums.reshape(-1)
    flat_pairs, flat_counts = pairs.reshape(-1), counts.reshape(-1)
    flat_energies, pair_energies = energies_own.reshape(-1), energies_pairs.reshape(-1)
    down_one = U(stride)
    drawn: Int = 0
    gained: Int = 0
    for row in range(first, last):
        begin: Int = starts[row]
        many: Int = 0
        # Without a branch: whether a label stays cannot be predicted.
        for n in range(begin, starts[row + 1]):
            step(state, row)
            uniforms[U(many)] = np.int64(np.uint32(state[row, 3] + state[row, 1]))
            listed[U(many)] = n
            many += np.int64(uniforms[U(many)] >= np.int64(bounds[U(sites[n])]))
        drawn += many
        changes: Int = 0
        for start in range(-AT_ONCE, many, AT_ONCE):
            # Where the next sites' weights are, which come from memory while these are drawn.
            for at in range(start + AT_ONCE, min(start + 2 * AT_ONCE, many)):
                which, slot = U(listed[U(at)]), U(at % (2 * AT_ONCE))
                site, flag = U(sites[which]), flags[U(sites[which])]
                up, down, left, right = _around(site, flag, down_one, labels, edges, sides, weights_n, rows)
                around[slot, 0], around[slot, 1], around[slot, 2], around[slot, 3] = up, down, left, right
                nears[slot] = every
                if rests:
                    nears[slot] = near[up] | near[down] | near[left] | near[right] | U(1) << U(labels[site]) // U(LANES)
                    coming = nears[slot]
                    while coming != U(0):
                        fetch(flat_own, which * size + U(LANES) * lowest_bit(coming))
                        coming &= coming - U(1)
            end = min(start + AT_ONCE, many)
            for at in range(max(start, 0), end):
                which, slot, there = U(listed[U(at)]), U(at - start), U(at % (2 * AT_ONCE))
                up, down, left, right = around[there, 0], around[there, 1], around[there, 2], around[there, 3]
                beyond[slot] = np.float32(0)
                if rests:
                    factors[slot] = (far[up] * far[down]) * (far[left] * far[right])
                    beyond[slot] = factors[slot] * sum_without(flat_sums, which * blocks_n, blocks_n, nears[there])
                others[slot], helds[slot], leasts[slot] = _weigh(
                    flat_own, which * size, flat_pairs, up * size, down * size, left * size, right * size, size, scale, energies,
                    weights, slot * size, U(labels[U(sites[which])]), parts, slot * U(SUMS), nears[there])
            for at in range(max(start, 0), end):
                which, slot, there = U(listed[U(at)]), U(at - start), U(at % (2 * AT_ONCE))
                site, old, held = U(sites[which]), U(labels[U(sites[which])]), helds[slot]
                total = others[slot] + held + beyond[slot]
                point = np.float32(uniforms[U(at)] >> (32 - POINT_BITS)) * np.float32(2.0**-POINT_BITS) * total
                # The old label comes first.
                new, weight = old, held
                if point >= held:
                    point -= held
                    if beyond[slot] > np.float32(0) and point >= others[slot]:
                        new = _of_others(flat_own, which * size, flat_sums, which * blocks_n, nears[there], every,
                                         (point - others[slot]) / factors[slot])
                        weight = flat_own[which * size + new] * factors[slot]
                    else:
                        new, weight = _of_near(weights, slot * size, parts, slot * U(SUMS), nears[there], point)
                    small = weight <= total * _LEAST
                    new, weight = old if small else new, held if small else weight
                    labels[site] = new
                    changed[U(changes)], former[U(changes)], changed_at[U(changes)] = site, old, listed[U(at)]
                    changes += np.int64(new != old)
                    if now >= 0 and counts.size > 0:
                        fetch(flat_counts, site * U(counts.shape[1]) + old)
                    if followed:
                        fetch(flat_energies, which * size + new)
                        fetch(flat_energies, which * size + old)
                        for side in range(4):
                            pair = around[there, side] * size
                            gained += np.int64(pair_energies[pair + new]) - np.int64(pair_energies[pair + old])
                kept = cached & (rests | (energies[slot * size + new] == leasts[slot]))
                bounds[site] = np.uint32(np.float64(weight) / np.float64(total) * (_SURE * 2.0**32)) if kept else np.uint32(0)
        for at in range(changes):
            site, flag = U(changed[U(at)]), flags[U(changed[U(at)])]
            if followed:
                place = U(changed_at[U(at)]) * size
                gained += np.int64(flat_energies[place + U(labels[site])]) - np.int64(flat_energies[place + U(former[U(at)])])
            if flag & UP:
                bounds[site - down_one] = 0
            if flag & DOWN:
                bounds[site + down_one] = 0
            if flag & LEFT:
                bounds[site - U(1)] = 0
            if flag & RIGHT:
                bounds[site + U(1)] = 0
            if now >= 0:
                lasted = now - since[site]
                since[site] = now
                if counts.size > 0:
                    counts[site, U(former[U(at)])] += counts.dtype.type(lasted)
                else:
                    sums[site, 0] += lasted * np.int64(former[U(at)])
                    sums[site, 1] += lasted
    return drawn, gained
