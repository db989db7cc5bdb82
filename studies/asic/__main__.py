"""`python -m studies.asic`."""

from studies.asic.command import command

command(prog_name="python -m studies.asic")
