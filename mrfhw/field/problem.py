"""A first-order MRF on a grid: its energies, its temperature and how long it is sampled (Equation 3.1)."""

from __future__ import annotations

import copy
import dataclasses
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mrfhw.field.given import NUMBER_MAX, finite_array, mask, short, whole_array, whole_number
from mrfhw.field.records import Fields, Record, Recorded, check_arrays, named, read_record, take, write_record
from mrfhw.field.schedule import Schedule
from mrfhw.field.terms import CHANNELS_MAX, DOUBLETONS, Channel, channels_of, check_edges
from mrfhw.system.errors import ProblemError
from mrfhw.system.files import output_path

__all__ = [
    "DATA", "ESTIMATES", "INITIAL", "LABELS_MAX", "LABELS_MIN", "MASKS", "SEEDS", "SPOKEN", "VALUES", "WHOLE_NUMBERS", "Problem",
    "ProblemError", "Run", "Schedule", "check_labels", "check_one_size", "load_problem", "problem_of", "run_of", "save_problem",
]

LABELS_MIN, LABELS_MAX = 2, 256
SWEEPS_MAX = (1 << 31) - 1
SITES_MAX = 1 << 26  # of a saved field
SEEDS = 1 << 64
ESTIMATES = ("mode", "mean", "last")  # what is made of the samples; the first by default
VECTOR_BITS = 16  # of a component at most, so that no squared distance overflows
WHOLE_NUMBERS = ("beta", "energy_shift", "out_of_range", "tau")
DATA = ("singleton1", "singleton2", "offsets", "constants", "unary", "vectors", "pairwise", "edges")  # arrays of numbers
MASKS = ("observed", "shown", "clamped")  # and of truth values
VALUES = "values"  # what labels stand for, floats
INITIAL = "initial"  # a run's labels, where they are an array
SPOKEN = {"singleton1": "first image", "singleton2": "second image"}  # what messages call these arrays


def _shape(array: np.ndarray | None) -> tuple[int, ...]:
    return () if array is None else np.shape(array)


