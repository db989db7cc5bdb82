"""The compiled loops of a machine: its draws, its label memory, and the sweep of a colour.

`draw_race` and `draw_cdf` are the definition of a draw, one site at a time. `sweep_race` and
`sweep_cdf` are the same arithmetic arranged so that LLVM makes vector instructions of it: energies of a site
with its labels side by side, in 16 bits where they fit; the generators of a block of lanes side by side; and
what depends on the temperature alone in tables, refilled when it changes. Indices are unsigned (`U`) in inner
loops, because numba tests signed ones for being negative.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from mrfhw.machine.latency import WAY_BITS
from mrfhw.samplers.random_kernel import output, step
from mrfhw.samplers.sites_kernel import CLAMPED, EXISTS, UP, U, around, site_energies
from mrfhw.system.numba_alone import njit

__all__ = ["BLOCK", "choose_slots", "draw_cdf", "draw_race", "fill_noise", "fill_uniforms", "fill_weights", "float_race",
           "near_slots", "sweep_cdf", "sweep_race", "sweep_subsets", "write_label"]

BLOCK = 16  # generators that step together
Int = Any  # a Python or NumPy integer


@njit(inline="always")
def draw_race(energy: np.ndarray, labels: int, temperature: int, state: np.ndarray, lane: int, bits: int,
               table: np.ndarray, fraction: int, temperature_fraction: int) -> int:
    """Gumbel-max: least E - T G, the lowest label on ties; steps the generator once a label."""
    best = np.int64(1) << 62
    winner = 0
    for label in range(labels):
        step(state, lane)
        noise = (table[output(state, lane, bits)] * temperature) >> temperature_fraction
        score = (np.int64(energy[label]) << fraction) - noise
        if score < best:
            best = score
            winner = label
    return winner


@njit(inline="always")
def draw_cdf(energy: np.ndarray, labels: int, temperature: int, state: np.ndarray, lane: int, bits: int,
              table: np.ndarray, fraction: int, temperature_fraction: int, sums: np.ndarray) -> int:
    """Inverse transform (Equations 3.2-3.4); steps the generator once."""
    step(state, lane)
    uniform = output(state, lane, bits)
    least = energy[0]
    for label in range(1, labels):
        least = min(least, energy[label])
    total = np.int64(0)
    mask = (1 << fraction) - 1
    for label in range(labels):
        exponent = ((np.int64(energy[label]) - least) * temperature) >> (temperature_fraction - fraction)
        octaves = exponent >> fraction
        p = np.int64(0)
        if octaves < 63:
            p = table[exponent & mask] >> octaves
        total += p
        sums[label] = total
    threshold = (uniform * total) >> bits
    drawn = 0
    for label in range(labels):
        if sums[label] <= threshold:
            drawn += 1
    return drawn


@njit(inline="always")
def write_label(site: Int, new: Int, old: int, count_max: Int, mrp_count: np.ndarray, lrp_label: np.ndarray,
                lrp_count: np.ndarray) -> tuple[Int, Int]:
    """Algorithm 1 for a counted draw of `new` where `old` was the label; the message (label, count), count 0 for none.

    site: index into the flat grids. No branch: draws cannot be predicted.
    """
    first, other, second = np.int64(mrp_count[site]), np.int64(lrp_label[site]), np.int64(lrp_count[site])
    same = new == old
    hit = same or new == other
    held = first if same else second
    full = held == count_max
    lrp_label[site] = other if same else old
    lrp_count[site] = second if same else first
    mrp_count[site] = held + 1 if hit and not full else 1
    return new if hit else other, held if full or not hit else 0


@njit(inline="always")
def settle(site: Int, drawn: Int, counted: bool, turn: Int, lane: Int, sent: Int, count_max: Int, labels: np.ndarray,
           mrp_count: np.ndarray, lrp_label: np.ndarray, lrp_count: np.ndarray, events: np.ndarray, messages: np.ndarray) -> Int:
    """Write a site's draw back and, where it is counted, send what that displaces; returns the number of messages so far."""
    old: Int = np.int64(labels[site])
    labels[site] = drawn
    if counted:
        label, held = write_label(site, drawn, old, count_max, mrp_count, lrp_label, lrp_count)
        if held:
            messages[sent, 0], messages[sent, 1], messages[sent, 2] = site, label, held
            events[turn, lane] = 1
            sent += 1
    return sent


