"""The compiled loop of `mrfhw.samplers.cpu`; its vector instructions are in `mrfhw.samplers.cpu_vectors`.

A doubleton that is truncated is the same for all labels but those near the neighbour's: "far". Where all neighbours are far from a
block of labels, the sum of its weights is that of its singletons times one factor, so that a site is drawn by the few blocks which
are near, and by one sum of all others (Equation 3.1 with tau; exact, in float32).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba.core import types
from numba.extending import overload

from mrfhw.samplers.cpu_vectors import (
    LANES,
    QUARTER,
    SUMS,
    add_energies,
    fetch,
    lowest_bit,
    multiply_weights,
    pass_three,
    power_weights,
    reaching,
    step_generators,
    sum_without,
)
from mrfhw.samplers.sites_kernel import DOWN, LEFT, RIGHT, UP, U
from mrfhw.system.numba_alone import njit

__all__ = ["POINT_BITS", "bounds_size", "fill_site_weights", "sweep_sites"]

AT_ONCE = 8  # sites
POINT_BITS = 24  # of the uniform number that chooses a label: those of a float32
_SURE = 1.0 - 2.0**-18  # of a bound: more than rounding can take away
_LEAST = np.float32(2.0**-32)  # of the sum of weights: labels below are never drawn
Int = Any  # a Python or NumPy integer


def bounds_size(shape: tuple[int, int]) -> int:
    """Of the `bounds` of an H x W field, by colour, row and half of the column: those of a row are side by side. And room."""
    rows, cols = shape
    return 2 * rows * ((cols + 1) // 2) + LANES


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
def _fill_uniforms(numbers: np.ndarray, state: np.ndarray, row: Any, rows: Any, starts: np.ndarray, words: np.ndarray,
                   most: np.ndarray) -> None:
    """numbers[n x LANES + r] uint32: what the generator of row `row` + r gives for the site n of that row, r < `rows` <= LANES.

    words: (4 x LANES,) uint32, most: (LANES,) int32, room.
    """
    many: Int = 0
    for lane in range(rows):
        most[lane] = starts[row + lane + 1] - starts[row + lane]
        many = max(many, most[lane])
        for word in range(4):
            words[word * LANES + lane] = state[row + lane, word]
    for lane in range(rows, LANES):
        most[lane] = 0
    if many > 0:
        step_generators(words, U(many), most, numbers)
    for lane in range(rows):
        for word in range(4):
            state[row + lane, word] = words[word * LANES + lane]


@njit(nogil=True)
def _fill_drawn(uniforms: np.ndarray, listed: np.ndarray, numbers: np.ndarray, lane: Any, first: Any, last: Any, sites: np.ndarray,
                bounds: np.ndarray, place: Any, start: Any, width: Any) -> Any:
    """How many of a row's sites, from `first` to before `last`, do not keep their label; listed: these, uniforms: their numbers.

    place: of the row in `bounds`, its first site of the colour; start: the row's first site; width: its sites of the colour.
    """
    at, many = U(lane), U(0)
    if last - first == width:
        for begin in range(U(first), U(last), U(LANES)):
            here = min(U(last) - begin, U(LANES))
            bits = reaching(numbers, at, bounds, place + begin - U(first)) & ((U(1) << here) - U(1))
            while bits != U(0):
                n = lowest_bit(bits)
                bits &= bits - U(1)
                uniforms[many], listed[many] = np.int64(numbers[at + n * U(LANES)]), np.int64(begin + n)
                many += U(1)
            at += U(LANES * LANES)
        return np.int64(many)
    for n in range(U(first), U(last)):
        # Without a branch: whether a label stays cannot be predicted.
        uniforms[many], listed[many] = np.int64(numbers[at]), np.int64(n)
        many += U(numbers[at] >= bounds[place + (U(sites[n]) - start) // U(2)])
        at += U(LANES)
    return np.int64(many)


@njit(nogil=True)
def sweep_sites(colour: int, first: int, last: int, starts: np.ndarray, sites: np.ndarray, stride: Int, scale: np.float32,
                rests: bool, own: np.ndarray, block_sums: np.ndarray, pairs: np.ndarray, near: np.ndarray, far: np.ndarray,
                edges: np.ndarray, flags: np.ndarray, labels: np.ndarray, bounds: np.ndarray, state: np.ndarray,
                counts: np.ndarray, sums: np.ndarray, since: np.ndarray, now: Int, cached: bool, energies_own: np.ndarray,
                energies_pairs: np.ndarray, followed: bool) -> tuple[int, int]:
    """Draw the sites of `colour` (`mrfhw.field.colours`) in the rows from `first` to before `last`.

    Returns how many of them were drawn by weights, and by how much the energy of the field changed, or 0.

    starts: (H + 1,) where each row's sites begin in `sites`, flat indices. own: (n, size), of each site's labels, and pairs:
    (sides, weights of edges, L + 1, size), by the neighbour's label and the site's, size a multiple of LANES: weights, float32; or
    energies, int16 or int32, which `scale` makes octaves. The last row is that of a neighbour that does not exist. sides: 1, or 2
    where the neighbours below and to the right have others. edges: (sites, 4), as of `sites_kernel.site_energies`, or of
    size 0. rests: T does not change from here on until `bounds` are cleared; then there are block_sums: (n, blocks up to a multiple
    of QUARTER) float32, of `own`; and of each row of `pairs` near: uint64, bits of blocks whose labels do not all have the weight
    far: float32. flags, labels: (H x W,). bounds: uint32, of `bounds_size`, a number of 32 bits below it keeps the label. state:
    (H, 4) uint32, a generator a row. counts: (H x W, L) unsigned or of size 0, sums: (H x W, 2) int64 or of size 0, since: (H x W,)
    the sweep from which on the label is not counted yet; now: the sweep that is counted, -1 for none. cached: whether bounds are
    kept. energies_own, energies_pairs: energies in the shapes of `own` and `pairs`. followed: whether the change of the energy is
    wanted.
    """
    size, rows, weights_n, sides = U(own.shape[1]), U(pairs.shape[2]), U(pairs.shape[1]), U(pairs.shape[0])
    every, blocks_n = (U(1) << size // U(LANES)) - U(1), U(block_sums.shape[1])
    uniforms, listed = np.empty(stride, np.int64), np.empty(stride, np.int64)
    # Of LANES rows, whose generators step together, as many as a row has sites of a colour.
    numbers = np.empty(LANES * (stride // 2 + 1 + LANES), np.uint32)
    words, most = np.empty(4 * LANES, np.uint32), np.empty(LANES, np.int32)
    changed, former, changed_at = np.empty(stride, np.int64), np.empty(stride, np.int64), np.empty(stride, np.int64)
    # Weights of some sites, and then their labels: each of these loops leaves the processor enough to do at once.
    weights, energies = np.empty(AT_ONCE * own.shape[1], np.float32), np.empty(AT_ONCE * own.shape[1], own.dtype)
    parts, others, helds = np.empty(AT_ONCE * SUMS, np.float32), np.empty(AT_ONCE, np.float32), np.empty(AT_ONCE, np.float32)
    leasts, beyond, factors = np.empty(AT_ONCE, np.int64), np.empty(AT_ONCE, np.float32), np.empty(AT_ONCE, np.float32)
    around, nears = np.empty((2 * AT_ONCE, 4), np.uint64), np.empty(2 * AT_ONCE, np.uint64)
    flat_own, flat_sums = own.reshape(-1), block_sums.reshape(-1)
    flat_pairs, flat_counts = pairs.reshape(-1), counts.reshape(-1)
    flat_energies, pair_energies = energies_own.reshape(-1), energies_pairs.reshape(-1)
    down_one, half, all_rows = U(stride), U((stride + 1) // 2), U(len(state))
    drawn: Int = 0
    gained: Int = 0
    for row in range(first, last):
        lane: Int = (row - first) % LANES
        if lane == 0:
            _fill_uniforms(numbers, state, row, min(LANES, last - row), starts, words, most)
        here, width = U(row) * down_one, (stride + 1 - (row + colour) % 2) // 2
        mine, other = (U(colour) * all_rows + U(row)) * half, (U(1 - colour) * all_rows + U(row)) * half
        many: Int = _fill_drawn(uniforms, listed, numbers, lane, starts[row], starts[row + 1], sites, bounds, mine, here, width)
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
                    if nears[slot] != every:
                        fetch(flat_sums, which * blocks_n)
                    coming = nears[slot]
                    while coming != U(0):
                        fetch(flat_own, which * size + U(LANES) * lowest_bit(coming))
                        coming &= coming - U(1)
            end = min(start + AT_ONCE, many)
            for at in range(max(start, 0), end):
                which, slot, there = U(listed[U(at)]), U(at - start), U(at % (2 * AT_ONCE))
                up, down, left, right = around[there, 0], around[there, 1], around[there, 2], around[there, 3]
                beyond[slot] = np.float32(0)
                if rests and nears[there] != every:
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
                    if now >= 0:
                        fetch(since, site)
                        if counts.size > 0:
                            fetch(flat_counts, site * U(counts.shape[1]) + old)
                    if followed:
                        fetch(flat_energies, which * size + new)
                        fetch(flat_energies, which * size + old)
                        for side in range(4):
                            pair = around[there, side] * size
                            gained += np.int64(pair_energies[pair + new]) - np.int64(pair_energies[pair + old])
                if cached:
                    kept = rests | (energies[slot * size + new] == leasts[slot])
                    share = np.uint32(np.float64(weight) / np.float64(total) * (_SURE * 2.0**32)) if kept else np.uint32(0)
                    bounds[mine + (site - here) // U(2)] = share
        for at in range(changes):
            site, flag = U(changed[U(at)]), flags[U(changed[U(at)])]
            if followed:
                place = U(changed_at[U(at)]) * size
                gained += np.int64(flat_energies[place + U(labels[site])]) - np.int64(flat_energies[place + U(former[U(at)])])
            if cached:
                column = site - here
                if flag & UP:
                    bounds[other - half + column // U(2)] = 0
                if flag & DOWN:
                    bounds[other + half + column // U(2)] = 0
                if flag & LEFT:
                    bounds[other + (column - U(1)) // U(2)] = 0
                if flag & RIGHT:
                    bounds[other + (column + U(1)) // U(2)] = 0
            if now >= 0:
                lasted = now - since[site]
                since[site] = now
                if counts.size > 0:
                    counts[site, U(former[U(at)])] += counts.dtype.type(lasted)
                else:
                    sums[site, 0] += lasted * np.int64(former[U(at)])
                    sums[site, 1] += lasted
    return drawn, gained
