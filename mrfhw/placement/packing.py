"""Small fields side by side in one, so that a large machine samples many at once."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from mrfhw.field.energy import Energy
from mrfhw.field.given import short
from mrfhw.field.problem import Problem, ProblemError, Schedule
from mrfhw.machine.config import Config
from mrfhw.machine.derived import Derived

__all__ = ["Packed", "Sampled", "Unpacked", "pack"]

# What all fields of a pack have in common: numbers and words, and arrays that are not by site.
_COMMON = ("labels", "singleton", "singleton_max", "doubleton", "alpha", "beta", "tau", "energy_shift", "out_of_range", "schedule",
           "constants", "offsets", "vectors", "pairwise", "values")
_WIDTHS = 256  # of the pack that are tried, at most
Box = tuple[int, int, int, int]  # first row and column, rows, columns


class Sampled(Protocol):
    """What is taken apart: a `mrfhw.field.result.Result`, or a `mrfhw.Answer`, of one field (H, W)."""

    @property
    def labels(self) -> np.ndarray: ...

    @property
    def last(self) -> np.ndarray: ...


@dataclass(frozen=True, eq=False)
class Unpacked:
    """What came of one field of a pack.

    problem: the field.
    labels: (H, W) uint8, the estimate. last: (H, W) uint8, the last sample.
    counts: (H, W, L) unsigned, how often each label was drawn after the burn-in; sums: (H, W, 2) int64, the sum of the labels drawn
        then and their number. None where the run's estimate does not keep them.
    """

    problem: Problem
    labels: np.ndarray
    last: np.ndarray
    counts: np.ndarray | None
    sums: np.ndarray | None

    @cached_property
    def energy(self) -> int:
        """Of `labels`: alpha E_singleton of all sites and beta E_doubleton of all edges, unshifted."""
        return int(Energy(self.problem)(self.labels))


@dataclass(frozen=True, eq=False)
class Packed:
    """Fields side by side in one; see `pack`.

    problem: the one that is sampled. Edges from field to field have the weight 0, and sites of no field are clamped.
    fields: as they were given. places: (row, column) in `problem` of the first site of each.
    """

    problem: Problem
    fields: tuple[Problem, ...]
    places: tuple[tuple[int, int], ...]

    @property
    def filled(self) -> float:
        """Share of the sites of `problem` that are a field's."""
        return sum(field.sites for field in self.fields) / self.problem.sites

    def initial(self, labels: Sequence[np.ndarray]) -> np.ndarray:
        """(H, W) of `problem`: labels (H, W) of each field in their places, as `Run` and `mrfhw.solve` take them; 0 elsewhere."""
        if len(labels) != len(self.fields):
            raise ProblemError(f"there are {len(labels)} arrays of labels; the pack has {len(self.fields)} fields: give one each")
        found = np.zeros(self.problem.shape, np.int64)
        for number, (field, place, own) in enumerate(zip(self.fields, self.places, labels, strict=True)):
            if np.shape(own) != field.shape:
                raise ProblemError(f"labels of field {number} have shape {np.shape(own)}; it has {field.shape}: give those")
            found[_part(place, field.shape)] = own
        return found

    def cut(self, array: np.ndarray) -> list[np.ndarray]:
        """Of an array (H, W, ...) of `problem` the part (h, w, ...) of each field, such as of an answer's entropy."""
        if array.shape[:2] != self.problem.shape:
            raise ProblemError(f"the array has shape {array.shape}; the pack has {self.problem.shape}: give what was sampled of "
                               "packed.problem")
        return [array[_part(place, field.shape)].copy() for field, place in zip(self.fields, self.places, strict=True)]

    def unpacked(self, result: Sampled) -> list[Unpacked]:
        """What came of each field, in their order. result: of a run of `problem`, as `mrfhw.solve` or a backend gives it."""
        none: list[Any] = [None] * len(self.fields)
        labels, last, counts, sums = (none if held is None else self.cut(held) for held in (
            result.labels, result.last, _held(result, "counts"), _held(result, "sums")))
        return [Unpacked(*of) for of in zip(self.fields, labels, last, counts, sums, strict=True)]


