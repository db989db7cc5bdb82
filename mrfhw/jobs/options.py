"""Options of applications as data: their names, types, defaults and words, and which of them a run was given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from mrfhw.backends.registry import in_software
from mrfhw.machine.manifest import NAMES

__all__ = ["NOTHING", "Given", "Option"]


@dataclass(frozen=True, kw_only=True)
class Option:
    """An option of an application, on the command line and in Python.

    name: the keyword; with - for _ that of the command line.
    help: what it is, in sentences.
    type: of its value: int, float, str, or bool for a flag. A picture is a str: its file.
    default: its value where it is not given.
    said: the default in words, where the value says too little.
    choices: the values that it may have; () for any.
    metavar: what stands for the value in a help.
    multiple: it may be given several times, and its value is all of them.
    file: its value is the path of a file, or what the file has.
    rare: `mrfhw help` shows it, and a command's own help does not.
    hidden: no help shows it.
    """

    name: str
    help: str
    type: type = str
    default: Any = None
    said: str = ""
    choices: tuple[str, ...] = ()
    metavar: str | None = None
    multiple: bool = False
    file: bool = False
    rare: bool = False
    hidden: bool = False


@dataclass(frozen=True)
class Given:
    """What a run was told, beside the values of its options.

    names: the options that are given, and are not at their defaults.
    backend: who is to solve it, by name or address; what `auto` stands for is chosen before.
    """

    names: frozenset[str] = frozenset()
    backend: str = "model"

    def __contains__(self, name: str) -> bool:
        return name in self.names

    @property
    def machine_is_fixed(self) -> bool:
        """Whether the machine is a manifest's, a preset's or a board's, which a field may not change."""
        return "machine" in self or "preset" in self or "://" in self.backend

    @property
    def no_machine(self) -> bool:
        """Whether software solves it, and nothing is said of a machine."""
        return in_software(self.backend) and self.names.isdisjoint(NAMES)


NOTHING = Given()
