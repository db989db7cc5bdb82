"""The jobs of a batch, each as the words that `mrfhw run` takes: of a file with a line a job, or of a folder by a pattern."""

from __future__ import annotations

import hashlib
import json
import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mrfhw.jobs.registry import application
from mrfhw.runs.choice import board_of
from mrfhw.system.errors import ProblemError
from mrfhw.system.input_files import read_plain

__all__ = ["JobLine", "of_file", "of_folder"]

_MOST_BYTES = 1 << 26  # of a file of jobs
_OWN = ("-o", "--output", "--checkpoint", "--resume", "--save-problem")  # which a batch gives each job itself, or does not have


@dataclass(frozen=True)
class JobLine:
    """A job of a batch.

    number: its line in the file, or its place among those of a pattern, from 1.
    words: what stands behind `mrfhw run`.
    base: the folder that its paths are relative to.
    """

    number: int
    words: tuple[str, ...]
    base: Path

    @property
    def given(self) -> list[tuple[str, str]]:
        """What may name a file in each word behind the application, and what stands before it in that word, --mask= or nothing."""
        parts = [re.match(r"(?s)(--[\w-]+=|)(.*)", word) for word in self.words[1:]]
        return [(part[1], part[2]) for part in parts if part is not None]

    @property
    def files(self) -> list[Path]:
        """The files that the words name."""
        return [path for _, word in self.given if not word.startswith("-") and (path := self.base / word).is_file()]

    @property
    def board(self) -> str | None:
        """The Dask resource that a board is, `board_of`, if one does it."""
        return next((board_of(word) for _, word in self.given if "://" in word), None)

    @property
    def name(self) -> str:
        """The job's folder: its number, and the name of its first file."""
        words = (self.base / word for word in self.words[1:] if not word.startswith("-"))
        stems = [re.sub(r"[^\w.-]+", "_", path.stem)[:40] for path in words if path.is_file()][:1]
        return "-".join([f"{self.number:04}", *stems])

    @property
    def digest(self) -> str:
        """SHA-256 of the words and of what is in the files that they name. Raises OSError."""
        hashed = hashlib.sha256(json.dumps(self.words).encode())
        for path in self.files:
            hashed.update(hashlib.sha256(path.read_bytes()).digest())
        return hashed.hexdigest()


def of_file(path: Path) -> list[JobLine]:
    """The jobs of a file: a line each, as a shell would take it behind `mrfhw run`, or a JSON object with "application" and its
    arguments and options by their names. Empty lines and those that begin with # are none. Raises ProblemError."""
    try:
        text = read_plain(path, "give a file with a job in each line", _MOST_BYTES).decode()
    except UnicodeDecodeError:
        raise ProblemError(f"{path} is no text: give a file with a job in each line") from None
    base, jobs = path.absolute().parent, []
    for number, line in enumerate(text.splitlines(), 1):
        if line.strip() and not line.lstrip().startswith("#"):
            where = f"{path}, line {number}"
            words = _of_json(line, where) if line.lstrip().startswith("{") else _of_shell(line, where)
            jobs.append(JobLine(number, _checked(words, where), base))
    if not jobs:
        raise ProblemError(f"{path} has no job: give a line such as stereo LEFT RIGHT --labels 24 for each")
    return jobs


def of_folder(folder: Path, pattern: str) -> list[JobLine]:
    """A job for each file of a folder that the first word with a * names; in the words after it, * is what the first one was.

    pattern: such as "stereo *_left.png *_right.png --labels 24". Raises ProblemError.
    """
    words = _checked(_of_shell(pattern, "each"), "each")
    first = next((word for word in words if "*" in word), None)
    if first is None or first.count("*") != 1:
        raise ProblemError(f"each is {pattern!r}; its first file has one *, which stands for what differs: give such as "
                           "'stereo *_left.png *_right.png'")
    before, after = first.split("*")
    found = sorted(str(path.relative_to(folder)) for path in folder.glob(first) if path.is_file())
    if not found:
        raise ProblemError(f"{folder} has no file {first}: give another pattern, or another folder")
    drawn = [name[len(before):len(name) - len(after)] for name in found]
    return [JobLine(number, tuple(word.replace("*", one) for word in words), folder.absolute())
            for number, one in enumerate(drawn, 1)]


def _of_shell(line: str, where: str) -> list[str]:
    try:
        return shlex.split(line, comments=True)
    except ValueError as error:
        raise ProblemError(f"{where}: {str(error).lower()}: write it as for a shell") from None


def _of_json(line: str, where: str) -> list[str]:
    """The words of {"application": NAME, arguments and options by their names}."""
    try:
        held = json.loads(line)
        name = held.pop("application")
    except (ValueError, KeyError, RecursionError) as error:
        raise ProblemError(f'{where} is no JSON object with "application" ({type(error).__name__}): give one') from None
    app = application(name) if isinstance(name, str) else None
    if app is None:
        raise ProblemError(f"{where}: application is {name!r:.40}; it is the name of one: give such as stereo")
    missing = [one for one in app.arguments if one not in held]
    if missing:
        raise ProblemError(f"{where} has no {missing[0]}: give it")
    return [name, *(_word(held.pop(one), one, where) for one in app.arguments), *_options(held, where)]


def _word(value: Any, name: str, where: str) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise ProblemError(f"{where}: {name} is {value!r:.40}; it is text or a number: give one")
    return str(value)


def _options(held: dict[str, Any], where: str) -> list[str]:
    words: list[str] = []
    for name, value in held.items():
        option = "--" + name.replace("_", "-")
        if value is True:
            words.append(option)
        elif value is not None and value is not False:
            for one in value if isinstance(value, list) else [value]:
                words += [option, _word(one, name, where)]
    return words


def _checked(words: Sequence[str], where: str) -> tuple[str, ...]:
    """Raises ProblemError for what a batch gives each job itself."""
    if list(words[:1]) == ["mrfhw"]:
        words = words[1:]
    if list(words[:1]) == ["run"]:
        words = words[1:]
    own = next((word for word in words if word.split("=")[0] in _OWN), None)
    if own is not None:
        raise ProblemError(f"{where} has {own}; a job of a batch writes to a folder of its own: leave it out")
    if not words:
        raise ProblemError(f"{where} has no application: give such as stereo LEFT RIGHT")
    return tuple(words)