@njit()
def fill_uniforms(uniforms: np.ndarray, state: np.ndarray, bits: int) -> None:
    """uniforms (generators, n, parts): the numbers of the next n steps of each generator, that of the top bits first."""
    parts = uniforms.shape[2]
    for generator in range(uniforms.shape[0]):
        for n in range(uniforms.shape[1]):
            step(state, generator)
            value = output(state, generator, parts * bits)
            for part in range(parts):
                uniforms[generator, n, part] = (value >> (parts - 1 - part) * bits) & ((1 << bits) - 1)


# -- tables


@njit()
def fill_noise(noise: np.ndarray, table: np.ndarray, temperature: int, temperature_fraction: int, label_bits: int) -> None:
    """noise[u] = (T G(u) >> t) 2^label_bits, the term of each uniform in a label's key: 2^label_bits score + label."""
    for u in range(len(table)):
        noise[u] = ((table[u] * temperature) >> temperature_fraction) << label_bits


@njit()
def fill_weights(weights: np.ndarray, table: np.ndarray, temperature: int, fraction: int, temperature_fraction: int) -> None:
    """weights[d]: P (Equation 3.4, or its integer floor) of a label whose energy is d above the least; uint16."""
    mask = (1 << fraction) - 1
    for d in range(len(weights)):
        exponent = (d * temperature) >> (temperature_fraction - fraction)
        octaves = exponent >> fraction
        if octaves > 16:
            weights[d:] = 0
            break
        weights[d] = table[exponent & mask] >> octaves


# -- the machine's sweep of a colour


@njit(nogil=True)
def sweep_cdf(first_block: Int, blocks: int, colour: int, places: np.ndarray, counted: bool, stride: Int, widths: np.ndarray,
              weights: np.ndarray, sites: np.ndarray, singles: np.ndarray, doubles: np.ndarray, edges: np.ndarray,
              flags: np.ndarray, labels: np.ndarray, mrp_count: np.ndarray, lrp_label: np.ndarray, lrp_count: np.ndarray,
              state: np.ndarray, events: np.ndarray, messages: np.ndarray) -> int:
    """Update a colour's sites of `blocks` blocks of units from `first_block` on; returns the number of messages.

    places: (turns,) the place of each turn, sites: (blocks, colours, places, units a block) the site of each place and
    unit, both from `VisitOrder`. stride: columns of the padded grid. widths: uniform bits, fraction bits of the table,
    energy_shift, E_max, whether these two matter, count_max. weights: `fill_weights`.
    singles: (*sites, L) alpha E_singleton. doubles, edges: as in `site_energies`. flags, labels,
    mrp_count, lrp_label, lrp_count: (padded sites,). state: (generators, 4) uint32. events: (turns, units) 1 where a message
    is sent. messages: (n, 3) flat site, label, count; a block after the other.
    """
    width, count = sites.shape[3], singles.shape[4]
    bits, _, shift, e_max, narrow, count_max = widths
    labels_n = U(count)
    energy, sums = np.empty(count, singles.dtype), np.empty(count, np.int32)
    sent = 0
    for block in range(first_block, first_block + blocks):
        own = sites[block, colour].reshape(-1)
        rows = singles[block, colour].reshape((len(own), count))
        lanes = min(width, len(state) - block * width)
        for turn in range(len(places)):
            first = U(places[turn]) * U(width)
            for s in range(lanes):
                lane, at = U(block * width + s), first + U(s)
                site = U(own[at])
                step(state, lane)
                if flags[site] & (EXISTS | CLAMPED) != EXISTS:
                    continue
                site_energies(energy, rows, at, doubles, edges, flags[site], labels, site, U(stride), labels_n, shift, e_max,
                              narrow != 0)
                least = energy[0]
                for label in range(labels_n):
                    least = min(least, energy[label])
                base, total = np.int64(least), np.int64(0)
                for label in range(labels_n):
                    total += np.int64(weights[U(np.int64(energy[label]) - base)])
                    sums[label] = total
                threshold = np.int32((output(state, lane, bits) * total) >> bits)
                new = np.int32(0)
                for label in range(labels_n):
                    new += np.int32(sums[label] <= threshold)
                sent = settle(site, np.int64(new), counted, turn, lane, sent, count_max, labels, mrp_count, lrp_label, lrp_count,
                              events, messages)
    return sent


