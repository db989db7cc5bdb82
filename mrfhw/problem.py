"""A first-order MRF on a grid: its energies, its temperature and how long it is sampled (Equation 3.1)."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from mrfhw.config import Config

__all__ = [
    "LABELS_MAX", "LABELS_MIN", "Problem", "ProblemError", "Run", "Schedule", "check_labels", "check_one_size",
    "doubleton_table", "initial_labels", "least_singleton",
    "singleton_energies", "singleton_energy",
]

LABELS_MIN, LABELS_MAX = 2, 64
SINGLETONS = ("absolute", "squared")
DOUBLETONS = ("absolute", "squared", "potts")


class ProblemError(ValueError):
    """Input that cannot be solved. The message names the value, the limit and a way out."""


def _finite(name: str, value: float, low: float, hint: str) -> float:
    if not math.isfinite(value) or value <= low:
        raise ProblemError(f"{name} is {value}; it must be a finite number above {low:g}: {hint}")
    return float(value)


def _shape(array: np.ndarray | None) -> tuple[int, ...]:
    return () if array is None else np.shape(array)


@dataclass(frozen=True)
class Schedule:
    """Temperature by sweep, in units of unshifted energy.

    kind "constant": `start` throughout. "geometric": start x ratio^sweep, not beyond `limit`.
    "table": `table[i]` for `stride` sweeps each; the last entry holds.
    """

    kind: str = "constant"
    start: float = 1.0
    ratio: float = 1.0
    limit: float = 1.0
    table: tuple[float, ...] = ()
    stride: int = 1

    def __post_init__(self) -> None:
        hint = "give a positive temperature"
        if self.kind not in ("constant", "geometric", "table"):
            raise ProblemError(f"schedule is {self.kind!r}; it must be constant, geometric or table: choose one")
        if self.kind == "table":
            if not self.table:
                raise ProblemError("the temperature table is empty; it needs at least 1 entry: give one")
            for value in self.table:
                _finite("temperature", value, 0, hint)
            if not 1 <= self.stride < 1 << 32:
                raise ProblemError(f"stride is {self.stride}; a table entry holds for 1 to 2^32 - 1 sweeps: give one of them")
        else:
            _finite("temperature", self.start, 0, hint)
        if self.kind == "geometric":
            if not 0 < self.ratio <= 1:
                raise ProblemError(f"ratio is {self.ratio}; cooling takes a ratio above 0 and at most 1: give one")
            _finite("temperature limit", self.limit, 0, hint)
            if self.limit > self.start:
                raise ProblemError(f"temperature limit is {self.limit}; cooling from {self.start} ends at or below it: "
                                   "give a lower limit")

    @classmethod
    def constant(cls, temperature: float) -> Schedule:
        return cls("constant", start=temperature)

    @classmethod
    def geometric(cls, start: float, ratio: float, limit: float) -> Schedule:
        return cls("geometric", start=start, ratio=ratio, limit=limit)

    @classmethod
    def of_table(cls, table: tuple[float, ...], stride: int = 1) -> Schedule:
        return cls("table", table=tuple(table), stride=stride)

    @property
    def hottest(self) -> float:
        return max(self.table) if self.kind == "table" else self.start

    @property
    def coldest(self) -> float:
        if self.kind == "table":
            return min(self.table)
        return self.limit if self.kind == "geometric" else self.start


@dataclass(frozen=True, kw_only=True)
class Problem:
    """An MRF on an H x W grid (docs/machine.md, The mathematics).

    labels: L, 2..64. singleton1: (H, W) integers, each site's datum.
    singleton2: (H2, W2) integers, the second image, with `offsets` (L, 2) as (row, column) per label, or
    None with `constants` (L,), one datum per label. singleton2_origin: the (row, column) of the second image that
    lies over site (0, 0), so s2(l) = singleton2[site + singleton2_origin + offset(l)].
    singleton, doubleton: names from SINGLETONS, DOUBLETONS. vectors: (L, 2) integers for "squared".
    alpha, beta: whole weights. tau: truncation of each doubleton, None for none.
    energy_shift: bits dropped from the sum. out_of_range: E_singleton where the second image has no pixel.
    observed: (H, W) bool; False takes E_singleton = 0 for all labels. None: all observed.
    clamped: (H, W) bool; True keeps the initial label. None: none.
    schedule: temperature by sweep.
    """

    labels: int
    singleton1: np.ndarray
    singleton2: np.ndarray | None = None
    offsets: np.ndarray | None = None
    singleton2_origin: tuple[int, int] = (0, 0)
    constants: np.ndarray | None = None
    singleton: str = "absolute"
    doubleton: str = "absolute"
    vectors: np.ndarray | None = None
    alpha: int = 1
    beta: int = 1
    tau: int | None = None
    energy_shift: int = 0
    out_of_range: int = 0
    observed: np.ndarray | None = None
    clamped: np.ndarray | None = None
    schedule: Schedule = field(default_factory=Schedule)

    def __post_init__(self) -> None:
        if self.singleton not in SINGLETONS:
            raise ProblemError(f"singleton is {self.singleton!r}; it must be one of {', '.join(SINGLETONS)}: choose one")
        if self.doubleton not in DOUBLETONS:
            raise ProblemError(f"doubleton is {self.doubleton!r}; it must be one of {', '.join(DOUBLETONS)}: choose one")
        check_labels("labels", self.labels)
        if self.singleton1.ndim != 2 or 0 in self.singleton1.shape:
            raise ProblemError(f"the first image has shape {self.singleton1.shape}; a grid has rows and columns: "
                               "give a two-dimensional array that is not empty")
        if (self.singleton2 is None) == (self.constants is None):
            raise ProblemError("give either a second image with offsets or one constant per label")
        if self.singleton2 is not None:
            if self.offsets is None or _shape(self.offsets) != (self.labels, 2):
                raise ProblemError(f"offsets has shape {_shape(self.offsets)}; {self.labels} labels need "
                                   f"({self.labels}, 2): give one (row, column) a label")
            if self.singleton2.ndim != 2 or 0 in self.singleton2.shape:
                raise ProblemError(f"the second image has shape {self.singleton2.shape}; it has rows and columns: "
                                   "give a two-dimensional array that is not empty")
        elif _shape(self.constants) != (self.labels,):
            raise ProblemError(f"constants has shape {_shape(self.constants)}; {self.labels} labels need "
                               f"({self.labels},): give one a label")
        if self.doubleton == "squared" and _shape(self.vectors) != (self.labels, 2):
            raise ProblemError(f"vectors has shape {_shape(self.vectors)}; the squared doubleton of {self.labels} "
                               f"labels needs ({self.labels}, 2): give one vector a label")
        for name in ("observed", "clamped"):
            mask = getattr(self, name)
            if mask is not None and mask.shape != self.shape:
                raise ProblemError(f"{name} has shape {mask.shape}; the grid has {self.shape}: give a mask of that shape")

    @property
    def shape(self) -> tuple[int, int]:
        rows, cols = self.singleton1.shape
        return rows, cols

    @property
    def sites(self) -> int:
        return self.singleton1.size

    @property
    def unclamped_sites(self) -> int:
        return self.sites - (int(np.count_nonzero(self.clamped)) if self.clamped is not None else 0)

    def check_fits(self, config: Config) -> None:
        """Raise ProblemError where a value is wider than the machine's words."""
        if self.labels > config.max_labels:
            raise ProblemError(f"labels is {self.labels}; a machine with label_bits = {config.label_bits} takes "
                               f"{config.max_labels}: give fewer labels or wider ones")
        limits: list[tuple[str, float, int]] = [("alpha", self.alpha, config.weight_max), ("beta", self.beta, config.weight_max),
                  ("energy_shift", self.energy_shift, config.shift_max),
                  ("out_of_range", self.out_of_range, (1 << config.singleton_bits) - 1)]
        if self.tau is not None:
            limits.append(("tau", self.tau, (1 << config.doubleton_bits) - 1))
        for name, value, high in limits:
            if value != int(value) or not 0 <= value <= high:
                raise ProblemError(f"{name} is {value}; the machine takes whole numbers from 0 to {high}: "
                                   + ("scale alpha, beta and the temperature together" if name in ("alpha", "beta")
                                      else "give one of them"))
        for name, data in (("first image", self.singleton1), ("second image", self.singleton2),
                           ("constants", self.constants)):
            if data is not None and (data.min() < 0 or data.max() > config.data_max):
                raise ProblemError(f"{name} has values from {data.min()} to {data.max()}; data_bits = "
                                   f"{config.data_bits} takes 0 to {config.data_max}: scale the data")
        if self.vectors is not None:
            reach = 1 << (config.vector_bits - 1)
            if self.vectors.min() < -reach or self.vectors.max() >= reach:
                raise ProblemError(f"vectors have components from {self.vectors.min()} to {self.vectors.max()}; "
                                   f"vector_bits = {config.vector_bits} takes {-reach} to {reach - 1}: "
                                   "give a wider vector_bits")
        from mrfhw.temperature import least_ratio, realized_limits

        coldest, hottest = realized_limits(config, self.energy_shift)
        for value in (self.schedule.coldest, self.schedule.hottest):
            if not coldest <= value <= hottest:
                raise ProblemError(f"temperature is {value:g}; this machine realizes {coldest:.3g} to {hottest:.4g} at "
                                   f"energy_shift {self.energy_shift}: scale alpha, beta and the temperature together")
        if self.schedule.kind == "geometric" and self.schedule.ratio < least_ratio(config):
            raise ProblemError(f"ratio is {self.schedule.ratio:g}; the {config.sampler} machine cools by at least "
                               f"{least_ratio(config):.3g} a sweep: give that or more, or a table")
        if len(self.schedule.table) > config.temperature_table:
            raise ProblemError(f"the temperature table has {len(self.schedule.table)} entries; the machine holds "
                               f"{config.temperature_table}: give fewer and a longer stride")