def pack(problems: Sequence[Problem], machine: Config | None = None) -> Packed:
    """Fields side by side in one, whose run samples all of them at once: `mrfhw.solve(packed.problem)`, then `packed.unpacked`.

    Each field's samples have the law that a run of it alone has. They are other samples, as its sites take other random numbers:
    the same ones each time, for a seed, a layout and a backend, and those of a machine are bit for bit those of its model. What the
    data and edges of a field are does not change the samples of those beside it. By `cpu` two things do: which of its sites are
    clamped, as such a site takes no random number, and energies so large that all sites are weighed without tables.

    problems: with equal labels, terms (singleton, doubleton and their numbers, constants, offsets, vectors, tables) and schedule.
        Sizes, data, masks and weights of edges may differ. Fields with a second image lie as far apart as their offsets reach, with
        clamped sites between them.
    machine: on which it is to be sampled. It needs weights of edges (`edge_bits` of 1 or more), and the fields are laid out to
        take few turns of its tiles. None: as little area as can be found, as square as that is.

    Raises ProblemError for fields that are not alike, with the value in which they differ.
    """
    fields = tuple(problems)
    if not fields:
        raise ProblemError("there are no fields to pack: give one or more")
    for number, field in enumerate(fields):
        if not isinstance(field, Problem):
            raise ProblemError(f"field {number} is {short(repr(field))}; a pack has Problems: give those")
        _check_alike(fields[0], field, number)
    boxes = [_box(field) for field in fields]
    corners, shape = _layout([box[2:] for box in boxes], None if machine is None else Derived.of(machine))
    places = tuple((row - box[0], col - box[1]) for (row, col), box in zip(corners, boxes, strict=True))
    problem = _joined(fields, places, boxes, shape)
    if machine is not None and problem.edges is not None and not machine.edge_bits:
        raise ProblemError("the machine has edge_bits = 0; fields side by side need edges of weight 0 between them: give a machine "
                           "with edge_bits = 1 or more")
    return Packed(problem, fields, places)


def _check_alike(first: Problem, field: Problem, number: int) -> None:
    for name in ("unary", "singleton2"):
        if (getattr(first, name) is None) != (getattr(field, name) is None):
            one, other = ("not given" if getattr(of, name) is None else "given" for of in (first, field))
            raise ProblemError(f"{name} is {one} in field 0 and {other} in field {number}; fields that are packed have data of one "
                               "kind: pack those apart")
    if len(first.channels) != len(field.channels):
        raise ProblemError(f"the data have {len(first.channels)} channels in field 0 and {len(field.channels)} in field {number}; "
                           "fields that are packed have as many: pack those apart")
    for name in _COMMON:
        unlike = _unlike(name, getattr(first, name), getattr(field, name))
        if unlike is not None:
            what, one, other = unlike
            raise ProblemError(f"{what} is {one} in field 0 and {other} in field {number}; fields that are packed have the same: "
                               "pack those apart")


def _unlike(name: str, one: Any, other: Any) -> tuple[str, str, str] | None:
    """Where two values of that name first differ, and the two there, in words; None where they are equal."""
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray) and one.shape == other.shape:
        places = np.argwhere(one != other)
        if not len(places):
            return None
        at = tuple(int(part) for part in places[0])
        return f"{name}[{', '.join(map(str, at))}]", str(one[at]), str(other[at])
    if isinstance(one, Schedule) and isinstance(other, Schedule):
        found = (_unlike(f"{part.name} of the schedule", getattr(one, part.name), getattr(other, part.name))
                 for part in dataclasses.fields(Schedule))
        return next((unlike for unlike in found if unlike is not None), None)
    if isinstance(one, np.ndarray) or isinstance(other, np.ndarray):
        said = ["not given" if of is None else f"an array of shape {of.shape}" for of in (one, other)]
        return name, said[0], said[1]
    return None if one == other else (name, short(str(one)), short(str(other)))


def _held(result: Sampled, name: str) -> np.ndarray | None:
    """Counts or sums of a result; None where its run did not keep them, which an Answer refuses to give."""
    try:
        held: np.ndarray | None = getattr(result, name)
    except ProblemError:
        return None
    return held


def _part(place: tuple[int, int], shape: tuple[int, ...]) -> tuple[slice, slice]:
    return slice(place[0], place[0] + shape[0]), slice(place[1], place[1] + shape[1])


def _box(field: Problem) -> Box:
    """What a field takes, by its own rows and columns: its sites, and where its labels look into a second image."""
    if field.offsets is None:
        return 0, 0, *field.shape
    up, left = (int(part) for part in field.offsets.min(0).clip(max=0))
    down, right = (int(part) for part in field.offsets.max(0).clip(min=0))
    return up, left, field.shape[0] + down - up, field.shape[1] + right - left


# -- the layout


