"""Arrays in an .npz archive: what their headers declare is known before a byte of them is unpacked.

A header that speaks of more than is there, and a small file that would unpack to a large one, cost no memory: arrays are declared,
then looked at a block at a time where they are large, and only then read.
"""

from __future__ import annotations

import contextlib
import io
import math
import struct
import zipfile
import zlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from mrfhw.system.errors import ProblemError
from mrfhw.system.input_files import open_plain, read_plain

__all__ = ["Archive", "Declared", "Extremes", "damaged", "open_archive", "read_npy"]

HEADER_BYTES = 1 << 16  # of an array's header
DIRECTORY_BYTES = 1 << 22  # of the list of members
_BLOCK = 1 << 20
_UNPACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # as np.savez and np.savez_compressed write
_NARROW = (np.int8, np.int16, np.int32, np.int64, np.uint64)


def damaged(path: object, why: object) -> ProblemError:
    return ProblemError(f"{path} is cut off or damaged ({why}): give the whole file")


@dataclass(frozen=True)
class Extremes:
    """least, most: of an array's finite values. strange: the first value that is no finite whole number, or None."""

    least: int | float
    most: int | float
    strange: float | None = None


@dataclass(frozen=True)
class Declared:
    """An array as its header says."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran: bool
    begin: int  # of its bytes in its member

    @property
    def size(self) -> int:
        """Bytes."""
        return math.prod(self.shape) * self.dtype.itemsize

    def stand_in(self, value: int = 0) -> np.ndarray:
        """A read-only array of that shape which takes no memory, as all its values are one: truth values, or whole numbers of the
        narrowest type."""
        kind: Any = bool if self.dtype.kind == "b" else next(one for one in _NARROW if value in _range(one))
        one = np.array(value, kind)
        one.flags.writeable = False
        return np.broadcast_to(one, self.shape)


def _range(kind: Any) -> range:
    limits = np.iinfo(kind)
    return range(int(limits.min), int(limits.max) + 1)


class _Bounded:
    """A file of which no more than `DIRECTORY_BYTES` are read at once, as zipfile reads a list of members whatever its size."""

    def __init__(self, file: BinaryIO):
        self._file = file

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)

    def read(self, size: int = -1) -> bytes:
        data = self._file.read(DIRECTORY_BYTES + 1 if size < 0 else min(size, DIRECTORY_BYTES + 1))
        if len(data) > DIRECTORY_BYTES:
            raise zipfile.BadZipFile(f"its list of members has more than {DIRECTORY_BYTES} bytes")
        return data


@contextlib.contextmanager
def _as_damage(path: Path, what: str = "") -> Iterator[None]:
    """Around what zipfile and NumPy read of a file: what they raise of a damaged one, as one line."""
    try:
        yield
    except ProblemError:
        raise
    except MemoryError:
        raise ProblemError(f"{path} takes more memory than there is: give a smaller field") from None
    except (zipfile.BadZipFile, zlib.error, struct.error, EOFError, ValueError, RuntimeError, OSError, KeyError) as error:
        raise damaged(path, what + (" ".join(str(error).split())[:80] or "it ends too soon")) from None


def _declared(stream: BinaryIO, path: Path, name: str) -> Declared:
    """What the header at the begin of a stream says. Raises ProblemError for what is no array of numbers or text."""
    with _as_damage(path, f"{name}: "):
        version = np.lib.format.read_magic(stream)
    read = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}.get(version)
    if read is None:
        raise ProblemError(f"{path}: {name} has version {version[0]}.{version[1]} of NumPy's format; 1.0 and 2.0 are read: write "
                           "it with np.savez")
    try:
        shape, fortran, dtype = read(stream, max_header_size=HEADER_BYTES)
    except Exception as error:  # NumPy reads it with Python's parser, which raises whatever broken text brings about
        raise damaged(path, f"{name}: {' '.join(str(error).split())[:80]}") from None
    if dtype.hasobject or dtype.kind not in "biufU":
        raise ProblemError(f"{path}: {name} has the type {dtype}; arrays of numbers are read: write it as integers")
    return Declared(tuple(shape), dtype, fortran, stream.tell())


def _as_long(found: Declared, held: int, path: Path, name: str) -> Declared:
    """What a header says, of an array that has so many bytes. Raises ProblemError where these are others."""
    if min(found.shape, default=0) < 0 or found.size != held:
        raise damaged(path, f"{name} has {held} bytes, its header says {found.size}")
    return found


def read_npy(path: str | Path, name: str, way_out: str) -> np.ndarray:
    """The array of numbers in an .npy file. Raises ProblemError for a damaged one, before memory is taken for it."""
    data = read_plain(path, way_out)
    found = _declared(io.BytesIO(data), Path(path), name)
    _as_long(found, len(data) - found.begin, Path(path), name)
    return np.frombuffer(data, found.dtype, offset=found.begin).reshape(found.shape, order="F" if found.fortran else "C")


class Archive:
    """An open archive. names: of its members, without ".npy"."""

    def __init__(self, path: Path, archive: zipfile.ZipFile):
        self._path, self._archive, self._infos = path, archive, archive.infolist()
        self.names = [info.filename.removesuffix(".npy") for info in self._infos]

    @property
    def size(self) -> int:
        """Bytes of all members, unpacked."""
        return sum(info.file_size for info in self._infos)

    def packed_size(self, name: str) -> int:
        """Bytes of a member, unpacked, with its header."""
        return self._infos[self.names.index(name)].file_size

    @contextlib.contextmanager
    def _member(self, name: str) -> Iterator[Any]:
        """A member's bytes, inside which only these are read."""
        info = self._infos[self.names.index(name)]
        if info.compress_type not in _UNPACKED:
            raise ProblemError(f"{self._path}: {name} is packed by method {info.compress_type}; np.savez does not use it: write it "
                               "with np.savez")
        with _as_damage(self._path), self._archive.open(info) as stream:
            yield stream

    def declared(self, name: str) -> Declared:
        """What a member's header says. Raises ProblemError for what is no array of numbers or text, and where the member has
        another size."""
        with self._member(name) as stream:
            found = _declared(stream, self._path, name)
        return _as_long(found, self.packed_size(name) - found.begin, self._path, name)

    def looked_through(self, name: str, declared: Declared) -> Extremes:
        """The extremes of an array of numbers, a block at a time. Raises ProblemError for a damaged one."""
        least: list[Any] = []
        most: list[Any] = []
        strange, step = None, _BLOCK - _BLOCK % declared.dtype.itemsize
        with self._member(name) as stream:
            stream.read(declared.begin)
            while data := stream.read(step):
                values = np.frombuffer(data, declared.dtype)
                if declared.dtype.kind == "f":
                    odd = values[~np.isfinite(values) | (values != np.trunc(values))]
                    strange = float(odd[0]) if strange is None and odd.size else strange
                    values = values[np.isfinite(values)]
                if values.size:
                    least, most = [min(*least, values.min())] if least else [values.min()], \
                        [max(*most, values.max())] if most else [values.max()]
        return Extremes(least[0].item() if least else 0, most[0].item() if most else 0, strange)

    def read(self, name: str, declared: Declared) -> np.ndarray:
        """The array. Raises ProblemError for a damaged one."""
        flat = np.empty(math.prod(declared.shape), declared.dtype)
        view = flat.view(np.uint8)
        with self._member(name) as stream:
            stream.read(declared.begin)
            for begin in range(0, declared.size, _BLOCK):
                part = stream.read(min(_BLOCK, declared.size - begin))
                view[begin:begin + len(part)] = np.frombuffer(part, np.uint8)
                if len(part) < min(_BLOCK, declared.size - begin):
                    raise EOFError("it ends too soon")
            stream.read(1)  # where the end is found, the checksum is compared
        return flat.reshape(declared.shape, order="F" if declared.fortran else "C")


@contextlib.contextmanager
def open_archive(path: Path, what: str, limit: int) -> Iterator[Archive]:
    """An archive of at most `limit` bytes, as a context manager. what: such as "a saved problem".

    Raises ProblemError in one line for what is none.
    """
    with open_plain(path, f"give {what}", limit) as file:
        if file.read(2) != b"PK":
            raise ProblemError(f"{path} is not {what}: give a file that mrfhw or np.savez wrote")
        with _as_damage(path):
            archive = zipfile.ZipFile(_Bounded(file))  # type: ignore[call-overload]
        with archive:
            yield Archive(path, archive)
