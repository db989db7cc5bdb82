"""Gibbs sampling in double precision: the mathematics without quantization (backend "float").

Equation 3.1 without shift, floor or cap, and p(l) = exp(-E(l) / T) / sum of exp(-E / T), for all black
sites ((row + column) even) and then for all white ones. Energies are whole numbers, so that exp() comes from a table.
"""

from __future__ import annotations

import dataclasses
import itertools
import math
import time
from collections.abc import Callable, Iterator

import numpy as np

from mrfhw.field.initial import initial_labels
from mrfhw.field.problem import Problem, ProblemError, Run, Schedule
from mrfhw.field.result import Result
from mrfhw.field.state import RunState
from mrfhw.machine.config import Config
from mrfhw.machine.samplers import Race
from mrfhw.placement.fit import check_fits
from mrfhw.placement.placement import Placement
from mrfhw.placement.temperature import coefficients, realized
from mrfhw.placement.visit_order import COLOURS, VisitOrder
from mrfhw.samplers.data import doubles, edges, energy_bound, singles
from mrfhw.samplers.random import lane_states
from mrfhw.samplers.sweeps import Observe, advance
from mrfhw.system.large_arrays import copied, zeros
from mrfhw.system.progress import compiling
from mrfhw.twin.kernel import count_labels, fill_flags, fill_uniforms, float_cdf, float_race

__all__ = ["Chain", "FloatTables", "RasterSites", "solve", "temperatures"]

_WEIGHTS = 1 << 16  # energies above the least whose weights are looked up


