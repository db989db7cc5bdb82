"""Where a run writes: never over what it reads, over another of its outputs, or over somebody else's file."""

from __future__ import annotations

import contextlib
import errno
import json
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from mrfhw.field.records import kind_of
from mrfhw.system.errors import ProblemError
from mrfhw.system.files import check_replaceable, check_writable

__all__ = ["check_apart", "check_folder", "check_records"]


def _same(one: Path, other: Path) -> bool:
    if one.exists() and other.exists():
        return one.samefile(other)
    return one.resolve() == other.resolve()


def check_folder(directory: Path, names: Iterable[str], sources: Iterable[Path]) -> set[str]:
    """The names of the files that an earlier run wrote into a folder, by its report.

    names: of the files that are to be written there. sources: files that the run reads. Raises ProblemError for a file of these
    names that the run reads, or that the report does not list, and OSError for a folder that cannot be written.
    """
    check_writable(directory)
    read, former = list(sources), _left_by_a_run(directory)
    for name in names:
        target = directory / name
        if target.is_dir():
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(target))
        if target.exists() and any(_same(target, source) for source in read):
            raise ProblemError(f"output is {directory}, where a run writes {name}, and this run reads that file: give another "
                               "folder")
        if target.exists() and name not in former:
            raise ProblemError(f"output is {directory}, which has a {name} that no run wrote there: give another folder")
    return former


def check_apart(option: str, path: Path, sources: Iterable[Path]) -> None:
    """Raise for a file that an option names and the run reads, ProblemError, or that cannot be written, OSError."""
    check_replaceable(path)
    if any(_same(path, source) for source in sources):
        raise ProblemError(f"{option} is {path}, a file that this run reads: give another file")


def check_records(written: Mapping[str, tuple[Path, str]], directory: Path, names: Iterable[str], sources: Iterable[Path]) -> None:
    """Raise for a file that an option names where the run reads or writes another one, or that is of another kind.

    written: the file by option, and its kind (`mrfhw.field.records.kind_of`). directory, names: as of `check_folder`.
    Raises ProblemError for such a file, OSError for one that cannot be written.
    """
    taken = {directory / name: f"a file of the answer in {directory}" for name in names}
    taken |= dict.fromkeys(sources, "a file that this run reads")
    for option, (path, kind) in written.items():
        check_replaceable(path)
        for other, what in taken.items():
            if _same(path, other):
                raise ProblemError(f"{option} is {path}, {what}: give another file")
        if path.exists() and path.stat().st_size and kind_of(path) != kind:
            raise ProblemError(f"{option} is {path}, which is there and is no saved {kind}: give another file")
        taken[path] = f"which {option} is as well"


def _left_by_a_run(directory: Path) -> set[str]:
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError):
        return {str(name) for name in json.loads((directory / "report.json").read_bytes())["files"]}
    return set()
