"""First labels that shorten the burn-in: those of the least energies along four paths to a site (semi-global matching)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from mrfhw.field.energy import doubleton_table, edge_weights
from mrfhw.field.problem import Problem
from mrfhw.samplers.data import energy_bound, singles
from mrfhw.samplers.paths_kernel import add_paths
from mrfhw.system.progress import working
from mrfhw.system.threads import ENTRIES_WORTH_A_THREAD, in_shares, threads_of

__all__ = ["Paths", "path_start"]

ENTRIES = 1 << 22  # of a block of rows: energies of its sites' labels that are kept at a time
UP, DOWN, LEFT, RIGHT = range(4)  # as of `edge_weights`


class Paths:
    """The paths through a problem's field, block by block of rows.

    stiffness: times an edge's weight in the field. bound: that no sum of a site's paths exceeds. kind: of energies; None for one
    whose sums are exact in vector instructions. near: of each of two sides, offsets (K,) and costs (K, L) of label l with the label
    l + offset at the site before; far: the cost with all other labels. weights: (H, W, 4) of edges to the sites around.
    """

    def __init__(self, problem: Problem, stiffness: int, threads: int, kind: type[np.number[Any]] | None = None):
        self.problem, self.threads, self.bound = problem, threads, 8 * stiffness * energy_bound(problem)
        self.kind = kind or (np.float32 if self.bound < 1 << 24 else np.float64)
        self.weights = stiffness * edge_weights(problem).astype(self.kind)
        table = problem.beta * doubleton_table(problem)
        self.far = self.kind(table.max())
        self.near = [self._near(one) for one in (table, table.T)]  # of the label before above or to the left, and of one after

    def _near(self, table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Offsets (K,) and costs (K, L) of label l with the label l + offset at the site before: table[l + offset, l]."""
        labels = len(table)
        offsets = [k for k in range(1 - labels, labels) if (np.diagonal(table, -k) < self.far).any()]
        costs = np.full((len(offsets), labels), self.far, self.kind)
        for number, k in enumerate(offsets):
            costs[number, max(0, -k):min(labels, labels - k)] = np.diagonal(table, -k)
        return np.array(offsets, np.int64), costs

    def shared(self, work: Callable[[int, int], None], parts: int, entries: int) -> None:
        """`work` on `parts` things that have `entries` energies in all."""
        in_shares(work, parts, entries // ENTRIES_WORTH_A_THREAD, self.threads)

    def singles(self, first: int, last: int) -> np.ndarray:
        """(sites, L) of the rows from `first` to before `last`."""
        cols, labels = self.problem.shape[1], self.problem.labels
        out = np.empty(((last - first) * cols, labels), self.kind)

        def share(begin: int, end: int) -> None:
            out[begin:end] = singles(self.problem, np.arange(first * cols + begin, first * cols + end), cols, self.kind)

        self.shared(share, len(out), out.size)
        return out

    def add(self, sums: np.ndarray, own: np.ndarray, states: np.ndarray, first: int, side: int) -> None:
        """Paths that come from `side` through a block, whose first row is `first`; states (lines, L) as of `add_paths`."""
        cols = self.problem.shape[1]
        rows = len(own) // cols
        weights = np.ascontiguousarray(self.weights[first:first + rows, :, side]).reshape(-1)
        line_stride, steps, stride = (1, rows, cols) if side in (UP, DOWN) else (cols, cols, 1)
        offsets, costs = self.near[side in (DOWN, RIGHT)]
        forwards = stride if side in (UP, LEFT) else -stride

        def share(begin: int, end: int) -> None:
            add_paths(sums, own, states, weights, offsets, costs, self.far, begin, end, line_stride, steps, forwards)

        self.shared(share, len(states), own.size)


def path_start(problem: Problem, stiffness: int, threads: int | None = None) -> np.ndarray:
    """Labels, uint8 (H, W), of the least sum of the energies of a site's four paths, from each side of the picture in a straight
    line, whose edges weigh `stiffness` times as much as the field's; the lowest on ties.

    Hirschmueller, Stereo Processing by Semi-Global Matching and Mutual Information, 2008, with four paths. The time grows with
    labels times the number of distances of labels whose doubleton is below the largest. threads: as of
    `mrfhw.system.threads.threads_of`.
    """
    (rows, cols), labels = problem.shape, problem.labels
    paths = Paths(problem, stiffness, threads_of(threads))
    height = max(1, ENTRIES // (cols * labels))
    blocks = [(first, min(rows, first + height)) for first in range(0, rows, height)]
    none = np.empty((0, labels), paths.kind)
    out = np.empty(rows * cols, np.uint8)
    with working("first labels"):
        # Paths from below are followed twice, so that no more than a block's energies are held: first to where each block ends.
        state, below = np.zeros((cols, labels), paths.kind), []
        for first, last in reversed(blocks):
            below.append(state.copy())
            if first:
                paths.add(none, paths.singles(first, last), state, first, DOWN)
        above = np.zeros((cols, labels), paths.kind)
        for (first, last), state in zip(blocks, reversed(below), strict=True):
            own = paths.singles(first, last)
            sums = -3 * own  # of the site's own in four paths, one counts
            for side, states in ((UP, above), (DOWN, state), *((side, np.zeros((last - first, labels), paths.kind))
                                                               for side in (LEFT, RIGHT))):
                paths.add(sums, own, states, first, side)

            def share(begin: int, end: int, sums: np.ndarray = sums, first: int = first) -> None:
                out[first * cols + begin:first * cols + end] = sums[begin:end].argmin(-1)

            paths.shared(share, len(own), own.size)
    return out.reshape(rows, cols)
