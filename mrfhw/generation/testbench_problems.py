"""The problems of a machine's testbench: some that use all of its parts, and small ones whose draws are decided by next to nothing.

A change of one bit of a number shows in the labels only where it changes a draw. In most draws it does not: a label wins by more
than the bit is worth. In a close problem the data of each site are therefore searched, with the bit-exact model, until its draw is
the one label with them and the other with data that differ by one step.
"""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from mrfhw.field.problem import Problem, ProblemError, Run, Schedule
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived
from mrfhw.machine.registers import DOUBLETON_CODES
from mrfhw.machine.samplers import Race
from mrfhw.placement.placement import place
from mrfhw.placement.temperature import realized_limits
from mrfhw.placement.visit_order import COLOURS
from mrfhw.twin.machine import Machine, complete

__all__ = ["SWEEPS", "close_problems", "general_problems", "problems"]

SWEEPS = 10  # of a general problem
_LABELS = 6
_READS = 1  # of each entry of the sampler's table, on average
_HOT_RUNS = 48  # at most, however long the table is
# Rows and columns of a general problem's offsets, of which it has the first that the machine holds: small tiles that hold what lies
# around them have little room.
_REACHES = (((-1, 0, 1), (-2, 0, 1)), ((0, 1), (-1, 0, 1)), ((0,), (-1, 0, 1)), ((0,), (0, 1)))
_HOT = 4  # the hot runs' temperature is this part of the energies' range, so that few noises exceed it


def problems(config: Config) -> list[tuple[Problem, Run]]:
    """Always the same, and without padding: what takes least time comes first, so that most faults are found soon.

    Raises ProblemError where the machine holds too few singleton-2 words for them.
    """
    try:
        cold, hot = close_problems(config)
        found = [*cold, *general_problems(config), *hot]
        for problem, run in found:
            place(config, problem, run)  # which refuses what does not fit
        return found
    except ProblemError as error:
        raise ProblemError(f"this machine has no testbench, whose problems it does not hold ({error}): leave --testbench out, or "
                           "give a machine that does") from None


def _shape(c: Derived, rows: int, cols: int) -> tuple[int, int]:
    """A grid without padding that gives a tile alone at least so many rows and columns, or all that it has."""
    return tuple(tiles * step * -(-min(least, most) // step) for tiles, step, least, most in (  # type: ignore[return-value]
        (c.mesh_rows, c.row_step, 2 if c.mesh_rows > 1 else rows, c.tile_rows),
        (c.mesh_cols, c.col_step, 4 if c.mesh_cols > 1 else cols, c.tile_cols)))


def _numbers(draw: random.Random, low: int, high: int, *size: int) -> np.ndarray:
    return np.array([draw.randrange(low, high) for _ in range(int(np.prod(size)))]).reshape(size)


def _temperature(c: Derived, scale: float, shift: int) -> float:
    """The temperature nearest to `scale`, in units of shifted energy, that the machine holds well."""
    low, high = realized_limits(c, shift)
    return float(np.clip(scale * (1 << shift), 1.1 * low, high / 1.1))


def _doubleton(c: Derived, draw: random.Random, kind: str) -> dict[str, Any]:
    """A doubleton of two labels, but for vectors."""
    return {"doubleton": kind, "tau": c.doubleton_max,
            **({"pairwise": _numbers(draw, 0, 1 << c.pairwise_bits, 2, 2)} if kind == "table" else {})}


def _most(c: Derived) -> int:
    """The largest datum of a close problem: squares of larger ones are more than most energies hold."""
    return int(min((1 << c.channel_bits[0]) - 1, 255))


def _energies(c: Derived, singleton: str) -> np.ndarray:
    """E_singleton of each datum with 0."""
    data = np.arange(_most(c) + 1)
    return {"absolute": data, "squared": data ** 2, "hamming": np.array([int(datum).bit_count() for datum in data])}[singleton]


def _pairs(c: Derived, singleton: str) -> np.ndarray:
    """(n, 2) data, in the order of how much more energy the first has than the second: for each difference, those that have the
    least."""
    energies = _energies(c, singleton)
    first, second = (grid.ravel() for grid in np.meshgrid(range(len(energies)), range(len(energies)), indexing="ij"))
    apart = energies[first] - energies[second]
    order = np.lexsort((energies[first], apart))
    found = order[np.unique(apart[order], return_index=True)[1]]
    return np.stack([first[found], second[found]], -1)


