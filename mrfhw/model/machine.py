"""The bit-exact model of a configured machine: labels, LMem, log messages and cycles."""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import lru_cache

import numpy as np

from mrfhw.config import Config
from mrfhw.model.data import compiling, doubles, energy_bound, singles
from mrfhw.model.kernel import BLOCK, CLAMPED, EXISTS, KEY_LABEL_BITS, fill_flags, fill_noise, fill_weights, sweep_cdf, sweep_race
from mrfhw.model.log_timing import LogTiming
from mrfhw.model.random import lane_states
from mrfhw.placement import Placement
from mrfhw.problem import Problem, ProblemError, Run
from mrfhw.result import Result
from mrfhw.temperature import coefficient, coefficients

__all__ = ["Machine", "complete", "histogram", "solve"]

# Lanes that a thread takes at once: race steps as many generators side by side, cdf has no reason for many.
_WIDTH = {"race": BLOCK, "cdf": 4}
_KEPT = 1 << 24  # messages kept as such; of a run with more only the histogram is
_WORTH_A_THREAD = 200_000  # label evaluations of a colour; fewer take less time than to hand them over


def _threads(threads: int | None) -> int:
    """`threads`, or what MRFHW_THREADS says, or the processors that this process may use."""
    given = os.environ.get("MRFHW_THREADS", "") if threads is None else str(threads)
    if not given:
        return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    if not given.isdecimal() or int(given) < 1:
        raise ProblemError(f"threads is {given}; the model takes a whole number from 1: give one, or leave out MRFHW_THREADS")
    return int(given)


@lru_cache(maxsize=1)
def _pool(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers, "mrfhw-model")


