"""Gibbs sampling in double precision: the mathematics without quantization (backend "float").

Equation 3.1 without shift, floor or cap, and p(l) = exp(-E(l) / T) / sum of exp(-E / T), for all black
sites ((row + column) even) and then for all white ones. Energies are whole numbers, so that exp() comes from a table.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator

import numba
import numpy as np

from mrfhw.config import Config
from mrfhw.model.data import compiling, doubles, energy_bound, singles
from mrfhw.model.kernel import fill_uniforms
from mrfhw.model.random import lane_states
from mrfhw.placement import Placement
from mrfhw.problem import Problem, ProblemError, Run, Schedule, doubleton_table, initial_labels, singleton_energies
from mrfhw.result import Result
from mrfhw.temperature import coefficients, realized

__all__ = ["solve", "sweep_energy", "temperatures"]


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


_WEIGHTS = 1 << 16  # energies above the least whose weights are looked up


@numba.njit(cache=True, nogil=True)
def _energies(energy: np.ndarray, row: int, col: int, single: np.ndarray, doubles: np.ndarray, labels: np.ndarray) -> None:
    """energy (L,) int64: E(l) of the site (Equation 3.1), without shift and cap. doubles: (L, L) beta E_doubleton."""
    rows, cols = labels.shape
    for label in range(len(energy)):
        energy[label] = single[label]
    for r, c in ((row - 1, col), (row + 1, col), (row, col - 1), (row, col + 1)):
        if 0 <= r < rows and 0 <= c < cols:
            for label in range(len(energy)):
                energy[label] += doubles[labels[r, c], label]


@numba.njit(cache=True, nogil=True)
def _sweep_cdf(colour: int, temperature: float, weights: np.ndarray, singles: np.ndarray, doubles: np.ndarray,
               clamped: np.ndarray, labels: np.ndarray, uniforms: np.ndarray) -> None:
    """Draw a colour's sites in raster order: the first label whose running sum of weights exceeds uniform x total.

    weights: exp(-d / T) of the energies d above the least; above the table it is computed. singles: (colours x rows x
    pairs of columns, L). clamped: (H, W) bool. labels: (H, W) uint8. uniforms: float64, one a site that is drawn.
    """
    rows, cols = labels.shape
    pairs, count, drawn = (cols + 1) // 2, singles.shape[1], 0
    energy, running = np.empty(count, np.int64), np.empty(count)
    for row in range(rows):
        for col in range((row + colour) & 1, cols, 2):
            if clamped[row, col]:
                continue
            _energies(energy, row, col, singles[(colour * rows + row) * pairs + col // 2], doubles, labels)
            least, total = energy.min(), 0.0
            for label in range(count):
                above = energy[label] - least
                total += weights[above] if above < len(weights) else math.exp(above / -temperature)
                running[label] = total
            target, label = uniforms[drawn] * total, 0
            while label < count - 1 and running[label] <= target:  # rounding may leave no sum above it
                label += 1
            labels[row, col] = label
            drawn += 1


@numba.njit(cache=True, nogil=True)
def _sweep_race(colour: int, temperature: float, table: np.ndarray, singles: np.ndarray, doubles: np.ndarray,
                clamped: np.ndarray, labels: np.ndarray, uniforms: np.ndarray) -> None:
    """As `_sweep_cdf` by Gumbel-max: the least E / T - G(u), the lowest label on ties.

    table: G by uniform. uniforms: (sites that are drawn, L) integers.
    """
    rows, cols = labels.shape
    pairs, count, drawn = (cols + 1) // 2, singles.shape[1], 0
    energy = np.empty(count, np.int64)
    for row in range(rows):
        for col in range((row + colour) & 1, cols, 2):
            if clamped[row, col]:
                continue
            _energies(energy, row, col, singles[(colour * rows + row) * pairs + col // 2], doubles, labels)
            best, winner = np.inf, 0
            for label in range(count):
                score = energy[label] / temperature - table[uniforms[drawn, label]]
                if score < best:
                    best, winner = score, label
            labels[row, col] = winner
            drawn += 1


@numba.njit(cache=True, nogil=True)
def _count(counts: np.ndarray, labels: np.ndarray, clamped: np.ndarray) -> None:
    """Add the labels of the sites that are drawn to counts (H, W, L)."""
    for row in range(labels.shape[0]):
        for col in range(labels.shape[1]):
            if not clamped[row, col]:
                counts[row, col, labels[row, col]] += 1


class _HardwareUniforms:
    """The uniforms that a machine's lanes give to the sites that are drawn, colour by colour from sweep 0 on."""

    def __init__(self, config: Config, problem: Problem, run: Run, clamped: np.ndarray) -> None:
        self.placement = p = Placement(config, problem, run)
        self._state = lane_states(run.seed, config.lanes)
        self._race, self._labels = config.sampler == "race", problem.labels
        self._bits = config.gumbel_uniform_bits if self._race else config.uniform_bits
        h, w = p.tile_rows, p.tile_cols
        row, col = np.indices(problem.shape)
        lane = (row // h * config.mesh_cols + col // w) * config.spus + col % w // 2 % config.spus
        chosen = [((row + col) % 2 == colour) & ~clamped for colour in (0, 1)]
        self._sites = [(lane[c], row[c] % h, col[c] % w // (2 * config.spus)) for c in chosen]
        self._colours = 0

    def next(self) -> np.ndarray:
        """The next colour's: (sites, L) integers for a race, (sites,) in [0, 1) for a cdf, in raster order."""
        p = self.placement
        lane, row, pair = self._sites[self._colours % 2]
        turn = (row - self._colours) % p.tile_rows * p.groups_per_row + pair
        steps = self._labels if self._race else 1
        drawn = np.empty((p.config.lanes, p.tile_rows * p.groups_per_row * steps), np.uint32)
        fill_uniforms(drawn, self._state, self._bits)
        self._colours += 1
        if self._race:
            return np.ascontiguousarray(drawn.reshape(len(drawn), -1, steps)[lane, turn])
        return drawn[lane, turn] / (1 << self._bits)


def _gumbel(config: Config) -> np.ndarray:
    """-log(-log u) at u = (k + 1/2) / 2^gumbel_uniform_bits, float64."""
    size = 1 << config.gumbel_uniform_bits
    return np.asarray(-np.log(-np.log((np.arange(size) + 0.5) / size)))


def solve(problem: Problem, run: Run, *, config: Config | None = None, uniforms: str = "pcg64",
          progress: Callable[[int], object] | None = None,
          observe: Callable[[int, np.ndarray], object] | None = None) -> Result:
    """Sample `problem` for `run.sweeps` sweeps in float64.

    config: the machine whose realized temperatures are used and whose words the problem must fit
    (ProblemError where it does not); None uses the schedule as it stands.
    uniforms: "pcg64", NumPy's PCG64 seeded by (run.seed, 2): one for each unclamped site, black sites in raster order
    and then white ones, sweep after sweep. "hardware": those of `config`, each at the site and label that draws it, so
    that a chain differs from the machine's by quantization alone: a race takes the label of least
    E / T + log(-log((u + 1/2) / 2^bits)), a cdf the uniform u / 2^bits.
    progress: called after each sweep with the number of finished sweeps. observe: with that number and a copy of the
    labels (H, W) uint8.
    Result: backend "float"; no messages, cycles or lanes.
    """
    if config is not None:
        problem.check_fits(config)
    if uniforms not in ("pcg64", "hardware") or (uniforms == "hardware" and config is None):
        raise ProblemError(f"uniforms is {uniforms!r}; the float sampler takes pcg64, or hardware with a machine: give one")
    began = time.perf_counter()
    rng = np.random.Generator(np.random.PCG64([run.seed, 2]))
    initial = initial_labels(problem, run)
    labels = np.ascontiguousarray(initial).copy()
    clamped = np.zeros(problem.shape, bool) if problem.clamped is None else np.ascontiguousarray(problem.clamped, bool)
    hardware = _HardwareUniforms(config, problem, run, clamped) if config is not None and uniforms == "hardware" else None
    race = config is not None and hardware is not None and config.sampler == "race"
    table = _gumbel(config) if config is not None and race else np.empty(0)
    rows, cols = problem.shape
    kind = np.int32 if energy_bound(problem) < 1 << 31 else np.int64
    order = np.array([1, 1, rows, cols + cols % 2, 1, problem.labels, 1], np.int64)
    with compiling("load", kind):
        loaded, pairs = singles(problem, order, kind), doubles(problem, kind)
    counts = np.zeros((*problem.shape, problem.labels), np.uint32)
    free = [np.count_nonzero(~clamped[colour::2, ::2]) + np.count_nonzero(~clamped[1 - colour::2, 1::2]) for colour in (0, 1)]
    last, draw = math.nan, _sweep_race if race else _sweep_cdf
    for sweep, temperature in zip(range(run.sweeps), temperatures(problem, config), strict=False):
        if not race and temperature != last:
            table, last = np.exp(np.arange(min(_WEIGHTS, energy_bound(problem) + 1)) / -temperature), temperature
        with compiling("float", race, kind):
            for colour in (0, 1):
                drawn = rng.random(free[colour]) if hardware is None else hardware.next()
                draw(colour, temperature, table, loaded, pairs, clamped, labels, drawn)
        if sweep >= run.burn_in:
            _count(counts, labels, clamped)
        if observe is not None:
            observe(sweep + 1, labels.copy())
        if progress is not None:
            progress(sweep + 1)
    return Result(
        backend="float", counts=counts, last=labels, initial=initial,
        label_evaluations=problem.labels * problem.unclamped_sites * run.sweeps,
        wall_seconds=time.perf_counter() - began,
    )


def sweep_energy(problem: Problem, labels: np.ndarray) -> float:
    """Total energy of a configuration (H, W): alpha E_singleton of each site, beta E_doubleton of each edge once."""
    table = doubleton_table(problem)
    picked = np.take_along_axis(singleton_energies(problem), labels[..., None].astype(np.intp), 2)
    pairs = table[labels[1:], labels[:-1]].sum() + table[labels[:, 1:], labels[:, :-1]].sum()
    return float(problem.alpha * picked.sum() + problem.beta * pairs)
