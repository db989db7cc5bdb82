"""From a rectified pair, or the files that have it, and options to the job of matching it."""

from __future__ import annotations

import dataclasses
import io
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mrfhw.analysis.answer import Analysis
from mrfhw.applications.known import MASK, GivenMask
from mrfhw.applications.matching import DATA, Matching, MatchingTuned
from mrfhw.applications.options import READING, common_options, label_machine, squared_machine
from mrfhw.applications.stereo import field as stereo
from mrfhw.applications.stereo.answer import Disparity
from mrfhw.applications.stereo.between import SharedDisparity
from mrfhw.applications.stereo.depth import CAMERAS, Camera
from mrfhw.applications.stereo.disparity_range import find_range
from mrfhw.applications.stereo.field import StereoTruth, both_ways, disparity_scale, stereo_problem
from mrfhw.applications.stereo.scene import write_demo, write_video
from mrfhw.applications.two_ways import BEFORE, NOT_CONFIRMED, from_before
from mrfhw.applications.unlike import FEW_OF_PAIR
from mrfhw.backends.registry import backend_type
from mrfhw.field.given import NUMBER_MAX, whole_number
from mrfhw.field.problem import LABELS_MAX
from mrfhw.jobs.application import Application, Measure, SceneWriter, Writer
from mrfhw.jobs.job import Job
from mrfhw.jobs.options import Given, Option
from mrfhw.pictures.images import name_of
from mrfhw.pictures.numbers import Known, known_disparity
from mrfhw.report.exchange import DISPARITY_UNIT, pfm_bytes, ply_bytes, png_bytes
from mrfhw.system.errors import ProblemError
from mrfhw.system.parts import part

__all__ = ["APPLICATION"]


def job(app: Application, *, left: Any, right: Any, labels: int | None, min_disparity: int | None, truth: Any, truth_scale: float,
        mask: Any, data: str | None, one_way: bool, first_sweeps: int | None, before: Any, alone: bool, calib: Any,
        focal: float | None, baseline: float | None, given: Given, **others: Any) -> Job:
    """Check every option and read every file of a stereo problem. Raises ProblemError or ConfigError.

    left, right, truth, mask, before: paths or arrays. labels, min_disparity: without labels found from the pictures.
    """
    tuned: MatchingTuned = app.tuned
    if truth is None and "truth_scale" in given:
        raise ProblemError(f"truth-scale is {truth_scale}; it is of a picture of true disparities: give truth, or drop it")
    known = None if truth is None else known_disparity(truth, truth_scale, "truth image")
    within = None if known is None else _within(known, name_of(truth, "the truth image"))
    more = {} if within is None else {"truth image": within.values}
    files = {"left image": left, "right image": right}
    finest, range_found, hidden, least = None, labels is None, GivenMask.of(mask), min_disparity
    if labels is None:
        finest, one, other, masks = Matching.finest_of(files, others, hidden)
        with part("range"):
            min_disparity, labels = find_range(one, other, least, masks, backend_type(given.backend).device(given.backend))
    min_disparity = min_disparity or 0
    found = Matching.of(tuned, stereo_problem, files, ("left picture", "right picture"),
                        others, data, label_machine("labels", labels) | squared_machine(others["doubleton"], labels), more, given,
                        hidden, finest, changes=tuned.one_way if one_way or others["anneal"] else None)
    common, (left_data, right_data, *true) = found.common, found.data
    camera = Camera.of(calib, focal, baseline, found.inputs.pictures[0].shape, common.window)
    if known is not None:
        _check_unit(known.values, name_of(truth, "the truth image"))
    observed, shown = found.known.cut
    problem = stereo_problem(left_data, right_data, labels=labels, min_disparity=min_disparity, schedule=found.schedule,
                             observed=observed, shown=shown, **found.energy)
    if first_sweeps is not None:
        whole_number("first-sweeps", first_sweeps, 0, NUMBER_MAX, "give 0 for none, or more")
    one, other = found.greys
    shared = None if alone or min(problem.shape) < 2 else SharedDisparity(
        one, other, None if observed is None else ~observed, backend=given.backend)
    two_ways = found.by_census and not one_way and not common.anneal
    first = None if not two_ways else both_ways(tuned, problem, common.run, min_disparity, found.edges, "initial" not in given,
                                                first_sweeps, shared, given.backend)
    first = from_before(first, before, problem)
    return Job(
        application=app, config=common.config, problem=problem, run=common.run, most_sweeps=common.most_sweeps,
        annealing=common.anneal, inputs=found.shown, doubt=found.known.doubt, shared=shared, own=camera,
        scale=disparity_scale(labels, min_disparity),
        notes=found.notes(left, right)
        + (() if two_ways or first_sweeps is None else (_ONE_WAY_ALONE.format(first_sweeps),))
        + (() if within is None else within.notes)
        + (_of_other_disparities(true[0], min_disparity, labels, truth_scale) if true else ()),
        labels_found=_in_words(min_disparity, labels) if range_found else "",
        doubts=(found.unlike(first.unconfirmed, left, right).of_pair(min_disparity, labels, not range_found)
                if first is not None and first.unconfirmed > FEW_OF_PAIR else ()),
        # What was found from the pictures is no alarm, but where it is cut off.
        ends=(np.array([0, labels - 1]), "" if range_found and least is None and labels < LABELS_MAX else
              "give more labels, or another min-disparity"),
        truth=StereoTruth(true[0], min_disparity) if true else None,
        first=first,
        settings=found.settings("stereo", problem, left=name_of(left, "array"), right=name_of(right, "array"), labels=labels,
                                min_disparity=min_disparity, range_found=range_found,
                                truth=None if truth is None else name_of(truth, "array"),
                                truth_scale=truth_scale, both_ways=two_ways, first_sweeps=first_sweeps, alone=alone,
                                cameras=None if camera is None else dataclasses.asdict(camera),
                                before=None if before is None else name_of(before, "array"),
                                unconfirmed=None if first is None else first.unconfirmed, **found.known.settings(mask)))


