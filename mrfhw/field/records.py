"""Records: named scalars and arrays, as one file, one digest and one comparison.

A file is an .npz archive: a member `json` (a text of no dimensions) with "format", "version" and the scalars, and an array
by its name for each of the others. Nothing in it is executed when it is read, and nothing is read before its size is known.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from mrfhw.system.errors import ProblemError
from mrfhw.system.files import output_path, replaced
from mrfhw.system.input_files import read_plain

__all__ = ["LIMIT_BYTES", "VERSION", "Fields", "Record", "Recorded", "canonical", "check_arrays", "kind_of",
           "named", "read_record", "same_arrays", "take", "write_record"]

VERSION = 1  # of every record's format
LIMIT_BYTES = 1 << 32  # of a file's members together, decompressed
JSON_BYTES = 1 << 24  # of its scalars
HEADER_BYTES = 1 << 16  # of an array's header
TEXT = "json"


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
            array = canonical(self.arrays[name])
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


def same_arrays(first: np.ndarray | None, second: np.ndarray | None) -> bool:
    """Equal values and shapes, or both None."""
    if first is None or second is None:
        return first is None and second is None
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
        with zipfile.ZipFile(path) as archive:
            info = archive.getinfo(f"{TEXT}.npy")
            if info.file_size > JSON_BYTES:
                return None
            form = json.loads(_member(Path(path), archive, info).item())["format"]
    except (ProblemError, OSError, zipfile.BadZipFile, zlib.error, EOFError, ValueError, KeyError, TypeError, RuntimeError,
            RecursionError):
        return None
    return form.removeprefix("mrfhw ") if isinstance(form, str) and form.startswith("mrfhw ") else None


def _damaged(path: object, why: object) -> ProblemError:
    return ProblemError(f"{path} is cut off or damaged ({why}): give the whole file")


def _member(path: Path, archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray:
    """One array. Its size is that of its header before it is read."""
    name = info.filename.removesuffix(".npy")
    with archive.open(info) as stream:
        try:
            version = np.lib.format.read_magic(stream)
            read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}.get(version)
            if read is None:
                raise ProblemError(f"{path}: {name} has version {version[0]}.{version[1]} of NumPy's format; 1.0 and 2.0 are "
                                   "read: write it with np.savez")
            shape, fortran, dtype = read(stream, max_header_size=HEADER_BYTES)
        except ValueError as error:
            if isinstance(error, ProblemError):
                raise
            raise _damaged(path, f"{name}: {' '.join(str(error).split())[:80]}") from None
        if dtype.hasobject or dtype.kind not in "biufU":
            raise ProblemError(f"{path}: {name} has the type {dtype}; arrays of numbers are read: write it as integers")
        if (size := math.prod(shape) * dtype.itemsize) != info.file_size - stream.tell():
            raise _damaged(path, f"{name} has {info.file_size - stream.tell()} bytes, its header says {size}")
        array = np.frombuffer(stream.read(), dtype).copy()
    return array.reshape(shape, order="F" if fortran else "C")


def read_record(path: str | os.PathLike[str], kind: str, limit: int = LIMIT_BYTES) -> Record:
    """The record in a file. Raises ProblemError in one line, before anything large is read.

    limit: bytes that its members may have together.
    """
    path = Path(path)
    data = read_plain(path, f"give a saved {kind}", limit)
    if data[:2] != b"PK":
        raise ProblemError(f"{path} is not a saved {kind}: give a file that mrfhw or np.savez wrote")
    try:
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            infos = archive.infolist()
            names = [info.filename.removesuffix(".npy") for info in infos]
            total = sum(info.file_size for info in infos)
            if total > limit:
                raise ProblemError(f"{path} would take {total} bytes of memory; the limit is {limit}: give a smaller field")
            if len(set(names)) < len(names) or TEXT not in names:
                raise ProblemError(f"{path} has the members {', '.join(sorted(names)[:8]) or 'none'}; a saved {kind} has "
                                   f"{TEXT} and each array once: give a saved {kind}")
            if infos[names.index(TEXT)].file_size > JSON_BYTES:
                raise ProblemError(f"{path}: {TEXT} has {infos[names.index(TEXT)].file_size} bytes; the limit is "
                                   f"{JSON_BYTES}: give a saved {kind}")
            scalars = _scalars(path, kind, _member(path, archive, infos[names.index(TEXT)]))
            arrays = {name: _member(path, archive, info) for name, info in zip(names, infos, strict=True) if name != TEXT}
    except ProblemError:
        raise
    except (zipfile.BadZipFile, zlib.error, EOFError, ValueError, RuntimeError, OSError) as error:
        raise _damaged(path, " ".join(str(error).split())[:80] or "it ends too soon") from None
    for name, array in arrays.items():
        if array.dtype.kind == "U":
            raise ProblemError(f"{path}: {name} is text; arrays of numbers are read: write it as integers")
    return Record(kind, scalars, arrays)


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
