"""`mrfhw run problem` and `verify problem`: a field from a file."""

from __future__ import annotations

import click

from mrfhw.applications.field.job import SWEEPS, TASK
from mrfhw.applications.options import MORE
from mrfhw.commands.application import Application
from mrfhw.commands.options import MOST_HELP, SEED_HELP, own_option
from mrfhw.field.problem import ESTIMATES

__all__ = ["APPLICATION"]

APPLICATION = Application(TASK, (
    own_option(TASK, "sweeps", f"Sweeps of a chain, burn-in included.  [default: the file's, or {SWEEPS}]"),
    own_option(TASK, "burn_in", "First sweeps, which are not counted.  [default: half of --sweeps; without that, the file's]"),
    own_option(TASK, "most_sweeps", f"{MOST_HELP}  [default: {MORE * SWEEPS} where neither the file nor an option says how many "
               "sweeps there are; else no more]", metavar="N"),
    own_option(TASK, "seed", f"{SEED_HELP}  [default: the file's, or 0]"),
    own_option(TASK, "initial", "Labels to start from: random or minimum.  [default: the file's, or random]"),
    own_option(TASK, "estimate", "What is made of the samples: mode, mean or last.  [default: the file's, or mode]",
               type=click.Choice(ESTIMATES)),
))