@dataclass(frozen=True, kw_only=True)
class Run:
    """How long a problem is sampled. Sweeps include the burn-in; the rest is counted into the histogram.

    initial: "random", "minimum" (of the singleton) or an (H, W) array of labels.
    partial: a piece of a longer run, in which nothing need be counted.
    """

    sweeps: int
    burn_in: int = 0
    seed: int = 0
    initial: str | np.ndarray = "random"
    partial: bool = False

    def __post_init__(self) -> None:
        if not 1 <= self.sweeps < 1 << 31:
            raise ProblemError(f"sweeps is {self.sweeps}; a run has at least 1 (and fewer than 2^31): give more")
        if not 0 <= self.burn_in < self.sweeps + self.partial:
            raise ProblemError(f"burn_in is {self.burn_in}; with {self.sweeps} sweeps it must be 0 to {self.sweeps - 1}, "
                               "so that at least one sweep is counted: give fewer burn-in sweeps or more sweeps")
        if not 0 <= self.seed < 1 << 64:
            raise ProblemError(f"seed is {self.seed}; the limits are 0 to 2^64 - 1: give one between them")
        if isinstance(self.initial, str) and self.initial not in ("random", "minimum"):
            raise ProblemError(f"initial is {self.initial!r}; it must be random, minimum or an array of labels: choose one")

    @property
    def counted(self) -> int:
        return self.sweeps - self.burn_in


