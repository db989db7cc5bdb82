"""The types of options of `mrfhw.stereo` and the other calls, from the applications' tables, for editors and type checkers.

    python -m support.typed_options     # from tests/: write mrfhw/applications/typed.py anew
"""

from __future__ import annotations

import inspect
from collections.abc import Iterable
from pathlib import Path

from mrfhw.applications import calls
from mrfhw.jobs.options import Option
from mrfhw.jobs.registry import application
from mrfhw.machine.config import Config

MODULE = Path(__file__).parents[2] / "mrfhw" / "applications" / "typed.py"
CALLS = {"stereo": "Stereo", "motion": "Motion", "segment": "Segment", "denoise": "Denoise"}
HEAD = '''"""Types of what `mrfhw.stereo` and the other calls take beside their own arguments, for editors and type checkers.

Written by `python -m support.typed_options` (from tests/) from the tables of options; a test compares it with them.
"""

from __future__ import annotations

from typing import Any, Literal, TypedDict

__all__ = [{names}]
'''


def _union(values: Iterable[object]) -> str:
    return f"Literal[{', '.join(repr(value) for value in values)}]".replace("'", '"')


def _type(option: Option) -> str:
    """Files are given as arrays, too, and what a command line takes as text as tuples."""
    kind = _union(option.choices) if option.choices else option.type.__name__
    if not option.choices and (option.type not in (bool, int, float) or option.multiple):
        return "Any"
    return f"{kind} | None" if option.default is None else kind


def _machine() -> dict[str, str]:
    """Parameters of a machine; its own preset and shape beside them."""
    own = {"preset": "str", "spes": "int", "mesh": "tuple[int, int]"}
    return own | {p.name: _union(p.choices) if p.choices else "int" for p in Config.space()
                  if p.name not in ("mesh_rows", "mesh_cols")}


def _class(name: str, of: str, fields: dict[str, str], base: str = "TypedDict, total=False") -> str:
    return "\n".join([f"class {name}({base}):", f'    """{of}"""', "", *(f"    {field}: {kind}" for field, kind in fields.items())])


def text() -> str:
    """The module."""
    names = ["CommonOptions", "MachineOptions", *(f"{name}Options" for name in CALLS.values())]
    of = {verb: _of(verb) for verb in CALLS}
    common = {field: kind for field, kind in of["stereo"].items() if all(one.get(field) == kind for one in of.values())}
    parts = [_class("MachineOptions", "Of a machine (`mrfhw help machine`).", _machine()),
             _class("CommonOptions", "Of every application.", common, "MachineOptions, total=False"),
             *(_class(f"{name}Options", f"Of `mrfhw.{verb}` (`mrfhw run {verb} --help`).",
                      {field: kind for field, kind in of[verb].items() if field not in common}, "CommonOptions, total=False")
               for verb, name in CALLS.items())]
    return HEAD.format(names=", ".join(f'"{name}"' for name in sorted(names))) + "\n\n" + "\n\n\n".join(parts) + "\n"


def _of(verb: str) -> dict[str, str]:
    """Options that the call has no argument for."""
    app, taken = application(verb), set(inspect.signature(getattr(calls, verb)).parameters)
    return {option.name: _type(option) for option in (*app.options, *app.common) if option.name not in taken and not option.hidden}


if __name__ == "__main__":
    MODULE.write_text(text())