def _for_all(jobs: Sequence[Job]) -> dict[str, Any]:
    """As of `Application.for_all`: a range of disparities that has those of every frame."""
    least = min(job.settings["min_disparity"] for job in jobs)
    last = max(job.settings["min_disparity"] + job.settings["labels"] for job in jobs)
    return {"min_disparity": least, "labels": min(last - least, LABELS_MAX)}


def _in_words(first: int, labels: int) -> str:
    last = first + labels - 1
    return (f"disparities {first} to {last}, found from the pictures"
            + (": they are negative where LEFT and RIGHT are exchanged" if first < 0 and last <= 1 else ""))


def _check_unit(truth: np.ndarray, name: str) -> None:
    """Raises ProblemError where most true disparities (H, W) are of pixels that a picture of that width does not have."""
    middle = float(np.median(np.abs(truth[truth != 0]))) if truth.any() else 0.0
    if middle > truth.shape[1]:
        raise ProblemError(f"{name} has disparities of {middle:g} pixels, and {truth.shape[1]} columns: give truth-scale, the grey "
                           "value that one pixel of disparity has")


def _within(truth: Known, name: str) -> Known:
    """True disparities (H, W), those that no pixel of a picture of that width can have as unknown, which is said."""
    values, cols = truth.values, truth.values.shape[1]
    beyond = np.abs(values) >= cols
    if not beyond.any():
        return truth
    said = (f"Note: {beyond.sum()} of {np.count_nonzero(values)} true disparities in {name}, such as {values[beyond][0]:g} pixels, "
            f"are beyond its {cols} columns: they are taken as unknown")
    return Known(np.where(beyond, 0.0, values), (*truth.notes, said))


def _of_other_disparities(truth: np.ndarray, first: int, labels: int, scale: float) -> tuple[str, ...]:
    """What is to be said where true disparities (H, W) are none of the labels'."""
    known, last = truth[truth != 0], first + labels - 1
    others = known[(known < first - 0.5) | (known > last + 0.5)]
    if not others.size:
        return ()
    share = others.size / known.size
    if share > 0.5:
        return (f"{100 * share:.0f} % of the true disparities, {np.median(known):g} pixels in the middle, are not among the "
                f"labels, {first} to {last}: truth-scale, the grey value that one pixel of disparity has, is {scale:g}; is that "
                "right?",)
    values, counts = np.unique(others, return_counts=True)
    return (f"Note: {others.size} of {known.size} true disparities, most often {values[counts.argmax()]:g} pixels, lie outside the "
            f"labels, {first} to {last}, and count as errors: make them 0 where that stands for unknown",)


_ONE_WAY_ALONE = "Note: first-sweeps is {}, which says nothing here: only both ways of matching, by census, have sweeps before"


def _writes_disparity(job: Job, analysis: Analysis) -> bytes:
    return pfm_bytes(analysis.answer[..., 0])


def _writes_disparity_picture(job: Job, analysis: Analysis) -> bytes | None:
    """uint16 (H, W), DISPARITY_UNIT a pixel, at least 1: 0 means unknown there, and nothing is; negative or large disparities have
    no place."""
    values = analysis.answer[..., 0]
    if values.min() < 0 or values.max() * DISPARITY_UNIT > 0xFFFF:
        return None
    return png_bytes(np.maximum(1, np.rint(values * DISPARITY_UNIT)).astype(np.uint16))


