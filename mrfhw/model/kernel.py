"""The compiled loops of the model: generator, samplers and the sweep of a colour.

They stand in one file because numba's cache notices changes of a function's own file alone.
"""

from __future__ import annotations

import numba
import numpy as np

__all__ = ["draw_cdf", "draw_race", "output", "step", "sweep_colour", "write_label"]


@numba.njit(cache=True, inline="always")
def step(state: np.ndarray, lane: int) -> None:
    """One step of lane `lane` of a (lanes, 4) uint32 state."""
    x = state[lane, 0]
    w = state[lane, 3]
    t = x ^ np.uint32(x << np.uint32(11))  # numba widens shifts to 64 bits
    state[lane, 0] = state[lane, 1]
    state[lane, 1] = state[lane, 2]
    state[lane, 2] = w
    state[lane, 3] = w ^ (w >> np.uint32(19)) ^ t ^ (t >> np.uint32(8))


@numba.njit(cache=True, inline="always")
def output(state: np.ndarray, lane: int, bits: int) -> int:
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
def write_label(row: int, col: int, new: int, old: int, count_max: int, mrp_count: np.ndarray, lrp_label: np.ndarray,
                lrp_count: np.ndarray) -> tuple[int, int]:
    """Algorithm 1 for a counted draw of `new` where `old` was the label; the message (label, count), count 0 for none."""
    same = new == old
    hit = same or new == lrp_label[row, col]
    held = mrp_count[row, col] if same else lrp_count[row, col]
    full = held == count_max
    message = new if hit else lrp_label[row, col]
    if not same:
        lrp_label[row, col] = old
        lrp_count[row, col] = mrp_count[row, col]
    mrp_count[row, col] = held + 1 if hit and not full else 1
    return message, held if full or not hit else 0


@numba.njit(cache=True)
def sweep_colour(colour: int, start_row: int, counted: bool, temperature: int, shape: np.ndarray, race: bool,
                  widths: np.ndarray, table: np.ndarray, singles: np.ndarray, doubles: np.ndarray,
                  flags: np.ndarray, labels: np.ndarray, mrp_count: np.ndarray, lrp_label: np.ndarray,
                  lrp_count: np.ndarray, state: np.ndarray, events: np.ndarray, messages: np.ndarray) -> int:
    """Update every site of a colour; returns the number of messages.

    shape: mesh rows, columns, tile rows, columns, lanes a tile, L. widths: uniform bits, table fraction
    bits, temperature fraction bits, energy_shift, E_max, count_max, image rows, image columns.
    singles: (padded sites, L) alpha E_singleton. doubles: (L, L) beta E_doubleton, by neighbour, label.
    flags: (padded) 1 exists, 2 clamped. events: (groups, tiles, lanes) 1 where a message is sent.
    """
    mesh_rows, mesh_cols, h, w, spus, count = shape
    bits, fraction, t_fraction, shift, e_max, count_max, rows, cols = widths
    energy = np.empty(count, np.int64)
    sums = np.empty(count, np.int64)
    sent = 0
    groups = w // (2 * spus)
    events[:] = 0
    for tile in range(mesh_rows * mesh_cols):
        top, left = tile // mesh_cols * h, tile % mesh_cols * w
        for group in range(h * groups):
            local = (start_row + group // groups) % h
            row = top + local
            for s in range(spus):
                col = left + 2 * (group % groups * spus + s) + ((local + colour) & 1)
                lane = tile * spus + s
                if flags[row, col] != 1:
                    for _ in range(count if race else 1):
                        step(state, lane)
                    continue
                for label in range(count):
                    energy[label] = singles[row * (mesh_cols * w) + col, label]
                for r, c in ((row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1)):
                    if 0 <= r < rows and 0 <= c < cols:
                        x = labels[r, c]
                        for label in range(count):
                            energy[label] += doubles[x, label]
                for label in range(count):
                    energy[label] = min(energy[label] >> shift, e_max)
                if race:
                    new = draw_race(energy, count, temperature, state, lane, bits, table, fraction, t_fraction)
                else:
                    new = draw_cdf(energy, count, temperature, state, lane, bits, table, fraction, t_fraction,
                                    sums)
                old = labels[row, col]
                labels[row, col] = new
                if not counted:
                    continue
                message, held = write_label(row, col, new, old, count_max, mrp_count, lrp_label, lrp_count)
                if held:
                    messages[sent, 0] = row * cols + col
                    messages[sent, 1] = message
                    messages[sent, 2] = held
                    sent += 1
                    events[group, tile, s] = 1
    return sent