def _scheduled(schedule: Schedule) -> Iterator[float]:
    sweep = 0
    while True:
        if schedule.kind == "table":
            yield schedule.table[min(sweep // schedule.stride, len(schedule.table) - 1)]
        elif schedule.kind == "geometric":
            yield max(schedule.start * schedule.ratio**sweep, schedule.limit)
        else:
            yield schedule.start
        sweep += 1


def temperatures(problem: Problem, config: Config | None = None) -> Iterator[float]:
    """T of sweep 0, 1, 2, ... without end, in units of unshifted energy.

    With a machine, the T that it realizes; without, the schedule's own values.
    """
    if config is None:
        return _scheduled(problem.schedule)
    return (realized(config, value, problem.energy_shift) for value in coefficients(config, problem))


class _HardwareUniforms:
    """The uniforms that a machine's generators give to sites, colour by colour from sweep 0 on."""

    def __init__(self, placement: Placement, sites: list[tuple[np.ndarray, np.ndarray]]) -> None:
        """sites: (rows, columns) of each colour's."""
        sampler = placement.config.sampler
        self._order = placement.order
        self._state = lane_states(placement.run.seed, placement.config.generators)
        self._race, self._bits = isinstance(sampler, Race), sampler.uniform_bits
        self._sites = sites

    def next(self, sweep: int, colour: int) -> np.ndarray:
        """A colour's: (sites, L) integers for a race, (sites,) in [0, 1) for a cdf. All colours are to be asked for, in order."""
        order = self._order
        _, unit, turn = order.visit(sweep, *self._sites[colour])
        first = order.number(sweep, colour, 0, 0)[1]
        drawn = np.empty((len(self._state), order.turns * order.numbers_a_turn, order.numbers_a_step), np.uint32)
        fill_uniforms(drawn, self._state, self._bits)
        labels: np.ndarray | int = 0
        if self._race:
            unit, turn, labels = unit[:, None], turn[:, None], np.arange(order.labels)
        generator, number = order.number(sweep, colour, turn, unit, labels)
        found = drawn[generator, number - first, order.part(labels)]
        return np.ascontiguousarray(found) if self._race else found / (1 << self._bits)


def _gumbel(config: Config) -> np.ndarray:
    """-log(-log u) at u = (k + 1/2) / 2^uniform_bits, float64."""
    size = 1 << config.sampler.uniform_bits
    return np.asarray(-np.log(-np.log((np.arange(size) + 0.5) / size)))


class RasterSites:
    """The sites of `problem`, checked, by colour.

    bound: that no energy exceeds. sites: of each colour those that are drawn, flat indices in raster order, row_col: the same as
    (rows, columns); drawn: how many in all. flags: (H, W) uint8, edges: as in `mrfhw.twin.kernel.site_energies`.
    """

    def __init__(self, problem: Problem, config: Config | None = None) -> None:
        if config is not None:
            check_fits(config, problem)
        self.problem, self.config = problem, config
        self.bound = energy_bound(problem)
        if self.bound >= 1 << 62:
            raise ProblemError(f"energies go up to {float(self.bound):.3g}; the limit is 2^62: give smaller data, alpha or beta")
        self.order = order = VisitOrder.raster(problem.shape, problem.labels)
        rows, cols = problem.shape
        drawn = np.ones(problem.shape, bool) if problem.clamped is None else ~np.ascontiguousarray(problem.clamped)
        self.sites, self.row_col = [], []
        for by_colour in order.table(1)[0]:
            row, col = np.divmod(by_colour.ravel(), order.columns)
            inside = col < cols
            row, col = row[inside], col[inside]
            row, col = row[drawn[row, col]], col[drawn[row, col]]
            self.sites.append(row * np.int32(cols) + col)
            self.row_col.append((row, col))
        self.flags = np.zeros(problem.shape, np.uint8)
        with compiling("flags"):
            fill_flags(self.flags, rows, cols)
        self.drawn = sum(map(len, self.sites))
        self.edges = edges(problem).reshape(-1, 4)


class FloatTables(RasterSites):
    """`problem` checked and in tables, for one `Chain` after the other. Takes 4 or 8 bytes a site and label."""

    def __init__(self, problem: Problem, config: Config | None = None) -> None:
        super().__init__(problem, config)
        self.kind = kind = np.int32 if self.bound < 1 << 31 else np.int64
        with compiling("load", kind):
            self.singles = [singles(problem, sites, problem.shape[1], kind) for sites in self.sites]
            self.doubles = doubles(problem, kind)


class Chain:
    """A chain of `problem` in float64, advanced sweep by sweep. Arguments: as of `solve`; tables: those of another chain of it.

    After construction nothing has run. labels: (H, W) uint8, the sample. counts: (H, W, L) uint32, the histogram so far, or None.
    sums: (H, W, 2) int64, the sums of labels and their numbers so far, or None. energy: None, it is not followed.
    """

    energy: int | None = None

    def __init__(self, problem: Problem, run: Run, *, config: Config | None = None, uniforms: str = "pcg64",
                 tables: FloatTables | None = None):
        if uniforms not in ("pcg64", "hardware") or (uniforms == "hardware" and config is None):
            raise ProblemError(f"uniforms is {uniforms!r}; the float sampler takes pcg64, or hardware with a machine: give one")
        if uniforms == "hardware" and config is not None and config.subset_slots:
            raise ProblemError(f"subset_slots is {config.subset_slots}; the float sampler draws among all labels, and has no "
                               'uniforms of a subset: give uniforms = "pcg64", or a machine with subset_slots = 0')
        self._tables = FloatTables(problem, config) if tables is None else tables
        self.problem, self.run, self.config, self.sweeps = problem, run, config, 0
        self._rng = np.random.Generator(np.random.PCG64([run.seed, 2]))
        self.initial = initial_labels(problem, run)
        self.labels = np.ascontiguousarray(self.initial).copy()
        self._hardware, self._race, self._weights = None, False, np.empty(0)
        if config is not None and uniforms == "hardware":
            self._hardware = _HardwareUniforms(Placement(config, problem, run), self._tables.row_col)
            self._race = isinstance(config.sampler, Race)
            self._weights = _gumbel(config) if self._race else self._weights
        self.counts = zeros((*problem.shape, problem.labels), np.uint32) if run.estimate == "mode" else None
        self.sums = np.zeros((*problem.shape, 2), np.int64) if run.estimate == "mean" else None
        self._temperatures = temperatures(problem, config)
        self._last = math.nan

    def sweep(self) -> None:
        """Update every site once: black, then white."""
        t, temperature = self._tables, next(self._temperatures)
        draw, flat = float_race if self._race else float_cdf, self.labels.reshape(-1)
        if not self._race and temperature != self._last:
            self._weights, self._last = np.exp(np.arange(min(_WEIGHTS, t.bound + 1)) / -temperature), temperature
        with compiling("float", self._race, t.kind):
            for colour in COLOURS:
                drawn = (self._rng.random(len(t.sites[colour])) if self._hardware is None
                         else self._hardware.next(self.sweeps, colour))
                draw(t.sites[colour], self.problem.shape[1], temperature, self._weights, t.singles[colour], t.doubles,
                     t.edges, t.flags.reshape(-1), flat, drawn)
        if self.counts is not None and self.sweeps >= self.run.counts_from:
            for sites in t.sites:
                count_labels(self.counts.reshape(-1, self.problem.labels), sites, flat)
        if self.sums is not None and self.sweeps >= self.run.counts_from:
            for sites in t.sites:
                self.sums.reshape(-1, 2)[sites] += np.stack([flat[sites], np.ones(len(sites), np.int64)], -1)
        self.sweeps += 1

    @property
    def sample(self) -> np.ndarray:
        """(H, W) uint8, a copy."""
        return self.labels.copy()

    def result(self, wall: float) -> Result:
        """The result of the chain so far, after `wall` seconds."""
        made = self._tables.order.label_evaluations(self.problem.unclamped_sites, self.sweeps)
        return Result(backend="float", counts=self.counts, sums=self.sums, last=self.labels, initial=self.initial,
                      wall_seconds=wall, label_evaluations=made)

    def state(self, wall: float = 0.0, counted: bool = True) -> RunState:
        """The state of the chain, as a copy that later sweeps do not change; without its counts, `RunState.uncounted`. Only for
        NumPy's uniforms."""
        found = dataclasses.replace(self.result(wall), last=self.labels.copy())
        if counted:
            found = dataclasses.replace(found, counts=copied(self.counts), sums=copied(self.sums))
        state = RunState(sweeps=self.sweeps, so_far=found, random=self._rng.bit_generator.state)
        return state if counted else state.uncounted()

    def restore(self, state: RunState) -> None:
        """Continue from the state of a chain with the same problem and run."""
        assert state.random is not None
        self.initial, self.sweeps = state.so_far.initial, state.sweeps
        self.labels[...] = state.so_far.last
        if state.so_far.counts is not None:
            self.counts = copied(state.so_far.counts)
        if state.so_far.sums is not None:
            self.sums = copied(state.so_far.sums)
        self._rng.bit_generator.state = state.random
        self._temperatures = itertools.islice(temperatures(self.problem, self.config), state.sweeps, None)


def solve(problem: Problem, run: Run, *, config: Config | None = None, uniforms: str = "pcg64",
          progress: Callable[[int], object] | None = None,
          observe: Observe | None = None) -> Result:
    """Sample `problem` for `run.sweeps` sweeps in float64.

    config: the machine whose realized temperatures are used and whose words the problem must fit
    (ProblemError where it does not); None uses the schedule as it stands.
    uniforms: "pcg64", NumPy's PCG64 seeded by (run.seed, 2): one for each unclamped site, black sites in raster order
    and then white ones, sweep after sweep. "hardware": those of `config`, each at the site and label that draws it, so
    that a chain differs from the machine's by quantization alone: a race takes the label of least
    E / T + log(-log((u + 1/2) / 2^bits)), a cdf the uniform u / 2^bits.
    progress: called after each sweep with the number of finished sweeps. observe: with that number, a copy of the labels
    (H, W) uint8 and None.
    Result: backend "float"; no messages, cycles or lanes.
    """
    began = time.perf_counter()
    chain = Chain(problem, run, config=config, uniforms=uniforms)
    advance(chain, progress, observe)
    return chain.result(time.perf_counter() - began)
