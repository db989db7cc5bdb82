"""A field's data as the kernels take them, and the whole weights of energies."""

from __future__ import annotations

import math

import numpy as np

from mrfhw.field.problem import Problem, ProblemError
from mrfhw.samplers.data import doubles, singles
from mrfhw.samplers.sites import FieldSites
from mrfhw.system.progress import compiling

__all__ = ["MOST_WEIGHTS", "GpuTables", "weight_bits", "weight_table"]

MOST_WEIGHTS = 1 << 24  # of a temperature: 64 MiB
SUM_BITS = 31  # of the weights of a site's labels together, so that they and a point among them are uint32


def weight_bits(labels: int) -> int:
    """The weight of the least energy is 2 to the power of this, so that the sum of all labels' has at most SUM_BITS."""
    return SUM_BITS - (labels - 1).bit_length()


def weight_table(temperature: float, labels: int, bound: int, cutoff: float = math.inf) -> np.ndarray:
    """(n,) uint32: 2^b exp(-e / T), rounded, of energies e = 0, 1, 2 and so on above a site's least; the last is 0, unless no
    energy goes beyond it.

    temperature: T, in the units of energies.
    labels: L of the field, which b depends on (`weight_bits`).
    bound: that no energy exceeds.
    cutoff: C of Equation 4.1: what is 1 / C of the largest, or less, is 0.
    """
    exact = np.exp(np.arange(_last(temperature, labels, bound) + 1) / -temperature)
    weights = np.rint(exact * (1 << weight_bits(labels))).astype(np.uint32)
    weights[exact <= 1 / cutoff] = 0
    return weights


def _last(temperature: float, labels: int, bound: int) -> int:
    """The last energy of a table: its weight is below a half, or none is beyond it."""
    return int(min(bound, (weight_bits(labels) + 1) * math.log(2) * temperature + 1))


class GpuTables(FieldSites):
    """Takes 2 or 4 bytes a site and label, here and on the device.

    half: cells of a colour in a row, (columns + 1) // 2; those beyond the last column of a row are no sites.
    singles: (2, L, H, half) int16 or int32, alpha E_singleton by colour.
    doubles: (1 or 2, L + 1, L) int32, as of `mrfhw.samplers.sites_kernel.site_energies`.
    clamped: (H, W) uint8.
    """

    def __init__(self, problem: Problem, threads: int | None = None) -> None:
        """As of `FieldSites`. Raises ProblemError where 31 bits do not hold the energies, too."""
        super().__init__(problem, threads)
        if self.bound >= 1 << 31:
            raise ProblemError(f"energies go up to {float(self.bound):.3g}; backend gpu takes them below 2^31: give smaller data, "
                               "alpha or beta, or backend float")
        (rows, columns), labels, hottest = problem.shape, problem.labels, problem.schedule.hottest
        if _last(hottest, labels, self.bound) >= MOST_WEIGHTS:
            raise ProblemError(f"energies go up to {float(self.bound):.3g}, temperatures to {hottest:g}; backend gpu has a weight "
                               f"for each of {MOST_WEIGHTS} energies at most: give smaller ones, or backend float")
        self.half = (columns + 1) // 2
        self.doubles = doubles(problem, np.int32)
        deepest = 4 * int(self.doubles.max()) * (1 if not self.edges.size else int(self.edges.max()))
        self.kind = np.int16 if self.bound + deepest < 1 << 15 else np.int32
        self.clamped = np.zeros(problem.shape, np.uint8) if problem.clamped is None else problem.clamped.astype(np.uint8)
        self.singles = np.zeros((2, labels, rows, self.half), self.kind)
        row, x = np.indices((rows, self.half))
        with compiling("load", self.kind):
            for colour, found in enumerate(self.singles):
                column = 2 * x + ((row + colour) & 1)
                there = column < columns
                sites = (row * columns + column)[there].astype(np.int32)
                found[:, there] = singles(problem, sites, columns, self.kind).T
