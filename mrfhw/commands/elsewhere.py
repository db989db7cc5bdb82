"""A job of a batch on its way to another computer: its files go with its words, and come back as bytes."""

from __future__ import annotations

import html
import json
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from mrfhw.commands.application import Elsewhere
from mrfhw.commands.job_lines import JobLine
from mrfhw.commands.performed import Performed, performed
from mrfhw.field.records import LIMIT_BYTES
from mrfhw.system.input_files import read_plain

__all__ = ["Parcel", "Returned", "perform_elsewhere", "sent"]

_IN, _OUT = "in", "../out"  # where files lie there, and relative to it, where the answer is written
_WAY_OUT = "give a readable file"


@dataclass(frozen=True)
class Parcel:
    """A job with its files. words: what stands behind `mrfhw run` there. files: content by the path that these words have. given:
    the job's words, by what stands for them there."""

    words: tuple[str, ...]
    files: dict[str, bytes]
    given: dict[str, str]


@dataclass(frozen=True)
class Returned:
    """What a job has come to there. files: of its answer, content by name; none where it failed."""

    performed: Performed
    files: dict[str, bytes]


def sent(job: JobLine, more: tuple[str, ...], output: Path) -> Parcel:
    """A job with what is in its files. more: words behind its own. output: where its files will be.

    Files below the job's folder keep their relative paths; others have a place of their own there. What names a place on this
    computer where no file is names nothing there, either: raises ProblemError. Raises OSError.
    """
    words, files, given = [job.words[0]], dict[str, bytes](), {_OUT: str(output)}
    for number, (start, word) in enumerate(job.given):
        path = job.base / word
        outside = os.path.isabs(word) or ".." in Path(word).parts
        if not word.startswith("-") and (outside or path.is_file()):
            there = f"_{number}_/{path.name}" if outside else word
            files[there] = read_plain(path, _WAY_OUT, LIMIT_BYTES)
            if outside:
                given[there] = word
            word = there
        words.append(start + word)
    return Parcel((*words, *(one for one in more if one not in words)), files, given)


def perform_elsewhere(parcel: Parcel) -> Returned:
    """Do a job in the working directory, which is empty."""
    for name, content in parcel.files.items():
        path = Path(_IN, name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    Path(_IN).mkdir(exist_ok=True)
    done = performed(parcel.words, Path(_IN), Path(_OUT), Elsewhere(parcel.given))
    answer = Path("..", "out")
    return Returned(done, {path.name: _as_given(path, parcel.given) for path in sorted(answer.iterdir())} if done.code == 0 else {})


_WRITTEN: dict[str, Callable[[str], str]] = {"report.json": lambda text: json.dumps(text)[1:-1], "report.html": html.escape}


def _as_given(path: Path, given: Mapping[str, str]) -> bytes:
    """The content of a file, with the job's own words in the place of those that stand for them here."""
    data = path.read_bytes()
    if (written := _WRITTEN.get(path.name)) is not None:
        for there, word in given.items():
            data = data.replace(written(there).encode(), written(word).encode())
    return data
