"""`mrfhw run stereo` and `verify stereo`."""

from __future__ import annotations

from typing import Any

import click
import numpy as np

from mrfhw.apps.descriptors import census, edge_weights, takes_census
from mrfhw.apps.images import load_disparity, load_inputs
from mrfhw.apps.job import Job
from mrfhw.apps.stereo import (
    CENSUS_ENERGY,
    CENSUS_SWEEPS,
    CONTRAST,
    COOLING,
    EDGE,
    MACHINE,
    SINGLETON_MAX,
    SMOOTH,
    SWEEPS,
    StereoTruth,
    both_ways,
    disparity_scale,
    stereo_problem,
)
from mrfhw.commands.application import Application
from mrfhw.commands.machine_options import is_given
from mrfhw.commands.options import Common, default, label_machine, picture_options, same_size, say_range
from mrfhw.machine.config import Config

__all__ = ["APPLICATION", "job"]


def job(*, left: str, right: str, labels: int, min_disparity: int, truth: str | None, truth_scale: float, data: str | None,
        one_way: bool, **others: Any) -> Job:
    """Check every option and read every file of a stereo problem. Raises ProblemError or ConfigError."""
    wanted = others["singleton"]  # greys are compared in other ways

    def by_census_on(config: Config) -> bool:
        return data == "census" or (data is None and wanted in (None, "hamming") and takes_census(config))

    by_grey = data == "grey" or wanted in ("absolute", "squared")
    common = Common.of(others, label_machine("labels", labels) | ({} if by_grey else MACHINE),
                       lambda config: CENSUS_SWEEPS if by_census_on(config) else SWEEPS)
    by_census = by_census_on(common.config)
    inputs = load_inputs([left, right], 8 if by_census else common.config.data_bits, common.reading)
    images = dict(zip(("left image", "right image"), map(census, inputs.data) if by_census else inputs.data, strict=True))
    shown = dict(zip(("left picture", "right picture"), inputs.pictures, strict=True))
    if truth is not None:
        images["truth image"] = load_disparity(truth, truth_scale)
    left_data, right_data, *true = same_size(images, common.window)
    pictures = dict(zip(shown, same_size(shown, common.window), strict=True))
    standard = CENSUS_ENERGY if by_census else {"temperature": default(stereo_problem, "temperature")}
    schedule = common.schedule(standard["temperature"], COOLING)
    energy = {**{name: value for name, value in standard.items() if name != "temperature"}, **common.energy}
    if by_census and common.config.singleton_cap:
        energy["singleton_max"] = SINGLETON_MAX
    problem = stereo_problem(left_data, right_data, labels=labels, min_disparity=min_disparity, schedule=schedule, **energy)
    say_range([left, right], inputs)
    two_ways = by_census and not one_way and not common.anneal
    weighted = two_ways and common.config.edge_bits >= SMOOTH.bit_length()
    edges = edge_weights(pictures["left picture"], SMOOTH, EDGE, CONTRAST) if weighted else None
    return Job(
        application="stereo", config=common.config, problem=problem, run=common.run, annealing=common.anneal, inputs=pictures,
        scale=disparity_scale(labels, min_disparity),
        ends=(np.array([0, labels - 1]), "give more --labels, or another --min-disparity"),
        truth=StereoTruth(true[0], min_disparity) if true else None,
        first=both_ways(problem, common.run, min_disparity, edges, not is_given("initial")) if two_ways else None,
        settings=common.settings("stereo", problem.shape, schedule, left=left, right=right, labels=labels,
                                 min_disparity=min_disparity, truth=truth, truth_scale=truth_scale,
                                 data="census" if by_census else "grey", both_ways=two_ways,
                                 stretched_from=inputs.stretched_from))


APPLICATION = Application(
    verb="stereo", summary="Match LEFT with RIGHT: a disparity for each pixel of LEFT, and how sure it is.",
    arguments=("left", "right"), problem=stereo_problem, sweeps=SWEEPS, job=job,
    found={"sweeps": f"{CENSUS_SWEEPS} of census, {SWEEPS} of grey",
           **{name: f"{value} of census, {grey} of grey" for name, value in CENSUS_ENERGY.items()
              if (grey := default(stereo_problem, name)) != value}},
    options=(
        *picture_options(),
        click.option("--data", type=click.Choice(["census", "grey"]), help="What pixels are compared by: which of their neighbours "
                     "are darker, or their own grey.  [default: census, where a preset's machine can]"),
        click.option("--one-way", is_flag=True, help="Do not match from right to left as well, to find what is hidden in RIGHT."),
        click.option("--labels", type=int, default=64, show_default=True, metavar="N", help="Disparities told apart, 2 to 256."),
        click.option("--min-disparity", type=int, default=0, show_default=True, help="Disparity of label 0, in pixels."),
        click.option("--truth", metavar="DISPARITY", help="True disparities, a grey image; 0 where unknown."),
        click.option("--truth-scale", type=float, default=1.0, show_default=True,
                     help="Grey value of one pixel of true disparity."),
    ))
