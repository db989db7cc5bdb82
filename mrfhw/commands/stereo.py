"""`mrfhw run stereo` and `verify stereo`."""

from __future__ import annotations

from mrfhw.applications.stereo.job import TASK
from mrfhw.commands.application import Application
from mrfhw.commands.options import matching_data, own_option, picture_options

__all__ = ["APPLICATION"]

APPLICATION = Application(TASK, (
    own_option(TASK, "labels", "Disparities told apart, 2 to 256.  [default: found from the pictures]", metavar="N"),
    own_option(TASK, "min_disparity", "Disparity of label 0, in pixels.  [default: 0 with --labels, else found]",
               metavar="PIXELS"),
    matching_data(TASK),
    own_option(TASK, "one_way", "Do not match from right to left as well, to find what is hidden in RIGHT; nor does --anneal."),
    own_option(TASK, "truth", "True disparities, a grey image; 0 where unknown.", metavar="DISPARITY"),
    own_option(TASK, "truth_scale", "Grey value of one pixel of true disparity."),
    *picture_options(),
))
