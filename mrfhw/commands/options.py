"""Options of applications, which are data, as options of click."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from mrfhw.commands.machine_options import Rare
from mrfhw.jobs.options import Option

__all__ = ["Decorator", "click_option"]

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


def click_option(option: Option) -> Decorator:
    """The option on the command line. Its help ends with its default, unless that is a flag's."""
    more: dict[str, Any] = {"is_flag": True} if option.type is bool else {
        "type": click.Choice(option.choices) if option.choices else option.type, "metavar": option.metavar,
        "multiple": option.multiple, "show_default": not option.said and option.default not in (None, ())}
    return click.option("--" + option.name.replace("_", "-"), option.name, default=option.default, hidden=option.hidden,
                        cls=Rare if option.rare else None,
                        help=option.help + (f"  [default: {option.said}]" if option.said else ""), **more)
