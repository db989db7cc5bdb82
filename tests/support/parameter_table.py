"""docs/parameters.md: every parameter of a machine with its option, limits and default, and the limits between them.

    python -m support.parameter_table ../docs/parameters.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from mrfhw.machine.config import Config
from mrfhw.machine.constraints import CONSTRAINTS
from mrfhw.machine.manifest import MESH_FIELDS
from mrfhw.machine.parameters import Parameter
from mrfhw.machine.samplers import SAMPLERS

__all__ = ["markdown"]

_HEAD = """# Parameters of a machine

What `mrfhw.machine.config.Config` takes in Python, and the commands by `--set FIELD=VALUE`; `mrfhw help machine NAME` prints them
with the values of a named machine. What follows from them is in `mrfhw.machine.derived.Derived`. This page is made by
`python -m support.parameter_table`.
"""

_BETWEEN = """
## Limits between parameters

Each is a function of `mrfhw.machine.constraints.CONSTRAINTS`; `Config.space` lists the parameters for a program.
"""


def _assigned(parameter: Parameter) -> str:
    return "mesh" if parameter.name in MESH_FIELDS else parameter.name


def _table(parameters: Iterable[Parameter]) -> list[str]:
    return ["", "| parameter | field of `--set` | values | default | meaning |", "| --- | --- | --- | --- | --- |",
            *(f"| `{p.field}` | `{_assigned(p)}` | {p.limits} | {p.default} | {p.text} |" for p in parameters)]


def markdown() -> str:
    """The document."""
    space = Config.space()
    lines = [_HEAD, "On the command line `mesh_rows` and `mesh_cols` are given by `--mesh ROWSxCOLS` or `--spes N`."]
    lines += _table(p for p in space if not p.sampler)
    for name, cls in SAMPLERS.items():
        first = (cls.__doc__ or "").splitlines()[0]
        lines += ["", f"## The sampler `{name}`: `{cls.__name__}`", "",
                  f"{first} They need a machine with `--set sampler={name}`.", *_table(p for p in space if p.sampler == name)]
    lines += [_BETWEEN, *(f"- {(check.__doc__ or '').strip()}" for check in CONSTRAINTS)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(markdown())