class Machine:
    """A machine of `config` with a problem loaded, advanced sweep by sweep.

    After construction nothing has run. `sweep()` runs one; `labels`, `mrp_count`, `lrp_label` and
    `lrp_count` are LMem on the padded grid, `random` the (lanes, 4) uint32 states of the generators, `messages`
    what has been sent, `timing` the cycles.
    threads: cores to use at most; None for the environment's MRFHW_THREADS or, without it, all that the process
    may use. Nothing but the speed depends on it.
    random: states (lanes, 4) to start from, in place of those of run.seed; copied.
    """

    def __init__(self, config: Config, problem: Problem, run: Run, threads: int | None = None,
                 random: np.ndarray | None = None):
        self.placement = p = Placement(config, problem, run)
        self.config, self.problem, self.run = config, problem, run
        c = config
        self._race = race = c.sampler == "race"
        self._threads = _threads(threads)
        self._width = min(_WIDTH[c.sampler], c.lanes)
        self._blocks = -(-c.lanes // self._width)
        bits, fraction = ((c.gumbel_uniform_bits, c.gumbel_fraction_bits) if race
                          else (c.uniform_bits, c.exponent_fraction_bits))
        largest = energy_bound(problem)
        changed = problem.energy_shift > 0 or largest > c.energy_max
        self._widths = np.array([bits, fraction, problem.energy_shift, c.energy_max, changed, c.count_max, BLOCK], np.int64)
        self._shape = np.array([c.mesh_rows, c.mesh_cols, p.tile_rows, p.tile_cols, c.spus, problem.labels, self._width],
                               np.int64)
        self._places = p.tile_rows * p.groups_per_row
        highest = min(largest >> problem.energy_shift, c.energy_max)
        wide = largest > np.iinfo(np.int16).max
        if race:
            # Keys are 64 x score + label; a noise of 64 x T x G is of their size.
            hottest = coefficient(c, problem.schedule.hottest, problem.energy_shift)
            noise = int(np.abs(c.gumbel_table).max()) * hottest >> c.temperature_fraction_bits
            wide |= (((highest << fraction) + noise + 2) << KEY_LABEL_BITS) > np.iinfo(np.int32).max
            self._table = np.empty(len(c.gumbel_table), np.int64 if wide else np.int32)
        else:
            self._table = np.empty(highest + 1, np.uint16)
        self._wide = bool(wide)
        self._temperature = -1
        self._load()
        self.labels = p.pad(p.initial)
        self.mrp_count, self.lrp_count = (np.zeros(p.padded_shape, np.int32) for _ in range(2))
        self.lrp_label = np.zeros(p.padded_shape, np.uint8)
        self.random = lane_states(run.seed, c.lanes) if random is None else np.array(random, np.uint32).reshape(c.lanes, 4)
        self.timing = LogTiming(config, p)
        self._messages: list[np.ndarray] = []
        self._held = 0  # messages in that list
        self._folded: np.ndarray | None = None
        self._sent = 0
        self._buffer = np.empty((c.lanes * self._places, 3), np.int64)
        self._events = np.zeros((self._places, c.lanes), np.uint8)
        self._coefficients = coefficients(c, problem)
        self.sweeps = 0

    def _load(self) -> None:
        """The problem's energies and flags, in the types and the order of the sweep."""
        rows, cols = self.problem.shape
        energy_type = np.int32 if self._wide else np.int16
        flags = (EXISTS * self.placement.exists + CLAMPED * self.placement.clamped).astype(np.uint8)
        with compiling("load", self._wide):
            fill_flags(flags, rows, cols)
            self._singles = singles(self.problem, self._shape, energy_type)
        self._flags = flags.reshape(-1)
        self._doubles = doubles(self.problem, energy_type)

    def _set_temperature(self, value: int) -> None:
        c = self.config
        if value == self._temperature:
            return
        self._temperature = value
        if self._race:
            fill_noise(self._table, c.gumbel_table, value, c.temperature_fraction_bits)
        else:
            fill_weights(self._table, c.exponent_table, value, c.exponent_fraction_bits, c.temperature_fraction_bits)

    def _colour(self, colour: int, start_row: int, counted: bool) -> list[np.ndarray]:
        """Update a colour; the messages of each share of the lanes, in the order of the lanes."""
        kernel: Callable[..., int] = sweep_race if self._race else sweep_cdf
        flat = [a.reshape(-1) for a in (self._flags, self.labels, self.mrp_count, self.lrp_label, self.lrp_count)]

        def share(first: int, last: int) -> np.ndarray:
            buffer = self._buffer[first * self._width * self._places:]
            sent = kernel(first, last - first, colour, start_row, counted, self._shape, self._widths, self._table,
                          self._singles, self._doubles, *flat, self.random, self._events, buffer)
            found = buffer[:sent].copy()
            row, col = np.divmod(found[:, 0], self.placement.padded_shape[1])
            found[:, 0] = row * self.problem.shape[1] + col  # the image's raster
            return found

        if counted:
            self._events.fill(0)
        evaluations = self.config.lanes * self._places * self.problem.labels
        shares = max(1, min(self._threads, self._blocks, evaluations // _WORTH_A_THREAD))
        edges = [self._blocks * n // shares for n in range(shares + 1)]
        if shares == 1:
            return [share(0, self._blocks)]
        futures: list[Future[np.ndarray]] = [_pool(self._threads - 1).submit(share, a, b)
                                             for a, b in itertools.pairwise(edges[:-1])]
        last = share(edges[-2], edges[-1])
        return [*(f.result() for f in futures), last]

    def sweep(self) -> None:
        """Update every site once: black, then white."""
        counted = self.sweeps >= self.run.burn_in
        with compiling(self.config.sampler, self._wide):
            self._set_temperature(next(self._coefficients))
            for colour in (0, 1):
                start_row = (2 * self.sweeps + colour) % self.placement.tile_rows
                sent = [part for part in self._colour(colour, start_row, counted) if len(part)]
                self._messages += sent
                self._held += sum(map(len, sent))
                if self._held > _KEPT:
                    self._fold()
                self.timing.colour(self._events, bool(sent))
        self.sweeps += 1

    def _fold(self) -> None:
        """Count the messages that are held into a histogram and forget them."""
        if self._folded is None:
            self._folded = np.zeros(self.problem.sites * self.problem.labels, np.uint32)
        for part in self._messages:
            np.add.at(self._folded, part[:, 0] * self.problem.labels + part[:, 1], part[:, 2].astype(np.uint32))
        self._sent += self._held
        self._messages, self._held = [], 0

    @property
    def messages(self) -> np.ndarray:
        """(n, 3) int64 (address, label, count), in no particular order: all, or those since they were last folded."""
        return np.concatenate(self._messages) if self._messages else np.empty((0, 3), np.int64)

    @property
    def log_messages(self) -> int:
        """Messages sent."""
        return self._sent + self._held

    @property
    def folded(self) -> bool:
        """Whether messages were too many to keep."""
        return self._folded is not None

    @property
    def lmem(self) -> np.ndarray:
        """(H, W, 4) int32: current label and count, the other label and count."""
        fields = (self.labels, self.mrp_count, self.lrp_label, self.lrp_count)
        return np.stack([self.image(field) for field in fields], -1).astype(np.int32)

    @property
    def counts(self) -> np.ndarray:
        """(H, W, L) uint32: how often each label was drawn in counted sweeps."""
        counts = histogram(self.problem.labels, self.messages, self.lmem)
        return counts if self._folded is None else counts + self._folded.reshape(counts.shape)

    def image(self, padded: np.ndarray) -> np.ndarray:
        """The image's part of a padded grid."""
        rows, cols = self.problem.shape
        return padded[:rows, :cols]


def histogram(labels: int, messages: np.ndarray, lmem: np.ndarray) -> np.ndarray:
    """(H, W, L) uint32: the log's counts plus what is left in LMem; lmem as in Result, messages (n, 3)."""
    rows, cols, _ = lmem.shape
    counts = np.zeros(rows * cols * labels, np.uint32)
    np.add.at(counts, messages[:, 0] * labels + messages[:, 1], messages[:, 2].astype(np.uint32))
    site = np.arange(rows * cols) * labels
    for pair in (0, 2):
        label, count = lmem[..., pair].ravel(), lmem[..., pair + 1].ravel()
        held = count > 0  # an empty pair's label means nothing
        np.add.at(counts, (site + label)[held], count[held].astype(np.uint32))
    return counts.reshape(rows, cols, labels)


def complete(machine: Machine, progress: Callable[[int], object] | None = None,
             observe: Callable[[int, np.ndarray], object] | None = None) -> Result:
    """Run a machine to the end of its run; see `solve`."""
    config, problem, run = machine.config, machine.problem, machine.run
    began = time.perf_counter()
    for done in range(1, run.sweeps + 1):
        machine.sweep()
        if observe:
            observe(done, machine.image(machine.labels))
        if progress:
            progress(done)
    machine.timing.finish()
    wall = time.perf_counter() - began
    counts, timing = machine.counts, machine.timing
    return Result(
        backend="model", counts=counts, last=machine.image(machine.labels).copy(), initial=machine.placement.initial,
        label_evaluations=problem.labels * problem.unclamped_sites * run.sweeps, wall_seconds=wall,
        messages=None if machine.folded else machine.messages,
        lmem=machine.lmem, cycles=timing.cycles, stall_cycles=timing.stall_cycles, gap_cycles=timing.gap_cycles,
        lanes=config.lanes, extra={"log_messages": machine.log_messages})


def solve(config: Config, problem: Problem, run: Run, progress: Callable[[int], object] | None = None,
          observe: Callable[[int, np.ndarray], object] | None = None, *, threads: int | None = None) -> Result:
    """Run `problem` on the model. progress is called with the number of sweeps done.

    observe: called after each sweep with that number and the labels (H, W) uint8, a view of the running machine's.
    threads: as in `Machine`. Raises ProblemError where the problem does not fit the machine.
    """
    return complete(Machine(config, problem, run, threads), progress, observe)
