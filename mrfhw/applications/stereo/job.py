"""From a rectified pair, or the files that have it, and options to the job of matching it."""

from __future__ import annotations

from typing import Any

import numpy as np

from mrfhw.applications.matching import Matching, found_energies
from mrfhw.applications.options import label_machine, squared_machine
from mrfhw.applications.stereo import field as stereo
from mrfhw.applications.stereo.disparity_range import find_range
from mrfhw.applications.stereo.field import StereoTruth, both_ways, disparity_scale, stereo_problem
from mrfhw.applications.task import Task
from mrfhw.jobs.job import Job
from mrfhw.pictures.images import disparity_of, name_of
from mrfhw.system.errors import ProblemError

__all__ = ["TASK", "job"]


def job(*, left: Any, right: Any, labels: int | None = None, min_disparity: int | None = None, truth: Any = None,
        truth_scale: float = 1.0, data: str | None = None, one_way: bool = False, given: frozenset[str] = frozenset(),
        **others: Any) -> Job:
    """Check every option and read every file of a stereo problem. Raises ProblemError or ConfigError.

    left, right, truth: paths or arrays. labels, min_disparity: without labels found from the pictures. given: as of `Common.of`.
    others: those of `Task.defaults`.
    """
    if truth is None and "truth_scale" in given:
        raise ProblemError(f"truth-scale is {truth_scale}; it is of a picture of true disparities: give truth, or drop it")
    more = {} if truth is None else {"truth image": disparity_of(truth, truth_scale, "truth image")}
    files = {"left image": left, "right image": right}
    finest, range_found = None, labels is None
    if labels is None:
        finest, one, other = Matching.finest_of(files, others)
        min_disparity, labels = find_range(one, other, min_disparity)
    min_disparity = min_disparity or 0
    found = Matching.of(stereo, stereo_problem, files, ("left picture", "right picture"),
                        others, data, label_machine("labels", labels) | squared_machine(others["doubleton"], labels), more, given,
                        finest, changes=stereo.ONE_WAY_ENERGY if one_way or others["anneal"] else None)
    common, (left_data, right_data, *true) = found.common, found.data
    if more:
        _check_unit(more["truth image"], name_of(truth, "the truth image"))
    problem = stereo_problem(left_data, right_data, labels=labels, min_disparity=min_disparity, schedule=found.schedule,
                             **found.energy)
    two_ways = found.by_census and not one_way and not common.anneal
    return Job(
        application="stereo", config=common.config, problem=problem, run=common.run, most_sweeps=common.most_sweeps,
        annealing=common.anneal, inputs=found.pictures, scale=disparity_scale(labels, min_disparity),
        notes=found.notes(left, right) + (_of_other_disparities(true[0], min_disparity, labels, truth_scale) if true else ()),
        labels_found=_in_words(min_disparity, labels) if range_found else "",
        ends=(np.array([0, labels - 1]), "give more labels, or another min-disparity"),
        truth=StereoTruth(true[0], min_disparity) if true else None,
        first=both_ways(problem, common.run, min_disparity, found.edges, "initial" not in given) if two_ways else None,
        settings=found.settings("stereo", problem, left=name_of(left, "array"), right=name_of(right, "array"), labels=labels,
                                min_disparity=min_disparity, range_found=range_found,
                                truth=None if truth is None else name_of(truth, "array"),
                                truth_scale=truth_scale, both_ways=two_ways))


def _in_words(first: int, labels: int) -> str:
    last = first + labels - 1
    return (f"disparities {first} to {last}, found from the pictures"
            + (": they are negative where LEFT and RIGHT are exchanged" if first < 0 and last <= 1 else ""))


def _of_other_disparities(truth: np.ndarray, first: int, labels: int, scale: float) -> tuple[str, ...]:
    """What is to be said where most true disparities (H, W) are none of the labels'."""
    known, last = truth[truth != 0], first + labels - 1
    share = float(np.mean((known < first - 1) | (known > last + 1))) if known.size else 0.0
    if share <= 0.5:
        return ()
    return (f"{100 * share:.0f} % of the true disparities, {np.median(known):g} pixels in the middle, are not among the labels, "
            f"{first} to {last}: truth-scale, the grey value that one pixel of disparity has, is {scale:g}; is that right?",)


def _check_unit(truth: np.ndarray, name: str) -> None:
    """Most true disparities are less than the picture is wide. Raises ProblemError."""
    middle = float(np.median(np.abs(truth[truth != 0]))) if truth.any() else 0.0
    if middle > truth.shape[1]:
        raise ProblemError(f"{name} has disparities of {middle:g} pixels, and {truth.shape[1]} columns: give truth-scale, the grey "
                           "value that one pixel of disparity has")


TASK = Task(verb="stereo", summary="Match LEFT with RIGHT: a disparity for each pixel of LEFT, and how sure it is.",
            arguments=("left", "right"), problem=stereo_problem, job=job, found=found_energies(stereo, stereo_problem))
