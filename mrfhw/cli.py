"""The command line: the groups `mrfhw run` and `mrfhw verify`, and the commands of LAZY."""

from __future__ import annotations

import importlib

import click

from mrfhw import __version__
from mrfhw.commands import denoise, motion, problem, segment, stereo
from mrfhw.commands.application import run_command, verify_command
from mrfhw.commands.machine_options import OneLineGroup

__all__ = ["main"]

APPLICATIONS = (stereo.APPLICATION, motion.APPLICATION, segment.APPLICATION, denoise.APPLICATION, problem.APPLICATION)

# Commands imported when they are asked for, because they bring the gateware or much arithmetic with them.
LAZY = {"asic": "mrfhw.asic.command", "bench": "mrfhw.bench.command", "board": "mrfhw.commands.board",
        "build": "mrfhw.commands.build",
        "demo-scene": "mrfhw.commands.demo_scene", "diagnose": "mrfhw.commands.diagnose", "estimate": "mrfhw.commands.estimate",
        "export": "mrfhw.commands.export", "generate": "mrfhw.generate", "report": "mrfhw.commands.report",
        "reproduce": "mrfhw.reproduce.command", "scaling": "mrfhw.scaling.command", "statistics": "mrfhw.commands.statistics"}


class MainGroup(OneLineGroup):
    """The top group, with the commands of LAZY."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted([*super().list_commands(ctx), *LAZY])

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in LAZY:
            command: click.Command = importlib.import_module(LAZY[cmd_name]).command
            return command
        return super().get_command(ctx, cmd_name)


@click.group(cls=MainGroup)
@click.version_option(__version__, prog_name="mrfhw")
def main() -> None:
    """Markov random fields by Gibbs sampling, on hardware that this program generates."""


@main.group(cls=OneLineGroup)
def run() -> None:
    """Solve a problem and write the answer, its uncertainty and a report."""


@main.group(cls=OneLineGroup)
def verify() -> None:
    """Solve a problem by the generated hardware and by its model, and compare every bit."""


for application in APPLICATIONS:
    run.add_command(run_command(application))
    verify.add_command(verify_command(application))