@dataclass(frozen=True)
class _Close:
    """A problem of two labels and one sweep, whose data are to be searched."""

    config: Derived
    draw: random.Random
    shape: tuple[int, int]
    singleton: str
    scale: float  # of the temperature
    shift: int
    alpha: int
    doubleton: dict[str, Any]
    seed: int

    def found(self) -> tuple[Problem, Run]:
        """Black sites, which are drawn first, by the two data of the second image that they alone compare with; then white ones by
        their own datum."""
        rows, cols = self.shape
        c, sites = self.config, np.add.outer(np.arange(rows), np.arange(cols))
        black = sites % 2 == COLOURS[0]
        first, second = np.zeros(self.shape, np.int64), np.zeros((rows, cols + 1), np.int64)
        data_of = second[:, :-1], second[:, 1:]  # views: a site's datum of each label; the last column has none of label 1
        run = Run(sweeps=1, seed=self.seed, initial=_numbers(self.draw, 0, 2, rows, cols), estimate="last")

        def drawn() -> np.ndarray:
            return complete(Machine(c, self._problem(first, second[:, :-1]), run, threads=1)).last

        pairs = _pairs(c, self.singleton)

        def put_second(number: np.ndarray) -> None:
            for side, datum in enumerate(data_of):
                datum[black] = pairs[number, side][black]

        def put_first(data: np.ndarray) -> None:
            first[~black] = data[~black]

        for put, most in ((put_second, len(pairs) - 1), (put_first, _most(c))):
            put(np.where(_numbers(self.draw, 0, 2, rows, cols) > 0, *self._between(put, most, drawn)))
        return self._problem(first, second[:, :-1]), run

    def _between(self, put: Callable[[np.ndarray], None], most: int,
                 drawn: Callable[[], np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
        """Numbers of each site that follow one another, with which its draws differ; the lowest ones where none are found."""
        below, above = np.zeros(self.shape, np.int64), np.full(self.shape, most)
        put(below)
        at_first = drawn()
        put(above)
        above = np.where(drawn() == at_first, 1, above)
        while (above - below > 1).any():
            middle = (below + above) // 2
            put(middle)
            same = drawn() == at_first
            below, above = np.where(same, middle, below), np.where(same, above, middle)
            above = np.maximum(above, below + 1)
        return below, above

    def _problem(self, first: np.ndarray, second: np.ndarray) -> Problem:
        several = len(self.config.channel_bits)
        kinds = [self.config.channel_singletons(number)[0] for number in range(1, several)]
        if several > 1:  # the others have the same datum everywhere
            first, second = (np.stack([data, *[np.zeros_like(data)] * (several - 1)], -1) for data in (first, second))
        return Problem(labels=2, singleton1=first, singleton2=second, offsets=np.array([(0, 0), (0, 1)]),
                       singleton=(self.singleton, *kinds) if kinds else self.singleton, alpha=self.alpha, beta=1,
                       energy_shift=self.shift, schedule=Schedule.constant(_temperature(self.config, self.scale, self.shift)),
                       **self.doubleton)


def _vectors(c: Derived, draw: random.Random) -> Iterator[np.ndarray]:
    """Pairs of vectors whose components differ by each number that there is."""
    half, size = 1 << max(0, c.vector_bits - 1), 1 << c.vector_bits
    for difference in range(size if c.vector_bits else 0):
        lowest = [draw.randrange(-half, half - by) for by in (difference, size - 1 - difference)]
        pair = np.array([lowest, [low + by for low, by in zip(lowest, (difference, size - 1 - difference), strict=True)]])
        for component in range(2):
            if draw.randrange(2):
                pair[:, component] = pair[::-1, component]
        yield pair


def close_problems(config: Config) -> tuple[list[tuple[Problem, Run]], list[tuple[Problem, Run]]]:
    """One sweep each. Cold ones, decided by one unit of energy: each singleton with each doubleton, and each difference of vectors.
    Hot ones, decided by the least bits of the noise, as many as read each entry of the sampler's table once on average."""
    c, draw, seeds = Derived.of(config), random.Random(2), itertools.count(100)
    singletons = c.channel_singletons(0)
    widest = "squared" if "squared" in singletons else singletons[0]

    def close(shape: tuple[int, int], singleton: str, part: float, doubleton: dict[str, Any]) -> tuple[Problem, Run]:
        """part: of the singletons' range that is the temperature, 0 for the coldest."""
        alpha = 1 if singleton == "squared" else min(c.weight_max, 16 if part else 1)
        most = alpha * int(_energies(c, singleton).max())
        doubletons = 4 * int((np.ptp(doubleton["vectors"], 0) ** 2).sum()) if "vectors" in doubleton else 0
        shift = min(c.shift_max, max(0, max(most, doubletons).bit_length() - c.energy_bits))
        return _Close(c, draw, shape, singleton, part * (most >> shift), shift, alpha, doubleton, next(seeds)).found()

    kinds = [kind for kind in c.doubleton_kinds if kind != "squared"]
    small, large = _shape(c, 4, 6), _shape(c, 12, 16)
    cold = [close(small, singleton, 0, _doubleton(c, draw, kind)) for singleton in singletons for kind in kinds]
    if "squared" in c.doubleton_kinds:
        cold += [close(small, widest, 0, {**_doubleton(c, draw, "squared"), "vectors": pair}) for pair in _vectors(c, draw)]
    entries = len(c.sampler.gumbel_entries if isinstance(c.sampler, Race) else c.sampler.exponent_table)
    runs = min(_HOT_RUNS, math.ceil(_READS * entries / (2 * large[0] * large[1])))
    return cold, [close(large, widest, draw.uniform(0.7, 1) / _HOT, _doubleton(c, draw, kinds[number % len(kinds)]))
                  for number in range(runs)]


def _offsets(reach: tuple[tuple[int, ...], tuple[int, ...]], labels: int) -> np.ndarray:
    """Of so many labels, several of the same offset where the reach has fewer."""
    return np.array(list(itertools.islice(itertools.cycle(itertools.product(*reach)), 1, 1 + labels)))


def _held(c: Derived, problem: Problem) -> Problem:
    """The problem with the widest reach that the machine holds, the least one where it holds none."""
    for reach in _REACHES:
        problem = dataclasses.replace(problem, offsets=_offsets(reach, problem.labels))
        with contextlib.suppress(ProblemError):
            place(c, problem, Run(sweeps=1))
            break
    return problem


def general_problems(config: Config) -> list[tuple[Problem, Run]]:
    """Of several labels and sweeps, with what the machine has of masks, weights, limits, temperatures and tables."""
    c, draw = Derived.of(config), random.Random(1)
    shape = _shape(c, 6, 8)
    labels = min(_LABELS, c.max_labels)
    several = (len(c.channel_bits),) if len(c.channel_bits) > 1 else ()

    def numbers(low: int, high: int, *size: int) -> np.ndarray:
        return _numbers(draw, low, high, *size)

    def data(*size: int, most: int = 1 << 16) -> np.ndarray:
        channels = [numbers(0, min(1 << bits, most), *size) for bits in c.channel_bits]
        return np.stack(channels, -1) if several else channels[0]

    def temperature(scale: float, shift: int) -> float:
        return _temperature(c, scale, shift)

    kinds = [c.channel_singletons(number) for number in range(len(c.channel_bits))]

    def singleton(wanted: str) -> str | tuple[str, ...]:
        found = tuple(wanted if wanted in kind else kind[0] for kind in kinds)
        return found if several else found[0]

    half, shift = 1 << max(0, c.vector_bits - 1), min(1, c.shift_max)
    squared = "squared" in c.doubleton_kinds
    vectors = numbers(-half, half, labels, 2)
    weights: dict[str, Any] = {"edges": numbers(0, 1 << c.edge_bits, *shape, 2)} if c.edge_bits else {}
    limit: dict[str, Any] = {}
    if c.singleton_cap:
        limit["singleton_max"] = (1 << min(c.channel_singleton_bits(n) for n in range(len(kinds)))) // 3
    alpha, beta = min(3, c.weight_max), min(5, c.weight_max)
    hot, cold = temperature(40, shift), temperature(10, shift)
    found = [
        Problem(labels=labels, singleton1=data(*shape), singleton2=data(*shape),
                offsets=_offsets(_REACHES[0], labels),
                singleton=singleton("absolute"), alpha=alpha, beta=beta, tau=min(3, c.doubleton_max),
                energy_shift=shift, out_of_range=min(9, (1 << c.singleton_bits) - 1),
                observed=numbers(0, 5, *shape) > 0, clamped=numbers(0, 8, *shape) == 0,
                schedule=Schedule.geometric(hot, 0.9, cold), **weights),
        Problem(labels=labels, singleton1=data(*shape, most=8), constants=data(labels, most=8), singleton=singleton("squared"),
                alpha=1, beta=1, doubleton="squared" if squared else "absolute", vectors=vectors if squared else None,
                tau=min(60, c.doubleton_max),
                schedule=Schedule.of_table((temperature(60, 0), temperature(30, 0)), 3), **limit),
        Problem(labels=min(3, labels), singleton1=data(*shape), constants=data(min(3, labels)),
                singleton=singleton("hamming"), alpha=1, beta=beta, doubleton="potts",
                schedule=Schedule.constant(temperature(25, 0))),
    ]
    found[0] = _held(c, found[0])
    if c.pairwise_bits:
        found.append(Problem(labels=labels, singleton1=data(*shape), constants=data(labels), singleton=singleton("absolute"),
                             doubleton="table", pairwise=numbers(0, 1 << c.pairwise_bits, labels, labels), alpha=1, beta=beta,
                             schedule=Schedule.constant(temperature(30, 0)), **weights))
    if c.subset_slots:  # more labels than a subset has
        many = min(c.max_labels, c.lanes * (c.subset_slots + 2))
        found.append(Problem(labels=many, singleton1=data(*shape), constants=data(many), singleton=singleton("absolute"), alpha=1,
                             beta=beta, tau=min(3, c.doubleton_max), schedule=Schedule.constant(temperature(25, 0))))
    assert set(DOUBLETON_CODES) == {"absolute", "squared", "potts", "table"}
    runs = [(problem, Run(sweeps=SWEEPS, burn_in=1, seed=number)) for number, problem in enumerate(found)]
    return [*runs, (found[0], Run(sweeps=4, burn_in=1, seed=len(found), estimate="mean"))]  # no more than an entry's sums hold