@dataclass(frozen=True, kw_only=True, eq=False)
class Problem(Recorded):
    """An MRF on an H x W grid (docs/machine.md, The mathematics).

    Arrays are checked and made safe when the problem is made (`mrfhw.field.given`): whole numbers of at most 32 bits, as integers
    or as floats of whole value, and masks of booleans or of whole numbers 0 and 1. The problem's own arrays are read-only,
    integer and bool, and do not change with the caller's; those that came frozen are not copied. ProblemError for anything else.

    labels: L, 2..256.

    The data, one of three:
    - singleton1: (H, W) integers, each site's datum, and singleton2: (H2, W2) integers, the second image, with `offsets` (L, 2) as
      (row, column) per label. singleton2_origin: the (row, column) of the second image that lies over site (0, 0), so
      s2(l) = singleton2[site + singleton2_origin + offset(l)].
    - singleton1 with `constants` (L,), one datum per label.
    - unary: (H, W, L) integers from 0, each site's E_singleton of each label. `mrfhw.field.costs` makes them of other numbers.
    Images of up to 3 channels have shape (H, W, C), constants (L, C); E_singleton is the sum of the channels'.

    singleton: how data are compared, from SINGLETONS: |s1 - s2|, its square, or the number of bits in which they differ.
    alpha: whole weight.
    singleton_max: the most that E_singleton is before alpha, None for no limit. This, singleton and alpha are one value for all
        channels, or one a channel.
    out_of_range: E_singleton of the first channel where the second image has no pixel; the others have none there.
    shown: (H2, W2) bool; False where the second image has no pixel within its bounds either. None: all of it has.
    doubleton: from DOUBLETONS.
    vectors: (L, 2) integers for "squared".
    pairwise: (L, L) integers from 0 for "table", E_doubleton of an edge by the label to the left or above (first) and that to the
        right or below.
    beta: whole weight.
    tau: truncation of each doubleton, those of a table as well, None for none.
    edges: (H, W, 2) whole weights 0..15 of each site's edge to the right and of the one below, each doubleton times its edge's;
        None for 1 everywhere.
    energy_shift: bits dropped from the sum by machines; float64 and `cpu` drop none.
    observed: (H, W) bool; False takes E_singleton = 0 for all labels. None: all observed.
    clamped: (H, W) bool; True keeps the initial label. None: none.
    values: (L,) finite numbers that the labels stand for, as float64: of them an answer has mean, deviation and intervals. No
        sample depends on them. None: labels are names without order.
    schedule: temperature by sweep.
    Equal where all values are, whatever the arrays' types and layout.
    """

    labels: int
    singleton1: np.ndarray | None = None
    singleton2: np.ndarray | None = None
    offsets: np.ndarray | None = None
    singleton2_origin: tuple[int, int] = (0, 0)
    constants: np.ndarray | None = None
    unary: np.ndarray | None = None
    singleton: str | tuple[str, ...] = "absolute"
    singleton_max: int | tuple[int | None, ...] | None = None
    doubleton: str = "absolute"
    vectors: np.ndarray | None = None
    pairwise: np.ndarray | None = None
    edges: np.ndarray | None = None
    alpha: int | tuple[int, ...] = 1
    beta: int = 1
    tau: int | None = None
    energy_shift: int = 0
    out_of_range: int = 0
    observed: np.ndarray | None = None
    shown: np.ndarray | None = None
    clamped: np.ndarray | None = None
    values: np.ndarray | None = None
    schedule: Schedule = field(default_factory=Schedule)
    channels: tuple[Channel, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.doubleton, str) or self.doubleton not in DOUBLETONS:
            raise ProblemError(f"doubleton is {short(repr(self.doubleton))}; it must be one of {', '.join(DOUBLETONS)}: choose one")
        if not isinstance(self.schedule, Schedule):
            raise ProblemError(f"schedule is {short(repr(self.schedule))}; it is a Schedule: give such as Schedule.constant(2)")
        self._check_numbers()
        self._keep_arrays()
        if self.unary is not None:
            self._check_unary()
        else:
            self._check_data()
        self._check_channels()
        if self.doubleton == "squared" and _shape(self.vectors) != (self.labels, 2):
            raise ProblemError(f"vectors has shape {_shape(self.vectors)}; the squared doubleton of {self.labels} "
                               f"labels needs ({self.labels}, 2): give one vector a label")
        if (self.doubleton == "table") != (self.pairwise is not None):
            raise ProblemError("pairwise is the table of the doubleton table, and of no other: give both or none")
        if self.pairwise is not None:
            self._check_costs("pairwise", self.pairwise, (self.labels, self.labels), "a cost for each pair of labels")
        for name in MASKS:
            pixels, of = getattr(self, name), "grid"
            shape: tuple[int, ...] = self.shape
            if name == "shown" and pixels is not None:
                if self.singleton2 is None:
                    raise ProblemError("shown is of the second image, and there is none: give singleton2, or leave shown out")
                shape, of = self.singleton2.shape[:2], "second image"
            if pixels is not None and pixels.shape != shape:
                raise ProblemError(f"{name} has shape {pixels.shape}; the {of} has {shape}: give a mask of that shape")
        if self.edges is not None:
            check_edges(self.edges, self.shape)
        if self.values is not None and self.values.shape != (self.labels,):
            raise ProblemError(f"values has shape {self.values.shape}; {self.labels} labels need ({self.labels},): give a number a "
                               "label")

    def _check_costs(self, name: str, costs: np.ndarray, shape: tuple[int, ...], what: str) -> None:
        if costs.shape != shape:
            raise ProblemError(f"{name} has shape {costs.shape}; {self.labels} labels need {shape}: give {what}")
        if costs.size and costs.min() < 0:
            raise ProblemError(f"{name} has the value {costs.min()}; costs are whole numbers from 0: add a number to all")

    def _check_unary(self) -> None:
        assert self.unary is not None
        others = [name for name in ("singleton1", "singleton2", "offsets", "constants") if getattr(self, name) is not None]
        if others:
            raise ProblemError(f"unary and {others[0]} are given; unary has the whole singleton term: leave out {others[0]}")
        if self.unary.ndim != 3 or 0 in self.unary.shape:
            raise ProblemError(f"unary has shape {self.unary.shape}; it has rows, columns and labels: give (H, W, {self.labels})")
        self._check_costs("unary", self.unary, (*self.unary.shape[:2], self.labels), "a cost for each site and label")
        if self.singleton != "absolute":
            raise ProblemError(f"singleton is {self.singleton!r}; unary costs are not compared with anything: leave it out")

    def _check_data(self) -> None:
        if self.singleton1 is None:
            raise ProblemError("there are no data: give singleton1 with a second image or constants, or unary")
        if self.singleton1.ndim not in (2, 3) or 0 in self.singleton1.shape:
            raise ProblemError(f"the first image has shape {self.singleton1.shape}; a grid has rows and columns: "
                               "give a two-dimensional array that is not empty")
        if (self.singleton2 is None) == (self.constants is None):
            raise ProblemError("give either a second image with offsets or one constant per label")
        if self.singleton2 is not None:
            if self.offsets is None or _shape(self.offsets) != (self.labels, 2):
                raise ProblemError(f"offsets has shape {_shape(self.offsets)}; {self.labels} labels need "
                                   f"({self.labels}, 2): give one (row, column) a label")
            if self.singleton2.ndim not in (2, 3) or 0 in self.singleton2.shape:
                raise ProblemError(f"the second image has shape {self.singleton2.shape}; it has rows and columns: "
                                   "give a two-dimensional array that is not empty")

    def _check_channels(self) -> None:
        more = () if self.singleton1 is None else self.singleton1.shape[2:]
        if more and not 1 <= more[0] <= CHANNELS_MAX:
            raise ProblemError(f"the first image has {more[0]} channels; the limits are 1 to {CHANNELS_MAX}: give fewer")
        if self.singleton2 is not None and self.singleton2.shape[2:] != more:
            raise ProblemError(f"the second image has shape {self.singleton2.shape} and the first {_shape(self.singleton1)}; both "
                               "have the same channels: give images of one kind")
        if self.constants is not None and _shape(self.constants) != (self.labels, *more):
            raise ProblemError(f"constants has shape {_shape(self.constants)}; {self.labels} labels need "
                               f"({', '.join(map(str, (self.labels, *more)))}{'' if more else ','}): give one a label")
        count = more[0] if more else 1
        channels = channels_of(self.alpha, self.singleton, self.singleton_max, count)
        for name, values in (("alpha", [c.alpha for c in channels]), ("singleton", [c.singleton for c in channels]),
                             ("singleton_max", [c.most for c in channels])):
            object.__setattr__(self, name, values[0] if len(set(values)) == 1 else tuple(values))
        object.__setattr__(self, "channels", channels)
        for name in ("singleton1", "singleton2", "constants"):
            data = getattr(self, name)
            if data is None or data.min() >= 0:
                continue
            if any(channel.singleton == "hamming" for channel in channels):
                raise ProblemError(f"{SPOKEN.get(name, name)} has the value {data.min()}; data that are compared bit by bit are "
                                   "whole numbers from 0: give descriptors such as a census")

    def _check_numbers(self) -> None:
        """Whole numbers as Python's. The machine's narrower limits are those of `check_fits`."""
        object.__setattr__(self, "labels", check_labels("labels", self.labels))
        for name in WHOLE_NUMBERS:
            value = getattr(self, name)
            if value is not None or name != "tau":
                object.__setattr__(self, name, whole_number(name, value, 0, NUMBER_MAX, "give one of them"))
        if np.shape(self.singleton2_origin) != (2,):
            raise ProblemError(f"singleton2_origin is {short(self.singleton2_origin)}; it is a row and a column: "
                               "give two whole numbers")
        row, col = (whole_number("singleton2_origin", part, -NUMBER_MAX, NUMBER_MAX, "give whole numbers between them")
                    for part in self.singleton2_origin)
        object.__setattr__(self, "singleton2_origin", (row, col))

    def _keep_arrays(self) -> None:
        """Checked arrays that a caller cannot change in place of those given."""
        for name in DATA:
            given = getattr(self, name)
            if given is not None:
                bits = VECTOR_BITS if name == "vectors" else 32
                object.__setattr__(self, name, whole_array(SPOKEN.get(name, name), given, bits))
        for name in MASKS:
            given = getattr(self, name)
            if given is not None:
                object.__setattr__(self, name, mask(name, given))
        if self.values is not None:
            object.__setattr__(self, VALUES, finite_array(VALUES, self.values))

    # -- comparison and files

    @property
    def record(self) -> Record:
        named = {one.name: getattr(self, one.name) for one in dataclasses.fields(self) if one.init}
        arrays = {name: array for name in (*DATA, *MASKS, VALUES) if (array := named.pop(name)) is not None}
        if self.singleton_max is None:  # its digest is that of a file without the entry
            del named["singleton_max"]
        return Record("problem", {**named, "schedule": dataclasses.asdict(self.schedule)}, arrays)

    def save(self, path: str | os.PathLike[str], run: Run | None = None) -> None:
        """Write a file that `load` and `mrfhw run problem` read, with `run` beside it. Raises ProblemError for what is no path
        of a file, or none that may be written, and OSError where the disk is full."""
        with output_path("path", path, "a file") as file:
            save_problem(file, self, run)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Problem:
        """The problem in a file. Raises ProblemError in one line. `load_problem` gives the run as well."""
        return load_problem(path)[0]

    # -- size

    @property
    def shape(self) -> tuple[int, int]:
        given = self.singleton1 if self.unary is None else self.unary
        assert given is not None
        rows, cols = given.shape[:2]
        return rows, cols

    @property
    def symmetric(self) -> bool:
        """Whether the two labels of an edge may be exchanged."""
        return self.pairwise is None or bool((self.pairwise == self.pairwise.T).all())

    def with_schedule(self, schedule: Schedule) -> Problem:
        """The same problem at other temperatures; what has been checked is not checked anew."""
        new = copy.copy(self)
        object.__setattr__(new, "schedule", schedule)
        return new

    @property
    def sites(self) -> int:
        rows, cols = self.shape
        return rows * cols

    @property
    def unclamped_sites(self) -> int:
        return self.sites - (int(np.count_nonzero(self.clamped)) if self.clamped is not None else 0)


