"""`python -m studies.bench`."""

from studies.bench.command import command

command(prog_name="python -m studies.bench")
