"""`mrfhw run` and `mrfhw verify`, the groups of what every application has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from mrfhw.commands.application import run_command, verify_command
from mrfhw.commands.machine_options import OneLineCommand, OneLineGroup
from mrfhw.jobs.application import Application
from mrfhw.jobs.registry import application, names
from mrfhw.system.errors import ProblemError

__all__ = ["run", "verify"]


class Applications(OneLineGroup):
    """A group with a command for each application, which is imported when it is asked for.

    made: the command of an application. only: which applications have one, None for all.
    """

    def __init__(self, *args: Any, made: Callable[[Application], click.Command],
                 only: Callable[[Application], bool] | None = None, **more: Any):
        super().__init__(*args, **more)
        self._made, self._only = made, only

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [name for name in names() if self._has(name)]

    def _has(self, name: str) -> bool:
        if self._only is None:
            return True
        try:
            return self._only(application(name))
        except ProblemError:  # of one that cannot be imported, which get_command says
            return True

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command:
        """Of one that cannot be imported, a command that says so. Raises click.UsageError for one that there is not."""
        known = self.list_commands(ctx)
        if cmd_name not in known:
            raise click.UsageError(f"application is {cmd_name!r}; it must be one of {', '.join(known)}: choose one", ctx)
        try:
            return self._made(application(cmd_name))
        except ProblemError as error:
            return _refused(cmd_name, error)


def _refused(name: str, error: ProblemError) -> click.Command:
    def command(words: tuple[str, ...]) -> None:
        raise error

    return OneLineCommand(name, callback=command, params=[click.Argument(["words"], nargs=-1)], help=str(error),
                          add_help_option=False, context_settings={"ignore_unknown_options": True})


@click.group(cls=Applications, made=run_command)
def run() -> None:
    """Solve a problem and write the answer, its uncertainty and a report."""


@click.group(cls=Applications, made=verify_command)
def verify() -> None:
    """Solve a problem by the generated hardware and by its model, and compare every bit."""