def _npy(values: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


def _shared(field: str, write: Callable[[np.ndarray], bytes]) -> Writer:
    """Of a number of `Uncertainty` that only what is shared has."""
    def writes(job: Job, analysis: Analysis) -> bytes | None:
        found = analysis.uncertainty
        return None if found is None or found.between is None else write(getattr(found, field))

    return writes


def _depth(job: Job, write: Callable[[Camera], bytes | None]) -> bytes | None:
    return None if job.own is None else write(job.own)


def _writes_depth(job: Job, analysis: Analysis) -> bytes | None:
    return _depth(job, lambda camera: pfm_bytes(camera.depth(analysis.answer[..., 0])))


def _writes_depth_interval(job: Job, analysis: Analysis) -> bytes | None:
    found = analysis.uncertainty
    if found is None or found.interval is None:
        return None
    ends = found.interval[:, :, 0]
    return _depth(job, lambda camera: _npy(camera.interval(ends)))


def _writes_cloud(job: Job, analysis: Analysis) -> bytes | None:
    """The pixels that lie at a finite distance, with the left picture's colours, and with their confidence where there is one."""
    def write(camera: Camera) -> bytes:
        depth = camera.depth(analysis.answer[..., 0])
        there, picture, found = np.isfinite(depth), next(iter(job.inputs.values())), analysis.uncertainty
        colours = np.repeat(picture[..., None], 3, 2) if picture.ndim == 2 else picture
        sure = None if found is None or found.between is None or found.confidence is None else found.confidence[there]
        return ply_bytes(camera.points(np.where(there, depth, 0.0))[there], colours[there], sure)

    return _depth(job, write)


_DISPARITIES = Option(name="labels", type=int, default=24, help="Disparities run from 0 to one less (stereo, video).")

APPLICATION = Application(
    verb="stereo", summary="Match LEFT with RIGHT: a disparity for each pixel of LEFT, and how sure it is.",
    title="Stereo matching", arguments=("left", "right"), job=job, tuned=stereo.TUNED, answer=Disparity,
    options=(
        Option(name="labels", type=int, metavar="N", help="Disparities told apart, 2 to 256.", said="found from the pictures"),
        Option(name="min_disparity", type=int, metavar="PIXELS", help="Disparity of label 0, in pixels.",
               said="0 with --labels, else found"),
        DATA, MASK,
        Option(name="one_way", type=bool, default=False,
               help="Do not match from right to left as well, to find what is hidden in RIGHT; nor does --anneal."),
        Option(name="first_sweeps", type=int, rare=True, metavar="N", said=f"{stereo.TUNED.first_sweeps}",
               help="Sweeps of each way of matching before; 0: paths alone say what is hidden."),
        BEFORE,
        Option(name="alone", type=bool, default=False, rare=True,
               help="All numbers of a pixel are of its own samples, to half a pixel: nothing is shared with pixels of like "
                    "colours, and nothing is fitted between pixels."),
        *CAMERAS,
        Option(name="truth", file=True, metavar="DISPARITY", help="True disparities, a grey image; 0 where unknown."),
        Option(name="truth_scale", type=float, default=1.0, help="Grey value of one pixel of true disparity."),
        *READING),
    common=common_options(stereo_problem, stereo.TUNED.found(stereo_problem)), for_all=_for_all, of_video={"first_sweeps": 20},
    maps={"occluded": NOT_CONFIRMED},
    files={"disparity.pfm": _writes_disparity, "disparity.png": _writes_disparity_picture,
           "confidence.npy": _shared("confidence", _npy), "confidence.pfm": _shared("confidence", pfm_bytes),
           "interval_50.npy": _shared("inner", _npy), "depth.pfm": _writes_depth,
           "depth_interval.npy": _writes_depth_interval, "cloud.ply": _writes_cloud},
    measures={
        "bad_1": Measure("bad 1 px", "% of the pixels of known truth", 2),
        "bad_2": Measure("bad 2 px", "% of the pixels of known truth", 2),
        "epe": Measure("mean error", "px over the pixels of known truth"),
        "epe_mean": Measure("mean error of the posterior mean", "px"),
        "epe_median": Measure("mean error of the interpolated median", "px")},
    scene=SceneWriter(write=write_demo, options=(_DISPARITIES,)),
    scenes={"video": SceneWriter(write=write_video, solved_by="video stereo", options=(
        _DISPARITIES, Option(name="frames", type=int, default=12, help="Pairs, one after the other (video).")))})
