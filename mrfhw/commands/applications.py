"""`mrfhw run` and `mrfhw verify`, the groups of what every application has."""

from __future__ import annotations

import click

from mrfhw.commands import denoise, motion, problem, segment, stereo
from mrfhw.commands.application import run_command, verify_command
from mrfhw.commands.machine_options import OneLineGroup

__all__ = ["APPLICATIONS", "run", "verify"]

APPLICATIONS = (stereo.APPLICATION, motion.APPLICATION, segment.APPLICATION, denoise.APPLICATION, problem.APPLICATION)


@click.group(cls=OneLineGroup)
def run() -> None:
    """Solve a problem and write the answer, its uncertainty and a report."""


@click.group(cls=OneLineGroup)
def verify() -> None:
    """Solve a problem by the generated hardware and by its model, and compare every bit."""


for application in APPLICATIONS:
    run.add_command(run_command(application))
    verify.add_command(verify_command(application))
