"""`mrfhw run denoise` and `verify denoise`."""

from __future__ import annotations

from mrfhw.applications.denoising.job import TASK
from mrfhw.commands.application import Application
from mrfhw.commands.options import own_option, picture_options

__all__ = ["APPLICATION"]

APPLICATION = Application(TASK, (
    own_option(TASK, "levels", "Grey levels told apart, 2 to 256.", metavar="N"),
    own_option(TASK, "mask", "A grey image, 0 where the picture says nothing and is to be filled.", metavar="MASK"),
    own_option(TASK, "noise", "Standard deviation of the noise, in 8-bit grey.  [default: estimated from the picture]",
               metavar="S"),
    own_option(TASK, "truth", "The clean picture.", metavar="CLEAN"),
    *picture_options(),
))