@dataclass(frozen=True, kw_only=True, eq=False)
class Run(Recorded):
    """How long a problem is sampled, and what is kept of it. Sweeps include the burn-in; the labels of the rest are counted.

    initial: "random", "minimum" (of the singleton) or an (H, W) array of labels, checked and kept as `Problem` keeps its arrays.
    estimate: of ESTIMATES. "mode": the histogram of the counted labels. "mean": their sums. "last": the labels of the last sweep
        alone; none are counted.
    Equal where all values are.
    """

    sweeps: int
    burn_in: int = 0
    seed: int = 0
    initial: str | np.ndarray = "random"
    estimate: str = "mode"

    def __post_init__(self) -> None:
        sweeps = whole_number("sweeps", self.sweeps, 1, SWEEPS_MAX, "give a number between them", "the limits are 1 to 2^31 - 1")
        burn_in = whole_number("burn_in", self.burn_in, 0, sweeps - 1,
                               "give fewer burn-in sweeps or more sweeps",
                               f"with {sweeps} sweeps it must be 0 to {sweeps - 1}, so that at least one sweep is counted")
        seed = whole_number("seed", self.seed, 0, SEEDS - 1, "give one between them", "the limits are 0 to 2^64 - 1")
        for name, value in (("sweeps", sweeps), ("burn_in", burn_in), ("seed", seed)):
            object.__setattr__(self, name, value)
        if not isinstance(self.initial, str):
            object.__setattr__(self, "initial", whole_array("initial", self.initial))
        elif self.initial not in ("random", "minimum"):
            raise ProblemError(f"initial is {short(repr(self.initial))}; it must be random, minimum or an array of labels: "
                               "choose one")
        if not isinstance(self.estimate, str) or self.estimate not in ESTIMATES:
            raise ProblemError(f"estimate is {short(repr(self.estimate))}; it must be one of {', '.join(ESTIMATES)}: choose one")

    @property
    def after_burn_in(self) -> int:
        """Sweeps after the burn-in."""
        return self.sweeps - self.burn_in

    @property
    def counts_from(self) -> int:
        """The sweep from which labels are counted; the run's end where none are."""
        return self.sweeps if self.estimate == "last" else self.burn_in

    @property
    def counted(self) -> int:
        """Sweeps whose labels are counted."""
        return self.sweeps - self.counts_from

    def counted_of(self, sweeps: int) -> int:
        """Of its first `sweeps` sweeps, those whose labels are counted."""
        return max(0, sweeps - self.counts_from)

    def of_chain(self, number: int) -> Run:
        """The run of one of several independent chains: the first, 0, has this seed, the next one the seed after it."""
        return dataclasses.replace(self, seed=(self.seed + number) % SEEDS)

    @property
    def record(self) -> Record:
        """All values by name; initial labels that are given are an array."""
        named = {one.name: getattr(self, one.name) for one in dataclasses.fields(self)}
        arrays = {} if isinstance(self.initial, str) else {INITIAL: named.pop(INITIAL)}
        return Record("run", named, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Run:
        """The run in a file. Raises ProblemError in one line."""
        return run_of(read_record(path, "run", lambda held: run_of(held, path), whole=True), path)


def check_labels(name: str, count: int) -> int:
    """`count`, which the user gave as `name`. Raises ProblemError unless a field can have so many labels."""
    return whole_number(name, count, LABELS_MIN, LABELS_MAX, "give a number between them")


def check_one_size(first: np.ndarray, second: np.ndarray) -> None:
    """Raise ProblemError unless two images have one shape."""
    if first.shape != second.shape:
        raise ProblemError(f"the second image is {second.shape[-1]}x{second.shape[0]}; the first is "
                           f"{first.shape[-1]}x{first.shape[0]}: give images of one size")


# -- files

SCHEDULE: Fields = {"kind": (str,), "start": (int, float), "ratio": (int, float), "limit": (int, float), "table": (list,),
                    "stride": (int,)}
NEEDED = {"constant": ("start",), "geometric": ("start", "ratio", "limit"), "table": ("table",)}  # entries of a schedule
RUN: Fields = {"sweeps": (int,), "burn_in": (int,), "seed": (int,), "initial": (str,), "estimate": (str,),
               "partial": (bool,)}  # the last is of files of earlier versions, where it is never true
PROBLEM: Fields = {"labels": (int,), "singleton2_origin": (list,), "singleton": (str, list), "doubleton": (str,),
                   "alpha": (int, float, list), "singleton_max": (int, float, list, type(None)),
                   "beta": (int, float), "tau": (int, float, type(None)), "energy_shift": (int,), "out_of_range": (int,),
                   "schedule": (dict,), "run": (dict, type(None))}


def problem_of(record: Record, path: object) -> tuple[Problem, Run | None]:
    """The problem, and the run beside it, of a record read from `path`. Raises ProblemError that names it."""
    scalars = take(path, "the problem", record.scalars, PROBLEM, ("labels",))
    arrays = dict(record.arrays)
    found = scalars.pop("run", None)
    run = None if found is None else _run(path, found, arrays.pop(INITIAL, None))
    check_arrays(path, "a problem", arrays, (*DATA, *MASKS, VALUES), () if "unary" in arrays else ("singleton1",))
    if "schedule" in scalars:
        entries = take(path, "the schedule", scalars["schedule"], SCHEDULE, ("kind",))
        take(path, f"the {entries['kind']} schedule", scalars["schedule"], SCHEDULE, NEEDED.get(entries["kind"], ()))
        table = entries.pop("table", [])
        if not all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in table):
            raise ProblemError(f"{path}: table of the schedule has other things than numbers: write numbers")
        scalars["schedule"] = named(path, Schedule, **entries, table=tuple(map(float, table)))
    origin = scalars.get("singleton2_origin", [0, 0])
    if len(origin) != 2 or not all(type(value) is int for value in origin):
        raise ProblemError(f"{path}: singleton2_origin of the problem is {origin!r:.60}; it must be a row and a column: write it "
                           "so")
    return named(path, Problem, **{**scalars, "singleton2_origin": (origin[0], origin[1])}, **arrays), run