def check_labels(name: str, count: int) -> None:
    """Raise ProblemError unless a field can have `count` labels, which the user gave as `name`."""
    if not LABELS_MIN <= count <= LABELS_MAX:
        raise ProblemError(f"{name} is {count}; the limits are {LABELS_MIN} to {LABELS_MAX}: give a number between them")


def check_one_size(first: np.ndarray, second: np.ndarray) -> None:
    """Raise ProblemError unless two images have one shape."""
    if first.shape != second.shape:
        raise ProblemError(f"the second image is {second.shape[-1]}x{second.shape[0]}; the first is "
                           f"{first.shape[-1]}x{first.shape[0]}: give images of one size")


def singleton_energy(problem: Problem, label: int) -> np.ndarray:
    """E_singleton of every site for one label, before alpha; int64 (H, W) (Equation 3.1, first term)."""
    rows, cols = problem.shape
    s1 = problem.singleton1.astype(np.int64)
    inside = np.ones((rows, cols), bool)
    if problem.constants is not None:
        difference = np.abs(s1 - int(problem.constants[label]))
    else:
        assert problem.singleton2 is not None
        assert problem.offsets is not None
        (rows2, cols2), origin = problem.singleton2.shape, problem.singleton2_origin
        r = np.arange(rows)[:, None] + int(problem.offsets[label][0]) + origin[0]
        c = np.arange(cols)[None, :] + int(problem.offsets[label][1]) + origin[1]
        inside = (r >= 0) & (r < rows2) & (c >= 0) & (c < cols2)
        difference = np.abs(s1 - problem.singleton2.astype(np.int64)[r.clip(0, rows2 - 1), c.clip(0, cols2 - 1)])
    energy = difference if problem.singleton == "absolute" else difference * difference
    energy = np.where(inside, energy, problem.out_of_range)
    return energy if problem.observed is None else np.where(problem.observed, energy, 0)


