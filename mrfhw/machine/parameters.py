"""What is stated of a parameter beside its field: limits or choices, a sentence, the name of its option.

Checks, the command line's help, the table in the documents and the classes' docstrings are made from it.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

__all__ = ["ConfigError", "Parameter", "check", "choice", "described", "parameters", "whole"]


class ConfigError(ValueError):
    """A parameter that no machine can have. The message names the value, the limit and a way out."""


@dataclass(frozen=True)
class Parameter:
    """A parameter: a whole number from `low` to `high`, or one of `choices`.

    name: unique among all parameters of a machine; the command line's option is made of it. field: of the dataclass that has
    it. sampler: name of the sampler that has it, "" for a parameter of every machine. text: one sentence.
    """

    name: str
    field: str
    default: Any
    text: str
    low: int = 0
    high: int = 0
    choices: tuple[Any, ...] = ()
    sampler: str = ""

    @property
    def type(self) -> type:
        return str if self.choices and isinstance(self.choices[0], str) else int

    @property
    def limits(self) -> str:
        """The values that it may have, in words."""
        return ", ".join(map(str, self.choices)) if self.choices else f"{self.low} to {self.high}"

    @property
    def sentences(self) -> str:
        """Its text and its values, as they are given."""
        return f"{self.text} {'One of ' if self.choices else ''}{self.limits}."

    def checked(self, value: Any) -> Any:
        """`value` as int or str. Raises ConfigError for one that it may not have."""
        where = f"{self.field} of the {self.sampler} sampler" if self.sampler else self.field
        if self.choices:
            if isinstance(value, bool) or value not in self.choices:
                raise ConfigError(f"{where} is {value!r}; it must be one of {self.limits}: choose one")
            return self.choices[self.choices.index(value)]
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)):
            raise ConfigError(f"{where} is {value!r}; it must be a whole number: give {self.limits}")
        if not self.low <= value <= self.high:
            raise ConfigError(f"{where} is {value}; the limits are {self.limits}: give a value between them")
        return int(value)


_KEY = "parameter"


def whole(default: int, low: int, high: int, text: str, *, option: str = "", sampler: str = "") -> Any:
    """A dataclass field for a whole number from `low` to `high`. option: its name on the command line, if not the field's."""
    return dataclasses.field(default=default, metadata={_KEY: Parameter(option, "", default, text, low, high, (), sampler)})


def choice(default: Any, choices: Sequence[Any], text: str, *, option: str = "", sampler: str = "") -> Any:
    """A dataclass field for one of `choices`."""
    return dataclasses.field(default=default, metadata={_KEY: Parameter(option, "", default, text, 0, 0, tuple(choices), sampler)})


def parameters(of: Any) -> list[Parameter]:
    """The parameters of a dataclass or of an object of it, in order."""
    return list(_of_class(of if isinstance(of, type) else type(of)))


@cache  # a search makes ten thousands of machines
def _of_class(cls: Any) -> tuple[Parameter, ...]:
    return tuple(dataclasses.replace(field.metadata[_KEY], field=field.name, name=field.metadata[_KEY].name or field.name)
                 for field in dataclasses.fields(cls) if _KEY in field.metadata)


def check(values: Any) -> None:
    """Have every parameter of a frozen dataclass checked, and held as int or str. Raises ConfigError."""
    for parameter in parameters(values):
        object.__setattr__(values, parameter.field, parameter.checked(getattr(values, parameter.field)))


def described(cls: type) -> type:
    """Add a line for each parameter to a dataclass's docstring."""
    lines = [f"    {p.field}: {p.sentences}" for p in parameters(cls)]
    cls.__doc__ = "\n".join([(cls.__doc__ or "").rstrip(), "", *lines, "    "])
    return cls
