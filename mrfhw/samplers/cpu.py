"""Gibbs sampling at the speed of a processor: float's law, without a machine's arithmetic (backend "cpu").

p(l) = w(l) / sum of w, with w(l) = exp(-(E(l) - Emin) / T) and E of Equation 3.1 without shift, floor or cap, for all black sites
((row + column) even) and then for all white ones. Weights and their sums are float32, by `mrfhw.samplers.cpu_kernel`: where T
rests, products of tables, of each site's singletons and of doubletons, one by one only for labels near the neighbours'; where it
changes, powers of 2.

One number chooses a label. The old label comes first, so that a number below its share keeps it: this share holds as long as no
neighbour changes and T rests, or does not rise and the label is of least energy. Such a site keeps its label without a weight.
The chain is the same without that memory.

A row has a generator (`mrfhw.samplers.random.lane_states`, of as many lanes), which steps once for each unclamped site of a colour
from left to right: threads do not change a chain, nor does the processor.
"""

from __future__ import annotations

import itertools
import math
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from mrfhw.field.colours import COLOURS
from mrfhw.field.problem import Problem, ProblemError, Run
from mrfhw.field.result import Result
from mrfhw.field.state import RunState
from mrfhw.samplers.chain import Observe, advance
from mrfhw.samplers.cpu_kernel import bounds_size, fill_site_weights, sweep_sites
from mrfhw.samplers.cpu_vectors import LANES, QUARTER, STEEPEST
from mrfhw.samplers.data import doubles, singles
from mrfhw.samplers.field_chain import FieldChain
from mrfhw.samplers.field_energy import FieldEnergy
from mrfhw.samplers.random import lane_states
from mrfhw.samplers.sites import FieldSites
from mrfhw.system.progress import compiling
from mrfhw.system.threads import ENTRIES_WORTH_A_THREAD, in_shares, threads_of

__all__ = ["RESTING", "CpuChain", "CpuTables", "solve"]

RESTING = 4  # sweeps of one temperature after which tables of weights are made
_ROOM = 1 << 30  # bytes that these may take
_SMALLEST = 40.0  # natural logarithms that doubletons may take from a weight in a table: float32 ends at 87
_STEEP = 1e30  # octaves a unit of energy: all weights but the largest end; float32 holds it
_FLOAT_ENDS = 104.0  # natural logarithms below 1 at which float32 is 0
_WHILE_HANDED_OVER = 3_000  # sites that are drawn while another thread is handed its share of a sweep
_AT_ONCE = 1 << 20  # entries of a table that are made at once
_KEEPING = 0.75  # of sites that are drawn: above that keeping their shares takes longer than it saves
_TRIED = 32  # sweeps without shares, after which they are tried again
_LINE = 64  # bytes that come from memory together


def _aligned(shape: tuple[int, ...], kind: type[np.generic]) -> np.ndarray:
    """Zeros that begin where a line of the processor's memory does, as blocks of labels then do."""
    size = math.prod(shape) * np.dtype(kind).itemsize
    room = np.zeros(size + _LINE, np.uint8)
    start = -room.ctypes.data % _LINE
    return room[start:start + size].view(kind).reshape(shape)


@dataclass(frozen=True)
class SiteWeights:
    """Of a colour's sites: own and block_sums as of `sweep_sites`."""

    own: np.ndarray
    block_sums: np.ndarray


@dataclass(frozen=True)
class PairWeights:
    """Of doubletons: pairs, near and far as of `sweep_sites`."""

    pairs: np.ndarray
    near: np.ndarray
    far: np.ndarray

    @classmethod
    def of(cls, pairs: np.ndarray, labels: int) -> PairWeights:
        """pairs: weights of `labels` labels. The least one of a row is that of labels that are far."""
        rows = pairs.reshape(-1, pairs.shape[-1])
        far = rows[:, :labels].min(1)
        unlike = (rows != far[:, None]) & (np.arange(rows.shape[1]) < labels)
        blocks = unlike.reshape(len(rows), -1, LANES).any(-1)
        held = _aligned(pairs.shape, np.float32)
        held[...] = pairs
        return cls(held, (blocks << np.arange(blocks.shape[1], dtype=np.uint64)).sum(1, dtype=np.uint64), far)