def singleton_energies(problem: Problem) -> np.ndarray:
    """E_singleton of every site and label, before alpha; int64 (H, W, L) (Equation 3.1, first term)."""
    return np.stack([singleton_energy(problem, label) for label in range(problem.labels)], -1)


def least_singleton(problem: Problem) -> np.ndarray:
    """The label of the least singleton energy at each site, the lowest on ties; uint8 (H, W)."""
    label, least = np.zeros(problem.shape, np.uint8), singleton_energy(problem, 0)
    for other in range(1, problem.labels):
        energy = singleton_energy(problem, other)
        better = energy < least
        label[better], least[better] = other, energy[better]
    return label


def doubleton_table(problem: Problem) -> np.ndarray:
    """E_doubleton(l, x), truncated at tau; int64 (L, L) (Equation 3.1, second term)."""
    labels = np.arange(problem.labels)
    if problem.doubleton == "absolute":
        table = np.abs(labels[:, None] - labels[None, :])
    elif problem.doubleton == "potts":
        table = (labels[:, None] != labels[None, :]).astype(np.int64)
    else:
        assert problem.vectors is not None
        v = np.asarray(problem.vectors, np.int64)
        table = ((v[:, None, :] - v[None, :, :]) ** 2).sum(-1)
    return table if problem.tau is None else np.minimum(table, problem.tau)


def initial_labels(problem: Problem, run: Run) -> np.ndarray:
    """The labels that the chain starts from, uint8 (H, W).

    "random" draws uniformly with NumPy's PCG64 seeded by (run.seed, 1); "minimum" takes the label of
    the least singleton energy, the lowest on ties.
    """
    if isinstance(run.initial, np.ndarray):
        if run.initial.shape != problem.shape:
            raise ProblemError(f"initial labels have shape {run.initial.shape}; the grid has {problem.shape}: "
                               "give an array of that shape")
        if run.initial.min() < 0 or run.initial.max() >= problem.labels:
            raise ProblemError(f"initial labels go from {run.initial.min()} to {run.initial.max()}; the problem has labels "
                               f"0 to {problem.labels - 1}: give labels in that range")
        return run.initial.astype(np.uint8)
    if run.initial == "minimum":
        return least_singleton(problem)
    rng = np.random.Generator(np.random.PCG64([run.seed, 1]))
    return rng.integers(0, problem.labels, problem.shape).astype(np.uint8)
