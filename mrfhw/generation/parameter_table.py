"""docs/parameters.md: every parameter of a machine with its option, limits and default, and the limits between them.

    python -m mrfhw.generation.parameter_table docs/parameters.md
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

from mrfhw.machine.config import Config
from mrfhw.machine.constraints import CONSTRAINTS
from mrfhw.machine.parameters import Parameter
from mrfhw.machine.samplers import SAMPLERS

__all__ = ["markdown"]

_HEAD = """# Parameters of a machine

What `mrfhw.machine.config.Config` takes in Python, and the commands as options; made by
`python -m mrfhw.generation.parameter_table`. What follows from them is in `mrfhw.machine.derived.Derived`.
"""

_BETWEEN = """
## Limits between parameters

Each is a function of `mrfhw.machine.constraints.CONSTRAINTS`; `Config.space` lists the parameters for a program.
"""


def _table(parameters: Iterable[Parameter]) -> list[str]:
    return ["", "| parameter | option | values | default | meaning |", "| --- | --- | --- | --- | --- |",
            *(f"| `{p.field}` | `--{p.name.replace('_', '-')}` | {p.limits} | {p.default} | {p.text} |" for p in parameters)]


def markdown() -> str:
    """The document."""
    space = Config.space()
    lines = [_HEAD, "`mesh_rows` and `mesh_cols` are given by `--mesh ROWSxCOLS` or `--spes N` on the command line."]
    lines += [line.replace("`--mesh-rows`", "`--mesh`").replace("`--mesh-cols`", "`--mesh`")
              for line in _table(p for p in space if not p.sampler)]
    for name, cls in SAMPLERS.items():
        first = (cls.__doc__ or "").splitlines()[0]
        lines += ["", f"## The sampler `{name}`: `{cls.__name__}`", "",
                  f"{first} These options need a machine with `--sampler {name}`.", *_table(p for p in space if p.sampler == name)]
    lines += [_BETWEEN, *(f"- {(check.__doc__ or '').strip()}" for check in CONSTRAINTS)]
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(markdown())
