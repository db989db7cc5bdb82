"""From two frames, or the files that have them, and options to the job of following one into the other."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np

from mrfhw.analysis.answer import Analysis
from mrfhw.applications.known import MASK, GivenMask
from mrfhw.applications.matching import DATA, Matching, MatchingTuned
from mrfhw.applications.motion import field as motion
from mrfhw.applications.motion.answer import Motion
from mrfhw.applications.motion.field import MotionTruth, motion_problem, motion_scale, motion_vectors
from mrfhw.applications.motion.finer import FinerMotion
from mrfhw.applications.motion.scene import write_demo
from mrfhw.applications.motion.window import MotionWindow, find_window
from mrfhw.applications.options import READING, common_options, component_machine, label_machine, most_components, pair
from mrfhw.applications.two_ways import BEFORE, NOT_CONFIRMED, from_before
from mrfhw.applications.unlike import FEW_OF_FRAMES
from mrfhw.backends.first_labels import FirstLabels
from mrfhw.backends.registry import backend_type
from mrfhw.field.problem import LABELS_MAX
from mrfhw.jobs.application import Application, Measure, SceneWriter
from mrfhw.jobs.job import START_FOUND, Job
from mrfhw.jobs.options import Given, Option
from mrfhw.pictures.flow import flow_bytes, flow_of
from mrfhw.pictures.images import name_of
from mrfhw.pictures.numbers import Known
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


def job(app: Application, *, first: Any, second: Any, vectors: str | None, centre: str | None, truth: Any, mask: Any,
        data: str | None, one_way: bool, before: Any, given: Given, **others: Any) -> Job:
    """Check every option and read every file of a motion problem. Raises ProblemError or ConfigError.

    first, second, truth, mask, before: paths or arrays.
    """
    tuned: MatchingTuned = app.tuned
    files = {"first image": first, "second image": second}
    middle = None if centre is None else pair("centre", centre, ",", "0,-4")
    finest, hidden = None, GivenMask.of(mask)
    if vectors is not None:
        window = MotionWindow(*pair("vectors", vectors, "x", "7x7"), middle or (0, 0))
    else:
        finest, one, other, masks = Matching.finest_of(files, others, hidden)
        window = find_window(one, other, known=masks, device=backend_type(given.backend).device(given.backend))
        if middle is not None:
            window = dataclasses.replace(window, centre=middle)
    labels = motion_vectors(window.rows, window.cols, window.centre)
    known = None if truth is None else _within(flow_of(truth), name_of(truth, "the truth"))
    more = {} if known is None else {"truth": known.values}
    found = Matching.of(tuned, motion_problem, files, ("first frame", "second frame"), others, data,
                        label_machine("vectors", len(labels)) | vector_machine(window.rows, window.cols), more, given, hidden,
                        finest)
    common, (first_data, second_data, *true) = found.common, found.data
    observed, shown = found.known.cut
    problem = motion_problem(first_data, second_data, rows=window.rows, cols=window.cols, centre=window.centre,
                             schedule=found.schedule, observed=observed, shown=shown, edges=found.edges, **found.energy)
    two_ways = found.by_census and not one_way and not common.anneal
    starts = found.by_census and "initial" not in given
    one, other = found.greys
    finer = FinerMotion(one, other, None if observed is None else ~observed) if min(problem.shape) > 1 else None
    both = motion.both_ways(tuned, problem, common.run, finer, starts, given.backend) if two_ways else None
    both = from_before(both, before, problem)
    by_paths = starts and not two_ways
    initial = FirstLabels(tuned.stiffness, given.backend).of(problem) if by_paths else None
    return Job(
        application=app, config=common.config, problem=problem, annealing=common.anneal, inputs=found.shown,
        doubt=found.known.doubt,
        run=common.run if initial is None else dataclasses.replace(common.run, initial=initial),
        most_sweeps=common.most_sweeps,
        scale=motion_scale(window.rows, window.cols, window.centre),
        notes=found.notes(first, second) + (() if known is None else known.notes)
        + (_of_other_motions(true[0], labels) if true else ()),
        labels_found=f"{_in_words(labels)}, found from the frames" if vectors is None else "",
        doubts=(found.unlike(both.unconfirmed, first, second).of_frames(labels, vectors is not None)
                if both is not None and both.unconfirmed > FEW_OF_FRAMES else ()),
        ends=_ends(window, vectors is None, middle is not None),
        truth=MotionTruth(true[0], labels) if true else None,
        finer=finer, first=both,
        settings=found.settings("motion", problem, first=name_of(first, "array"), second=name_of(second, "array"),
                                labels=len(labels), vectors=f"{window.rows}x{window.cols}",
                                centre=f"{window.centre[0]},{window.centre[1]}", vectors_found=vectors is None,
                                truth=None if truth is None else name_of(truth, "array"), both_ways=two_ways,
                                before=None if before is None else name_of(before, "array"),
                                unconfirmed=None if both is None else both.unconfirmed, **found.known.settings(mask))
        | ({"initial": START_FOUND} if by_paths else {}))


def _for_all(jobs: Sequence[Job]) -> dict[str, Any]:
    """As of `Application.for_all`: a window of motions that has those of every pair, as far as there are so many."""
    vectors = np.concatenate([job.scale.values for job in jobs]).astype(int)
    least, most = vectors.min(0), vectors.max(0)
    rows, cols = (most - least + 1).tolist()
    if rows * cols > LABELS_MAX:  # the motions of most pairs
        job = max(jobs, key=lambda job: job.problem.labels)
        return {name: job.settings[name] for name in ("vectors", "centre")}
    row, col = (least + (np.array([rows, cols]) - 1) // 2).tolist()
    return {"vectors": f"{rows}x{cols}", "centre": f"{row},{col}"}


def _in_words(vectors: np.ndarray) -> str:
    (top, left), (bottom, right) = vectors.min(0), vectors.max(0)
    return f"motions of {top} to {bottom} rows and {left} to {right} columns"


def _within(flow: np.ndarray, name: str) -> Known:
    """True motions (H, W, 2), those that no pixel of a picture of that size can have as unknown, NaN, which is said."""
    beyond = (np.abs(flow) >= flow.shape[:2]).any(-1)
    if not beyond.any():
        return Known(flow)
    row, col = flow[beyond][0]
    said = (f"Note: {beyond.sum()} of {np.isfinite(flow).all(-1).sum()} true motions in {name}, such as {row:g} rows and {col:g} "
            f"columns, are beyond its {flow.shape[1]}x{flow.shape[0]} pixels: they are taken as unknown")
    return Known(np.where(beyond[..., None], np.nan, flow), (said,))


def _of_other_motions(truth: np.ndarray, vectors: np.ndarray) -> tuple[str, ...]:
    """What is to be said where true motions (H, W, 2) lie outside the window of the labels."""
    known = truth[np.isfinite(truth).all(-1)]
    outside = int(((known < vectors.min(0) - 0.5) | (known > vectors.max(0) + 0.5)).any(-1).sum())
    return (f"Note: {outside} of {len(known)} true motions lie outside the labels, {_in_words(vectors)}",) if outside else ()


def _outermost(window: MotionWindow) -> np.ndarray:
    """The labels at the window's edges."""
    row, col = np.divmod(np.arange(window.rows * window.cols), window.cols)
    at_edge = (row == 0) | (row == window.rows - 1) if window.rows > 2 else np.zeros(len(row), bool)
    return np.flatnonzero(at_edge | ((col == 0) | (col == window.cols - 1) if window.cols > 2 else False))


