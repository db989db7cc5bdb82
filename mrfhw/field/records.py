"""Records: named scalars and arrays, as one file, one digest and one comparison.

A file is an .npz archive: a member `json` (a text of no dimensions) with "format", "version" and the scalars, and an array
by its name for each of the others. Nothing in it is executed when it is read, and nothing is read before its size is known and
fits what the scalars say (`mrfhw.field.archive`).
"""

from __future__ import annotations

import dataclasses
import hashlib
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mrfhw.field.archive import Declared, Extremes, open_archive
from mrfhw.system.errors import ProblemError
from mrfhw.system.files import output_path, replaced

__all__ = ["LIMIT_BYTES", "VERSION", "Fields", "Record", "Recorded", "canonical", "check_arrays", "kind_of",
           "named", "read_record", "same_arrays", "take", "write_record"]

VERSION = 1  # of every record's format
LIMIT_BYTES = 1 << 32  # of a file's members together, decompressed
JSON_BYTES = 1 << 24  # of its scalars
LARGE_BYTES = 1 << 24  # an array of more is looked through before it is read
TEXT = "json"
_HASHED = 1 << 17  # values of an array that are hashed at a time


@dataclass(frozen=True)
class Record:
    """kind: what it is, such as "problem". scalars: values that JSON has. arrays: of numbers, by name."""

    kind: str
    scalars: Mapping[str, Any]
    arrays: Mapping[str, np.ndarray] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """SHA-256, 64 hexadecimal digits, of kind, version, scalars and arrays.

        Equal for equal values, whatever the arrays' layout in memory and the width of their integers.
        """
        hashed = hashlib.sha256(f"mrfhw {self.kind} {VERSION}\n".encode())
        hashed.update(json.dumps(plain_numbers(self.scalars), sort_keys=True, allow_nan=False).encode())
        for name in sorted(self.arrays):
            array = np.asarray(self.arrays[name])
            if array.dtype.kind in "biu" and array.flags.c_contiguous:  # a part at a time, as eight bytes a value may not fit
                hashed.update(f"\n{name} <i8 {array.shape}\n".encode())
                flat = array.reshape(-1)
                for begin in range(0, flat.size, _HASHED):
                    hashed.update(canonical(flat[begin:begin + _HASHED]).data)
                continue
            array = canonical(array)
            hashed.update(f"\n{name} {array.dtype.str} {array.shape}\n".encode())
            hashed.update(array.data if array.size else b"")
        return hashed.hexdigest()

    def same(self, other: Record) -> bool:
        """Whether all values are equal; arrays by `canonical`."""
        return (self.kind == other.kind and plain_numbers(self.scalars) == plain_numbers(other.scalars)
                and self.arrays.keys() == other.arrays.keys()
                and all(same_arrays(self.arrays[name], other.arrays[name]) for name in self.arrays))


