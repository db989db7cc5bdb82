"""The bit-exact model of a configured machine: labels, LMem, log messages and cycles."""

from __future__ import annotations

import time
from collections.abc import Callable

import numpy as np

from mrfhw.config import Config
from mrfhw.model.kernel import sweep_colour
from mrfhw.model.log_timing import LogTiming
from mrfhw.model.random import lane_states
from mrfhw.placement import Placement
from mrfhw.problem import Problem, Run, doubleton_table, singleton_energies
from mrfhw.result import Result
from mrfhw.temperature import coefficients

__all__ = ["Machine", "solve"]


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
            sent = sweep_colour(
                colour, start_row, counted, temperature, self._shape, self.config.sampler == "race",
                self._widths, self._table, self._singles,
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