@njit(inline="always")
def block_noise(sequence: np.ndarray, uniforms: np.ndarray, noise: np.ndarray, table: np.ndarray, numbers: np.ndarray, steps: Int,
                parts: Int, vector: Int, bits: Int, units: Int, stride: Int) -> None:
    """`steps` steps of a block's generators, and the table's values at their outputs.

    sequence: ((steps + 4) x BLOCK,) uint32, words n + 4 of the generators' sequences after words n; the first four rows are
    the state x, y, z, w, and are again at the end. uniforms: (parts x steps x BLOCK,) uint16. noise: (BLOCK, L).
    numbers: (L,) where each label's number is among the uniforms of the block's first unit; a unit's generators are `stride` long.
    parts: numbers a step. vector: BLOCK, not as a constant, for which LLVM would unroll the loop in place of vectorizing it.
    """
    for n in range(U(steps)):
        at = n * U(BLOCK)
        for s in range(U(vector)):
            x, w = sequence[at + s], sequence[at + s + U(3 * BLOCK)]
            t = x ^ np.uint32(x << np.uint32(11))
            sequence[at + s + U(4 * BLOCK)] = w ^ (w >> np.uint32(19)) ^ t ^ (t >> np.uint32(8))
    down = np.uint32(32 - bits)
    for i in range(U(steps * BLOCK)):
        uniforms[i] = np.uint32(sequence[i + U(4 * BLOCK)] + sequence[i + U(2 * BLOCK)]) >> down
    if parts > 1:
        below, mask, second = np.uint32(32 - 2 * bits), np.uint32((1 << bits) - 1), U(steps * BLOCK)
        for i in range(U(steps * BLOCK)):
            uniforms[second + i] = (np.uint32(sequence[i + U(4 * BLOCK)] + sequence[i + U(2 * BLOCK)]) >> below) & mask
    if stride == 1:
        for label in range(U(len(numbers))):
            first = U(numbers[label])
            for s in range(U(BLOCK)):
                noise[s, label] = table[uniforms[first + s]]
    else:
        for s in range(U(units)):
            for label in range(U(len(numbers))):
                noise[s, label] = table[uniforms[U(numbers[label]) + s * U(stride)]]
    for i in range(U(4 * BLOCK)):
        sequence[i] = sequence[U(steps * BLOCK) + i]


