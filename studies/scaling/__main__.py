"""`python -m studies.scaling`."""

from studies.scaling.command import command

command(prog_name="python -m studies.scaling")
