"""The bit-exact model of a configured machine: labels, LMem, log messages and cycles."""

from __future__ import annotations

import time
from collections.abc import Callable

import numba
import numpy as np

from mrfhw.config import Config
from mrfhw.model.log_timing import LogTiming
from mrfhw.model.random import lane_states, output, step
from mrfhw.placement import Placement
from mrfhw.problem import Problem, Run, doubleton_table, singleton_energies
from mrfhw.result import Result
from mrfhw.temperature import coefficients

__all__ = ["Machine", "solve"]


@numba.njit(cache=True, inline="always")
def _draw_race(energy: np.ndarray, labels: int, temperature: int, state: np.ndarray, lane: int, bits: int,
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
def _draw_cdf(energy: np.ndarray, labels: int, temperature: int, state: np.ndarray, lane: int, bits: int,
              table: np.ndarray, fraction: int, temperature_fraction: int, power_of_two: bool, sums: np.ndarray) -> int:
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
        if power_of_two and p > 0:
            top = np.int64(1)
            while top * 2 <= p:
                top *= 2
            p = top
        total += p
        sums[label] = total
    threshold = (uniform * total) >> bits
    drawn = 0
    for label in range(labels):
        if sums[label] <= threshold:
            drawn += 1
    return drawn


@numba.njit(cache=True)
def _sweep_colour(colour: int, start_row: int, counted: bool, temperature: int, shape: np.ndarray, race: bool,
                  power_of_two: bool, widths: np.ndarray, table: np.ndarray, singles: np.ndarray, doubles: np.ndarray,
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
                    new = _draw_race(energy, count, temperature, state, lane, bits, table, fraction, t_fraction)
                else:
                    new = _draw_cdf(energy, count, temperature, state, lane, bits, table, fraction, t_fraction,
                                    power_of_two, sums)
                old = labels[row, col]
                labels[row, col] = new
                if not counted:
                    continue
                # Algorithm 1.
                same = new == old
                hit = same or new == lrp_label[row, col]
                held = mrp_count[row, col] if same else lrp_count[row, col]
                full = held == count_max
                if (hit and full) or (not hit and held != 0):
                    messages[sent, 0] = row * cols + col
                    messages[sent, 1] = new if hit else lrp_label[row, col]
                    messages[sent, 2] = held
                    sent += 1
                    events[group, tile, s] = 1
                if not same:
                    lrp_label[row, col] = old
                    lrp_count[row, col] = mrp_count[row, col]
                mrp_count[row, col] = held + 1 if hit and not full else 1
    return sent


class Machine:
    """A machine of `config` with a problem loaded, advanced sweep by sweep.

    After construction nothing has run. `sweep()` runs one; `labels`, `mrp_count`, `lrp_label` and
    `lrp_count` are LMem on the padded grid, `messages` what has been sent, `timing` the cycles.
    """

    def __init__(self, config: Config, problem: Problem, run: Run):
        self.placement = p = Placement(config, problem, run)
        self.config, self.problem, self.run = config, problem, run
        c = config
        race = c.sampler == "race"
        self._table = c.gumbel_table if race else c.exponent_table
        bits, fraction = ((c.gumbel_uniform_bits, c.gumbel_fraction_bits) if race
                          else (c.uniform_bits, c.exponent_fraction_bits))
        rows, cols = problem.shape
        self._widths = np.array([bits, fraction, c.temperature_fraction_bits, problem.energy_shift, c.energy_max,
                                 c.count_max, rows, cols], np.int64)
        self._shape = np.array([c.mesh_rows, c.mesh_cols, p.tile_rows, p.tile_cols, c.spus, problem.labels], np.int64)
        singles = np.zeros((*p.padded_shape, problem.labels), np.int32)
        singles[:rows, :cols] = problem.alpha * singleton_energies(problem)
        self._singles = singles.reshape(-1, problem.labels)
        self._doubles = (problem.beta * doubleton_table(problem)).T.astype(np.int32).copy()
        self._flags = (p.exists + 2 * p.clamped).astype(np.uint8)
        self.labels = p.pad(p.initial)
        self.mrp_count, self.lrp_count = (np.zeros(p.padded_shape, np.int32) for _ in range(2))
        self.lrp_label = np.zeros(p.padded_shape, np.uint8)
        self.random = lane_states(run.seed, c.lanes)
        self.timing = LogTiming(config, p)
        self._messages: list[np.ndarray] = []
        self._buffer = np.empty((p.padded_shape[0] * p.padded_shape[1] // 2 + 1, 3), np.int64)
        self._events = np.empty((p.tile_rows * p.groups_per_row, c.spes, c.spus), np.uint8)
        self._coefficients = coefficients(c, problem)
        self.sweeps = 0

    def sweep(self) -> None:
        """Update every site once: black, then white."""
        temperature = next(self._coefficients)
        counted = self.sweeps >= self.run.burn_in
        for colour in (0, 1):
            start_row = (2 * self.sweeps + colour) % self.placement.tile_rows
            sent = _sweep_colour(
                colour, start_row, counted, temperature, self._shape, self.config.sampler == "race",
                self.config.probability_floor == "power_of_two", self._widths, self._table, self._singles,
                self._doubles, self._flags, self.labels, self.mrp_count, self.lrp_label, self.lrp_count,
                self.random, self._events, self._buffer)
            if sent:
                self._messages.append(self._buffer[:sent].copy())
            self.timing.colour(self._events, bool(sent))
        self.sweeps += 1

    @property
    def messages(self) -> np.ndarray:
        """(n, 3) int64 (address, label, count), in no particular order."""
        return np.concatenate(self._messages) if self._messages else np.empty((0, 3), np.int64)

    def image(self, padded: np.ndarray) -> np.ndarray:
        """The image's part of a padded grid."""
        rows, cols = self.problem.shape
        return padded[:rows, :cols]


def histogram(labels: int, messages: np.ndarray, lmem: np.ndarray) -> np.ndarray:
    """(H, W, L) uint32: the log's counts plus what is left in LMem; lmem as in Result, messages (n, 3)."""
    rows, cols, _ = lmem.shape
    counts = np.zeros(rows * cols * labels, np.int64)
    np.add.at(counts, messages[:, 0] * labels + messages[:, 1], messages[:, 2])
    site = np.arange(rows * cols) * labels
    for pair in (0, 2):
        label, count = lmem[..., pair].ravel(), lmem[..., pair + 1].ravel()
        held = count > 0  # an empty pair's label means nothing
        np.add.at(counts, (site + label)[held], count[held])
    return counts.reshape(rows, cols, labels).astype(np.uint32)


def solve(config: Config, problem: Problem, run: Run, progress: Callable[[int], object] | None = None) -> Result:
    """Run `problem` on the model. progress is called with the number of sweeps done.

    Raises ProblemError where the problem does not fit the machine.
    """
    machine = Machine(config, problem, run)
    began = time.perf_counter()
    for done in range(1, run.sweeps + 1):
        machine.sweep()
        if progress:
            progress(done)
    machine.timing.finish()
    wall = time.perf_counter() - began
    image = machine.image
    messages, timing = machine.messages, machine.timing
    lmem = np.stack([image(a) for a in (machine.labels, machine.mrp_count, machine.lrp_label, machine.lrp_count)], -1)
    counts = histogram(problem.labels, messages, lmem)
    return Result(
        backend="model", counts=counts, last=image(machine.labels).copy(), initial=machine.placement.initial,
        label_evaluations=problem.labels * problem.unclamped_sites * run.sweeps, wall_seconds=wall, messages=messages,
        lmem=lmem.astype(np.int32),
        cycles=timing.cycles, stall_cycles=timing.stall_cycles, gap_cycles=timing.gap_cycles, lanes=config.lanes)
