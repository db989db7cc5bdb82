"""`mrfhw run stereo` and `verify stereo`."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from mrfhw.apps import stereo
from mrfhw.apps.images import load_disparity
from mrfhw.apps.job import Job
from mrfhw.apps.stereo import StereoTruth, both_ways, disparity_scale, stereo_problem
from mrfhw.commands.application import Application
from mrfhw.commands.machine_options import is_given
from mrfhw.commands.matching import DATA_OPTION, Matching, found_energies
from mrfhw.commands.options import label_machine, picture_options, say_range

__all__ = ["APPLICATION", "job"]


def job(*, left: str, right: str, labels: int, min_disparity: int, truth: str | None, truth_scale: float, data: str | None,
        one_way: bool, **others: Any) -> Job:
    """Check every option and read every file of a stereo problem. Raises ProblemError or ConfigError."""
    more = {} if truth is None else {"truth image": load_disparity(truth, truth_scale)}
    found = Matching.of(stereo, stereo_problem, {"left image": left, "right image": right}, ("left picture", "right picture"),
                        others, data, label_machine("labels", labels), more)
    common, (left_data, right_data, *true) = found.common, found.data
    problem = stereo_problem(left_data, right_data, labels=labels, min_disparity=min_disparity, schedule=found.schedule,
                             **found.energy)
    say_range([left, right], found.inputs)
    two_ways = found.by_census and not one_way and not common.anneal
    return Job(
        application="stereo", config=common.config, problem=problem, run=common.run, annealing=common.anneal, inputs=found.pictures,
        scale=disparity_scale(labels, min_disparity),
        ends=(np.array([0, labels - 1]), "give more --labels, or another --min-disparity"),
        truth=StereoTruth(true[0], min_disparity) if true else None,
        first=both_ways(problem, common.run, min_disparity, found.edges, not is_given("initial")) if two_ways else None,
        settings=found.settings("stereo", problem.shape, left=left, right=right, labels=labels, min_disparity=min_disparity,
                                truth=truth, truth_scale=truth_scale, both_ways=two_ways))


APPLICATION = Application(
    verb="stereo", summary="Match LEFT with RIGHT: a disparity for each pixel of LEFT, and how sure it is.",
    arguments=("left", "right"), problem=stereo_problem, sweeps=stereo.SWEEPS, job=job,
    found=found_energies(stereo, stereo_problem),
    options=(
        *picture_options(),
        DATA_OPTION,
        click.option("--one-way", is_flag=True, help="Do not match from right to left as well, to find what is hidden in RIGHT."),
        click.option("--labels", type=int, default=64, show_default=True, metavar="N", help="Disparities told apart, 2 to 256."),
        click.option("--min-disparity", type=int, default=0, show_default=True, help="Disparity of label 0, in pixels."),
        click.option("--truth", metavar="DISPARITY", help="True disparities, a grey image; 0 where unknown."),
        click.option("--truth-scale", type=float, default=1.0, show_default=True,
                     help="Grey value of one pixel of true disparity."),
    ))