@njit(nogil=True)
def sweep_race(first_block: Int, blocks: int, colour: int, places: np.ndarray, counted: bool, stride: Int, widths: np.ndarray,
               table: np.ndarray, numbers: np.ndarray, sites: np.ndarray, singles: np.ndarray, doubles: np.ndarray,
               edges: np.ndarray, flags: np.ndarray, labels: np.ndarray, mrp_count: np.ndarray, lrp_label: np.ndarray,
               lrp_count: np.ndarray, state: np.ndarray, events: np.ndarray, messages: np.ndarray) -> int:
    """As `sweep_cdf`; table: `fill_noise`, of a type that holds the keys. A block has at most BLOCK generators.

    widths: after those of `sweep_cdf` slots of a site, generators of a unit, numbers a step. numbers: see `block_noise`.
    """
    width, count = sites.shape[3], singles.shape[4]
    bits, fraction, shift, e_max, narrow, count_max, vector, label_bits, steps, own_generators, parts = widths
    labels_n = U(count)
    energy, noise = np.empty(count, singles.dtype), np.empty((BLOCK, count), table.dtype)
    sequence, uniforms = np.zeros((steps + 4) * BLOCK, np.uint32), np.empty(parts * steps * BLOCK, np.uint16)
    here = np.empty(width, np.int64)
    left, most = table.dtype.type(fraction + label_bits), np.iinfo(table.dtype).max
    label_mask = (np.int64(1) << label_bits) - 1
    sent = 0
    for block in range(first_block, first_block + blocks):
        own = sites[block, colour].reshape(-1)
        rows = singles[block, colour].reshape((len(own), count))
        generators = width * own_generators
        units = min(width, len(state) // own_generators - block * width)
        for s in range(units * own_generators):
            for word in range(4):
                sequence[word * BLOCK + s] = state[block * generators + s, word]
        for turn in range(len(places)):
            first = U(places[turn]) * U(width)
            for s in range(units):
                here[s] = own[first + U(s)]
            block_noise(sequence, uniforms, noise, table, numbers, steps, parts, vector, bits, units, own_generators)
            for s in range(units):
                at, site = first + U(s), U(here[s])
                if flags[site] & (EXISTS | CLAMPED) != EXISTS:
                    continue
                site_energies(energy, rows, at, doubles, edges, flags[site], labels, site, U(stride), labels_n, shift, e_max,
                              narrow != 0)
                # The least key is the least score, and the lowest label on ties.
                best = table.dtype.type(most)
                for label in range(labels_n):
                    key = (table.dtype.type(energy[label]) << left) + table.dtype.type(label) - noise[U(s), label]
                    best = min(best, table.dtype.type(key))
                sent = settle(site, np.int64(best) & label_mask, counted, turn, block * width + s, sent, count_max, labels,
                              mrp_count, lrp_label, lrp_count, events, messages)
        for s in range(units * own_generators):
            for word in range(4):
                state[block * generators + s, word] = sequence[word * BLOCK + s]
    return sent


@njit(inline="always")
def near_slots(near: np.ndarray, slot: np.ndarray, most: Int, first: Int, labels: np.ndarray, flags: Int, site: Int,
               stride: Int) -> Int:
    """near (5,): the slots of the labels of `most` neighbours from way `first` on, rising, each once; their number. slot: (L,)."""
    count = 0
    for turn in range(most):
        way = (first + turn) & ((1 << WAY_BITS) - 1)
        if not flags & (UP << way):
            continue
        found = slot[labels[site - stride if way == 0 else site + stride if way == 1 else site - U(1) if way == 2 else site + U(1)]]
        at = count
        while at > 0 and near[at - 1] > found:
            at -= 1
        if at > 0 and near[at - 1] == found:
            continue
        for later in range(count, at, -1):
            near[later] = near[later - 1]
        near[at] = found
        count += 1
    return count


@njit(inline="always")
def choose_slots(chosen: np.ndarray, near: np.ndarray, count: Int, own: Int, others: Int, numbers: np.ndarray, bits: Int,
                 place: Int, place_bits: Int) -> None:
    """chosen (S,): a subset's slots (`mrfhw.placement.subsets`), the others that are drawn first, then the near ones.

    near: `count` slots. own: the slot of the site's label. others: how many are not near. numbers (S,), of `bits` bits, and place,
    of `place_bits`: uniform. An own slot that is not near has the place that `place` says.
    """
    below, inside, drawn = 0, False, len(chosen) - count
    for n in range(count):
        below += near[n] < own
        inside |= near[n] == own
    at = len(chosen) if inside else place * drawn >> place_bits
    for turn in range(drawn):
        slot = own - below if turn == at else numbers[turn] * others >> bits
        for n in range(count):
            slot += slot >= near[n]
        chosen[turn] = slot
    for n in range(count):
        chosen[drawn + n] = near[n]


@njit(nogil=True)
def sweep_subsets(first_block: Int, blocks: int, colour: int, places: np.ndarray, counted: bool, stride: Int, widths: np.ndarray,
                  table: np.ndarray, firsts: np.ndarray, slot: np.ndarray, others: np.ndarray, weights: np.ndarray,
                  sites: np.ndarray, singles: np.ndarray, doubles: np.ndarray, edges: np.ndarray, flags: np.ndarray,
                  labels: np.ndarray, mrp_count: np.ndarray, lrp_label: np.ndarray, lrp_count: np.ndarray, state: np.ndarray,
                  events: np.ndarray, messages: np.ndarray) -> int:
    """As `sweep_race` with blocks of one unit, whose last generator chooses a subset of the site's slots.

    It steps once a slot, unless all are evaluated. A step's output has a slot's number, behind that the first way whose neighbour
    counts, and the place of the site's own slot; the latter two are those of a visit's first step.
    widths: as `sweep_race` has them, then bits of a number and of a place. firsts: (slots + 1,) the first label of each slot, and
    L. slot: (L,). others, weights: `Subsets`, the weights times T, as noise is.
    """
    bits, fraction, shift, e_max, narrow, count_max, _, _, steps, own_generators, parts, other_bits, place_bits = widths
    mask, last = (1 << bits) - 1, own_generators - 1
    lanes, most = last * parts, len(others) - 1
    noise, near, chosen = np.empty(steps * lanes, np.int64), np.empty(5, np.int64), np.empty(steps, np.int64)
    numbers, way, own_place = np.empty(steps, np.int64), 0, 0
    after = U(doubles.shape[0] - 1)
    none = U(singles.shape[4])
    sent = 0
    for unit in range(first_block, first_block + blocks):
        own = sites[unit, colour].reshape(-1)
        rows = singles[unit, colour].reshape((len(own), singles.shape[4]))
        generator = unit * own_generators
        for turn in range(len(places)):
            for place in range(steps):
                for n in range(last):
                    step(state, generator + n)
                    value = output(state, generator + n, parts * bits)
                    for part in range(parts):
                        noise[place * lanes + n * parts + part] = table[(value >> (parts - 1 - part) * bits) & mask]
            for place in range(steps if others[0] else 0):
                step(state, generator + last)
                value = output(state, generator + last, other_bits + WAY_BITS + place_bits)
                numbers[place] = value >> (WAY_BITS + place_bits)
                if place == 0:
                    way, own_place = (value >> place_bits) & ((1 << WAY_BITS) - 1), value & ((1 << place_bits) - 1)
            site = U(own[places[turn]])
            flag = flags[site]
            if flag & (EXISTS | CLAMPED) != EXISTS:
                continue
            beside = 0
            if others[0] == 0:
                for place in range(steps):
                    chosen[place] = place
            else:
                count = near_slots(near, slot, most, way, labels, flag, site, U(stride))
                beside = steps - count
                choose_slots(chosen, near, count, slot[labels[site]], others[count], numbers, other_bits, own_place, place_bits)
            weight = weights[steps - beside] if beside else np.int64(0)
            up, down, left, right = around(labels, flag, site, U(stride), none)
            above, below, before, behind = 1, 1, 1, 1
            if edges.size > 0:
                above, below, before, behind = edges[site, 0], edges[site, 1], edges[site, 2], edges[site, 3]
            best, drawn = np.int64(1) << 62, np.int64(0)
            for place in range(steps):
                begin = firsts[chosen[place]]
                for label in range(begin, firsts[chosen[place] + 1]):
                    energy = (np.int64(rows[places[turn], label]) + above * np.int64(doubles[0, up, label])
                              + below * np.int64(doubles[after, down, label]) + before * np.int64(doubles[0, left, label])
                              + behind * np.int64(doubles[after, right, label]))
                    if narrow:
                        energy = min(energy >> shift, e_max)
                    score = (energy << fraction) - noise[place * lanes + label - begin] - (weight if place < beside else 0)
                    if score < best:
                        best, drawn = score, np.int64(label)
            sent = settle(site, drawn, counted, turn, unit, sent, count_max, labels, mrp_count, lrp_label, lrp_count, events,
                          messages)
    return sent


# -- float64 with a machine's uniforms


@njit(nogil=True)
def float_race(sites: np.ndarray, stride: Int, temperature: float, table: np.ndarray, singles: np.ndarray, doubles: np.ndarray,
               edges: np.ndarray, flags: np.ndarray, labels: np.ndarray, uniforms: np.ndarray) -> None:
    """As `mrfhw.samplers.exact_kernel.float_cdf` by Gumbel-max: the least E / T - G(u), the lowest label on ties.

    table: G by uniform. uniforms: (n, L).
    """
    count = singles.shape[1]
    energy = np.empty(count, np.int64)
    for n in range(len(sites)):
        site = U(sites[n])
        site_energies(energy, singles, U(n), doubles, edges, flags[site], labels, site, U(stride), U(count), 0, 0, False)
        best, winner = np.inf, 0
        for label in range(count):
            score = energy[label] / temperature - table[uniforms[n, label]]
            if score < best:
                best, winner = score, label
        labels[site] = winner
