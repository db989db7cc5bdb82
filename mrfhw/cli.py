"""The command line: the commands of LAZY."""

from __future__ import annotations

import importlib

import click

from mrfhw import __version__
from mrfhw.commands.machine_options import OneLineGroup

__all__ = ["LAZY", "main"]

# Commands, each imported when it is asked for, because they bring the gateware or much arithmetic with them; of a module its
# `command` or what is named.
LAZY = {"batch": "mrfhw.commands.batch", "board": "mrfhw.commands.board", "build": "mrfhw.commands.build",
        "demo-scene": "mrfhw.commands.demo_scene", "diagnose": "mrfhw.commands.diagnose",
        "estimate": "mrfhw.commands.estimate", "export": "mrfhw.commands.export",
        "generate": "mrfhw.generate", "help": "mrfhw.commands.help", "report": "mrfhw.commands.report",
        "plan": "mrfhw.commands.plan", "run": "mrfhw.commands.applications:run", "serve": "mrfhw.commands.serve",
        "share": "mrfhw.commands.share",
        "size-queues": "mrfhw.commands.size_queues",
        "submit": "mrfhw.commands.submit", "tune": "mrfhw.commands.tune", "verify": "mrfhw.commands.applications:verify",
        "video": "mrfhw.commands.video:video"}


class MainGroup(OneLineGroup):
    """The top group, with the commands of LAZY."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(LAZY)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name not in LAZY:
            return None
        module, _, name = LAZY[cmd_name].partition(":")
        command: click.Command = getattr(importlib.import_module(module), name or "command")
        return command


@click.group(cls=MainGroup)
@click.version_option(__version__, prog_name="mrfhw")
def main() -> None:
    """Markov random fields by Gibbs sampling, on hardware that this program generates."""