class Recorded:
    """What is compared, digested and saved by its `record`. For dataclasses with eq=False."""

    @property
    def record(self) -> Record:
        """All values by name; an array that is None is left out."""
        raise NotImplementedError

    @property
    def compared(self) -> Record:
        """The values that equality and digest are of."""
        return self.record

    def __eq__(self, other: object) -> bool:
        return self.compared.same(other.compared) if isinstance(other, type(self)) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.digest)

    @property
    def digest(self) -> str:
        """SHA-256 over `compared` and the version of the files' format, 64 hexadecimal digits; the same for equal ones."""
        return self.compared.digest

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write a file that `load` reads. Raises ProblemError for what is no path of a file, or none that may be written, and
        OSError where the disk is full."""
        with output_path("path", path, "a file") as file:
            write_record(file, self.record)


def plain_numbers(value: Any) -> Any:
    """`value` with whole numbers as int, whatever they were, and lists in place of tuples."""
    if isinstance(value, Mapping):
        return {str(key): plain_numbers(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_numbers(item) for item in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return int(value) if isinstance(value, int) and not isinstance(value, bool) else value


def canonical(array: np.ndarray) -> np.ndarray:
    """`array` in C order as little-endian int64, or float64 where it has fractions: the same for the same values."""
    array = np.asarray(array)
    if array.dtype.kind == "f" and not (np.isfinite(array).all() and (array == np.floor(array)).all()):
        return np.ascontiguousarray(array, "<f8")
    if array.dtype.kind not in "biuf":
        raise ProblemError(f"an array has the type {array.dtype}; it must be of numbers: give integers, truth values or floats")
    # A 64-bit unsigned number above all signed ones wraps; its digest is still its own.
    return np.ascontiguousarray(array).astype("<i8", casting="unsafe").reshape(array.shape)


def same_arrays(first: np.ndarray, second: np.ndarray) -> bool:
    """Equal values and shapes."""
    return first.shape == second.shape and np.array_equal(canonical(first), canonical(second))


# -- files


def write_record(path: str | os.PathLike[str], record: Record) -> None:
    """Write a file, whole or not at all: a file of that name stays as it is until the new one is on the disk.

    Raises OSError where it cannot be written.
    """
    text = json.dumps({"format": f"mrfhw {record.kind}", "version": VERSION, **plain_numbers(record.scalars)}, allow_nan=False)
    with replaced(Path(path)) as file:
        np.savez(file, **{TEXT: np.array(text)}, **dict(record.arrays))  # type: ignore[arg-type]


def kind_of(path: str | os.PathLike[str]) -> str | None:
    """What a file holds, such as "problem" or "checkpoint"; None for what this module did not write."""
    try:
        with open_archive(Path(path), "a saved file", LIMIT_BYTES) as archive:
            if TEXT not in archive.names or archive.packed_size(TEXT) > JSON_BYTES:
                return None
            form = json.loads(archive.read(TEXT, archive.declared(TEXT)).item())["format"]
    except (ProblemError, ValueError, KeyError, TypeError, RecursionError):
        return None
    return form.removeprefix("mrfhw ") if isinstance(form, str) and form.startswith("mrfhw ") else None


def read_record(path: str | os.PathLike[str], kind: str, check: Callable[[Record], object] = lambda record: None,
                whole: bool = False, limit: int = LIMIT_BYTES) -> Record:
    """The record in a file. Raises ProblemError in one line, before anything large is read.

    check: raises ProblemError for a record that cannot be one of that kind; it is given the scalars that the file has, and arrays
        of its shapes that are zero everywhere. Those take no memory.
    whole: arrays are of whole numbers alone, and `check` is given the least and the greatest values of large ones as well.
    limit: bytes that its members may have together.
    """
    path = Path(path)
    with open_archive(path, f"a saved {kind}", limit) as archive:
        names = archive.names
        if archive.size > limit:
            raise ProblemError(f"{path} would take {archive.size} bytes of memory; the limit is {limit}: give a smaller field")
        if len(set(names)) < len(names) or TEXT not in names:
            raise ProblemError(f"{path} has the members {', '.join(sorted(names)[:8]) or 'none'}; a saved {kind} has {TEXT} and "
                               f"each array once: give a saved {kind}")
        if archive.packed_size(TEXT) > JSON_BYTES:
            raise ProblemError(f"{path}: {TEXT} has {archive.packed_size(TEXT)} bytes; the limit is {JSON_BYTES}: give a saved "
                               f"{kind}")
        scalars = _scalars(path, kind, archive.read(TEXT, archive.declared(TEXT)))
        declared = {name: archive.declared(name) for name in names if name != TEXT}
        for name, one in declared.items():
            if one.dtype.kind == "U":
                raise ProblemError(f"{path}: {name} is text; arrays of numbers are read: write it as integers")
        check(Record(kind, scalars, {name: one.stand_in() for name, one in declared.items()}))
        large = {name: archive.looked_through(name, one) for name, one in declared.items() if one.size > LARGE_BYTES}
        if whole and large:
            _check_extremes(path, Record(kind, scalars), declared, large, check)
        return Record(kind, scalars, {name: archive.read(name, one) for name, one in declared.items()})


def _check_extremes(path: Path, record: Record, declared: Mapping[str, Declared], large: Mapping[str, Extremes],
                    check: Callable[[Record], object]) -> None:
    """`check` of the values that large arrays have at their ends. Raises ProblemError."""
    for name, found in large.items():
        if found.strange is not None:
            raise ProblemError(f"{path}: {name} has the value {found.strange}; values are finite whole numbers: scale them")
    for end in ("least", "most"):
        check(dataclasses.replace(record, arrays={
            name: one.stand_in(int(getattr(large[name], end)) if name in large else 0) for name, one in declared.items()}))


def _scalars(path: Path, kind: str, text: np.ndarray) -> dict[str, Any]:
    """The scalars, without format and version, which are checked."""
    try:
        if text.dtype.kind != "U" or text.shape != ():
            raise ValueError("it is no text")
        found = json.loads(text.item(), parse_constant=lambda name: _refuse_constant(name))
        if not isinstance(found, dict):
            raise ValueError("it is no object")
    except (ValueError, RecursionError) as error:
        why = " ".join(str(error).split())[:80]
        raise ProblemError(f"{path}: {TEXT} cannot be read ({why}): write it with json.dumps") from None
    form, version = found.pop("format", None), found.pop("version", None)
    if form != f"mrfhw {kind}":
        raise ProblemError(f"{path} has the format {form!r}, not 'mrfhw {kind}': give a saved {kind}")
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise ProblemError(f"{path} has the format version {version!r}; this program writes {VERSION}: give a saved {kind}")
    if version > VERSION:
        raise ProblemError(f"{path} has the format version {version}; this program reads up to {VERSION}: take a newer mrfhw")
    return found


def _refuse_constant(name: str) -> float:
    raise ValueError(f"{name} is no number")


# -- what a record is checked against

Fields = Mapping[str, tuple[type, ...]]


def take(path: object, what: str, scalars: Mapping[str, Any], fields: Fields, needed: tuple[str, ...] = ()) -> dict[str, Any]:
    """`scalars`, if each is one of `fields` and of its type, and all that are `needed` are there; else ProblemError."""
    for name in scalars:
        if name not in fields:
            raise ProblemError(f"{path}: {what} has the unknown entry {name!r}; known are {', '.join(fields)}: leave it out")
    for name in needed:
        if name not in scalars:
            raise ProblemError(f"{path}: {what} lacks {name}: add it")
    for name, value in scalars.items():
        kinds = fields[name]
        if not isinstance(value, kinds) or (isinstance(value, bool) and bool not in kinds):
            raise ProblemError(f"{path}: {name} of {what} is {value!r:.60}; it must be "
                               f"{' or '.join(NAMES[kind] for kind in kinds)}: write it so")
    return dict(scalars)


NAMES: dict[type, str] = {int: "a whole number", float: "a number", str: "text", bool: "true or false", type(None): "null",
                          list: "a list", dict: "an object"}


def check_arrays(path: object, what: str, found: Mapping[str, np.ndarray], known: tuple[str, ...],
                  needed: tuple[str, ...]) -> None:
    """Raise ProblemError for an array of a file at `path` that is not `known`, and for one missing that is `needed`."""
    for name in found:
        if name not in known:
            raise ProblemError(f"{path} has the unknown array {name!r}; {what} has {', '.join(known)}: leave it out")
    for name in needed:
        if name not in found:
            raise ProblemError(f"{path} lacks the array {name}: add it")


def named(path: object, make: Any, /, **values: Any) -> Any:
    """`make(**values)`; what it refuses names the file."""
    try:
        return make(**values)
    except ProblemError as error:
        raise ProblemError(f"{path}: {error}") from None
