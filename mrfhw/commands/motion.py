"""`mrfhw run motion` and `verify motion`."""

from __future__ import annotations

from typing import Any

import click

from mrfhw.apps.flow import read_flow
from mrfhw.apps.images import load_input
from mrfhw.apps.job import Job
from mrfhw.apps.motion import COOLING, SWEEPS, MotionTruth, motion_problem, motion_scale, motion_vectors
from mrfhw.commands.application import Application
from mrfhw.commands.options import Common, default, pair, same_size

__all__ = ["APPLICATION", "job"]


def job(*, first: str, second: str, vectors: str, centre: str, truth: str | None, **others: Any) -> Job:
    """Check every option and read every file of a motion problem. Raises ProblemError or ConfigError."""
    common = Common.of(others)
    rows, cols = pair("vectors", vectors, "x", "7x7")
    middle = pair("centre", centre, ",", "0,-4")
    motions = motion_vectors(rows, cols, middle)
    images = {}
    images["first image"], first_picture = load_input(first, common.config.data_bits)
    images["second image"], second_picture = load_input(second, common.config.data_bits)
    shown = {"first frame": first_picture, "second frame": second_picture}
    if truth is not None:
        images["truth"] = read_flow(truth)
    first_data, second_data, *true = same_size(images, common.window)
    schedule = common.schedule(default(motion_problem, "temperature"), COOLING)
    problem = motion_problem(first_data, second_data, rows=rows, cols=cols, centre=middle, schedule=schedule, **common.energy)
    return Job(
        application="motion", config=common.config, problem=problem, run=common.run, annealing=common.anneal,
        inputs=dict(zip(shown, same_size(shown, common.window), strict=True)), scale=motion_scale(rows, cols, middle),
        truth=MotionTruth(true[0], motions) if true else None,
        settings=common.settings("motion", problem.shape, schedule, first=first, second=second, labels=rows * cols,
                                 vectors=vectors, centre=centre, truth=truth))


APPLICATION = Application(
    verb="motion", summary="Follow FIRST into SECOND: a motion for each pixel of FIRST, and how sure it is.",
    arguments=("first", "second"), problem=motion_problem, sweeps=SWEEPS, job=job,
    options=(
        click.option("--vectors", default="7x7", show_default=True, metavar="ROWSxCOLS",
                     help="Motions told apart: so many along rows and columns, 2 to 64 together."),
        click.option("--centre", default="0,0", show_default=True, metavar="ROW,COL",
                     help="The motion in the middle of them, in pixels."),
        click.option("--truth", metavar="FLOW", help="True motions, a Middlebury .flo file."),
    ))