class CpuTables(FieldSites):
    """Takes 2 or 4 bytes a site and label, and 4 to 5 more where T rests, if these are at most a gibibyte. Labels count as the next
    multiple of 16.
    """

    def __init__(self, problem: Problem, threads: int | None = None) -> None:
        """threads: as of `solve`. Raises ProblemError where 31 bits do not hold the energies and their span of temperatures."""
        super().__init__(problem, threads)
        self._threads = threads_of(threads)
        self.size = -(-problem.labels // LANES) * LANES
        heaviest = 1 if not self.edges.size else int(self.edges.max())
        weights = np.arange(heaviest + 1) if self.edges.size else np.ones(1, np.int64)
        by_side = doubles(problem, np.int64)
        pairs = np.zeros((len(by_side), len(weights), problem.labels + 1, self.size), np.int64)
        pairs[..., :problem.labels] = weights[:, None, None] * by_side[:, None]
        self._deepest = 4 * int(pairs.max())
        # Labels that there are not, up to a multiple of LANES, have energies whose weights end.
        beyond = self.bound + math.ceil(STEEPEST * max(problem.schedule.hottest, 1)) + 1
        if beyond + self._deepest >= 1 << 31:
            raise ProblemError(f"energies go up to {float(self.bound):.3g}, temperatures to {problem.schedule.hottest:g}; backend "
                               f"cpu takes energies + {STEEPEST:g} temperatures up to 2^31: give smaller ones, or backend float")
        self.kind = np.int16 if beyond + self._deepest < 1 << 15 else np.int32
        self.energies = [self._singletons(sites, self.kind, beyond) for sites in self.sites]
        self.pairs = pairs.astype(self.kind)
        first = np.arange(problem.shape[0] + 1) * problem.shape[1]
        self.starts = [np.searchsorted(sites, first) for sites in self.sites]
        self._temperature = math.nan
        self._weights: list[SiteWeights] = []
        no_row = np.zeros(0, np.float32)
        self._of_energies = [SiteWeights(energies, no_row[None]) for energies in self.energies], PairWeights(
            self.pairs, np.zeros(0, np.uint64), no_row)

    def _singletons(self, sites: np.ndarray, kind: type[np.generic], beyond: int) -> np.ndarray:
        found = np.full((len(sites), self.size), beyond, kind)

        def share(first: int, last: int) -> None:
            for begin in range(first, last, _AT_ONCE // self.size):
                some = slice(begin, min(begin + _AT_ONCE // self.size, last))
                found[some, :self.problem.labels] = singles(self.problem, sites[some], self.problem.shape[1], kind)

        with compiling("load", kind):
            in_shares(share, len(sites), found.size // ENTRIES_WORTH_A_THREAD, self._threads)
        return found

    def weighs(self, temperature: float) -> bool:
        """Whether there are tables of weights at a temperature that rests."""
        sites = sum(map(len, self.sites))
        return (self._deepest <= _SMALLEST * temperature and 4 * sites * self.size <= _ROOM
                and 8 * self._energies_weighed(temperature) <= _ROOM)

    def _energies_weighed(self, temperature: float) -> int:
        """Entries of a table of weights by energy above the least, as far as float32 goes; the last is 0."""
        return min(self.bound, math.ceil(_FLOAT_ENDS * temperature)) + 2

    def at(self, temperature: float, rests: bool) -> tuple[list[SiteWeights], PairWeights]:
        """Of each colour's singletons and of doubletons: weights where `temperature` rests, else energies."""
        if not rests:
            return self._of_energies
        if temperature != self._temperature:
            table = np.exp(np.arange(self._energies_weighed(temperature)) / -temperature).astype(np.float32)
            table[-1] = 0.0
            if not self._weights:
                blocks = -(-self.size // (LANES * QUARTER)) * QUARTER
                self._weights = [SiteWeights(_aligned(energies.shape, np.float32), _aligned((len(energies), blocks), np.float32))
                                 for energies in self.energies]
            for energies, found in zip(self.energies, self._weights, strict=True):
                def share(first: int, last: int, energies: np.ndarray = energies, found: SiteWeights = found) -> None:
                    fill_site_weights(found.own[first:last], found.block_sums[first:last], energies[first:last],
                                      self.problem.labels, table)

                with compiling("weights", self.kind):
                    in_shares(share, len(energies), energies.size // ENTRIES_WORTH_A_THREAD, self._threads)
            self._pair_weights = PairWeights.of(table[np.minimum(self.pairs, len(table) - 1)], self.problem.labels)
            self._temperature = temperature
        return self._weights, self._pair_weights


class CpuChain(FieldChain):
    """A chain by the processor's vectors.

    drawn: sites drawn by weights so far.
    energy: of the field, of Equation 3.1 without shift; followed from its first reading on.
    """

    name = "cpu"
    tables_type = CpuTables
    tables: CpuTables

    def __init__(self, problem: Problem, run: Run, *, tables: CpuTables | None = None, threads: int | None = None,
                 cached: bool = True):
        """As of `FieldChain`.

        threads: of sweeps, too.
        cached: whether shares of labels are kept, where that saves time; nothing but the speed depends on it.
        """
        super().__init__(problem, run, tables=tables, threads=threads)
        self.drawn = 0
        self._cached, self._threads = cached, threads_of(threads)
        self._state = lane_states(run.seed, problem.shape[0])
        self._bounds = np.zeros(bounds_size(problem.shape), np.uint32)
        self._since = np.full(problem.sites, run.counts_from, np.int64)
        self._last, self._rests = math.inf, 0
        self._without = 0  # sweeps left without shares; below 0 how many there were with them
        self._energy: int | None = None

    @staticmethod
    def _count_type(run: Run) -> type[np.unsignedinteger[Any]]:
        return np.uint16 if run.after_burn_in < 1 << 16 else np.uint32

    @property
    def energy(self) -> int:
        if self._energy is None:
            self._energy = FieldEnergy(self.problem)(self.labels)
        return self._energy

    def _temperature(self) -> float:
        """That of the next sweep."""
        temperature = next(self._temperatures)
        if temperature > self._last or (temperature < self._last and self._rests >= RESTING):
            self._bounds.fill(0)  # of labels that are not of least energy, too
            self._without = 0
        self._rests = self._rests + 1 if temperature == self._last else 0
        self._last = temperature
        return temperature

    def sweep(self) -> None:
        """Update every site once: black, then white."""
        t, temperature = self.tables, self._temperature()
        (rows, cols), sites = self.problem.shape, self.problem.sites
        counts, sums = self._counts.reshape(sites, -1), self._sums.reshape(sites, -1)
        rests = self._rests >= RESTING and t.weighs(temperature)
        own, doubles = t.at(temperature, rests)
        scale = np.float32(min(1 / (temperature * math.log(2)), _STEEP))
        now = self.sweeps if self.sweeps >= self.run.counts_from else -1
        cached = self._cached and self._without <= 0

        def draw(colour: int, first: int, last: int) -> tuple[int, int]:
            return sweep_sites(
                colour, first, last, t.starts[colour], t.sites[colour], cols, scale, rests, own[colour].own, own[colour].block_sums,
                doubles.pairs, doubles.near, doubles.far, t.edges, t.flags.reshape(-1), self.labels.reshape(-1), self._bounds,
                self._state, counts, sums, self._since, now, cached, t.energies[colour], t.pairs,
                self._energy is not None)

        black, white = COLOURS

        def share(first: int, last: int) -> list[tuple[int, int]]:
            """All black sites, then the white ones that have no neighbour in another share."""
            if first > 0:
                edges.append(first)
            return [draw(black, first, last), draw(white, first + (first > 0), last - (last < rows))]

        edges: list[int] = []
        with compiling("cpu", doubles.pairs.dtype, self._counts.dtype):
            # The time of n threads is that of sites / n and of n - 1 handed over, one after the other.
            number = min(math.isqrt(t.drawn // _WHILE_HANDED_OVER), rows // 2)
            shares = in_shares(share, rows, number, self._threads)
            done = [*itertools.chain(*shares), *(draw(white, edge - 1, edge + 1) for edge in edges)]
        drawn = sum(many for many, _ in done)
        self.drawn += drawn
        self._without -= 1
        if cached and self._without < -1 and drawn > _KEEPING * t.drawn:  # not of the first sweep with them, which draws all
            self._without = _TRIED
            self._bounds.fill(0)
        if self._energy is not None:
            self._energy += sum(gained for _, gained in done)
        self.sweeps += 1

    def _settle(self) -> None:
        """Count the labels that sites still have, which `sweep_sites` counts when they change."""
        sites = np.concatenate(self.tables.sites)
        held, lasted = self.labels.reshape(-1)[sites], np.maximum(self.sweeps - self._since[sites], 0)
        if self._counts.size:
            self._counts.reshape(self.problem.sites, -1)[sites, held] += lasted.astype(self._counts.dtype)
        if self._sums.size:
            self._sums.reshape(-1, 2)[sites] += np.stack([lasted * held, lasted], -1)
        self._since.fill(max(self.sweeps, self.run.counts_from))

    def _own_state(self) -> dict[str, Any]:
        return {"generators": self._state.copy()}

    def restore(self, state: RunState) -> None:
        super().restore(state)
        assert state.generators is not None
        self._since.fill(max(self.sweeps, self.run.counts_from))
        self._state[...] = state.generators
        self._temperatures, self._last, self._rests, self._without = self.temperatures(), math.inf, 0, 0
        for _ in range(self.sweeps):
            self._temperature()
        self._bounds.fill(0)
        self._energy = None


def solve(problem: Problem, run: Run, *, threads: int | None = None,
          progress: Callable[[int], object] | None = None,
          observe: Observe | None = None) -> Result:
    """Sample `problem` for `run.sweeps` sweeps.

    threads: cores to use at most; None for the environment's MRFHW_THREADS or, without it, all that the process may use.
    progress: called after each sweep with the number of finished sweeps.
    observe: called with that number, a copy of the labels (H, W) uint8 and the field's energy.
    Result: backend "cpu"; no messages, cycles or lanes. Raises ProblemError.
    """
    began = time.perf_counter()
    chain = CpuChain(problem, run, threads=threads)
    advance(chain, progress, observe)
    return chain.result(time.perf_counter() - began)
