"""`mrfhw run motion` and `verify motion`."""

from __future__ import annotations

import dataclasses
from typing import Any

import click
import numpy as np

from mrfhw.apps.descriptors import census, edge_weights, takes_census
from mrfhw.apps.flow import read_flow
from mrfhw.apps.images import load_inputs
from mrfhw.apps.job import Job
from mrfhw.apps.motion import (
    CENSUS_ENERGY,
    CENSUS_SWEEPS,
    CONTRAST,
    COOLING,
    EDGE,
    MACHINE,
    SINGLETON_MAX,
    SMOOTH,
    SWEEPS,
    MotionTruth,
    motion_problem,
    motion_scale,
    motion_vectors,
)
from mrfhw.apps.motion_window import MotionWindow, find_window
from mrfhw.apps.starts import box_start
from mrfhw.commands.application import Application
from mrfhw.commands.machine_options import is_given
from mrfhw.commands.options import Common, default, label_machine, pair, picture_options, same_size, say_range
from mrfhw.machine.bits import bits_for
from mrfhw.machine.config import Config

__all__ = ["APPLICATION", "job"]


def vector_machine(rows: int, cols: int) -> dict[str, Any]:
    """The parameter of a machine that holds the components of so many vectors, where the default one does not."""
    bits = bits_for(max(rows, cols))
    return {"vector_bits": bits} if bits > Config().vector_bits else {}


def job(*, first: str, second: str, vectors: str | None, centre: str | None, truth: str | None, data: str | None,
        **others: Any) -> Job:
    """Check every option and read every file of a motion problem. Raises ProblemError or ConfigError."""
    wanted = others["singleton"]  # greys are compared in other ways

    def by_census_on(config: Config) -> bool:
        return data == "census" or (data is None and wanted in (None, "hamming") and takes_census(config))

    middle = None if centre is None else pair("centre", centre, ",", "0,-4")
    window = None if vectors is None else MotionWindow(*pair("vectors", vectors, "x", "7x7"), middle or (0, 0))
    if window is not None:
        motion_vectors(window.rows, window.cols, window.centre)  # refuses what is none
    finest = load_inputs([first, second], 8, Common.reading_of(others))
    found = window is None
    if window is None:
        whole = same_size(dict(zip(("first image", "second image"), finest.data, strict=True)), Common.window_of(others))
        window = find_window(whole[0], whole[1])
        if middle is not None:
            window = dataclasses.replace(window, centre=middle)
    common = Common.of(others, label_machine("vectors", window.rows * window.cols)
                       | vector_machine(window.rows, window.cols)
                       | ({} if data == "grey" or wanted in ("absolute", "squared") else MACHINE),
                       lambda config: CENSUS_SWEEPS if by_census_on(config) else SWEEPS)
    by_census = by_census_on(common.config)
    inputs = finest if by_census else load_inputs([first, second], common.config.data_bits, common.reading)
    images = dict(zip(("first image", "second image"), map(census, inputs.data) if by_census else inputs.data, strict=True))
    shown = dict(zip(("first frame", "second frame"), inputs.pictures, strict=True))
    if truth is not None:
        images["truth"] = read_flow(truth)
    first_data, second_data, *true = same_size(images, common.window)
    pictures = dict(zip(shown, same_size(shown, common.window), strict=True))
    standard = CENSUS_ENERGY if by_census else {"temperature": default(motion_problem, "temperature")}
    schedule = common.schedule(standard["temperature"], COOLING)
    energy = {**{name: value for name, value in standard.items() if name != "temperature"}, **common.energy}
    if by_census and common.config.singleton_cap:
        energy["singleton_max"] = SINGLETON_MAX
    if by_census and common.config.edge_bits >= SMOOTH.bit_length():
        energy["edges"] = edge_weights(pictures["first frame"], SMOOTH, EDGE, CONTRAST)
    problem = motion_problem(first_data, second_data, rows=window.rows, cols=window.cols, centre=window.centre, schedule=schedule,
                             **energy)
    say_range([first, second], inputs)
    run = dataclasses.replace(common.run, initial=box_start(problem)) if by_census and not is_given("initial") else common.run
    return Job(
        application="motion", config=common.config, problem=problem, run=run, annealing=common.anneal, inputs=pictures,
        scale=motion_scale(window.rows, window.cols, window.centre),
        ends=(_outermost(window), "give more --vectors" if found else "give more --vectors, or none, so that they are found"),
        truth=MotionTruth(true[0], motion_vectors(window.rows, window.cols, window.centre)) if true else None,
        settings=common.settings("motion", problem.shape, schedule, first=first, second=second, labels=window.rows * window.cols,
                                 vectors=f"{window.rows}x{window.cols}", centre=f"{window.centre[0]},{window.centre[1]}",
                                 vectors_found=found, data="census" if by_census else "grey", truth=truth,
                                 stretched_from=inputs.stretched_from))


def _outermost(window: MotionWindow) -> np.ndarray:
    """The labels at the window's edges."""
    row, col = np.divmod(np.arange(window.rows * window.cols), window.cols)
    at_edge = (row == 0) | (row == window.rows - 1) if window.rows > 2 else np.zeros(len(row), bool)
    return np.flatnonzero(at_edge | ((col == 0) | (col == window.cols - 1) if window.cols > 2 else False))


APPLICATION = Application(
    verb="motion", summary="Follow FIRST into SECOND: a motion for each pixel of FIRST, and how sure it is.",
    arguments=("first", "second"), problem=motion_problem, sweeps=SWEEPS, job=job,
    found={"sweeps": f"{CENSUS_SWEEPS} of census, {SWEEPS} of grey",
           **{name: f"{value} of census, {grey} of grey" for name, value in CENSUS_ENERGY.items()
              if (grey := default(motion_problem, name)) != value}},
    options=(
        *picture_options(),
        click.option("--vectors", metavar="ROWSxCOLS",
                     help="Motions told apart: so many along rows and columns, 2 to 256 together.  "
                     "[default: found from the frames]"),
        click.option("--centre", metavar="ROW,COL",
                     help="The motion in the middle of them, in pixels.  [default: 0,0 with --vectors, else found]"),
        click.option("--data", type=click.Choice(["census", "grey"]), help="What pixels are compared by: which of their neighbours "
                     "are darker, or their own grey.  [default: census, where a preset's machine can]"),
        click.option("--truth", metavar="FLOW", help="True motions, a Middlebury .flo file."),
    ))
