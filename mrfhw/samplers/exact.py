"""Gibbs sampling in double precision: the mathematics without quantization (backend "float").

Equation 3.1 without shift, floor or cap, and p(l) = exp(-E(l) / T) / sum of exp(-E / T), for all black
sites ((row + column) even) and then for all white ones. Energies are whole numbers, so that exp() comes from a table.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from mrfhw.field.colours import COLOURS
from mrfhw.field.problem import Problem, Run
from mrfhw.field.result import Result
from mrfhw.field.state import RunState
from mrfhw.samplers.chain import Observe, advance
from mrfhw.samplers.data import doubles, singles
from mrfhw.samplers.exact_kernel import count_labels, float_cdf
from mrfhw.samplers.field_chain import FieldChain
from mrfhw.samplers.sites import FieldSites
from mrfhw.system.progress import compiling

__all__ = ["FloatChain", "FloatTables", "solve"]

_WEIGHTS = 1 << 16  # energies above the least whose weights are looked up


class FloatTables(FieldSites):
    """Takes 4 or 8 bytes a site and label.

    kind: int32 where energies fit, else int64.
    singles: of each colour (sites, L), alpha E_singleton.
    doubles: beta E_doubleton, as of `mrfhw.samplers.sites_kernel.site_energies`.
    """

    def __init__(self, problem: Problem, threads: int | None = None) -> None:
        super().__init__(problem, threads)
        self.kind = kind = np.int32 if self.bound < 1 << 31 else np.int64
        with compiling("load", kind):
            self.singles = [singles(problem, sites, problem.shape[1], kind) for sites in self.sites]
            self.doubles = doubles(problem, kind)


class FloatChain(FieldChain):
    """A chain in float64, by NumPy's PCG64 seeded by (run.seed, 2): a number for each unclamped site, black sites in raster order
    and then white ones, sweep after sweep."""

    name = "float"
    tables_type = FloatTables
    tables: FloatTables

    def __init__(self, problem: Problem, run: Run, *, tables: FloatTables | None = None, threads: int | None = None):
        super().__init__(problem, run, tables=tables, threads=threads)
        self._rng = np.random.Generator(np.random.PCG64([run.seed, 2]))
        self._weights, self._last = np.empty(0), math.nan

    def sweep(self) -> None:
        """Update every site once: black, then white."""
        temperature = next(self._temperatures)
        for colour in COLOURS:
            self._draw(colour, temperature)
        if self.sweeps >= self.run.counts_from:
            flat = self.labels.reshape(-1)
            for sites in self.tables.sites:
                if self._counts.size:
                    count_labels(self._counts.reshape(-1, self.problem.labels), sites, flat)
                if self._sums.size:
                    self._sums.reshape(-1, 2)[sites] += np.stack([flat[sites], np.ones(len(sites), np.int64)], -1)
        self.sweeps += 1

    def _draw(self, colour: int, temperature: float) -> None:
        """Update a colour's sites."""
        if temperature != self._last:
            self._weights = np.exp(np.arange(min(_WEIGHTS, self.tables.bound + 1)) / -temperature)
            self._last = temperature
        with compiling("float", self.tables.kind):
            float_cdf(*self._drawing(colour, temperature, self._weights), self._uniforms(colour))

    def _drawing(self, colour: int, temperature: float, table: np.ndarray) -> tuple[Any, ...]:
        """What the loops take before uniform numbers; table: as of `float_cdf`, or of another draw."""
        t = self.tables
        return (t.sites[colour], self.problem.shape[1], temperature, table, t.singles[colour], t.doubles, t.edges,
                t.flags.reshape(-1), self.labels.reshape(-1))

    def _uniforms(self, colour: int) -> np.ndarray:
        """(sites of the colour,) in [0, 1)."""
        return self._rng.random(len(self.tables.sites[colour]))

    def _own_state(self) -> dict[str, Any]:
        return {"random": self._rng.bit_generator.state}

    def restore(self, state: RunState) -> None:
        super().restore(state)
        assert state.random is not None
        self._rng.bit_generator.state = state.random


def solve(problem: Problem, run: Run, *, progress: Callable[[int], object] | None = None,
          observe: Observe | None = None) -> Result:
    """Sample `problem` for `run.sweeps` sweeps in float64.

    progress: called after each sweep with the number of finished sweeps.
    observe: called with that number, a copy of the labels (H, W) uint8 and None.

    The result's backend is "float"; it has no messages, cycles or lanes.
    Raises ProblemError.
    """
    began = time.perf_counter()
    chain = FloatChain(problem, run)
    advance(chain, progress, observe)
    return chain.result(time.perf_counter() - began)