def _layout(sizes: list[tuple[int, int]], config: Derived | None) -> tuple[list[tuple[int, int]], tuple[int, int]]:
    """(row, column) of each box, and the shape of all: shelves of boxes, the highest first, of the width that costs least."""
    order = sorted(range(len(sizes)), key=lambda number: (-sizes[number][0], -sizes[number][1], number))
    widest = max(cols for _, cols in sizes)
    sums = np.cumsum([sizes[number][1] for number in order])
    tried = {max(widest, int(width)) for width in sums}
    if config is not None:  # as wide as tiles are that have so many columns in use
        step = config.mesh_cols * config.col_step
        tried |= set(range(-(-widest // step) * step, int(sums[-1]) + step, step))
    widths = sorted(tried)
    some = [widths[int(at)] for at in np.unique(np.linspace(0, len(widths) - 1, min(len(widths), _WIDTHS)).astype(int))]
    found = [_shelves(sizes, order, width) for width in some]
    return min(found, key=lambda layout: _cost(layout[1], config))


def _shelves(sizes: list[tuple[int, int]], order: list[int], width: int) -> tuple[list[tuple[int, int]], tuple[int, int]]:
    """Each box on the first shelf that has room for it."""
    corners = [(0, 0)] * len(sizes)
    shelves: list[list[int]] = []  # first row, columns in use
    bottom = 0
    for number in order:
        rows, cols = sizes[number]
        shelf = next((one for one in shelves if one[1] + cols <= width), None)
        if shelf is None:
            shelf = [bottom, 0]
            shelves.append(shelf)
            bottom += rows
        corners[number] = shelf[0], shelf[1]
        shelf[1] += cols
    return corners, (bottom, max(shelf[1] for shelf in shelves))


def _cost(shape: tuple[int, int], config: Derived | None) -> tuple[int, ...]:
    """Of a pack's shape, least first: whether the machine holds it, sites of a tile in use, sites, the longer side."""
    area, longer = shape[0] * shape[1], max(shape)
    if config is None:
        return area, longer
    rows, cols = (-(-size // (tiles * step)) * step for size, tiles, step in (
        (shape[0], config.mesh_rows, config.row_step), (shape[1], config.mesh_cols, config.col_step)))
    return int(rows > config.tile_rows or cols > config.tile_cols), rows * cols, area, longer


# -- the field


def _joined(fields: tuple[Problem, ...], places: tuple[tuple[int, int], ...], boxes: list[Box], shape: tuple[int, int]) -> Problem:
    """One field of all. Masks that no field has, and weights where there is nothing beside a field, are left out."""
    first, whole = fields[0], sum(field.sites for field in fields) == shape[0] * shape[1]
    changed: dict[str, Any] = {}

    def laid(name: str, empty: Any, default: Any) -> np.ndarray:
        """The fields' arrays of that name; `default` where a field has none, `empty` at sites of none."""
        given = [getattr(field, name) for field in fields]
        like = next((array for array in given if array is not None), np.zeros(shape, bool))
        found = np.full((*shape, *like.shape[2:]), empty, like.dtype)
        for field, place, array in zip(fields, places, given, strict=True):
            found[_part(place, field.shape)] = default if array is None else array
        return found

    for name in ("singleton1", "unary"):
        if getattr(first, name) is not None:
            changed[name] = laid(name, 0, 0)
    if any(field.observed is not None for field in fields):
        changed["observed"] = laid("observed", False, True)
    if not whole or any(field.clamped is not None for field in fields):
        changed["clamped"] = laid("clamped", True, False)
    if len(fields) > 1 or not whole or first.edges is not None:
        changed["edges"] = edges = np.zeros((*shape, 2), np.int64)
        for field, place in zip(fields, places, strict=True):
            own = edges[_part(place, field.shape)]
            own[...] = 1 if field.edges is None else field.edges
            own[:, -1, 0] = own[-1, :, 1] = 0
    if first.singleton2 is not None:
        changed |= _second(fields, places, boxes, shape)
    return dataclasses.replace(first, **changed)


def _second(fields: tuple[Problem, ...], places: tuple[tuple[int, int], ...], boxes: list[Box],
            shape: tuple[int, int]) -> dict[str, Any]:
    """A second image over the pack: in each field's box what its labels reach of its own one, and no pixel elsewhere."""
    assert fields[0].singleton2 is not None
    image = np.zeros((*shape, *fields[0].singleton2.shape[2:]), np.int64)
    shown = np.zeros(shape, bool)
    for field, (row, col), (up, left, rows, cols) in zip(fields, places, boxes, strict=True):
        assert field.singleton2 is not None
        own, origin = field.singleton2, field.singleton2_origin
        # The box in the own image's rows and columns, as far as that has pixels.
        first = up + origin[0], left + origin[1]
        top, bottom = max(0, first[0]), min(own.shape[0], first[0] + rows)
        begin, end = max(0, first[1]), min(own.shape[1], first[1] + cols)
        if top < bottom and begin < end:
            there = (slice(top - origin[0] + row, bottom - origin[0] + row), slice(begin - origin[1] + col, end - origin[1] + col))
            image[there] = own[top:bottom, begin:end]
            shown[there] = True if field.shown is None else field.shown[top:bottom, begin:end]
    return {"singleton2": image, "shown": None if shown.all() else shown, "singleton2_origin": (0, 0)}
