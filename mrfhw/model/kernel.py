"""The compiled loops of the model: generator, samplers and the sweep of a colour.

They stand in one file because numba's cache notices changes of a function's own file alone.

`step`, `output`, `draw_race` and `draw_cdf` are the definition of a draw, one site at a time. `sweep_race` and
`sweep_cdf` are the same arithmetic arranged so that LLVM makes vector instructions of it: energies of a site
with its labels side by side, in 16 bits where they fit; the generators of a block of lanes side by side; and
what depends on the temperature alone in tables, refilled when it changes. Indices are unsigned (`U`) in inner
loops, because numba tests signed ones for being negative.
"""

from __future__ import annotations

from typing import Any

import numba
import numpy as np

__all__ = ["BLOCK", "CLAMPED", "EXISTS", "KEY_LABEL_BITS", "draw_cdf", "draw_race", "fill_flags", "fill_noise",
           "fill_singles", "fill_uniforms", "fill_weights", "output", "step", "sweep_cdf", "sweep_race", "write_label"]


BLOCK = 16  # lanes whose generators step together
KEY_LABEL_BITS = 6  # a key is score x 64 + label
LABEL_MASK = (1 << KEY_LABEL_BITS) - 1
EXISTS, CLAMPED, UP, DOWN, LEFT, RIGHT = (1 << bit for bit in range(6))  # flags of a site; the last four: its neighbours
U = np.uint64
Int = Any  # a Python or NumPy integer


@numba.njit(cache=True, inline="always")
def step(state: np.ndarray, lane: Int) -> None:
    """One step of lane `lane` of a (lanes, 4) uint32 state."""
    x = state[lane, 0]
    w = state[lane, 3]
    t = x ^ np.uint32(x << np.uint32(11))  # numba widens shifts to 64 bits
    state[lane, 0] = state[lane, 1]
    state[lane, 1] = state[lane, 2]
    state[lane, 2] = w
    state[lane, 3] = w ^ (w >> np.uint32(19)) ^ t ^ (t >> np.uint32(8))


@numba.njit(cache=True, inline="always")
def output(state: np.ndarray, lane: Int, bits: int) -> int:
    """The value that goes with a state: the top `bits` of (w + y) mod 2^32."""
    total = np.uint32(state[lane, 3] + state[lane, 1])
    return int(np.int64(total) >> (32 - bits))


@numba.njit(cache=True, inline="always")
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


@numba.njit(cache=True, inline="always")
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


@numba.njit(cache=True, inline="always")
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


@numba.njit(cache=True)
def fill_uniforms(uniforms: np.ndarray, state: np.ndarray, bits: int) -> None:
    """uniforms (lanes, n): the next n outputs of each lane."""
    for lane in range(uniforms.shape[0]):
        for n in range(uniforms.shape[1]):
            step(state, lane)
            uniforms[lane, n] = output(state, lane, bits)


# -- tables


@numba.njit(cache=True)
def fill_noise(noise: np.ndarray, table: np.ndarray, temperature: int, temperature_fraction: int) -> None:
    """noise[u] = 64 (T G(u) >> t), the term of each uniform in a label's key: 64 score + label."""
    for u in range(len(table)):
        noise[u] = ((table[u] * temperature) >> temperature_fraction) << KEY_LABEL_BITS


@numba.njit(cache=True)
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


@numba.njit(cache=True)
def fill_flags(flags: np.ndarray, rows: int, cols: Int) -> None:
    """Add to flags (padded) which neighbours of the image's sites exist."""
    for row in range(rows):
        for col in range(cols):
            flags[row, col] |= ((UP if row > 0 else 0) | (DOWN if row + 1 < rows else 0) | (LEFT if col > 0 else 0)
                                | (RIGHT if col + 1 < cols else 0))


