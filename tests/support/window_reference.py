"""A windowed run by the machine's arithmetic on the whole grid: no window is cut out and nothing is placed.

Labels stand in one grid; energies are those of the whole problem. Only the order of the sites and the lane that
draws each are the windows'. Compiled, and otherwise as plain as it can be. The order of visits and the sum of a site's
energies are stated here once more on purpose, independent of `mrfhw.placement.visit_order` and of `mrfhw.field.energy`'s and the
model's sums; only the tables of single terms are the field's.
"""

from __future__ import annotations

from itertools import islice

import numba
import numpy as np

from mrfhw.backends.windows import WindowPlan
from mrfhw.field.energy import doubleton_table, singleton_energies
from mrfhw.field.initial import initial_labels
from mrfhw.field.problem import Problem, Run
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.samplers import Race
from mrfhw.placement.temperature import coefficients
from mrfhw.samplers.random import lane_states


@numba.njit
def _uniform(state: np.ndarray, lane: int, bits: int) -> int:
    """One step of a lane's xorshift128, and its output's top bits; in Python's integers and masks."""
    mask = 0xFFFFFFFF
    x, w = np.int64(state[lane, 0]), np.int64(state[lane, 3])
    t = (x ^ (x << 11)) & mask
    state[lane, 0], state[lane, 1], state[lane, 2] = state[lane, 1], state[lane, 2], state[lane, 3]
    new = (w ^ (w >> 19) ^ t ^ (t >> 8)) & mask
    state[lane, 3] = new
    return ((new + np.int64(state[lane, 1])) & mask) >> (32 - bits)


@numba.njit
def _race(energy: np.ndarray, t: int, widths: tuple[int, ...], table: np.ndarray, state: np.ndarray, lane: int) -> int:
    bits, fraction, t_fraction = widths
    best, winner = 1 << 62, 0
    for label in range(len(energy)):
        score = (energy[label] << fraction) - ((table[_uniform(state, lane, bits)] * t) >> t_fraction)
        if score < best:
            best, winner = score, label
    return winner


@numba.njit
def _cdf(energy: np.ndarray, t: int, widths: tuple[int, ...], table: np.ndarray, state: np.ndarray, lane: int) -> int:
    bits, fraction, t_fraction = widths
    uniform = _uniform(state, lane, bits)
    exponents = ((energy - energy.min()) * t) >> (t_fraction - fraction)
    sums = np.cumsum(table[exponents & ((1 << fraction) - 1)] >> np.minimum(exponents >> fraction, 62))
    return int((sums <= (uniform * sums[-1]) >> bits).sum())


@numba.njit
def _colour(colour: int, sweep: int, temperature: int, counted: bool, window: np.ndarray, mesh: np.ndarray, limits: np.ndarray,
            race: bool, widths: tuple[int, ...], table: np.ndarray, singles: np.ndarray, doubles: np.ndarray,
            clamped: np.ndarray, labels: np.ndarray, counts: np.ndarray, state: np.ndarray) -> None:
    """One colour of a window. window: first held row and column, then [first, end) rows and columns drawn.

    mesh: mesh rows, columns, tile rows, columns in use, lanes a tile. limits: energy_shift, greatest energy.
    """
    rows, cols, count = singles.shape
    mesh_rows, mesh_cols, h, w, spus = mesh
    for lane in range(mesh_rows * mesh_cols * spus):
        tile, unit = lane // spus, lane % spus
        for position in range(h * w // (2 * spus)):
            turn, group = position // (w // (2 * spus)), position % (w // (2 * spus))
            local = (2 * sweep + colour + turn) % h
            r = window[0] + tile // mesh_cols * h + local
            c = window[1] + tile % mesh_cols * w + 2 * (group * spus + unit) + ((local + colour) & 1)
            if not (window[2] <= r < window[3] and window[4] <= c < window[5]) or clamped[r, c]:
                for _ in range(count if race else 1):
                    _uniform(state, lane, 1)
                continue
            energy = singles[r, c].copy()
            for y, x in ((r - 1, c), (r + 1, c), (r, c - 1), (r, c + 1)):
                if 0 <= y < rows and 0 <= x < cols:
                    energy += doubles[labels[y, x]]
            energy = np.minimum(energy >> limits[0], limits[1])
            if race:
                labels[r, c] = _race(energy, temperature, widths, table, state, lane)
            else:
                labels[r, c] = _cdf(energy, temperature, widths, table, state, lane)
            if counted:
                counts[r, c, labels[r, c]] += 1


def windowed_run(config: Config, problem: Problem, run: Run, visit: int) -> tuple[np.ndarray, np.ndarray]:
    """(labels (H, W), counts (H, W, L)) after `run` in visits of `visit` sweeps."""
    c, sampler = Derived.of(config), config.sampler
    race = isinstance(sampler, Race)
    table = sampler.gumbel_table if race else sampler.exponent_table
    widths = sampler.uniform_bits, sampler.fraction_bits if race else sampler.exponent_fraction_bits
    labels, counts = initial_labels(problem, run), np.zeros((*problem.shape, problem.labels), np.uint32)
    fixed = (race, (*widths, c.temperature_fraction_bits), table, singleton_energies(problem),
             problem.beta * doubleton_table(problem),
             np.zeros(problem.shape, bool) if problem.clamped is None else problem.clamped, labels, counts,
             lane_states(run.seed, c.generators))
    schedule = coefficients(config, problem)
    for done in range(0, run.sweeps, visit):
        temperatures = list(islice(schedule, min(visit, run.sweeps - done)))
        for window in WindowPlan(config, problem).windows:
            h = -(-(window.rows[1] - window.rows[0]) // (c.mesh_rows * c.row_step)) * c.row_step
            w = -(-(window.cols[1] - window.cols[0]) // (c.mesh_cols * c.col_step)) * c.col_step
            spans = np.array([window.rows[0], window.cols[0], *window.drawn_rows, *window.drawn_cols])
            for sweep, temperature in enumerate(temperatures):
                for colour in (0, 1):
                    _colour(colour, sweep, temperature, done + sweep >= run.burn_in, spans,
                            np.array([c.mesh_rows, c.mesh_cols, h, w, c.spus]),
                            np.array([problem.energy_shift, c.energy_max]), *fixed)
    return labels, counts
