"""From two frames, or the files that have them, and options to the job of following one into the other."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from mrfhw.analysis.answer import Analysis
from mrfhw.applications.matching import DATA, Matching, MatchingTuned
from mrfhw.applications.motion import field as motion
from mrfhw.applications.motion.answer import Motion
from mrfhw.applications.motion.field import MotionTruth, motion_problem, motion_scale, motion_vectors
from mrfhw.applications.motion.finer import FinerMotion
from mrfhw.applications.motion.scene import write_demo
from mrfhw.applications.motion.window import MotionWindow, find_window
from mrfhw.applications.options import READING, common_options, component_machine, label_machine, most_components, pair
from mrfhw.applications.two_ways import NOT_CONFIRMED
from mrfhw.jobs.application import Application, Measure, SceneWriter
from mrfhw.jobs.job import START_FOUND, Job
from mrfhw.jobs.options import Given, Option
from mrfhw.pictures.flow import flow_bytes, flow_of
from mrfhw.pictures.greys import LUMA
from mrfhw.pictures.images import name_of
from mrfhw.samplers.path_start import path_start
from mrfhw.system.errors import ProblemError

__all__ = ["APPLICATION"]


def vector_machine(rows: int, cols: int) -> dict[str, Any]:
    """The parameter of a machine that holds the components of so many vectors, where the default one does not.

    Raises ProblemError where none does.
    """
    found = component_machine(max(rows, cols))
    if found is None:
        most = most_components()
        raise ProblemError(f"vectors is {rows}x{cols}; the limits are {most} rows and {most} columns: give a smaller window")
    return found


def job(app: Application, *, first: Any, second: Any, vectors: str | None, centre: str | None, truth: Any, data: str | None,
        one_way: bool, given: Given, **others: Any) -> Job:
    """Check every option and read every file of a motion problem. Raises ProblemError or ConfigError.

    first, second, truth: paths or arrays.
    """
    tuned: MatchingTuned = app.tuned
    files = {"first image": first, "second image": second}
    middle = None if centre is None else pair("centre", centre, ",", "0,-4")
    finest = None
    if vectors is not None:
        window = MotionWindow(*pair("vectors", vectors, "x", "7x7"), middle or (0, 0))
    else:
        finest, one, other = Matching.finest_of(files, others)
        window = find_window(one, other)
        if middle is not None:
            window = dataclasses.replace(window, centre=middle)
    labels = motion_vectors(window.rows, window.cols, window.centre)
    more = {} if truth is None else {"truth": flow_of(truth)}
    found = Matching.of(tuned, motion_problem, files, ("first frame", "second frame"), others, data,
                        label_machine("vectors", len(labels)) | vector_machine(window.rows, window.cols), more, given, finest)
    common, (first_data, second_data, *true) = found.common, found.data
    problem = motion_problem(first_data, second_data, rows=window.rows, cols=window.cols, centre=window.centre,
                             schedule=found.schedule, edges=found.edges, **found.energy)
    two_ways = found.by_census and not one_way and not common.anneal
    starts = found.by_census and "initial" not in given
    finer = FinerMotion(*map(_grey, found.pictures.values())) if min(problem.shape) > 1 else None
    by_paths = starts and not two_ways
    return Job(
        application=app, config=common.config, problem=problem, annealing=common.anneal, inputs=found.pictures,
        run=dataclasses.replace(common.run, initial=path_start(problem, tuned.stiffness)) if by_paths else common.run,
        most_sweeps=common.most_sweeps,
        scale=motion_scale(window.rows, window.cols, window.centre), notes=found.notes(first, second),
        labels_found=f"{_in_words(labels)}, found from the frames" if vectors is None else "",
        ends=(_outermost(window), "give more vectors" if vectors is None else
              "give more vectors, or none, so that they are found"),
        truth=MotionTruth(true[0], labels) if true else None,
        finer=finer, first=motion.both_ways(tuned, problem, common.run, finer, starts) if two_ways else None,
        settings=found.settings("motion", problem, first=name_of(first, "array"), second=name_of(second, "array"),
                                labels=len(labels), vectors=f"{window.rows}x{window.cols}",
                                centre=f"{window.centre[0]},{window.centre[1]}", vectors_found=vectors is None,
                                truth=None if truth is None else name_of(truth, "array"), both_ways=two_ways)
        | ({"initial": START_FOUND} if by_paths else {}))


def _grey(picture: np.ndarray) -> np.ndarray:
    """(H, W) float64 of a picture (H, W) or (H, W, 3)."""
    return np.asarray(picture @ LUMA if picture.ndim == 3 else picture, np.float64)


def _in_words(vectors: np.ndarray) -> str:
    (top, left), (bottom, right) = vectors.min(0), vectors.max(0)
    return f"motions of {top} to {bottom} rows and {left} to {right} columns"


def _outermost(window: MotionWindow) -> np.ndarray:
    """The labels at the window's edges."""
    row, col = np.divmod(np.arange(window.rows * window.cols), window.cols)
    at_edge = (row == 0) | (row == window.rows - 1) if window.rows > 2 else np.zeros(len(row), bool)
    return np.flatnonzero(at_edge | ((col == 0) | (col == window.cols - 1) if window.cols > 2 else False))


def _writes_flow(job: Job, analysis: Analysis) -> bytes:
    return flow_bytes(analysis.answer)


APPLICATION = Application(
    verb="motion", summary="Follow FIRST into SECOND: a motion for each pixel of FIRST, and how sure it is.",
    title="Motion estimation", arguments=("first", "second"), job=job, tuned=motion.TUNED, answer=Motion,
    options=(
        Option(name="vectors", metavar="ROWSxCOLS", said="found from the frames",
               help="Motions told apart: so many along rows and columns, 2 to 256 together."),
        Option(name="centre", metavar="ROW,COL", help="The motion in the middle of them, in pixels.",
               said="0,0 with --vectors, else found"),
        DATA,
        Option(name="one_way", type=bool, default=False,
               help="Do not match from SECOND to FIRST as well, to find what is hidden in SECOND; nor does --anneal or --data "
                    "grey."),
        Option(name="truth", file=True, metavar="FLOW", help="True motions, a Middlebury .flo file."),
        *READING),
    common=common_options(motion_problem, motion.TUNED.found(motion_problem)), maps={"occluded": NOT_CONFIRMED},
    files={"flow.flo": _writes_flow},
    measures={
        "epe": Measure("mean error", "px over the pixels of known truth"),
        "epe_mean": Measure("mean error of the posterior mean", "px"),
        "epe_flow": Measure("mean error of the motion between pixels", "px"),
        "epe_least": Measure("mean error of the nearest labels", "px")},
    scene=SceneWriter(write=write_demo))