def _ends(window: MotionWindow, found: bool, centred: bool) -> tuple[np.ndarray, str]:
    """`Job.ends`. What was found from the frames is no alarm, but where it is cut off."""
    if found and not centred:
        return _outermost(window), "" if window.whole else "give vectors and the centre of those that matter"
    return _outermost(window), "give more vectors" if found else "give more vectors, or none, so that they are found"


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
        DATA, MASK,
        Option(name="one_way", type=bool, default=False,
               help="Do not match from SECOND to FIRST as well, to find what is hidden in SECOND; nor does --anneal or --data "
                    "grey."),
        BEFORE,
        Option(name="truth", file=True, metavar="FLOW", help="True motions, a Middlebury .flo file."),
        *READING),
    common=common_options(motion_problem, motion.TUNED.found(motion_problem)), in_time=1, for_all=_for_all,
    maps={"occluded": NOT_CONFIRMED},
    files={"flow.flo": _writes_flow},
    measures={
        "epe": Measure("mean error", "px over the pixels of known truth"),
        "epe_mean": Measure("mean error of the posterior mean", "px"),
        "epe_flow": Measure("mean error of the motion between pixels", "px"),
        "epe_least": Measure("mean error of the nearest labels", "px")},
    scene=SceneWriter(write=write_demo))
