"""The sites of a field in the order in which chains in software draw them."""

from __future__ import annotations

import numpy as np

from mrfhw.field.colours import COLOURS, colours
from mrfhw.field.problem import Problem, ProblemError
from mrfhw.samplers.data import edges, energy_bound
from mrfhw.samplers.sites_kernel import fill_flags
from mrfhw.system.progress import compiling

__all__ = ["FieldSites"]

_ENERGIES = 1 << 62  # int64, with room for their differences
_COLDEST = 1e-300  # float64 holds the inverse, times what tables of weights have as energies


class FieldSites:
    """A problem, checked, and its sites by colour.

    problem: the field.
    bound: that no energy exceeds.
    sites: of each colour those that are drawn, int32 flat indices in raster order.
    drawn: how many in all.
    flags: (H, W) uint8, as of `mrfhw.samplers.sites_kernel.site_energies`.
    edges: (sites, 4) uint8, as there.
    """

    def __init__(self, problem: Problem, threads: int | None = None) -> None:
        """Raises ProblemError for energies or temperatures that 64 bits do not hold.

        problem: the field.
        threads: as of `mrfhw.system.threads.threads_of`, to make tables.
        """
        self.problem, self.bound = problem, energy_bound(problem)
        if self.bound >= _ENERGIES:
            raise ProblemError(f"energies go up to {float(self.bound):.3g}; the limit is 2^62: give smaller data, alpha or beta")
        if problem.schedule.coldest < _COLDEST:
            raise ProblemError(f"temperature is {problem.schedule.coldest:g}; samplers in software take {_COLDEST:g} and above: "
                               "give that or more")
        free, colour = True if problem.clamped is None else ~problem.clamped, colours(problem.shape)
        self.sites = [np.flatnonzero((colour == each) & free).astype(np.int32) for each in COLOURS]
        self.drawn = sum(map(len, self.sites))
        self.flags = np.zeros(problem.shape, np.uint8)
        with compiling("flags"):
            fill_flags(self.flags, *problem.shape)
        self.edges = edges(problem).reshape(-1, 4)
