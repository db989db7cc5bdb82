"""What an application is: from a user's data and options to a job, and from a job to an answer."""

from __future__ import annotations

import dataclasses
import difflib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mrfhw.jobs.options import Given, Option
from mrfhw.machine.manifest import DEFAULTS
from mrfhw.system.errors import ProblemError

if TYPE_CHECKING:  # both know of applications
    from mrfhw.analysis.answer import Analysis
    from mrfhw.jobs.job import Job

__all__ = ["Application", "Measure", "SceneWriter", "Writer"]

Writer = Callable[["Job", "Analysis"], bytes | None]  # a file's bytes, None where this answer has none


def _nothing(measures: Mapping[str, float | None]) -> str | None:
    return None


@dataclass(frozen=True)
class Measure:
    """A measure of quality that a `Truth` gives.

    what: its name in words.
    unit: its unit, and of what.
    decimals: digits behind the point.
    """

    what: str
    unit: str
    decimals: int = 3


@dataclass(frozen=True, kw_only=True)
class SceneWriter:
    """A built-in scene of known truth.

    write: folder, rows, cols, seed, and `options` by name, to the files that it wrote there, and to the arguments and options of
    `mrfhw run` that solve it, with {} for the folder. Raises ProblemError.
    options: what a scene takes beside its size and seed.
    solved_by: the command that solves it; "" for `run` of its application.
    """

    write: Callable[..., tuple[list[Path], str]]
    options: tuple[Option, ...] = ()
    solved_by: str = ""


@dataclass(frozen=True, kw_only=True)
class Application:
    """An application; `mrfhw run VERB` and `mrfhw verify VERB` follow from it, and what its reports and files have.

    verb: its name on the command line.
    summary: what it does, in one line, with its arguments in capitals.
    title: of its page.
    arguments: the pictures or files that it takes, in order.
    options: its own.
    common: those of every application that reads pictures, with its energies (`mrfhw.applications.options.common_options`).
    job: the application itself and, as keywords, arguments, all options with their values, and `given`, a `Given`, to a checked
    `Job`. Raises ProblemError or ConfigError.
    tuned: the numbers that were found on pictures, a dataclass of its own.
    answer: the class of its answer in Python; None for `mrfhw.Answer`.
    maps: names of further maps of its pixels (`Job.maps`), each with its caption in a page; "" for none.
    files: files of its answer that other programs read, by name.
    measures: what its truth measures, by name.
    in_time: 1 where the second picture is the one after the first in time, so that a video has one for each of its frames but the
    last; else 0.
    of_video: options of a frame of a video by default, where they are others than a picture's and something is sampled first.
    for_all: from the jobs of some frames of a video to the options by which one set of labels serves all of them; None where labels
    are never found from pictures.
    doubt: from measures to what makes the answer doubtful, one line; None where nothing does.
    scene: a scene of known truth, for `mrfhw demo-scene`. scenes: others, by name.
    """

    verb: str
    summary: str
    title: str
    arguments: tuple[str, ...]
    job: Callable[..., Job]
    options: tuple[Option, ...] = ()
    common: tuple[Option, ...] = ()
    tuned: Any = None
    answer: type[Any] | None = None
    maps: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, Writer] = field(default_factory=dict)
    measures: Mapping[str, Measure] = field(default_factory=dict)
    doubt: Callable[[Mapping[str, float | None]], str | None] = _nothing
    in_time: int = 0
    of_video: Mapping[str, Any] = field(default_factory=dict)
    for_all: Callable[[Sequence[Job]], dict[str, Any]] | None = None
    scene: SceneWriter | None = None
    scenes: Mapping[str, SceneWriter] = field(default_factory=dict)

    @property
    def of_pictures(self) -> bool:
        """Whether its arguments are pictures, of which a video has many."""
        return "stretch" in self.types

    @property
    def defaults(self) -> dict[str, Any]:
        """Every option, those of a machine among them, with its default."""
        return {option.name: option.default for option in (*self.common, *self.options)} | DEFAULTS

    @property
    def types(self) -> dict[str, type]:
        """The type of every option but those of a machine."""
        return {option.name: option.type for option in (*self.common, *self.options)}

    @property
    def of_files(self) -> frozenset[str]:
        """Its arguments and options whose values are paths of files, or what files have."""
        return frozenset({*self.arguments, *(option.name for option in (*self.options, *self.common) if option.file)})

    def _sources(self, given: Mapping[str, Any]) -> tuple[Path, ...]:
        """The files that are given and are there."""
        values = [value for name, value in given.items() if name in self.of_files]
        names = [name for value in values for name in (value if isinstance(value, (list, tuple)) else (value,))]
        return tuple(Path(name) for name in names if isinstance(name, (str, os.PathLike)) and Path(name).is_file())

    def check_known(self, given: Iterable[str], beside: Sequence[str] = ()) -> None:
        """Raise ProblemError for a name that is no option, argument or parameter of a machine. beside: as of `job_of`."""
        defaults = self.defaults
        for name in given:
            if name not in defaults and name not in self.arguments:
                near = difflib.get_close_matches(name, [*self.arguments, *defaults, *beside], 3, 0.7)
                known = dict.fromkeys([*(option.name for option in (*self.options, *self.common)), *beside])
                raise ProblemError(f"{name} is no option of {self.verb}: give "
                                   + (" or ".join(near) if near else
                                      f"one of {', '.join(known)}, or a parameter of a machine such as spes"))

    def job_of(self, given: Mapping[str, Any], backend: str = "model", beside: Sequence[str] = ()) -> Job:
        """The job of these options and arguments for a backend, all other options at their defaults.

        beside: options that the caller takes itself, which a message about an unknown one names as well.
        Raises ProblemError or ConfigError.
        """
        self.check_known(given, beside)
        for name in self.arguments:
            if name not in given:
                called = "the problem" if name == "file" else name
                raise ProblemError(f"{called} is None, or is not given; {self.verb} needs {' and '.join(self.arguments)}: give an "
                                   "array or a path")
        job = self.job(self, **{**self.defaults, **given}, given=Given(frozenset(given), backend))
        return dataclasses.replace(job, sources=self._sources(given))

    def describe(self, name: str, value: float) -> str:
        """A measure as a line of text, such as "bad 1 px: 11.50 % of the pixels of known truth"."""
        found = self.measures.get(name, Measure(name.replace("_", " "), "", 4))
        return f"{found.what}: {value:.{found.decimals}f} {found.unit}".strip()
