"""How fast chains of a field mix on a machine that evaluates subsets of a site's labels, before anything is sampled there."""

from __future__ import annotations

from itertools import islice

import numpy as np

from mrfhw.analysis.many_series import effective_sizes
from mrfhw.field.energy import doubleton_table, edge_weights
from mrfhw.field.problem import Problem, Run
from mrfhw.machine.config import Config
from mrfhw.placement.label_groups import LabelGroups
from mrfhw.placement.subsets import Subsets
from mrfhw.samplers.data import singles

__all__ = ["ENOUGH", "mixing_note", "predicted_mixing"]

ENOUGH = 0.5  # of the effective samples of a visit that evaluates all slots; less is said
PATCHES, SIDE = 6, 10  # of a field, each so many rows and columns
WARM, STEPS = 10, 300  # sweeps until neighbours' labels are likely ones, and visits that are compared
AROUND = ((-1, 0), (1, 0), (0, -1), (0, 1))  # as of `edge_weights`
TURN = (0, 3, 1, 2)  # one after another around a site


def mixing_note(config: Config | None, problem: Problem, run: Run) -> str | None:
    """A line about a field whose chains mix slowly on a machine with subsets; None where they do not, or nothing is known."""
    if config is None or not config.subset_slots:
        return None
    share = predicted_mixing(config, problem, run)
    if share is None or share >= ENOUGH:
        return None
    slots = LabelGroups.of(config, problem).slots
    return (f"Note: a visit of this machine evaluates {config.subset_slots} of a site's {slots} slots of labels; chains of this "
            f"field mix about {share:.2f} times as fast as with all of them, by a trial of some sites: give more sweeps, or a "
            "machine with more slots (--set subset_slots=N)")


def predicted_mixing(config: Config, problem: Problem, run: Run) -> float | None:
    """Effective samples of a visit, times those of one that evaluates all slots: the median of sites whose neighbours rest; None
    where no site moves.

    config: with `subset_slots`. The temperature is that of the middle of the sweeps that `run` counts. Sites lie in PATCHES
    patches, whose labels are likely ones. The same arguments give the same number.
    """
    subsets = Subsets.of(config, LabelGroups.of(config, problem))
    if not subsets.others.any():
        return 1.0
    rng = np.random.default_rng(0)
    middle = (run.burn_in + run.sweeps) // 2
    temperature = next(islice(problem.schedule.temperatures(), middle, None), None) or problem.schedule.hottest
    found = [_patch(problem, float(temperature), rng) for _ in range(PATCHES)]
    chances = np.concatenate([chance for chance, _ in found])
    if not len(chances):
        return None
    around = np.concatenate([labels for _, labels in found])
    looks = _visits(chances, np.where(around < 0, -1, subsets.slot[around]), subsets, rng)
    moving = looks[np.ptp(looks, axis=1) > 0]
    return float(np.median(effective_sizes(moving[:, None], (0.05, 0.95))[0])) / STEPS if len(moving) else None


def _patch(problem: Problem, temperature: float, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Of a patch's free sites off its rim: probabilities (n, L) of their labels, and the labels (n, 4) of their neighbours in the
    order of TURN, -1 for none."""
    height, width = (min(SIDE, size) for size in problem.shape)
    top, left = (int(rng.integers(0, size - part + 1)) for size, part in zip(problem.shape, (height, width), strict=True))
    rows, cols = np.mgrid[top:top + height, left:left + width]
    own = singles(problem, (rows * problem.shape[1] + cols).astype(np.int32), problem.shape[1], np.float64)
    weights = edge_weights(problem)[top:top + height, left:left + width].astype(float)
    table = problem.beta * doubleton_table(problem).astype(float)
    tables = table, table.T, table, table.T  # of the neighbour's label and the site's
    labels = own.argmin(-1)

    def energies() -> np.ndarray:
        total = own.copy()
        padded = np.pad(labels, 1, constant_values=-1)
        for side, (down, right) in enumerate(AROUND):
            other = padded[1 + down:1 + down + height, 1 + right:1 + right + width]
            total += np.where(other < 0, 0, weights[..., side])[..., None] * tables[side][other]
        return total

    free = np.ones((height, width), np.bool_)
    if problem.clamped is not None:
        free = ~np.asarray(problem.clamped)[top:top + height, left:left + width]
    for sweep in range(2 * WARM):
        drawn = (rng.gumbel(size=own.shape) - energies() / temperature).argmax(-1)
        labels = np.where(free & ((rows + cols) % 2 == sweep % 2), drawn, labels)
    inside = free.copy()
    for axis, (begin, size) in enumerate(zip((top, left), problem.shape, strict=True)):
        index = np.moveaxis(inside, axis, 0)
        index[0] &= begin == 0  # a rim has neighbours that are not there, but at the picture's edge
        index[-1] &= begin + len(index) == size
    total = energies()
    chances = np.exp(-(total - total.min(-1, keepdims=True)) / temperature)
    padded = np.pad(labels, 1, constant_values=-1)
    around = np.stack([padded[1 + down:1 + down + height, 1 + right:1 + right + width]
                       for down, right in (AROUND[side] for side in TURN)], -1)
    return chances[inside], around[inside]


def _visits(chances: np.ndarray, near: np.ndarray, subsets: Subsets, rng: np.random.Generator) -> np.ndarray:
    """(n, STEPS) labels of visits to sites of chances (n, L), whose neighbours have the slots near (n, 4), -1 for none.

    Each visit draws its subset and its label by the law that `mrfhw.placement.subsets` states.
    """
    n, slots = len(chances), int(subsets.slot.max()) + 1
    every, found = np.arange(n), np.empty((n, STEPS))
    labels = (chances.cumsum(1) > rng.random((n, 1)) * chances.sum(1, keepdims=True)).argmax(1)
    for step in range(STEPS):
        weights, taken = np.zeros((n, slots)), np.zeros(n, int)
        first = rng.integers(4, size=n)
        for turn in range(4):
            slot = near[every, (first + turn) % 4]
            new = (slot >= 0) & (taken < subsets.near) & (weights[every, slot] == 0)
            weights[every[new], slot[new]] = 1
            taken += new
        among = weights > 0
        drawn, own = np.zeros((n, slots)), subsets.slot[labels]
        for number in range(subsets.size):
            other = np.where(among, -1, rng.random((n, slots))).argmax(1)
            if number == 0:
                other = np.where(among[every, own], other, own)
            some = number < subsets.size - taken
            drawn[every[some], other[some]] += 1
        weights += drawn * (subsets.others[taken] / (subsets.size - taken))[:, None]
        sums = (chances * weights[:, subsets.slot]).cumsum(1)
        labels = (sums > rng.random((n, 1)) * sums[:, -1:]).argmax(1)
        found[:, step] = labels
    return found
