"""The folder that a command writes to, as an option's type."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from mrfhw.system.errors import ProblemError

__all__ = ["Folder"]


class Folder(click.Path):
    """A folder, which has a name: a Path."""

    def __init__(self) -> None:
        super().__init__(path_type=Path)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if value == "":
            raise ProblemError("output is empty: give a folder, or . for this one")
        return super().convert(value, param, ctx)
