"""Problems, runs and results as records: saved, read again, compared and digested (see `mrfhw.field.records`)."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

import numpy as np

from mrfhw.field.problem import DATA, INITIAL, MASKS, Problem, Run, Schedule
from mrfhw.field.records import Fields, Record, read_record, take, write_record
from mrfhw.field.result import ARRAYS, NUMBERS, Result
from mrfhw.system.errors import ProblemError

__all__ = ["load_problem", "problem_of", "result_of", "run_of", "save_problem"]

SCHEDULE: Fields = {"kind": (str,), "start": (int, float), "ratio": (int, float), "limit": (int, float), "table": (list,),
                    "stride": (int,)}
NEEDED = {"constant": ("start",), "geometric": ("start", "ratio", "limit"), "table": ("table",)}  # entries of a schedule
RUN: Fields = {"sweeps": (int,), "burn_in": (int,), "seed": (int,), "initial": (str,), "estimate": (str,),
               "partial": (bool,)}  # the last is of files of earlier versions, where it is never true
PROBLEM: Fields = {"labels": (int,), "singleton2_origin": (list,), "singleton": (str, list), "doubleton": (str,),
                   "alpha": (int, float, list), "singleton_max": (int, float, list, type(None)),
                   "beta": (int, float), "tau": (int, float, type(None)), "energy_shift": (int,), "out_of_range": (int,),
                   "schedule": (dict,), "run": (dict, type(None))}


def _check_arrays(path: object, what: str, found: Mapping[str, np.ndarray], known: tuple[str, ...],
                  needed: tuple[str, ...]) -> None:
    for name in found:
        if name not in known:
            raise ProblemError(f"{path} has the unknown array {name!r}; {what} has {', '.join(known)}: leave it out")
    for name in needed:
        if name not in found:
            raise ProblemError(f"{path} lacks the array {name}: add it")


def problem_of(record: Record, path: object) -> tuple[Problem, Run | None]:
    """The problem, and the run beside it, of a record read from `path`. Raises ProblemError that names it."""
    scalars = take(path, "the problem", record.scalars, PROBLEM, ("labels",))
    arrays = dict(record.arrays)
    found = scalars.pop("run", None)
    run = None if found is None else _run(path, found, arrays.pop(INITIAL, None))
    _check_arrays(path, "a problem", arrays, (*DATA, *MASKS), () if "unary" in arrays else ("singleton1",))
    if "schedule" in scalars:
        entries = take(path, "the schedule", scalars["schedule"], SCHEDULE, ("kind",))
        take(path, f"the {entries['kind']} schedule", scalars["schedule"], SCHEDULE, NEEDED.get(entries["kind"], ()))
        table = entries.pop("table", [])
        if not all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in table):
            raise ProblemError(f"{path}: table of the schedule has other things than numbers: write numbers")
        scalars["schedule"] = _named(path, Schedule, **entries, table=tuple(map(float, table)))
    origin = scalars.get("singleton2_origin", [0, 0])
    if len(origin) != 2 or not all(type(value) is int for value in origin):
        raise ProblemError(f"{path}: singleton2_origin of the problem is {origin!r:.60}; it must be a row and a column: write it "
                           "so")
    return _named(path, Problem, **{**scalars, "singleton2_origin": (origin[0], origin[1])}, **arrays), run


def _run(path: object, found: Mapping[str, Any], initial: np.ndarray | None) -> Run:
    scalars = take(path, "the run", found, RUN, ("sweeps",))
    scalars.pop("partial", None)
    if initial is not None:
        if "initial" in scalars:
            raise ProblemError(f"{path}: the run has initial labels and a name for them: leave out one")
        _check_arrays(path, "a run", {INITIAL: initial}, (INITIAL,), ())
        scalars["initial"] = initial
    run: Run = _named(path, Run, **scalars)
    return run


def _named(path: object, make: Any, /, **values: Any) -> Any:
    """`make(**values)`; what it refuses names the file."""
    try:
        return make(**values)
    except ProblemError as error:
        raise ProblemError(f"{path}: {error}") from None


def run_of(record: Record, path: object) -> Run:
    """The run of a record read from `path`. Raises ProblemError that names it."""
    arrays = dict(record.arrays)
    initial = arrays.pop(INITIAL, None)
    _check_arrays(path, "a run", arrays, (INITIAL,), ())
    return _run(path, record.scalars, initial)


def result_of(record: Record, path: object) -> Result:
    """The result of a record read from `path`. Raises ProblemError that names it."""
    fields: Fields = {"backend": (str,), **{name: (int, float, type(None)) for name in NUMBERS}}
    scalars = take(path, "the result", record.scalars, fields, ("backend", "label_evaluations", "wall_seconds"))
    arrays = record.arrays
    _check_arrays(path, "a result", arrays, ARRAYS, ("last", "initial"))
    last = arrays["last"]
    grid = last.shape[:2]
    wanted: dict[str, tuple[int | None, ...]] = {
        "last": (None, None), "initial": grid, "counts": (*grid, None), "sums": (*grid, 2), "messages": (None, 3),
        "lmem": (*grid, 4)}
    for name, array in arrays.items():
        if array.ndim != len(wanted[name]) or any(w not in (None, n) for w, n in zip(wanted[name], array.shape, strict=True)):
            raise ProblemError(f"{path}: {name} has shape {array.shape}; with labels of {last.shape} it must be "
                               f"{tuple('n' if w is None else w for w in wanted[name])}: give a saved result")
    values: dict[str, Any] = {**scalars, **arrays}
    return Result(**values)


# -- files


def save_problem(path: str | os.PathLike[str], problem: Problem, run: Run | None = None) -> None:
    """Write a problem, and how long it is sampled, for `mrfhw run problem`. Raises OSError."""
    record = problem.record
    if run is None:
        return write_record(path, record)
    return write_record(path, dataclasses.replace(record, scalars={**record.scalars, "run": run.record.scalars},
                                                  arrays={**record.arrays, **run.record.arrays}))


def load_problem(path: str | os.PathLike[str]) -> tuple[Problem, Run | None]:
    """The problem in a file, and its run where it has one. Raises ProblemError in one line."""
    return problem_of(read_record(path, "problem"), path)
