"""What is known of an application's options without a command line."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import NoneType, UnionType
from typing import Any, get_args, get_type_hints

from mrfhw.applications.options import COMMON, ENERGIES, CommonOptions, default, with_board
from mrfhw.jobs.job import Job
from mrfhw.machine.manifest import DEFAULTS
from mrfhw.system.errors import ProblemError

__all__ = ["Task"]


@dataclass(frozen=True, kw_only=True)
class Task:
    """An application: from options to a Job.

    verb: as in `mrfhw run VERB`. summary: what it does, in one line. arguments: the pictures or files that it takes, in order.
    job: all options, by name, to a checked Job; raises ProblemError or ConfigError. Its keyword arguments, but for `given`, are the
    application's own options; those without a default are `arguments`.
    problem: its function from data to a Problem, whose signature holds the defaults of the energies; None where the problem is not
    made here. found: options that it finds itself, each with what from.
    """

    verb: str
    summary: str
    arguments: tuple[str, ...]
    job: Callable[..., Job]
    problem: Callable[..., Any] | None
    found: dict[str, str] = field(default_factory=dict)

    @property
    def own(self) -> dict[str, Any]:
        """The application's own options, with their defaults."""
        return {name: of.default for name, of in inspect.signature(self.job).parameters.items()
                if of.kind is of.KEYWORD_ONLY and of.default is not of.empty and name != "given"}

    @property
    def energies(self) -> dict[str, Any]:
        """The energies that are options, with their defaults; None where the application finds them, or there is none."""
        if self.problem is None:
            return {}
        # Whether a temperature is given matters to annealing.
        return {name: None if name in self.found or name == "temperature" else default(self.problem, name)
                for name in ENERGIES if name in inspect.signature(self.problem).parameters}

    @cached_property
    def types(self) -> dict[str, type]:
        """int, float, bool or str of every option that has one of them, but for those of the machine."""
        hints = get_type_hints(self.job)
        if self.problem is not None:
            energies = get_type_hints(self.problem)
            hints |= {**get_type_hints(CommonOptions), **{name: energies[name] for name in self.energies}}
        found = {}
        for name, hint in hints.items():
            kinds = [kind for kind in (get_args(hint) if isinstance(hint, UnionType) else (hint,)) if kind is not NoneType]
            if len(kinds) == 1 and kinds[0] in (int, float, bool, str):
                found[name] = kinds[0]
        return found

    @property
    def held_temperature(self) -> float:
        """The temperature by default, where the application does not find it."""
        assert self.problem is not None
        return float(default(self.problem, "temperature"))

    @property
    def defaults(self) -> dict[str, Any]:
        """Every option but the arguments, with its default."""
        return {**({} if self.problem is None else COMMON), **self.energies, **self.own, **DEFAULTS}

    def job_of(self, given: Mapping[str, Any], backend: str = "model", beside: Sequence[str] = ()) -> Job:
        """The job of these options and arguments for a backend, all other options at their defaults.

        beside: options that the caller takes itself, which a message about an unknown one names as well.
        Raises ProblemError or ConfigError.
        """
        defaults = self.defaults
        for name in given:
            if name not in defaults and name not in self.arguments:
                near = difflib.get_close_matches(name, [*self.arguments, *defaults, *beside], 3, 0.7)
                known = dict.fromkeys([*self.own, *self.energies, *(COMMON if self.problem is not None else ()), *beside])
                raise ProblemError(f"{name} is no option of {self.verb}: give "
                                   + (" or ".join(near) if near else
                                      f"one of {', '.join(known)}, or a parameter of a machine such as spes"))
        for name in self.arguments:
            if name not in given:
                called = "the problem" if name == "file" else name
                raise ProblemError(f"{called} is None, or is not given; {self.verb} needs {' and '.join(self.arguments)}: give an "
                                   "array or a path")
        return self.job(**{**defaults, **given}, given=with_board(frozenset(given), backend))