@numba.njit(cache=True)
def fill_singles(singles: np.ndarray, shape: np.ndarray, rows: int, cols: Int, s1: np.ndarray, s2: np.ndarray,
                 offsets: np.ndarray, constants: np.ndarray, observed: np.ndarray, alpha: int, squared: bool,
                 out_of_range: int) -> None:
    """alpha E_singleton of the image's sites, in the order of the sweep.

    singles: (blocks x colours x groups x block width, L). shape: as in `sweep_cdf`. s1: (H, W) int32. s2: (H2, W2)
    int32, moved by offsets (L, 2) int64; of size 0 with constants (L,) int32. observed: (H, W), or (0, 0) for all.
    """
    _, mesh_cols, h, w, spus, count, width = shape
    groups = w // (2 * spus)
    for row in range(rows):
        for col in range(cols):
            lane = (row // h * mesh_cols + col // w) * spus + col % w // 2 % spus
            place = row % h * groups + col % w // (2 * spus)
            at = ((lane // width * 2 + ((row % h + col % w) & 1)) * h * groups + place) * width + lane % width
            seen = observed.size == 0 or observed[row, col]
            datum = np.int64(s1[row, col])
            for label in range(count):
                energy = np.int64(out_of_range)
                if s2.size == 0:
                    energy = abs(datum - constants[label])
                else:
                    r, c = row + offsets[label, 0], col + offsets[label, 1]
                    inside = 0 <= r < s2.shape[0] and 0 <= c < s2.shape[1]
                    if inside:
                        energy = abs(datum - s2[r, c])
                    if inside and squared:
                        energy *= energy
                if s2.size == 0 and squared:
                    energy *= energy
                singles[at, label] = alpha * energy if seen else 0


# -- the sweep of a colour


@numba.njit(cache=True, inline="always")
def site_energies(energy: np.ndarray, singles: np.ndarray, at: Int, doubles: np.ndarray, flags: Int, labels: np.ndarray,
                  site: Int, stride: Int, none: Int, shift: Int, e_max: Int, narrow: bool) -> None:
    """E(l) of the site with flat index `site` (Equation 3.1), its labels side by side.

    energy: (L,), of the type of singles. at: its row of singles. doubles: (L + 1, L), the last row, `none`, zeros for
    a neighbour that does not exist. narrow: shift and e_max change something.
    """
    up = np.uint64(labels[site - stride]) if flags & UP else none
    down = np.uint64(labels[site + stride]) if flags & DOWN else none
    left = np.uint64(labels[site - U(1)]) if flags & LEFT else none
    right = np.uint64(labels[site + U(1)]) if flags & RIGHT else none
    for label in range(none):
        energy[label] = (singles[at, label] + doubles[up, label] + doubles[down, label] + doubles[left, label]
                         + doubles[right, label])
    if narrow:
        for label in range(none):
            energy[label] = min(energy[label] >> shift, e_max)


@numba.njit(cache=True, inline="always")
def lane_origins(origins: np.ndarray, block: int, shape: np.ndarray) -> int:
    """Fill in the flat index of the first site of each lane of a block; returns the lanes there are."""
    mesh_rows, mesh_cols, h, w, spus, _, width = shape
    first = block * width
    lanes = min(width, mesh_rows * mesh_cols * spus - first)
    for s in range(lanes):
        tile, spu = (first + s) // spus, (first + s) % spus
        origins[s] = tile // mesh_cols * h * mesh_cols * w + tile % mesh_cols * w + 2 * spu
    return lanes


@numba.njit(cache=True, nogil=True)
def sweep_cdf(first_block: Int, blocks: int, colour: int, start_row: int, counted: bool, shape: np.ndarray,
              widths: np.ndarray, weights: np.ndarray, singles: np.ndarray, doubles: np.ndarray, flags: np.ndarray,
              labels: np.ndarray, mrp_count: np.ndarray, lrp_label: np.ndarray, lrp_count: np.ndarray, state: np.ndarray,
              events: np.ndarray, messages: np.ndarray) -> int:
    """Update a colour's sites of `blocks` blocks of lanes from `first_block` on; returns the number of messages.

    shape: mesh rows, columns, tile rows, columns, lanes a tile, L, lanes a block. widths: uniform bits, fraction bits
    of the table, energy_shift, E_max, whether these two matter, count_max, BLOCK. weights: `fill_weights`.
    singles: (blocks x colours x groups x lanes a block, L) alpha E_singleton. doubles: (L + 1, L) beta E_doubleton, by
    neighbour, label. flags, labels, mrp_count, lrp_label, lrp_count: (padded sites,). state: (lanes, 4) uint32.
    events: (groups, lanes) 1 where a message is sent. messages: (n, 3) flat site, label, count; a block after the other.
    """
    _, mesh_cols, h, w, spus, count, width = shape
    bits, _, shift, e_max, narrow, count_max, _ = widths
    stride, groups, places, labels_n = mesh_cols * w, w // (2 * spus), h * (w // (2 * spus)), U(count)
    energy, sums = np.empty(count, singles.dtype), np.empty(count, np.int32)
    origins = np.empty(width, np.int64)
    sent = 0
    for block in range(first_block, first_block + blocks):
        lanes = lane_origins(origins, block, shape)
        for group in range(places):
            local, rest = (start_row + group // groups) % h, group % groups
            at = U(((block * 2 + colour) * places + local * groups + rest) * width)
            offset = local * stride + 2 * rest * spus + ((local + colour) & 1)
            for s in range(lanes):
                lane, site = U(block * width + s), U(origins[s] + offset)
                step(state, lane)
                if flags[site] & (EXISTS | CLAMPED) != EXISTS:
                    continue
                site_energies(energy, singles, at + U(s), doubles, flags[site], labels, site, U(stride), labels_n, shift,
                              e_max, narrow != 0)
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
                old: Int = np.int64(labels[site])
                drawn: Int = np.int64(new)
                labels[site] = drawn
                if counted:
                    label, held = write_label(site, drawn, old, count_max, mrp_count, lrp_label, lrp_count)
                    if held:
                        messages[sent, 0], messages[sent, 1], messages[sent, 2] = site, label, held
                        events[group, lane] = 1
                        sent += 1
    return sent


@numba.njit(cache=True, inline="always")
def block_noise(sequence: np.ndarray, uniforms: np.ndarray, noise: np.ndarray, table: np.ndarray, count: Int, vector: Int,
                down: Int) -> None:
    """`count` steps of a block's generators, and the table's values at their outputs.

    sequence: ((count + 4) x BLOCK,) uint32, words n + 4 of the lanes' sequences after words n; the first four rows are
    the state x, y, z, w, and are again at the end. uniforms: (count x BLOCK,) uint16. noise: (BLOCK, L). vector: BLOCK,
    not as a constant, for which LLVM would unroll the loop in place of vectorizing it. down: 32 - bits.
    """
    for n in range(U(count)):
        at = n * U(BLOCK)
        for s in range(U(vector)):
            x, w = sequence[at + s], sequence[at + s + U(3 * BLOCK)]
            t = x ^ np.uint32(x << np.uint32(11))
            sequence[at + s + U(4 * BLOCK)] = w ^ (w >> np.uint32(19)) ^ t ^ (t >> np.uint32(8))
    for i in range(U(count * BLOCK)):
        uniforms[i] = np.uint32(sequence[i + U(4 * BLOCK)] + sequence[i + U(2 * BLOCK)]) >> down
    for label in range(U(count)):
        for s in range(U(BLOCK)):
            noise[s, label] = table[uniforms[label * U(BLOCK) + s]]
    for i in range(U(4 * BLOCK)):
        sequence[i] = sequence[U(count * BLOCK) + i]


@numba.njit(cache=True, nogil=True)
def sweep_race(first_block: Int, blocks: int, colour: int, start_row: int, counted: bool, shape: np.ndarray,
               widths: np.ndarray, table: np.ndarray, singles: np.ndarray, doubles: np.ndarray, flags: np.ndarray,
               labels: np.ndarray, mrp_count: np.ndarray, lrp_label: np.ndarray, lrp_count: np.ndarray, state: np.ndarray,
               events: np.ndarray, messages: np.ndarray) -> int:
    """As `sweep_cdf`; table: `fill_noise`, of a type that holds 64 x the scores. A block has at most BLOCK lanes."""
    _, mesh_cols, h, w, spus, count, width = shape
    bits, fraction, shift, e_max, narrow, count_max, vector = widths
    stride, groups, places, labels_n = mesh_cols * w, w // (2 * spus), h * (w // (2 * spus)), U(count)
    energy, noise = np.empty(count, singles.dtype), np.empty((BLOCK, count), table.dtype)
    sequence, uniforms = np.zeros((count + 4) * BLOCK, np.uint32), np.empty(count * BLOCK, np.uint16)
    origins = np.empty(width, np.int64)
    left, down, most = table.dtype.type(fraction + KEY_LABEL_BITS), np.uint32(32 - bits), np.iinfo(table.dtype).max
    sent = 0
    for block in range(first_block, first_block + blocks):
        lanes = lane_origins(origins, block, shape)
        for s in range(lanes):
            for word in range(4):
                sequence[word * BLOCK + s] = state[block * width + s, word]
        for group in range(places):
            local, rest = (start_row + group // groups) % h, group % groups
            at = U(((block * 2 + colour) * places + local * groups + rest) * width)
            offset = local * stride + 2 * rest * spus + ((local + colour) & 1)
            block_noise(sequence, uniforms, noise, table, count, vector, down)
            for s in range(lanes):
                site = U(origins[s] + offset)
                if flags[site] & (EXISTS | CLAMPED) != EXISTS:
                    continue
                site_energies(energy, singles, at + U(s), doubles, flags[site], labels, site, U(stride), labels_n, shift,
                              e_max, narrow != 0)
                # The least key is the least score, and the lowest label on ties.
                best = table.dtype.type(most)
                for label in range(labels_n):
                    key = (table.dtype.type(energy[label]) << left) + table.dtype.type(label) - noise[U(s), label]
                    best = min(best, table.dtype.type(key))
                old: Int = np.int64(labels[site])
                drawn: Int = np.int64(best & LABEL_MASK)
                labels[site] = drawn
                if counted:
                    label, held = write_label(site, drawn, old, count_max, mrp_count, lrp_label, lrp_count)
                    if held:
                        messages[sent, 0], messages[sent, 1], messages[sent, 2] = site, label, held
                        events[group, block * width + s] = 1
                        sent += 1
        for s in range(lanes):
            for word in range(4):
                state[block * width + s, word] = sequence[word * BLOCK + s]
    return sent