def _run(path: object, found: Mapping[str, Any], initial: np.ndarray | None) -> Run:
    scalars = take(path, "the run", found, RUN, ("sweeps",))
    scalars.pop("partial", None)
    if initial is not None:
        if "initial" in scalars:
            raise ProblemError(f"{path}: the run has initial labels and a name for them: leave out one")
        check_arrays(path, "a run", {INITIAL: initial}, (INITIAL,), ())
        scalars["initial"] = initial
    run: Run = named(path, Run, **scalars)
    return run


def run_of(record: Record, path: object) -> Run:
    """The run of a record read from `path`. Raises ProblemError that names it."""
    arrays = dict(record.arrays)
    initial = arrays.pop(INITIAL, None)
    check_arrays(path, "a run", arrays, (INITIAL,), ())
    return _run(path, record.scalars, initial)


def save_problem(path: str | os.PathLike[str], problem: Problem, run: Run | None = None) -> None:
    """Write a problem, and how long it is sampled, for `mrfhw run problem`. Raises OSError."""
    record = problem.record
    if run is None:
        return write_record(path, record)
    return write_record(path, dataclasses.replace(record, scalars={**record.scalars, "run": run.record.scalars},
                                                  arrays={**record.arrays, **run.record.arrays}))


def load_problem(path: str | os.PathLike[str]) -> tuple[Problem, Run | None]:
    """The problem in a file, and its run where it has one. Raises ProblemError in one line."""
    def check(held: Record) -> None:
        problem, _ = problem_of(held, path)
        for shape in (problem.shape, _shape(problem.singleton2)):
            if shape and shape[0] * shape[1] > SITES_MAX:
                raise ProblemError(f"{path} has {shape[1]}x{shape[0]} sites; the limit of a saved field is {SITES_MAX}: give parts "
                                   "of it")

    return problem_of(read_record(path, "problem", check, whole=True), path)
