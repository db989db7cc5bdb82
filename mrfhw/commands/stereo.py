"""`mrfhw run stereo` and `verify stereo`."""

from __future__ import annotations

from typing import Any

import click

from mrfhw.apps.images import load_disparity, load_input
from mrfhw.apps.job import Job
from mrfhw.apps.stereo import COOLING, SWEEPS, StereoTruth, disparity_scale, stereo_problem
from mrfhw.commands.application import Application
from mrfhw.commands.options import Common, default, same_size

__all__ = ["APPLICATION", "job"]


def job(*, left: str, right: str, labels: int, min_disparity: int, truth: str | None, truth_scale: float,
        **others: Any) -> Job:
    """Check every option and read every file of a stereo problem. Raises ProblemError or ConfigError."""
    common = Common.of(others)
    images = {}
    images["left image"], left_picture = load_input(left, common.config.data_bits)
    images["right image"], right_picture = load_input(right, common.config.data_bits)
    shown = {"left picture": left_picture, "right picture": right_picture}
    if truth is not None:
        images["truth image"] = load_disparity(truth, truth_scale)
    left_data, right_data, *true = same_size(images, common.window)
    schedule = common.schedule(default(stereo_problem, "temperature"), COOLING)
    problem = stereo_problem(left_data, right_data, labels=labels, min_disparity=min_disparity, schedule=schedule,
                             **common.energy)
    return Job(
        application="stereo", config=common.config, problem=problem, run=common.run, annealing=common.anneal,
        inputs=dict(zip(shown, same_size(shown, common.window), strict=True)),
        scale=disparity_scale(labels, min_disparity), truth=StereoTruth(true[0], min_disparity) if true else None,
        settings=common.settings("stereo", problem.shape, schedule, left=left, right=right, labels=labels,
                                 min_disparity=min_disparity, truth=truth, truth_scale=truth_scale))


APPLICATION = Application(
    verb="stereo", summary="Match LEFT with RIGHT: a disparity for each pixel of LEFT, and how sure it is.",
    arguments=("left", "right"), problem=stereo_problem, sweeps=SWEEPS, job=job,
    options=(
        click.option("--labels", type=int, default=64, show_default=True, metavar="N", help="Disparities told apart, 2 to 64."),
        click.option("--min-disparity", type=int, default=0, show_default=True, help="Disparity of label 0, in pixels."),
        click.option("--truth", metavar="DISPARITY", help="True disparities, a grey image; 0 where unknown."),
        click.option("--truth-scale", type=float, default=1.0, show_default=True,
                     help="Grey value of one pixel of true disparity."),
    ))
