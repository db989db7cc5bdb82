"""`mrfhw run motion` and `verify motion`."""

from __future__ import annotations

from mrfhw.applications.motion.job import TASK
from mrfhw.commands.application import Application
from mrfhw.commands.options import matching_data, own_option, picture_options

__all__ = ["APPLICATION"]

APPLICATION = Application(TASK, (
    own_option(TASK, "vectors", "Motions told apart: so many along rows and columns, 2 to 256 together.  "
               "[default: found from the frames]", metavar="ROWSxCOLS"),
    own_option(TASK, "centre", "The motion in the middle of them, in pixels.  [default: 0,0 with --vectors, else found]",
               metavar="ROW,COL"),
    matching_data(TASK),
    own_option(TASK, "one_way", "Do not match from SECOND to FIRST as well, to find what is hidden in SECOND; nor does --anneal "
               "or --data grey."),
    own_option(TASK, "truth", "True motions, a Middlebury .flo file.", metavar="FLOW"),
    *picture_options(),
))
