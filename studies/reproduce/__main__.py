"""`python -m studies.reproduce`."""

from studies.reproduce.command import command

command(prog_name="python -m studies.reproduce")
