"""`mrfhw run segment` and `verify segment`."""

from __future__ import annotations

import click

from mrfhw.applications.segmentation.job import DATA, TASK
from mrfhw.commands.application import Application
from mrfhw.commands.options import own_option, picture_options

__all__ = ["APPLICATION"]

APPLICATION = Application(TASK, (
    own_option(TASK, "classes", "Classes told apart, 2 to 256.", metavar="K"),
    own_option(TASK, "data", "What pixels are compared by.  [default: colour, where the picture has it, no means are given, and a "
               "preset's machine can]", type=click.Choice(DATA)),
    own_option(TASK, "means", "Mean grey of each class, 0 to 255, in place of --classes.  [default: by k-means]",
               metavar="G,G,..."),
    own_option(TASK, "truth", "A segmentation by hand, a grey image of segment numbers, 0 where unknown; once for each of them.",
               metavar="SEGMENTS", multiple=True),
    *picture_options(),
))
